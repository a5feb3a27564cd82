/*
 * What must not hang, crash or eat the machine: long recurrences, cycles, endless loops, deep and long
 * text; and the functions around axes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "math/math.h"

static const struct math_axis axes[] = { { .name = "N" } };
static const struct math_tensor input = { "x", DTYPE_FLOAT32, 1, { "N" } };
static const struct math_tensor output = { "y", DTYPE_FLOAT64, 1, { "N" } };
static const struct math_task task = { axes, 1, NULL, 0, &input, 1, &output, 1 };

/* Evaluates with x = 1, or takes element `element` alone if that is not -1. 0, or -1 and err. */
static int
run(const char *text, int64_t n, struct math_limits limits, int64_t element, double *out, struct buf *err)
{
	struct math_spec *spec = math_parse(text, strlen(text), &task, err);
	struct math_run *bound = NULL;
	struct tensor x, y;
	const struct tensor *list[] = { &x };
	struct math_value value;
	int result = -1;

	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT32, 1, &n, NULL), 0);
	for (int64_t i = 0; i < n; i++)
		tensor_set(&x, i, 1);
	if (spec && (bound = math_bind(spec, &n, list, &limits, err))) {
		if (element >= 0) {
			result = math_element(bound, 0, &element, &value, err);
			*out = value.real;
		} else {
			result = math_evaluate(bound, &y, err);
			if (!result) {
				*out = tensor_get(&y, n - 1);
				tensor_release(&y);
			} else
				assert_null(y.data);
		}
	}
	math_run_free(bound);
	math_free(spec);
	tensor_release(&x);
	return result;
}

static void
long_recurrences(void **state)
{
	static const struct {
		const char *spec;
		double last, first;
	} cases[] = {
		{ "y[i] = y[i-1; 0] + x[i]", 1000000, 1 },
		{ "y[i] = y[i+1; 0] + x[i]", 1, 1000000 },
		{ "y[i] = a[i-1; 0] + x[i]\na[i] = b[i]\nb[i] = y[i] + sum(c[j] for j in 1)\n"
			"c[i] = 0 if i == 0 else y[i-1]", 1000000, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		struct math_limits limits = { 0, 0 };
		double got = 0;

		if (run(cases[i].spec, 1000000, limits, -1, &got, &err))
			fail_msg("%s", buf_str(&err));
		assert_true(got == cases[i].last);
		assert_int_equal(run(cases[i].spec, 1000000, limits, 999999, &got, &err), 0);
		assert_true(got == cases[i].last);
		assert_int_equal(run(cases[i].spec, 1000000, limits, 0, &got, &err), 0);
		assert_true(got == cases[i].first);
		buf_release(&err);
	}
}

static void
refused(void **state)
{
	static const struct {
		const char *spec;
		int64_t n;
		uint64_t steps, memory;
		const char *message;
	} cases[] = {
		{ "y[i] = y[(i+1) mod N] + x[i]", 1000000, 0, 0, "1:1: y[0] depends on itself" },
		{ "y[i] = a[i] + x[i]\na[i] = y[i]", 10, 0, 0, "depends on itself" },
		{ "y[i] = sum(sum(1 for b in 1000000000000) for a in 1000000000000)", 5, 100000000, 0,
			"takes more than 100000000 steps" },
		{ "y[i] = sum(1 for a in 1000000000000, b in 0)", 5, 100000000, 0,
			"takes more than 100000000 steps" },
		{ "y[i] = sum(1 for a in 1000000000000 if a < 0)", 5, 100000000, 0,
			"takes more than 100000000 steps" },
		{ "y[i] = x[i]", 1000, 1000, 0, "takes more than 1000 steps" },
		{ "y[i] = a[i,0]\na[i,j in 100000] = x[i]", 10000, 0, 0,
			"needs more than 1073741824 bytes of memory" },
		{ "y[i] = a[i,0]\na[i,j in 1000000000] = x[i]", 1000000000, 0, 0,
			"more than 68719476736 elements" },
		{ "y[i] = y[i-1; 0] + x[i]", 100000, 0, 100000, "needs more than 100000 bytes of memory" },
		{ "y[i] = x[i * 9223372036854775807; 0]", 5, 0, 0, NULL },
		{ "y[i] = x[(i + 9223372036854775807) div 1; 0]", 5, 0, 0, "integer overflow" },
		{ "y[i] = x[i div (i - 2); 0]", 5, 0, 0, "division by zero" },
		{ "y[i] = 2^(i - 3)", 5, 0, 0, "negative power" },
		{ "y[i] = 10^(i * 10)", 5, 0, 0, "integer overflow" },
		{ "y[i] = abs(-9223372036854775807 - i)", 5, 0, 0, "integer overflow" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		int64_t n = cases[i].n > 1000000 ? 1 : cases[i].n;
		double got = 0;
		int result;

		if (cases[i].n > 1000000) {
			/* too many elements whatever the input holds: only the binding sees it */
			struct math_spec *spec = math_parse(cases[i].spec, strlen(cases[i].spec), &task, &err);
			struct tensor x = TENSOR_INIT;
			const struct tensor *list[] = { &x };

			x.dtype = DTYPE_FLOAT32;
			x.rank = 1;
			x.shape[0] = cases[i].n;
			assert_null(math_bind(spec, &cases[i].n, list, NULL, &err));
			math_free(spec);
			result = -1;
		} else
			result = run(cases[i].spec, n, (struct math_limits){ cases[i].steps, cases[i].memory },
				-1, &got, &err);
		if (result != (cases[i].message ? -1 : 0) || (cases[i].message
			&& !strstr(buf_str(&err), cases[i].message)))
			fail_msg("%s: %s, expected %s", cases[i].spec, buf_str(&err), cases[i].message);
		buf_release(&err);
	}
}

/* A failure leaves the run usable, and an element alone sees the same limits. */
static void
elements_and_limits(void **state)
{
	struct buf err = BUF_INIT;
	int64_t n = 1000, at = 999;
	struct tensor x;
	const struct tensor *list[] = { &x };
	struct math_limits small = { 5000, 0 };
	const char *text = "y[i] = y[i-1; 0] + x[i] if i < 500 or i == 999 else x[i]";
	struct math_spec *spec = math_parse(text, strlen(text), &task, &err);
	struct math_value value;
	struct math_run *bound;

	(void)state;
	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT32, 1, &n, NULL), 0);
	bound = math_bind(spec, &n, list, &small, &err);
	at = 499;
	assert_int_equal(math_element(bound, 0, &at, &value, &err), -1);
	assert_non_null(strstr(buf_str(&err), "steps"));
	at = 600;
	assert_int_equal(math_element(bound, 0, &at, &value, &err), 0);
	at = 30;
	assert_int_equal(math_element(bound, 0, &at, &value, &err), 0);
	assert_true(math_run_steps(bound) > 100);
	at = 1000;
	assert_int_equal(math_element(bound, 0, &at, &value, &err), -1);
	at = -1;
	assert_int_equal(math_element(bound, 0, &at, &value, &err), -1);
	math_run_free(bound);
	math_free(spec);
	tensor_release(&x);
	buf_release(&err);
}

