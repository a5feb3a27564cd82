/* Comparison and selection. A predicate is a mask of 32 bits; a comparison makes all of them at once. */
#include "ptx/half.h"

#include "ptx/lanes.h"
#include "ptx/table.h"

/* ---- lanes to bits: from arrays in which a lane is 0 or all ones */

static inline uint32_t
pack_32(const int32_t *t)
{
	uint32_t bits = 0;
	for (int k = 0; k < 4; k++)
		bits |= (uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(const void *)(t + k * 8))) << k * 8;
	return bits;
}

static inline uint32_t
pack_64(const int64_t *t)
{
	uint32_t bits = 0;
	for (int k = 0; k < 8; k++)
		bits |= (uint32_t)_mm256_movemask_pd(_mm256_loadu_pd((const double *)(const void *)(t + k * 4))) << k * 4;
	return bits;
}

static inline uint32_t
pack_16(const int16_t *t)
{
	const __m128i *v = (const __m128i *)(const void *)t;
	uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_loadu_si128(v), _mm_loadu_si128(v + 1)));
	uint32_t high = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(_mm_loadu_si128(v + 2), _mm_loadu_si128(v + 3)));
	return low | high << 16;
}

/* p = comparison op c, q = !comparison op c; insn.sub is the op, enum operation */
static inline void
finish_setp(const struct insn *i, struct warp *w, uint32_t mask, uint32_t bits)
{
	uint32_t p = bits, q = ~bits;
	if (i->sub) {
		uint32_t c = PREDICATE(i->c) ^ (i->negated >> 3 & 1 ? FULL : 0);
		p = i->sub == OP_AND ? p & c : i->sub == OP_OR ? p | c : p ^ c;
		q = i->sub == OP_AND ? q & c : i->sub == OP_OR ? q | c : q ^ c;
	}
	if (i->d != NO_REG)
		set_predicate(w, i->d, p, mask);
	if (i->e != NO_REG)
		set_predicate(w, i->e, q, mask);
}

