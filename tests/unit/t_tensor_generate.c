/*
 * Input generation: the generator against its published vectors, the distributions against what they
 * promise, the bytes against a golden value (a change of the bytes changes every verdict's inputs).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "hash/sha256.h"
#include "tensor/generate.h"

static const unsigned char key[32] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static void
fill(struct tensor *t, enum dtype dtype, int rank, const int64_t *shape, struct generate_domain domain)
{
	assert_int_equal(tensor_init(t, "x", dtype, rank, shape, NULL), 0);
	assert_int_equal(generate_tensor(key, &domain, t, NULL), 0);
}

/* Known answers of the authors' Random123 1.14 (kat_vectors). */
static void
philox(void **state)
{
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} cases[] = {
		{ { 0 }, { 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u }, { ~0u, ~0u }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
			{ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};
	uint32_t out[4];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		generate_philox(cases[i].counter, cases[i].key, out);
		assert_memory_equal(out, cases[i].out, sizeof out);
	}
}

static void
normal(void **state)
{
	static const int64_t shape[] = { 200000 };
	double sum = 0, squares = 0, fourth = 0;
	int beyond2 = 0;
	struct tensor t;

	(void)state;
	fill(&t, DTYPE_FLOAT64, 1, shape, (struct generate_domain){ .distribution = GENERATE_NORMAL, .mean = 3,
		.scale = 2, .plain = true });
	for (int64_t i = 0; i < shape[0]; i++) {
		double z = (tensor_get(&t, i) - 3) / 2;

		sum += z;
		squares += z * z;
		fourth += z * z * z * z;
		beyond2 += fabs(z) > 2;
	}
	assert_true(fabs(sum / 200000) < 0.01);
	assert_true(fabs(squares / 200000 - 1) < 0.02);
	assert_true(fabs(fourth / 200000 - 2.925) < 0.08);
	assert_true(fabs(beyond2 / 200000. - 0.0455) < 0.003);
	tensor_release(&t);
}

static void
ranges(void **state)
{
	static const int64_t shape[] = { 100000 };
	int counts[7] = { 0 }, ones = 0;
	double low = 1e9, high = -1e9;
	struct tensor t;

	(void)state;
	fill(&t, DTYPE_FLOAT32, 1, shape, (struct generate_domain){ .distribution = GENERATE_UNIFORM, .low = -1,
		.high = 3, .plain = true });
	for (int64_t i = 0; i < shape[0]; i++) {
		double x = tensor_get(&t, i);

		assert_true(x >= -1 && x <= 3);
		low = fmin(low, x);
		high = fmax(high, x);
	}
	assert_true(low < -0.999 && high > 2.999);
	tensor_release(&t);
	fill(&t, DTYPE_INT32, 1, shape, (struct generate_domain){ .distribution = GENERATE_INTEGERS,
		.low_integer = -3,
		.high_integer = 4, .plain = true });
	for (int64_t i = 0; i < shape[0]; i++) {
		int64_t x = tensor_get_integer(&t, i);

		assert_true(x >= -3 && x < 4);
		counts[x + 3]++;
	}
	for (int i = 0; i < 7; i++)
		assert_true(abs(counts[i] - 100000 / 7) < 600);
	tensor_release(&t);
	fill(&t, DTYPE_BOOL, 1, shape, (struct generate_domain){ .distribution = GENERATE_BERNOULLI, .p = 0.3, .plain = true });
	for (int64_t i = 0; i < shape[0]; i++)
		ones += (int)tensor_get_integer(&t, i);
	assert_true(abs(ones - 30000) < 600);
	tensor_release(&t);
	fill(&t, DTYPE_INT64, 1, shape, (struct generate_domain){ .distribution = GENERATE_INTEGERS,
		.low_integer = INT64_MIN, .high_integer = INT64_MAX, .plain = true });
	int negative = 0;
	for (int64_t i = 0; i < shape[0]; i++)
		negative += tensor_get_integer(&t, i) < 0;
	assert_true(abs(negative - 50000) < 800);
	tensor_release(&t);
	fill(&t, DTYPE_BFLOAT16, 1, shape, (struct generate_domain){ .distribution = GENERATE_CONSTANT,
		.value = 0.5 });
	assert_true(tensor_get(&t, 99999) == 0.5);
	tensor_release(&t);
}

