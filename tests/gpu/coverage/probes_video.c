/* Probes of video instructions and of alloca. In: one spelling. Out: a kernel with whole registers and with parts of
 * them as sources and destination. */
#include "make.h"

#include <string.h>

static unsigned
elements(const struct spelling *s)
{
	return s->row->opcode[strlen(s->row->opcode) - 1] == '2' ? 2 : 4;
}

static void
put(struct maker *m, const struct spelling *s, const char *d, const char *a, const char *b)
{
	make_text(m, "\tmov.b32 %%r20, 0x5A5A;\n\t%s %%r20%s, %%r1%s, %%r2%s, %%r3;\n", s->text, d, a, b);
	make_store(m, 32, "%r20");
}

static void
simd(struct maker *m, const struct spelling *s)
{
	bool two = elements(s) == 2;
	put(m, s, "", "", "");
	put(m, s, "", two ? ".h31" : ".b7150", two ? ".h02" : ".b2634");
	put(m, s, two ? ".h1" : ".b310", "", "");
	put(m, s, two ? ".h0" : ".b2", two ? ".h12" : ".b0123", "");
}

static void
operands(struct maker *m, const struct spelling *s)
{
	const struct operand_type *b32 = operand_type_find("b32"), *three[] = { b32, b32, b32 };
	make_begin(m, s, NULL, 1024);
	for (unsigned k = 0; k < 3; k++) {
		make_values(m, k, 3, three);
		make_load(m, k, b32, 1 + k);
	}
}

/* Two pieces of memory that must not overlap, one more after the first state of the stack came back. */
static void
allocate(struct maker *m, const struct spelling *s)
{
	bool wide = spelling_has(s, ".u64");
	const char *bits = wide ? "u64" : "u32", *r = wide ? "q" : "r";
	make_begin(m, s, NULL, 256);
	make_text(m, "\tand.b32 %%r1, %%t, 7;\n\tmad.lo.u32 %%r1, %%r1, 8, 16;\n\tcvt.u64.u32 %%q1, %%r1;\n");
	make_text(m, "\tstacksave.%s %%%s10;\n\talloca.%s %%%s11, %%%s1;\n\talloca.%s %%%s12, 64, 32;\n", bits, r, bits, r, r,
		bits, r);
	make_text(m, "\tst.local.u32 [%%%s11], %%t;\n\tst.local.u32 [%%%s11+12], %%t;\n\tst.local.u32 [%%%s12], %%lane;\n"
		"\tst.local.u32 [%%%s12+60], %%lane;\n", r, r, r, r);
	for (unsigned k = 0; k < 4; k++) {
		make_text(m, "\tld.local.u32 %%r20, [%%%s%u+%u];\n", r, k < 2 ? 11 : 12, k == 1 ? 12 : k == 3 ? 60 : 0);
		make_store(m, 32, "%r20");
	}
	make_text(m, "\tand.b%s %%%s13, %%%s12, 31;\n", bits + 1, r, r);
	make_store(m, wide ? 64 : 32, wide ? "%q13" : "%r13");
	make_text(m, "\tstackrestore.%s %%%s10;\n\talloca.%s %%%s14, %%%s1;\n\tsub.%s %%%s14, %%%s14, %%%s11;\n", bits, r, bits, r, r,
		bits, r, r, r);
	make_store(m, wide ? 64 : 32, wide ? "%q14" : "%r14");
	make_end(m);
}

bool
video_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	if (!strcmp(op, "alloca") || !strcmp(op, "stacksave") || !strcmp(op, "stackrestore")) {
		allocate(m, s);
		return true;
	}
	if (*op != 'v' || !strcmp(op, "vote"))
		return false;
	operands(m, s);
	simd(m, s);
	make_end(m);
	return true;
}
