/* Probes of instructions in which lanes, warps or the flow of control take part. In: one spelling. Out: kernels
 * whose final state does not depend on timing: with all lanes, and with part of a warp under a mask. */
#include "make.h"

#include <string.h>

/* Lanes whose bit is not set in the mask go around. */
static void
begin_part(struct maker *m, const char *mask)
{
	make_text(m, "\tmov.b32 %%r100, %s;\n\tshr.u32 %%r101, %%r100, %%lane;\n\tand.b32 %%r101, %%r101, 1;\n"
		"\tsetp.eq.u32 %%p20, %%r101, 0;\n\t@%%p20 bra AROUND;\n", mask);
}

static void
end_part(struct maker *m)
{
	make_text(m, "AROUND:\n");
}

static const char *const masks[] = { "0xFFFFFFFF", "0x0000FFFF", "0xA5A500F1" };
enum { N_MASKS = 3 };

/* The source lane of shfl.idx has to be in the mask: within a segment whose lanes all are. */
static void
shfl(struct maker *m, const struct spelling *s)
{
	const struct operand_type *types[] = { operand_type_find("b32"), operand_type_find("count") };
	const char *mode = s->words[1] + 1;
	for (unsigned part = 0; part < 2; part++) {
		bool up = !strcmp(mode, "up");
		make_begin(m, s, part ? "half a warp" : NULL, THREADS);
		make_values(m, 0, 2, types);
		make_values(m, 1, 2, types);
		make_load(m, 0, types[0], 1);
		make_load(m, 1, types[1], 2);
		make_text(m, "\tand.b32 %%r2, %%r2, %u;\n", part ? 15 : 31);
		make_text(m, "\tmov.b32 %%r20, 77;\n\tmov.b32 %%r21, 77;\n\tsetp.ne.u32 %%p10, %%r20, 77;\n\tmov.pred %%p11, %%p10;\n"
			"\tmov.b32 %%r22, 77;\n\tmov.pred %%p12, %%p10;\n\tmov.b32 %%r23, 77;\n");
		begin_part(m, masks[part]);
		const char *clamp = part ? up ? "0x1000" : "0x100F" : up ? "0" : "31";
		make_text(m, "\t%s %%r20|%%p10, %%r1, %%r2, %s, %%r100;\n", s->text, clamp);
		make_text(m, "\t%s %%r21|%%p11, %%r1, %u, %s, %%r100;\n", s->text, 5u, clamp);
		make_text(m, "\tmov.b32 %%r3, %s;\n\t%s %%r22|%%p12, %%r1, %%r2, %%r3, %%r100;\n", up ? "0x1C00" : "0x1C07", s->text);
		make_text(m, "\t%s %%r23, %%r1, 1, %s, %%r100;\n", s->text, clamp);
		end_part(m);
		make_store(m, 32, "%r20");
		make_store(m, 1, "%p10");
		make_store(m, 32, "%r21");
		make_store(m, 1, "%p11");
		make_store(m, 32, "%r22");
		make_store(m, 1, "%p12");
		make_store(m, 32, "%r23");
		make_end(m);
	}
}

static void
vote(struct maker *m, const struct spelling *s)
{
	bool ballot = spelling_has(s, ".ballot");
	for (unsigned k = 0; k < N_MASKS; k++) {
		make_begin(m, s, masks[k], THREADS);
		/* a third of the warps agree on one side, a third on the other */
		make_text(m, "\tshr.u32 %%r1, %%t, 5;\n\trem.u32 %%r1, %%r1, 3;\n\tmul.lo.u32 %%r2, %%t, 0x9E3779B1;\n"
			"\tshr.u32 %%r2, %%r2, 31;\n\tsetp.eq.u32 %%p1, %%r1, 1;\n\tsetp.ne.u32 %%p2, %%r2, 0;\n"
				"\tsetp.eq.u32 %%p3, %%r1, 2;\n"
			"\tand.pred %%p2, %%p2, %%p3;\n\tor.pred %%p1, %%p1, %%p2;\n\tmov.b32 %%r20, 77;\n\tmov.b32 %%r21, 77;\n"
			"\tsetp.eq.u32 %%p10, %%t, 3;\n\tmov.pred %%p11, %%p10;\n");
		begin_part(m, masks[k]);
		for (unsigned q = 0; q < 2; q++)
			make_text(m, ballot ? "\t%s %%r2%u, %s%%p1, %s;\n" : "\t%s %%p1%u, %s%%p1, %s;\n", s->text, q, q ? "!" : "",
				q ? masks[k] : "%r100");
		end_part(m);
		make_store(m, ballot ? 32 : 1, ballot ? "%r20" : "%p10");
		make_store(m, ballot ? 32 : 1, ballot ? "%r21" : "%p11");
		make_end(m);
	}
}

