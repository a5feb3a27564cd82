/* Probes of instructions between registers. In: one spelling. Out: a kernel that executes it on each thread's
 * operands with registers, with immediates as the last source, and under a guard that half of the lanes fail,
 * because the machine has a handler, or a path in it, for each of these. */
#include "make.h"

#include <string.h>

struct form {
	struct operand_type destination;
	const struct operand_type *sources[4];
	unsigned n_sources;
	const char *tail;		/* more operands, as text */
};

static char
register_letter(const struct operand_type *t)
{
	return t->class == 'p' ? 'p' : t->bits == 64 ? 'q' : t->bits == 16 ? 'h' : 'r';
}

/* Registers: sources 1.., destinations 20.. */
static void
put_register(struct buf *out, const struct operand_type *t, unsigned number)
{
	buf_addf(out, "%%%c%u", register_letter(t), number);
}

static const char *
immediate(const struct operand_type *t, unsigned which)
{
	static const char *const small[] = { "7", "12" }, *const floats[] = { "0f3FC00000", "0f80000001" },
		*const doubles[] = { "0d3FF8000000000000", "0d8000000000000001" };
	if (t->class == 'f')
		return t->bits == 64 ? doubles[which] : floats[which];
	if (!which)
		return small[0];
	if (t->class == 'c')
		return "37";
	if (t->class == 's')
		return "-3";
	return t->bits == 64 ? "0xFFFFFFFFFFFFFFF0" : t->bits == 32 ? "0xFFFFFFF0" : "0xFFF0";
}

static bool
takes_immediates(const struct operand_type *t)
{
	return strchr("usbfc", t->class) && t->bits >= 16 && t->bits <= 64;
}

static void
put_instruction(struct maker *m, const struct spelling *s, const struct form *f, unsigned d, int which_immediate)
{
	struct buf out = BUF_INIT;
	buf_addf(&out, "%s ", s->text);
	put_register(&out, &f->destination, d);
	for (unsigned k = 0; k < f->n_sources; k++) {
		buf_adds(&out, ", ");
		if (which_immediate >= 0 && k == f->n_sources - 1)
			buf_adds(&out, immediate(f->sources[k], (unsigned)which_immediate));
		else
			put_register(&out, f->sources[k], 1 + k);
	}
	make_text(m, "%s%s;\n", buf_str(&out), f->tail ? f->tail : "");
	buf_release(&out);
}

static void
store_result(struct maker *m, const struct form *f, unsigned d)
{
	char reg[16];
	snprintf(reg, sizeof reg, "%%%c%u", register_letter(&f->destination), d);
	make_store(m, f->destination.bits == 8 ? 32 : f->destination.bits, reg);
}

static void
load_operands(struct maker *m, const struct form *f)
{
	for (unsigned k = 0; k < f->n_sources; k++) {
		make_values(m, k, f->n_sources, f->sources);
		make_load(m, k, f->sources[k], 1 + k);
	}
}

static void
preset(struct maker *m, const struct operand_type *d, unsigned reg)
{
	if (d->class == 'p')
		make_text(m, "\tand.b32 %%r8, %%t, 2;\n\tsetp.ne.u32 %%p%u, %%r8, 0;\n", reg);
	else
		make_text(m, "\tmov.b%u %%%c%u, 0x5A5A;\n", d->bits == 8 ? 32 : d->bits, register_letter(d), reg);
}