/* Out of memory in the middle of a recurrence is no cycle, then or afterwards. */
static void
elements_without_memory(void **state)
{
	struct buf err = BUF_INIT;
	int64_t n = 100000, at;
	struct tensor x;
	const struct tensor *list[] = { &x };
	struct math_limits small = { 0, 100000 };
	const char *text = "y[i] = y[i-1; 0] + x[i]";
	struct math_spec *spec = math_parse(text, strlen(text), &task, &err);
	struct math_value value;
	struct math_run *bound;

	(void)state;
	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT32, 1, &n, NULL), 0);
	bound = math_bind(spec, &n, list, &small, &err);
	for (int i = 0; i < 3; i++) {
		at = 99999 - i;
		buf_reset(&err);
		assert_int_equal(math_element(bound, 0, &at, &value, &err), -1);
		assert_string_equal(buf_str(&err), "The evaluation needs more than 100000 bytes of memory.");
		at = 50 + i;
		assert_int_equal(math_element(bound, 0, &at, &value, &err), 0);
	}
	math_run_free(bound);
	math_free(spec);
	tensor_release(&x);
	buf_release(&err);
}

/* Ever more elements in bounded memory: what was remembered for earlier ones is given up. */
static void
elements_forget(void **state)
{
	struct buf err = BUF_INIT;
	int64_t n = 1000;
	struct tensor x;
	const struct tensor *list[] = { &x };
	struct math_limits small = { 0, 100000 };
	const char *text = "y[i] = sum(t[i,j] for j)\nt[i,j in 100] = x[i] + j";
	struct math_spec *spec = math_parse(text, strlen(text), &task, &err);
	struct math_value value;
	struct math_run *bound;

	(void)state;
	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT32, 1, &n, NULL), 0);
	bound = math_bind(spec, &n, list, &small, &err);
	for (int64_t at = 0; at < n; at++) {
		if (math_element(bound, 0, &at, &value, &err))
			fail_msg("%s", buf_str(&err));
		assert_true(value.real == 4950);
	}
	math_run_free(bound);
	math_free(spec);
	tensor_release(&x);
	buf_release(&err);
}

