/* Tables as Nsight Compute prints them, and what is no such table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "cuda/ncu.h"

#define NAMES "\"ID\",\"Process Name\",\"Kernel Name\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\"," \
	"\"lts__t_sector_hit_rate.pct\",\"launch__registers_per_thread\"\n"
#define UNITS "\"\",\"\",\"\",\"ns\",\"byte\",\"%\",\"register/thread\"\n"

static struct ncu_report report;

static double
value(uint32_t launch, const char *field)
{
	for (int i = 0; i < NCU_METRICS; i++)
		if (!strcmp(ncu_metrics[i].field, field))
			return report.launch[launch].value[i];
	fail_msg("no metric makes the field %s", field);
	return NAN;
}

static void
takes(const char *text, uint32_t launches)
{
	struct buf err = BUF_INIT;

	if (ncu_read(text, strlen(text), &report, &err))
		fail_msg("%s: %s", text, buf_str(&err));
	assert_int_equal(report.launches, launches);
}

static void
refuses(const char *text, size_t length, const char *words)
{
	struct buf err = BUF_INIT;

	assert_int_equal(ncu_read(text, length, &report, &err), -1);
	if (!strstr(buf_str(&err), words))
		fail_msg("'%s' does not say '%s'", buf_str(&err), words);
	buf_release(&err);
}

static void
a_table_is_read(void **unused)
{
	(void)unused;
	takes("==WARNING== Note: Running with unmodified GPU clocks.\n==PROF== Connected to process 7 (/x/km-gpu)\n" NAMES UNITS
		"\"0\",\"km-gpu\",\"_Z5scalePfl\",\"5,216\",\"4,197,632\",\"53.45\",\"16\"\n"
		"\"1\",\"km-gpu\",\"second\",\"1234.5\",\"0\",\"100\",\"255\"\n==PROF== Disconnected from process 7\n", 2);
	assert_string_equal(report.launch[0].kernel, "_Z5scalePfl");
	assert_true(fabs(value(0, "duration_us") - 5.216) < 1e-12);
	assert_true(value(0, "dram_read_bytes") == 4197632 && value(0, "l2_hit_percent") == 53.45);
	assert_true(value(0, "registers_per_thread") == 16 && isnan(value(0, "warp_instructions")));
	assert_string_equal(report.launch[1].kernel, "second");
	assert_true(fabs(value(1, "duration_us") - 1.2345) < 1e-12 && value(1, "dram_read_bytes") == 0);
	takes(NAMES UNITS, 0);
	/* Lines may end as on other systems, and the last not at all. */
	takes("\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\"\r\n\"\",\"\",\"byte\"\r\n\"0\",\"k\",\"7\"", 1);
	assert_true(value(0, "dram_read_bytes") == 7);
}

static void
what_is_no_number_is_absent(void **unused)
{
	static const char *const values[] = { "n/a", "", "(!) nan", "nan", "inf", "-1", "1e400", "12 bytes", "1.2.3", "--1",
		"99999999999999999999", ",", "1111111111111111111111111111111111111111111111111111111111111111111111111111" };

	(void)unused;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct buf text = BUF_INIT;

		buf_adds(&text, NAMES UNITS);
		buf_addf(&text, "\"0\",\"p\",\"k\",\"%s\",\"1\",\"2\",\"3\"\n", values[i]);
		takes(buf_str(&text), 1);
		if (!isnan(value(0, "duration_us")))
			fail_msg("'%s' was taken for %g", values[i], value(0, "duration_us"));
		assert_true(value(0, "dram_read_bytes") == 1);
		buf_release(&text);
	}
}

/* Figures in another unit than the field's would be wrong ones. */
static void
another_unit_is_not_read(void **unused)
{
	(void)unused;
	takes(NAMES "\"\",\"\",\"\",\"ms\",\"Kbyte\",\"%\",\"register/thread\"\n\"0\",\"p\",\"k\",\"1\",\"2\",\"3\",\"4\"\n", 1);
	assert_true(isnan(value(0, "duration_us")) && isnan(value(0, "dram_read_bytes")));
	assert_true(value(0, "l2_hit_percent") == 3);
}

