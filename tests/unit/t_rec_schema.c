/* The record table against its examples: schemas/valid passes, schemas/invalid fails with the words of the
 * sibling .error file, and schemas/NAME.json is what the table prints. Run from the repository's root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <glob.h>

#include "rec/json.h"
#include "rec/schema.h"

enum { MAX_EXAMPLE_BYTES = 1 << 20 };

/* "schemas/valid/task-math.json" is an example of the record "task". */
static void
record_of(const char *path, char name[64])
{
	const char *base = strrchr(path, '/') + 1;

	snprintf(name, 64, "%.*s", (int)strcspn(base, "-"), base);
}

static int
check_file(const char *path, struct buf *err)
{
	char name[64];
	json_t *value = rec_json_load_file(path, MAX_EXAMPLE_BYTES, err);
	int status;

	if (!value)
		return -1;
	record_of(path, name);
	status = rec_schema_check(name, value, err);
	json_decref(value);
	return status;
}

static void
test_valid_examples_pass(void **state)
{
	struct buf err = BUF_INIT;
	glob_t found;

	(void)state;
	assert_int_equal(glob("schemas/valid/*.json", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (check_file(found.gl_pathv[i], &err) < 0)
			fail_msg("%s: %s", found.gl_pathv[i], buf_str(&err));
	globfree(&found);
}

static void
test_invalid_examples_say_why(void **state)
{
	struct buf err = BUF_INIT, wanted = BUF_INIT, ignored = BUF_INIT;
	glob_t found;

	(void)state;
	assert_int_equal(glob("schemas/invalid/*.json", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char path[512];

		snprintf(path, sizeof path, "%.*s.error", (int)(strlen(found.gl_pathv[i]) - 5),
			found.gl_pathv[i]);
		buf_reset(&err);
		buf_reset(&wanted);
		assert_int_equal(buf_read_file(&wanted, path, MAX_EXAMPLE_BYTES, &ignored), 0);
		assert_int_equal(check_file(found.gl_pathv[i], &err), -1);
		buf_addc(&err, '\n');
		if (strcmp(buf_str(&err), buf_str(&wanted)))
			fail_msg("%s: %s was expected, and this came: %s", found.gl_pathv[i],
				buf_str(&wanted), buf_str(&err));
	}
	globfree(&found);
	buf_release(&err);
	buf_release(&wanted);
}

static void
test_every_record_has_examples_of_both_kinds(void **state)
{
	char pattern[128];
	glob_t found;

	(void)state;
	for (const char *const *name = rec_schema_names; *name; name++) {
		static const char *const kinds[] = { "valid", "invalid" };

		for (int i = 0; i < 2; i++) {
			snprintf(pattern, sizeof pattern, "schemas/%s/%s-*.json", kinds[i], *name);
			if (glob(pattern, 0, NULL, &found) != 0)
				fail_msg("%s: no example", pattern);
			globfree(&found);
		}
	}
}

static void
test_schema_files_are_what_the_table_prints(void **state)
{
	struct buf printed = BUF_INIT, committed = BUF_INIT, err = BUF_INIT;
	char path[128];

	(void)state;
	for (const char *const *name = rec_schema_names; *name; name++) {
		buf_reset(&printed);
		buf_reset(&committed);
		snprintf(path, sizeof path, "schemas/%s.json", *name);
		assert_int_equal(rec_schema_write(*name, &printed), 0);
		assert_int_equal(buf_read_file(&committed, path, MAX_EXAMPLE_BYTES, &err), 0);
		if (strcmp(buf_str(&printed), buf_str(&committed)))
			fail_msg("%s is older than the table: write it with km-schema %s", path, *name);
	}
	buf_release(&printed);
	buf_release(&committed);
}

static void
test_unknown_names(void **state)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *value = json_object();

	(void)state;
	assert_int_equal(rec_schema_check("poem", value, &err), -1);
	assert_string_equal(buf_str(&err), "there is no record named \"poem\"");
	assert_int_equal(rec_schema_write("poem", &text), -1);
	assert_int_equal(rec_schema_write("axis", &text), -1);
	assert_int_equal(rec_schema_check_section("somebody_elses", value, &err), 0);
	json_decref(value);
	buf_release(&err);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_examples_pass),
		cmocka_unit_test(test_invalid_examples_say_why),
		cmocka_unit_test(test_every_record_has_examples_of_both_kinds),
		cmocka_unit_test(test_schema_files_are_what_the_table_prints),
		cmocka_unit_test(test_unknown_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