static void
rows(void **state)
{
	static const int64_t extents[] = { 1, 2, 3, 5, 17, 64, 1000 };
	struct tensor t;

	(void)state;
	for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
		int64_t n = extents[e], shape[] = { 3, n };

		fill(&t, DTYPE_INT32, 2, shape, (struct generate_domain){ .distribution = GENERATE_PERMUTATION });
		for (int64_t r = 0; r < 3; r++) {
			char seen[1000] = { 0 };

			for (int64_t j = 0; j < n; j++) {
				int64_t x = tensor_get_integer(&t, r * n + j);

				assert_true(x >= 0 && x < n && !seen[x]);
				seen[x] = 1;
			}
		}
		if (n == 1000)
			assert_memory_not_equal(t.data, (char *)t.data + 4000, 4000);
		tensor_release(&t);

		fill(&t, DTYPE_FLOAT64, 2, shape, (struct generate_domain){ .distribution = GENERATE_SORTED,
			.low = -5, .high = 5 });
		for (int64_t i = 0; i < 3 * n; i++) {
			assert_true(tensor_get(&t, i) >= -5 && tensor_get(&t, i) <= 5);
			assert_true(i % n == 0 || tensor_get(&t, i) >= tensor_get(&t, i - 1));
		}
		tensor_release(&t);

		fill(&t, DTYPE_UINT8, 2, shape, (struct generate_domain){ .distribution = GENERATE_SORTED,
			.low_integer = 10, .high_integer = 30 });
		for (int64_t i = 0; i < 3 * n; i++) {
			assert_true(tensor_get_integer(&t, i) >= 10 && tensor_get_integer(&t, i) < 30);
			assert_true(i % n == 0 || tensor_get(&t, i) >= tensor_get(&t, i - 1));
		}
		tensor_release(&t);

		fill(&t, DTYPE_FLOAT64, 2, shape,
			(struct generate_domain){ .distribution = GENERATE_PROBABILITY });
		for (int64_t r = 0; r < 3; r++) {
			double sum = 0;

			for (int64_t j = 0; j < n; j++) {
				assert_true(tensor_get(&t, r * n + j) > 0);
				sum += tensor_get(&t, r * n + j);
			}
			assert_true(fabs(sum - 1) < 1e-12);
		}
		tensor_release(&t);
	}
}

/* Every permutation of three comes up, about as often as the others. */
static void
permutations_mix(void **state)
{
	static const int64_t shape[] = { 60000, 3 };
	int counts[27] = { 0 };
	struct tensor t;

	(void)state;
	fill(&t, DTYPE_INT32, 2, shape, (struct generate_domain){ .distribution = GENERATE_PERMUTATION, .plain = true });
	for (int64_t r = 0; r < shape[0]; r++)
		counts[tensor_get_integer(&t, 3 * r) * 9 + tensor_get_integer(&t, 3 * r + 1) * 3
			+ tensor_get_integer(&t, 3 * r + 2)]++;
	for (int i = 0; i < 27; i++)
		if (counts[i])
			assert_true(abs(counts[i] - 10000) < 1500);
	tensor_release(&t);
}

static void
elements_stand_alone(void **state)
{
	static const int64_t shape[] = { 64 }, longer[] = { 1000 };
	unsigned char other_key[32];
	struct generate_domain domain = { .distribution = GENERATE_NORMAL, .scale = 1 };
	struct tensor t, u;

	(void)state;
	/* made alone, last to first, as in the whole */
	struct generate_job job;
	float element;
	fill(&t, DTYPE_FLOAT32, 1, shape, domain);
	fill(&u, DTYPE_FLOAT32, 1, longer, domain);
	assert_int_equal(generate_job(key, &domain, DTYPE_FLOAT32, 1, longer, &job, NULL), 0);
	for (uint64_t i = 1000; i-- > 0;) {
		generate_element(&job, i, &element);
		assert_memory_equal(&element, (float *)u.data + i, sizeof element);
	}
	/* each of the first 16 key bytes counts */
	for (int i = 0; i < 16; i++) {
		memcpy(other_key, key, sizeof key);
		other_key[i] ^= 0x10;
		assert_int_equal(generate_tensor(other_key, &domain, &t, NULL), 0);
		assert_memory_not_equal(t.data, u.data, t.bytes);
	}
	tensor_release(&t);
	tensor_release(&u);
}

