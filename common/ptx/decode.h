/* State of decoding one kernel, shared by decode.c and layout.c. */
#ifndef PTX_DECODE_H
#define PTX_DECODE_H

#include "ptx/table.h"

#define CONSTANT_BIT 0x80000000u
enum { CONSTANT_TABLE = 1 << 19, F_GUARD = 60000 };	/* fields from F_LIST up are places in insn.list */

/* A register (or constant) stands in a field of a draft. */
struct use {
	uint32_t insn, reg;
	uint16_t field;
	bool definition;
};

struct decoder {
	const struct ptx_module *module;
	struct image *image;
	const struct function *function;	/* being decoded */
	uint32_t current;			/* its index */
	const struct statement *statement;
	const uint64_t *symbol_addresses;
	uint32_t local_pointer;			/* virtual register behind the function's own */
	bool local_source, failed, place_dynamic;
	struct buf *err;
	struct insn *drafts;			/* branch targets are statement indices */
	const struct statement **draft_statements;
	uint32_t n_drafts, cap_drafts;
	struct use *uses;			/* in order of drafts */
	uint32_t n_uses, cap_uses;
	struct use *deferred;			/* constants, whose offsets come last */
	uint32_t n_deferred, cap_deferred;
	uint32_t *constant_table, cap_constants;
	uint32_t cap_code;
	const struct function **reached;
	uint32_t *order, n_reached, n_ordered, reach_depth;
	uint8_t *open, *on_cycle;
};

static inline void
set_field(struct insn *i, uint16_t field, uint32_t value)
{
	uint32_t *named[] = { &i->d, &i->a, &i->b, &i->c, &i->e };
	if (field == F_GUARD)
		i->guard = value;
	else if (field < F_LIST)
		*named[field] = value;
	else
		i->list[field - F_LIST] = value;
}

/* ---- reach.c */
/* The functions, shared and local memory that the kernel of the image needs. False after decode_fail. */
bool find_functions(struct decoder *d);

/* ---- layout.c */
/* Orders the blocks of the decoded function, gives its registers slots and appends it to the image. starts
 * maps statements to drafts. False after decode_fail. */
bool layout_function(struct decoder *d, const uint32_t *starts);

/* ---- handlers that decode.c has to know */
handler float_control, flush_sources;	/* exec_float.c */
handler move_local;			/* exec_convert.c: mov of a local variable's address */

#endif