/* Which NaN comes out of fp64 arithmetic on two, of a copy, of a negation by the adder or by a mask: PTX leaves it open. */
static uint32_t
open_nan(const struct spelling *s, const struct operand_type *destination)
{
	static const char *const doubles[] = { "add", "sub", "mul", "fma", "mad", "div" };
	for (unsigned k = 0; k < 6 && destination->bits == 64 && destination->class == 'f'; k++)
		if (!strcmp(s->row->opcode, doubles[k]))
			return 64;
	if (!strcmp(s->row->opcode, "abs") || !strcmp(s->row->opcode, "neg"))
		return destination->class == 'f' && destination->bits == 32 ? 32 : 0;
	static const char *const copies[] = { "cvt.f32.f32", "cvt.ftz.f64.f32" };
	for (unsigned k = 0; k < 2; k++)
		if (!strcmp(s->text, copies[k]))
			return destination->bits;
	if (strstr(s->text, ".bf16.f64"))
		return 16;
	if (!strcmp(s->text, "cvt.rm.f32.bf16") || !strcmp(s->text, "cvt.rp.f32.bf16")
		|| (strstr(s->text, ".tf32.f32") && (spelling_has(s, ".relu") || spelling_has(s, ".rna"))))
		return 32;
	return 0;
}

static void
generic(struct maker *m, const struct spelling *s, const struct form *f, bool approximate)
{
	const struct operand_type *last = f->sources[f->n_sources - 1];
	make_begin(m, s, NULL, THREADS);
	m->probe.any_nan_bits = open_nan(s, &f->destination);
	m->probe.bfloat = f->destination.class == 'w';
	load_operands(m, f);
	make_text(m, "\t");
	put_instruction(m, s, f, 20, -1);
	store_result(m, f, 20);
	for (int k = 0; k < 2 && !approximate && f->n_sources > 1 && !f->tail && takes_immediates(last) && !strstr(s->text,
		"16x2"); k++) {
		make_text(m, "\t");
		put_instruction(m, s, f, 21 + (unsigned)k, k);
		store_result(m, f, 21 + (unsigned)k);
	}
	/* NVIDIA's assembler executes a guarded testp, or set to a float, in spite of the guard */
	bool guarded = !approximate && strcmp(s->row->opcode, "testp") && (strcmp(s->row->opcode, "set")
		|| f->destination.class == 'u' || f->destination.class == 's');
	if (guarded) {
		preset(m, &f->destination, 23);
		make_text(m, "\tand.b32 %%r8, %%t, 5;\n\tsetp.ne.u32 %%p29, %%r8, 0;\n\t@%%p29 ");
		put_instruction(m, s, f, 23, -1);
		store_result(m, f, 23);
	}
	make_end(m);
}

/* ---- tolerances: what the PTX ISA states for the approximate instructions */

#define POW2(n) (1.0 / (1ull << (n)))

static const struct {
	const char *start, *type;
	struct tolerance tolerance;
} tolerances[] = {
	{ "div.approx", "f32", { 2 * POW2(23), 0, "2 ulp" } },
	{ "div.full", "f32", { 2 * POW2(23), 0, "2 ulp" } },
	{ "rcp.approx", "f32", { POW2(23), 0, "1 ulp" } },
	{ "rcp.approx", "f64", { POW2(19), 0, "a gross approximation: the low word is zero" } },
	{ "sqrt.approx", "f32", { POW2(23), 0, "relative error 2^-23" } },
	{ "rsqrt.approx", "f32", { 1.0718 * POW2(23), 0, "relative error 2^-22.9" } },
	{ "rsqrt.approx", "f64", { POW2(19), 0, "a gross approximation: the low word is zero" } },
	{ "ex2.approx", "f32", { POW2(22), 0, "relative error 2^-22" } },
	{ "ex2.approx", "f16", { 1.0718 * POW2(10), 0, "relative error 2^-9.9" } },
	{ "ex2.approx", "f16x2", { 1.0718 * POW2(10), 0, "relative error 2^-9.9" } },
	{ "ex2.approx", "bf16", { POW2(7), 0, "relative error 2^-7" } },
	{ "ex2.approx", "bf16x2", { POW2(7), 0, "relative error 2^-7" } },
	{ "lg2.approx", "f32", { POW2(22), POW2(22), "absolute error 2^-22 between 0.5 and 2, else relative 2^-22" } },
	{ "sin.approx", "f32", { 0, 1.4143 * POW2(21), "absolute error 2^-20.5 within [-pi, pi]" } },
	{ "cos.approx", "f32", { 0, 1.4143 * POW2(21), "absolute error 2^-20.5 within [-pi, pi]" } },
	{ "tanh.approx", "f32", { POW2(11), 0, "relative error 2^-11" } },
	{ "tanh.approx", "f16", { 0, 1.0091 * POW2(11), "absolute error 2^-10.987" } },
	{ "tanh.approx", "f16x2", { 0, 1.0091 * POW2(11), "absolute error 2^-10.987" } },
	{ "tanh.approx", "bf16", { POW2(8), 0, "relative error 2^-8" } },
	{ "tanh.approx", "bf16x2", { POW2(8), 0, "relative error 2^-8" } },
};

