/* In: one line for each form of an instruction, with an independent C expression of its result. The test writes
 * a kernel around it, runs it over the cross product of edge values and compares bit for bit (floats that
 * approximate: within some units in the last place). */
#include <fenv.h>
#include <math.h>

#include "ptx_rig.h"

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef __int128 s128;
typedef unsigned __int128 u128;

/* ---- bits and numbers */

static float
F(u64 bits)
{
	u32 low = (u32)bits;
	float f;
	memcpy(&f, &low, 4);
	return f;
}

static double
D(u64 bits)
{
	double d;
	memcpy(&d, &bits, 8);
	return d;
}

static u64
f_bits(float f)
{
	u32 bits;
	if (f != f)
		return 0x7fffffff;
	memcpy(&bits, &f, 4);
	return bits;
}

static u64
d_bits(double d)
{
	u64 bits;
	memcpy(&bits, &d, 8);
	return bits;
}

/* A half by its definition */
static double
H(u64 h)
{
	int e = (int)(h >> 10 & 31), m = (int)(h & 1023);
	double v = e == 31 ? m ? NAN : INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return h & 0x8000 ? -v : v;
}

static double
B(u64 b)
{
	return F((b & 0xffff) << 16);
}

/* Rounds to nearest even with `fraction` bits, by exact scaling; the widest type keeps the product and sum exact. */
static u64
narrow(__float128 v, int fraction, int min_exponent, int max_exponent, u64 nan)
{
	int width = fraction == 10 ? 5 : 8;
	u64 sign = 0, infinity = (u64)((1 << width) - 1) << fraction;
	double d = (double)v;
	if (v != v)
		return nan;
	if (v < 0 || (v == 0 && signbit(d))) {
		sign = 0x8000;
		v = -v;
	}
	if (v > (__float128)1e300)
		return sign | infinity;
	int e = min_exponent;
	__float128 scaled = v;
	while (e < max_exponent + 2 && scaled >= 1 && ldexpl(1, e + 1) <= v)
		e++;
	while (e < max_exponent + 2 && (__float128)ldexpl(1, e + 1) <= v)
		e++;
	scaled = v / (__float128)ldexpl(1, e - fraction);
	u64 whole = (u64)scaled;
	__float128 rest = scaled - (__float128)whole;
	if (rest > (__float128)0.5 || (rest == (__float128)0.5 && whole & 1))
		whole++;
	u64 code = whole + ((u64)(e - min_exponent) << fraction);
	return sign | (code > infinity ? infinity : code);
}

static u64
h_bits(__float128 v)
{
	return narrow(v, 10, -14, 15, 0x7fff);
}

static u64
b_bits(__float128 v)
{
	return narrow(v, 7, -126, 127, 0x7fff);
}

static u64
pair(u64 low, u64 high)
{
	return (low & 0xffff) | (high & 0xffff) << 16;
}

static float
in_mode(int mode, char op, float x, float y, float z)
{
	volatile float a = x, b = y, c = z, r = 0;
	fesetround(mode);
	switch (op) {
	case '+': r = a + b; break;
	case '-': r = a - b; break;
	case '*': r = a * b; break;
	case '/': r = a / b; break;
	case 's': r = sqrtf(a); break;
	case 'f': r = fmaf(a, b, c); break;
	}
	fesetround(FE_TONEAREST);
	return r;
}

static double
in_mode_d(int mode, char op, double x, double y, double z)
{
	volatile double a = x, b = y, c = z, r = 0;
	fesetround(mode);
	switch (op) {
	case '+': r = a + b; break;
	case '*': r = a * b; break;
	case '/': r = a / b; break;
	case 'f': r = fma(a, b, c); break;
	}
	fesetround(FE_TONEAREST);
	return r;
}

static float
convert_mode(int mode, double x)
{
	volatile double a = x;
	volatile float r;
	fesetround(mode);
	r = (float)a;
	fesetround(FE_TONEAREST);
	return r;
}

static float
flushed(float f)
{
	return fpclassify(f) == FP_SUBNORMAL ? copysignf(0, f) : f;
}

/* An H200 flushes what is below the least normal number before rounding. */
static float
flushed_product(float x, float y)
{
	double exact = (double)x * y;
	return fabs(exact) < 0x1p-126 ? (float)copysign(0, exact) : (float)exact;
}

static float
sat(float f)
{
	return f > 0 ? f < 1 ? f : 1 : 0;
}

static double
lesser(double x, double y)
{
	if (x != x || y != y)
		return x != x ? y : x;
	return x == y ? signbit(x) ? x : y : x < y ? x : y;
}

static double
greater(double x, double y)
{
	return -lesser(-x, -y);
}

static u64
to_int(double v, int bits, bool is_signed, bool wide_nan)
{
	long double lowest = is_signed ? -ldexpl(1, bits - 1) : 0, highest = ldexpl(1, bits - is_signed) - 1;
	u64 all = bits == 64 ? ~0ull : (1ull << bits) - 1;
	if (v != v)
		return wide_nan ? 1ull << (bits - 1) : 0;
	long double c = v < lowest ? lowest : v > highest ? highest : (long double)v;
	return (c < 0 ? (u64)(s64)c : (u64)c) & all;
}

static u64
bit_field(u64 a, u64 b, u64 c, int bits, bool is_signed)
{
	/* modulo 256 by the manual; an H200 clamps when there are 64 bits */
	int msb = bits - 1, at = (int)(bits == 64 && b > 255 ? 255 : b & 255), count = (int)(bits == 64 && c > 255 ? 255 : c & 255);
	int top = at + count - 1 < msb ? at + count - 1 : msb;
	u64 sign = is_signed && count ? a >> top & 1 : 0, d = 0;
	for (int k = 0; k <= msb; k++)
		d |= (k < count && at + k <= msb ? a >> (at + k) & 1 : sign) << k;
	return d;
}

static u64
bit_insert(u64 a, u64 b, u64 c, u64 e, int bits)
{
	int at = (int)(bits == 64 && c > 255 ? 255 : c & 255), count = (int)(e & 255);
	for (int k = 0; k < count && at + k < bits; k++)
		b = (b & ~(1ull << (at + k))) | (a >> k & 1) << (at + k);
	return b;
}

static u64
reversed(u64 a, int bits)
{
	u64 d = 0;
	for (int k = 0; k < bits; k++)
		d |= (a >> k & 1) << (bits - 1 - k);
	return d;
}

static u64
highest(u64 a, int bits)
{
	for (int k = bits - 1; k >= 0; k--)
		if (a >> k & 1)
			return (u64)k;
	return 0xffffffff;
}

static u64
logic3(u64 a, u64 b, u64 c, int table)
{
	u64 d = 0;
	for (int k = 0; k < 32; k++)
		d |= (u64)(table >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k;
	return d;
}

static u64
bytes_picked(u64 a, u64 b, u64 s)
{
	u64 d = 0, all = (b & 0xffffffff) << 32 | (a & 0xffffffff);
	for (int k = 0; k < 4; k++) {
		int sel = (int)(s >> 4 * k & 15);
		u64 byte = all >> 8 * (sel & 7) & 255;
		d |= (sel & 8 ? byte & 128 ? 255 : 0 : byte) << 8 * k;
	}
	return d;
}

static u64
dot4(u64 a, u64 b, u64 c, bool sa, bool sb)
{
	s64 sum = (s64)c;
	for (int k = 0; k < 4; k++)
		sum += (sa ? (s8)(a >> 8 * k) : (s64)(u8)(a >> 8 * k)) * (sb ? (s8)(b >> 8 * k) : (s64)(u8)(b >> 8 * k));
	return (u32)sum;
}

static u64
dot2(u64 a, u64 b, u64 c, bool sa, bool sb, int from)
{
	s64 sum = (s64)c;
	for (int k = 0; k < 2; k++)
		sum += (sa ? (s16)(a >> 16 * k) : (s64)(u16)(a >> 16 * k))
			* (sb ? (s8)(b >> 8 * (k + from)) : (s64)(u8)(b >> 8 * (k + from)));
	return (u32)sum;
}

static s64
s24(u64 v)
{
	return (s64)((v & 0xffffff) ^ 0x800000) - 0x800000;
}

static s64
clamp32(s64 v)
{
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

/* .ftz of fp16 */
static double
flushed_half(double v)
{
	return fabs(v) < 0x1p-14 ? copysign(0, v) : v;
}

static u64
nth_bit(u64 bits, u64 base, s32 n)
{
	int found = 0, step = n < 0 ? -1 : 1;
	s64 wanted = n < 0 ? -(s64)n : n;
	if (!n)
		return base < 32 && bits >> base & 1 ? base : 0xffffffff;
	for (s64 k = (s64)base; k >= 0 && k < 32; k += step) {
		found += (int)(bits >> k & 1);
		if (found == wanted)
			return (u64)k;
	}
	return 0xffffffff;
}

static u64
packed(s32 a, s32 b, u64 c, int bits, s32 low, s32 high)
{
	u64 all = (1u << bits) - 1;
	a = a < low ? low : a > high ? high : a;
	b = b < low ? low : b > high ? high : b;
	return ((u64)b & all) | ((u64)a & all) << bits | c << 2 * bits;
}

/* The largest number of a format instead of infinity */
static u64
largest(u64 bits, u64 infinity)
{
	return (bits & 0x7fff) == infinity ? bits - 1 : bits;
}

static u64
relu16(s64 v)
{
	return v < 0 ? 0 : (u64)v & 0xffff;
}

#define H2(expression) pair(({ double a = H(x), b = H(y), c = H(z); (void)a; (void)b; (void)c; h_bits(expression); }), \
	({ double a = H(x >> 16), b = H(y >> 16), c = H(z >> 16); (void)a; (void)b; (void)c; h_bits(expression); }))
#define B2(expression) pair(({ double a = B(x), b = B(y), c = B(z); (void)a; (void)b; (void)c; b_bits(expression); }), \
	({ double a = B(x >> 16), b = B(y >> 16), c = B(z >> 16); (void)a; (void)b; (void)c; b_bits(expression); }))
