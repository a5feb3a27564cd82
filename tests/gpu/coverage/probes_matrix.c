/* Probes of matrix instructions. In: one spelling. Out: kernels of single warps. With small whole numbers the
 * result is exact in any order of summation and compared bit for bit; with random operands it is compared
 * within what single (or half) precision sums of that length allow. wmma's fragments have no layout that a
 * program may know, so each of its rows is seen through load, mma and store together. */
#include "make.h"

#include <math.h>
#include <string.h>

enum { WARPS = 8, LANES = 32, AREA = 8192 };

struct element {
	const char *name;
	unsigned bits, exponent, fraction;	/* exponent 0: an integer */
	bool is_signed;
};
static const struct element elements[] = { { "f16", 16, 5, 10, true }, { "bf16", 16, 8, 7, true }, { "tf32", 32, 8, 10, true },
	{ "f32", 32, 8, 23, true }, { "f64", 64, 11, 52, true }, { "s8", 8, 0, 0, true }, { "u8", 8, 0, 0, false }, { "s4", 4,
		0, 0, true },
	{ "u4", 4, 0, 0, false }, { "b1", 1, 0, 0, false }, { "s32", 32, 0, 0, true }, { "e4m3", 8, 4, 3, true }, { "e5m2", 8,
		5, 2, true },
	{ "b16", 16, 0, 0, false } };

static const struct element *
element_find(const char *name)
{
	for (size_t k = 0; k < sizeof elements / sizeof *elements; k++)
		if (!strcmp(elements[k].name, name))
			return &elements[k];
	return NULL;
}

/* The bits of sign * fraction * 2^exponent in the element's format; fraction in [1, 2) or 0 */
static uint64_t
encode(const struct element *e, bool negative, double fraction, int exponent)
{
	uint64_t sign = negative ? 1ull << (e->bits - 1) : 0;
	if (e->exponent == 8 && e->fraction == 10)	/* tf32 stands in the top of fp32 */
		return sign | (fraction == 0 ? 0 : (uint64_t)(exponent + 127) << 23 | (uint64_t)((fraction - 1) * 1024) << 13);
	if (fraction == 0)
		return sign;
	uint64_t bias = (1ull << (e->exponent - 1)) - 1;
	return sign | ((uint64_t)exponent + bias) << e->fraction | (uint64_t)((fraction - 1) * (double)(1ull << e->fraction));
}

static uint64_t
element_value(const struct element *e, bool exact, uint64_t r)
{
	static const double small[] = { 0, 1, 1, 1.5, 1 };		/* 0 1 2 3 4 */
	static const int power[] = { 0, 0, 1, 1, 2 };
	if (!e->exponent && e->bits == 32)
		return exact ? (uint64_t)((int64_t)(r % 2001) - 1000) & 0xffffffff : r & 0xffffffff;
	if (!e->exponent)
		return r & ((1ull << e->bits) - 1);
	if (exact)
		return encode(e, r >> 20 & 1, small[r % 5], power[r % 5]);
	return encode(e, r >> 20 & 1, 1 + (double)(r >> 11) / (double)(1ull << 53), (int)(r & 3) - 3);
}

static uint64_t
packed(const struct element *e, bool exact, unsigned bits, uint64_t seed)
{
	uint64_t v = 0;
	for (unsigned at = 0; at < bits; at += e->bits)
		v |= element_value(e, exact, mix(seed * 64 + at)) << at;
	return v;
}

struct shape {
	unsigned m, n, k;
};

static bool
shape_of(const struct spelling *s, struct shape *shape)
{
	for (unsigned w = 0; w < s->n_words; w++)
		if (sscanf(s->words[w], ".m%un%uk%u", &shape->m, &shape->n, &shape->k) == 3)
			return true;
	return false;
}

/* The element types of an instruction, in order */
static unsigned
elements_of(const struct spelling *s, const struct element **list, unsigned max)
{
	unsigned n = 0;
	for (unsigned w = 0; w < s->n_words && n < max; w++)
		if (element_find(s->words[w] + 1))
			list[n++] = element_find(s->words[w] + 1);
	return n;
}

static void
single_warps(struct maker *m, const struct spelling *s, const char *variant, unsigned warps)
{
	make_begin(m, s, variant, warps * LANES);
	m->probe.block = LANES;
	m->probe.grid = warps;
}

