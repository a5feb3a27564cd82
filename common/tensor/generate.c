/*
 * Input generation: come in a key and a domain, goes out a filled tensor.
 * The hard idea is that every element is a function of (key, domain, shape, element number) alone, made of
 * integers and single IEEE operations, so that a GPU can repeat it (generate_core.h, generate.cu).
 *
 * Written W0..W3 for the words of Philox block `draw` of element i, F for the 64-bit fraction W1 << 32 | W0,
 * U for (F >> 11) * 2^-53, n for the last axis, r = i / n the row and j = i mod n:
 *	normal       s = sum of the sixteen 16-bit halves of draws 0 and 1; z = (2 s - 1048560) * C with
 *	             C = sqrt(3/4) / 2^17, and mean + scale * z. (Irwin-Hall: excess kurtosis -0.075.)
 *	uniform      low + (high - low) * U
 *	integers     low + (F * (high - low) >> 64)
 *	permutation  eight Feistel rounds on j over the smallest 2^(2h) >= n, walked until below n. Round q
 *	             takes the low h bits of W0 of the block of element r, draw (right half << 8) + 8 + q.
 *	sorted       low + (high - low) * ((j + U) / n), down to a whole number for integers
 *	probability  weight (W0 | 1), over the exact integer sum of the row's weights
 *	bernoulli    U < p
 *
 * That is the plain case. A tensor of 32 elements or more is cut into segments of a prime length, another one
 * in each 8,192 elements, and each segment has a regime: plain; small (z times 2^-1 to 2^-8, F shifted right: near
 * the low end); large (heavy tails or a power of two; near the high end); zeros; one value; a short pattern
 * repeated; rising; falling. In every second segment one of 128 elements is an outlier: 8 to 32 times as far
 * out, or an end of the range. The tensor as a whole has a mix of regimes, and a power of two if its mean is 0.
 * Rows of permutation, sorted and probability have regimes of their own: an untouched or reversed beginning, a
 * rotation; bends and plateaus; few weights that count, or all alike. Every value is one that the domain allows.
 * So constants, expectations, samples of the data, and paths for data that look simple at their start are wrong
 * somewhere. An input of one distribution throughout would let all of them pass.
 */
#include "tensor/generate.h"

#include <math.h>
#include <string.h>

#include "hash/sha256.h"

#define SAME_NUMBER(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
SAME_NUMBER(CORE_CONSTANT, GENERATE_CONSTANT);
SAME_NUMBER(CORE_SORTED, GENERATE_SORTED);
SAME_NUMBER(CORE_BOOL, DTYPE_BOOL);
SAME_NUMBER(CORE_BFLOAT16, DTYPE_BFLOAT16);

/* Structure in less than this says nothing about a kernel, and takes away the only values. */
enum { SMALLEST_MIXED = 32 };

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
	if (dtype_is_float(dtype)) {
		/* Whole numbers that a double holds. */
		low = -((int64_t)1 << 53);
		if (domain->low_integer < low || domain->high_integer > -low)
			return buf_err(err, "The range %lld..%lld of a domain is beyond 2^53.",
				(long long)domain->low_integer, (long long)domain->high_integer);
		return 0;
	}
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

/* ---- the job */

void
generate_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
	struct core_words words = core_philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1]);

	memcpy(out, words.w, sizeof words.w);
}

static uint32_t
little_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* What the tensor as a whole is like: without this a mean over very many elements could be told beforehand. */
static void
choose_regimes(const struct generate_domain *domain, struct generate_job *job)
{
	enum { P = REGIME_PLAIN, S = REGIME_SMALL, L = REGIME_LARGE, Z = REGIME_ZERO, E = REGIME_SAME,
		R = REGIME_REPEAT, U = REGIME_RISING, D = REGIME_FALLING };
	static const uint8_t mixes[][CORE_REGIMES] = {
		{ P, P, P, P, P, P, S, S, L, L, Z, E, R, R, U, D },
		{ P, P, P, P, S, S, S, S, S, L, Z, E, R, R, U, D },
		{ P, P, P, P, S, L, L, L, L, L, Z, E, R, R, U, D },
		{ P, P, P, S, S, L, L, Z, Z, E, E, R, R, R, U, D },
	};
	static const int powers[] = { -1, 0, 0, 1 };
	struct core_words words = core_block(job, ~(uint64_t)0, DRAW_SUPERBLOCK);
	bool half = job->dtype == CORE_FLOAT16 || job->dtype == CORE_BFLOAT16;

	if (domain->plain || job->count < SMALLEST_MIXED)
		return;
	memcpy(job->regime, mixes[words.w[0] % 4], CORE_REGIMES);
	job->lengths = 1;
	while (job->lengths < CORE_LENGTHS && core_length(job->lengths) <= job->count / 8)
		job->lengths++;
	/* Who states a mean means it: values stay about as near to it as he expects. */
	if (domain->mean == 0) {
		job->grow = half ? 3 : 5;
		job->scale *= core_power(powers[words.w[1] % 4]);
	}
}

int
generate_job(const unsigned char key[GENERATE_KEY_BYTES], const struct generate_domain *domain, enum dtype dtype,
	int rank, const int64_t *shape, struct generate_job *job, struct buf *err)
{
	if (generate_check(domain, dtype, rank, shape, err))
		return -1;
	*job = (struct generate_job){
		.key = { little_endian(key), little_endian(key + 4) },
		.tail = { little_endian(key + 8), little_endian(key + 12) },
		.distribution = (int32_t)domain->distribution, .dtype = (int32_t)dtype,
		.middle = domain->mean, .scale = domain->scale,
		.low = domain->low, .width = domain->high - domain->low,
		.p = domain->p, .value = domain->value,
		.low_integer = domain->low_integer,
		.span = (uint64_t)domain->high_integer - (uint64_t)domain->low_integer,
		.extent = 1, .count = 1,
	};
	job->zero = domain->low <= 0 && domain->high > 0 ? 0 : domain->low;
	job->zero_integer = domain->low_integer <= 0 && domain->high_integer > 0 ? 0 : domain->low_integer;
	for (int d = 0; d < rank; d++)
		job->count *= (uint64_t)shape[d];
	if (rank > 0 && shape[rank - 1] > 0)
		job->extent = (uint64_t)shape[rank - 1];
	choose_regimes(domain, job);
	return 0;
}

/* ---- filling */

static uint64_t
row_total(const struct generate_job *job, uint64_t first)
{
	uint64_t total = 0;

	for (uint64_t j = 0; j < job->extent; j++)
		total += core_weight(job, first + j);
	return total;
}

void
generate_element(const struct generate_job *job, uint64_t i, void *element)
{
	uint64_t total = job->distribution == CORE_PROBABILITY ? row_total(job, i - i % job->extent) : 0;

	generate_core_element(job, i, total, element);
}

int
generate_tensor(const unsigned char key[GENERATE_KEY_BYTES], const struct generate_domain *domain,
	struct tensor *t, struct buf *err)
{
	struct generate_job job;
	size_t size = dtype_bytes(t->dtype);
	uint64_t total = 0;

	if (generate_job(key, domain, t->dtype, t->rank, t->shape, &job, err))
		return -1;
	for (uint64_t i = 0; i < (uint64_t)tensor_elements(t); i++) {
		if (job.distribution == CORE_PROBABILITY && i % job.extent == 0)
			total = row_total(&job, i);
		generate_core_element(&job, i, total, (char *)t->data + i * size);
	}
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
