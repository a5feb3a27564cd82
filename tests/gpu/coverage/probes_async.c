/* Probes of what happens behind a thread's back: barriers in shared memory, bulk copies and reductions that
 * complete on them, vectors of atomics, cache policies. In: one spelling. Out: a kernel in which the instruction
 * takes the part it has in an exchange; only values that do not depend on timing or on addresses are kept. */
#include "make.h"

#include <string.h>

enum { MBARRIER = 12288 };		/* where it stands in space */

static bool
shared_word(const struct spelling *s)
{
	return strstr(s->text, ".shared") != NULL;
}

/* Values of the block's threads in space, a barrier for `count` arrivals; its address in %r31 and %q31 (generic),
 * or the generic one in both roles. */
static void
begin_exchange(struct maker *m, const struct spelling *s, const char *variant, unsigned count)
{
	make_begin(m, s, variant, THREADS);
	make_text(m, "\tmov.u32 %%r30, %%tid.x;\n\tmov.u32 %%r32, space;\n\tadd.u32 %%r31, %%r32, %u;\n\tcvt.u64.u32 %%q31, %%r31;\n"
		"\tcvta.shared.u64 %%q31, %%q31;\n\tsetp.eq.u32 %%p1, %%r30, 0;\n", MBARRIER);
	if (strcmp(s->words[0], ".init"))
		make_text(m, "\t@%%p1 mbarrier.init.shared.b64 [%%r31], %u;\n", count);
	else
		make_text(m, "\t@%%p1 %s [%%%s], %u;\n", s->text, shared_word(s) ? "r31" : "q31", count);
	make_text(m, "\tbar.sync 0;\n\tmad.lo.u32 %%r33, %%r30, 4, %%r32;\n\tmul.lo.u32 %%r34, %%t, 0x9E3779B1;\n"
		"\tst.shared.u32 [%%r33], %%r34;\n");
}

/* Waits for a phase by its parity, reads what another thread wrote. */
static void
wait_parity(struct maker *m, unsigned parity)
{
	unsigned label = m->slots * 2 + parity;
	make_text(m, "WAIT%u:\n\tmbarrier.try_wait.parity.shared.b64 %%p2, [%%r31], %u;\n\t@!%%p2 bra WAIT%u;\n", label, parity,
		label);
}

static void
read_other(struct maker *m, unsigned distance)
{
	make_text(m, "\txor.b32 %%r35, %%r30, %u;\n\tmad.lo.u32 %%r35, %%r35, 4, %%r32;\n\tld.shared.u32 %%r20, [%%r35];\n",
		distance);
	make_store(m, 32, "%r20");
}

static void
arrive(struct maker *m, const struct spelling *s)
{
	bool cluster = strstr(s->text, ".shared::cluster") != NULL, drop = strstr(s->text, "arrive_drop") != NULL;
	bool expect = spelling_has(s, ".expect_tx"), incomplete = spelling_has(s, ".noComplete");
	const char *at = shared_word(s) ? "r31" : "q31", *to = cluster ? "_" : "%q20";
	begin_exchange(m, s, NULL, incomplete ? BLOCK + 1 : BLOCK);
	make_text(m, "\t%s %s, [%%%s]%s;\n", s->text, to, at, expect ? ", 4" : incomplete ? ", 1" : "");
	if (expect)
		make_text(m, "\tmbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%%r31], 4;\n");
	if (incomplete)
		make_text(m, "\tbar.sync 0;\n\t@%%p1 mbarrier.arrive.shared.b64 %%q21, [%%r31];\n");
	wait_parity(m, 0);
	read_other(m, 255);
	if (drop && !incomplete) {		/* nobody is expected any more, but one has come back */
		make_text(m, "\tbar.sync 0;\n\tmbarrier.test_wait.parity.shared.b64 %%p3, [%%r31], 1;\n");
		make_store(m, 1, "%p3");
	}
	make_end(m);
}

