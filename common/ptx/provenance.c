/* In: the statements of a function. Out: for each memory instruction, the object that its address was made from: a
 * variable in shared memory, or the buffer that a kernel parameter points at.
 *
 * An address that was computed from one object may not be used for another, however far it strays; so an overrun into a
 * neighbour is seen although the neighbour's bytes are good memory. Each register gets a value of a small lattice: not
 * seen yet, a plain number, an address of one object, or anything. Sums of an address and a number keep the object;
 * where two objects or ways meet that differ, or in doubt, the answer is anything, and nothing is checked. */
#include <string.h>

#include "base/die.h"
#include "ptx/decode.h"
#include "ptx/provenance.h"

enum origin_value { UNSEEN, NUMBER, ANYTHING, FIRST_OBJECT };
#define PARAMETER 0x80000000u		/* | byte offset in the kernel's parameters */

struct tracker {
	const struct function *function;
	uint32_t *origin;		/* by register */
	const struct variable **variable;	/* of object FIRST_OBJECT + k */
	uint32_t n_variables, cap_variables;
	bool changed;
};

static uint32_t
variable_origin(struct tracker *t, const struct variable *v)
{
	for (uint32_t k = 0; k < t->n_variables; k++)
		if (t->variable[k] == v)
			return FIRST_OBJECT + k;
	if (t->n_variables == t->cap_variables) {
		t->cap_variables = t->cap_variables ? t->cap_variables * 2 : 8;
		t->variable = xrealloc(t->variable, t->cap_variables * sizeof(const struct variable *));
	}
	t->variable[t->n_variables++] = v;
	return FIRST_OBJECT + t->n_variables - 1;
}

static uint32_t
operand_origin(struct tracker *t, const struct operand *o)
{
	switch (o->kind) {
	case O_REGISTER:
		return t->origin[o->reg];
	case O_VARIABLE:
		return o->variable->storage == IN_SHARED ? variable_origin(t, o->variable) : ANYTHING;
	case O_INTEGER: case O_FLOAT: case O_SPECIAL:
		return NUMBER;
	default:
		return ANYTHING;
	}
}

static uint32_t
meet(uint32_t a, uint32_t b)
{
	return a == UNSEEN || a == b ? b : b == UNSEEN ? a : ANYTHING;
}

static uint32_t
sum(uint32_t a, uint32_t b)
{
	if (a == UNSEEN || b == UNSEEN)
		return UNSEEN;
	return a == NUMBER ? b : b == NUMBER ? a : ANYTHING;
}

static bool
starts(const struct statement *s, const char *word)
{
	size_t length = strlen(word);
	return s->opcode.length >= length && !memcmp(s->opcode.at, word, length)
		&& (s->opcode.length == length || s->opcode.at[length] == '.');
}

/* A product is an index: of a number, or of a kernel's parameter that is one. */
static uint32_t
product(uint32_t a, uint32_t b)
{
	if (a == UNSEEN || b == UNSEEN)
		return UNSEEN;
	bool numbers = (a == NUMBER || a & PARAMETER) && (b == NUMBER || b & PARAMETER);
	return numbers ? NUMBER : ANYTHING;
}

static uint32_t
parameter_origin(const struct tracker *t, const struct statement *s)
{
	const struct operand *address = &s->operands[1], *base = address->kind == O_ADDRESS ? address->items : address;
	bool pointer = s->opcode.length > 4 && !memcmp(s->opcode.at + s->opcode.length - 2, "64", 2);
	if (!t->function->is_kernel || base->kind != O_VARIABLE || base->variable->storage != IN_KERNEL_PARAM)
		return NUMBER;
	int64_t offset = base->variable->offset + (address->kind == O_ADDRESS ? address->value : 0);
	return pointer && offset >= 0 && offset < MAX_PARAM_BYTES && offset % 8 == 0 ? PARAMETER | (uint32_t)offset : NUMBER;
}