static void
set_tolerance(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[s->n_types - 1];
	for (size_t k = 0; k < sizeof tolerances / sizeof *tolerances; k++)
		if (!strncmp(s->text, tolerances[k].start, strlen(tolerances[k].start)) && !strcmp(type->name, tolerances[k].type))
			m->probe.tolerance = &tolerances[k].tolerance;
	m->probe.result_bits = strchr("hHwW", type->class) ? 16 : type->bits;
	m->probe.bfloat = type->class == 'w' || type->class == 'W';
}

/* Sine and cosine are defined to an error only near zero. */
static void
approximation(struct maker *m, const struct spelling *s, const struct form *f)
{
	bool periodic = !strcmp(s->row->opcode, "sin") || !strcmp(s->row->opcode, "cos");
	make_begin(m, s, NULL, THREADS);
	load_operands(m, f);
	if (periodic)		/* to [-pi, pi]; infinities and NaN stay */
		make_text(m, "\tabs.f32 %%r8, %%r1;\n\tsetp.gt.f32 %%p1, %%r8, 0f40490FDB;\n"
			"\tsetp.lt.and.f32 %%p1, %%r8, 0f7F800000, %%p1;\n"
			"\tand.b32 %%r8, %%r1, 0x807FFFFF;\n\tor.b32 %%r8, %%r8, 0x3F800000;\n\tselp.b32 %%r1, %%r8, %%r1, %%p1;\n");
	make_text(m, "\t");
	put_instruction(m, s, f, 20, -1);
	store_result(m, f, 20);
	set_tolerance(m, s);
	make_end(m);
}

/* ---- operands of a row */

static const struct operand_type *
code_type(const struct spelling *s, const char *code, size_t length)
{
	char name[16];
	const struct operand_type *last = s->n_types ? s->types[s->n_types - 1] : operand_type_find("b32");
	snprintf(name, sizeof name, "%.*s", (int)length, code);
	if (!strcmp(name, "T"))
		return last;
	if (!strcmp(name, "W")) {
		snprintf(name, sizeof name, "%c%u", last->name[0], last->bits * 2);
		return operand_type_find(name);
	}
	if (!strcmp(name, "U"))
		return operand_type_find("count");
	if (!strcmp(name, "P"))
		return operand_type_find("pred");
	/* a pair of halves in 32 bits has values of its own */
	const struct operand_type *named = operand_type_find(name);
	return named && last->bits == named->bits && named->class == 'b' && strchr("HWf", last->class) ? last : named;
}

static bool
form_of(const struct spelling *s, struct form *f)
{
	memset(f, 0, sizeof *f);
	for (const char *p = s->row->operands; *p;) {
		size_t length = strcspn(p, " ");
		const struct operand_type *t = code_type(s, p + 1, length - 1);
		if (!t)
			return false;
		if (*p == 'd')
			f->destination = *t;
		else if (f->n_sources < 4)
			f->sources[f->n_sources++] = t;
		p += length;
		p += strspn(p, " ");
	}
	if (f->destination.class == 'c')
		f->destination = *operand_type_find("b32");
	return f->destination.name && f->n_sources;
}

/* ---- rows of their own kind */