static void
wait(struct maker *m, const struct spelling *s)
{
	bool parity = spelling_has(s, ".parity");
	const char *at = shared_word(s) ? "r31" : "q31";
	begin_exchange(m, s, NULL, BLOCK);
	make_text(m, "\tmbarrier.arrive.shared.b64 %%q20, [%%r31];\nAGAIN:\n\t%s %%p2, [%%%s], %s;\n\t@!%%p2 bra AGAIN;\n%s",
		s->text, at,
		parity ? "0" : "%q20", spelling_has(s, ".relaxed") ? "\tfence.acq_rel.cta;\n" : "");
	read_other(m, 255);
	make_text(m, "\tbar.sync 0;\n\t%s %%p3, [%%%s], %s;\n", s->text, at, parity ? "0" : "%q20");
	make_store(m, 1, "%p3");
	make_end(m);
}

static void
transactions(struct maker *m, const struct spelling *s)
{
	bool complete = spelling_has(s, ".complete_tx");
	const char *at = shared_word(s) ? "r31" : "q31";
	begin_exchange(m, s, NULL, BLOCK);
	make_text(m, "\t@%%p1 %s [%%%s], 64;\n\tbar.sync 0;\n", complete ? "mbarrier.expect_tx.relaxed.cta.shared.b64"
		: s->text, complete ? "r31" : at);
	make_text(m, "\tmbarrier.arrive.shared.b64 %%q20, [%%r31];\n\tbar.sync 0;\n"
		"\tmbarrier.test_wait.shared.b64 %%p3, [%%r31], %%q20;\n");
	make_store(m, 1, "%p3");
	make_text(m, "\tbar.sync 0;\n\t@%%p1 %s [%%%s], 64;\n", complete ? s->text
		: "mbarrier.complete_tx.relaxed.cta.shared.b64", complete ? at : "r31");
	wait_parity(m, 0);
	read_other(m, 255);
	make_end(m);
}

static void
initialise(struct maker *m, const struct spelling *s)
{
	bool inval = spelling_has(s, ".inval");
	begin_exchange(m, s, NULL, BLOCK);
	make_text(m, "\tmbarrier.arrive.shared.b64 %%q20, [%%r31];\n");
	wait_parity(m, 0);
	read_other(m, 255);
	if (inval)
		make_text(m, "\tbar.sync 0;\n\t@%%p1 %s [%%%s];\n\t@%%p1 mbarrier.init.shared.b64 [%%r31], 1;\n\tbar.sync 0;\n"
			"\t@%%p1 mbarrier.arrive.shared.b64 %%q20, [%%r31];\n", s->text, shared_word(s) ? "r31" : "q31");
	if (inval)
		wait_parity(m, 0);
	make_end(m);
}

/* What is left to come of the phase is in the state that an arrival returns. */
static void
pending(struct maker *m, const struct spelling *s)
{
	begin_exchange(m, s, NULL, 77);
	make_text(m, "\tmov.u32 %%r20, 0;\n\tbar.sync 0;\n\t@!%%p1 bra DONE;\n\tmbarrier.arrive.shared.b64 %%q20, [%%r31];\n"
		"\t%s %%r20, %%q20;\nDONE:\n", s->text);
	make_store(m, 32, "%r20");
	make_end(m);
}

/* cp.async whose end counts as an arrival */
static void
copy_arrival(struct maker *m, const struct spelling *s)
{
	bool noinc = spelling_has(s, ".noinc");
	begin_exchange(m, s, NULL, BLOCK);
	const struct operand_type *b64 = operand_type_find("b64");
	make_values(m, 0, 1, &b64);
	make_text(m, "\tmad.lo.u32 %%r36, %%r30, 8, %%r32;\n\tbar.sync 0;\n\tcp.async.ca.shared.global [%%r36], [%%in], 8;\n"
		"\t%s [%%%s];\n", s->text,
		shared_word(s) ? "r31" : "q31");
	if (!noinc)
		make_text(m, "\tmbarrier.arrive.shared.b64 %%q20, [%%r31];\n");
	wait_parity(m, 0);
	make_text(m, "\txor.b32 %%r35, %%r30, 255;\n\tmad.lo.u32 %%r35, %%r35, 8, %%r32;\n\tld.shared.u64 %%q22, [%%r35];\n");
	make_store(m, 64, "%q22");
	make_end(m);
}

/* ---- bulk copies: thread 0 moves a kilobyte for the block */

static void
policy_operand(struct maker *m, const struct spelling *s)
{
	if (spelling_has(s, ".L2::cache_hint"))
		make_text(m, "\tcreatepolicy.fractional.L2::evict_first.b64 %%q40, 1.0;\n");
}