/* What the statement writes to its destination. */
static uint32_t
result_origin(struct tracker *t, const struct statement *s)
{
	const struct operand *o = s->operands;
	uint32_t n = s->n_operands, worst = NUMBER;
	if (starts(s, "ld") && s->opcode.length > 8 && !memcmp(s->opcode.at, "ld.param", 8) && n == 2)
		return parameter_origin(t, s);
	if (starts(s, "ld") || starts(s, "ldu") || starts(s, "atom"))
		return NUMBER;
	if ((starts(s, "mov") || starts(s, "cvta") || starts(s, "cvt")) && n == 2)
		return operand_origin(t, &o[1]);
	if (starts(s, "add") && n == 3)
		return sum(operand_origin(t, &o[1]), operand_origin(t, &o[2]));
	if (starts(s, "sub") && n == 3)
		return operand_origin(t, &o[2]) == NUMBER ? operand_origin(t, &o[1])
			: sum(operand_origin(t, &o[1]), operand_origin(t, &o[2])) == UNSEEN ? UNSEEN : ANYTHING;
	if ((starts(s, "mad") && n == 4) || starts(s, "fma"))
		return sum(product(operand_origin(t, &o[1]), operand_origin(t, &o[2])), operand_origin(t, &o[3]));
	if ((starts(s, "mul") || starts(s, "shl")) && n == 3)
		return product(operand_origin(t, &o[1]), operand_origin(t, &o[2]));
	if (starts(s, "selp") && n == 4)
		return meet(operand_origin(t, &o[1]), operand_origin(t, &o[2]));
	for (uint32_t k = 1; k < n; k++) {
		uint32_t from = operand_origin(t, &o[k]);
		if (from == UNSEEN)
			return UNSEEN;
		worst = from == NUMBER && worst == NUMBER ? NUMBER : ANYTHING;
	}
	return worst;
}

static void
write_register(struct tracker *t, uint32_t reg, uint32_t origin)
{
	uint32_t now = meet(t->origin[reg], origin);
	t->changed |= now != t->origin[reg];
	t->origin[reg] = now;
}

static void
follow(struct tracker *t, const struct statement *s)
{
	const struct operand *to = s->operands;
	if (!s->n_operands || starts(s, "st") || starts(s, "red") || starts(s, "bra"))
		return;
	if (to->kind == O_REGISTER) {
		write_register(t, to->reg, result_origin(t, s));
	} else if (to->kind == O_VECTOR || to->kind == O_PAIR || to->kind == O_LIST) {
		/* loads of several, and what splits a register */
		uint32_t origin = starts(s, "ld") ? NUMBER : ANYTHING;
		for (uint32_t k = 0; k < to->n_items; k++)
			if (to->items[k].kind == O_REGISTER)
				write_register(t, to->items[k].reg, origin);
	}
}

/* The address of the memory that a statement reads or writes; for copies, where to. */
static const struct operand *
address_of(const struct statement *s)
{
	for (uint32_t k = 0; k < s->n_operands; k++)
		if (s->operands[k].kind == O_ADDRESS)
			return s->operands[k].items;
	return NULL;
}

void
provenance_find(const struct function *f, struct provenance *out)
{
	struct tracker t = { .function = f, .origin = xcalloc(f->n_registers + 1, sizeof *t.origin), .changed = true };
	for (int round = 0; t.changed && round < 64; round++) {
		t.changed = false;
		for (uint32_t k = 0; k < f->n_statements; k++)
			follow(&t, &f->statements[k]);
	}
	out->origin = t.origin;
	out->variable = t.variable;
	out->complete = !t.changed;
}

void
provenance_release(struct provenance *p)
{
	free(p->origin);
	free(p->variable);
	*p = (struct provenance){ 0 };
}

void
provenance_mark(const struct provenance *p, const struct statement *s, struct source *source)
{
	const struct operand *base = address_of(s);
	if (!base || !p->complete)
		return;
	uint32_t origin = base->kind == O_REGISTER ? p->origin[base->reg] : UNSEEN;
	if (base->kind == O_VARIABLE && base->variable->storage == IN_SHARED)
		source->variable = base->variable;
	else if (origin & PARAMETER)
		source->parameter = (origin & ~PARAMETER) / 8 + 1;
	else if (origin >= FIRST_OBJECT)
		source->variable = p->variable[origin - FIRST_OBJECT];
}

void
provenance_place(struct image *im)
{
	for (uint32_t k = 0; k < im->n_code; k++) {
		struct source *s = &im->sources[k];
		s->low = 0;
		s->high = UINT32_MAX;
		for (uint32_t v = 0; s->variable && v < im->n_shared; v++)
			if (im->shared[v].variable == s->variable) {
				s->low = im->shared[v].offset;
				s->high = s->variable->bytes ? s->low + (uint32_t)s->variable->bytes : UINT32_MAX;
			}
	}
}

void
provenance_launch(struct machine_core *core, const void *params, size_t bytes)
{
	core->n_parameters = (uint32_t)(bytes / 8);
	core->parameter = xrealloc(core->parameter, (core->n_parameters + 1) * sizeof(struct buffer *));
	for (uint32_t k = 0; k < core->n_parameters; k++) {
		uint64_t value;
		memcpy(&value, (const char *)params + k * 8, 8);
		core->parameter[k] = buffer_find(core, value, 1);
	}
}
