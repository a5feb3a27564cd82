/* fp32 and fp64 instructions. Rounding modes and flushing of denormals are the CPU's own, set around the
 * handler by float_control. NaN results are the one that the GPU gives for fp32. */
#include <immintrin.h>

#include "ptx/approx.h"
#include "ptx/decode.h"
#include "ptx/lanes.h"

static inline f32
canonical(f32 r)
{
	return r != r ? float_of_bits(0x7fffffff) : r;
}

BINARY_ONE(add_f32, f32, f32, f32, canonical(x + y))
BINARY_ONE(sub_f32, f32, f32, f32, canonical(x - y))
BINARY_ONE(mul_f32, f32, f32, f32, canonical(x * y))
BINARY_ONE(div_f32, f32, f32, f32, canonical(x / y))
/* div.approx multiplies by a reciprocal, which is 0 for divisors beyond 2^126 */
#define LARGE_DIVISOR(y) (__builtin_fabsf(y) > 0x1p126f && __builtin_fabsf(y) < __builtin_inff())
BINARY_ONE(div_approx_f32, f32, f32, f32, canonical(LARGE_DIVISOR(y) ? x * __builtin_copysignf(0, y) : x / y))
BINARY_IMM(add_f32, f32, f32, f32, canonical(x + y))
BINARY_IMM(mul_f32, f32, f32, f32, canonical(x * y))
TERNARY(fma_f32, f32, f32, f32, f32, canonical(__builtin_fmaf(x, y, z)))
BINARY_ONE(add_f64, f64, f64, f64, x + y)
BINARY_ONE(sub_f64, f64, f64, f64, x - y)
BINARY_ONE(mul_f64, f64, f64, f64, x * y)
BINARY_ONE(div_f64, f64, f64, f64, x / y)
TERNARY(fma_f64, f64, f64, f64, f64, __builtin_fma(x, y, z))

/* The sign decides between zeros; a NaN gives way to a number. */
static inline f32
min_f32(f32 x, f32 y)
{
	f32 equal = float_of_bits(bits_of_float(x) | bits_of_float(y));
	return canonical(x < y ? x : x > y ? y : x == y ? equal : x != x ? y : x);
}

static inline f32
max_f32(f32 x, f32 y)
{
	f32 equal = float_of_bits(bits_of_float(x) & bits_of_float(y));
	return canonical(x > y ? x : x < y ? y : x == y ? equal : x != x ? y : x);
}

static inline f64
quiet(f64 r)
{
	return r != r ? double_of_bits(bits_of_double(r) | 1ull << 51) : r;
}

static inline f64
min_f64(f64 x, f64 y)
{
	f64 equal = double_of_bits(bits_of_double(x) | bits_of_double(y));
	return x < y ? x : x > y ? y : x == y ? equal : quiet(x != x ? y : x);
}

static inline f64
max_f64(f64 x, f64 y)
{
	f64 equal = double_of_bits(bits_of_double(x) & bits_of_double(y));
	return x > y ? x : x < y ? y : x == y ? equal : quiet(x != x ? y : x);
}

#define ABS32(v) float_of_bits(bits_of_float(v) & 0x7fffffff)
#define XORSIGN(r, x, y) float_of_bits((bits_of_float(r) & 0x7fffffff) | ((bits_of_float(x) ^ bits_of_float(y)) & 0x80000000u))
#define NAN_OR(r, x, y) (x != x || y != y ? float_of_bits(0x7fffffff) : (r))
BINARY_ONE(minimum_f32, f32, f32, f32, min_f32(x, y))
BINARY_ONE(maximum_f32, f32, f32, f32, max_f32(x, y))
BINARY_ONE(minimum_nan_f32, f32, f32, f32, NAN_OR(min_f32(x, y), x, y))
BINARY_ONE(maximum_nan_f32, f32, f32, f32, NAN_OR(max_f32(x, y), x, y))
BINARY_ONE(minimum_xor_f32, f32, f32, f32, canonical(XORSIGN(min_f32(ABS32(x), ABS32(y)), x, y)))
BINARY_ONE(maximum_xor_f32, f32, f32, f32, canonical(XORSIGN(max_f32(ABS32(x), ABS32(y)), x, y)))
BINARY_ONE(minimum_nan_xor_f32, f32, f32, f32, NAN_OR(XORSIGN(min_f32(ABS32(x), ABS32(y)), x, y), x, y))
BINARY_ONE(maximum_nan_xor_f32, f32, f32, f32, NAN_OR(XORSIGN(max_f32(ABS32(x), ABS32(y)), x, y), x, y))
BINARY_ONE(minimum_f64, f64, f64, f64, min_f64(x, y))
BINARY_ONE(maximum_f64, f64, f64, f64, max_f64(x, y))