static void
text_limits(void **state)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	static const struct {
		const char *repeated, *message;
		int times;
	} cases[] = {
		{ "(", "nested more than 100 deep", 60000 },
		{ "-", "nested more than 100 deep", 60000 },
		{ "not ", "nested more than 100 deep", 15000 },
		{ "1+", "too deep", 30000 },
		{ "1^", "nested more than 100 deep", 30000 },
		{ "1 if true else ", "nested more than 100 deep", 4000 },
		{ "sum(", "nested more than 100 deep", 15000 },
		{ "x[", "nested more than 100 deep", 30000 },
		{ "max(1,1,1,1,1,1,1,1)*max(1,1,1,1,1,1,1,1)<", "a list has more than 64 members", 1000 },
		{ " ", "bytes, at most 65536 are allowed", 70000 },
		{ "a", "a name has more than 64 characters", 30000 },
		{ "1", "more than 64 characters", 30000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_reset(&text);
		buf_reset(&err);
		buf_adds(&text, "y[i] = ");
		for (int k = 0; k < cases[i].times; k++)
			buf_adds(&text, cases[i].repeated);
		assert_null(math_parse(text.data, text.len, &task, &err));
		if (!strstr(buf_str(&err), cases[i].message))
			fail_msg("%s...: %s", cases[i].repeated, buf_str(&err));
	}
	buf_reset(&text);
	buf_reset(&err);
	for (int i = 0; i < 300; i++)
		buf_addf(&text, "a%d = 1\n", i);
	assert_null(math_parse(text.data, text.len, &task, &err));
	assert_non_null(strstr(buf_str(&err), "257:1: the spec has more than 256 definitions"));
	/* a NUL in the middle is a byte like others that have no meaning */
	buf_reset(&err);
	assert_null(math_parse("y[i] = \0x[i]", 12, &task, &err));
	assert_string_equal(buf_str(&err), "1:8: the byte 0x00 has no meaning here");
	buf_release(&text);
	buf_release(&err);
}

