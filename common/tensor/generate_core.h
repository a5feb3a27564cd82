/* One element of an input, from the job alone: the same text compiled as C and as CUDA, so that a GPU makes
 * the very bytes that the CPU makes. Integers, and single IEEE operations in double without libm and without
 * fused multiply-add; what each distribution and regime means is told in generate.c.
 *
 * Element i is a function of (job, i): any of them can be made alone, anywhere, in any order. A row of
 * `probability` needs the exact integer sum of its weights first (generate_core_weight); permutations are
 * walked by counting, so they need no row at all. */
#ifndef TENSOR_GENERATE_CORE_H
#define TENSOR_GENERATE_CORE_H

#include <stdint.h>

#ifdef __CUDACC__
/* A call takes as long as the ten rounds of Philox that it is for. */
#define GENERATE_CORE static __device__ __forceinline__
#define CORE_ADD(a, b) __dadd_rn(a, b)
#define CORE_SUB(a, b) __dsub_rn(a, b)
#define CORE_MUL(a, b) __dmul_rn(a, b)
#define CORE_DIV(a, b) __ddiv_rn(a, b)
#define CORE_BITS(x) ((uint64_t)__double_as_longlong(x))
#define CORE_FLOAT_BITS(x) __float_as_uint(__double2float_rn(x))
#define CORE_HIGH(a, b) __umul64hi(a, b)
#define CORE_TRAILING_ZEROS(x) (__ffs((int)(x)) - 1)
#else
/* Compiled with -ffp-contract=off, like everything here. */
#define GENERATE_CORE static inline
#define CORE_ADD(a, b) ((a) + (b))
#define CORE_SUB(a, b) ((a) - (b))
#define CORE_MUL(a, b) ((a) * (b))
#define CORE_DIV(a, b) ((a) / (b))
#define CORE_BITS(x) ({ union { double value; uint64_t bits; } core_bits_ = { x }; core_bits_.bits; })
#define CORE_FLOAT_BITS(x) ({ union { float value; uint32_t bits; } core_bits_ = { (float)(x) }; core_bits_.bits; })
#define CORE_HIGH(a, b) ((uint64_t)((unsigned __int128)(a) * (b) >> 64))
#define CORE_TRAILING_ZEROS(x) __builtin_ctz(x)
#endif

enum {
	CORE_NORMAL, CORE_UNIFORM, CORE_INTEGERS, CORE_PERMUTATION, CORE_SORTED, CORE_PROBABILITY, CORE_BERNOULLI,
	CORE_CONSTANT
};	/* as enum generate_distribution */
enum { CORE_FLOAT64, CORE_FLOAT32, CORE_FLOAT16, CORE_BFLOAT16, CORE_INT64, CORE_INT32, CORE_UINT8, CORE_BOOL };
	/* as enum dtype */

enum { CORE_REGIMES = 16, CORE_SUPERBLOCK_BITS = 13, CORE_LENGTHS = 8 };

/* All that the elements of one tensor need: passed to a kernel by value. Made by generate_job. */
struct generate_job {
	uint32_t key[2], tail[2];		/* words 0-1 and 2-3 of the 32-byte key */
	int32_t distribution, dtype;
	double middle, scale;			/* normal; the scale times the tensor's own power of two */
	double low, width;			/* uniform, sorted: width = high - low */
	double p, value;			/* bernoulli, constant */
	double zero;				/* what a stretch of zeros holds: 0 where the domain has it */
	int64_t low_integer;
	uint64_t span;				/* integers: high_integer - low_integer */
	int64_t zero_integer;
	uint64_t extent, count;			/* of the last axis, of all elements; both at least 1 */
	uint32_t lengths;			/* how many of the segment lengths are in use; 0: no regimes */
	uint32_t grow;				/* normal: the most that a regime multiplies by, as a power of two */
	uint8_t regime[CORE_REGIMES];		/* each segment has one of these */
};

enum {
	REGIME_PLAIN,
	REGIME_SMALL,		/* near 0, or near the low end */
	REGIME_LARGE,		/* heavy tails, or near the high end */
	REGIME_ZERO, REGIME_SAME, REGIME_REPEAT, REGIME_RISING, REGIME_FALLING,
};

/* ---- Philox 4x32-10 */

