/* In: a decoded instruction with its spelling. Out: what it costs on a GPU. The compiler of machine code folds, expands
 * and merges: moves and address conversions vanish, a 64-bit addition is two, a precise division is a dozen. The counts
 * were read from machine code of sm_90 (cuobjdump), the latencies of arithmetic from Luo et al. 2024 (see roofline.c). */
#include "ptx/cost.h"

#include <string.h>

/* One letter for the type that an instruction works in. */
enum kind { ANY = '*', SINGLE = 'f', DOUBLE = 'd', HALF = 'h', WORD = 'i', LONG = 'l' };

struct row {
	const char *opcode;			/* whole parts of the spelling, from its start */
	char kind;
	uint8_t mix, pipe;
	float slots, units, latency;
};

static const struct row rows[] = {
	/* nothing of it is left in machine code, or next to nothing */
	{ "cvta", ANY, MIX_MOVE, PIPE_N, 0, 0, 0 },
	{ "mov", ANY, MIX_MOVE, PIPE_N, 0.2f, 0, 0 },
	{ "ld.param", ANY, MIX_CONSTANT, PIPE_N, 0, 0, 0 },
	{ "st.param", ANY, MIX_MOVE, PIPE_N, 0.5f, 0, 0 },
	/* single precision */
	{ "div.rn", SINGLE, MIX_FP32, PIPE_FP32, 10, 7, 45 },
	{ "div.full", SINGLE, MIX_FP32, PIPE_SPECIAL, 6, 1, 30 },
	{ "div.approx", SINGLE, MIX_FP32, PIPE_SPECIAL, 4, 1, 25 },
	{ "rcp.rn", SINGLE, MIX_FP32, PIPE_FP32, 8, 5, 40 },
	{ "sqrt.rn", SINGLE, MIX_FP32, PIPE_FP32, 9, 6, 45 },
	{ "ex2.approx.ftz", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 1, 1, 18 },
	{ "ex2", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 4, 1, 28 },
	{ "lg2.approx.ftz", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 1, 1, 18 },
	{ "lg2", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 4, 1, 28 },
	{ "rcp", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 3, 1, 26 },
	{ "rsqrt", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 3, 1, 26 },
	{ "sqrt", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 4, 1, 26 },
	{ "sin", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 2, 1, 22 },
	{ "cos", SINGLE, MIX_SPECIAL, PIPE_SPECIAL, 2, 1, 22 },
	{ "tanh", ANY, MIX_SPECIAL, PIPE_SPECIAL, 1, 1, 18 },
	{ "abs", SINGLE, MIX_FP32, PIPE_N, 0, 0, 0 },
	{ "neg", SINGLE, MIX_FP32, PIPE_N, 0, 0, 0 },
	{ "min", SINGLE, MIX_FP32, PIPE_INTEGER, 1, 1, 5 },
	{ "max", SINGLE, MIX_FP32, PIPE_INTEGER, 1, 1, 5 },
	{ "setp", SINGLE, MIX_FP32, PIPE_INTEGER, 1, 1, 10 },
	{ "selp", SINGLE, MIX_FP32, PIPE_INTEGER, 1, 1, 5 },
	/* double precision */
	{ "div", DOUBLE, MIX_FP64, PIPE_FP64, 12, 9, 110 },
	{ "rcp", DOUBLE, MIX_FP64, PIPE_FP64, 8, 6, 80 },
	{ "sqrt", DOUBLE, MIX_FP64, PIPE_FP64, 12, 9, 110 },
	{ "setp", DOUBLE, MIX_FP64, PIPE_FP64, 1, 1, 12 },
	{ "min", DOUBLE, MIX_FP64, PIPE_FP64, 3, 1, 16 },
	{ "max", DOUBLE, MIX_FP64, PIPE_FP64, 3, 1, 16 },
	{ "abs", DOUBLE, MIX_FP64, PIPE_N, 0, 0, 0 },
	{ "neg", DOUBLE, MIX_FP64, PIPE_N, 0, 0, 0 },
	/* half precision */
	{ "ex2", HALF, MIX_SPECIAL, PIPE_SPECIAL, 2, 1, 20 },
	{ "setp", HALF, MIX_FP16, PIPE_FP16, 1, 1, 8 },
	/* integers */
	{ "div", WORD, MIX_INTEGER, PIPE_INTEGER, 18, 12, 90 },
	{ "rem", WORD, MIX_INTEGER, PIPE_INTEGER, 19, 13, 95 },
	{ "div", LONG, MIX_INTEGER, PIPE_INTEGER, 75, 55, 400 },
	{ "rem", LONG, MIX_INTEGER, PIPE_INTEGER, 75, 55, 400 },
	{ "mul.wide", ANY, MIX_INTEGER, PIPE_INTEGER, 1, 1, 5 },
	{ "mad.wide", ANY, MIX_INTEGER, PIPE_INTEGER, 1, 1, 5 },
	{ "mul.lo", LONG, MIX_INTEGER, PIPE_INTEGER, 4, 4, 12 },
	{ "mad.lo", LONG, MIX_INTEGER, PIPE_INTEGER, 4, 4, 12 },
	{ "mul.hi", LONG, MIX_INTEGER, PIPE_INTEGER, 7, 7, 25 },
	{ "mul.hi", WORD, MIX_INTEGER, PIPE_INTEGER, 1, 1, 6 },
	{ "popc", ANY, MIX_INTEGER, PIPE_SPECIAL, 1, 1, 15 },
	{ "clz", ANY, MIX_INTEGER, PIPE_SPECIAL, 2, 1, 18 },
	{ "brev", ANY, MIX_INTEGER, PIPE_SPECIAL, 1, 1, 15 },
	{ "bfind", ANY, MIX_INTEGER, PIPE_SPECIAL, 1, 1, 15 },
	{ "setp", ANY, MIX_INTEGER, PIPE_INTEGER, 1, 1, 8 },
	{ "add", LONG, MIX_INTEGER, PIPE_INTEGER, 1, 1, 5 },	/* mostly addresses: half of them are merged */
	{ "shl", LONG, MIX_INTEGER, PIPE_INTEGER, 1, 1, 5 },
	/* conversions */
	{ "cvt.rna.tf32", ANY, MIX_CONVERT, PIPE_INTEGER, 1, 1, 5 },
	{ "cvt", DOUBLE, MIX_CONVERT, PIPE_SPECIAL, 1, 1, 20 },
	{ "cvt", SINGLE, MIX_CONVERT, PIPE_CONVERT, 1, 1, 12 },
	{ "cvt", HALF, MIX_CONVERT, PIPE_CONVERT, 1, 1, 8 },
	{ "cvt", ANY, MIX_CONVERT, PIPE_INTEGER, 0.5f, 0.5f, 3 },
	/* memory */
	{ "ld.shared", ANY, MIX_SHARED, PIPE_N, 1, 0, 0 },
	{ "st.shared", ANY, MIX_SHARED, PIPE_N, 1, 0, 0 },
	{ "ldmatrix", ANY, MIX_SHARED, PIPE_N, 1, 0, 0 },
	{ "stmatrix", ANY, MIX_SHARED, PIPE_N, 1, 0, 0 },
	{ "ld.local", ANY, MIX_LOCAL, PIPE_N, 1, 0, 33 },
	{ "st.local", ANY, MIX_LOCAL, PIPE_N, 1, 0, 0 },
	{ "ld.const", ANY, MIX_CONSTANT, PIPE_N, 1, 0, 30 },
	{ "ld", ANY, MIX_GLOBAL, PIPE_N, 1, 0, 33 },
	{ "ldu", ANY, MIX_GLOBAL, PIPE_N, 1, 0, 33 },
	{ "st", ANY, MIX_GLOBAL, PIPE_N, 1, 0, 0 },
	{ "cp.async.commit_group", ANY, MIX_CONTROL, PIPE_N, 1, 0, 0 },
	{ "cp.async.wait_group", ANY, MIX_CONTROL, PIPE_N, 1, 0, 0 },
	{ "cp.async", ANY, MIX_GLOBAL, PIPE_N, 1, 0, 0 },
	{ "red.shared", ANY, MIX_ATOMIC, PIPE_N, 1, 0, 0 },
	{ "atom.shared", ANY, MIX_ATOMIC, PIPE_N, 1, 0, 60 },
	{ "red", ANY, MIX_ATOMIC, PIPE_N, 1, 0, 0 },
	{ "atom", ANY, MIX_ATOMIC, PIPE_N, 1, 0, 300 },
	/* warps, control */
	{ "shfl", ANY, MIX_WARP, PIPE_SHUFFLE, 1, 1, 23 },
	{ "vote", ANY, MIX_WARP, PIPE_INTEGER, 1, 1, 12 },
	{ "match", ANY, MIX_WARP, PIPE_SPECIAL, 2, 2, 40 },
	{ "redux", ANY, MIX_WARP, PIPE_SPECIAL, 1, 1, 14 },
	{ "activemask", ANY, MIX_WARP, PIPE_INTEGER, 1, 1, 12 },
	{ "bar.warp", ANY, MIX_BARRIER, PIPE_N, 1, 0, 2 },
	{ "bar", ANY, MIX_BARRIER, PIPE_N, 1, 0, 22 },
	{ "barrier", ANY, MIX_BARRIER, PIPE_N, 1, 0, 22 },
	{ "membar", ANY, MIX_BARRIER, PIPE_N, 1, 0, 300 },
	{ "fence", ANY, MIX_BARRIER, PIPE_N, 1, 0, 300 },
	{ "bra", ANY, MIX_CONTROL, PIPE_N, 1, 0, 12 },
	{ "ret", ANY, MIX_CONTROL, PIPE_N, 1, 0, 0 },
	{ "exit", ANY, MIX_CONTROL, PIPE_N, 1, 0, 0 },
	{ "call", ANY, MIX_CONTROL, PIPE_N, 4, 0, 20 },
	{ "brx", ANY, MIX_CONTROL, PIPE_N, 4, 0, 30 },
	/* the rest, by type */
	{ "mma", ANY, MIX_TENSOR, PIPE_N, 1, 0, 33 },
	{ "wmma.mma", ANY, MIX_TENSOR, PIPE_N, 2, 0, 40 },
	{ "wmma.load", ANY, MIX_GLOBAL, PIPE_N, 8, 0, 33 },
	{ "wmma.store", ANY, MIX_GLOBAL, PIPE_N, 4, 0, 0 },
	{ "", SINGLE, MIX_FP32, PIPE_FP32, 1, 1, 4 },
	{ "", DOUBLE, MIX_FP64, PIPE_FP64, 1, 1, 8 },
	{ "", HALF, MIX_FP16, PIPE_FP16, 1, 1, 5 },
	{ "", LONG, MIX_INTEGER, PIPE_INTEGER, 2, 2, 6 },
	{ "", WORD, MIX_INTEGER, PIPE_INTEGER, 1, 1, 5 },
};