/* ---- regimes: each of these would let a class of cheats pass if it did not occur */

static struct generate_domain
domain_of(enum generate_distribution distribution)
{
	return (struct generate_domain){ .distribution = distribution, .scale = 1, .low = -2, .high = 3,
		.low_integer = -200, .high_integer = 300, .p = 0.5 };
}

static double
mean_of(const struct tensor *t)
{
	double sum = 0;

	for (int64_t i = 0; i < tensor_elements(t); i++)
		sum += tensor_get(t, i);
	return sum / (double)tensor_elements(t);
}

static void
stretches_of_every_kind_in_one_tensor(void **state)
{
	static const int64_t shape[] = { 60000 };
	static const enum generate_distribution distributions[] = { GENERATE_NORMAL, GENERATE_UNIFORM, GENERATE_INTEGERS };

	(void)state;
	for (size_t d = 0; d < 3; d++) {
		int64_t zeros = 0, same = 0, rising = 0, falling = 0, repeated = 0, run_zeros = 0, run_same = 0,
			run_rising = 0, run_falling = 0, run_repeated[9] = { 0 };
		struct tensor t;

		fill(&t, d == 2 ? DTYPE_INT32 : DTYPE_FLOAT32, 1, shape, domain_of(distributions[d]));
		for (int64_t i = 8; i < shape[0]; i++) {
			double x = tensor_get(&t, i), before = tensor_get(&t, i - 1);

			run_zeros = x == 0 ? run_zeros + 1 : 0;
			run_same = x == before && x != 0 ? run_same + 1 : 0;
			run_rising = x >= before && x != tensor_get(&t, i - 2) ? run_rising + 1 : 0;
			run_falling = x <= before && x != tensor_get(&t, i - 2) ? run_falling + 1 : 0;
			for (int period = 2; period <= 8; period++) {
				run_repeated[period] = x != before && x == tensor_get(&t, i - period) ? run_repeated[period] + 1 : 0;
				repeated += run_repeated[period] == 20;
			}
			zeros += run_zeros == 20;
			same += run_same == 20;
			rising += run_rising == 20;
			falling += run_falling == 20;
		}
		if (!zeros || !same || !rising || !falling || !repeated)
			fail_msg("%zu: %d zeros, %d same, %d rising, %d falling, %d repeated", d, (int)zeros, (int)same,
				(int)rising, (int)falling, (int)repeated);
		tensor_release(&t);
	}
}

static void
normal_values_are_tailed_and_scaled_about_the_stated_mean(void **state)
{
	static const int64_t shape[] = { 100000 };
	int64_t beyond8 = 0, tiny = 0, beyond = 0;
	struct generate_domain far = domain_of(GENERATE_NORMAL);
	struct tensor t;

	(void)state;
	fill(&t, DTYPE_FLOAT32, 1, shape, domain_of(GENERATE_NORMAL));
	for (int64_t i = 0; i < shape[0]; i++) {
		double size = fabs(tensor_get(&t, i));

		beyond8 += size > 14;
		tiny += size != 0 && size < 0x1p-9;
		beyond += !(size < 14 * 32);
	}
	assert_true(beyond8 > 200 && beyond8 < 10000 && tiny > 1000 && beyond == 0);
	tensor_release(&t);
	far.mean = 50;
	fill(&t, DTYPE_FLOAT32, 1, shape, far);
	for (int64_t i = 0; i < shape[0]; i++)
		assert_true(fabs(tensor_get(&t, i) - 50) < 7);
	tensor_release(&t);
}

