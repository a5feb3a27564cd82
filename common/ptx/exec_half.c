/* fp16 and bf16 arithmetic, single and packed. A packed register of 32 lanes is an array of 64 halves, so one
 * loop serves both. Results are computed in fp32, or in double rounded to odd where fp32 would round twice,
 * and rounded to the half once. */
#include "ptx/half.h"

#include "ptx/lanes.h"
#include "ptx/table.h"

enum { HALF_RELU = 1, HALF_SAT = 2, HALF_FLUSH = 4, HALF_OOB = 8 };

/* What a tensor map's fill with NaN puts outside of a tensor, without the sign: the result of fma.oob with such a factor
 * is zero. The value is that of an H200, for both formats. */
enum { OUT_OF_BOUNDS_NAN = 0x7ff7 };

/* What .relu and .sat do after the operation, before the rounding that cannot change the outcome. */
static inline f32
finish(f32 r, unsigned what)
{
	if (what & HALF_RELU)			/* a negative zero becomes a positive one, NaN stays */
		r = r <= 0 ? 0 : r;
	if (what & HALF_SAT)
		r = r > 0 ? r < 1 ? r : 1 : 0;
	return r;
}

/* .ftz: what is below the least is a zero of its sign, before the operation and behind it, where what would round
 * to the least normal number is not below it. */
#define f16_least 0x1p-14f
#define f16_rounds_to_least (0x1p-14f - 0x1p-26f)
#define bf16_least 0x1p-126f
#define bf16_rounds_to_least 0x1p-126f
static void
flush_halves(f32 *v, int n, float least)
{
	VECTORISE for (int l = 0; l < n; l++)
		v[l] = fabsf(v[l]) < least ? float_of_bits(bits_of_float(v[l]) & 0x80000000u) : v[l];
}

static void
put(struct warp *w, const struct insn *i, const u16 *result, int n, uint32_t wide)
{
	if (wide == FULL)
		memcpy(w->frame + i->d, result, (size_t)n * 2);
	else if (n == LANES)
		merge_16(REG(u16, i->d), result, wide);
	else
		merge_32(REG(u32, i->d), (const u32 *)(const void *)result, wide);
}