static void
bulk_in(struct maker *m, const struct spelling *s)
{
	const struct operand_type *b64 = operand_type_find("b64");
	begin_exchange(m, s, NULL, 1);
	make_values(m, 0, 1, &b64);
	policy_operand(m, s);
	make_text(m, "\tbar.sync 0;\n\tfence.proxy.async;\n\t@%%p1 mbarrier.arrive.expect_tx.shared.b64 %%q20, [%%r31], 1024;\n"
		"\t@%%p1 %s [%%r32], [%%in], 1024, [%%r31]%s;\n",
		s->text, spelling_has(s, ".L2::cache_hint") ? ", %q40" : "");
	wait_parity(m, 0);
	make_text(m, "\tand.b32 %%r35, %%r30, 127;\n\tmad.lo.u32 %%r35, %%r35, 8, %%r32;\n\tld.shared.u64 %%q22, [%%r35];\n");
	make_store(m, 64, "%q22");
	make_end(m);
}

/* From this block's shared memory to the next one's of its cluster */
static void
bulk_across(struct maker *m, const struct spelling *s, const char *kind)
{
	bool one = !strcmp(kind, "red");
	const struct operand_type *type = s->n_types ? s->types[s->n_types - 1] : operand_type_find("b32");
	unsigned width = spelling_has(s, ".v4") ? 4 : spelling_has(s, ".v2") ? 2 : 1, bytes = one ? width * type->bits / 8 * 32
		: 1024;
	begin_exchange(m, s, NULL, 1);
	m->probe.cluster = 2;
	make_text(m, "\tmad.lo.u32 %%r36, %%r30, 8, %%r32;\n\tcvt.u64.u32 %%q32, %%r34;\n"
		"\tand.b64 %%q32, %%q32, 0x0000FFFF0000FFFF;\n\tbar.sync 0;\n\tst.shared.u64 [%%r36], %%q32;\n"
		"\tmov.u64 %%q33, 5;\n\tst.shared.u64 [%%r36+4096], %%q33;\n"
		"\t@%%p1 mbarrier.arrive.expect_tx.shared.b64 %%q20, [%%r31], %u;\n\tfence.proxy.async;\n"
			"\tfence.mbarrier_init.release.cluster;\n"
		"\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n\tmov.u32 %%r40, %%cluster_ctarank;\n"
			"\txor.b32 %%r40, %%r40, 1;\n"
		"\tadd.u32 %%r41, %%r32, 4096;\n\tmapa.shared::cluster.u32 %%r42, %%r41, %%r40;\n"
			"\tmapa.shared::cluster.u32 %%r43, %%r31, %%r40;\n", bytes);
	if (one) {			/* 32 threads, reductions onto 8 places */
		char c = type->bits == 64 ? 'q' : 'r';
		make_text(m, "\tsetp.lt.u32 %%p4, %%r30, 32;\n\tand.b32 %%r44, %%r30, %u;\n\tmad.lo.u32 %%r44, %%r44, %u, %%r42;\n"
			"\tmov.b%u %%%c50, 9;\n"
			"\t@%%p4 %s [%%r44], ", !strcmp(s->row->opcode, "red") ? 7 : 31, !strcmp(s->row->opcode, "red") ? 8 : 32,
				type->bits, c, s->text);
		make_text(m, width == 4 ? "{%%%c50, %%%c50, %%%c50, %%%c50}, [%%r43];\n" : width == 2 ? "{%%%c50, %%%c50}, [%%r43];\n"
			: "%%%c50, [%%r43];\n", c, c, c, c);
	} else {
		make_text(m, "\t@%%p1 %s [%%r42], [%%r32], 1024, [%%r43];\n", s->text);
	}
	wait_parity(m, 0);
	make_text(m, "\tand.b32 %%r35, %%r30, 127;\n\tmad.lo.u32 %%r35, %%r35, 8, %%r41;\n\tld.shared.u64 %%q22, [%%r35];\n");
	make_store(m, 64, "%q22");
	make_text(m, "\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;\n");
	make_end(m);
}