#define CORE_PHILOX_ROUND do { \
		uint64_t product0 = (uint64_t)0xD2511F53u * c0, product1 = (uint64_t)0xCD9E8D57u * c2; \
		c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0; \
		c1 = (uint32_t)product1; \
		c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1; \
		c3 = (uint32_t)product0; \
		k0 += 0x9E3779B9u; \
		k1 += 0xBB67AE85u; \
	} while (0)

struct core_words {
	uint32_t w[4];
};

GENERATE_CORE struct core_words
core_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1)
{
	struct core_words out;

	CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND;
	CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND; CORE_PHILOX_ROUND;
	out.w[0] = c0;
	out.w[1] = c1;
	out.w[2] = c2;
	out.w[3] = c3;
	return out;
}

/* Draws of an element 0 to 2; of a segment, a superblock and a row the ones named here. */
enum { DRAW_OUTLIER = 2, DRAW_SEGMENT = 3, DRAW_SUPERBLOCK = 4, DRAW_ROW = 5, DRAW_PERMUTATION = 8 };

GENERATE_CORE struct core_words
core_block(const struct generate_job *job, uint64_t element, uint32_t draw)
{
	return core_philox((uint32_t)element, (uint32_t)(element >> 32), job->tail[0] ^ draw, job->tail[1], job->key[0],
		job->key[1]);
}

GENERATE_CORE uint64_t
core_word64(const struct generate_job *job, uint64_t element)
{
	struct core_words words = core_block(job, element, 0);

	return (uint64_t)words.w[1] << 32 | words.w[0];
}

/* 53 bits of a 64-bit fraction, as a double below 1. */
GENERATE_CORE double
core_unit(uint64_t fraction)
{
	return CORE_MUL((double)(int64_t)(fraction >> 11), 0x1p-53);
}

/* The sum of the sixteen 16-bit halves of draws 0 and 1, to mean 0 and variance 1. */
GENERATE_CORE double
core_normal(const struct generate_job *job, uint64_t element)
{
	const double unit = 0.86602540378443864676 * 0x1p-17;
	int64_t sum = 0;

	for (uint32_t draw = 0; draw < 2; draw++) {
		struct core_words words = core_block(job, element, draw);
		for (int w = 0; w < 4; w++)
			sum += (words.w[w] & 0xffff) + (words.w[w] >> 16);
	}
	return CORE_MUL((double)(2 * sum - 16 * 65535), unit);
}

/* ---- segments: where an element lies, and under which regime */

struct core_place {
	int regime;
	uint64_t start, at;	/* the segment's first element; the element's place in it */
	uint64_t length;
	uint64_t anchor;	/* the element whose words are used: another one where values repeat */
	uint32_t power;		/* 1 to 8: how small or large */
	uint32_t outlier;	/* not 0: this element is one, and these are bits to choose it by */
};

GENERATE_CORE uint32_t
core_length(uint32_t which)
{
	/* Primes, so that segments do not lie on anybody's tiles. */
	switch (which) {
	case 0: return 7;
	case 1: return 13;
	case 2: return 29;
	case 3: return 61;
	case 4: return 127;
	case 5: return 251;
	case 6: return 509;
	default: return 1021;
	}
}

/* The length of a superblock's segments; there are segments. */
GENERATE_CORE uint32_t
core_segment_length(const struct generate_job *job, uint64_t superblock)
{
	return core_length(core_block(job, superblock, DRAW_SUPERBLOCK).w[0] % job->lengths);
}

/* The place of element i, which is number `at` of a segment with these words. */
GENERATE_CORE struct core_place
core_place_in_segment(const struct generate_job *job, uint64_t i, uint32_t at, uint32_t length, struct core_words words)
{
	struct core_place place = { REGIME_PLAIN, i - at, at, length, i, 1, 0 };

	place.regime = job->regime[words.w[0] % CORE_REGIMES];
	place.power = 1 + words.w[1] % 8;
	if (place.regime == REGIME_SAME)
		place.anchor = place.start;
	else if (place.regime == REGIME_REPEAT)
		place.anchor = place.start + place.at % (2 + words.w[2] % 7);
	/* Every second segment has outliers, so that clean stretches and spoilt ones both occur. */
	if (words.w[3] & 1) {
		struct core_words own = core_block(job, i, DRAW_OUTLIER);

		if (own.w[0] % 128 == 0)
			place.outlier = own.w[1] | 1;
	}
	return place;
}