#define COMPARE(name, type, signed_type, pack, expression) \
static uint32_t \
bits_##name(const void *va, const void *vb) \
{ \
	const type *a = __builtin_assume_aligned(va, 32), *b = __builtin_assume_aligned(vb, 32); \
	signed_type t[LANES] __attribute__((aligned(64))); \
	EACH_LANE(l) { \
		const type x = a[l], y = b[l]; \
		t[l] = (expression) ? -1 : 0; \
	} \
	return pack(t); \
} \
HANDLER(setp_##name) \
{ \
	UNUSED(wide); \
	finish_setp(i, w, mask, bits_##name(REG(type, i->a), REG(type, i->b))); \
} \
HANDLER(setp_##name##_imm) \
{ \
	const type *a = REG(type, i->a); \
	signed_type t[LANES] __attribute__((aligned(64))); \
	type y; \
	memcpy(&y, &i->imm, sizeof y); \
	UNUSED(wide); \
	EACH_LANE(l) { \
		const type x = a[l]; \
		t[l] = (expression) ? -1 : 0; \
	} \
	finish_setp(i, w, mask, pack(t)); \
}

#define COMPARE_INT(suffix, type, signed_type, pack) \
	COMPARE(lt_##suffix, type, signed_type, pack, x < y) \
	COMPARE(le_##suffix, type, signed_type, pack, x <= y) \
	COMPARE(gt_##suffix, type, signed_type, pack, x > y) \
	COMPARE(ge_##suffix, type, signed_type, pack, x >= y)
#define COMPARE_EQUAL(suffix, type, signed_type, pack) \
	COMPARE(eq_##suffix, type, signed_type, pack, x == y) \
	COMPARE(ne_##suffix, type, signed_type, pack, x != y)
#define COMPARE_FLOAT(suffix, type, signed_type, pack) \
	COMPARE_INT(suffix, type, signed_type, pack) \
	COMPARE(eq_##suffix, type, signed_type, pack, x == y) \
	COMPARE(ne_##suffix, type, signed_type, pack, (x < y) | (x > y)) \
	COMPARE(equ_##suffix, type, signed_type, pack, !((x < y) | (x > y))) \
	COMPARE(neu_##suffix, type, signed_type, pack, x != y) \
	COMPARE(ltu_##suffix, type, signed_type, pack, !(x >= y)) \
	COMPARE(leu_##suffix, type, signed_type, pack, !(x > y)) \
	COMPARE(gtu_##suffix, type, signed_type, pack, !(x <= y)) \
	COMPARE(geu_##suffix, type, signed_type, pack, !(x < y)) \
	COMPARE(num_##suffix, type, signed_type, pack, (x == x) & (y == y)) \
	COMPARE(nan_##suffix, type, signed_type, pack, (x != x) | (y != y))

COMPARE_EQUAL(16, u16, int16_t, pack_16)
COMPARE_EQUAL(32, u32, int32_t, pack_32)
COMPARE_EQUAL(64, u64, int64_t, pack_64)
COMPARE_INT(u16, u16, int16_t, pack_16)
COMPARE_INT(s16, s16, int16_t, pack_16)
COMPARE_INT(u32, u32, int32_t, pack_32)
COMPARE_INT(s32, s32, int32_t, pack_32)
COMPARE_INT(u64, u64, int64_t, pack_64)
COMPARE_INT(s64, s64, int64_t, pack_64)
COMPARE_FLOAT(f32, f32, int32_t, pack_32)
COMPARE_FLOAT(f64, f64, int64_t, pack_64)

struct comparison {
	handler *setp, *setp_imm;
	compare_function *bits;
};
#define C(name) { setp_##name, setp_##name##_imm, bits_##name }
#define COMPARISONS_EQUAL(bits) [CMP_EQ] = C(eq_##bits), [CMP_NE] = C(ne_##bits)
#define COMPARISONS_INT(s) [CMP_LT] = C(lt_##s), [CMP_LE] = C(le_##s), [CMP_GT] = C(gt_##s), [CMP_GE] = C(ge_##s)
#define COMPARISONS_FLOAT(s) COMPARISONS_INT(s), [CMP_EQ] = C(eq_##s), [CMP_NE] = C(ne_##s), [CMP_EQU] = C(equ_##s), \
	[CMP_NEU] = C(neu_##s), [CMP_LTU] = C(ltu_##s), [CMP_LEU] = C(leu_##s), [CMP_GTU] = C(gtu_##s), \
	[CMP_GEU] = C(geu_##s), [CMP_NUM] = C(num_##s), [CMP_NAN] = C(nan_##s)

static const struct comparison comparisons[T_N][CMP_N] = {
	[T_B16] = { COMPARISONS_EQUAL(16) },
	[T_B32] = { COMPARISONS_EQUAL(32) },
	[T_B64] = { COMPARISONS_EQUAL(64) },
	[T_U16] = { COMPARISONS_EQUAL(16), COMPARISONS_INT(u16) },
	[T_S16] = { COMPARISONS_EQUAL(16), COMPARISONS_INT(s16) },
	[T_U32] = { COMPARISONS_EQUAL(32), COMPARISONS_INT(u32) },
	[T_S32] = { COMPARISONS_EQUAL(32), COMPARISONS_INT(s32) },
	[T_U64] = { COMPARISONS_EQUAL(64), COMPARISONS_INT(u64) },
	[T_S64] = { COMPARISONS_EQUAL(64), COMPARISONS_INT(s64) },
	[T_F32] = { COMPARISONS_FLOAT(f32) },
	[T_F64] = { COMPARISONS_FLOAT(f64) },
};

/* ---- halves are compared as floats; insn.compare is the fp32 comparison */

/* insn.mode of a comparison of halves */
enum { HALF_BF16 = 1, HALF_FLUSH = 2 };

static void
widen(f32 *to, const struct warp *w, uint32_t offset, int n, unsigned mode)
{
	const u16 *from = (const u16 *)(w->frame + offset);
	if (mode & HALF_BF16)
		bf16_to_floats(to, from, n);
	else
		f16_to_floats(to, from, n);
	for (int k = 0; mode & HALF_FLUSH && k < n; k++)
		to[k] = __builtin_fabsf(to[k]) < 0x1p-14f ? __builtin_copysignf(0, to[k]) : to[k];
}

HANDLER(setp_half)
{
	f32 a[LANES] __attribute__((aligned(64))), b[LANES] __attribute__((aligned(64)));
	UNUSED(wide);
	widen(a, w, i->a, LANES, i->mode);
	widen(b, w, i->b, LANES, i->mode);
	finish_setp(i, w, mask, i->compare(a, b));
}

/* Bit l of low and high: the comparison of the low and high halves of lane l */
static void
compare_x2(const struct insn *i, struct warp *w, uint32_t *low, uint32_t *high)
{
	f32 a[64] __attribute__((aligned(64))), b[64] __attribute__((aligned(64)));
	f32 x[2][LANES] __attribute__((aligned(64))), y[2][LANES] __attribute__((aligned(64)));
	widen(a, w, i->a, 64, i->mode);
	widen(b, w, i->b, 64, i->mode);
	for (int l = 0; l < 64; l++) {
		x[l & 1][l / 2] = a[l];
		y[l & 1][l / 2] = b[l];
	}
	*low = i->compare(x[0], y[0]);
	*high = i->compare(x[1], y[1]);
}

HANDLER(setp_half_x2)
{
	uint32_t low, high, c = i->sub ? PREDICATE(i->c) ^ (i->negated >> 3 & 1 ? FULL : 0) : 0;
	UNUSED(wide);
	compare_x2(i, w, &low, &high);
	if (i->sub) {
		low = i->sub == OP_AND ? low & c : i->sub == OP_OR ? low | c : low ^ c;
		high = i->sub == OP_AND ? high & c : i->sub == OP_OR ? high | c : high ^ c;
	}
	if (i->d != NO_REG)
		set_predicate(w, i->d, low, mask);
	if (i->e != NO_REG)
		set_predicate(w, i->e, high, mask);
}

static enum compare
comparison_of(const struct mods *mods)
{
	if (mods->field[M_HALF])		/* .lo and .hi are unsigned less and greater */
		return mods->field[M_HALF] == 1 ? CMP_LT : CMP_GT;
	return (enum compare)mods->field[M_COMPARE];
}

static bool
is_half(enum type type)
{
	return type == T_F16 || type == T_BF16 || type == T_F16X2 || type == T_BF16X2;
}

static bool
is_x2(enum type type)
{
	return type == T_F16X2 || type == T_BF16X2;
}

/* Sets compare, mode and, for the plain types, the handlers of setp. */
static const struct comparison *
choose_comparison(struct decoder *d, const struct mods *mods, enum type type)
{
	struct insn *i = decode_insn(d);
	const struct comparison *c = &comparisons[is_half(type) ? T_F32 : type][comparison_of(mods)];
	i->mode = type == T_BF16 || type == T_BF16X2 ? HALF_BF16 : is_half(type) && mods->field[M_FTZ] ? HALF_FLUSH : 0;
	i->compare = c->bits;
	return c;
}

/* setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, {!}c} */
static bool
decode_setp(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type type = mods->types[0];
	struct insn *i = decode_insn(d);
	const struct comparison *c = choose_comparison(d, mods, type);
	unsigned n = mods->field[M_BOOL] ? 4 : 3;
	int64_t bits;
	UNUSED(row);
	if (!c->bits)
		return decode_fail(d, "which compares what has no order");
	if (s->n_operands != n)
		return decode_fail(d, "with %u operands", s->n_operands);
	const struct operand *o = s->operands, *p = o, *q = NULL;
	if (o->kind == O_PAIR) {
		p = &o->items[0];
		q = &o->items[1];
	}
	if (!decode_destination(d, p, 1, true, F_D) || (q && !decode_destination(d, q, 1, true, F_E)))
		return false;
	if (!decode_source(d, &o[1], type, true, F_A))
		return false;
	i->sub = mods->field[M_BOOL];
	i->run = is_x2(type) ? setp_half_x2 : is_half(type) ? setp_half : c->setp;
	if (!is_half(type) && decode_immediate(&o[2], type, &bits)) {
		i->run = c->setp_imm;
		i->imm = bits;
	} else if (!decode_source(d, &o[2], type, true, F_B)) {
		return false;
	}
	if (n == 4 && !decode_predicate(d, &o[3], F_C))
		return false;
	if (mods->field[M_FTZ] && type == T_F32)
		return decode_flush(d);
	return true;
}

/* ---- set: a number instead of a predicate */

static uint32_t
set_bits(const struct insn *i, struct warp *w, uint32_t bits)
{
	uint32_t c = i->sub ? PREDICATE(i->c) ^ (i->negated >> 3 & 1 ? FULL : 0) : 0;
	return i->sub == OP_AND ? bits & c : i->sub == OP_OR ? bits | c : i->sub == OP_XOR ? bits ^ c : bits;
}

/* insn.imm is the value of true */
HANDLER(set_32)
{
	f32 a[LANES] __attribute__((aligned(64))), b[LANES] __attribute__((aligned(64)));
	const void *x = w->frame + i->a, *y = w->frame + i->b;
	UNUSED(wide);
	if (i->n) {
		widen(a, w, i->a, LANES, i->mode);
		widen(b, w, i->b, LANES, i->mode);
		x = a;
		y = b;
	}
	uint32_t bits = set_bits(i, w, i->compare(x, y));
	if (i->size == 2)
		EACH_IN(mask, l)
			REG(u16, i->d)[l] = bits >> l & 1 ? (uint16_t)i->imm : 0;
	else
		EACH_IN(mask, l)
			REG(u32, i->d)[l] = bits >> l & 1 ? (uint32_t)i->imm : 0;
}

HANDLER(set_x2)
{
	uint32_t low, high;
	UNUSED(wide);
	compare_x2(i, w, &low, &high);
	low = set_bits(i, w, low);
	high = set_bits(i, w, high);
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = (low >> l & 1 ? (uint32_t)i->imm : 0) | (high >> l & 1 ? (uint32_t)i->imm << 16 : 0);
}

static bool
decode_set(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type to = mods->types[0], type = mods->types[1];
	struct insn *i = decode_insn(d);
	const struct comparison *c = choose_comparison(d, mods, type);
	unsigned n = mods->field[M_BOOL] ? 4 : 3;
	UNUSED(row);
	if (!c->bits || s->n_operands != n)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->sub = mods->field[M_BOOL];
	i->n = is_half(type);
	i->size = (uint8_t)type_bytes(to);
	i->imm = to == T_F32 ? 0x3f800000 : to == T_F16 || to == T_F16X2 ? 0x3c00 : to == T_BF16 || to == T_BF16X2 ? 0x3f80
		: to == T_U16 || to == T_S16 || is_x2(type) ? 0xffff : 0xffffffff;
	i->run = is_x2(type) ? set_x2 : set_32;
	if (!decode_destination(d, &s->operands[0], type_bytes(to), true, F_D) || !decode_source(d, &s->operands[1], type, true, F_A)
		|| !decode_source(d, &s->operands[2], type, true, F_B) || (n == 4 && !decode_predicate(d, &s->operands[3], F_C)))
		return false;
	return mods->field[M_FTZ] && type == T_F32 ? decode_flush(d) : true;
}

/* ---- selection */

#define SELECT(name, type) \
HANDLER(name) \
{ \
	type result[LANES] __attribute__((aligned(64))), *d = wide == FULL ? REG(type, i->d) : result; \
	const type *a = REG(type, i->a), *b = REG(type, i->b); \
	uint32_t p = PREDICATE(i->c) ^ (i->negated >> 3 & 1 ? FULL : 0); \
	UNUSED(mask); \
	EACH_LANE(l) \
		d[l] = p >> l & 1 ? a[l] : b[l]; \
	if (wide != FULL) \
		MERGE_LANES(REG(type, i->d), result, wide); \
}
SELECT(selp_16, u16)
SELECT(selp_32, u32)
SELECT(selp_64, u64)

TERNARY(slct_16_s32, u16, u16, u16, s32, z >= 0 ? x : y)
TERNARY(slct_32_s32, u32, u32, u32, s32, z >= 0 ? x : y)
TERNARY(slct_64_s32, u64, u64, u64, s32, z >= 0 ? x : y)
TERNARY(slct_16_f32, u16, u16, u16, f32, z >= 0 ? x : y)
TERNARY(slct_32_f32, u32, u32, u32, f32, z >= 0 ? x : y)
TERNARY(slct_64_f32, u64, u64, u64, f32, z >= 0 ? x : y)

static bool
decode_slct(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct mods first = *mods;
	first.n_types = 1;
	UNUSED(row);
	static const struct row operands = { .operands = "dT aT bT",
		.run = { [T_B16] = slct_16_s32, [T_U16] = slct_16_s32, [T_S16] = slct_16_s32, [T_B32] = slct_32_s32,
			[T_U32] = slct_32_s32, [T_S32] = slct_32_s32, [T_F32] = slct_32_s32, [T_B64] = slct_64_s32,
			[T_U64] = slct_64_s32, [T_S64] = slct_64_s32, [T_F64] = slct_64_s32 } };
	struct statement three = *s;
	if (s->n_operands != 4)
		return decode_fail(d, "with %u operands", s->n_operands);
	three.n_operands = 3;
	if (!decode_by_operands(d, &operands, &first, &three) || !decode_source(d, &s->operands[3], mods->types[1], true, F_C))
		return false;
	struct insn *i = decode_insn(d);
	if (mods->types[1] == T_F32)
		i->run = i->run == slct_16_s32 ? slct_16_f32 : i->run == slct_32_s32 ? slct_32_f32 : slct_64_f32;
	return mods->field[M_FTZ] && mods->types[1] == T_F32 ? decode_flush(d) : true;
}

#define COMPARE_WORDS ".eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs|.equ|.neu|.ltu|.leu|.gtu|.geu|.num|.nan"
#define COMPARED ".b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64|.f16|.bf16"
#define RUN_SIZES(f) { [T_B16] = f##_16, [T_U16] = f##_16, [T_S16] = f##_16, [T_F16] = f##_16, [T_BF16] = f##_16, \
	[T_B32] = f##_32, [T_U32] = f##_32, [T_S32] = f##_32, [T_F32] = f##_32, [T_F16X2] = f##_32, [T_BF16X2] = f##_32, \
	[T_B64] = f##_64, [T_U64] = f##_64, [T_S64] = f##_64, [T_F64] = f##_64 }

static const struct row rows[] = {
	DECODED("setp", COMPARE_WORDS " .and|.or|.xor? .ftz? " COMPARED "|.f16x2|.bf16x2", decode_setp),
	DECODED("set", COMPARE_WORDS " .and|.or|.xor? .ftz? .u32|.s32|.f32|.u16|.s16|.f16|.bf16 " COMPARED, decode_set),
	DECODED("set", COMPARE_WORDS " .and|.or|.xor? .ftz? .f16x2|.u32|.s32 .f16x2", decode_set),
	DECODED("set", COMPARE_WORDS " .and|.or|.xor? .ftz? .bf16x2|.u32|.s32 .bf16x2", decode_set),
	{ "selp", "T", "dT aT bT cP", .run = RUN_SIZES(selp) },
	DECODED("slct", ".ftz? .b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64 .s32|.f32", decode_slct),
};
ROWS(rows_compare, rows);
