/* Inputs that are made where they are read, and the oracle on samples of large outputs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "eval/lazy.h"
#include "eval/sampled.h"
#include "rec/json.h"

static const char task_text[] =
	"{\"name\":\"shifted\",\"id\":\"0123456789abcdef0123456789abcde0\",\"op_type\":\"map\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = 2 * x[N - 1 - i] + c[0]\"},"
	"\"axes\":[{\"name\":\"N\"},{\"name\":\"ONE\",\"value\":1}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"domain\":{\"distribution\":\"normal\"}},"
	"{\"name\":\"c\",\"dtype\":\"float64\",\"shape\":[\"ONE\"],\"domain\":{\"distribution\":\"uniform\"}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-6,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"small\",\"role\":\"check\",\"axes\":{\"N\":33}},"
	"{\"name\":\"real\",\"role\":\"bench\",\"axes\":{\"N\":300001}}]}";

/* A difference of large numbers: what float32 rounding costs there is far above the tolerance. */
static const char sum_text[] =
	"{\"name\":\"sums\",\"id\":\"0123456789abcdef0123456789abcde1\",\"op_type\":\"map\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = x[i] - 500\"},"
	"\"axes\":[{\"name\":\"N\"}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],"
	"\"domain\":{\"distribution\":\"uniform\",\"low\":500,\"high\":501}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-6,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"small\",\"role\":\"check\",\"axes\":{\"N\":33}},"
	"{\"name\":\"real\",\"role\":\"bench\",\"axes\":{\"N\":300001}}]}";

static struct task *task, *sums;
static const struct task_workload *real;
static const struct inputs_key key = { 3, 1, "source" };

static struct task *
load_task(const char *text)
{
	struct buf err = BUF_INIT;
	json_t *section = rec_json_parse(text, strlen(text), &err);
	struct task *loaded = section ? task_load(section, &err) : NULL;

	json_decref(section);
	if (!loaded)
		print_error("%s\n", buf_str(&err));
	buf_release(&err);
	return loaded;
}

static int
load(void **unused)
{
	(void)unused;
	task = load_task(task_text);
	sums = load_task(sum_text);
	real = task ? task_workload(task, "real") : NULL;
	return task && sums ? 0 : -1;
}

static void
read_elements_are_those_of_the_whole(void **unused)
{
	struct tensor parts[2] = { { .dtype = DTYPE_FLOAT32, .rank = 1 }, { .dtype = DTYPE_FLOAT64, .rank = 1 } };
	struct tensor whole[TASK_MAX_TENSORS];
	struct generate_job jobs[TASK_MAX_TENSORS];
	struct buf err = BUF_INIT;

	(void)unused;
	assert_int_equal(inputs_make(task, real, &key, whole, &err), 0);
	assert_int_equal(inputs_jobs(task, real, &key, jobs, &err), 0);
	for (int i = 0; i < 2; i++)
		parts[i].bytes = whole[i].bytes;
	struct lazy *lazy = lazy_open(parts, jobs, 2, NULL, &err);
	if (!lazy)
		skip();		/* a kernel without userfaultfd */
	const float *x = parts[0].data, *all = whole[0].data;
	for (int64_t i = 0; i < 300001; i += 29989)
		assert_true(x[i] == all[i]);
	assert_true(x[300000] == all[300000]);
	assert_memory_equal(parts[1].data, whole[1].data, 8);
	assert_in_range(lazy_made_bytes(lazy), 10 * 4096, 13 * 4096);
	lazy_close(lazy);
	tensor_release(&whole[0]);
	tensor_release(&whole[1]);
	buf_release(&err);
}

