/* Hardware counters of an evaluation, by a program that stands for Nsight Compute around a driver that stands for a GPU's:
 * what is recorded when it counts, and that whatever else it does changes no verdict. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "cuda/ncu.h"
#include "eval/counters.h"
#include "eval/eval.h"
#include "rec/json.h"

static const char task_text[] =
	"{\"name\":\"twice\",\"id\":\"0123456789abcdef0123456789abcde0\",\"op_type\":\"map\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = 2 * x[i]\"},"
	"\"axes\":[{\"name\":\"N\"}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"domain\":{\"distribution\":\"normal\"}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-6,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":1003}},"
	"{\"name\":\"real\",\"role\":\"bench\",\"axes\":{\"N\":5000}}]}";
static const char source[] = "#include <stdint.h>\n"
	"extern \"C\" __global__ void standin_works(const float *x, float *y, int64_t n) { if (n) y[0] = x[0]; }\n"
	"extern \"C\" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)\n"
	"{ standin_works<<<1, 32, 0, stream>>>(x, y, N); }\n";

static char *folder;
static struct task *task;

static char *
path_of(const char *name)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	return buf_detach(&path);
}

static void
set_mode(const char *mode)
{
	struct buf err = BUF_INIT;
	char *path = path_of("ncu");

	assert_int_equal(io_write_file(path, mode, strlen(mode), &err), 0);
	free(path);
}

/* The evaluation of the bench workload, with counters by `program`; NULL: none are asked for. Returned owned. */
static json_t *
evaluate(const char *program)
{
	struct buf err = BUF_INIT;
	struct eval_summary summary;
	json_t *list = NULL;
	int status;

	eval_args.counters = program;
	struct eval *engine = eval_open(7, &status, &err);
	if (!engine || eval_solution(engine, task, source, EVAL_VISIBLE, &list, &summary, &err))
		fail_msg("%s", buf_str(&err));
	eval_close(engine);
	assert_string_equal(summary.status, "PASSED");
	json_t *evaluation = json_incref(json_array_get(list, json_array_size(list) - 1));
	assert_string_equal(rec_json_string(evaluation, "workload", ""), "real");
	assert_non_null(json_object_get(evaluation, "timing"));
	json_decref(list);
	return evaluation;
}

static void
expect_reason(const char *program, const char *mode, const char *words)
{
	uint64_t start = clock_ms();

	set_mode(mode);
	json_t *evaluation = evaluate(program);
	const json_t *counters = json_object_get(evaluation, "hardware_counters");
	const char *reason = rec_json_string(counters, "reason", "");

	if (!strstr(reason, words) || json_object_get(counters, "launches"))
		fail_msg("%s: '%s' does not say '%s'", mode, reason, words);
	print_message("%s: %.1f s\n", mode, (double)(clock_ms() - start) / 1e3);
	json_decref(evaluation);
}

#define STANDIN_NCU "tests/data/eval/ncu"

static void
counters_are_not_there_unless_asked_for(void **unused)
{
	json_t *evaluation = evaluate(NULL);

	(void)unused;
	assert_null(json_object_get(evaluation, "hardware_counters"));
	json_decref(evaluation);
}

static void
counters_go_with_a_gpu_only(void **unused)
{
	struct buf err = BUF_INIT;
	int status = 0;

	(void)unused;
	eval_args.counters = STANDIN_NCU;
	eval_args.device = "cpu";
	assert_null(eval_open(7, &status, &err));
	assert_int_equal(status, 64);
	assert_non_null(strstr(buf_str(&err), "--device cuda only"));
	eval_args.device = "cuda:0";
	buf_release(&err);
}

static void
what_fails_has_a_reason_and_no_other_effect(void **unused)
{
	(void)unused;
	expect_reason("/nonexistent/ncu", "good", "there is no program /nonexistent/ncu here");
	expect_reason(STANDIN_NCU, "permission", "it says: ERR_NVGPUCTRPERM");
	expect_reason(STANDIN_NCU, "rubbish", "malformed");
	expect_reason(STANDIN_NCU, "other", "not of the launches that were made");
	expect_reason(STANDIN_NCU, "no-worker", "the worker under it gave no answer");
	expect_reason(STANDIN_NCU, "dies", "it was ended by signal 9");
	counters_wall_ms = 2000;
	expect_reason(STANDIN_NCU, "hang", "it was still running when the limit of 2 s passed");
	expect_reason(STANDIN_NCU, "hang-with-worker", "it was still running when the limit of 2 s passed");
	expect_reason(STANDIN_NCU, "endless", "it was still running when the limit of 2 s passed");
	expect_reason(STANDIN_NCU, "long", "it wrote more than 16 MiB");
	counters_wall_ms = 60000;
}

/* The program's metrics have the values 1001, 1002, ... in their order. */
static void
launches_are_recorded_with_all_counters(void **unused)
{
	set_mode("good");
	json_t *evaluation = evaluate(STANDIN_NCU), *again;
	const json_t *counters = json_object_get(evaluation, "hardware_counters");
	const json_t *launch = json_array_get(json_object_get(counters, "launches"), 0);

	(void)unused;
	assert_string_equal(rec_json_string(counters, "tool", ""), "ncu 1.2.3.4");
	assert_string_equal(rec_json_string(counters, "reason", ""), "");
	assert_int_equal(json_array_size(json_object_get(counters, "launches")), 1);
	assert_string_equal(rec_json_string(launch, "kernel", ""), "standin_works");
	assert_int_equal(json_object_size(launch), 1 + NCU_METRICS);
	for (int i = 0; i < NCU_METRICS; i++) {
		double expected = (1001 + i) * (ncu_metrics[i].scale > 0 ? ncu_metrics[i].scale : 1);

		assert_true(fabs(rec_json_number(launch, ncu_metrics[i].field, -1) - expected) < 1e-9);
	}
	/* They are kept: the program is not asked a second time, and who does not ask does not get them. */
	set_mode("rubbish");
	again = evaluate(STANDIN_NCU);
	assert_true(json_equal(json_object_get(again, "hardware_counters"), counters));
	json_decref(again);
	again = evaluate(NULL);
	assert_null(json_object_get(again, "hardware_counters"));
	json_object_del(evaluation, "hardware_counters");
	assert_true(json_equal(again, evaluation));
	json_decref(again);
	json_decref(evaluation);
}

static int
start(void **unused)
{
	struct buf err = BUF_INIT, driver = BUF_INIT;
	json_t *section = rec_json_parse(task_text, strlen(task_text), &err);

	(void)unused;
	folder = io_temp_dir("t_eval_counters", &err);
	buf_addf(&driver, "%s/test/libcuda-standin.so", getenv("KM_OUT") ? getenv("KM_OUT") : "out");
	setenv("KM_LIBCUDA", buf_str(&driver), 1);
	setenv("KM_STANDIN", folder, 1);
	eval_args.store = path_of("store");
	eval_args.device = "cuda:0";
	task = section ? task_load(section, &err) : NULL;
	json_decref(section);
	if (!task)
		print_error("%s\n", buf_str(&err));
	buf_release(&driver);
	buf_release(&err);
	return task ? 0 : -1;
}

static int
stop(void **unused)
{
	(void)unused;
	task_free(task);
	io_remove_tree(folder, NULL);
	free(folder);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_not_there_unless_asked_for),
		cmocka_unit_test(counters_go_with_a_gpu_only),
		cmocka_unit_test(what_fails_has_a_reason_and_no_other_effect),
		cmocka_unit_test(launches_are_recorded_with_all_counters),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
