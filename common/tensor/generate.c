/*
 * Input generation: come in a key and a domain, goes out a filled tensor.
 * The hard idea is that every element is a function of (key, element number) alone, or of its row where
 * the distribution says so, made of integers and single IEEE operations, so that a GPU can repeat it.
 *
 * Written W0..W3 for the words of Philox block `draw` of element i, U for the fraction of 53 bits
 * ((W1 << 32 | W0) >> 11) * 2^-53, n for the last axis, r = i / n the row and j = i mod n:
 *	normal       s = sum of the sixteen 16-bit halves of draws 0 and 1; z = (2 s - 1048560) * C with
 *	             C = sqrt(3/4) / 2^17, and mean + scale * z. (Irwin-Hall: excess kurtosis -0.075.)
 *	uniform      low + (high - low) * U
 *	integers     low + ((W1 << 32 | W0) * (high - low) >> 64)
 *	permutation  eight Feistel rounds on j over the smallest 2^(2h) >= n, walked until below n. Round q
 *	             takes the low h bits of W0 of the block of element r, draw (right half << 8) + q.
 *	sorted       floats: low + (high - low) * ((j + U) / n); integers: low + floor((high - low) *
 *	             (j 2^32 + W0) / (n 2^32))
 *	probability  weight (W0 | 1), over the exact integer sum of the row's weights
 *	bernoulli    U < p
 * A workload regime (adversarial inputs) is one more step between the value and store().
 */
#include "tensor/generate.h"

#include <math.h>
#include <string.h>

#include "hash/sha256.h"

static const char *const names[GENERATE_COUNT] = {
	[GENERATE_NORMAL] = "normal",
	[GENERATE_UNIFORM] = "uniform",
	[GENERATE_INTEGERS] = "integers",
	[GENERATE_PERMUTATION] = "permutation",
	[GENERATE_SORTED] = "sorted",
	[GENERATE_PROBABILITY] = "probability",
	[GENERATE_BERNOULLI] = "bernoulli",
	[GENERATE_CONSTANT] = "constant",
};

int
generate_distribution_from_name(const char *name, size_t length, enum generate_distribution *out)
{
	for (int d = 0; d < GENERATE_COUNT; d++)
		if (strlen(names[d]) == length && memcmp(names[d], name, length) == 0) {
			*out = (enum generate_distribution)d;
			return 0;
		}
	return -1;
}

void
generate_default(enum dtype dtype, struct generate_domain *domain)
{
	memset(domain, 0, sizeof *domain);
	domain->scale = 1;
	domain->high_integer = 10;
	domain->p = 0.5;
	domain->distribution = dtype_is_float(dtype) ? GENERATE_NORMAL
		: dtype == DTYPE_BOOL ? GENERATE_BERNOULLI : GENERATE_INTEGERS;
}

/* ---- checks */

static int
check_real_range(const struct generate_domain *domain, struct buf *err)
{
	if (!isfinite(domain->low) || !isfinite(domain->high) || !isfinite(domain->high - domain->low)
		|| !(domain->low < domain->high))
		return buf_err(err, "The range %g..%g of a domain is empty or not finite.", domain->low,
			domain->high);
	return 0;
}

static int
check_integer_range(const struct generate_domain *domain, enum dtype dtype, struct buf *err)
{
	int64_t low, high;

	if (domain->low_integer >= domain->high_integer)
		return buf_err(err, "The range %lld..%lld of a domain is empty.", (long long)domain->low_integer,
			(long long)domain->high_integer);
	if (dtype_is_float(dtype))
		return 0;
	dtype_integer_range(dtype, &low, &high);
	if (domain->low_integer < low || domain->high_integer - 1 > high)
		return buf_err(err, "The range %lld..%lld of a domain does not fit %s.",
			(long long)domain->low_integer, (long long)domain->high_integer, dtype_name(dtype));
	return 0;
}

static int
check_permutation(enum dtype dtype, int rank, const int64_t *shape, struct buf *err)
{
	int64_t low, high;

	if (rank < 1)
		return buf_err(err, "A permutation needs an axis to run along.");
	dtype_integer_range(dtype, &low, &high);
	if (!dtype_is_integer(dtype) || shape[rank - 1] - 1 > high)
		return buf_err(err, "A permutation of %lld does not fit %s.", (long long)shape[rank - 1],
			dtype_name(dtype));
	return 0;
}