static bool
contains(struct slice s, const char *part)
{
	return memmem(s.at, s.length, part, strlen(part)) != NULL;
}

static char
kind_of(struct slice s)
{
	if (contains(s, ".f64"))
		return DOUBLE;
	if (contains(s, ".f16") || contains(s, ".bf16"))
		return HALF;
	if (contains(s, ".f32"))
		return SINGLE;
	return contains(s, "64") ? LONG : WORD;
}

static bool
starts_with(struct slice s, const char *opcode)
{
	size_t n = strlen(opcode);
	return s.length >= n && !memcmp(s.at, opcode, n) && (!n || s.length == n || s.at[n] == '.');
}

/* "m16n8k16" anywhere in the spelling: the product of the three. */
static float
multiply_adds(struct slice s)
{
	for (uint32_t k = 0; k + 5 < s.length; k++)
		if (s.at[k] == '.' && s.at[k + 1] == 'm' && s.at[k + 2] >= '0' && s.at[k + 2] <= '9') {
			unsigned n[3] = { 0 }, which = 0;
			for (k += 2; k < s.length && s.at[k] != '.'; k++)
				if (s.at[k] >= '0' && s.at[k] <= '9')
					n[which] = n[which] * 10 + (unsigned)(s.at[k] - '0');
				else if (++which > 2)
					return 0;
			return (float)(n[0] * n[1] * n[2]);
		}
	return 0;
}