/* ---- mma */

static void
register_list(struct maker *m, const char *kind, unsigned first, unsigned count)
{
	make_text(m, count > 1 || *kind == '{' ? "{" : "");
	for (unsigned k = 0; k < count; k++)
		make_text(m, "%s%%%c%u", k ? ", " : "", kind[strlen(kind) - 1], first + k);
	make_text(m, count > 1 || *kind == '{' ? "}" : "");
}

static unsigned
load_fragment(struct maker *m, const struct element *e, bool exact, unsigned total_bits, unsigned slot, unsigned first)
{
	unsigned bits = e->bits == 64 ? 64 : 32, count = total_bits / LANES / bits;
	for (unsigned k = 0; k < count; k++) {
		for (unsigned t = 0; t < m->threads; t++) {
			uint64_t v = packed(e, exact, bits, ((slot + k) * 1024ull + t) * 7 + (exact ? 0 : 1));
			make_input(m, &v, 8);
		}
		make_text(m, "\tld.global.b%u %%%c%u, [%%in+%u];\n", bits, bits == 64 ? 'q' : 'r', first + k,
			(slot + k) * m->threads * 8);
	}
	return count;
}

static void
tolerate(struct maker *m, const struct element *d, unsigned k)
{
	static struct tolerance single[129], half[129], twice[129];
	struct tolerance *t = d->bits == 64 ? &twice[k & 127] : d->bits == 32 ? &single[k & 127] : &half[k & 127];
	/* k products below 4, and an addend */
	*t = (struct tolerance){ ldexp(1, d->bits == 64 ? -52 : d->bits == 32 ? -22 : -10),
		ldexp(4.0 * (k & 127), d->bits == 64 ? -52 : d->bits == 32 ? -23 : -11),
		"sums of that length, of unspecified order and rounding" };
	m->probe.tolerance = t;
	m->probe.result_bits = d->bits;
	m->probe.results_per_slot = d->bits == 16 ? 2 : 1;
}

/* Products of 8-bit floats in fp16 came later than the rest. */
static void
state_version(struct maker *m, const struct element *const *e)
{
	if (e[0]->bits == 16 && e[1]->bits == 8)
		m->version = "8.7";
}

static void
mma_variant(struct maker *m, const struct spelling *s, bool exact)
{
	struct shape shape = { 0, 0, 0 };
	const struct element *e[4] = { NULL };
	unsigned n = elements_of(s, e, 4);
	if (!shape_of(s, &shape) || n != 4)
		return;
	bool wide = e[1]->bits == 64;
	const char *letter = wide ? "{q" : "{r";
	unsigned base = wide ? 1 : 10;
	single_warps(m, s, exact ? NULL : "random", WARPS);
	state_version(m, e);
	unsigned a = load_fragment(m, e[1], exact, shape.m * shape.k * e[1]->bits, 0, base);
	unsigned b = load_fragment(m, e[2], exact, shape.k * shape.n * e[2]->bits, a, base + a);
	unsigned c = load_fragment(m, e[3], exact, shape.m * shape.n * e[3]->bits, a + b, base + a + b);
	unsigned d = shape.m * shape.n * e[0]->bits / LANES / (e[0]->bits == 64 ? 64 : 32), to = base + a + b + c;
	make_text(m, "\t%s ", s->text);
	register_list(m, letter, to, d);
	make_text(m, ", ");
	register_list(m, letter, base, a);
	make_text(m, ", ");
	register_list(m, letter, base + a, b);
	make_text(m, ", ");
	register_list(m, letter, base + a + b, c);
	make_text(m, ";\n");
	for (unsigned k = 0; k < d; k++) {
		char reg[8];
		snprintf(reg, sizeof reg, "%%%c%u", letter[1], to + k);
		make_store(m, wide ? 64 : 32, reg);
	}
	if (!exact)
		tolerate(m, e[0], shape.k);
	snprintf(m->probe.type, sizeof m->probe.type, "%s", e[1]->name);
	make_end(m);
}

static void
mma(struct maker *m, const struct spelling *s)
{
	const struct element *e[4] = { NULL };
	mma_variant(m, s, true);
	if (elements_of(s, e, 4) == 4 && e[1]->exponent)
		mma_variant(m, s, false);
}