GENERATE_CORE struct core_place
core_place(const struct generate_job *job, uint64_t i)
{
	struct core_place place = { REGIME_PLAIN, 0, 0, 1, i, 1, 0 };
	uint32_t offset = (uint32_t)i & ((1u << CORE_SUPERBLOCK_BITS) - 1);

	if (job->lengths == 0)
		return place;
	uint32_t length = core_segment_length(job, i >> CORE_SUPERBLOCK_BITS), at = offset % length;
	return core_place_in_segment(job, i, at, length, core_block(job, i - at, DRAW_SEGMENT));
}

/* (j + U) / length as a 64-bit fraction: rising within the segment. */
GENERATE_CORE uint64_t
core_rising(const struct generate_job *job, const struct core_place *place, uint64_t i)
{
	uint64_t fraction = place->at << 22 | core_block(job, i, 0).w[0] >> 10;

	return (fraction << 32) / place->length << 10;
}

/* The fraction that uniform, integers and bernoulli are made of. */
GENERATE_CORE uint64_t
core_fraction(const struct generate_job *job, const struct core_place *place, uint64_t i)
{
	if (place->outlier)
		return place->outlier & 2 ? ~(uint64_t)0 : 0;
	switch (place->regime) {
	case REGIME_SMALL: return core_word64(job, i) >> place->power;
	case REGIME_LARGE: return ~(core_word64(job, i) >> place->power);
	case REGIME_RISING: return core_rising(job, place, i);
	case REGIME_FALLING: return ~core_rising(job, place, i);
	default: return core_word64(job, place->anchor);
	}
}

/* 2^power, power from -64 to 64. */
GENERATE_CORE double
core_power(int power)
{
	double value = 1;

	for (; power > 0; power--)
		value = CORE_MUL(value, 2.0);
	for (; power < 0; power++)
		value = CORE_MUL(value, 0.5);
	return value;
}

/* How far from the middle, in units of the scale. */
GENERATE_CORE double
core_deviation(const struct generate_job *job, const struct core_place *place, uint64_t i)
{
	int grow = (int)job->grow, power = 0;
	double value;

	if (place->outlier) {
		power = grow ? grow - (int)(place->outlier >> 1) % 3 : 0;
		return CORE_MUL(core_normal(job, i), core_power(power < 0 ? 0 : power));
	}
	switch (place->regime) {
	case REGIME_SMALL:
		return CORE_MUL(core_normal(job, i), core_power(-(int)place->power));
	case REGIME_LARGE:
		/* The whole segment, or single elements: twice as large with each pair of zeros, so that there are
		 * 1 / t^2 as many beyond t. */
		power = place->power & 1 ? (int)place->power / 2 + 1
			: CORE_TRAILING_ZEROS(core_block(job, i, DRAW_OUTLIER).w[2] | 0x80000000u) / 2;
		return CORE_MUL(core_normal(job, i), core_power(power > grow ? grow : power));
	case REGIME_ZERO:
		return 0;
	case REGIME_RISING:
	case REGIME_FALLING:
		value = CORE_SUB(CORE_MUL(core_unit(core_rising(job, place, i)), 6.0), 3.0);
		return place->regime == REGIME_RISING ? value : -value;
	default:
		return core_normal(job, place->anchor);
	}
}

/* ---- rows */

GENERATE_CORE uint64_t
core_shuffled(const struct generate_job *job, uint64_t row, uint64_t value, uint64_t extent)
{
	int half_bits = 1;

	while (half_bits < 31 && (uint64_t)1 << (2 * half_bits) < extent)
		half_bits++;
	uint64_t mask = ((uint64_t)1 << half_bits) - 1;
	do {
		uint64_t left = value >> half_bits, right = value & mask;
		for (uint32_t round = 0; round < 8; round++) {
			struct core_words words = core_block(job, row, ((uint32_t)right << 8) + DRAW_PERMUTATION + round);
			uint64_t next = left ^ (words.w[0] & mask);
			left = right;
			right = next;
		}
		value = left << half_bits | right;
	} while (value >= extent);
	return value;
}