#define NAN_BITS32(v) (((v) & 0x7fffffff) > 0x7f800000)
UNARY(neg_f32, u32, u32, NAN_BITS32(x) ? 0x7fffffff : x ^ 0x80000000u)
UNARY(abs_f32, u32, u32, NAN_BITS32(x) ? 0x7fffffff : x & 0x7fffffff)
#define NAN_BITS64(v) (((v) & ~(1ull << 63)) > 0x7ffull << 52)
UNARY(neg_f64, u64, u64, NAN_BITS64(x) ? x | 1ull << 51 : x ^ 1ull << 63)
UNARY(abs_f64, u64, u64, NAN_BITS64(x) ? x | 1ull << 51 : x & ~(1ull << 63))
BINARY_ONE(copysign_f32, u32, u32, u32, (x & 0x80000000u) | (y & 0x7fffffff))
BINARY_ONE(copysign_f64, u64, u64, u64, (x & 1ull << 63) | (y & ~(1ull << 63)))

UNARY(sqrt_f32, f32, f32, canonical(__builtin_sqrtf(x)))
UNARY(sqrt_f64, f64, f64, __builtin_sqrt(x))
UNARY(rcp_f32, f32, f32, canonical(1.0f / x))
UNARY(rcp_f64, f64, f64, 1.0 / x)
UNARY(rsqrt_f32, f32, f32, canonical((f32)(1.0 / __builtin_sqrt((f64)x))))
UNARY(rsqrt_f64, f64, f64, 1.0 / __builtin_sqrt(x))
/* the fp64 forms give the upper half of the result alone, and flush denormals */
#define FLUSH64(v) double_of_bits(bits_of_double(v) & (bits_of_double(v) & 0x7ffull << 52 ? ~0ull : 1ull << 63))
#define UPPER64(v) double_of_bits(bits_of_double(v) & ~0xffffffffull)
UNARY(rcp_approx_f64, f64, f64, FLUSH64(UPPER64(1.0 / FLUSH64(x))))
UNARY(rsqrt_approx_f64, f64, f64, UPPER64(1.0 / __builtin_sqrt(FLUSH64(x))))
UNARY(ex2_f32, f32, f32, exp2_approx(x))
UNARY(lg2_f32, f32, f32, log2_approx(x))
UNARY(sin_f32, f32, f32, sine_approx(x, 0))
UNARY(cos_f32, f32, f32, sine_approx(x, 1))
UNARY(tanh_f32, f32, f32, tanh_approx(x))

/* ---- classes */

enum { CLASS_FINITE = 1, CLASS_INFINITE, CLASS_NUMBER, CLASS_NAN, CLASS_NORMAL, CLASS_SUBNORMAL };

static bool
in_class(double v, bool subnormal, unsigned wanted)
{
	bool number = v == v, finite = number && v - v == 0;
	switch (wanted) {
	case CLASS_FINITE: return finite;
	case CLASS_INFINITE: return number && !finite;
	case CLASS_NUMBER: return number;
	case CLASS_NAN: return !number;
	case CLASS_NORMAL: return finite && !subnormal;	/* zeros too */
	default: return subnormal;
	}
}