/* m8n8k4 of fp16: four products, so that there are four times the elements */
static void
mma_quads(struct maker *m, const struct spelling *s, bool exact)
{
	const struct element *e[4] = { NULL };
	if (elements_of(s, e, 4) != 4)
		return;
	single_warps(m, s, exact ? NULL : "random", WARPS);
	load_fragment(m, e[1], exact, 2 * LANES * 32, 0, 10);
	load_fragment(m, e[2], exact, 2 * LANES * 32, 2, 12);
	unsigned c = e[3]->bits / 4, d = e[0]->bits / 4;
	load_fragment(m, e[3], exact, c * LANES * 32, 4, 20);
	make_text(m, "\t%s ", s->text);
	register_list(m, "{r", 40, d);
	make_text(m, ", {%%r10, %%r11}, {%%r12, %%r13}, ");
	register_list(m, "{r", 20, c);
	make_text(m, ";\n");
	for (unsigned k = 0; k < d; k++) {
		char reg[16];
		snprintf(reg, sizeof reg, "%%r%u", 40 + k);
		make_store(m, 32, reg);
	}
	if (!exact)
		tolerate(m, e[0], 4);
	snprintf(m->probe.type, sizeof m->probe.type, "%s", e[1]->name);
	make_end(m);
}

/* Metadata of mma.sp: of four elements (two of tf32) the places of those that are there, in order */
static uint32_t
metadata(const struct element *e, uint64_t seed)
{
	static const uint32_t pairs[] = { 0x4, 0x8, 0xC, 0x9, 0xD, 0xE };
	uint32_t v = 0;
	for (unsigned k = 0; k < 8; k++)
		v |= (e->bits == 32 ? pairs[mix(seed + k) & 1 ? 5 : 0] : pairs[mix(seed + k) % 6]) << 4 * k;
	return v;
}

static void
mma_sparse(struct maker *m, const struct spelling *s, bool exact, unsigned selector)
{
	struct shape shape = { 0, 0, 0 };
	const struct element *e[4] = { NULL };
	char name[24];
	if (!shape_of(s, &shape) || elements_of(s, e, 4) != 4)
		return;
	snprintf(name, sizeof name, "%s%u", exact ? "selector " : "random ", selector);
	single_warps(m, s, name, WARPS);
	unsigned a = load_fragment(m, e[1], exact, shape.m * shape.k / 2 * e[1]->bits, 0, 10);
	unsigned b = load_fragment(m, e[2], exact, shape.k * shape.n * e[2]->bits, a, 20);
	unsigned c = load_fragment(m, e[3], exact, shape.m * shape.n * e[3]->bits, a + b, 30);
	unsigned d = shape.m * shape.n * e[0]->bits / 1024;
	for (unsigned t = 0; t < m->threads; t++) {
		uint64_t v = metadata(e[1], t * 8ull + 12345);
		make_input(m, &v, 8);
	}
	make_text(m, "\tld.global.b32 %%r9, [%%in+%u];\n\t%s ", (a + b + c) * m->threads * 8, s->text);
	register_list(m, "{r", 40, d);
	make_text(m, ", ");
	register_list(m, "{r", 10, a);
	make_text(m, ", ");
	register_list(m, "{r", 20, b);
	make_text(m, ", ");
	register_list(m, "{r", 30, c);
	make_text(m, ", %%r9, %u;\n", selector);
	for (unsigned k = 0; k < d; k++) {
		char reg[16];
		snprintf(reg, sizeof reg, "%%r%u", 40 + k);
		make_store(m, 32, reg);
	}
	if (!exact)
		tolerate(m, e[0], shape.k / 2);
	snprintf(m->probe.type, sizeof m->probe.type, "%s", e[1]->name);
	make_end(m);
}

/* How many lanes of four hold metadata: 4, 2 or 1 selectors are possible. */
static void
mma_sparse_selectors(struct maker *m, const struct spelling *s)
{
	struct shape shape = { 0, 0, 0 };
	const struct element *e[4] = { NULL };
	if (!shape_of(s, &shape) || elements_of(s, e, 4) != 4)
		return;
	unsigned bits = shape.k / (e[1]->bits == 32 ? 2 : e[1]->bits == 4 ? 8 : 4) * 4, selectors = 64 / bits;
	for (unsigned k = 0; k < selectors; k++)
		mma_sparse(m, s, true, k);
	if (e[1]->exponent)
		mma_sparse(m, s, false, 0);
}