static void
axis_expressions(void **state)
{
	static const char *const names[] = { "H", "P" };
	static const int64_t values[] = { 7, 2 };
	static const struct {
		const char *text;
		int64_t value;
		const char *message;
	} cases[] = {
		{ "(H + 2*P - 3) div 2 + 1", 5, NULL }, { "-H div 2", -4, NULL }, { "-H mod 4", 1, NULL },
			{ "min(H, P, 5)", 2, NULL },
		{ "max(H, P) - min(3, 9)", 4, NULL }, { "H", 7, NULL }, { "12", 12, NULL }, { "H / 2", 0,
			"1:3: an axis expression divides" },
		{ "H + Q", 0, "1:5: unknown axis 'Q'" }, { "H div (P - 2)", 0, "1:3: division by zero" },
		{ "9223372036854775807 + H", 0, "1:21: integer overflow" }, { "2.5", 0,
			"1:1: an axis expression has only" },
		{ "H P", 0, "1:3: expected the end, found 'P'" }, { "", 0,
			"1:1: expected an expression, found the end" },
		{ "sqrt(H)", 0, "no function 'sqrt'" }, { "x[0]", 0, "has only" }, { "H if true else P", 0,
			"has only" },
		{ "sum(i for i in H)", 0, "1:11: no index can be bound here" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		int64_t value = -99;
		int result = math_axis_expression(cases[i].text, names, values, 2, &value, &err);

		if (result != (cases[i].message ? -1 : 0) || (!result && value != cases[i].value)
			|| (cases[i].message && !strstr(buf_str(&err), cases[i].message)))
			fail_msg("%s: %lld, %s", cases[i].text, (long long)value, buf_str(&err));
		buf_release(&err);
	}
}

static void
resolved_axes(void **state)
{
	static const struct math_axis some[] = { { .name = "B", .expression = "A * 2" }, { .name = "A",
		.expression = "N - R" },
		{ .name = "N" }, { .name = "R", .fixed = true, .value = 3 } };
	static const struct math_axis loop[] = { { .name = "A", .expression = "B" }, { .name = "B",
		.expression = "A" } };
	struct math_given given[] = { { "N", 10 }, { "N", 11 } };
	struct buf err = BUF_INIT;
	int64_t values[4];

	(void)state;
	assert_int_equal(math_resolve_axes(some, 4, given, 1, values, &err), 0);
	assert_true(values[0] == 14 && values[1] == 7 && values[2] == 10 && values[3] == 3);
#define REFUSED(message) assert_non_null(strstr(buf_str(&err), message)); buf_reset(&err)
	assert_int_equal(math_resolve_axes(some, 4, given, 2, values, &err), -1);
	REFUSED("given twice");
	assert_int_equal(math_resolve_axes(some, 4, given, 0, values, &err), -1);
	REFUSED("'N' has no value");
	given[0].value = 2;
	assert_int_equal(math_resolve_axes(some, 4, given, 1, values, &err), -1);
	REFUSED("'B' is negative: -2");
	given[0].name = "R";
	assert_int_equal(math_resolve_axes(some, 4, given, 1, values, &err), -1);
	REFUSED("'R' is not a variable axis");
	assert_int_equal(math_resolve_axes(loop, 2, given, 0, values, &err), -1);
	REFUSED("depends on itself");
	buf_release(&err);
}

static void
tasks_and_inputs(void **state)
{
	struct math_tensor twice[] = { input, input }, wild = { "x", DTYPE_FLOAT32, 1, { "M" } }, word = { "if",
		DTYPE_FLOAT32, 1, { "N" } };
	struct math_task bad = task;
	const char *text = "y[i] = 1";
	struct buf err = BUF_INIT;
	struct math_spec *spec;
	int64_t n = 3, m = 4;
	struct tensor x;
	const struct tensor *list[] = { &x };

	(void)state;
	bad.inputs = twice;
	bad.input_count = 2;
	assert_null(math_parse(text, strlen(text), &bad, &err));
	REFUSED("'x' is used twice");
	bad.inputs = &wild;
	bad.input_count = 1;
	assert_null(math_parse(text, strlen(text), &bad, &err));
	REFUSED("unknown axis 'M'");
	bad.inputs = &word;
	assert_null(math_parse(text, strlen(text), &bad, &err));
	REFUSED("'if' is not a name");
	spec = math_parse(text, strlen(text), &task, &err);
	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT32, 1, &m, &err), 0);
	assert_null(math_bind(spec, &n, list, NULL, &err));
	REFUSED("Input 'x' is float32 [4], the task says float32 [3]");
	tensor_release(&x);
	assert_int_equal(tensor_init(&x, "x", DTYPE_FLOAT16, 1, &n, &err), 0);
	assert_null(math_bind(spec, &n, list, NULL, &err));
	REFUSED("float16");
	tensor_release(&x);
	math_free(spec);
	buf_release(&err);
}

/* 256^3 multiply-adds in well under the second that a check may take; the limit leaves room for a busy machine. */
static void
speed(void **state)
{
	static const struct math_axis k[] = { { .name = "K" } };
	static const struct math_tensor in[] = { { "a", DTYPE_FLOAT32, 2, { "K", "K" } }, { "b", DTYPE_FLOAT32,
		2, { "K", "K" } } };
	static const struct math_tensor out = { "c", DTYPE_FLOAT32, 2, { "K", "K" } };
	struct math_task matmul = { k, 1, NULL, 0, in, 2, &out, 1 };
	const char *text = "c[i,j] = sum(a[i,p] * b[p,j] for p)";
	struct buf err = BUF_INIT;
	struct math_spec *spec = math_parse(text, strlen(text), &matmul, &err);
	int64_t n = 256, shape[] = { 256, 256 };
	struct tensor a, b, c;
	const struct tensor *list[] = { &a, &b };
	struct math_run *bound;

	(void)state;
	assert_int_equal(tensor_init(&a, "a", DTYPE_FLOAT32, 2, shape, &err) | tensor_init(&b, "b",
		DTYPE_FLOAT32, 2, shape, &err), 0);
	bound = math_bind(spec, &n, list, NULL, &err);
	assert_int_equal(math_evaluate(bound, &c, &err), 0);
	/* steps stand for time, and are the same on every machine: 2.3 for each multiply-add */
	print_message("%llu steps\n", (unsigned long long)math_run_steps(bound));
	assert_true(math_run_steps(bound) < 50000000);
	tensor_release(&a);
	tensor_release(&b);
	tensor_release(&c);
	math_run_free(bound);
	math_free(spec);
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_recurrences), cmocka_unit_test(refused),
			cmocka_unit_test(elements_and_limits),
		cmocka_unit_test(elements_forget), cmocka_unit_test(elements_without_memory),
		cmocka_unit_test(text_limits), cmocka_unit_test(axis_expressions),
			cmocka_unit_test(resolved_axes),
		cmocka_unit_test(tasks_and_inputs), cmocka_unit_test(speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
