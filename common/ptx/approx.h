/* The approximate functions, computed in double and rounded once: closer than the hardware's error bounds ask,
 * and the same on every machine, since no library function is involved. The loops over them vectorise. */
#ifndef PTX_APPROX_H
#define PTX_APPROX_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
bits_of_double(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, 8);
	return bits;
}

static inline double
double_of_bits(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, 8);
	return v;
}

static inline uint32_t
bits_of_float(float v)
{
	uint32_t bits;
	memcpy(&bits, &v, 4);
	return bits;
}

static inline float
float_of_bits(uint32_t bits)
{
	float v;
	memcpy(&v, &bits, 4);
	return v;
}

/* Adding this to a double leaves its integer part in the low bits. */
#define ROUND_MAGIC 6755399441055744.0

/* 2^x for |x| < 1000: integer part into the exponent, a Taylor series for the rest (|r| <= 1/2: error 3e-13). */
static inline double
exp2_double(double x)
{
	double whole = x + ROUND_MAGIC;
	uint64_t power = bits_of_double(whole) << 52;
	double r = x - (whole - ROUND_MAGIC), p = 7.0549116208011233e-9;
	p = p * r + 1.0178086009239699e-7;
	p = p * r + 1.3215486790144309e-6;
	p = p * r + 1.5252733804059841e-5;
	p = p * r + 1.5403530393381610e-4;
	p = p * r + 0.0013333558146428443;
	p = p * r + 0.0096181291076284772;
	p = p * r + 0.055504108664821580;
	p = p * r + 0.24022650695910072;
	p = p * r + 0.69314718055994531;
	p = p * r + 1.0;
	return p * double_of_bits(power + (1023ull << 52));
}

static inline float
exp2_approx(float x)
{
	double t = x;
	t = t < -200 ? -200 : t;
	t = t > 200 ? 200 : t;
	float r = (float)exp2_double(t);
	return x != x ? float_of_bits(0x7fffffff) : r;
}

/* log2 by atanh: m = (1 + s) / (1 - s), |s| <= 0.172, terms to s^17. */
static inline double
log2_double(double x)
{
	uint64_t bits = bits_of_double(x);
	uint64_t above = (bits & 0xfffffffffffffull) > 0x6a09e667f3bcdull;
	double m = double_of_bits((bits & 0xfffffffffffffull) | (1023ull - above) << 52);
	/* the exponent, as a double, by putting it below the mantissa of 2^52 */
	double e = double_of_bits((bits >> 52) + above + 0x4330000000000000ull) - (4503599627370496.0 + 1023.0);
	double s = (m - 1) / (m + 1), q = s * s, p = 1.0 / 17;
	p = p * q + 1.0 / 15;
	p = p * q + 1.0 / 13;
	p = p * q + 1.0 / 11;
	p = p * q + 1.0 / 9;
	p = p * q + 1.0 / 7;
	p = p * q + 1.0 / 5;
	p = p * q + 1.0 / 3;
	p = p * q + 1.0;
	return e + 2.8853900817779268 * s * p;
}

static inline float
log2_approx(float x)
{
	float r = (float)log2_double(x);
	r = x == 0 ? -INFINITY : r;
	r = x == INFINITY ? INFINITY : r;
	return x < 0 || x != x ? float_of_bits(0x7fffffff) : r;
}

/* sin and cos after reduction by multiples of pi/2 in two parts; good for |x| below 2^26. */
static inline double
sine_double(double x, int quarter)
{
	double whole = x * 0.63661977236758138 + ROUND_MAGIC, k = whole - ROUND_MAGIC;
	double r = (x - k * 1.5707963109016418) - k * 1.5893254712295857e-8, q = r * r;
	uint64_t n = bits_of_double(whole) + (uint64_t)quarter;
	double s = r * (1 + q * (-1.0 / 6 + q * (1.0 / 120 + q * (-1.0 / 5040 + q * (1.0 / 362880 + q * (-1.0 / 39916800
		+ q / 6227020800.0))))));
	double c = 1 + q * (-1.0 / 2 + q * (1.0 / 24 + q * (-1.0 / 720 + q * (1.0 / 40320 + q * (-1.0 / 3628800
		+ q * (1.0 / 479001600.0 - q / 87178291200.0))))));
	double v = n & 1 ? c : s;
	return n & 2 ? -v : v;
}

/* Beyond 2^26 the argument is first taken modulo 2 pi; the hardware is far off there anyway. */
static inline float
sine_approx(float x, int quarter)
{
	double t = x;
	if (!(fabs(t) < 67108864.0))
		t = fabs(t) < INFINITY ? fmod(t, 6.283185307179586477) : NAN;
	float r = (float)sine_double(t, quarter);
	return t != t ? float_of_bits(0x7fffffff) : x == 0 && !quarter ? x : r;
}

static inline float
tanh_approx(float x)
{
	double t = x, q = t * t;
	double small = t * (1 + q * (-1.0 / 3 + q * (2.0 / 15 - q * (17.0 / 315))));
	double c = t > 20 ? 20 : t < -20 ? -20 : t;
	double large = 1 - 2 / (exp2_double(c * 2.8853900817779268) + 1);
	float r = (float)(fabs(t) < 0.01 ? small : large);
	return x != x ? float_of_bits(0x7fffffff) : r;
}

/* ---- single rounding to narrow types: rounding to odd keeps what a second rounding must know */

/* The odd one of the two floats around v, or v itself. */
static inline float
float_odd(double v)
{
	float f = (float)v;
	double back = f;
	uint32_t bits = bits_of_float(f);
	uint32_t even = ~bits & 1, inexact = back != v && v == v;
	uint32_t step = fabs(v) > fabs(back) ? 1 : (uint32_t)-1;
	return float_of_bits(bits + (even & inexact ? step : 0));
}

/* p + c, where the error of the addition makes the result odd. */
static inline double
sum_odd(double p, double c)
{
	double s = p + c, b = s - p, error = (p - (s - b)) + (c - b);
	uint64_t bits = bits_of_double(s);
	uint64_t adjust = error != 0 && error == error && !(bits & 1);
	uint64_t step = (error > 0) == (s > 0) ? 1 : (uint64_t)-1;
	return double_of_bits(bits + (adjust ? step : 0));
}

/* a * b + c for halves and bfloats, ready for one rounding to them: the product is exact in double. */
static inline float
fused_odd(float a, float b, float c)
{
	return float_odd(sum_odd((double)a * b, c));
}

/* The same for halves alone: products and errors of the sum are exact in float, and eight lanes go at once. */
static inline float
half_fused_odd(float a, float b, float c)
{
	float p = a * b, s = p + c, d = s - p, error = (p - (s - d)) + (c - d);
	uint32_t bits = bits_of_float(s), towards = (bits_of_float(error) ^ bits) >> 31;	/* 1: to zero */
	uint32_t inexact = error < 0 || error > 0 ? 1 : 0;
	return float_of_bits(bits + (inexact & ~bits & 1) * (1 - 2 * towards));
}

static inline uint16_t
bf16_round(float f)
{
	uint32_t bits = bits_of_float(f);
	uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	return (uint16_t)(f != f ? 0x7fff : rounded);
}

static inline float
bf16_widen(uint16_t h)
{
	return float_of_bits((uint32_t)h << 16);
}

#endif