#define Q (__float128)

/* ---- the list: name, instruction, bytes of d, a, b, c (p: a predicate), values, tolerance in ulps, result */

#define INT_LIST(OP) \
	OP(add_u16, "add.u16 %d, %a, %b", "222", I, 0, (u16)(x + y)) \
	OP(add_s32, "add.s32 %d, %a, %b", "444", I, 0, x + y) \
	OP(add_imm, "add.s32 %d, %a, -7", "44", I, 0, x - 7) \
	OP(add_s64, "add.s64 %d, %a, %b", "888", I, 0, x + y) \
	OP(add_sat, "add.sat.s32 %d, %a, %b", "444", I, 0, (u64)clamp32((s64)(s32)x + (s32)y)) \
	OP(mad24_hi_sat, "mad24.hi.sat.s32 %d, %a, %b, %c", "4444", I, 0, \
		(u64)clamp32((s64)(s32)(u32)(s24(x) * s24(y) >> 16) + (s32)z)) \
	OP(min_relu_s16x2, "min.relu.s16x2 %d, %a, %b", "444", I, 0, relu16((s16)x < (s16)y ? (s16)x : (s16)y) \
		| relu16((s16)(x >> 16) < (s16)(y >> 16) ? (s16)(x >> 16) : (s16)(y >> 16)) << 16) \
	OP(max_relu_s16x2, "max.relu.s16x2 %d, %a, %b", "444", I, 0, relu16((s16)x > (s16)y ? (s16)x : (s16)y) \
		| relu16((s16)(x >> 16) > (s16)(y >> 16) ? (s16)(x >> 16) : (s16)(y >> 16)) << 16) \
	OP(fns, "fns.b32 %d, %a, %b, %c", "4444", I, 0, nth_bit(x & 0xffffffff, y & 0xffffffff, (s32)z)) \
	OP(szext_wrap_u32, "szext.wrap.u32 %d, %a, %b", "444", I, 0, bit_field(x, 0, y & 31, 32, false)) \
	OP(szext_wrap_s32, "szext.wrap.s32 %d, %a, %b", "444", I, 0, bit_field(x, 0, y & 31, 32, true)) \
	OP(lop3_and, "setp.ne.b32 %q, %c, 0; lop3.and.b32 %t|%p, %a, %b, %c, 0x96, !%q; selp.b32 %d, 1, 0, %p; add.s32 %d, %d, %t", \
		"4444", I, 0, logic3(x, y, z, 0x96) + (logic3(x, y, z, 0x96) && !z)) \
	OP(lop3_or, "setp.ne.b32 %q, %c, 0; lop3.or.b32 _|%p, %a, %b, %c, 0x1a, %q; selp.b32 %d, 1, 0, %p", "4444", I, 0, \
		logic3(x, y, z, 0x1a) || z) \
	OP(cvt_pack_u16, "cvt.pack.sat.u16.s32 %d, %a, %b", "444", I, 0, packed((s32)x, (s32)y, 0, 16, 0, 65535)) \
	OP(cvt_pack_s16, "cvt.pack.sat.s16.s32 %d, %a, %b", "444", I, 0, packed((s32)x, (s32)y, 0, 16, -32768, 32767)) \
	OP(cvt_pack_u8, "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 8, 0, 255)) \
	OP(cvt_pack_s8, "cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 8, -128, 127)) \
	OP(cvt_pack_u4, "cvt.pack.sat.u4.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 4, 0, 15)) \
	OP(cvt_pack_s4, "cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 4, -8, 7)) \
	OP(cvt_pack_u2, "cvt.pack.sat.u2.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 2, 0, 3)) \
	OP(cvt_pack_s2, "cvt.pack.sat.s2.s32.b32 %d, %a, %b, %c", "4444", I, 0, packed((s32)x, (s32)y, z, 2, -2, 1)) \
	OP(sub_u16, "sub.u16 %d, %a, %b", "222", I, 0, x - y) \
	OP(sub_s32, "sub.s32 %d, %a, %b", "444", I, 0, x - y) \
	OP(sub_u64, "sub.u64 %d, %a, %b", "888", I, 0, x - y) \
	OP(sub_sat, "sub.sat.s32 %d, %a, %b", "444", I, 0, (u64)clamp32((s64)(s32)x - (s32)y)) \
	OP(mul_lo_s16, "mul.lo.s16 %d, %a, %b", "222", I, 0, x * y) \
	OP(mul_lo_s32, "mul.lo.s32 %d, %a, %b", "444", I, 0, x * y) \
	OP(mul_lo_u64, "mul.lo.u64 %d, %a, %b", "888", I, 0, x * y) \
	OP(mul_hi_u16, "mul.hi.u16 %d, %a, %b", "222", I, 0, x * y >> 16) \
	OP(mul_hi_s16, "mul.hi.s16 %d, %a, %b", "222", I, 0, (u64)((s16)x * (s16)y >> 16)) \
	OP(mul_hi_u32, "mul.hi.u32 %d, %a, %b", "444", I, 0, x * y >> 32) \
	OP(mul_hi_s32, "mul.hi.s32 %d, %a, %b", "444", I, 0, (u64)((s64)(s32)x * (s32)y >> 32)) \
	OP(mul_hi_u64, "mul.hi.u64 %d, %a, %b", "888", I, 0, (u64)((u128)x * y >> 64)) \
	OP(mul_hi_s64, "mul.hi.s64 %d, %a, %b", "888", I, 0, (u64)((s128)(s64)x * (s64)y >> 64)) \
	OP(mul_wide_u16, "mul.wide.u16 %d, %a, %b", "422", I, 0, x * y) \
	OP(mul_wide_s16, "mul.wide.s16 %d, %a, %b", "422", I, 0, (u64)((s16)x * (s16)y)) \
	OP(mul_wide_u32, "mul.wide.u32 %d, %a, %b", "844", I, 0, x * y) \
	OP(mul_wide_s32, "mul.wide.s32 %d, %a, %b", "844", I, 0, (u64)((s64)(s32)x * (s32)y)) \
	OP(mad_lo_u16, "mad.lo.u16 %d, %a, %b, %c", "2222", I, 0, x * y + z) \
	OP(mad_lo_s32, "mad.lo.s32 %d, %a, %b, %c", "4444", I, 0, x * y + z) \
	OP(mad_lo_s64, "mad.lo.s64 %d, %a, %b, %c", "8888", I, 0, x * y + z) \
	OP(mad_hi_u32, "mad.hi.u32 %d, %a, %b, %c", "4444", I, 0, (x * y >> 32) + z) \
	OP(mad_hi_s32, "mad.hi.s32 %d, %a, %b, %c", "4444", I, 0, (u64)((s64)(s32)x * (s32)y >> 32) + z) \
	OP(mad_hi_sat, "mad.hi.sat.s32 %d, %a, %b, %c", "4444", I, 0, (u64)clamp32(((s64)(s32)x * (s32)y >> 32) + (s32)z)) \
	OP(mad_hi_u64, "mad.hi.u64 %d, %a, %b, %c", "8888", I, 0, (u64)((u128)x * y >> 64) + z) \
	OP(mad_hi_s64, "mad.hi.s64 %d, %a, %b, %c", "8888", I, 0, (u64)((s128)(s64)x * (s64)y >> 64) + z) \
	OP(mad_wide_u16, "mad.wide.u16 %d, %a, %b, %c", "4224", I, 0, x * y + z) \
	OP(mad_wide_s32, "mad.wide.s32 %d, %a, %b, %c", "8448", I, 0, (u64)((s64)(s32)x * (s32)y) + z) \
	OP(mad_wide_u32, "mad.wide.u32 %d, %a, %b, %c", "8448", I, 0, x * y + z) \
	OP(mul24_lo_u, "mul24.lo.u32 %d, %a, %b", "444", I, 0, (x & 0xffffff) * (y & 0xffffff)) \
	OP(mul24_lo_s, "mul24.lo.s32 %d, %a, %b", "444", I, 0, (u64)(s24(x) * s24(y))) \
	OP(mul24_hi_u, "mul24.hi.u32 %d, %a, %b", "444", I, 0, (x & 0xffffff) * (y & 0xffffff) >> 16) \
	OP(mul24_hi_s, "mul24.hi.s32 %d, %a, %b", "444", I, 0, (u64)(s24(x) * s24(y) >> 16)) \
	OP(mad24_lo_s, "mad24.lo.s32 %d, %a, %b, %c", "4444", I, 0, (u64)(s24(x) * s24(y)) + z) \
	OP(mad24_hi_u, "mad24.hi.u32 %d, %a, %b, %c", "4444", I, 0, ((x & 0xffffff) * (y & 0xffffff) >> 16) + z) \
	OP(div_u16, "div.u16 %d, %a, %b", "222", I, 0, y ? x / y : 0xffff) \
	OP(div_s16, "div.s16 %d, %a, %b", "222", I, 0, y ? (u64)((s16)x / (s16)y) : ~0ull) \
	OP(div_u32, "div.u32 %d, %a, %b", "444", I, 0, y ? x / y : ~0ull) \
	OP(div_s32, "div.s32 %d, %a, %b", "444", I, 0, y ? (u64)((s64)(s32)x / (s32)y) : ~0ull) \
	OP(div_u64, "div.u64 %d, %a, %b", "888", I, 0, y ? x / y : ~0ull) \
	OP(div_s64, "div.s64 %d, %a, %b", "888", I, 0, y ? (u64)((s128)(s64)x / (s64)y) : ~0ull) \
	OP(rem_u16, "rem.u16 %d, %a, %b", "222", I, 0, y ? x % y : ~0ull) \
	OP(rem_s16, "rem.s16 %d, %a, %b", "222", I, 0, y ? (u64)((s16)x % (s16)y) : ~0ull) \
	OP(rem_u32, "rem.u32 %d, %a, %b", "444", I, 0, y ? x % y : ~0ull) \
	OP(rem_s32, "rem.s32 %d, %a, %b", "444", I, 0, y ? (u64)((s64)(s32)x % (s32)y) : ~0ull) \
	OP(rem_u64, "rem.u64 %d, %a, %b", "888", I, 0, y ? x % y : ~0ull) \
	OP(rem_s64, "rem.s64 %d, %a, %b", "888", I, 0, y ? (u64)((s128)(s64)x % (s64)y) : ~0ull) \
	OP(min_u16, "min.u16 %d, %a, %b", "222", I, 0, x < y ? x : y) \
	OP(min_s16, "min.s16 %d, %a, %b", "222", I, 0, (s16)x < (s16)y ? x : y) \
	OP(min_u32, "min.u32 %d, %a, %b", "444", I, 0, x < y ? x : y) \
	OP(min_s32, "min.s32 %d, %a, %b", "444", I, 0, (s32)x < (s32)y ? x : y) \
	OP(max_u64, "max.u64 %d, %a, %b", "888", I, 0, x > y ? x : y) \
	OP(max_s64, "max.s64 %d, %a, %b", "888", I, 0, (s64)x > (s64)y ? x : y) \
	OP(max_s16x2, "max.s16x2 %d, %a, %b", "444", I, 0, pair((s16)x > (s16)y ? x : y, \
		((s16)(x >> 16) > (s16)(y >> 16) ? x : y) >> 16)) \
	OP(min_u16x2, "min.u16x2 %d, %a, %b", "444", I, 0, pair((u16)x < (u16)y ? x : y, \
		((u16)(x >> 16) < (u16)(y >> 16) ? x : y) >> 16)) \
	OP(add_u16x2, "add.u16x2 %d, %a, %b", "444", I, 0, pair(x + y, (x >> 16) + (y >> 16))) \
	OP(abs_s16, "abs.s16 %d, %a", "22", I, 0, (s16)x < 0 ? -x : x) \
	OP(abs_s32, "abs.s32 %d, %a", "44", I, 0, (s32)x < 0 ? -x : x) \
	OP(abs_s64, "abs.s64 %d, %a", "88", I, 0, (s64)x < 0 ? -x : x) \
	OP(neg_s32, "neg.s32 %d, %a", "44", I, 0, -x) \
	OP(neg_s64, "neg.s64 %d, %a", "88", I, 0, -x) \
	OP(sad_u32, "sad.u32 %d, %a, %b, %c", "4444", I, 0, z + (x < y ? y - x : x - y)) \
	OP(sad_s32, "sad.s32 %d, %a, %b, %c", "4444", I, 0, z + (u64)llabs((s64)(s32)x - (s32)y)) \
	OP(and_b16, "and.b16 %d, %a, %b", "222", I, 0, x & y) \
	OP(and_b32, "and.b32 %d, %a, %b", "444", I, 0, x & y) \
	OP(or_b64, "or.b64 %d, %a, %b", "888", I, 0, x | y) \
	OP(xor_b32, "xor.b32 %d, %a, %b", "444", I, 0, x ^ y) \
	OP(not_b64, "not.b64 %d, %a", "88", I, 0, ~x) \
	OP(cnot_b32, "cnot.b32 %d, %a", "44", I, 0, !x) \
	OP(shl_b16, "shl.b16 %d, %a, %b", "224", I, 0, y > 15 ? 0 : x << y) \
	OP(shl_b32, "shl.b32 %d, %a, %b", "444", I, 0, y > 31 ? 0 : x << y) \
	OP(shl_b64, "shl.b64 %d, %a, %b", "884", I, 0, y > 63 ? 0 : x << y) \
	OP(shr_u32, "shr.u32 %d, %a, %b", "444", I, 0, y > 31 ? 0 : x >> y) \
	OP(shr_s32, "shr.s32 %d, %a, %b", "444", I, 0, (u64)((s64)(s32)x >> (y > 31 ? 31 : y))) \
	OP(shr_s16, "shr.s16 %d, %a, %b", "224", I, 0, (u64)((s16)x >> (y > 15 ? 15 : y))) \
	OP(shr_u64, "shr.u64 %d, %a, %b", "884", I, 0, y > 63 ? 0 : x >> y) \
	OP(shr_s64, "shr.s64 %d, %a, %b", "884", I, 0, (u64)((s64)x >> (y > 63 ? 63 : y))) \
	OP(shf_l_wrap, "shf.l.wrap.b32 %d, %a, %b, %c", "4444", I, 0, (u64)((u128)(y << 32 | x) << (z & 31) >> 32)) \
	OP(shf_l_clamp, "shf.l.clamp.b32 %d, %a, %b, %c", "4444", I, 0, (u64)((u128)(y << 32 | x) << (z > 32 ? 32 : z) >> 32)) \
	OP(shf_r_wrap, "shf.r.wrap.b32 %d, %a, %b, %c", "4444", I, 0, (y << 32 | x) >> (z & 31)) \
	OP(shf_r_clamp, "shf.r.clamp.b32 %d, %a, %b, %c", "4444", I, 0, (y << 32 | x) >> (z > 32 ? 32 : z)) \
	OP(bfe_u32, "bfe.u32 %d, %a, %b, %c", "4444", I, 0, bit_field(x, y, z, 32, false)) \
	OP(bfe_s32, "bfe.s32 %d, %a, %b, %c", "4444", I, 0, bit_field(x, y, z, 32, true)) \
	OP(bfe_u64, "bfe.u64 %d, %a, %b, %c", "8844", I, 0, bit_field(x, y, z, 64, false)) \
	OP(bfe_s64, "bfe.s64 %d, %a, %b, %c", "8844", I, 0, bit_field(x, y, z, 64, true)) \
	OP(bfi_b32, "bfi.b32 %d, %a, %b, %c, 5", "4444", I, 0, bit_insert(x, y, z, 5, 32)) \
	OP(bfi_b64, "bfi.b64 %d, %a, %b, %c, 40", "8884", I, 0, bit_insert(x, y, z, 40, 64)) \
	OP(bfind_u32, "bfind.u32 %d, %a", "44", I, 0, highest(x, 32)) \
	OP(bfind_s32, "bfind.s32 %d, %a", "44", I, 0, highest((s32)x < 0 ? ~x : x, 32)) \
	OP(bfind_u64, "bfind.u64 %d, %a", "48", I, 0, highest(x, 64)) \
	OP(bfind_shift, "bfind.shiftamt.u32 %d, %a", "44", I, 0, x ? 31 - highest(x, 32) : ~0ull) \
	OP(brev_b32, "brev.b32 %d, %a", "44", I, 0, reversed(x, 32)) \
	OP(brev_b64, "brev.b64 %d, %a", "88", I, 0, reversed(x, 64)) \
	OP(popc_b32, "popc.b32 %d, %a", "44", I, 0, (u64)__builtin_popcountll(x)) \
	OP(popc_b64, "popc.b64 %d, %a", "48", I, 0, (u64)__builtin_popcountll(x)) \
	OP(clz_b32, "clz.b32 %d, %a", "44", I, 0, x ? 31 - highest(x, 32) : 32) \
	OP(clz_b64, "clz.b64 %d, %a", "48", I, 0, x ? 63 - highest(x, 64) : 64) \
	OP(lop3_96, "lop3.b32 %d, %a, %b, %c, 0x96", "4444", I, 0, logic3(x, y, z, 0x96)) \
	OP(lop3_1b, "lop3.b32 %d, %a, %b, %c, 0x1b", "4444", I, 0, logic3(x, y, z, 0x1b)) \
	OP(prmt, "prmt.b32 %d, %a, %b, %c", "4444", I, 0, bytes_picked(x, y, z)) \
	OP(prmt_sign, "prmt.b32 %d, %a, %b, 0xbf92", "444", I, 0, bytes_picked(x, y, 0xbf92)) \
	OP(dp4a_ss, "dp4a.s32.s32 %d, %a, %b, %c", "4444", I, 0, dot4(x, y, z, true, true)) \
	OP(dp4a_us, "dp4a.u32.s32 %d, %a, %b, %c", "4444", I, 0, dot4(x, y, z, false, true)) \
	OP(dp4a_uu, "dp4a.u32.u32 %d, %a, %b, %c", "4444", I, 0, dot4(x, y, z, false, false)) \
	OP(dp2a_lo, "dp2a.lo.s32.s32 %d, %a, %b, %c", "4444", I, 0, dot2(x, y, z, true, true, 0)) \
	OP(dp2a_hi, "dp2a.hi.u32.u32 %d, %a, %b, %c", "4444", I, 0, dot2(x, y, z, false, false, 2)) \
	OP(setp_lt_s32, "setp.lt.s32 %p, %a, %b", "p44", I, 0, (s32)x < (s32)y) \
	OP(setp_lt_u32, "setp.lt.u32 %p, %a, %b", "p44", I, 0, x < y) \
	OP(setp_hi_u32, "setp.hi.u32 %p, %a, %b", "p44", I, 0, x > y) \
	OP(setp_ge_imm, "setp.ge.s32 %p, %a, -1", "p4", I, 0, (s32)x >= -1) \
	OP(setp_eq_b64, "setp.eq.b64 %p, %a, %b", "p88", I, 0, x == y) \
	OP(setp_le_s64, "setp.le.s64 %p, %a, %b", "p88", I, 0, (s64)x <= (s64)y) \
	OP(setp_gt_u64, "setp.gt.u64 %p, %a, %b", "p88", I, 0, x > y) \
	OP(setp_ne_s16, "setp.ne.s16 %p, %a, %b", "p22", I, 0, x != y) \
	OP(setp_gt_s16, "setp.gt.s16 %p, %a, %b", "p22", I, 0, (s16)x > (s16)y) \
	OP(setp_and, "setp.gt.s32 %q, %a, 3;\n\tsetp.lt.and.s32 %p, %a, %b, %q", "p44", I, 0, (s32)x < (s32)y && (s32)x > 3) \
	OP(setp_or_not, "setp.gt.s32 %q, %a, 3;\n\tsetp.lt.or.s32 %p, %a, %b, !%q", "p44", I, 0, (s32)x < (s32)y || !((s32)x > 3)) \
	OP(setp_xor, "setp.gt.s32 %q, %a, 3;\n\tsetp.lt.xor.s32 %p, %a, %b, %q", "p44", I, 0, ((s32)x < (s32)y) != ((s32)x > 3)) \
	OP(setp_second, "setp.lt.s32 %q|%p, %a, %b", "p44", I, 0, !((s32)x < (s32)y)) \
	OP(set_u32, "set.lt.u32.s32 %d, %a, %b", "444", I, 0, (s32)x < (s32)y ? 0xffffffff : 0) \
	OP(set_f32, "set.ge.f32.u32 %d, %a, %b", "444", I, 0, x >= y ? 0x3f800000 : 0) \
	OP(selp_b32, "setp.gt.u32 %q, %c, 31;\n\tselp.b32 %d, %a, %b, %q", "4444", I, 0, z > 31 ? x : y) \
	OP(selp_b64, "setp.gt.u32 %q, %c, 31;\n\tselp.b64 %d, %a, %b, %q", "8884", I, 0, z > 31 ? x : y) \
	OP(slct, "slct.u32.s32 %d, %a, %b, %c", "4444", I, 0, (s32)z >= 0 ? x : y) \
	OP(predicates, "setp.gt.u32 %q, %a, 5;\n\tsetp.gt.u32 %p, %b, 5;\n\txor.pred %p, %p, %q;\n\tnot.pred %p, %p", "p44", I, 0, \
		!((x > 5) ^ (y > 5))) \
	OP(add_cc, "add.cc.u32 %s, %a, %b;\n\taddc.u32 %d, %c, 0", "4444", I, 0, z + ((x + y) >> 32)) \
	OP(add_cc_64, "add.cc.u64 %w, %a, %b;\n\taddc.u64 %d, %c, %c", "8888", I, 0, z + z + (u64)(((u128)x + y) >> 64)) \
	OP(sub_cc, "sub.cc.u32 %s, %a, %b;\n\tsubc.u32 %d, %c, 0", "4444", I, 0, z - (x < y)) \
	OP(addc_cc, "add.cc.u32 %s, %a, %b;\n\taddc.cc.u32 %s, %s, %c;\n\taddc.u32 %d, 0, 0", "4444", I, 0, \
		((u64)(u32)(x + y) + z + ((x + y) >> 32)) >> 32) \
	OP(mad_cc, "mad.lo.cc.u32 %s, %a, %b, %c;\n\tmadc.hi.u32 %d, %a, %b, 0", "4444", I, 0, (x * y + z) >> 32) \
	OP(mov_pack, "mov.b64 %d, {%a, %b}", "844", I, 0, x | y << 32) \
	OP(mov_unpack, "mov.b64 {%s, %d}, %a", "48", I, 0, x >> 32) \
	OP(mov_pack16, "mov.b32 %d, {%a, %b}", "422", I, 0, x | y << 16) \
	OP(mov_unpack16, "mov.b32 {%d, %h}, %a", "24", I, 0, x) \
	OP(mov_pack4, "mov.b64 %d, {%a, %b, %a, %b}", "822", I, 0, x | y << 16 | x << 32 | y << 48) \
	OP(cvt_u64_u32, "cvt.u64.u32 %d, %a", "84", I, 0, x) \
	OP(cvt_s64_s32, "cvt.s64.s32 %d, %a", "84", I, 0, (u64)(s64)(s32)x) \
	OP(cvt_u64_s32, "cvt.u64.s32 %d, %a", "84", I, 0, (u64)(s64)(s32)x) \
	OP(cvt_u32_u64, "cvt.u32.u64 %d, %a", "48", I, 0, x) \
	OP(cvt_s32_s8, "cvt.s32.s8 %d, %a", "44", I, 0, (u64)(s8)x) \
	OP(cvt_u16_u8, "cvt.u16.u8 %d, %a", "22", I, 0, (u8)x) \
	OP(cvt_s8_wide, "cvt.s8.s32 %d, %a", "44", I, 0, (u64)(s64)(s8)x) \
	OP(cvt_s64_s16, "cvt.s64.s16 %d, %a", "82", I, 0, (u64)(s64)(s16)x) \
	OP(cvt_sat_u8, "cvt.sat.u8.s32 %d, %a", "44", I, 0, (s32)x < 0 ? 0 : x > 255 ? 255 : x) \
	OP(cvt_sat_s16, "cvt.sat.s16.s32 %d, %a", "24", I, 0, (u64)((s32)x < -32768 ? -32768 : (s32)x > 32767 ? 32767 : (s32)x)) \
	OP(cvt_sat_u32_s64, "cvt.sat.u32.s64 %d, %a", "48", I, 0, (s64)x < 0 ? 0 : x > 0xffffffff ? 0xffffffff : x) \
	OP(cvt_f32_s32, "cvt.rn.f32.s32 %d, %a", "44", I, 0, f_bits((float)(s32)x)) \
	OP(cvt_f32_u32, "cvt.rn.f32.u32 %d, %a", "44", I, 0, f_bits((float)(u32)x)) \
	OP(cvt_f32_s32_rz, "cvt.rz.f32.s32 %d, %a", "44", I, 0, f_bits(convert_mode(FE_TOWARDZERO, (s32)x))) \
	OP(cvt_f32_u32_rp, "cvt.rp.f32.u32 %d, %a", "44", I, 0, f_bits(convert_mode(FE_UPWARD, (u32)x))) \
	OP(cvt_f32_s64, "cvt.rn.f32.s64 %d, %a", "48", I, 0, f_bits((float)(s64)x)) \
	OP(cvt_f32_u64, "cvt.rn.f32.u64 %d, %a", "48", I, 0, f_bits((float)x)) \
	OP(cvt_f64_s64, "cvt.rn.f64.s64 %d, %a", "88", I, 0, d_bits((double)(s64)x)) \
	OP(cvt_f64_u64, "cvt.rn.f64.u64 %d, %a", "88", I, 0, d_bits((double)x)) \
	OP(cvt_f64_s32, "cvt.rn.f64.s32 %d, %a", "84", I, 0, d_bits((s32)x)) \
	OP(cvt_f16_s32, "cvt.rn.f16.s32 %d, %a", "24", I, 0, h_bits((s32)x)) \
	OP(cvt_f16_u16, "cvt.rn.f16.u16 %d, %a", "22", I, 0, h_bits((u16)x)) \
	OP(cvt_f16_s64, "cvt.rn.f16.s64 %d, %a", "28", I, 0, h_bits(Q(s64)x)) \
	OP(cvt_bf16_u64, "cvt.rn.bf16.u64 %d, %a", "28", I, 0, b_bits(Q x))

#define FLOAT_LIST(OP) \
	OP(add_f32, "add.f32 %d, %a, %b", "444", FS, 0, f_bits(F(x) + F(y))) \
	OP(add_f32_imm, "add.f32 %d, %a, 0f3F800000", "44", FS, 0, f_bits(F(x) + 1)) \
	OP(add_f32_rz, "add.rz.f32 %d, %a, %b", "444", FS, 0, f_bits(in_mode(FE_TOWARDZERO, '+', F(x), F(y), 0))) \
	OP(add_f32_rm, "add.rm.f32 %d, %a, %b", "444", FS, 0, f_bits(in_mode(FE_DOWNWARD, '+', F(x), F(y), 0))) \
	OP(sub_f32_rp, "sub.rp.f32 %d, %a, %b", "444", FS, 0, f_bits(in_mode(FE_UPWARD, '-', F(x), F(y), 0))) \
	OP(add_f32_ftz, "add.ftz.f32 %d, %a, %b", "444", FS, 0, f_bits(flushed(flushed(F(x)) + flushed(F(y))))) \
	OP(add_f32_sat, "add.sat.f32 %d, %a, %b", "444", FS, 0, f_bits(sat(F(x) + F(y)))) \
	OP(mul_f32, "mul.f32 %d, %a, %b", "444", FS, 0, f_bits(F(x) * F(y))) \
	OP(mul_f32_rp, "mul.rp.f32 %d, %a, %b", "444", FS, 0, f_bits(in_mode(FE_UPWARD, '*', F(x), F(y), 0))) \
	OP(mul_f32_ftz, "mul.ftz.f32 %d, %a, %b", "444", FS, 0, f_bits(flushed_product(flushed(F(x)), flushed(F(y))))) \
	OP(fma_f32, "fma.rn.f32 %d, %a, %b, %c", "4444", FS, 0, f_bits(fmaf(F(x), F(y), F(z)))) \
	OP(fma_f32_rz, "fma.rz.f32 %d, %a, %b, %c", "4444", FS, 0, f_bits(in_mode(FE_TOWARDZERO, 'f', F(x), F(y), F(z)))) \
	OP(fma_f32_rm, "fma.rm.f32 %d, %a, %b, %c", "4444", FS, 0, f_bits(in_mode(FE_DOWNWARD, 'f', F(x), F(y), F(z)))) \
	OP(div_f32, "div.rn.f32 %d, %a, %b", "444", FS, 0, f_bits(F(x) / F(y))) \
	OP(div_f32_rz, "div.rz.f32 %d, %a, %b", "444", FS, 0, f_bits(in_mode(FE_TOWARDZERO, '/', F(x), F(y), 0))) \
	OP(div_full, "div.full.f32 %d, %a, %b", "444", FS, 2, f_bits(F(x) / F(y))) \
	OP(rcp_f32, "rcp.rn.f32 %d, %a", "44", FS, 0, f_bits(1 / F(x))) \
	OP(rcp_approx, "rcp.approx.ftz.f32 %d, %a", "44", FS, 1, f_bits(flushed(1 / flushed(F(x))))) \
	OP(sqrt_f32, "sqrt.rn.f32 %d, %a", "44", FS, 0, f_bits(sqrtf(F(x)))) \
	OP(sqrt_f32_rm, "sqrt.rm.f32 %d, %a", "44", FS, 0, f_bits(in_mode(FE_DOWNWARD, 's', F(x), 0, 0))) \
	OP(rsqrt_f32, "rsqrt.approx.f32 %d, %a", "44", FS, 1, f_bits((float)(1 / sqrt(F(x))))) \
	OP(ex2_f32, "ex2.approx.f32 %d, %a", "44", FS, 1, f_bits(exp2f(F(x)))) \
	OP(ex2_f32_ftz, "ex2.approx.ftz.f32 %d, %a", "44", FS, 1, f_bits(flushed(exp2f(flushed(F(x)))))) \
	OP(lg2_f32, "lg2.approx.f32 %d, %a", "44", FS, 1, f_bits((float)log2(F(x)))) \
	OP(sin_f32, "sin.approx.f32 %d, %a", "44", FM, 2, f_bits((float)sin(F(x)))) \
	OP(cos_f32, "cos.approx.f32 %d, %a", "44", FM, 2, f_bits((float)cos(F(x)))) \
	OP(tanh_f32, "tanh.approx.f32 %d, %a", "44", FS, 2, f_bits((float)tanh(F(x)))) \
	OP(abs_f32, "abs.f32 %d, %a", "44", FS, 0, f_bits(fabsf(F(x)))) \
	OP(neg_f32, "neg.f32 %d, %a", "44", FS, 0, f_bits(-F(x))) \
	OP(neg_f32_ftz, "neg.ftz.f32 %d, %a", "44", FN, 0, f_bits(flushed(-F(x)))) \
	OP(min_f32, "min.f32 %d, %a, %b", "444", FS, 0, f_bits((float)lesser(F(x), F(y)))) \
	OP(max_f32, "max.f32 %d, %a, %b", "444", FS, 0, f_bits((float)greater(F(x), F(y)))) \
	OP(max_f32_ftz, "max.ftz.f32 %d, %a, %b", "444", FS, 0, f_bits((float)greater(flushed(F(x)), flushed(F(y))))) \
	OP(max_nan, "max.NaN.f32 %d, %a, %b", "444", FS, 0, f_bits(isnan(F(x)) || isnan(F(y)) ? NAN : (float)greater(F(x), F(y)))) \
	OP(copysign_f32, "copysign.f32 %d, %a, %b", "444", FS, 0, (x & 0x80000000) | (y & 0x7fffffff)) \
	OP(testp, "testp.subnormal.f32 %p, %a", "p4", FS, 0, fpclassify(F(x)) == FP_SUBNORMAL) \
	OP(testp_number, "testp.number.f32 %p, %a", "p4", FS, 0, !isnan(F(x))) \
	OP(setp_lt_f32, "setp.lt.f32 %p, %a, %b", "p44", FS, 0, F(x) < F(y)) \
	OP(setp_ne_f32, "setp.ne.f32 %p, %a, %b", "p44", FS, 0, F(x) != F(y) && !isnan(F(x)) && !isnan(F(y))) \
	OP(setp_neu_f32, "setp.neu.f32 %p, %a, %b", "p44", FS, 0, F(x) != F(y)) \
	OP(setp_equ_f32, "setp.equ.f32 %p, %a, %b", "p44", FS, 0, F(x) == F(y) || isnan(F(x)) || isnan(F(y))) \
	OP(setp_leu_f32, "setp.leu.f32 %p, %a, %b", "p44", FS, 0, !(F(x) > F(y))) \
	OP(setp_num_f32, "setp.num.f32 %p, %a, %b", "p44", FS, 0, !isnan(F(x)) && !isnan(F(y))) \
	OP(setp_nan_f32, "setp.nan.f32 %p, %a, %b", "p44", FS, 0, isnan(F(x)) || isnan(F(y))) \
	OP(setp_ftz, "setp.gt.ftz.f32 %p, %a, %b", "p44", FS, 0, flushed(F(x)) > flushed(F(y))) \
	OP(set_f32_cmp, "set.gtu.u32.f32 %d, %a, %b", "444", FS, 0, !(F(x) <= F(y)) ? 0xffffffff : 0) \
	OP(slct_f32, "slct.b32.f32 %d, %a, %b, %c", "4444", FS, 0, F(z) >= 0 ? x : y) \
	OP(cvt_s32_f32, "cvt.rzi.s32.f32 %d, %a", "44", FS, 0, to_int(trunc(F(x)), 32, true, false)) \
	OP(cvt_s32_f32_rni, "cvt.rni.s32.f32 %d, %a", "44", FS, 0, to_int(rint(F(x)), 32, true, false)) \
	OP(cvt_s32_f32_rmi, "cvt.rmi.s32.f32 %d, %a", "44", FS, 0, to_int(floor(F(x)), 32, true, false)) \
	OP(cvt_u32_f32, "cvt.rzi.u32.f32 %d, %a", "44", FS, 0, to_int(trunc(F(x)), 32, false, false)) \
	OP(cvt_u8_f32, "cvt.rzi.u8.f32 %d, %a", "44", FS, 0, to_int(trunc(F(x)), 8, false, false)) \
	OP(cvt_s64_f32, "cvt.rpi.s64.f32 %d, %a", "84", FS, 0, to_int(ceil(F(x)), 64, true, true)) \
	OP(cvt_u64_f32, "cvt.rzi.u64.f32 %d, %a", "84", FS, 0, to_int(trunc(F(x)), 64, false, true)) \
	OP(cvt_f32_rni, "cvt.rni.f32.f32 %d, %a", "44", FS, 0, f_bits(rintf(F(x)))) \
	OP(cvt_f32_rzi, "cvt.rzi.f32.f32 %d, %a", "44", FS, 0, f_bits(truncf(F(x)))) \
	OP(cvt_f32_sat, "cvt.sat.f32.f32 %d, %a", "44", FS, 0, f_bits(sat(F(x)))) \
	OP(cvt_f64_f32, "cvt.f64.f32 %d, %a", "84", FS, 0, d_bits(F(x))) \
	OP(cvt_f16_f32, "cvt.rn.f16.f32 %d, %a", "24", FS, 0, h_bits(F(x))) \
	OP(cvt_bf16_f32, "cvt.rn.bf16.f32 %d, %a", "24", FS, 0, b_bits(F(x))) \
	OP(cvt_bf16_rz, "cvt.rz.bf16.f32 %d, %a", "24", FS, 0, isnan(F(x)) ? 0x7fff : x >> 16) \
	OP(cvt_f16x2, "cvt.rn.f16x2.f32 %d, %a, %b", "444", FS, 0, pair(h_bits(F(y)), h_bits(F(x)))) \
	OP(cvt_bf16x2, "cvt.rn.bf16x2.f32 %d, %a, %b", "444", FS, 0, pair(b_bits(F(y)), b_bits(F(x)))) \
	OP(cvt_relu, "cvt.rn.relu.f16x2.f32 %d, %a, %b", "444", FS, 0, pair(h_bits(F(y) <= 0 ? 0 : F(y)), \
		h_bits(F(x) <= 0 ? 0 : F(x)))) \
	OP(cvt_tf32, "cvt.rna.tf32.f32 %d, %a", "44", FN, 0, (x + 0x1000) & 0xffffe000)

#define DOUBLE_LIST(OP) \
	OP(add_f64, "add.f64 %d, %a, %b", "888", DS, 0, d_bits(D(x) + D(y))) \
	OP(sub_f64, "sub.f64 %d, %a, %b", "888", DS, 0, d_bits(D(x) - D(y))) \
	OP(mul_f64_rm, "mul.rm.f64 %d, %a, %b", "888", DS, 0, d_bits(in_mode_d(FE_DOWNWARD, '*', D(x), D(y), 0))) \
	OP(div_f64, "div.rn.f64 %d, %a, %b", "888", DS, 0, d_bits(D(x) / D(y))) \
	OP(div_f64_rp, "div.rp.f64 %d, %a, %b", "888", DS, 0, d_bits(in_mode_d(FE_UPWARD, '/', D(x), D(y), 0))) \
	OP(fma_f64, "fma.rn.f64 %d, %a, %b, %c", "8888", DS, 0, d_bits(fma(D(x), D(y), D(z)))) \
	OP(fma_f64_rz, "fma.rz.f64 %d, %a, %b, %c", "8888", DS, 0, d_bits(in_mode_d(FE_TOWARDZERO, 'f', D(x), D(y), D(z)))) \
	OP(sqrt_f64, "sqrt.rn.f64 %d, %a", "88", DS, 0, d_bits(sqrt(D(x)))) \
	OP(rcp_f64, "rcp.rn.f64 %d, %a", "88", DS, 0, d_bits(1 / D(x))) \
	OP(abs_f64, "abs.f64 %d, %a", "88", DS, 0, x & ~(1ull << 63)) \
	OP(neg_f64, "neg.f64 %d, %a", "88", DS, 0, isnan(D(x)) ? x : x ^ 1ull << 63) \
	OP(min_f64, "min.f64 %d, %a, %b", "888", DS, 0, d_bits(lesser(D(x), D(y)))) \
	OP(max_f64, "max.f64 %d, %a, %b", "888", DS, 0, d_bits(greater(D(x), D(y)))) \
	OP(setp_lt_f64, "setp.lt.f64 %p, %a, %b", "p88", DS, 0, D(x) < D(y)) \
	OP(setp_geu_f64, "setp.geu.f64 %p, %a, %b", "p88", DS, 0, !(D(x) < D(y))) \
	OP(cvt_f32_f64, "cvt.rn.f32.f64 %d, %a", "48", DS, 0, isnan(D(x)) ? 0x7fc00000 : f_bits((float)D(x))) \
	OP(cvt_f32_f64_rp, "cvt.rp.f32.f64 %d, %a", "48", DS, 0, isnan(D(x)) ? 0x7fc00000 : f_bits(convert_mode(FE_UPWARD, D(x)))) \
	OP(cvt_f16_f64, "cvt.rn.f16.f64 %d, %a", "28", DS, 0, isnan(D(x)) ? 0x7e00 : h_bits(D(x))) \
	OP(cvt_s32_f64, "cvt.rzi.s32.f64 %d, %a", "48", DS, 0, to_int(trunc(D(x)), 32, true, true)) \
	OP(cvt_u64_f64, "cvt.rni.u64.f64 %d, %a", "88", DS, 0, to_int(rint(D(x)), 64, false, true)) \
	OP(cvt_f64_rmi, "cvt.rmi.f64.f64 %d, %a", "88", DS, 0, d_bits(floor(D(x))))

#define HALF_LIST(OP) \
	OP(add_f16, "add.f16 %d, %a, %b", "222", HS, 0, h_bits(Q H(x) + H(y))) \
	OP(add_f16_ftz, "add.ftz.f16 %d, %a, %b", "222", HS, 0, h_bits(flushed_half(flushed_half(H(x)) + flushed_half(H(y))))) \
	OP(mul_f16x2_ftz, "mul.rn.ftz.sat.f16x2 %d, %a, %b", "444", HS, 0, \
		H2(({ double v = flushed_half(a) * flushed_half(b); flushed_half(v > 0 ? v < 1 ? v : 1 : 0); }))) \
	OP(fma_f16_ftz, "fma.rn.ftz.relu.f16 %d, %a, %b, %c", "2222", HS, 0, \
		({ __float128 v = Q flushed_half(H(x)) * flushed_half(H(y)) + flushed_half(H(z)); \
			h_bits(v <= 0 ? 0 : v < Q 0x1p-14 ? 0 : v); })) \
	OP(neg_f16_ftz, "neg.ftz.f16 %d, %a", "22", HS, 0, h_bits(-flushed_half(H(x)))) \
	OP(abs_f16x2_ftz, "abs.ftz.f16x2 %d, %a", "44", HS, 0, H2(fabs(flushed_half(a)))) \
	OP(min_f16_ftz, "min.ftz.f16 %d, %a, %b", "222", HS, 0, h_bits(lesser(flushed_half(H(x)), flushed_half(H(y))))) \
	OP(max_f16_ftz_nan, "max.ftz.NaN.f16x2 %d, %a, %b", "444", HS, 0, \
		H2(isnan(a) || isnan(b) ? NAN : greater(flushed_half(a), flushed_half(b)))) \
	OP(min_f16_nan_xor, "min.NaN.xorsign.abs.f16 %d, %a, %b", "222", HS, 0, isnan(H(x)) || isnan(H(y)) ? 0x7fff \
		: (h_bits(lesser(fabs(H(x)), fabs(H(y)))) & 0x7fff) | ((x ^ y) & 0x8000)) \
	OP(max_bf16_nan_xor, "max.NaN.xorsign.abs.bf16 %d, %a, %b", "222", BS, 0, isnan(B(x)) || isnan(B(y)) ? 0x7fff \
		: (b_bits(greater(fabs(B(x)), fabs(B(y)))) & 0x7fff) | ((x ^ y) & 0x8000)) \
	OP(set_mask_f16x2, "set.lt.u32.f16x2 %d, %a, %b", "444", HS, 0, pair(H(x) < H(y) ? 0xffff : 0, \
		H(x >> 16) < H(y >> 16) ? 0xffff : 0)) \
	OP(set_mask_bf16x2, "set.neu.s32.bf16x2 %d, %a, %b", "444", BS, 0, pair(!(B(x) == B(y)) ? 0xffff : 0, \
		!(B(x >> 16) == B(y >> 16)) ? 0xffff : 0)) \
	OP(set_f16_f32, "set.ge.f16.f32 %d, %a, %b", "244", FS, 0, F(x) >= F(y) ? 0x3c00 : 0) \
	OP(set_bf16_s64, "set.lt.bf16.s64 %d, %a, %b", "288", I, 0, (s64)x < (s64)y ? 0x3f80 : 0) \
	OP(cvt_f16_finite, "cvt.rn.satfinite.f16.f32 %d, %a", "24", FS, 0, largest(h_bits(F(x)), 0x7c00)) \
	OP(cvt_bf16_finite, "cvt.rn.relu.satfinite.bf16.f32 %d, %a", "24", FS, 0, largest(b_bits(F(x) <= 0 ? 0 : F(x)), 0x7f80)) \
	OP(cvt_f16x2_finite, "cvt.rn.relu.satfinite.f16x2.f32 %d, %a, %b", "444", FS, 0, \
		pair(largest(h_bits(F(y) <= 0 ? 0 : F(y)), 0x7c00), largest(h_bits(F(x) <= 0 ? 0 : F(x)), 0x7c00))) \
	OP(cvt_bf16x2_finite, "cvt.rn.satfinite.bf16x2.f32 %d, %a, %b", "444", FS, 0, \
		pair(largest(b_bits(F(y)), 0x7f80), largest(b_bits(F(x)), 0x7f80))) \
	OP(cvt_f16_bf16, "cvt.rn.f16.bf16 %d, %a", "22", BS, 0, h_bits(B(x))) \
	OP(cvt_bf16_f16, "cvt.rn.bf16.f16 %d, %a", "22", HS, 0, b_bits(H(x))) \
	OP(cvt_bf16_rni, "cvt.rni.bf16.bf16 %d, %a", "22", BS, 0, b_bits(rint(B(x)))) \
	OP(cvt_f64_bf16, "cvt.rn.f64.bf16 %d, %a", "82", HN, 0, d_bits(B(x))) \
	OP(cvt_f32_u32_ftz, "cvt.rz.ftz.f32.u32 %d, %a", "44", I, 0, ({ fesetround(FE_TOWARDZERO); volatile u32 n = (u32)x; \
		volatile float f = (float)n; fesetround(FE_TONEAREST); f_bits(f); })) \
	OP(sub_f16, "sub.rn.f16 %d, %a, %b", "222", HS, 0, h_bits(Q H(x) - H(y))) \
	OP(mul_f16, "mul.f16 %d, %a, %b", "222", HS, 0, h_bits(Q H(x) * H(y))) \
	OP(mul_f16_sat, "mul.sat.f16 %d, %a, %b", "222", HS, 0, ({ double v = H(x) * H(y); h_bits(v > 0 ? v < 1 ? v : 1 : 0); })) \
	OP(fma_f16, "fma.rn.f16 %d, %a, %b, %c", "2222", HS, 0, h_bits(Q H(x) * H(y) + H(z))) \
	OP(fma_f16_relu, "fma.rn.relu.f16 %d, %a, %b, %c", "2222", HS, 0, \
		({ __float128 v = Q H(x) * H(y) + H(z); h_bits(v <= 0 ? 0 : v); })) \
	OP(add_f16x2, "add.rn.f16x2 %d, %a, %b", "444", HS, 0, H2(Q a + b)) \
	OP(fma_f16x2, "fma.rn.f16x2 %d, %a, %b, %c", "4444", HS, 0, H2(Q a * b + c)) \
	OP(min_f16, "min.f16 %d, %a, %b", "222", HS, 0, h_bits(lesser(H(x), H(y)))) \
	OP(max_f16x2_nan, "max.NaN.f16x2 %d, %a, %b", "444", HS, 0, H2(isnan(a) || isnan(b) ? NAN : greater(a, b))) \
	OP(neg_f16x2, "neg.f16x2 %d, %a", "44", HS, 0, H2(-a)) \
	OP(abs_f16, "abs.f16 %d, %a", "22", HS, 0, h_bits(fabs(H(x)))) \
	OP(setp_f16, "setp.lt.f16 %p, %a, %b", "p22", HS, 0, H(x) < H(y)) \
	OP(setp_f16x2, "setp.gt.f16x2 %q|%p, %a, %b", "p44", HS, 0, H(x >> 16) > H(y >> 16)) \
	OP(set_f16x2, "set.ge.f16x2.f16x2 %d, %a, %b", "444", HS, 0, pair(H(x) >= H(y) ? 0x3c00 : 0, \
		H(x >> 16) >= H(y >> 16) ? 0x3c00 : 0)) \
	OP(cvt_f32_f16, "cvt.f32.f16 %d, %a", "42", HS, 0, f_bits((float)H(x))) \
	OP(cvt_f64_f16, "cvt.f64.f16 %d, %a", "82", HN, 0, d_bits(H(x))) \
	OP(cvt_s32_f16, "cvt.rni.s32.f16 %d, %a", "42", HS, 0, to_int(rint(H(x)), 32, true, false)) \
	OP(cvt_f16_rzi, "cvt.rzi.f16.f16 %d, %a", "22", HS, 0, h_bits(trunc(H(x)))) \
	OP(ex2_f16, "ex2.approx.f16 %d, %a", "22", HS, 0, h_bits(exp2(H(x)))) \
	OP(tanh_f16x2, "tanh.approx.f16x2 %d, %a", "44", HS, 0, H2(tanh(a))) \
	OP(add_bf16, "add.rn.bf16 %d, %a, %b", "222", BS, 0, b_bits(Q B(x) + B(y))) \
	OP(mul_bf16, "mul.rn.bf16 %d, %a, %b", "222", BS, 0, b_bits(Q B(x) * B(y))) \
	OP(fma_bf16, "fma.rn.bf16 %d, %a, %b, %c", "2222", BS, 0, b_bits(Q B(x) * B(y) + B(z))) \
	OP(fma_bf16x2, "fma.rn.bf16x2 %d, %a, %b, %c", "4444", BS, 0, B2(Q a * b + c)) \
	OP(max_bf16x2, "max.bf16x2 %d, %a, %b", "444", BS, 0, B2(greater(a, b))) \
	OP(cvt_f32_bf16, "cvt.f32.bf16 %d, %a", "42", BS, 0, x << 16)

#define ALL_LISTS(OP) INT_LIST(OP) FLOAT_LIST(OP) DOUBLE_LIST(OP) HALF_LIST(OP)

#define EXPECT(name, text, sizes, values, ulps, result) \
static u64 \
expect_##name(u64 x, u64 y, u64 z) \
{ \
	(void)x; \
	(void)y; \
	(void)z; \
	return (u64)(result); \
}
ALL_LISTS(EXPECT)

/* ---- edge values */

enum values { I, FS, FM, FN, DS, HS, HN, BS };

static const u64 integers[] = { 0, 1, 2, 3, 5, 7, 15, 16, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000,
	0x12345678, 0x7fffff, 0x800000, 0x7fffffff, 0x80000000, 0x80000001, 0xdeadbeef, 0xfffffffe, 0xffffffff, 0x100000000,
	0x123456789abcdef0, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe, 0xffffffffffffffff };
/* as floats: zeros, ones, ties, denormals, limits, infinities, NaN, values around integer limits */
static const u64 floats[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x3effffff,
	0x3f7fffff, 0x3f800001, 0x3f801000, 0x40490fdb, 0xc2c80000, 0x1, 0x80000001, 0x7fffff, 0x800000, 0x80800000, 0x33800000,
	0x38800000, 0x387fc000, 0x477fe000, 0x477ff000, 0x4b000001, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000,
	0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000 };
static const u64 moderate[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f000000, 0x40490f00, 0x3fc90f00, 0xc2c80000, 0x42c80000,
	0x461c4000, 0x38d1b717, 0x7f800000, 0x7fc00000 };
static const u64 doubles[] = { 0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3fe0000000000000,
	0x4004000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 0x3ff0010000000001, 0x400921fb54442d18, 0x1,
	0x000fffffffffffff, 0x0010000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000200000, 0x43dfffffffffffff,
	0x43e0000000000000, 0x43f0000000000000, 0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000, 0x3690000000000001,
	0x40effc0000000000, 0x40f0000000000000, 0x3e70000000000000, 0x3e60000000000001, 0x7fefffffffffffff, 0x7ff0000000000000,
	0xfff0000000000000, 0x7ff8000000000000 };
static const u64 halves[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x1, 0x8001, 0x3ff, 0x400, 0x401, 0x7bff, 0xfbff, 0x7c00,
	0xfc00, 0x7e00, 0x3555, 0x4248, 0x6bff, 0x1400, 0x1401, 0x0c00, 0x5bff, 0xc500 };
static const u64 bfloats[] = { 0, 0x8000, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x4049, 0x3eab, 0x3b80, 0x3b81, 0x4380, 0x4381, 0xc2c9,
	0x7f80, 0xff80, 0x7fc0, 0x5000, 0x2f01, 0x40e0, 0x4214, 0xa180 };	/* 7 * 37 is a tie, and -2^-60 breaks it */

struct test {
	const char *name, *text, *sizes;
	enum values values;
	u32 ulps;
	u64 (*expect)(u64, u64, u64);
};
#define ROW(name, text, sizes, values, ulps, result) { #name, text, sizes, values, ulps, expect_##name },
static const struct test tests[] = { ALL_LISTS(ROW) };

static const u64 *
value_set(enum values v, size_t *count)
{
	switch (v) {
	case I: *count = sizeof integers / 8; return integers;
	case FS: *count = sizeof floats / 8; return floats;
	case FM: *count = sizeof moderate / 8; return moderate;
	case FN: *count = sizeof floats / 8 - 1; return floats;
	case DS: *count = sizeof doubles / 8; return doubles;
	case HS: *count = sizeof halves / 8; return halves;
	case HN: *count = 13; return halves;
	default: *count = sizeof bfloats / 8; return bfloats;
	}
}

static int
bytes_of(char c)
{
	return c == 'p' ? 4 : c - '0';
}

/* A kernel that loads a, b, c of its thread, executes the text and stores d. */
static void
write_kernel(struct buf *out, const struct test *t)
{
	size_t sources = strlen(t->sizes) - 1;
	int d = bytes_of(t->sizes[0]);
	buf_adds(out, RIG_HEADER ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc)\n{\n"
		"\t.reg .b64 %p0, %i, %o, %w;\n\t.reg .b32 %t, %n, %s;\n\t.reg .b16 %h;\n\t.reg .pred %p, %q;\n");
	buf_addf(out, "\t.reg .b%d %%d;\n", d * 8);
	for (size_t k = 0; k < sources; k++)
		buf_addf(out, "\t.reg .b%d %%%c;\n", bytes_of(t->sizes[k + 1]) * 8, "abc"[k]);
	buf_adds(out, "\tmov.u32 %t, %ctaid.x;\n\tmov.u32 %n, %ntid.x;\n\tmov.u32 %s, %tid.x;\n\tmad.lo.s32 %t, %t, %n, %s;\n"
		"\tmul.wide.u32 %i, %t, 8;\n");
	for (size_t k = 0; k < sources; k++)
		buf_addf(out, "\tld.param.u64 %%p0, [p%c];\n\tadd.s64 %%o, %%p0, %%i;\n\tld.global.b%d %%%c, [%%o];\n", "abc"[k],
			bytes_of(t->sizes[k + 1]) * 8, "abc"[k]);
	buf_addf(out, "\t%s;\n", t->text);
	if (t->sizes[0] == 'p')
		buf_adds(out, "\tselp.b32 %d, 1, 0, %p;\n");
	buf_addf(out, "\tld.param.u64 %%p0, [pd];\n\tadd.s64 %%o, %%p0, %%i;\n\tst.global.b%d [%%o], %%d;\n\tret;\n}\n", d * 8);
}

static bool
is_double_result(const struct test *t)
{
	return t->sizes[0] == '8' && (t->values == DS || strstr(t->text, "f64"));
}

static bool
agrees(const struct test *t, u64 got, u64 expected)
{
	if (got == expected)
		return true;
	if (is_double_result(t) && isnan(D(got)) && isnan(D(expected)))
		return true;
	if (!t->ulps || (expected & 0x7f800000) == 0x7f800000)
		return false;
	if (fabsf(F(got) - F(expected)) < 1e-6f && (strstr(t->text, "sin") || strstr(t->text, "cos")))
		return true;
	return llabs((long long)got - (long long)expected) <= t->ulps;
}

static void
run_one(const struct test *t)
{
	size_t sources = strlen(t->sizes) - 1, n, count = 1;
	const u64 *set = value_set(t->values, &n);
	for (size_t k = 0; k < sources; k++)
		count *= n;
	count = (count + 127) / 128 * 128;
	struct buf text = BUF_INIT;
	struct rig r;
	write_kernel(&text, t);
	rig_open(&r, text.data, text.len, NULL);
	u64 *d = rig_buffer(&r, "d", count * 8, PTX_READ_WRITE, true), *in[3];
	for (int k = 0; k < 3; k++)
		in[k] = rig_buffer(&r, "abc", count * 8, PTX_READ, true);
	for (size_t k = 0; k < count; k++) {
		size_t pick[3] = { k % n, k / n % n, k / n / n % n };
		for (int q = 0; q < 3; q++) {
			u64 v = set[pick[q]];
			int size = q < (int)sources ? bytes_of(t->sizes[q + 1]) : 8;
			if (size == 4 && (t->values == HS || t->values == BS))
				v |= set[(pick[q] * 7 + 3) % n] << 16;
			in[q][k] = size == 8 ? v : v & ((1ull << size * 8) - 1);
		}
		d[k] = 0;
	}
	u64 params[4] = { (u64)(uintptr_t)d, (u64)(uintptr_t)in[0], (u64)(uintptr_t)in[1], (u64)(uintptr_t)in[2] };
	if (rig_run(&r, "k", (u32)(count / 128), 128, params, sizeof params) != PTX_OK)
		fail_msg("%s: %s", t->name, buf_str(&r.err));
	int size = bytes_of(t->sizes[0]);
	u64 all = size == 8 ? ~0ull : (1ull << size * 8) - 1;
	for (size_t k = 0; k < count; k++) {
		u64 expected = t->expect(in[0][k], in[1][k], in[2][k]) & all;
		if (!agrees(t, d[k] & all, expected))
			fail_msg("%s (%s): a %#llx b %#llx c %#llx gives %#llx, expected %#llx", t->name, t->text,
				(unsigned long long)in[0][k], (unsigned long long)in[1][k], (unsigned long long)in[2][k],
				(unsigned long long)d[k], (unsigned long long)expected);
	}
	rig_close(&r);
	buf_release(&text);
}

static void
check_instruction(void **state)
{
	run_one(*state);
}

int
main(void)
{
	enum { COUNT = sizeof tests / sizeof *tests };
	static struct CMUnitTest list[COUNT];
	for (size_t k = 0; k < COUNT; k++)
		list[k] = (struct CMUnitTest){ tests[k].name, check_instruction, NULL, NULL, (void *)(uintptr_t)&tests[k] };
	return cmocka_run_group_tests_name("ptx arithmetic", list, NULL, NULL);
}