/* From shared memory out; [0] is what the block's place holds afterwards */
static void
bulk_out(struct maker *m, const struct spelling *s)
{
	bool reduce = !strncmp(s->text, "cp.reduce", 9);
	const struct operand_type *type = s->n_types ? s->types[s->n_types - 1] : operand_type_find("b64");
	begin_exchange(m, s, NULL, 1);
	policy_operand(m, s);
	/* small numbers in the type's form, everywhere */
	make_text(m, "\tand.b32 %%r50, %%r30, 7;\n\tadd.u32 %%r50, %%r50, 1;\n\tcvt.rn.f32.u32 %%r51, %%r50;\n");
	if (type->class == 'f')
		make_text(m, type->bits == 64 ? "\tcvt.f64.f32 %%q22, %%r51;\n" : "\tmov.b64 %%q22, {%%r51, %%r51};\n");
	else if (type->class == 'h' || type->class == 'w')
		make_text(m, "\tcvt.rn.%s.f32 %%h1, %%r51;\n\tmov.b64 %%q22, {%%h1, %%h1, %%h1, %%h1};\n", type->class == 'h'
			? "f16" : "bf16");
	else
		make_text(m, type->bits == 64 ? "\tcvt.u64.u32 %%q22, %%r50;\n" : "\tmov.b64 %%q22, {%%r50, %%r50};\n");
	make_text(m, "\tmad.lo.u32 %%r36, %%r30, 8, %%r32;\n\tbar.sync 0;\n\tst.shared.u64 [%%r36], %%q22;\n");
	if (reduce)			/* the place starts with the neighbour's number */
		make_text(m, "\txor.b32 %%r37, %%r30, 1;\n\tmad.lo.u32 %%r37, %%r37, 8, %%r32;\n\tbar.sync 0;\n"
			"\tld.shared.u64 %%q23, [%%r37];\n"
			"\tst.global.u64 [%%out], %%q23;\n");
	make_text(m, "\tfence.proxy.async;\n\tbar.sync 0;\n\t@%%p1 %s [%%out], [%%r32], 2048%s;\n"
		"\t@%%p1 cp.async.bulk.commit_group;\n"
		"\t@%%p1 cp.async.bulk.wait_group 0;\n\tbar.sync 0;\n", s->text, spelling_has(s, ".L2::cache_hint") ? ", %q40" : "");
	m->slots = 1;
	make_end(m);
}

static void
bulk_groups(struct maker *m, const struct spelling *s)
{
	bool commit = spelling_has(s, ".commit_group");
	begin_exchange(m, s, NULL, 1);
	make_text(m, "\tfence.proxy.async;\n\tbar.sync 0;\n\tsub.u64 %%q32, %%out, 0;\n"
		"\t@%%p1 cp.async.bulk.global.shared::cta.bulk_group [%%out], [%%r32], 1024;\n"
		"\t@%%p1 %s;\n\t@%%p1 %s 0;\n", commit ? s->text : "cp.async.bulk.commit_group", commit
			? "cp.async.bulk.wait_group" : s->text);
	if (spelling_has(s, ".read"))
		make_text(m, "\t@%%p1 cp.async.bulk.wait_group 0;\n");
	m->slots = 1;
	make_end(m);
}

/* ---- policies and vectors of atomics */

static void
policy(struct maker *m, const struct spelling *s)
{
	make_begin(m, s, NULL, THREADS);
	const struct operand_type *b64 = operand_type_find("b64");
	make_values(m, 0, 1, &b64);
	if (spelling_has(s, ".fractional"))
		make_text(m, "\t%s %%q40, 0.5;\n", s->text);
	else if (spelling_has(s, ".range"))
		make_text(m, "\t%s %%q40, [%%in], 65536, 65536;\n", s->text);
	else
		make_text(m, "\tmov.u64 %%q41, 0x14F0000000000000;\n\t%s %%q40, %%q41;\n", s->text);
	if (strcmp(s->row->opcode, "createpolicy"))
		return;
	make_text(m, "\tld.global.L2::cache_hint.u64 %%q22, [%%in], %%q40;\n\tst.global.L2::cache_hint.u64 [%%out], %%q22, %%q40;\n");
	m->slots = 1;
	make_end(m);
}