static void
match(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[0];
	bool all = spelling_has(s, ".all"), wide = type->bits == 64;
	for (unsigned k = 0; k < N_MASKS; k++) {
		make_begin(m, s, masks[k], THREADS);
		make_text(m, "\tshr.u32 %%r1, %%t, 5;\n\tand.b32 %%r1, %%r1, 7;\n\tadd.u32 %%r1, %%r1, 1;\n"
			"\trem.u32 %%r1, %%lane, %%r1;\n"
			"\tmul.lo.u32 %%r1, %%r1, 0x9E3779B1;\n\tmov.b64 %%q1, {%%r1, %%r1};\n\tmov.b32 %%r20, 77;\n"
			"\tsetp.eq.u32 %%p10, %%t, 3;\n");
		begin_part(m, masks[k]);
		make_text(m, "\t%s %%r20%s, %s, %%r100;\n", s->text, all ? "|%p10" : "", wide ? "%q1" : "%r1");
		end_part(m);
		make_store(m, 32, "%r20");
		if (all)
			make_store(m, 1, "%p10");
		make_end(m);
	}
}

static void
redux(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[0];
	for (unsigned k = 0; k < N_MASKS; k++) {
		make_begin(m, s, masks[k], THREADS);
		make_values(m, 0, 1, &type);
		make_load(m, 0, type, 1);
		make_text(m, "\tmov.b32 %%r20, 77;\n");
		begin_part(m, masks[k]);
		make_text(m, "\t%s %%r20, %%r1, %%r100;\n", s->text);
		end_part(m);
		make_store(m, 32, "%r20");
		make_end(m);
	}
}

static void
elect(struct maker *m, const struct spelling *s)
{
	for (unsigned k = 0; k < N_MASKS; k++) {
		make_begin(m, s, masks[k], THREADS);
		make_text(m, "\tmov.b32 %%r20, 77;\n\tsetp.eq.u32 %%p10, %%t, 3;\n");
		begin_part(m, masks[k]);
		make_text(m, "\t%s %%r20|%%p10, %%r100;\n", s->text);
		end_part(m);
		make_store(m, 32, "%r20");
		make_store(m, 1, "%p10");
		make_end(m);
	}
}

static void
activemask(struct maker *m, const struct spelling *s)
{
	for (unsigned k = 0; k < N_MASKS; k++) {
		make_begin(m, s, masks[k], THREADS);
		make_text(m, "\tmov.b32 %%r20, 77;\n");
		begin_part(m, masks[k]);
		make_text(m, "\tbar.warp.sync %%r100;\n\t%s %%r20;\n", s->text);
		end_part(m);
		make_store(m, 32, "%r20");
		make_end(m);
	}
}

/* ---- barriers: a value written by one thread before, read by another behind */

static void
write_mine(struct maker *m)
{
	make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r31, space;\n\tmad.lo.u32 %%r32, %%r30, 4, %%r31;\n"
		"\tmul.lo.u32 %%r33, %%t, 0x9E3779B1;\n\tst.shared.u32 [%%r32], %%r33;\n");
}

static void
read_other(struct maker *m, unsigned distance)
{
	make_text(m, "\txor.b32 %%r34, %%r30, %u;\n\tmad.lo.u32 %%r32, %%r34, 4, %%r31;\n\tld.shared.u32 %%r20, [%%r32];\n",
		distance);
	make_store(m, 32, "%r20");
}

