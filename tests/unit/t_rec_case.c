/* The scan against jansson as judge (both must take and refuse the same lines), and splicing, which must
 * keep every byte that it does not replace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rec/case.h"
#include "rec/json.h"

static const char sample[] = "{ \"schema_version\": \"1.0\" ,\t\"task\": {\"a\":[1,{\"b\":\"}\\\"]\"}]},"
	" \"extra\": {\"kept\" : [ 1 , 2.50 ]}, \"review\":{\"status\":\"unreviewed\"} }";

static void
test_scan_finds_sections(void **state)
{
	struct rec_case c;
	struct buf err = BUF_INIT;
	size_t length;

	(void)state;
	assert_int_equal(rec_case_scan(&c, sample, sizeof sample - 1, &err), 0);
	assert_int_equal(c.sections, 4);
	assert_memory_equal(rec_case_raw(&c, "extra", &length), "{\"kept\" : [ 1 , 2.50 ]}", 23);
	assert_int_equal(length, 23);
	assert_null(rec_case_raw(&c, "ext", &length));
	assert_null(rec_case_raw(&c, "kept", &length));
}

static void
scan_refuses(const char *line, size_t length, const char *words)
{
	struct rec_case c;
	struct buf err = BUF_INIT;

	if (rec_case_scan(&c, line, length, &err) == 0)
		fail_msg("%.80s: was taken", line);
	if (!strstr(buf_str(&err), words))
		fail_msg("%.80s: \"%s\" does not say \"%s\"", line, buf_str(&err), words);
	buf_release(&err);
}

#define V "{\"schema_version\":\"1.0\","
#define REFUSED(text, words) scan_refuses(text, sizeof text - 1, words)

static void
test_bad_lines_are_refused(void **state)
{
	(void)state;
	REFUSED("", "empty");
	REFUSED("[]", "object");
	REFUSED("{}", "schema_version is missing");
	REFUSED("{\"schema_version\":\"2.0\"}", "reads 1.x");
	REFUSED("{\"schema_version\":1}", "reads 1.x");
	REFUSED(V "\"a\":1,\"a\":2}", "\"a\" stands twice");
	REFUSED(V "\"a\":1} x", "follows");
	REFUSED(V "\"a\":1}{", "follows");
	REFUSED(V "\"a\":1", "ends in the middle");
	REFUSED(V "\"a\":\"b", "does not end");
	REFUSED(V "\"a\":[1,2", "ends in the middle");
	REFUSED(V "\"a\":[1,2}]}", "comma or closing");
	REFUSED(V "\"a\":{\"b\" 1}}", "colon");
	REFUSED(V "\"a\":{1:1}}", "key");
	REFUSED(V "\"a\":[1,]}", "not a JSON value");
	REFUSED(V "\"a\":{\"b\":1,}}", "key");
	REFUSED(V "\"a\":\"\xff\"}", "UTF-8");
	REFUSED(V "\"a\":\"0123456789\xc3\"}", "UTF-8");
	REFUSED(V "\"a\":\"\xed\xa0\x80\"}", "UTF-8");
	REFUSED(V "\"a\":\"x\0y\"}", "NUL byte");
	REFUSED(V "\"a\":\0}", "NUL byte");
	REFUSED(V "\"a\":\"\\u0000\"}", "NUL character");
	REFUSED(V "\"a\":\"\\ud800\"}", "high surrogate");
	REFUSED(V "\"a\":\"\\udc00\"}", "low surrogate");
	REFUSED(V "\"a\":\"\\x41\"}", "escape");
	REFUSED(V "\"a\":\"tab\there\"}", "control");
	REFUSED(V "\"a\":01}", "number");
	REFUSED(V "\"a\":1.}", "point");
	REFUSED(V "\"a\":1e}", "exponent");
	REFUSED(V "\"a\":-}", "number");
	REFUSED(V "\"a\":True}", "not a JSON value");
	REFUSED(V "\"\\u0061\":1}", "escapes");
}

/* Every way of breaking one byte of a good line: what the scan takes, jansson must take as well. The
 * reverse does not hold (surrogates in keys, 1.x versions, 64 levels), so it is only counted. */
static void
test_scan_is_no_laxer_than_a_parser(void **state)
{
	static const char replacements[] = "\"\\{}[],:0a-.eE \t\n\x01\x7f\x80\xc3\xff";
	char line[sizeof sample];
	size_t taken = 0;

	(void)state;
	for (size_t at = 0; at < sizeof sample - 1; at++) {
		for (size_t r = 0; r < sizeof replacements; r++) {
			struct rec_case c;
			json_t *value;

			memcpy(line, sample, sizeof sample);
			line[at] = replacements[r];
			if (rec_case_scan(&c, line, sizeof sample - 1, NULL) < 0)
				continue;
			taken++;
			/* Duplicate keys inside a section are the section parser's to find. */
			value = json_loadb(line, sizeof sample - 1, 0, NULL);
			if (!value)
				fail_msg("taken by the scan alone: %s", line);
			json_decref(value);
		}
	}
	assert_true(taken > 100);
}

static void
test_size_and_count_limits(void **state)
{
	struct buf line = BUF_INIT;

	(void)state;
	buf_adds(&line, V "\"a\":\"");
	buf_reserve(&line, REC_CASE_MAX_BYTES);
	memset(line.data + line.len, 'x', REC_CASE_MAX_BYTES);
	line.len += REC_CASE_MAX_BYTES;
	buf_adds(&line, "\"}");
	scan_refuses(line.data, line.len, "are allowed");
	buf_reset(&line);
	buf_adds(&line, "{\"schema_version\":\"1.0\"");
	for (int i = 0; i < 40; i++)
		buf_addf(&line, ",\"s%d\":1", i);
	buf_addc(&line, '}');
	scan_refuses(line.data, line.len, "32 sections");
	buf_reset(&line);
	buf_adds(&line, V "\"a\":");
	for (int i = 0; i < 65; i++)
		buf_addc(&line, '[');
	scan_refuses(line.data, line.len, "64 deep");
	buf_release(&line);
}