GENERATE_CORE uint64_t
core_permuted(const struct generate_job *job, uint64_t row, uint64_t j)
{
	struct core_words words = core_block(job, row, DRAW_ROW);
	uint64_t n = job->extent, part = CORE_HIGH((uint64_t)words.w[1] << 32, n + 1);

	switch (job->lengths ? words.w[0] % 8 : 0) {
	case 5: return j < part ? j : part + core_shuffled(job, row, j - part, n - part);
	case 6: return j < part ? part - 1 - j : part + core_shuffled(job, row, j - part, n - part);
	case 7: return j + part < n ? j + part : j + part - n;
	default: return core_shuffled(job, row, j, n);
	}
}

/* The place in a row's range, rising from 0 to below 1. */
GENERATE_CORE double
core_sorted(const struct generate_job *job, uint64_t i)
{
	const double last = 1 - 0x1p-53;
	struct core_words words = core_block(job, i / job->extent, DRAW_ROW);
	double place = CORE_DIV(CORE_ADD((double)(int64_t)(i % job->extent), core_unit(core_word64(job, i))),
		(double)(int64_t)job->extent);
	double steps = (double)(2 + words.w[1] % 15);

	switch (job->lengths ? words.w[0] % 8 : 0) {
	case 4: place = CORE_MUL(place, place); break;
	case 5: place = CORE_SUB(1.0, CORE_MUL(CORE_SUB(1.0, place), CORE_SUB(1.0, place))); break;
	case 6: place = CORE_MUL(CORE_MUL(place, place), CORE_MUL(place, place)); break;
	case 7: place = CORE_DIV((double)(int64_t)CORE_MUL(place, steps), steps); break;	/* plateaus: ties */
	default: break;
	}
	return place < last ? place : last;
}

/* A probability's weight, before it is divided by the sum of its row's. */
GENERATE_CORE uint64_t
core_weight(const struct generate_job *job, uint64_t i)
{
	struct core_words words = core_block(job, i, 0), row = core_block(job, i / job->extent, DRAW_ROW);

	switch (job->lengths ? row.w[0] % 8 : 0) {
	case 5: return (words.w[0] >> words.w[1] % 24) | 1;	/* few large ones */
	case 6: return words.w[1] & 7 ? 1 : words.w[0] | 1;	/* mostly next to nothing */
	case 7: return 1u << 20;				/* all alike */
	default: return words.w[0] | 1;
	}
}

/* ---- storing */

/* Rounds to nearest, ties to even, into 1 + exponent_bits + fraction_bits; a finite value stays finite. */
GENERATE_CORE uint16_t
core_small(double value, int exponent_bits, int fraction_bits)
{
	uint64_t bits = CORE_BITS(value), fraction = bits & (((uint64_t)1 << 52) - 1);
	int top = (1 << exponent_bits) - 1, exponent = (int)(bits >> 52 & 0x7ff);
	uint16_t sign = (uint16_t)(bits >> 63 << 15);

	if (exponent == 0)
		return sign;	/* a subnormal double is below half of the smallest number here */
	fraction |= (uint64_t)1 << 52;
	exponent += top / 2 - 1023;
	int shift = 52 - fraction_bits + (exponent < 1 ? 1 - exponent : 0);
	if (shift > 53)
		return sign;
	uint64_t kept = fraction >> shift, rest = fraction & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	if (exponent >= 1)
		kept += (uint64_t)(exponent - 1) << fraction_bits;
	uint64_t largest = ((uint64_t)top << fraction_bits) - 1;
	return (uint16_t)(sign | (kept > largest ? largest : kept));
}

/* To the nearest whole number, ties to even, within the ends. */
GENERATE_CORE int64_t
core_whole(double value, int64_t low, int64_t high)
{
	if (value < 0x1p52 && value > -0x1p52)
		value = value < 0 ? CORE_ADD(CORE_SUB(value, 0x1p52), 0x1p52) : CORE_SUB(CORE_ADD(value, 0x1p52), 0x1p52);
	/* The largest int64 has no double of its own. */
	if (value >= 0x1p63 || (high != INT64_MAX && value >= (double)high))
		return high;
	return value <= (double)low ? low : (int64_t)value;
}