static enum roofline_tensor
tensor_type(struct slice s)
{
	static const struct { const char *part; enum roofline_tensor type; } types[] = {
		{ ".f64", TENSOR_FP64 }, { ".tf32", TENSOR_TF32 },
		{ ".e4m3", TENSOR_FP8 }, { ".e5m2", TENSOR_FP8 }, { ".s8", TENSOR_INT8 }, { ".u8", TENSOR_INT8 } };
	for (size_t k = 0; k < sizeof types / sizeof *types; k++)
		if (contains(s, types[k].part))
			return types[k].type;
	return TENSOR_FP16;
}

struct cost
cost_of(const struct machine_core *core, uint32_t place)
{
	const struct insn *i = &core->code[place];
	struct slice s = core->image->sources[place].opcode;
	struct cost c = { .mix = MIX_OTHER, .pipe = PIPE_N, .tensor = TENSOR_N };
	char kind = kind_of(s);
	if (i->kind == K_JOIN || !s.length)
		return c;
	const struct row *row = rows;
	while (!starts_with(s, row->opcode) || (row->kind != ANY && row->kind != kind))
		row++;
	c.mix = row->mix;
	c.pipe = row->pipe;
	c.slots = row->slots;
	c.units = row->units;
	c.latency = row->latency;
	if (row->mix == MIX_TENSOR) {
		c.tensor = (uint8_t)tensor_type(s);
		c.multiply_adds = multiply_adds(s);
	}
	if (contains(s, ".shared") && row->mix == MIX_GLOBAL && !starts_with(s, "cp"))
		c.mix = MIX_SHARED;
	c.waits_for_memory = c.mix != MIX_SHARED && row->latency > 0 && (row->mix == MIX_GLOBAL || row->mix == MIX_LOCAL);
	return c;
}

