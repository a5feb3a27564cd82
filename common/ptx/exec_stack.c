/* alloca: local memory of a size that is known only when the kernel runs. It is taken from a part of the thread's local
 * memory that decode.c reserved (image.dynamic_local), lowest address first, and given back when the function returns
 * (warp.c) or by stackrestore. */
#include <string.h>

#include "ptx/table.h"

enum { DEFAULT_ALIGN = 8, MAX_ALIGN = 1024 };

static uint64_t
lane_size(const struct insn *i, const struct warp *w, uint32_t lane)
{
	return i->a == NO_REG ? (uint64_t)i->imm : i->size == 8 ? REG(u64, i->a)[lane] : REG(u32, i->a)[lane];
}

static void
put_address(const struct insn *i, struct warp *w, uint32_t lane, uint64_t address)
{
	if (i->size == 8)
		REG(u64, i->d)[lane] = address;
	else
		REG(u32, i->d)[lane] = (uint32_t)address;
}

static _Noreturn void
stack_fault(const struct insn *i, struct warp *w, uint32_t lane, enum ptx_kind kind, const char *what)
{
	struct finding_place place = { .check = PTX_MEMCHECK, .kind = kind, .lane = lane, .space = PTX_SPACE_LOCAL };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

/* insn.flag: alignment, as a power of two */
HANDLER(allocate)
{
	const struct block *block = w->block;
	uint64_t base = block->local_bytes - w->core->image->dynamic_local;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint32_t *top = &w->allocated[w->depth[l]][l];
		uint64_t align = 1ull << i->flag, size = lane_size(i, w, l), from = (base + *top + align - 1) & ~(align - 1);
		if (from > block->local_bytes || size > block->local_bytes - from)
			stack_fault(i, w, l, PTX_STACK_OVERFLOW, "alloca used up the local memory of the thread");
		*top = (uint32_t)(from + size - base);
		if (block->local_initialised && size)
			memset(block->local_initialised + (size_t)(w->number * LANES + l) * block->local_bytes + from, 0, size);
		put_address(i, w, l, from);
	}
}

HANDLER(stack_save)
{
	uint64_t base = w->block->local_bytes - w->core->image->dynamic_local;
	UNUSED(wide);
	EACH_IN(mask, l)
		put_address(i, w, l, base + (w->allocated ? w->allocated[w->depth[l]][l] : 0));
}

HANDLER(stack_restore)
{
	uint64_t base = w->block->local_bytes - w->core->image->dynamic_local;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint64_t to = lane_size(i, w, l);
		if (to < base || to - base > (w->allocated ? w->allocated[w->depth[l]][l] : 0))
			stack_fault(i, w, l, PTX_OUT_OF_BOUNDS, "The stack is restored to where it was not before");
		if (w->allocated)
			w->allocated[w->depth[l]][l] = (uint32_t)(to - base);
	}
}

static bool
decode_allocate(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	enum type type = mods->types[0];
	int64_t align = DEFAULT_ALIGN;
	UNUSED(row);
	if (s->n_operands < 2 || s->n_operands > 3 || s->operands[0].kind == O_SINK)
		return decode_fail(d, "with %u operands", s->n_operands);
	if (s->n_operands == 3 && (!decode_immediate(&s->operands[2], type, &align) || align < 1 || align > MAX_ALIGN
		|| (align & (align - 1))))
		return decode_fail(d, "with an alignment that is not possible");
	i->run = allocate;
	i->size = (uint8_t)type_bytes(type);
	i->flag = (uint8_t)__builtin_ctzll((unsigned long long)(align < DEFAULT_ALIGN ? DEFAULT_ALIGN : align));
	return decode_destination(d, &s->operands[0], i->size, true, F_D)
		&& (decode_immediate(&s->operands[1], type, &i->imm) || decode_source(d, &s->operands[1], type, true, F_A));
}

static bool
decode_save(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	i->run = row->sub ? stack_restore : stack_save;
	i->size = (uint8_t)type_bytes(mods->types[0]);
	if (s->n_operands != 1 || s->operands[0].kind != O_REGISTER)
		return decode_fail(d, "with %u operands", s->n_operands);
	return row->sub ? decode_source(d, &s->operands[0], mods->types[0], true, F_A) != 0
		: decode_destination(d, &s->operands[0], i->size, true, F_D) != 0;
}

static const struct row rows[] = {
	DECODED("alloca", ".u32|.u64", decode_allocate),
	DECODED("stacksave", ".u32|.u64", decode_save),
	{ .opcode = "stackrestore", .pattern = ".u32|.u64", .decode = decode_save, .sub = 1 },
};
ROWS(rows_stack, rows);
