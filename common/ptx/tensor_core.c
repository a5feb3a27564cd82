/* In: matrices of narrow floats. Out: their product as a tensor core gives it (tensor_core.h says how). Eight columns
 * are one vector: a lane is one result, with its own exponents. */
#include "ptx/tensor_core.h"

#include <string.h>

#include "ptx/half.h"

enum { GUARD_BITS = 25, NO_EXPONENT = -4000, MAX_DEPTH = 16 };

/* Elements as mantissa * 2^(exponent - fraction bits); a zero has an exponent that never is the greatest. */
struct numbers {
	int32_t mantissa[TENSOR_MAX * TENSOR_MAX], exponent[TENSOR_MAX * TENSOR_MAX];
	uint32_t special;			/* not 0: an infinity or NaN is among them */
	int fraction;
};

static const struct {
	int exponent, fraction, shift;
} formats[T_N] = { [T_F16] = { 5, 10, 0 }, [T_BF16] = { 8, 7, 0 }, [T_TF32] = { 8, 10, 13 }, [T_F32] = { 8, 23, 0 } };

static void
take_apart(struct numbers *n, const uint32_t *bits, int count, enum type type)
{
	int width = formats[type].exponent, fraction = formats[type].fraction, shift = formats[type].shift;
	int top = (1 << width) - 1, bias = top >> 1;
	uint32_t special = 0;
	for (int k = 0; k < count; k++) {
		uint32_t v = bits[k] >> shift;
		int32_t e = (int32_t)(v >> fraction) & top, m = (int32_t)(v & ((1u << fraction) - 1));
		special |= e == top;
		int32_t sign = -(int32_t)(v >> (width + fraction) & 1);
		m |= e ? 1 << fraction : 0;
		n->mantissa[k] = (m ^ sign) - sign;
		n->exponent[k] = !m ? NO_EXPONENT : (e ? e : 1) - bias;
	}
	n->special = special;
	n->fraction = fraction;
}

static float
widened(uint32_t bits, enum type type)
{
	switch (type) {
	case T_F16: return f16_widen((uint16_t)bits);
	case T_BF16: return bf16_widen((uint16_t)bits);
	case T_TF32: return float_of_bits(bits & 0xffffe000);
	default: return float_of_bits(bits);
	}
}

/* The sum of 2^unit * sum, as fp32 cut toward zero or fp16 rounded. */
static inline uint32_t
result_bits(int64_t sum, int32_t unit, enum type out)
{
	double v = (double)sum * double_of_bits((uint64_t)(1023 + (sum ? unit : 0)) << 52);
	if (out == T_F16)
		return f16_round(float_odd(v));
	float f = (float)v;
	uint32_t bits = bits_of_float(f);
	return bits - (fabs((double)f) > fabs(v) && fabs(v) < 0x1p128);
}

/* Infinities and NaN: what any order of additions gives. */
static uint32_t
special_result(enum type ta, enum type in, enum type out, const uint32_t *a, const uint32_t *b, int stride,
	int depth, uint32_t c)
{
	double sum = 0;
	for (int k = 0; k < depth; k++) {
		double product = (double)widened(a[k], ta) * widened(b[k * stride], ta);
		sum += product - product == 0 ? 0 : product;
	}
	double last = widened(c, in);
	sum += last - last == 0 ? 0 : last;
	if (sum != sum)
		return out == T_F16 ? 0x7fff : 0x7fffffff;
	if (sum == 0)
		return 0;			/* the specials were elsewhere: the caller knows better */
	return out == T_F16 ? sum > 0 ? 0x7c00 : 0xfc00 : sum > 0 ? 0x7f800000 : 0xff800000;
}