static void
samples_hold_the_edges(void **unused)
{
	static uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES], again[SAMPLED_RANDOM + SAMPLED_EDGES];
	int high = 0;

	(void)unused;
	assert_int_equal(sampled_numbers(1000000, 5, numbers), SAMPLED_RANDOM + SAMPLED_EDGES);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 999999);
	assert_int_equal(numbers[3], 999998);
	sampled_numbers(1000000, 5, again);
	assert_memory_equal(numbers, again, sizeof numbers);
	for (int i = SAMPLED_EDGES; i < SAMPLED_RANDOM + SAMPLED_EDGES; i++)
		high += numbers[i] >= 500000;
	assert_in_range(high, SAMPLED_RANDOM / 2 - 200, SAMPLED_RANDOM / 2 + 200);
	assert_int_equal(sampled_numbers(3, 5, numbers), 3);
	assert_int_equal(sampled_numbers(0, 5, numbers), 0);
}

/* Right values pass; one that is off is found, with its number. */
static void
samples_are_judged(void **unused)
{
	static uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES];
	struct tensor whole[TASK_MAX_TENSORS];
	struct sampled_result result;
	struct buf values = BUF_INIT, err = BUF_INIT;
	size_t count = sampled_numbers(300001, 9, numbers);

	(void)unused;
	assert_int_equal(inputs_make(task, real, &key, whole, &err), 0);
	for (size_t i = 0; i < count; i++) {
		float y = (float)(2 * (double)((float *)whole[0].data)[300000 - numbers[i]] + *(double *)whole[1].data);
		buf_add(&values, &y, sizeof y);
	}
	struct sampled *samples = sampled_start(task, real, &key, 9, &err);
	assert_non_null(samples);
	assert_int_equal(sampled_judge(samples, &values, &result, &err), 0);
	if (!result.checked)
		skip();
	assert_int_equal(result.checked, count);
	assert_int_equal(result.mismatched, 0);
	((float *)values.data)[77] += 1;
	assert_int_equal(sampled_judge(samples, &values, &result, &err), 0);
	assert_int_equal(result.mismatched, 1);
	assert_int_equal(result.first.first_mismatch, numbers[77]);
	values.len -= 4;
	assert_int_equal(sampled_judge(samples, &values, &result, &err), -1);
	sampled_free(samples);
	sampled_free(sampled_start(task, real, &key, 9, &err));	/* before they are done */
	tensor_release(&whole[0]);
	tensor_release(&whole[1]);
	buf_release(&values);
	buf_release(&err);
}

/* By the same rule as check workloads: what rounding may cost is granted, and no more. */
static void
rounding_is_granted(void **unused)
{
	static uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES];
	static const struct { float off; bool wrong; } cases[] = { { 1e-4f, false }, { 0.01f, true } };
	const struct task_workload *w = task_workload(sums, "real");
	struct tensor whole[TASK_MAX_TENSORS];
	struct sampled_result result;
	struct buf err = BUF_INIT;
	size_t count = sampled_numbers(300001, 9, numbers);
	double slack[TASK_MAX_TENSORS];

	(void)unused;
	assert_int_equal(inputs_make(sums, w, &key, whole, &err), 0);
	struct sampled *samples = sampled_start(sums, w, &key, 9, &err);
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct buf values = BUF_INIT;

		for (size_t i = 0; i < count; i++) {
			float y = ((float *)whole[0].data)[numbers[i]] - 500;
			y += i % 100 == 7 ? cases[k].off : 0;
			buf_add(&values, &y, sizeof y);
		}
		assert_int_equal(sampled_judge(samples, &values, &result, &err), 0);
		if (!result.checked)
			skip();
		assert_int_equal(result.checked, count);
		assert_int_equal(result.mismatched > 0, cases[k].wrong);
		buf_release(&values);
	}
	assert_int_equal(result.first.first_mismatch, numbers[7]);
	sampled_slack(samples, slack);
	assert_true(slack[0] > 1e-4 && slack[0] < 2e-3);
	sampled_free(samples);
	tensor_release(&whole[0]);
	buf_release(&err);
}

static int
unload(void **unused)
{
	(void)unused;
	task_free(task);
	task_free(sums);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_elements_are_those_of_the_whole),
		cmocka_unit_test(samples_hold_the_edges),
		cmocka_unit_test(samples_are_judged),
		cmocka_unit_test(rounding_is_granted),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