/* fma.oob: every NaN as each of the operands */
static void
outside(struct maker *m, const struct spelling *s, const struct form *f)
{
	bool two = f->destination.bits == 32;
	const char *r = two ? "r" : "h", *one = strchr("wW", f->destination.class) ? "0x3F80" : "0x3C00";
	make_begin(m, s, "every NaN", THREADS);
	make_text(m, "\tand.b32 %%r30, %%t, 1023;\n\tor.b32 %%r30, %%r30, 0x7C00;\n\tand.b32 %%r31, %%t, 1024;\n"
		"\tshl.b32 %%r31, %%r31, 5;\n\tor.b32 %%r30, %%r30, %%r31;\n\tcvt.u16.u32 %%h1, %%r30;\n\tmov.b16 %%h2, %s;\n"
		"\tmov.b32 %%r1, {%%h1, %%h2};\n\tmov.b32 %%r2, {%%h2, %%h2};\n", one);
	for (unsigned k = 0; k < 3; k++) {
		make_text(m, "\t%s %%%s20, %%%s%u, %%%s%u, %%%s%u;\n", s->text, r, r, k == 0 ? 1 : 2, r, k == 1 ? 1 : 2, r,
			k == 2 ? 1 : 2);
		store_result(m, f, 20);
	}
	make_end(m);
}

static void
lop3(struct maker *m, const struct spelling *s)
{
	struct form f = { .destination = *operand_type_find("b32"), .n_sources = 3,
		.sources = { operand_type_find("b32"), operand_type_find("b32"), operand_type_find("b32") } };
	for (unsigned part = 0; part < 4; part++) {
		char name[16];
		snprintf(name, sizeof name, "table %u", part);
		make_begin(m, s, name, THREADS);
		load_operands(m, &f);
		make_text(m, "\tmov.b32 %%r20, 0;\n");
		for (unsigned k = part * 64; k < part * 64 + 64; k++)
			make_text(m, "\t%s %%r21, %%r1, %%r2, %%r3, %u;\n\tmad.lo.u32 %%r20, %%r20, 31, %%r21;\n", s->text, k);
		make_store(m, 32, "%r20");
		make_end(m);
	}
}

/* The carry goes in from an addition before, and comes out through one behind. */
static void
carry(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[s->n_types - 1];
	const char *op = s->row->opcode;
	struct form f = { .destination = *type, .n_sources = strchr("m", *op) ? 3 : 2, .sources = { type, type, type } };
	bool in = op[strlen(op) - 1] == 'c', subtract = *op == 's';
	char c = register_letter(type);
	make_begin(m, s, NULL, THREADS);
	load_operands(m, &f);
	if (in)
		make_text(m, "\t%s.cc.u%u %%%c10, %%%c2, %%%c%u;\n", subtract ? "sub" : "add", type->bits, c, c, c, subtract ? 1 : 2);
	make_text(m, "\t");
	put_instruction(m, s, &f, 20, -1);
	if (spelling_has(s, ".cc"))
		make_text(m, "\t%sc.u%u %%%c21, 0, 0;\n", subtract ? "sub" : "add", type->bits, c);
	store_result(m, &f, 20);
	if (spelling_has(s, ".cc"))
		store_result(m, &f, 21);
	make_end(m);
}

