/* Inputs from a 32-byte key: counter-based, so any element can be made alone, anywhere, in any order.
 *
 * Generator: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). Philox key = key bytes 0-7, counter = {element low 32, element high 32, key bytes 8-11 XOR
 * draw, key bytes 12-15}, all words little-endian; bytes 16-31 are not used. What a single element is made
 * of stands in generate_core.h, which a GPU compiles too (generate.cu); the distributions and regimes are
 * told in generate.c. */
#ifndef TENSOR_GENERATE_H
#define TENSOR_GENERATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tensor/generate_core.h"
#include "tensor/tensor.h"

#define GENERATE_KEY_BYTES 32

enum generate_distribution {
	GENERATE_NORMAL,	/* mean, scale: mean + scale * z, |z| < 6.93 where plain */
	GENERATE_UNIFORM,	/* low <= value < high before rounding to the dtype */
	GENERATE_INTEGERS,	/* low_integer <= value < high_integer */
	GENERATE_PERMUTATION,	/* 0..n-1 along the last axis, n its extent */
	GENERATE_SORTED,	/* ascending along the last axis; where plain, one value in each n-th of low..high */
	GENERATE_PROBABILITY,	/* rows along the last axis are positive and sum to 1 (before rounding) */
	GENERATE_BERNOULLI,	/* 1 with probability p, else 0 */
	GENERATE_CONSTANT,	/* value */
	GENERATE_COUNT
};

/* What the elements of an input look like. Only the fields of its distribution are read. */
struct generate_domain {
	enum generate_distribution distribution;
	double mean, scale;			/* normal; scale >= 0 */
	double low, high;			/* uniform, sorted (floats); low < high */
	int64_t low_integer, high_integer;	/* integers, sorted (integer dtypes); low < high */
	double p;				/* bernoulli; 0..1 */
	double value;				/* constant */
	bool plain;				/* no regimes: to look at a distribution, never for a verdict */
};

/* "normal", ... ; -1 for an unknown name. */
int generate_distribution_from_name(const char *name, size_t length, enum generate_distribution *out);
/* For a task that states no domain: normal(0, 1) for floats, integers 0..9 for integers, bernoulli(0.5). */
void generate_default(enum dtype dtype, struct generate_domain *domain);
/* Does the domain suit the dtype and shape? 0, or -1 with a sentence. generate_tensor checks too. */
int generate_check(const struct generate_domain *domain, enum dtype dtype, int rank, const int64_t *shape,
	struct buf *err);

/* What a kernel needs to make elements of such a tensor: generate.cu takes it by value. 0, or -1. */
int generate_job(const unsigned char key[GENERATE_KEY_BYTES], const struct generate_domain *domain, enum dtype dtype,
	int rank, const int64_t *shape, struct generate_job *job, struct buf *err);
/* One element by row-major number, into memory aligned to the dtype. */
void generate_element(const struct generate_job *job, uint64_t i, void *element);

/* Fills t (its dtype and shape are given). 0, or -1 with a sentence. */
int generate_tensor(const unsigned char key[GENERATE_KEY_BYTES], const struct generate_domain *domain,
	struct tensor *t, struct buf *err);

/* The key of one input: SHA-256 over the parts, each preceded by its length in 8 bytes, little-endian,
 * the seed and the trial as 8 bytes each. Strings are borrowed. */
struct generate_source {
	uint64_t seed, trial;
	const char *task_id, *solution_source, *workload, *tensor;
};
void generate_key(const struct generate_source *source, unsigned char key[GENERATE_KEY_BYTES]);

/* One block of the generator, for other uses and for tests against published vectors. */
void generate_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