static void
spliced(const char *line, int count, const char *const *names, json_t *const *values, const char *wanted)
{
	struct rec_case c;
	struct buf out = BUF_INIT, err = BUF_INIT;

	assert_int_equal(rec_case_scan(&c, line, strlen(line), &err), 0);
	if (rec_case_splice(&c, count, names, values, &out, &err) < 0)
		fail_msg("%s", buf_str(&err));
	assert_string_equal(buf_str(&out), wanted);
	buf_release(&out);
}

static void
test_splice_keeps_all_other_bytes(void **state)
{
	json_t *review = json_pack("{s:s}", "status", "rejected"), *curation = json_pack("{s:i}", "rank", 3);
	const char *const names[] = { "review", "curation" };
	json_t *const values[] = { review, curation };

	(void)state;
	spliced(sample, 2, names, values,
		"{ \"schema_version\": \"1.0\" ,\t\"task\": {\"a\":[1,{\"b\":\"}\\\"]\"}]},"
		" \"extra\": {\"kept\" : [ 1 , 2.50 ]}, \"review\":{\"status\":\"rejected\"} ,\"curation\":{\"rank\":3}}");
	spliced("{\"schema_version\":\"1.0\"}", 1, names, values,
		"{\"schema_version\":\"1.0\",\"review\":{\"status\":\"rejected\"}}");
	spliced("{\"review\":1 , \"schema_version\":\"1.0\"} \r", 1, names, values,
		"{\"review\":{\"status\":\"rejected\"} , \"schema_version\":\"1.0\"} \r");
	json_decref(review);
	json_decref(curation);
}

static void
test_splice_validates(void **state)
{
	json_t *review = json_pack("{s:s}", "status", "maybe");
	const char *const names[] = { "review" };
	json_t *const values[] = { review };
	struct rec_case c;
	struct buf out = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(rec_case_scan(&c, sample, sizeof sample - 1, &err), 0);
	assert_int_equal(rec_case_splice(&c, 1, names, values, &out, &err), -1);
	assert_string_equal(buf_str(&err),
		"review.status: \"maybe\" is none of accepted, rejected, unreviewed");
	assert_int_equal(out.len, 0);
	json_decref(review);
	buf_release(&err);
}

static void
test_sections_are_validated(void **state)
{
	struct rec_case c;
	struct buf err = BUF_INIT;
	json_t *value;
	static const char line[] = V "\"review\":{\"status\":\"maybe\"},\"curation\":{\"rank\":1,\"rank\":2}}";

	(void)state;
	assert_int_equal(rec_case_scan(&c, line, sizeof line - 1, &err), 0);
	assert_null(rec_case_section(&c, "review", &err));
	assert_non_null(strstr(buf_str(&err), "review.status"));
	buf_reset(&err);
	assert_null(rec_case_section(&c, "curation", &err));
	assert_non_null(strstr(buf_str(&err), "duplicate"));
	buf_reset(&err);
	assert_null(rec_case_section(&c, "task", &err));
	assert_non_null(strstr(buf_str(&err), "no section \"task\""));
	value = rec_case_section_or_empty(&c, "solutions", &err);
	assert_true(json_is_array(value));
	json_decref(value);
	value = rec_case_section_or_empty(&c, "review_notes", &err);
	assert_true(json_is_object(value));
	json_decref(value);
	buf_release(&err);
}

static int
task_id_of(const char *task, char id[33])
{
	struct rec_case c;
	struct buf line = BUF_INIT;
	int status;

	buf_addf(&line, V "\"task\":%s}", task);
	assert_int_equal(rec_case_scan(&c, line.data, line.len, NULL), 0);
	status = rec_case_task_id(&c, id, NULL);
	buf_release(&line);
	return status;
}

static void
test_task_id_is_found_without_parsing(void **state)
{
	char id[33];

	(void)state;
	assert_int_equal(task_id_of("{\"id\":\"0123456789abcdef0123456789abcdef\"}", id), 0);
	assert_string_equal(id, "0123456789abcdef0123456789abcdef");
	assert_int_equal(task_id_of("{ \"x\" : {\"id\":\"no\"}, \"ids\":1 , \"id\" : \"aa23456789abcdef0123456789abcdef\" }", id), 0);
	assert_string_equal(id, "aa23456789abcdef0123456789abcdef");
	assert_int_equal(task_id_of("{\"id\":\"short\"}", id), -1);
	assert_int_equal(task_id_of("{\"id\":\"Z123456789abcdef0123456789abcdef\"}", id), -1);
	assert_int_equal(task_id_of("{\"id\":7}", id), -1);
	assert_int_equal(task_id_of("{}", id), -1);
	assert_int_equal(task_id_of("[]", id), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_finds_sections),
		cmocka_unit_test(test_bad_lines_are_refused),
		cmocka_unit_test(test_scan_is_no_laxer_than_a_parser),
		cmocka_unit_test(test_size_and_count_limits),
		cmocka_unit_test(test_splice_keeps_all_other_bytes),
		cmocka_unit_test(test_splice_validates),
		cmocka_unit_test(test_sections_are_validated),
		cmocka_unit_test(test_task_id_is_found_without_parsing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
