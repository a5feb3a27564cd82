/* Slack: what rounding may do to a right answer is granted where it happens, and nothing beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "eval/inputs.h"
#include "eval/tolerance.h"
#include "rec/json.h"

static const char task_text[] =
	"{\"name\":\"sums\",\"id\":\"0123456789abcdef0123456789abcdef\",\"op_type\":\"reduction\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[r] = sum(x[r,d] for d)\"},"
	"\"axes\":[{\"name\":\"R\"},{\"name\":\"D\"}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"R\",\"D\"],\"domain\":{\"distribution\":\"normal\"}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"R\"]}],\"rtol\":%s,\"atol\":%s,\"reduction\":\"D\","
	"\"workloads\":[{\"name\":\"w\",\"role\":\"check\",\"axes\":{\"R\":40,\"D\":999}}]}";

enum { ROWS = 40, TERMS = 999, LARGE = 3, SPOILT_ROWS = 20 };

static struct task *
load(const char *rtol, const char *atol)
{
	struct buf text = BUF_INIT, err = BUF_INIT;

	buf_addf(&text, task_text, rtol, atol);
	json_t *section = rec_json_parse(buf_str(&text), text.len, &err);
	struct task *t = section ? task_load(section, &err) : NULL;
	if (!t)
		fail_msg("%s", buf_str(&err));
	json_decref(section);
	buf_release(&text);
	return t;
}

/* Rows of small terms; the first ones also hold pairs of large numbers that cancel. */
static void
set_inputs(struct tensor *x)
{
	for (int r = 0; r < ROWS; r++) {
		for (int d = 0; d < TERMS; d++)
			tensor_set(x, r * TERMS + d, sin(r * 7.1 + d * 12.9898));
		for (int k = 0; r < SPOILT_ROWS && k < LARGE; k++) {
			tensor_set(x, r * TERMS + 31 * k + r, 40000.37 + 1000 * k);
			tensor_set(x, r * TERMS + 500 + 17 * k + r, -40000.37 - 1000 * k);
		}
	}
}

static void
sum_in_float(const struct tensor *x, struct tensor *y, int terms)
{
	for (int r = 0; r < ROWS; r++) {
		float sum = 0;

		for (int d = 0; d < terms; d++)
			sum += (float)tensor_get(x, r * TERMS + d);
		tensor_set(y, r, sum);
	}
}

static int64_t
mismatched(const struct task *t, const struct tensor *y, const struct tensor *expected, const struct tensor *slack)
{
	struct compare_result r;

	assert_int_equal(compare_tensors_within(y, expected, tolerance_of(t, &t->workload[0], y->dtype), slack, &r, NULL), 0);
	return r.mismatched;
}

static void
cancellation_is_granted_and_no_more(void **state)
{
	static const int64_t shape[] = { ROWS, TERMS };
	struct task *t = load("1e-5", "1e-5");
	struct oracle *oracle = oracle_new(NULL, "");
	struct inputs_key key = { 1, 0, "" };
	struct tensor x, y, expected, slack;
	struct buf err = BUF_INIT;
	const char *code;

	(void)state;
	assert_int_equal(inputs_make(t, &t->workload[0], &key, &x, &err), 0);
	assert_memory_equal(x.shape, shape, sizeof shape);
	set_inputs(&x);
	assert_int_equal(oracle_run(oracle, t, t->workload[0].axes, true, &x, &expected, &code, &err), ORACLE_OK);
	assert_int_equal(tensor_init(&y, "y", DTYPE_FLOAT32, 1, shape, NULL), 0);
	if (tolerance_slack(oracle, t, &t->workload[0], &x, &expected, &slack, &err))
		fail_msg("%s", buf_str(&err));
	sum_in_float(&x, &y, TERMS);
	assert_true(mismatched(t, &y, &expected, NULL) > SPOILT_ROWS / 2);
	assert_int_equal(mismatched(t, &y, &expected, &slack), 0);
	/* Rows without large terms have not become looser by anything that counts. */
	for (int r = 0; r < ROWS; r++) {
		double granted = tensor_get(&slack, r);

		assert_true(r < SPOILT_ROWS ? granted > 0.02 && granted < 2 : granted < 2e-4);
	}
	sum_in_float(&x, &y, TERMS - 1);
	assert_true(mismatched(t, &y, &expected, &slack) > ROWS - SPOILT_ROWS - 3);
	for (int r = 0; r < ROWS; r++)
		tensor_set(&y, r, 0);
	assert_true(mismatched(t, &y, &expected, &slack) > ROWS - SPOILT_ROWS - 3);
	tensor_release(&slack);
	tensor_release(&expected);
	tensor_release(&x);
	tensor_release(&y);
	task_free(t);
	oracle_free(oracle);
}

static void
exact_tasks_stay_exact(void **state)
{
	struct task *t = load("0", "0");
	struct oracle *oracle = oracle_new(NULL, "");
	struct inputs_key key = { 1, 0, "" };
	struct tensor x, expected, slack;
	struct buf err = BUF_INIT;
	const char *code;

	(void)state;
	assert_int_equal(inputs_make(t, &t->workload[0], &key, &x, &err), 0);
	assert_int_equal(oracle_run(oracle, t, t->workload[0].axes, true, &x, &expected, &code, &err), ORACLE_OK);
	assert_int_equal(tolerance_slack(oracle, t, &t->workload[0], &x, &expected, &slack, &err), 0);
	assert_null(slack.data);
	tensor_release(&slack);
	tensor_release(&expected);
	tensor_release(&x);
	task_free(t);
	oracle_free(oracle);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cancellation_is_granted_and_no_more), cmocka_unit_test(exact_tasks_stay_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