/* ---- ldmatrix and its kin */

static unsigned
matrix_count(const struct spelling *s)
{
	return spelling_has(s, ".x4") ? 4 : spelling_has(s, ".x2") ? 2 : 1;
}

static void
matrix_access(struct maker *m, const struct spelling *s, bool store)
{
	unsigned count = matrix_count(s);
	const struct element *bits = element_find("b16");
	single_warps(m, s, NULL, WARPS);
	load_fragment(m, bits, true, 4 * LANES * 32, 0, 10);
	make_text(m, "\tmov.u32 %%r1, space;\n\tmad.lo.u32 %%r1, %%lane, 16, %%r1;\n");
	if (!store)
		make_text(m, "\tst.shared.v4.b32 [%%r1], {%%r10, %%r11, %%r12, %%r13};\n");
	else
		make_text(m, "\tmov.b32 %%r2, 0;\n\tst.shared.v4.b32 [%%r1], {%%r2, %%r2, %%r2, %%r2};\n");
	/* rows in an order of their own */
	make_text(m, "\tbar.warp.sync 0xFFFFFFFF;\n\tmov.u32 %%r3, space;\n\txor.b32 %%r4, %%lane, 5;\n"
		"\tmad.lo.u32 %%r3, %%r4, 16, %%r3;\n");
	bool shared = strstr(s->text, ".shared") != NULL;
	if (!shared)
		make_text(m, "\tcvt.u64.u32 %%q3, %%r3;\n\tcvta.shared.u64 %%q3, %%q3;\n");
	make_text(m, "\t%s ", s->text);
	if (store)
		make_text(m, shared ? "[%%r3], " : "[%%q3], ");
	register_list(m, "{r", store ? 10 : 20, count);
	make_text(m, store ? ";\n" : shared ? ", [%%r3];\n" : ", [%%q3];\n");
	if (store)
		make_text(m, "\tbar.warp.sync 0xFFFFFFFF;\n\tld.shared.v4.b32 {%%r20, %%r21, %%r22, %%r23}, [%%r1];\n");
	for (unsigned k = 0; k < (store ? 4 : count); k++) {
		char reg[8];
		snprintf(reg, sizeof reg, "%%r%u", 20 + k);
		make_store(m, 32, reg);
	}
	make_end(m);
}

static void
movmatrix(struct maker *m, const struct spelling *s)
{
	single_warps(m, s, NULL, WARPS);
	load_fragment(m, element_find("b16"), true, LANES * 32, 0, 10);
	make_text(m, "\t%s %%r20, %%r10;\n", s->text);
	make_store(m, 32, "%r20");
	make_end(m);
}

/* ---- wmma: A, B and C of the input at 0, AREA, 2 AREA */

struct wmma {
	const struct element *a, *b, *c, *d;
	struct shape shape;
	const char *layout_a, *layout_b, *shape_word, *load_a, *load_b, *load_c, *mma, *store;
};

static unsigned
fragment_registers(const struct wmma *w, char operand)
{
	const struct element *e = operand == 'a' ? w->a : operand == 'b' ? w->b : operand == 'c' ? w->c : w->d;
	unsigned cells = operand == 'a' ? w->shape.m * w->shape.k : operand == 'b' ? w->shape.k * w->shape.n
		: w->shape.m * w->shape.n;
	if (e->bits == 16 && e->exponent == 5)
		return operand == 'a' || operand == 'b' ? 8 : 4;
	return cells * e->bits / LANES / (e->bits == 64 ? 64 : 32);
}

static void
fill_area(struct maker *m, const struct element *e, unsigned area)
{
	struct buf *in = &m->probe.in;
	uint64_t v = 0;
	while (in->len < (size_t)(area + 1) * AREA) {
		v = packed(e, true, 64, area * 100000ul + in->len);
		make_input(m, &v, 8);
	}
}