static void
values_stay_in_their_domain_and_reach_its_ends(void **state)
{
	static const int64_t shape[] = { 100000 };

	(void)state;
	for (int k = 0; k < 8; k++) {
		unsigned char other[32] = { (unsigned char)k, 9 };
		struct generate_domain domain = domain_of(GENERATE_INTEGERS);
		int64_t lowest = 0, highest = 0;
		struct tensor t;

		assert_int_equal(tensor_init(&t, "x", DTYPE_INT32, 1, shape, NULL), 0);
		assert_int_equal(generate_tensor(other, &domain, &t, NULL), 0);
		for (int64_t i = 0; i < shape[0]; i++) {
			int64_t x = tensor_get_integer(&t, i);

			assert_true(x >= -200 && x < 300);
			lowest += x == -200;
			highest += x == 299;
		}
		assert_true(lowest > 100 && highest > 100);
		tensor_release(&t);
		domain.distribution = GENERATE_UNIFORM;
		assert_int_equal(tensor_init(&t, "x", DTYPE_FLOAT64, 1, shape, NULL), 0);
		assert_int_equal(generate_tensor(other, &domain, &t, NULL), 0);
		lowest = highest = 0;
		for (int64_t i = 0; i < shape[0]; i++) {
			double x = tensor_get(&t, i);

			assert_true(x >= -2 && x < 3);
			lowest += x == -2;
			highest += x > 2.999999;
		}
		assert_true(lowest > 50 && highest > 50);
		tensor_release(&t);
	}
}

/* A mean over a million elements is not to be known before they are read. */
static void
expectations_differ_between_keys(void **state)
{
	static const int64_t shape[] = { 1 << 18 };
	double low[2] = { 1e9, 1e9 }, high[2] = { -1e9, -1e9 };

	(void)state;
	for (int k = 0; k < 8; k++)
		for (int d = 0; d < 2; d++) {
			unsigned char other[32] = { (unsigned char)k, 7 };
			struct generate_domain domain = domain_of(d ? GENERATE_UNIFORM : GENERATE_NORMAL);
			struct tensor t;

			assert_int_equal(tensor_init(&t, "x", DTYPE_FLOAT32, 1, shape, NULL), 0);
			assert_int_equal(generate_tensor(other, &domain, &t, NULL), 0);
			if (!d)
				for (int64_t i = 0; i < shape[0]; i++)
					tensor_set(&t, i, fabs(tensor_get(&t, i)));
			low[d] = fmin(low[d], mean_of(&t));
			high[d] = fmax(high[d], mean_of(&t));
			tensor_release(&t);
		}
	assert_true(high[0] > 1.5 * low[0]);
	assert_true(high[1] > low[1] + 0.3);
}

static void
small_tensors_are_plain(void **state)
{
	static const int64_t shape[] = { 31 };
	struct generate_domain domain = domain_of(GENERATE_NORMAL);
	struct tensor t, u;

	(void)state;
	fill(&t, DTYPE_FLOAT64, 1, shape, domain);
	domain.plain = true;
	fill(&u, DTYPE_FLOAT64, 1, shape, domain);
	assert_memory_equal(t.data, u.data, t.bytes);
	tensor_release(&t);
	tensor_release(&u);
}

/* The bytes of one tensor of each distribution. */
static void
golden(void **state)
{
	static const int64_t shape[] = { 50, 7 };
	static const struct generate_domain domains[] = {
		{ .distribution = GENERATE_NORMAL, .mean = 0.25, .scale = 1.5 },
		{ .distribution = GENERATE_UNIFORM, .low = -1, .high = 2 },
		{ .distribution = GENERATE_INTEGERS, .low_integer = -100, .high_integer = 100 },
		{ .distribution = GENERATE_PERMUTATION },
		{ .distribution = GENERATE_SORTED, .low = 0, .high = 1, .low_integer = 0, .high_integer = 50 },
		{ .distribution = GENERATE_PROBABILITY },
		{ .distribution = GENERATE_BERNOULLI, .p = 0.5 },
		{ .distribution = GENERATE_CONSTANT, .value = 3 },
	};
	static const enum dtype dtypes[] = { DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_INT32, DTYPE_INT32,
		DTYPE_FLOAT64,
		DTYPE_FLOAT32, DTYPE_BOOL, DTYPE_BFLOAT16 };
	struct sha256_state *hash = sha256_start();
	unsigned char digest[SHA256_BYTES];
	char hex[SHA256_HEX];
	struct tensor t;

	(void)state;
	for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
		fill(&t, dtypes[i], 2, shape, domains[i]);
		sha256_raw(hash, t.data, t.bytes);
		tensor_release(&t);
	}
	sha256_end(hash, digest);
	sha256_to_hex(digest, hex);
	assert_string_equal(hex, "902c4e4d014d6e83a0d235644d4d45a256d5e6e54c59c459964917defe91f0d6");
}