bool
cost_past_l1(const struct machine_core *core, uint32_t place)
{
	struct slice s = core->image->sources[place].opcode;
	return contains(s, ".cg") || contains(s, ".cv") || contains(s, ".volatile") || contains(s, ".relaxed")
		|| contains(s, ".acquire");
}

/* ---- readiness of registers: a table by frame offset, which the frame's size bounds */

struct cost_ready {
	float *when;				/* by offset / 2 */
	uint32_t cells;
};

struct cost_ready *
cost_ready_new(const struct machine_core *core)
{
	struct cost_ready *r = calloc(1, sizeof *r);
	r->cells = core->image->frame_bytes / 2 + 1;
	r->when = calloc(r->cells, sizeof *r->when);
	return r;
}

void
cost_ready_free(struct cost_ready *r)
{
	free(r->when);
	free(r);
}

void
cost_ready_reset(struct cost_ready *r)
{
	memset(r->when, 0, r->cells * sizeof *r->when);
}

static double
when(const struct cost_ready *r, uint32_t offset)
{
	return offset / 2 < r->cells ? r->when[offset / 2] : 0;
}

/* Entries of insn.list that are registers: [0, definitions) are written, the others read. */
static void
list_of(const struct machine_core *core, const struct insn *i, uint32_t *definitions, uint32_t *all)
{
	struct slice s = core->image->sources[i->place].opcode;
	*definitions = *all = 0;
	if (starts_with(s, "ld") || starts_with(s, "ldu") || starts_with(s, "ldmatrix"))
		*definitions = *all = i->n;
	else if (starts_with(s, "st") || starts_with(s, "stmatrix"))
		*all = i->n;
	else if (starts_with(s, "mma") || starts_with(s, "wmma.mma")) {
		*definitions = 8;
		*all = starts_with(s, "mma") ? 24 : 32;
	}
}

double
cost_ready_at(const struct cost_ready *r, const struct machine_core *core, uint32_t place)
{
	const struct insn *i = &core->code[place];
	uint32_t named[] = { i->a, i->b, i->c, i->e, i->guard }, definitions, all;
	double latest = 0;
	for (int k = 0; k < 5; k++)
		if (named[k] != NO_REG && when(r, named[k]) > latest)
			latest = when(r, named[k]);
	list_of(core, i, &definitions, &all);
	for (uint32_t k = definitions; k < all; k++)
		if (i->list[k] != NO_REG && when(r, i->list[k]) > latest)
			latest = when(r, i->list[k]);
	return latest;
}

void
cost_ready_set(struct cost_ready *r, const struct machine_core *core, uint32_t place, double at)
{
	const struct insn *i = &core->code[place];
	uint32_t definitions, all;
	list_of(core, i, &definitions, &all);
	if (i->d / 2 < r->cells)
		r->when[i->d / 2] = (float)at;
	for (uint32_t k = 0; k < definitions; k++)
		if (i->list[k] / 2 < r->cells)
			r->when[i->list[k] / 2] = (float)at;
}