static void
barrier(struct maker *m, const struct spelling *s)
{
	bool arrive = spelling_has(s, ".arrive");
	if (arrive) {		/* the odd warps bring, the even ones wait */
		make_begin(m, s, NULL, THREADS);
		write_mine(m);
		make_text(m, "\tshr.u32 %%r40, %%r30, 5;\n\tand.b32 %%r40, %%r40, 1;\n\tsetp.eq.u32 %%p1, %%r40, 1;\n"
			"\tmov.b32 %%r20, 0;\n"
			"\t@%%p1 bra BRING;\n\tbar.sync 3, 256;\n\txor.b32 %%r34, %%r30, 32;\n\tmad.lo.u32 %%r32, %%r34, 4, %%r31;\n"
			"\tld.shared.u32 %%r20, [%%r32];\n\tbra DONE;\nBRING:\n\tmembar.cta;\n\t%s 3, 256;\nDONE:\n", s->text);
		make_store(m, 32, "%r20");
		make_end(m);
		return;
	}
	make_begin(m, s, "all", THREADS);
	write_mine(m);
	make_text(m, "\t%s 0;\n", s->text);
	read_other(m, 255);
	make_end(m);
	make_begin(m, s, "pairs of warps", THREADS);	/* named barriers of 64 threads */
	write_mine(m);
	make_text(m, "\tshr.u32 %%r40, %%r30, 6;\n\tadd.u32 %%r40, %%r40, 2;\n\t%s %%r40, 64;\n", s->text);
	read_other(m, 63);
	make_end(m);
}

static void
barrier_reduction(struct maker *m, const struct spelling *s)
{
	bool count = spelling_has(s, ".popc");
	make_begin(m, s, NULL, THREADS);
	make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r31, %%ctaid.x;\n\tmul.lo.u32 %%r33, %%r30, 0x9E3779B1;\n"
		"\tshr.u32 %%r33, %%r33, 29;\n\tsetp.lt.u32 %%p1, %%r33, %%r31;\n\tsetp.le.u32 %%p2, %%r31, 6;\n"
			"\tor.pred %%p2, %%p1, %%p2;\n");
	make_text(m, count ? "\t%s %%r20, 1, %%p1;\n\t%s %%r21, 2, 256, !%%p1;\n"
		: "\t%s %%p10, 1, %%p1;\n\t%s %%p11, 2, 256, !%%p2;\n",
		s->text, s->text);
	make_store(m, count ? 32 : 1, count ? "%r20" : "%p10");
	make_store(m, count ? 32 : 1, count ? "%r21" : "%p11");
	make_end(m);
}

static void
warp_barrier(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, "whole", THREADS);
	write_mine(m);
	make_text(m, "\t%s 0xFFFFFFFF;\n", s->text);
	read_other(m, 31);
	make_end(m);
	make_begin(m, s, "part", THREADS);
	write_mine(m);
	make_text(m, "\tmov.b32 %%r20, 0;\n");
	begin_part(m, "0xFFFF0000");
	make_text(m, "\tst.shared.u32 [%%r32], %%lane;\n\t%s %%r100;\n\txor.b32 %%r34, %%r30, 15;\n"
		"\tmad.lo.u32 %%r32, %%r34, 4, %%r31;\n\tld.shared.u32 %%r20, [%%r32];\n", s->text);
	end_part(m);
	make_store(m, 32, "%r20");
	make_end(m);
}

bool
warp_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	bool bar = !strcmp(op, "bar") || !strcmp(op, "barrier");
	if (!strcmp(op, "shfl"))
		shfl(m, s);
	else if (!strcmp(op, "vote"))
		vote(m, s);
	else if (!strcmp(op, "match"))
		match(m, s);
	else if (!strcmp(op, "redux"))
		redux(m, s);
	else if (!strcmp(op, "elect"))
		elect(m, s);
	else if (!strcmp(op, "activemask"))
		activemask(m, s);
	else if (bar && spelling_has(s, ".warp"))
		warp_barrier(m, s);
	else if (bar && spelling_has(s, ".red"))
		barrier_reduction(m, s);
	else if (bar && !spelling_has(s, ".cluster"))
		barrier(m, s);
	else
		return false;
	return true;
}

