/* Control flow is done by warp.c; here are its rows, and traps. */
#include "ptx/table.h"

static _Noreturn void
trap_at(const struct insn *i, struct warp *w, uint32_t mask, const char *what)
{
	struct finding_place place = { .check = PTX_MEMCHECK, .kind = PTX_TRAP, .lane = (uint32_t)__builtin_ctz(mask) };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

HANDLER(trap)
{
	UNUSED(wide);
	trap_at(i, w, mask, "The kernel executed a trap");
}

HANDLER(breakpoint)
{
	UNUSED(wide);
	trap_at(i, w, mask, "The kernel executed a breakpoint");
}

static bool
decode_return(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(mods);
	decode_insn(d)->kind = row->sub || decode_in_kernel(d) ? K_EXIT : K_RETURN;
	return s->n_operands == 0 || decode_fail(d, "with %u operands", s->n_operands);
}

static const struct row rows[] = {
	DECODED("bra", ".uni?", decode_branch),
	DECODED("brx", ".idx .uni?", decode_branch_table),
	DECODED("call", ".uni?", decode_call),
	DECODED("ret", ".uni?", decode_return),
	{ .opcode = "exit", .pattern = "", .decode = decode_return, .sub = 1 },
	{ "trap", "", "", .run = { [T_B32] = trap } },
	{ "brkpt", "", "", .run = { [T_B32] = breakpoint } },
};
ROWS(rows_control, rows);