static void
wmma_operand(struct maker *m, const struct wmma *w, char operand, const char *load, unsigned first)
{
	bool row = strstr(load, ".row") != NULL, shared = strstr(load, ".shared") != NULL, global = strstr(load, ".global") != NULL;
	const struct element *e = operand == 'a' ? w->a : operand == 'b' ? w->b : w->c;
	unsigned stride = operand == 'a' ? row ? w->shape.k : w->shape.m : operand == 'b' ? row ? w->shape.n : w->shape.k
		: row ? w->shape.n : w->shape.m;
	unsigned area = (unsigned)(operand - 'a') * AREA;
	make_text(m, "\tld.param.u64 %%q10, [pin];\n");
	if (global)
		make_text(m, "\tcvta.to.global.u64 %%q10, %%q10;\n");
	make_text(m, "\tadd.u64 %%q10, %%q10, %u;\n", area);
	if (shared) {
		make_text(m, "\tcvta.to.global.u64 %%q10, %%q10;\n\tmov.u64 %%q11, space;\n\tmul.wide.u32 %%q12, %%lane, 128;\n"
			"\tadd.u64 %%q10, %%q10, %%q12;\n\tadd.u64 %%q12, %%q11, %%q12;\n\tbar.warp.sync 0xFFFFFFFF;\n");
		for (unsigned k = 0; k < 128; k += 8)
			make_text(m, "\tld.global.u64 %%q13, [%%q10+%u];\n\tst.shared.u64 [%%q12+%u], %%q13;\n", k, k);
		make_text(m, "\tbar.warp.sync 0xFFFFFFFF;\n\tmov.u64 %%q10, %%q11;\n");
	}
	make_text(m, "\t%s ", load);
	register_list(m, e->bits == 64 ? "{q" : "{r", first, fragment_registers(w, operand));
	make_text(m, ", [%%q10], %u;\n", stride);
}

static void
wmma_kernel(struct maker *m, const struct spelling *s, const struct wmma *w)
{
	bool wide = w->a->bits == 64, row = strstr(w->store, ".row") != NULL, shared = strstr(w->store, ".shared") != NULL;
	unsigned first = wide ? 20 : 10, a = first, b = a + fragment_registers(w, 'a'), c = b + fragment_registers(w, 'b');
	unsigned d = c + fragment_registers(w, 'c'), stride = row ? w->shape.n : w->shape.m, cells = w->shape.m * w->shape.n;
	const char *kind = wide ? "{q" : "{r";
	single_warps(m, s, NULL, 1);
	fill_area(m, w->a, 0);
	fill_area(m, w->b, 1);
	fill_area(m, w->c, 2);
	wmma_operand(m, w, 'a', w->load_a, a);
	wmma_operand(m, w, 'b', w->load_b, b);
	wmma_operand(m, w, 'c', w->load_c, c);
	make_text(m, "\t%s ", w->mma);
	register_list(m, kind, d, fragment_registers(w, 'd'));
	make_text(m, ", ");
	register_list(m, kind, a, b - a);
	make_text(m, ", ");
	register_list(m, kind, b, c - b);
	make_text(m, ", ");
	register_list(m, kind, c, d - c);
	make_text(m, ";\n\tld.param.u64 %%q10, [pout];\n");
	if (shared)
		make_text(m, "\tmov.u64 %%q10, space;\n\tbar.warp.sync 0xFFFFFFFF;\n");
	else if (strstr(w->store, ".global"))
		make_text(m, "\tcvta.to.global.u64 %%q10, %%q10;\n");
	make_text(m, "\t%s [%%q10], ", w->store);
	register_list(m, kind, d, fragment_registers(w, 'd'));
	make_text(m, ", %u;\n", stride);
	if (shared) {
		make_text(m, "\tbar.warp.sync 0xFFFFFFFF;\n\tmul.wide.u32 %%q12, %%lane, %u;\n\tadd.u64 %%q10, %%q10, %%q12;\n"
			"\tld.param.u64 %%q11, [pout];\n\tadd.u64 %%q11, %%q11, %%q12;\n\tcvta.to.global.u64 %%q11, %%q11;\n",
				cells * w->d->bits / 8 / LANES);
		for (unsigned k = 0; k < cells * w->d->bits / 8 / LANES; k += 4)
			make_text(m, "\tld.shared.u32 %%r9, [%%q10+%u];\n\tst.global.u32 [%%q11+%u], %%r9;\n", k, k);
	}
	m->slots = (cells * w->d->bits / 8 + LANES * 8 - 1) / (LANES * 8);
	make_end(m);
}