int
generate_check(const struct generate_domain *domain, enum dtype dtype, int rank, const int64_t *shape,
	struct buf *err)
{
	switch (domain->distribution) {
	case GENERATE_NORMAL:
		if (!isfinite(domain->mean) || !isfinite(domain->scale) || !(domain->scale >= 0))
			return buf_err(err,
				"A normal domain needs a finite mean and a finite scale that is not negative.");
		return 0;
	case GENERATE_UNIFORM:
		return check_real_range(domain, err);
	case GENERATE_INTEGERS:
		return check_integer_range(domain, dtype, err);
	case GENERATE_PERMUTATION:
		return check_permutation(dtype, rank, shape, err);
	case GENERATE_SORTED:
		if (rank < 1)
			return buf_err(err, "A sorted domain needs an axis to run along.");
		return dtype_is_float(dtype) ? check_real_range(domain, err) : check_integer_range(domain,
			dtype, err);
	case GENERATE_PROBABILITY:
		if (rank < 1 || !dtype_is_float(dtype))
			return buf_err(err,
				"A probability domain needs a float tensor with an axis to run along.");
		if (shape[rank - 1] >= (int64_t)1 << 31)
			return buf_err(err, "A probability domain's rows are longer than 2^31 elements.");
		return 0;
	case GENERATE_BERNOULLI:
		if (!(domain->p >= 0 && domain->p <= 1))
			return buf_err(err, "A bernoulli domain's p is %g, not between 0 and 1.", domain->p);
		return 0;
	case GENERATE_CONSTANT:
		return 0;
	case GENERATE_COUNT:
		break;
	}
	return buf_err(err, "Distribution %d is not known.", (int)domain->distribution);
}

/* ---- the generator */

/* Written out, since all of an input's cost is here. */
#define PHILOX_ROUND do { \
		uint64_t product0 = (uint64_t)0xD2511F53u * c0, product1 = (uint64_t)0xCD9E8D57u * c2; \
		c0 = (uint32_t)(product1 >> 32) ^ c1 ^ k0; \
		c1 = (uint32_t)product1; \
		c2 = (uint32_t)(product0 >> 32) ^ c3 ^ k1; \
		c3 = (uint32_t)product0; \
		k0 += 0x9E3779B9u; \
		k1 += 0xBB67AE85u; \
	} while (0)

static inline void
philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
	uint32_t k0 = key[0], k1 = key[1];

	PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND;
	PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND; PHILOX_ROUND;
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

void
generate_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	philox(counter, key, out);
}

struct stream {
	uint32_t key[2], tail[2];	/* words 0-1 and 2-3 of the 32-byte key */
};

static uint32_t
little_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static inline void
block(const struct stream *s, uint64_t element, uint32_t draw, uint32_t out[4])
{
	uint32_t counter[4] = { (uint32_t)element, (uint32_t)(element >> 32), s->tail[0] ^ draw, s->tail[1] };

	philox(counter, s->key, out);
}

static uint64_t
word64(const struct stream *s, uint64_t element)
{
	uint32_t words[4];

	block(s, element, 0, words);
	return (uint64_t)words[1] << 32 | words[0];
}

static double
fraction(const struct stream *s, uint64_t element)
{
	return (double)(word64(s, element) >> 11) * 0x1p-53;
}

static double
normal(const struct stream *s, uint64_t element)
{
	static const double unit = 0.86602540378443864676 * 0x1p-17;
	uint32_t words[4];
	int64_t sum = 0;

	for (uint32_t draw = 0; draw < 2; draw++) {
		block(s, element, draw, words);
		for (int w = 0; w < 4; w++)
			sum += (words[w] & 0xffff) + (words[w] >> 16);
	}
	return (double)(2 * sum - 16 * 65535) * unit;
}

static int64_t
permuted(const struct stream *s, uint64_t row, uint64_t value, uint64_t extent)
{
	uint32_t words[4];
	int half_bits = 1;
	uint64_t mask, left, right, next;

	while (half_bits < 31 && (uint64_t)1 << (2 * half_bits) < extent)
		half_bits++;
	mask = ((uint64_t)1 << half_bits) - 1;
	do {
		left = value >> half_bits;
		right = value & mask;
		for (uint32_t round = 0; round < 8; round++) {
			block(s, row, (uint32_t)(right << 8) + round, words);
			next = left ^ (words[0] & mask);
			left = right;
			right = next;
		}
		value = left << half_bits | right;
	} while (value >= extent);
	return (int64_t)value;
}

