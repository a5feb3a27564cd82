/* The generator's kernels on the PTX machine against the generator in C: every dtype, every distribution, bit for
 * bit, in the whole and from the middle. What is compiled here is what a GPU is given. */
#include "ptx_rig.h"

#include "tensor/generate.h"

static const unsigned char key[32] = { 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8 };
static struct buf text;

struct arguments {
	struct generate_job job;
	uint64_t first, count;
	uint32_t element_bytes;
	uint64_t out;
};

static struct generate_domain
domain_of(int distribution, double mean, bool plain)
{
	return (struct generate_domain){ .distribution = (enum generate_distribution)distribution, .mean = mean, .scale = 1.5,
		.low = -0.75, .high = 2.5, .low_integer = 0, .high_integer = 200, .p = 0.4, .value = -3, .plain = plain };
}

/* Elements from `first` on, of a tensor with rows of 77. */
static void
compare_with_c(struct rig *r, void *out, size_t out_bytes, enum dtype dtype, const struct generate_domain *domain,
	int64_t rows, uint64_t first, uint64_t count)
{
	int64_t shape[] = { rows, 77 };
	bool by_row = domain->distribution == GENERATE_PROBABILITY;
	struct arguments a = { .first = by_row ? first / 77 : first, .count = by_row ? count / 77 : count,
		.element_bytes = (uint32_t)dtype_bytes(dtype), .out = (uint64_t)(uintptr_t)out };
	struct tensor t;
	struct buf err = BUF_INIT;

	assert_int_equal(generate_job(key, domain, dtype, 2, shape, &a.job, &err), 0);
	assert_int_equal(tensor_init(&t, "x", dtype, 2, shape, NULL), 0);
	assert_int_equal(generate_tensor(key, domain, &t, NULL), 0);
	assert_true(count * a.element_bytes <= out_bytes);
	memset(out, 0xff, out_bytes);
	enum ptx_status status = rig_run(r, by_row ? "km_generate_rows" : "km_generate", 5, 64, &a, sizeof a);
	if (status != PTX_OK)
		fail_msg("%s: %s", ptx_status_name(status), buf_str(&r->err));
	for (uint64_t i = 0; i < count; i++)
		if (memcmp((char *)out + i * a.element_bytes, (char *)t.data + (first + i) * a.element_bytes, a.element_bytes))
			fail_msg("distribution %d, %s, element %d: %.17g and %.17g", (int)domain->distribution, dtype_name(dtype),
				(int)(first + i), dtype_load(dtype, (char *)out + i * a.element_bytes), tensor_get(&t, (int64_t)(first + i)));
	if (count * a.element_bytes < out_bytes)
		assert_int_equal(((unsigned char *)out)[count * a.element_bytes], 0xff);
	tensor_release(&t);
}

static void
kernels_make_the_bytes_that_c_makes(void **state)
{
	struct rig r;
	int64_t rows = 150;
	size_t bytes = (size_t)rows * 77 * 8;
	int compared = 0;

	(void)state;
	rig_open(&r, buf_str(&text), text.len, NULL);
	void *out = rig_buffer(&r, "out", bytes, PTX_READ_WRITE, true);
	for (int distribution = 0; distribution < GENERATE_COUNT; distribution++)
		for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
			for (int plain = 0; plain < 2; plain++) {
				struct generate_domain domain = domain_of(distribution, plain ? 40 : 0, plain);
				int64_t shape[] = { rows, 77 };
				struct buf why = BUF_INIT;

				if (dtype == DTYPE_BOOL && distribution != GENERATE_BERNOULLI)
					domain.high_integer = 2;
				if (generate_check(&domain, (enum dtype)dtype, 2, shape, &why) == 0) {
					/* All 11,550 elements of the mixed case: two superblocks. */
					if (!plain)
						compare_with_c(&r, out, bytes, (enum dtype)dtype, &domain, rows, 0, (uint64_t)rows * 77);
					compare_with_c(&r, out, bytes, (enum dtype)dtype, &domain, rows, 77 * 20, 77 * 3);
					compared++;
				}
				buf_release(&why);
			}
	assert_true(compared > 80);
	rig_close(&r);
}

static void
large_integers_and_halves_at_their_ends_agree(void **state)
{
	static const struct { enum dtype dtype; struct generate_domain domain; } cases[] = {
		{ DTYPE_INT64, { .distribution = GENERATE_INTEGERS, .low_integer = INT64_MIN, .high_integer = INT64_MAX } },
		{ DTYPE_INT32, { .distribution = GENERATE_INTEGERS, .low_integer = INT32_MIN, .high_integer = (int64_t)INT32_MAX + 1 } },
		{ DTYPE_INT64, { .distribution = GENERATE_SORTED, .low_integer = INT64_MIN, .high_integer = INT64_MAX } },
		{ DTYPE_FLOAT16, { .distribution = GENERATE_NORMAL, .scale = 20000 } },
		{ DTYPE_FLOAT16, { .distribution = GENERATE_UNIFORM, .low = -0x1p-22, .high = 0x1p-22 } },
		{ DTYPE_BFLOAT16, { .distribution = GENERATE_NORMAL, .scale = 1e38 } },
		{ DTYPE_FLOAT32, { .distribution = GENERATE_NORMAL, .scale = 1e38 } },
		{ DTYPE_FLOAT32, { .distribution = GENERATE_UNIFORM, .low = -0x1p-147, .high = 0x1p-147 } },
		{ DTYPE_INT32, { .distribution = GENERATE_NORMAL, .scale = 1e9 } },
		{ DTYPE_INT64, { .distribution = GENERATE_NORMAL, .scale = 1e19 } },
		{ DTYPE_UINT8, { .distribution = GENERATE_UNIFORM, .low = -2, .high = 300 } },
	};
	struct rig r;
	size_t bytes = 77 * 40 * 8;

	(void)state;
	rig_open(&r, buf_str(&text), text.len, NULL);
	void *out = rig_buffer(&r, "out", bytes, PTX_READ_WRITE, true);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		compare_with_c(&r, out, bytes, cases[i].dtype, &cases[i].domain, 40, 0, 77 * 40);
	rig_close(&r);
}

static int
read_kernels(void **state)
{
	struct buf path = BUF_INIT;
	const char *build = getenv("KM_OUT");
	char chunk[65536];
	size_t got;

	(void)state;
	buf_addf(&path, "%s/test/generate.ptx", build ? build : "out");
	FILE *file = fopen(buf_str(&path), "re");
	if (!file) {
		print_error("%s is not there\n", buf_str(&path));
		return -1;
	}
	while ((got = fread(chunk, 1, sizeof chunk, file)))
		buf_add(&text, chunk, got);
	fclose(file);
	buf_release(&path);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_make_the_bytes_that_c_makes),
		cmocka_unit_test(large_integers_and_halves_at_their_ends_agree),
	};

	return cmocka_run_group_tests(tests, read_kernels, NULL);
}