HANDLER(testp_f32)
{
	uint32_t result = 0;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint32_t bits = REG(u32, i->a)[l] & 0x7fffffff;
		result |= (uint32_t)in_class(float_of_bits(bits), bits && bits < 0x800000, i->sub) << l;
	}
	set_predicate(w, i->d, result, mask);
}

HANDLER(testp_f64)
{
	uint32_t result = 0;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint64_t bits = REG(u64, i->a)[l] & ~(1ull << 63);
		result |= (uint32_t)in_class(double_of_bits(bits), bits && bits < 1ull << 52, i->sub) << l;
	}
	set_predicate(w, i->d, result, mask);
}

/* ---- rounding, flushing, saturation */

enum { FLUSH = 1, SATURATE = 2 };

static void
flush_f32(u32 *d, uint32_t mask)
{
	EACH_LANE(l)
		d[l] = mask >> l & 1 && !(d[l] & 0x7f800000) ? d[l] & 0x80000000u : d[l];
}

static void
saturate_f32(f32 *d, uint32_t mask)
{
	EACH_IN(mask, l)
		d[l] = d[l] > 0 ? d[l] < 1 ? d[l] : 1 : 0;
}

void
float_control(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
{
	static const uint32_t rounding[] = { [ROUND_NONE] = _MM_ROUND_NEAREST, [ROUND_RN] = _MM_ROUND_NEAREST,
		[ROUND_RZ] = _MM_ROUND_TOWARD_ZERO, [ROUND_RM] = _MM_ROUND_DOWN, [ROUND_RP] = _MM_ROUND_UP,
		[ROUND_RNA] = _MM_ROUND_NEAREST };
	uint32_t before = _mm_getcsr(), flush = i->flag & FLUSH ? _MM_FLUSH_ZERO_ON | 0x40 : 0;
	_mm_setcsr((before & ~(uint32_t)_MM_ROUND_MASK) | rounding[i->mode] | flush);
	i->inner(i, w, mask, wide);
	_mm_setcsr(before);
	if (i->flag & FLUSH && i->size == T_F32)
		flush_f32(REG(u32, i->d), wide);
	if (i->flag & SATURATE && i->size == T_F32)
		saturate_f32(REG(f32, i->d), wide);
}

void
flush_sources(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
{
	uint32_t before = _mm_getcsr();
	_mm_setcsr(before | 0x40);
	i->inner(i, w, mask, wide);
	_mm_setcsr(before);
}

/* ---- rows */

#define ROUNDINGS ".rn|.rz|.rm|.rp"
#define D_A "dT aT"
#define D_A_B "dT aT bT"
#define D_A_B_C "dT aT bT cT"
#define F32_ROW(name, pattern, operands, f) \
	{ name, pattern " .f32", operands, .run = { [T_F32] = f }, .float_control = true }
#define F64_ROW(name, pattern, operands, f) \
	{ name, pattern " .f64", operands, .run = { [T_F64] = f }, .float_control = true }
#define TESTP_ROW(word, class) \
	{ "testp", word " T", "dP aT", .run = { [T_F32] = testp_f32, [T_F64] = testp_f64 }, .sub = class }

static const struct row rows[] = {
	{ "add", ROUNDINGS "? .ftz? .sat? .f32", D_A_B, .run = { [T_F32] = add_f32 }, .run_imm = { [T_F32] = add_f32_imm },
		.float_control = true },
	F32_ROW("sub", ROUNDINGS "? .ftz? .sat?", D_A_B, sub_f32),
	{ "mul", ROUNDINGS "? .ftz? .sat? .f32", D_A_B, .run = { [T_F32] = mul_f32 }, .run_imm = { [T_F32] = mul_f32_imm },
		.float_control = true },
	F32_ROW("fma", ROUNDINGS " .ftz? .sat?", D_A_B_C, fma_f32),
	F32_ROW("mad", ROUNDINGS " .ftz? .sat?", D_A_B_C, fma_f32),
	F32_ROW("div", ROUNDINGS " .ftz?", D_A_B, div_f32),
	F32_ROW("div", ".approx .ftz?", D_A_B, div_approx_f32),
	F32_ROW("div", ".full .ftz?", D_A_B, div_f32),
	F32_ROW("rcp", ROUNDINGS " .ftz?", D_A, rcp_f32),
	F32_ROW("rcp", ".approx .ftz?", D_A, rcp_f32),
	F32_ROW("sqrt", ROUNDINGS " .ftz?", D_A, sqrt_f32),
	F32_ROW("sqrt", ".approx .ftz?", D_A, sqrt_f32),
	F32_ROW("rsqrt", ".approx .ftz?", D_A, rsqrt_f32),
	F32_ROW("ex2", ".approx .ftz?", D_A, ex2_f32),
	F32_ROW("lg2", ".approx .ftz?", D_A, lg2_f32),
	F32_ROW("sin", ".approx .ftz?", D_A, sin_f32),
	F32_ROW("cos", ".approx .ftz?", D_A, cos_f32),
	F32_ROW("tanh", ".approx", D_A, tanh_f32),
	F32_ROW("abs", ".ftz?", D_A, abs_f32),
	F32_ROW("neg", ".ftz?", D_A, neg_f32),
	F32_ROW("min", ".ftz?", D_A_B, minimum_f32),
	F32_ROW("max", ".ftz?", D_A_B, maximum_f32),
	F32_ROW("min", ".ftz? .NaN", D_A_B, minimum_nan_f32),
	F32_ROW("max", ".ftz? .NaN", D_A_B, maximum_nan_f32),
	F32_ROW("min", ".ftz? .xorsign .abs", D_A_B, minimum_xor_f32),
	F32_ROW("max", ".ftz? .xorsign .abs", D_A_B, maximum_xor_f32),
	F32_ROW("min", ".ftz? .NaN .xorsign .abs", D_A_B, minimum_nan_xor_f32),
	F32_ROW("max", ".ftz? .NaN .xorsign .abs", D_A_B, maximum_nan_xor_f32),
	{ "copysign", "T", D_A_B, .run = { [T_F32] = copysign_f32, [T_F64] = copysign_f64 } },
	F64_ROW("add", ROUNDINGS "?", D_A_B, add_f64),
	F64_ROW("sub", ROUNDINGS "?", D_A_B, sub_f64),
	F64_ROW("mul", ROUNDINGS "?", D_A_B, mul_f64),
	F64_ROW("fma", ROUNDINGS, D_A_B_C, fma_f64),
	F64_ROW("mad", ROUNDINGS, D_A_B_C, fma_f64),
	F64_ROW("div", ROUNDINGS, D_A_B, div_f64),
	F64_ROW("rcp", ROUNDINGS, D_A, rcp_f64),
	F64_ROW("sqrt", ROUNDINGS, D_A, sqrt_f64),
	{ "rcp", ".approx .ftz .f64", D_A, .run = { [T_F64] = rcp_approx_f64 } },
	{ "rsqrt", ".approx .ftz .f64", D_A, .run = { [T_F64] = rsqrt_approx_f64 } },
	{ "rsqrt", ".approx .f64", D_A, .run = { [T_F64] = rsqrt_f64 } },
	{ "abs", ".f64", D_A, .run = { [T_F64] = abs_f64 } },
	{ "neg", ".f64", D_A, .run = { [T_F64] = neg_f64 } },
	{ "min", ".f64", D_A_B, .run = { [T_F64] = minimum_f64 } },
	{ "max", ".f64", D_A_B, .run = { [T_F64] = maximum_f64 } },
	TESTP_ROW(".finite", CLASS_FINITE),
	TESTP_ROW(".infinite", CLASS_INFINITE),
	TESTP_ROW(".number", CLASS_NUMBER),
	TESTP_ROW(".notanumber", CLASS_NAN),
	TESTP_ROW(".normal", CLASS_NORMAL),
	TESTP_ROW(".subnormal", CLASS_SUBNORMAL),
};
ROWS(rows_float, rows);