/* ---- control */

static void
branch(struct maker *m, const struct spelling *s)
{
	bool uniform = spelling_has(s, ".uni");
	make_begin(m, s, NULL, THREADS);
	make_text(m, "\tmov.b32 %%r20, 0;\n\t%s %%r1, %%t, 7;\n", uniform ? "shr.u32" : "and.b32");
	make_text(m, "LOOP:\n\tsetp.eq.u32 %%p1, %%r1, 0;\n\t@%%p1 %s OUT;\n\tmad.lo.u32 %%r20, %%r20, 3, %%r1;\n"
		"\tsub.u32 %%r1, %%r1, 1;\n"
		"\t%s LOOP;\nOUT:\n", s->text, s->text);
	make_store(m, 32, "%r20");
	make_end(m);
}

static void
branch_table(struct maker *m, const struct spelling *s)
{
	bool uniform = spelling_has(s, ".uni");
	make_begin(m, s, NULL, THREADS);
	make_text(m, "\t%s;\n\tand.b32 %%r1, %%r1, 3;\n\tmov.b32 %%r20, 0;\nTARGETS: .branchtargets A0, A1, A2, A1;\n"
		"\t%s %%r1, TARGETS;\n"
		"A0:\n\tadd.u32 %%r20, %%r20, 1;\nA1:\n\tadd.u32 %%r20, %%r20, 10;\nA2:\n\tadd.u32 %%r20, %%r20, 100;\n",
		uniform ? "shr.u32 %r1, %t, 8" : "mov.u32 %r1, %t", s->text);
	make_store(m, 32, "%r20");
	make_end(m);
}

static void
call(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, NULL, THREADS);
	make_text(m, "\t{\n\t.param .b32 argument;\n\t.param .b32 answer;\n\tst.param.b32 [argument], %%t;\n"
		"\t%s (answer), callee, (argument);\n"
		"\tld.param.b32 %%r20, [answer];\n\t}\n", s->text);
	make_store(m, 32, "%r20");
	make_end(m);
	make_begin(m, s, "pointer", THREADS);
	make_text(m, "\tmov.u64 %%q1, callee;\n\t{\n\t.param .b32 argument;\n\t.param .b32 answer;\n\tst.param.b32 [argument], %%t;\n"
		"\tprototype: .callprototype (.param .b32 _) _ (.param .b32 _);\n\t%s (answer), %%q1, (argument), prototype;\n"
		"\tld.param.b32 %%r20, [answer];\n\t}\n", strcmp(s->text, "call.uni") ? s->text : "call");
	make_store(m, 32, "%r20");
	make_end(m);
}

/* Some lanes leave early. */
static void
leave(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, NULL, THREADS);
	make_store(m, 32, "%t");
	make_text(m, spelling_has(s, ".uni") ? "\tshr.u32 %%r1, %%t, 8;\n\tand.b32 %%r1, %%r1, 1;\n" : "\tand.b32 %%r1, %%t, 5;\n");
	make_text(m, "\tsetp.eq.u32 %%p1, %%r1, 0;\n\t@%%p1 %s;\n\tactivemask.b32 %%r20;\n", s->text);
	make_store(m, 32, "%lane");
	make_end(m);
}

static void
stop_launch(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, NULL, THREADS);
	make_store(m, 32, "%t");
	make_text(m, "\tsetp.eq.u32 %%p1, %%t, 77;\n\t@%%p1 %s;\n", s->text);
	m->probe.stops = true;
	make_end(m);
}

bool
control_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	if (!strcmp(op, "bra"))
		branch(m, s);
	else if (!strcmp(op, "brx"))
		branch_table(m, s);
	else if (!strcmp(op, "call"))
		call(m, s);
	else if (!strcmp(op, "ret") || !strcmp(op, "exit"))
		leave(m, s);
	else if (!strcmp(op, "trap") || !strcmp(op, "brkpt"))
		stop_launch(m, s);
	else
		return false;
	return true;
}