/* A kernel may be named like anything. */
static void
names_do_not_break_the_table(void **unused)
{
	static const char *const names[] = { "void f<1, (char)34>(int*)", "a\"\",\"\"b", "x\n==ERROR== y\n\"\"ID\"\",z", "\r\n",
		"\"\"", "" };

	(void)unused;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct buf text = BUF_INIT;

		buf_adds(&text, NAMES UNITS);
		buf_addf(&text, "\"0\",\"p\",\"%s\",\"1\",\"2\",\"3\",\"4\"\n\"1\",\"p\",\"last\",\"5\",\"6\",\"7\",\"8\"\n",
			names[i]);
		takes(buf_str(&text), 2);
		assert_true(value(0, "dram_read_bytes") == 2 && value(1, "dram_read_bytes") == 6);
		assert_string_equal(report.launch[1].kernel, "last");
		buf_release(&text);
	}
}

static void
a_long_name_is_cut(void **unused)
{
	struct buf text = BUF_INIT;

	(void)unused;
	buf_adds(&text, NAMES UNITS "\"0\",\"p\",\"");
	for (int i = 0; i < 100000; i++)
		buf_addc(&text, 'k');
	buf_adds(&text, "\",\"1\",\"2\",\"3\",\"4\"\n");
	takes(buf_str(&text), 1);
	assert_int_equal(strlen(report.launch[0].kernel), sizeof report.launch[0].kernel - 1);
	assert_true(value(0, "registers_per_thread") == 4);
	buf_release(&text);
}

static void
what_is_no_table_is_refused(void **unused)
{
	static const struct { const char *text, *words; } cases[] = {
		{ "", "it wrote no table" },
		{ "==WARNING== No kernels were profiled.\n", "it wrote no table" },
		{ "==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n==ERROR== \n",
			"it says: ERR_NVGPUCTRPERM" },
		{ "==ERROR== a\tb\x1b[31m\n", "it says: a b [31m" },
		{ "\"ID\",\"gpu__time_duration.sum\"\n\"\",\"ns\"\n", "no kernel names" },
		{ "\"ID\",\"Kernel Name\",\"Kernel Name\n", "first line that is malformed" },
		{ NAMES, "line of units that is malformed" },
		{ NAMES "\"\",\"\"\n", "line of units that is malformed" },
		{ NAMES UNITS "\"0\",\"p\",\"k\",\"1\",\"2\",\"3\"\n", "line that is malformed" },
		{ NAMES UNITS "\"0\",\"p\",\"k\",\"1\",\"2\",\"3\",\"4\",\"5\"\n", "more values than names" },
		{ NAMES UNITS "\"0\",\"p\",\"k\"x,\"1\",\"2\",\"3\",\"4\"\n", "line that is malformed" },
		{ NAMES UNITS "\"0\",\"p\",\"k\",1\"2\",\"2\",\"3\",\"4\"\n", "line that is malformed" },
		{ NAMES UNITS "\"0\",\"p\",\"k", "line that is malformed" },
		{ "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"dram__bytes_read.sum\"\n", "dram__bytes_read.sum twice" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuses(cases[i].text, strlen(cases[i].text), cases[i].words);
	refuses("\0\0\0", 3, "it wrote no table");
}

static void
limits_are_kept(void **unused)
{
	struct buf text = BUF_INIT;

	(void)unused;
	buf_adds(&text, NAMES UNITS);
	for (int i = 0; i < NCU_MAX_LAUNCHES; i++)
		buf_adds(&text, "\"0\",\"p\",\"k\",\"1\",\"2\",\"3\",\"4\"\n");
	takes(buf_str(&text), NCU_MAX_LAUNCHES);
	buf_adds(&text, "\"0\",\"p\",\"k\",\"1\",\"2\",\"3\",\"4\"\n");
	refuses(buf_str(&text), text.len, "more launches than were asked for");
	buf_reset(&text);
	buf_adds(&text, "\"ID\",\"Kernel Name\"");
	for (int i = 0; i < NCU_MAX_COLUMNS; i++)
		buf_adds(&text, ",\"x\"");
	refuses(buf_str(&text), text.len, "first line that is malformed");
	buf_release(&text);
}

static void
the_program_is_looked_for(void **unused)
{
	char *path;

	(void)unused;
	assert_null(ncu_find("/nonexistent/ncu"));
	assert_null(ncu_find("no-program-has-this-name"));
	path = ncu_find("sh");
	assert_non_null(path);
	assert_string_equal(strrchr(path, '/'), "/sh");
	free(path);
	setenv("PATH", "/nonexistent::/usr/bin:/bin", 1);
	path = ncu_find("sh");
	assert_non_null(path);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_read),
		cmocka_unit_test(what_is_no_number_is_absent),
		cmocka_unit_test(another_unit_is_not_read),
		cmocka_unit_test(names_do_not_break_the_table),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(what_is_no_table_is_refused),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(the_program_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