static void
setp(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[s->n_types - 1], *pred = operand_type_find("pred");
	const struct operand_type *types[] = { type, type, pred };
	bool combined = spelling_has(s, ".and") || spelling_has(s, ".or") || spelling_has(s, ".xor");
	unsigned n = combined ? 3 : 2;
	char a[8], b[8];
	snprintf(a, sizeof a, "%%%c1", register_letter(type));
	snprintf(b, sizeof b, "%%%c2", register_letter(type));
	make_begin(m, s, NULL, THREADS);
	for (unsigned k = 0; k < n; k++) {
		make_values(m, k, k < 2 ? 2 : 3, types);
		make_load(m, k, types[k], 1 + k);
	}
	bool two = type->class != 'h' && type->class != 'w';		/* scalar halves have one predicate */
	make_text(m, "\tsetp.eq.u32 %%p11, %%t, 3;\n\tmov.pred %%p13, %%p11;\n\tmov.pred %%p15, %%p11;\n");
	make_text(m, "\t%s %%p10%s, %s, %s%s;\n", s->text, two ? "|%p11" : "", a, b, combined ? ", %p3" : "");
	make_store(m, 1, "%p10");
	make_store(m, 1, "%p11");
	if (combined) {
		make_text(m, "\t%s %%p12%s, %s, %s, !%%p3;\n", s->text, two ? "|%p13" : "", a, b);
		make_store(m, 1, "%p12");
		make_store(m, 1, "%p13");
	}
	for (unsigned k = 0; k < 2 && takes_immediates(type); k++) {
		make_text(m, "\t%s %%p14|%%p15, %s, %s%s;\n", s->text, a, immediate(type, k), combined ? ", %p3" : "");
		make_store(m, 1, "%p14");
	}
	make_text(m, "\tand.b32 %%r8, %%t, 5;\n\tsetp.ne.u32 %%p29, %%r8, 0;\n\tsetp.ne.u32 %%p16, %%r8, 4;\n"
		"\tmov.pred %%p17, %%p16;\n"
		"\t@!%%p29 %s %%p16%s, %s, %s%s;\n", s->text, two ? "|%p17" : "", a, b, combined ? ", %p3" : "");
	make_store(m, 1, "%p16");
	make_store(m, 1, "%p17");
	make_end(m);
}

/* set, slct, cvt: the list has no operands, the types say them */
static void
by_types(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	const struct operand_type *first = s->types[0], *second = s->n_types > 1 ? s->types[1] : first;
	struct form f = { .destination = *first, .n_sources = 1, .sources = { second } };
	if (!strcmp(op, "set")) {
		f.n_sources = 2;
		f.sources[1] = second;
		if (spelling_has(s, ".and") || spelling_has(s, ".or") || spelling_has(s, ".xor"))
			f.sources[f.n_sources++] = operand_type_find("pred");
	} else if (!strcmp(op, "slct")) {
		f = (struct form){ .destination = *first, .n_sources = 3, .sources = { first, first, second } };
	}
	generic(m, s, &f, false);
}

/* Where the reserved part of shared memory is, is the system's choice; how its ends lie to each other is not. */
static void
reserved_shared(struct maker *m, const struct spelling *s)
{
	static const char *const differences[][2] = { { "end", "begin" }, { "cap", NULL }, { "0", "begin" }, { "1", "begin" } };
	make_begin(m, s, "reserved", BLOCK);
	for (unsigned k = 0; k < 4; k++) {
		make_text(m, "\tmov.u32 %%r20, %%reserved_smem_offset_%s;\n", differences[k][0]);
		if (differences[k][1])
			make_text(m, "\tmov.u32 %%r21, %%reserved_smem_offset_%s;\n\tsub.u32 %%r20, %%r20, %%r21;\n", differences[k][1]);
		make_store(m, 32, "%r20");
	}
	make_text(m, "\tmov.u32 %%r20, %%aggr_smem_size;\n\tmov.u32 %%r21, %%total_smem_size;\n\tsub.u32 %%r20, %%r20, %%r21;\n");
	make_store(m, 32, "%r20");
	make_text(m, "\tmov.u32 %%r22, %%reserved_smem_offset_1;\n\tand.b32 %%r23, %%t, 63;\n\tmad.lo.u32 %%r22, %%r23, 4, %%r22;\n"
		"\tshr.u32 %%r24, %%t, 6;\n\tsetp.eq.u32 %%p1, %%r24, 0;\n\t@%%p1 st.shared.u32 [%%r22], %%t;\n\tbar.sync 0;\n"
		"\tld.shared.u32 %%r20, [%%r22];\n");
	make_store(m, 32, "%r20");
	make_end(m);
}