static void
atomic_vector(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[s->n_types - 1];
	unsigned n = spelling_has(s, ".v8") ? 8 : spelling_has(s, ".v4") ? 4 : 2;
	bool red = !strcmp(s->row->opcode, "red");
	char c = type->bits == 16 ? 'h' : 'r';
	make_begin(m, s, NULL, THREADS);
	policy_operand(m, s);
	make_text(m, "\tld.param.u64 %%q10, [pout];\n\tmul.wide.u32 %%q11, %%t, 32;\n\tadd.u64 %%q10, %%q10, %%q11;\n");
	if (spelling_has(s, ".global"))
		make_text(m, "\tcvta.to.global.u64 %%q10, %%q10;\n");
	for (unsigned k = 0; k < n; k++) {	/* small whole numbers */
		make_text(m, "\tmad.lo.u32 %%r50, %%t, %u, %u;\n\tand.b32 %%r50, %%r50, 15;\n\tcvt.rn.f32.u32 %%r51, %%r50;\n",
			2 * k + 1, k);
		if (type->class == 'f')
			make_text(m, "\tmov.b32 %%r%u, %%r51;\n", 60 + k);
		else
			make_text(m, "\tcvt.rn.%s.f32 %%h9, %%r51;\n\tmov.b16 %%h%u, %%h9;\n\tmov.b32 %%r%u, {%%h9, %%h9};\n",
				strchr("hH", type->class) ? "f16" : "bf16", 10 + k, 60 + k);
	}
	for (unsigned round = 0; round < 2; round++) {
		make_text(m, red ? "\t%s [%%q10], {" : "\t%s {", s->text);
		for (unsigned k = 0; k < n && !red; k++)
			make_text(m, "%s%%%c%u", k ? ", " : "", c, (c == 'h' ? 20 : 80) + k);
		if (!red)
			make_text(m, "}, [%%q10], {");
		for (unsigned k = 0; k < n; k++)
			make_text(m, "%s%%%c%u", k ? ", " : "", c, (c == 'h' ? 10 : 60) + k);
		make_text(m, "}%s;\n", spelling_has(s, ".L2::cache_hint") ? ", %q40" : "");
	}
	m->slots = 4;
	for (unsigned k = 0; k < n && !red; k++) {
		char reg[8];
		snprintf(reg, sizeof reg, "%%%c%u", c, (c == 'h' ? 20 : 80) + k);
		make_store(m, type->bits, reg);
	}
	make_end(m);
}

static void
prefetch(struct maker *m, const struct spelling *s)
{
	const struct operand_type *b64 = operand_type_find("b64");
	begin_exchange(m, s, NULL, 1);
	make_values(m, 0, 1, &b64);
	policy_operand(m, s);
	make_text(m, "\t@%%p1 %s [%%in], 1024%s;\n\tld.global.u64 %%q22, [%%in];\n", s->text, spelling_has(s,
		".L2::cache_hint") ? ", %q40" : "");
	make_store(m, 64, "%q22");
	make_end(m);
}

bool
async_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode, *text = s->text;
	bool bulk = strstr(text, ".bulk") && !strstr(text, ".tensor");
	if (!strcmp(op, "mbarrier") && (spelling_has(s, ".init") || spelling_has(s, ".inval")))
		initialise(m, s);
	else if (!strcmp(op, "mbarrier") && strstr(text, ".arrive"))
		arrive(m, s);
	else if (!strcmp(op, "mbarrier") && strstr(text, "_wait"))
		wait(m, s);
	else if (!strcmp(op, "mbarrier") && strstr(text, "_tx"))
		transactions(m, s);
	else if (!strncmp(text, "cp.async.mbarrier", 17))
		copy_arrival(m, s);
	else if (!strcmp(op, "createpolicy"))
		policy(m, s);
	else if ((!strcmp(op, "atom") || !strcmp(op, "red")) && (strstr(text, ".v2") || strstr(text, ".v4") || strstr(text, ".v8")))
		atomic_vector(m, s);
	else if (!strcmp(op, "mbarrier"))
		pending(m, s);
	else if (!strncmp(text, "red.async", 9) || !strncmp(text, "st.async", 8))
		bulk_across(m, s, "red");
	else if (bulk && strstr(text, ".prefetch"))
		prefetch(m, s);
	else if (bulk && strstr(text, "_group") && !strstr(text, ".global"))
		bulk_groups(m, s);
	else if (bulk && strstr(text, ".bulk_group"))
		bulk_out(m, s);
	else if (bulk && strstr(text, ".shared::cluster.shared::cta"))
		bulk_across(m, s, strstr(text, "reduce") ? "reduce" : "copy");
	else if (bulk && strstr(text, ".global.mbarrier"))
		bulk_in(m, s);
	else
		return false;
	return true;
}