/* One handler for n halves of a format; fa, fb, fc are the sources as floats. */
#define HALF_HANDLER(name, format, n, sources, expression) \
HANDLER(name) \
{ \
	f32 fa[n] __attribute__((aligned(64))), fb[n] __attribute__((aligned(64))), fc[n] __attribute__((aligned(64))); \
	u16 result[n] __attribute__((aligned(64))); \
	unsigned what = i->sub; \
	UNUSED(mask); \
	format##_to_floats(fa, REG(u16, i->a), n); \
	if (sources > 1) \
		format##_to_floats(fb, REG(u16, i->b), n); \
	if (sources > 2) \
		format##_to_floats(fc, REG(u16, i->c), n); \
	if (what & HALF_FLUSH) { \
		flush_halves(fa, n, format##_least); \
		if (sources > 1) \
			flush_halves(fb, n, format##_least); \
		if (sources > 2) \
			flush_halves(fc, n, format##_least); \
	} \
	VECTORISE for (int l = 0; l < n; l++) { \
		f32 x = fa[l], y = sources > 1 ? fb[l] : 0, z = sources > 2 ? fc[l] : 0; \
		UNUSED(y); \
		UNUSED(z); \
		fa[l] = (expression); \
	} \
	for (int l = 0; what && l < n; l++) \
		fa[l] = finish(fa[l], what); \
	if (what & HALF_FLUSH) \
		flush_halves(fa, n, format##_rounds_to_least); \
	format##_from_floats(result, fa, n); \
	if (what & HALF_OOB) \
		clear_outside(i, w, result, n); \
	put(w, i, result, n, wide); \
}
/* Results of fma.oob where a factor was read outside of a tensor: zeros. */
static void
clear_outside(const struct insn *i, struct warp *w, u16 *result, int n)
{
	const u16 *a = REG(u16, i->a), *b = REG(u16, i->b);
	VECTORISE for (int l = 0; l < n; l++)
		result[l] = (a[l] & 0x7fff) == OUT_OF_BOUNDS_NAN || (b[l] & 0x7fff) == OUT_OF_BOUNDS_NAN ? 0 : result[l];
}

#define HALF_BOTH(name, format, sources, expression) \
	HALF_HANDLER(name##_##format, format, 32, sources, expression) \
	HALF_HANDLER(name##_##format##x2, format, 64, sources, expression)
#define HALF_ALL(name, sources, expression) \
	HALF_BOTH(name, f16, sources, expression) \
	HALF_BOTH(name, bf16, sources, expression)

static inline f32
least(f32 x, f32 y)
{
	f32 equal = float_of_bits(bits_of_float(x) | bits_of_float(y));
	return x < y ? x : x > y ? y : x == y ? equal : x != x ? y : x;
}

static inline f32
greatest(f32 x, f32 y)
{
	f32 equal = float_of_bits(bits_of_float(x) & bits_of_float(y));
	return x > y ? x : x < y ? y : x == y ? equal : x != x ? y : x;
}

#define MAGNITUDE(v) float_of_bits(bits_of_float(v) & 0x7fffffff)
#define SIGNED_AS(r, x, y) float_of_bits((bits_of_float(r) & 0x7fffffff) | ((bits_of_float(x) ^ bits_of_float(y)) & 0x80000000u))
#define NAN_OR(r, x, y) (x != x || y != y ? NAN : (r))

HALF_ALL(add, 2, x + y)
HALF_ALL(sub, 2, x - y)
HALF_BOTH(mul, f16, 2, x * y)
HALF_BOTH(mul, bf16, 2, float_odd((double)x * y))
HALF_BOTH(fma, f16, 3, half_fused_odd(x, y, z))
HALF_BOTH(fma, bf16, 3, fused_odd(x, y, z))
HALF_ALL(min, 2, least(x, y))
HALF_ALL(max, 2, greatest(x, y))
HALF_ALL(min_nan, 2, NAN_OR(least(x, y), x, y))
HALF_ALL(max_nan, 2, NAN_OR(greatest(x, y), x, y))
HALF_ALL(min_xor, 2, SIGNED_AS(least(MAGNITUDE(x), MAGNITUDE(y)), x, y))
HALF_ALL(min_nan_xor, 2, NAN_OR(SIGNED_AS(least(MAGNITUDE(x), MAGNITUDE(y)), x, y), x, y))
HALF_ALL(max_nan_xor, 2, NAN_OR(SIGNED_AS(greatest(MAGNITUDE(x), MAGNITUDE(y)), x, y), x, y))
HALF_ALL(max_xor, 2, SIGNED_AS(greatest(MAGNITUDE(x), MAGNITUDE(y)), x, y))
HALF_BOTH(neg_flushed, f16, 1, -x)
HALF_BOTH(abs_flushed, f16, 1, MAGNITUDE(x))
HALF_ALL(ex2, 1, exp2_approx(x))
HALF_ALL(tanh, 1, tanh_approx(x))

/* `limit` is infinity of the format: what is above is NaN, and comes out as 0x7fff */
#define SIGN_OPERATION(name, limit, operation) \
HANDLER(name) \
{ \
	u16 result[LANES] __attribute__((aligned(64))); \
	const u16 *a = REG(u16, i->a); \
	UNUSED(mask); \
	EACH_LANE(l) \
		result[l] = (u16)((a[l] & 0x7fff) > (limit) ? 0x7fff : a[l] operation); \
	put(w, i, result, LANES, wide); \
} \
HANDLER(name##x2) \
{ \
	u16 result[2 * LANES] __attribute__((aligned(64))); \
	const u16 *a = REG(u16, i->a); \
	UNUSED(mask); \
	VECTORISE for (int l = 0; l < 2 * LANES; l++) \
		result[l] = (u16)((a[l] & 0x7fff) > (limit) ? 0x7fff : a[l] operation); \
	put(w, i, result, 2 * LANES, wide); \
}
SIGN_OPERATION(neg_f16, 0x7c00, ^ 0x8000)
SIGN_OPERATION(abs_f16, 0x7c00, & 0x7fff)
SIGN_OPERATION(neg_bf16, 0x7f80, ^ 0x8000)
SIGN_OPERATION(abs_bf16, 0x7f80, & 0x7fff)

static bool
decode_half(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	if (!decode_by_operands(d, row, mods, s))
		return false;
	decode_insn(d)->sub = (uint8_t)((mods->field[M_RELU] ? HALF_RELU : 0) | (mods->field[M_SAT] ? HALF_SAT : 0)
		| (mods->field[M_FTZ] ? HALF_FLUSH : 0) | (mods->field[M_OOB] ? HALF_OOB : 0));
	return true;
}

#define RUN4(f) { [T_F16] = f##_f16, [T_F16X2] = f##_f16x2, [T_BF16] = f##_bf16, [T_BF16X2] = f##_bf16x2 }
#define RUN_F16(f) { [T_F16] = f##_f16, [T_F16X2] = f##_f16x2 }
#define D_A "dT aT"
#define D_A_B "dT aT bT"
#define D_A_B_C "dT aT bT cT"

static const struct row rows[] = {
	{ "add", ".rn? T", D_A_B, decode_half, .run = RUN4(add) },
	{ "add", ".rn? .sat T", D_A_B, decode_half, .run = RUN_F16(add) },
	{ "sub", ".rn? T", D_A_B, decode_half, .run = RUN4(sub) },
	{ "sub", ".rn? .sat T", D_A_B, decode_half, .run = RUN_F16(sub) },
	{ "mul", ".rn? T", D_A_B, decode_half, .run = RUN4(mul) },
	{ "mul", ".rn? .sat T", D_A_B, decode_half, .run = RUN_F16(mul) },
	{ "fma", ".rn .relu? T", D_A_B_C, decode_half, .run = RUN4(fma) },
	{ "fma", ".rn .sat T", D_A_B_C, decode_half, .run = RUN_F16(fma) },
	{ "fma", ".rn .oob .relu? T", D_A_B_C, decode_half, .run = RUN4(fma), .any_order = true },
	{ "fma", ".rn .oob .sat T", D_A_B_C, decode_half, .run = RUN_F16(fma), .any_order = true },
	{ "min", "T", D_A_B, decode_half, .run = RUN4(min) },
	{ "max", "T", D_A_B, decode_half, .run = RUN4(max) },
	{ "min", ".NaN T", D_A_B, decode_half, .run = RUN4(min_nan) },
	{ "max", ".NaN T", D_A_B, decode_half, .run = RUN4(max_nan) },
	{ "min", ".xorsign .abs T", D_A_B, decode_half, .run = RUN4(min_xor) },
	{ "max", ".xorsign .abs T", D_A_B, decode_half, .run = RUN4(max_xor) },
	{ "min", ".NaN .xorsign .abs T", D_A_B, decode_half, .run = RUN4(min_nan_xor) },
	{ "max", ".NaN .xorsign .abs T", D_A_B, decode_half, .run = RUN4(max_nan_xor) },
	{ "add", ".rn? .ftz .sat? T", D_A_B, decode_half, .run = RUN_F16(add) },
	{ "sub", ".rn? .ftz .sat? T", D_A_B, decode_half, .run = RUN_F16(sub) },
	{ "mul", ".rn? .ftz .sat? T", D_A_B, decode_half, .run = RUN_F16(mul) },
	{ "fma", ".rn .ftz .sat|.relu? T", D_A_B_C, decode_half, .run = RUN_F16(fma) },
	{ "min", ".ftz T", D_A_B, decode_half, .run = RUN_F16(min) },
	{ "max", ".ftz T", D_A_B, decode_half, .run = RUN_F16(max) },
	{ "min", ".ftz .NaN T", D_A_B, decode_half, .run = RUN_F16(min_nan) },
	{ "max", ".ftz .NaN T", D_A_B, decode_half, .run = RUN_F16(max_nan) },
	{ "min", ".ftz .xorsign .abs T", D_A_B, decode_half, .run = RUN_F16(min_xor) },
	{ "max", ".ftz .xorsign .abs T", D_A_B, decode_half, .run = RUN_F16(max_xor) },
	{ "min", ".ftz .NaN .xorsign .abs T", D_A_B, decode_half, .run = RUN_F16(min_nan_xor) },
	{ "max", ".ftz .NaN .xorsign .abs T", D_A_B, decode_half, .run = RUN_F16(max_nan_xor) },
	{ "neg", ".ftz T", D_A, decode_half, .run = RUN_F16(neg_flushed) },
	{ "abs", ".ftz T", D_A, decode_half, .run = RUN_F16(abs_flushed) },
	{ "neg", "T", D_A, .run = RUN4(neg) },
	{ "abs", "T", D_A, .run = RUN4(abs) },
	{ "ex2", ".approx T", D_A, decode_half, .run = RUN_F16(ex2) },
	{ "ex2", ".approx .ftz T", D_A, decode_half, .run = { [T_BF16] = ex2_bf16, [T_BF16X2] = ex2_bf16x2 } },
	{ "tanh", ".approx T", D_A, decode_half, .run = RUN4(tanh) },
};
ROWS(rows_half, rows);