/* Completes what one instruction says to a whole product. */
static void
wmma(struct maker *m, const struct spelling *s)
{
	struct shape shape = { 0, 0, 0 };
	const struct element *e[4] = { NULL }, *f16 = element_find("f16"), *f32 = element_find("f32"), *s32 = element_find("s32");
	unsigned n = elements_of(s, e, 4);
	char texts[5][100], letter = 0;
	if (!shape_of(s, &shape) || !n)
		return;
	bool is_mma = spelling_has(s, ".mma"), load = spelling_has(s, ".load");
	if (!is_mma)
		letter = s->words[1][1];
	struct wmma w = { .a = e[0], .b = e[0], .shape = shape };
	if (is_mma && n == 2)
		w = (struct wmma){ .a = f16, .b = f16, .d = e[0], .c = e[1], .shape = shape };
	else if (is_mma)
		w = (struct wmma){ .d = e[0], .a = e[1], .b = e[2], .c = e[n - 1], .shape = shape };
	else if (letter == 'c' || letter == 'd')
		w = (struct wmma){ .a = shape.k == 8 ? element_find("tf32") : e[0]->bits == 64 ? e[0] : e[0] == s32
			? element_find("s8") : f16,
			.c = e[0], .d = e[0], .shape = shape };
	else
		w.c = w.d = e[0]->exponent ? e[0]->bits == 64 ? e[0] : f32 : s32;
	w.b = w.b ? w.b : w.a;
	const char *la = "row", *lb = "col", *ld = "row";
	for (unsigned k = 0, seen = 0; is_mma && k < s->n_words; k++)
		if (!strcmp(s->words[k], ".row") || !strcmp(s->words[k], ".col")) {
			*(seen ? &lb : &la) = s->words[k] + 1;
			seen++;
		}
	snprintf(texts[0], sizeof texts[0], "wmma.load.a.sync.aligned.%s.m%un%uk%u.global.%s", la, shape.m, shape.n, shape.k,
		w.a->name);
	snprintf(texts[1], sizeof texts[1], "wmma.load.b.sync.aligned.%s.m%un%uk%u.global.%s", lb, shape.m, shape.n, shape.k,
		w.b->name);
	snprintf(texts[2], sizeof texts[2], "wmma.load.c.sync.aligned.row.m%un%uk%u.global.%s", shape.m, shape.n, shape.k, w.c->name);
	snprintf(texts[4], sizeof texts[4], "wmma.store.d.sync.aligned.%s.m%un%uk%u.global.%s", ld, shape.m, shape.n, shape.k,
		w.d->name);
	w.load_a = load && letter == 'a' ? s->text : texts[0];
	w.load_b = load && letter == 'b' ? s->text : texts[1];
	w.load_c = load && letter == 'c' ? s->text : texts[2];
	w.store = letter == 'd' ? s->text : texts[4];
	la = load && letter == 'a' && spelling_has(s, ".col") ? "col" : la;
	lb = load && letter == 'b' && spelling_has(s, ".row") ? "row" : lb;
	if (w.a == f16)
		snprintf(texts[3], sizeof texts[3], "wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s.%s", la, lb, shape.m, shape.n,
			shape.k, w.d->name, w.c->name);
	else
		snprintf(texts[3], sizeof texts[3], "wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s.%s.%s.%s", la, lb, shape.m, shape.n,
			shape.k, w.d->name,
			w.a->name, w.b->name, w.c->name);
	w.mma = is_mma ? s->text : texts[3];
	wmma_kernel(m, s, &w);
}

bool
matrix_probe(struct maker *m, const struct spelling *s)
{
	const char *op = s->row->opcode;
	if (!strcmp(op, "mma") && strstr(s->text, "mma.sp")) {
		mma_sparse_selectors(m, s);
	} else if (!strcmp(op, "mma") && spelling_has(s, ".m8n8k4") && !spelling_has(s, ".f64")) {
		mma_quads(m, s, true);
		mma_quads(m, s, false);
	} else if (!strcmp(op, "mma"))
		mma(m, s);
	else if (!strcmp(op, "ldmatrix") || !strcmp(op, "stmatrix"))
		matrix_access(m, s, *op == 's');
	else if (!strcmp(op, "movmatrix"))
		movmatrix(m, s);
	else if (!strcmp(op, "wmma"))
		wmma(m, s);
	else
		return false;
	return true;
}