GENERATE_CORE void
core_store(int dtype, void *element, double value)
{
	switch (dtype) {
	case CORE_FLOAT64: *(uint64_t *)element = CORE_BITS(value); break;
	case CORE_FLOAT32:
		*(uint32_t *)element = CORE_FLOAT_BITS(value > 0x1.fffffep127 ? 0x1.fffffep127
			: value < -0x1.fffffep127 ? -0x1.fffffep127 : value);
		break;
	case CORE_FLOAT16: *(uint16_t *)element = core_small(value, 5, 10); break;
	case CORE_BFLOAT16: *(uint16_t *)element = core_small(value, 8, 7); break;
	case CORE_INT64: *(int64_t *)element = core_whole(value, INT64_MIN, INT64_MAX); break;
	case CORE_INT32: *(int32_t *)element = (int32_t)core_whole(value, INT32_MIN, INT32_MAX); break;
	case CORE_UINT8: *(uint8_t *)element = (uint8_t)core_whole(value, 0, UINT8_MAX); break;
	default: *(uint8_t *)element = !(value == 0); break;
	}
}

/* Integers of a domain are below 2^53 in float dtypes, and so have a double of their own. */
GENERATE_CORE void
core_store_integer(int dtype, void *element, int64_t value)
{
	switch (dtype) {
	case CORE_INT64: *(int64_t *)element = value; break;
	case CORE_INT32: *(int32_t *)element = (int32_t)value; break;
	case CORE_UINT8: *(uint8_t *)element = (uint8_t)value; break;
	case CORE_BOOL: *(uint8_t *)element = value != 0; break;
	default: core_store(dtype, element, (double)value); break;
	}
}

/* Do the elements lie in segments? */
GENERATE_CORE int
core_has_segments(const struct generate_job *job)
{
	return job->lengths && (job->distribution == CORE_NORMAL || job->distribution == CORE_UNIFORM ||
		job->distribution == CORE_INTEGERS || job->distribution == CORE_BERNOULLI);
}

/* Makes element i of one of these four distributions. */
GENERATE_CORE void
generate_core_placed(const struct generate_job *job, uint64_t i, const struct core_place *place, void *element)
{
	if (job->distribution == CORE_NORMAL) {
		core_store(job->dtype, element, CORE_ADD(job->middle, CORE_MUL(job->scale, core_deviation(job, place, i))));
		return;
	}
	uint64_t fraction = core_fraction(job, place, i);
	int zero = place->regime == REGIME_ZERO && !place->outlier;
	if (job->distribution == CORE_UNIFORM)
		core_store(job->dtype, element, zero ? job->zero : CORE_ADD(job->low, CORE_MUL(job->width, core_unit(fraction))));
	else if (job->distribution == CORE_INTEGERS)
		core_store_integer(job->dtype, element, zero ? job->zero_integer :
			(int64_t)((uint64_t)job->low_integer + CORE_HIGH(fraction, job->span)));
	else
		core_store_integer(job->dtype, element, core_unit(fraction) < job->p);
}

/* Makes element i into memory that is aligned to the dtype. total: the sum of the row's weights, for
 * CORE_PROBABILITY only. */
GENERATE_CORE void
generate_core_element(const struct generate_job *job, uint64_t i, uint64_t total, void *element)
{
	struct core_place place;

	switch (job->distribution) {
	case CORE_NORMAL:
	case CORE_UNIFORM:
	case CORE_INTEGERS:
	case CORE_BERNOULLI:
		place = core_place(job, i);
		generate_core_placed(job, i, &place, element);
		return;
	case CORE_PERMUTATION:
		core_store_integer(job->dtype, element, (int64_t)core_permuted(job, i / job->extent, i % job->extent));
		return;
	case CORE_SORTED:
		if (job->dtype <= CORE_BFLOAT16)
			core_store(job->dtype, element, CORE_ADD(job->low, CORE_MUL(job->width, core_sorted(job, i))));
		else
			core_store_integer(job->dtype, element, (int64_t)((uint64_t)job->low_integer
				+ CORE_HIGH((uint64_t)CORE_MUL(core_sorted(job, i), 0x1p53) << 11, job->span)));
		return;
	case CORE_PROBABILITY:
		core_store(job->dtype, element, CORE_DIV((double)(int64_t)core_weight(job, i), (double)(int64_t)total));
		return;
	default:
		core_store(job->dtype, element, job->value);
		return;
	}
}

#endif
