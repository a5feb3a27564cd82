/* Buffers, arenas and numbers: the small things everything stands on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/num.h"
#include "base/opt.h"

static void
buf_grows(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	for (int i = 0; i < 10000; i++)
		buf_addf(&b, "%d,", i % 10);
	assert_int_equal(b.len, 20000);
	assert_int_equal(strlen(b.data), 20000);
	assert_memory_equal(b.data + 19990, "5,6,7,8,9,", 10);
	char *taken = buf_detach(&b);
	assert_int_equal(b.len, 0);
	assert_null(b.data);
	free(taken);
}

static void
buf_elides_the_middle(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_addc(&b, i < 500 ? 'a' : 'z');
	buf_elide(&b, 1000);
	assert_int_equal(b.len, 1000);
	buf_elide(&b, 100);
	assert_non_null(strstr(b.data, "\n[... 900 bytes left out ...]\n"));
	assert_int_equal(b.data[0], 'a');
	assert_int_equal(b.data[b.len - 1], 'z');
	buf_release(&b);
}

static void
buf_err_appends(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(buf_err(&err, "%s: no", "x"), -1);
	assert_string_equal(buf_str(&err), "x: no");
	assert_int_equal(buf_err(NULL, "nobody listens"), -1);
	buf_release(&err);
}

static void
buf_reads_files_within_a_maximum(void **state)
{
	struct buf b = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(buf_read_file(&b, "/proc/self/stat", 4, &err), -1);
	assert_non_null(strstr(buf_str(&err), "larger than 4 bytes"));
	buf_reset(&err);
	assert_int_equal(buf_read_file(&b, "/nowhere/at/all", 4, &err), -1);
	assert_string_equal(buf_str(&err), "/nowhere/at/all: No such file or directory");
	buf_release(&b);
	buf_release(&err);
}

static void
arena_gives_zeroed_memory_again(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t size = 1; size < 100000; size = size * 3 + 1) {
			unsigned char *p = arena_alloc(&a, size);
			assert_int_equal((uintptr_t)p % 16, 0);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(p[i], 0);
			memset(p, 0xff, size);
		}
		arena_reset(&a);
	}
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	arena_release(&a);
}

static void
num_takes_whole_numbers_within_range(void **state)
{
	uint64_t u = 7;
	int64_t i = 7;
	double d = 7;
	static const char *const bad[] = { "", " 1", "1 ", "+1", "0x10", "1e3", "-1", "18446744073709551616", "1.0", NULL };

	(void)state;
	for (int k = 0; bad[k]; k++)
		assert_int_equal(num_u64(bad[k], 0, UINT64_MAX, &u), -1);
	assert_int_equal(u, 7);
	assert_int_equal(num_u64("18446744073709551615", 0, UINT64_MAX, &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(num_u64("9", 1, 8, &u), -1);
	assert_int_equal(num_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &i), 0);
	assert_true(i == INT64_MIN);
	assert_int_equal(num_i64("--1", INT64_MIN, INT64_MAX, &i), -1);
	assert_int_equal(num_f64("-1.5e3", -1e9, 1e9, &d), 0);
	assert_true(d == -1500);
	assert_int_equal(num_f64("nan", -1e9, 1e9, &d), -1);
	assert_int_equal(num_f64("1e999", -1e308, 1e308, &d), -1);
}

static void
num_takes_sizes(void **state)
{
	uint64_t u = 7;

	(void)state;
	assert_int_equal(num_bytes("64M", 0, UINT64_MAX, &u), 0);
	assert_int_equal(u, 64 << 20);
	assert_int_equal(num_bytes("12", 0, UINT64_MAX, &u), 0);
	assert_int_equal(u, 12);
	assert_int_equal(num_bytes("1MB", 0, UINT64_MAX, &u), -1);
	assert_int_equal(num_bytes("M", 0, UINT64_MAX, &u), -1);
	assert_int_equal(num_bytes("99999999T", 0, UINT64_MAX, &u), -1);
}

static void
options_may_follow_operands(void **state)
{
	bool flag = false;
	const char *text = NULL;
	uint64_t number = 0;
	const struct opt table[] = {
		{ 'f', "flag", OPT_FLAG, &flag, NULL, "a flag", 0, 0 }, { 't', "text", OPT_STRING, &text, "TEXT", "a text", 0, 0 },
		{ 0, "number", OPT_U64, &number, "N", "a number", 1, 9 }, { 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
	};
	struct opt_program program = { .name = "p", .operands = "", .summary = "", .example = "", .tables = { table } };
	char *argv[] = { "p", "one", "-ft", "x", "-", "--number=7", "two", "--", "-three", NULL };

	(void)state;
	int first = opt_parse(&program, 9, argv);
	assert_int_equal(first, 5);
	assert_string_equal(argv[5], "one");
	assert_string_equal(argv[6], "-");
	assert_string_equal(argv[7], "two");
	assert_string_equal(argv[8], "-three");
	assert_true(flag);
	assert_string_equal(text, "x");
	assert_int_equal(number, 7);
	char *command[] = { "p", "-f", "program", "-t", "x", NULL };
	program.runs_command = true;
	assert_int_equal(opt_parse(&program, 5, command), 2);
	assert_string_equal(command[3], "-t");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_grows), cmocka_unit_test(buf_elides_the_middle), cmocka_unit_test(buf_err_appends),
		cmocka_unit_test(buf_reads_files_within_a_maximum), cmocka_unit_test(arena_gives_zeroed_memory_again),
		cmocka_unit_test(num_takes_whole_numbers_within_range), cmocka_unit_test(num_takes_sizes),
		cmocka_unit_test(options_may_follow_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
