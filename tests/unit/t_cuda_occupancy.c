/* The occupancy calculation against the answers of an H200, line by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/occupancy.h"
#include "cuda/profile.h"

enum { MAX_KERNELS = 16 };

static struct known {
	char name[32];
	struct occupancy_kernel kernel;
} known[MAX_KERNELS];
static int known_count;

static const struct occupancy_kernel *
find(const char *name)
{
	for (int i = 0; i < known_count; i++)
		if (!strcmp(known[i].name, name))
			return &known[i].kernel;
	fail_msg("no kernel %s", name);
	return NULL;
}

static void
read_kernel(const char *line)
{
	struct known *k = &known[known_count++];
	unsigned most;

	assert_true(known_count <= MAX_KERNELS);
	assert_int_equal(sscanf(line, "func %31s %u %u %u %u %d %u", k->name, &k->kernel.registers, &k->kernel.static_shared,
		&k->kernel.max_threads, &k->kernel.dynamic_limit, &k->kernel.carveout, &most), 7);
	assert_int_equal(occupancy_max_threads(&k->kernel), most);
	k->kernel.gpu = occupancy_gpu(90);
}

static void
answers_are_those_of_an_h200(void **state)
{
	struct io_in *in = io_open_in("tests/data/cuda/h200-occupancy.txt", NULL);
	struct buf line = BUF_INIT;
	int checked = 0;

	(void)state;
	assert_non_null(in);
	while (io_read_line(in, &line, 1000, NULL) == IO_LINE) {
		char name[32];
		unsigned a, blocks;
		unsigned long bytes;

		if (!strncmp(line.data, "func ", 5)) {
			read_kernel(line.data);
		} else if (sscanf(line.data, "occ %31s %u %lu %u", name, &a, &bytes, &blocks) == 4) {
			if (occupancy_blocks(find(name), a, bytes) != blocks)
				fail_msg("%s: %u", line.data, occupancy_blocks(find(name), a, bytes));
			checked++;
		} else if (sscanf(line.data, "dyn %31s %u %u %lu", name, &blocks, &a, &bytes) == 4) {
			if (occupancy_dynamic_shared(find(name), blocks, a) != bytes)
				fail_msg("%s: %lu", line.data, (unsigned long)occupancy_dynamic_shared(find(name), blocks, a));
			checked++;
		}
	}
	assert_true(checked > 1600);
	io_close_in(in);
	buf_release(&line);
}

/* By hand from the CUDA C++ Programming Guide's table of technical specifications. */
static void
other_architectures_hold_what_is_published(void **state)
{
	static const struct { int arch; uint32_t threads, registers, shared, blocks; } cases[] = {
		{ 80, 1024, 32, 0, 2 }, { 80, 32, 32, 0, 32 }, { 80, 256, 255, 0, 1 }, { 80, 128, 32, 163 << 10, 1 },
		{ 80, 128, 32, (163 << 10) + 1, 0 }, { 86, 32, 32, 0, 16 }, { 89, 1024, 32, 0, 1 }, { 89, 32, 32, 0, 24 },
		{ 89, 128, 32, 99 << 10, 1 }, { 89, 128, 32, (99 << 10) + 1, 0 }, { 90, 1024, 32, 0, 2 },
		{ 90, 128, 32, 227 << 10, 1 }, { 100, 128, 32, 227 << 10, 1 }, { 120, 128, 32, (99 << 10) + 1, 0 },
		{ 89, 256, 32, 24 << 10, 4 }, { 80, 256, 32, 24 << 10, 6 }, { 75, 1024, 32, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct occupancy_kernel k = { cases[i].registers, 0, 1024, UINT32_MAX, -1, occupancy_gpu(cases[i].arch) };

		if (occupancy_blocks(&k, cases[i].threads, cases[i].shared) != cases[i].blocks)
			fail_msg("case %zu: %u", i, occupancy_blocks(&k, cases[i].threads, cases[i].shared));
	}
}

static void
profile_is_read_or_refused(void **state)
{
	static const char *const broken[] = { "", "name X\n", "name X\nmemory_total 1\ndriver_version 1\nattribute 16\n",
		"name X\nmemory_total 1\ndriver_version 1\nattribute 999 1\n", "name X\nmemory_total 1\ndriver_version 1\nnonsense 1\n" };
	struct gpu_profile profile;
	struct buf text = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(buf_read_file(&text, "common/cuda/profiles/h200.profile", 1 << 20, &err), 0);
	assert_int_equal(profile_parse(buf_str(&text), &profile, &err), 0);
	assert_string_equal(profile.name, "NVIDIA H200");
	assert_int_equal(profile.attribute[16], 132);
	assert_int_equal(profile.attribute[97], 232448);
	assert_false(profile.has_attribute[150]);
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		buf_reset(&err);
		assert_int_equal(profile_parse(broken[i], &profile, &err), -1);
		assert_true(err.len > 0);
	}
	buf_release(&text);
	buf_release(&err);
}

static void
profiles_are_found_by_name_alone(void **state)
{
	static const char *const none[] = { "", "../h200", "H200", "h200.profile", "h 200" };
	static const char end[] = "/libexec/kernelmosaic/profiles/h200.profile";
	struct buf err = BUF_INIT;
	char *path = profile_path("h200", &err);

	(void)state;
	assert_non_null(path);
	assert_true(strlen(path) > strlen(end));
	assert_string_equal(path + strlen(path) - strlen(end), end);
	free(path);
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		buf_reset(&err);
		assert_null(profile_path(none[i], &err));
		assert_true(err.len > 0);
	}
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_an_h200),
		cmocka_unit_test(other_architectures_hold_what_is_published),
		cmocka_unit_test(profile_is_read_or_refused), cmocka_unit_test(profiles_are_found_by_name_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
