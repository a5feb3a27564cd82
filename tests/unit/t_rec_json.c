/* JSON in and out: what is refused, what comes back equal, and the canonical form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "rec/json.h"

static void
refused(const char *text, size_t length, const char *words)
{
	struct buf err = BUF_INIT;
	json_t *value = rec_json_parse(text, length, &err);

	if (value)
		fail_msg("%.60s: was taken", text);
	if (!strstr(buf_str(&err), words))
		fail_msg("%.60s: \"%s\" does not say \"%s\"", text, buf_str(&err), words);
	buf_release(&err);
}

#define REFUSED(text, words) refused(text, sizeof text - 1, words)

static void
test_bad_text_is_refused(void **state)
{
	struct buf deep = BUF_INIT;

	(void)state;
	REFUSED("", "1:0");
	REFUSED("{\"a\":1", "1:6");
	REFUSED("{\"a\":1}x", "end of file");
	REFUSED("{\"a\":1,\"a\":2}", "duplicate");
	REFUSED("[\"\xff\"]", "decode byte");
	REFUSED("[\"\xed\xa0\x80\"]", "decode byte");
	REFUSED("[\"a\0b\"]", "1:");
	REFUSED("[\"\\u0000\"]", "u0000");
	REFUSED("[1e999]", "overflow");
	REFUSED("[99999999999999999999]", "too big");
	REFUSED("{\n\"a\":\n nul}", "3:");
	for (int i = 0; i < 65; i++)
		buf_addc(&deep, '[');
	for (int i = 0; i < 65; i++)
		buf_addc(&deep, ']');
	refused(deep.data, deep.len, "nested more than 64 deep");
	buf_release(&deep);
}

static void
test_brackets_in_strings_have_no_depth(void **state)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *value;

	(void)state;
	buf_adds(&text, "[\"\\\"");
	for (int i = 0; i < 200; i++)
		buf_addc(&text, '[');
	buf_adds(&text, "\"]");
	value = rec_json_parse(text.data, text.len, &err);
	assert_non_null(value);
	json_decref(value);
	buf_release(&text);
}

static void
dumps_as(const char *text, const char *wanted, const char *canonical)
{
	struct buf out = BUF_INIT, err = BUF_INIT;
	json_t *value = rec_json_parse(text, strlen(text), &err);

	if (!value)
		fail_msg("%s: %s", text, buf_str(&err));
	rec_json_dump(value, &out);
	assert_string_equal(buf_str(&out), wanted);
	buf_reset(&out);
	rec_json_canonical(value, &out);
	assert_string_equal(buf_str(&out), canonical);
	json_decref(value);
	buf_release(&out);
}

static void
test_dump_is_short_and_canonical_is_sorted(void **state)
{
	(void)state;
	dumps_as(" { \"b\" : [ 1 , 2 ] , \"a\" : { } } ", "{\"b\":[1,2],\"a\":{}}", "{\"a\":{},\"b\":[1,2]}");
	dumps_as("[0.1, 1.0, 1, 1e-5, 1e300, -0.0]", "[0.1,1.0,1,1e-05,1e+300,-0.0]",
		"[0.1,1,1,1e-05,1e+300,0]");
	dumps_as("[true,false,null,\"\"]", "[true,false,null,\"\"]", "[true,false,null,\"\"]");
	dumps_as("[\"\\u00e9\\n\\u001f\\/\\\"\\\\\"]", "[\"\xc3\xa9\\n\\u001f/\\\"\\\\\"]",
		"[\"\xc3\xa9\\n\\u001f/\\\"\\\\\"]");
	dumps_as("{\"a\":1,\"B\":2,\"aa\":3}", "{\"a\":1,\"B\":2,\"aa\":3}", "{\"B\":2,\"a\":1,\"aa\":3}");
}

static void
test_reals_read_back_equal(void **state)
{
	uint64_t bits = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct buf out = BUF_INIT;
		double value;
		json_t *array;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		memcpy(&value, &bits, sizeof value);
		if (!isfinite(value))
			continue;
		array = json_pack("[f]", value);
		rec_json_dump(array, &out);
		assert_true(strtod(out.data + 1, NULL) == value);
		json_decref(array);
		buf_release(&out);
	}
}

static void
test_text_repairs_bytes(void **state)
{
	static const char bytes[] = "ok \xc3\xa9 \xff\xc3(\0\xf0\x9f\x98\x80";
	json_t *text = rec_json_text(bytes, sizeof bytes - 1);

	(void)state;
	assert_string_equal(json_string_value(text),
		"ok \xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xf0\x9f\x98\x80");
	json_decref(text);
}

static void
test_typed_access(void **state)
{
	json_t *value = json_pack("{s:s, s:i, s:f, s:b}", "s", "text", "i", 7, "f", 2.5, "b", 1);

	(void)state;
	assert_string_equal(rec_json_string(value, "s", "-"), "text");
	assert_string_equal(rec_json_string(value, "i", "-"), "-");
	assert_string_equal(rec_json_string(NULL, "s", "-"), "-");
	assert_int_equal(rec_json_integer(value, "i", -1), 7);
	assert_int_equal(rec_json_integer(value, "f", -1), -1);
	assert_true(rec_json_number(value, "i", 0) == 7.0);
	assert_true(rec_json_number(value, "f", 0) == 2.5);
	assert_int_equal(rec_json_boolean(value, "b", 0), 1);
	assert_int_equal(rec_json_boolean(value, "none", -1), -1);
	json_decref(value);
	assert_true(rec_json_round3(1.23456e-7) == 1.23e-7);
	assert_true(rec_json_round3(0) == 0);
	assert_true(isinf(rec_json_round3(INFINITY)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_text_is_refused),
		cmocka_unit_test(test_brackets_in_strings_have_no_depth),
		cmocka_unit_test(test_dump_is_short_and_canonical_is_sorted),
		cmocka_unit_test(test_reals_read_back_equal),
		cmocka_unit_test(test_text_repairs_bytes),
		cmocka_unit_test(test_typed_access),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