static inline __m256i
load_eight(const int32_t *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* |v| * 2^up, cut `down` bits lower, with the sign of v. No magnitude has more than 27 bits. */
static inline __m256i
aligned(__m256i v, int up, __m256i down)
{
	return _mm256_sign_epi32(_mm256_srlv_epi32(_mm256_slli_epi32(_mm256_abs_epi32(v), up), down), v);
}

/* Eight results of one row: sums of at most 16 products, in two halves that fit 32 bits each. */
static void
eight_results(const struct numbers *a, const struct numbers *b, const struct numbers *c, int row, int columns, int depth,
	int from, int64_t *sum, int32_t *greatest)
{
	const int32_t *am = a->mantissa + row * depth, *ae = a->exponent + row * depth;
	const int32_t *bm = b->mantissa + from, *be = b->exponent + from;
	int at = row * columns + from, up = GUARD_BITS - a->fraction - b->fraction;
	__m256i exponents[MAX_DEPTH], own = load_eight(c->exponent + at), most = own, parts[2], last;
	for (int k = 0; k < depth; k++) {
		exponents[k] = _mm256_add_epi32(_mm256_set1_epi32(ae[k]), load_eight(be + k * columns));
		most = _mm256_max_epi32(most, exponents[k]);
	}
	parts[0] = parts[1] = _mm256_setzero_si256();
	for (int k = 0; k < depth; k += 2)
		for (int half = 0; half < 2; half++) {
			__m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(am[k + half]), load_eight(bm + (k + half) * columns));
			product = aligned(product, up, _mm256_sub_epi32(most, exponents[k + half]));
			parts[half] = _mm256_add_epi32(parts[half], product);
		}
	last = aligned(load_eight(c->mantissa + at), GUARD_BITS - c->fraction, _mm256_sub_epi32(most, own));
	int32_t terms[3][8];
	memcpy(terms[0], parts, sizeof parts);
	memcpy(terms[2], &last, sizeof last);
	memcpy(greatest, &most, sizeof most);
	for (int n = 0; n < 8; n++)
		sum[n] = (int64_t)terms[0][n] + terms[1][n] + terms[2][n];
}

static void
product_of(enum type type, enum type in, enum type out, int rows, int columns, int depth, const uint32_t *a, const uint32_t *b,
	uint32_t *c)
{
	struct numbers na, nb, nc;
	take_apart(&na, a, rows * depth, type);
	take_apart(&nb, b, depth * columns, type);
	take_apart(&nc, c, rows * columns, in);
	bool special = na.special | nb.special | nc.special;
	for (int at = 0; at < rows * columns; at += 8) {
		int64_t sum[8];
		int32_t greatest[8];
		int r = at / columns, from = at % columns;
		eight_results(&na, &nb, &nc, r, columns, depth, from, sum, greatest);
		for (int n = 0; n < 8; n++) {
			uint32_t *to = &c[at + n];
			uint32_t odd = special ? special_result(type, in, out, a + r * depth, b + from + n, columns, depth, *to) : 0;
			*to = odd ? odd : result_bits(sum[n], greatest[n] - GUARD_BITS, out);
		}
	}
}

float
fp8_widen(uint8_t v, int exponent_bits)
{
	int fraction = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
	int e = v >> fraction & ((1 << exponent_bits) - 1), m = v & ((1 << fraction) - 1);
	float magnitude;
	if (exponent_bits == 4 ? (v & 0x7f) == 0x7f : (v & 0x7f) > 0x7c)
		return NAN;
	if (exponent_bits == 5 && (v & 0x7f) == 0x7c)
		magnitude = INFINITY;
	else
		magnitude = e ? ldexpf((float)(m + (1 << fraction)), e - bias - fraction) : ldexpf((float)m, 1 - bias - fraction);
	return v & 128 ? -magnitude : magnitude;
}

static uint32_t
half_of_fp8(uint32_t v, enum type type)
{
	return f16_round(fp8_widen((uint8_t)v, type == T_E4M3 ? 4 : 5));
}

static void
product_of_fp8(enum type ta, enum type tb, enum type out, int rows, int columns, int depth, const uint32_t *a,
	const uint32_t *b, uint32_t *c)
{
	uint32_t sum[16 * 8] = { 0 }, left[16 * MAX_DEPTH], right[MAX_DEPTH * 8];
	int part = depth / 2;
	for (int half = 0; half < 2; half++) {
		for (int k = 0; k < part; k++) {
			int from = k / 2 * 4 + half * 2 + k % 2;
			for (int r = 0; r < rows; r++)
				left[r * part + k] = half_of_fp8(a[r * depth + from], ta);
			for (int n = 0; n < columns; n++)
				right[k * columns + n] = half_of_fp8(b[from * columns + n], tb);
		}
		product_of(T_F16, out, out, rows, columns, part, left, right, sum);
	}
	for (int k = 0; k < rows * columns; k++) {
		float v = widened(sum[k], out) + widened(c[k], out);
		c[k] = out == T_F16 ? f16_round(v) : v != v ? 0x7fffffff : bits_of_float(v);
	}
}

void
tensor_product(enum type ta, enum type tb, enum type in, enum type out, int rows, int columns, int depth, const uint32_t *a,
	const uint32_t *b, uint32_t *c)
{
	if (ta == T_E4M3 || ta == T_E5M2)
		product_of_fp8(ta, tb, out, rows, columns, depth, a, b, c);
	else
		product_of(ta, in, out, rows, columns, depth, a, b, c);
}