/* ---- filling */

struct filler {
	const struct generate_domain *domain;
	const struct stream *stream;
	struct tensor *t;
	uint64_t extent;	/* of the last axis */
};

static void
fill_probability_row(const struct filler *f, uint64_t first)
{
	uint32_t words[4];
	uint64_t total = 0;

	for (uint64_t j = 0; j < f->extent; j++) {
		block(f->stream, first + j, 0, words);
		total += words[0] | 1;
	}
	for (uint64_t j = 0; j < f->extent; j++) {
		block(f->stream, first + j, 0, words);
		tensor_set(f->t, (int64_t)(first + j), (double)(words[0] | 1) / (double)total);
	}
}

static int64_t
sorted_integer(const struct filler *f, uint64_t i)
{
	uint64_t span = (uint64_t)f->domain->high_integer - (uint64_t)f->domain->low_integer;
	uint64_t j = i % f->extent, offset;
	uint32_t words[4];

	block(f->stream, i, 0, words);
	/* floor(span * place / (extent 2^32)) with place = j 2^32 + W0, in two steps that fit 128 bits */
	offset = (uint64_t)((((unsigned __int128)span * j)
		+ ((unsigned __int128)span * words[0] >> 32)) / f->extent);
	return (int64_t)((uint64_t)f->domain->low_integer + offset);
}

static void
fill_element(const struct filler *f, uint64_t i)
{
	const struct generate_domain *d = f->domain;
	uint64_t span = (uint64_t)d->high_integer - (uint64_t)d->low_integer;
	struct tensor *t = f->t;
	int64_t element = (int64_t)i;

	switch (d->distribution) {
	case GENERATE_NORMAL:
		tensor_set(t, element, d->mean + d->scale * normal(f->stream, i));
		break;
	case GENERATE_UNIFORM:
		tensor_set(t, element, d->low + (d->high - d->low) * fraction(f->stream, i));
		break;
	case GENERATE_INTEGERS:
		tensor_set_integer(t, element, (int64_t)((uint64_t)d->low_integer
			+ (uint64_t)((unsigned __int128)word64(f->stream, i) * span >> 64)));
		break;
	case GENERATE_PERMUTATION:
		tensor_set_integer(t, element, permuted(f->stream, i / f->extent, i % f->extent, f->extent));
		break;
	case GENERATE_SORTED:
		if (dtype_is_float(t->dtype))
			tensor_set(t, element, d->low + (d->high - d->low)
				* (((double)(i % f->extent) + fraction(f->stream, i)) / (double)f->extent));
		else
			tensor_set_integer(t, element, sorted_integer(f, i));
		break;
	case GENERATE_BERNOULLI:
		tensor_set(t, element, fraction(f->stream, i) < d->p);
		break;
	case GENERATE_CONSTANT:
		tensor_set(t, element, d->value);
		break;
	case GENERATE_PROBABILITY:
		if (i % f->extent == 0)
			fill_probability_row(f, i);
		break;
	case GENERATE_COUNT:
		break;
	}
}

int
generate_tensor(const unsigned char key[GENERATE_KEY_BYTES], const struct generate_domain *domain,
	struct tensor *t, struct buf *err)
{
	struct stream stream = {
		{ little_endian(key), little_endian(key + 4) },
		{ little_endian(key + 8), little_endian(key + 12) },
	};
	struct filler filler = { domain, &stream, t, t->rank > 0 ? (uint64_t)t->shape[t->rank - 1] : 1 };
	int64_t count = tensor_elements(t);

	if (generate_check(domain, t->dtype, t->rank, t->shape, err))
		return -1;
	for (int64_t i = 0; i < count; i++)
		fill_element(&filler, (uint64_t)i);
	return 0;
}

/* ---- keys */

static void
part_number(struct sha256_state *state, uint64_t number)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> (8 * i));
	sha256_part(state, bytes, sizeof bytes);
}

void
generate_key(const struct generate_source *source, unsigned char key[GENERATE_KEY_BYTES])
{
	struct sha256_state *state = sha256_start();

	part_number(state, source->seed);
	sha256_text(state, source->task_id);
	sha256_text(state, source->solution_source);
	sha256_text(state, source->workload);
	part_number(state, source->trial);
	sha256_text(state, source->tensor);
	sha256_end(state, key);
}