static void
mov(struct maker *m, const struct spelling *s)
{
	const struct operand_type *type = s->types[0];
	static const char *const special[] = { "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
		"%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt",
		"%lanemask_ge", "%lanemask_gt", "%dynamic_smem_size", "WARP_SZ" };
	if (spelling_has(s, ".b128")) {
		make_begin(m, s, "pack", THREADS);
		const struct operand_type *two[] = { operand_type_find("b64"), operand_type_find("b64") };
		for (unsigned k = 0; k < 2; k++) {
			make_values(m, k, 2, two);
			make_load(m, k, two[k], 1 + k);
		}
		make_text(m, "\t.reg .b128 %%z<2>;\n\tmov.b128 %%z0, {%%q1, %%q2};\n\tmov.b128 %%z1, %%z0;\n"
			"\tmov.b128 {%%q3, %%q4}, %%z1;\n");
		make_store(m, 64, "%q3");
		make_store(m, 64, "%q4");
		make_end(m);
		return;
	}
	if (!type && !spelling_has(s, ".pred"))
		return;
	by_types(m, s);
	if (!strcmp(s->text, "mov.u32")) {
		make_begin(m, s, "special registers", THREADS);
		for (size_t k = 0; k < sizeof special / sizeof *special; k++) {
			make_text(m, "\tmov.u32 %%r20, %s;\n", special[k]);
			make_store(m, 32, "%r20");
		}
		make_end(m);
		reserved_shared(m, s);
	}
	if (type->class == 'b' && type->bits >= 32) {
		bool wide = type->bits == 64;
		make_begin(m, s, "pack", THREADS);
		make_values(m, 0, 1, &type);
		make_load(m, 0, type, 1);
		make_text(m, wide ? "\tmov.b64 {%%r1, %%r2}, %%q1;\n\tmov.b64 %%q20, {%%r2, %%r1};\n"
			"\tmov.b64 {%%h1, %%h2, %%h3, %%h4}, %%q1;\n"
			"\tmov.b64 %%q21, {%%h4, %%h2, %%h3, %%h1};\n\tmov.b64 {_, %%r3}, %%q1;\n\tcvt.u64.u32 %%q22, %%r3;\n"
			: "\tmov.b32 {%%h1, %%h2}, %%r1;\n\tmov.b32 %%r20, {%%h2, %%h1};\n\tmov.b32 %%r21, {%%h1, %%h1};\n"
			"\tmov.b32 {%%h3, _}, %%r1;\n\tcvt.u32.u16 %%r22, %%h3;\n");
		make_store(m, type->bits, wide ? "%q20" : "%r20");
		make_store(m, type->bits, wide ? "%q21" : "%r21");
		make_store(m, type->bits, wide ? "%q22" : "%r22");
		make_end(m);
	}
}

bool
register_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	struct form f;
	bool carried = spelling_has(s, ".cc") || !strcmp(op, "addc") || !strcmp(op, "subc") || !strcmp(op, "madc");
	if (!strcmp(op, "lop3"))
		lop3(m, s);
	else if (carried)
		carry(m, s);
	else if (!strcmp(op, "setp"))
		setp(m, s);
	else if (!strcmp(op, "mov"))
		mov(m, s);
	else if (!strcmp(op, "set") || !strcmp(op, "slct") || (!strcmp(op, "cvt") && !*s->row->operands))
		by_types(m, s);
	else if (!strcmp(op, "isspacep") || !strcmp(op, "movmatrix") || !strcmp(op, "activemask") || !strcmp(op, "mbarrier")
		|| !form_of(s, &f))
		return false;
	else if (spelling_has(s, ".approx") || spelling_has(s, ".full"))
		approximation(m, s, &f);
	else
		generic(m, s, &f, false);
	if (spelling_has(s, ".oob"))
		outside(m, s, &f);
	return true;
}
