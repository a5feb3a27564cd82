/* The object that each memory instruction's address was made from. */
#ifndef PTX_PROVENANCE_H
#define PTX_PROVENANCE_H

#include "ptx/machine.h"

struct provenance {
	uint32_t *origin;
	const struct variable **variable;
	bool complete;			/* false: nothing is known */
};

void provenance_find(const struct function *function, struct provenance *out);
void provenance_release(struct provenance *provenance);
/* Notes in the source of an instruction what its statement's address was made from. */
void provenance_mark(const struct provenance *provenance, const struct statement *statement, struct source *source);
/* Once the variables of an image have their offsets. */
void provenance_place(struct image *image);
/* Finds the buffers that the parameters of a launch point at. */
void provenance_launch(struct machine_core *core, const void *params, size_t bytes);

/* What is known of the address of an instruction: nothing where a handler made it up, for a second address. */
static inline const struct source *
provenance_source(const struct machine_core *core, const struct insn *i)
{
	static const struct source nothing = { .high = UINT32_MAX };
	return i == &core->code[i->place] ? &core->image->sources[i->place] : &nothing;
}

/* The buffer that a global access through this instruction must stay in; NULL: any. */
static inline const struct buffer *
provenance_buffer(const struct machine_core *core, const struct source *s)
{
	return s->parameter && s->parameter <= core->n_parameters ? core->parameter[s->parameter - 1] : NULL;
}

#endif