static void
keys(void **state)
{
	struct generate_source source = { 1, 2, "task", "source", "tiny", "x" }, other;
	unsigned char a[32], b[32];

	(void)state;
	generate_key(&source, a);
	generate_key(&source, b);
	assert_memory_equal(a, b, 32);
#define DIFFERS(field, what) other = source; other.field = what; generate_key(&other, b); assert_memory_not_equal(a, b, 32)
	DIFFERS(seed, 2);
	DIFFERS(trial, 1);
	DIFFERS(task_id, "tasks");
	DIFFERS(solution_source, "ource");
	DIFFERS(workload, "tinyx");
	DIFFERS(tensor, "y");
	/* parts do not run into one another */
	other = source;
	other.task_id = "tasks";
	other.solution_source = "ource";
	generate_key(&other, b);
	assert_memory_not_equal(a, b, 32);
}

static void
refused(void **state)
{
	static const int64_t shape[] = { 300 };
	static const struct {
		enum dtype dtype;
		int rank;
		struct generate_domain domain;
	} cases[] = {
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_NORMAL, .scale = -1 } },
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_NORMAL, .scale = NAN } },
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_UNIFORM, .low = 1, .high = 1 } },
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_UNIFORM, .low = -1e308, .high = 1e308 } },
		{ DTYPE_UINT8, 1, { .distribution = GENERATE_INTEGERS, .low_integer = 0, .high_integer = 257 } },
		{ DTYPE_UINT8, 1, { .distribution = GENERATE_INTEGERS, .low_integer = -1, .high_integer = 3 } },
		{ DTYPE_INT32, 1, { .distribution = GENERATE_INTEGERS, .low_integer = 3, .high_integer = 3 } },
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_INTEGERS, .high_integer = ((int64_t)1 << 53) + 1 } },
		{ DTYPE_UINT8, 1, { .distribution = GENERATE_PERMUTATION } },
		{ DTYPE_FLOAT32, 1, { .distribution = GENERATE_PERMUTATION } },
		{ DTYPE_INT32, 0, { .distribution = GENERATE_PERMUTATION } },
		{ DTYPE_INT32, 1, { .distribution = GENERATE_PROBABILITY } },
		{ DTYPE_FLOAT32, 0, { .distribution = GENERATE_SORTED, .low = 0, .high = 1 } },
		{ DTYPE_BOOL, 1, { .distribution = GENERATE_BERNOULLI, .p = 1.5 } },
	};
	static const char *const names[] = { "normal", "uniform", "integers", "permutation", "sorted", "probability",
		"bernoulli", "constant" };
	enum generate_distribution found;
	struct buf err = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_reset(&err);
		assert_int_equal(generate_check(&cases[i].domain, cases[i].dtype, cases[i].rank, shape, &err),
			-1);
		assert_true(err.len > 10);
	}
	for (size_t d = 0; d < sizeof names / sizeof *names; d++) {
		assert_int_equal(generate_distribution_from_name(names[d], strlen(names[d]), &found), 0);
		assert_int_equal(found, d);
	}
	assert_int_equal(generate_distribution_from_name("gauss", 5, &found), -1);
	for (int d = 0; d < DTYPE_COUNT; d++) {
		struct generate_domain domain;

		generate_default((enum dtype)d, &domain);
		assert_int_equal(generate_check(&domain, (enum dtype)d, 1, shape, &err), 0);
	}
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox), cmocka_unit_test(normal), cmocka_unit_test(ranges),
			cmocka_unit_test(rows),
		cmocka_unit_test(permutations_mix), cmocka_unit_test(elements_stand_alone),
			cmocka_unit_test(golden),
		cmocka_unit_test(stretches_of_every_kind_in_one_tensor),
		cmocka_unit_test(normal_values_are_tailed_and_scaled_about_the_stated_mean),
		cmocka_unit_test(values_stay_in_their_domain_and_reach_its_ends),
		cmocka_unit_test(expectations_differ_between_keys), cmocka_unit_test(small_tensors_are_plain),
		cmocka_unit_test(keys), cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
