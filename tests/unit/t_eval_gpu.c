/* The supervisor of GPU workers, against a driver that runs a few known kernels on the host: right and wrong candidates,
 * faults, hangs, crashes, state, and a GPU that goes bad. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "eval/eval.h"
#include "eval/gpu.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"

static const char task_text[] =
	"{\"name\":\"twice\",\"id\":\"0123456789abcdef0123456789abcde0\",\"op_type\":\"map\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = 2 * x[i]\"},"
	"\"axes\":[{\"name\":\"N\"}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"domain\":{\"distribution\":\"normal\"}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-6,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":1003}},"
	"{\"name\":\"small\",\"role\":\"check\",\"axes\":{\"N\":33}},"
	"{\"name\":\"real\",\"role\":\"bench\",\"axes\":{\"N\":5000}}]}";

static char *folder;
static struct task *task;
static struct eval *engine;

/* The machine code is never run: the driver knows the kernel by its name. */
static char *
source_of(const char *kernel, int number)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "#include <stdint.h>\n"
		"extern \"C\" __global__ void %s(const float *x, float *y, int64_t n) { if (n) y[0] = x[0]; }\n"
		"extern \"C\" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)\n"
		"{ %s<<<1, 32, 0, stream>>>(x, y, N); }\n// %d\n", kernel, kernel, number);
	return buf_detach(&text);
}

static json_t *
evaluate_by(struct eval *by, const char *kernel, int number, struct eval_summary *summary)
{
	struct buf err = BUF_INIT;
	char *source = source_of(kernel, number);
	json_t *list = NULL;

	int status = eval_solution(by, task, source, EVAL_ALL, &list, summary, &err);
	free(source);
	if (status)
		fail_msg("%s: %s", kernel, buf_str(&err));
	return list;
}

static json_t *
evaluate(const char *kernel, int number, struct eval_summary *summary)
{
	return evaluate_by(engine, kernel, number, summary);
}

static void
expect(const char *kernel, const char *status, const char *words)
{
	struct eval_summary summary;
	json_t *list = evaluate(kernel, 0, &summary);
	const char *reason = rec_json_string(summary.decisive, "reason", "");

	if (strcmp(summary.status, status) || (words && !strstr(reason, words)))
		fail_msg("%s: %s, %s", kernel, summary.status, reason);
	assert_string_equal(rec_json_string(json_array_get(list, 0), "target", ""), "cuda-sm_90");
	json_decref(list);
}

static void
candidates_get_their_verdicts(void **unused)
{
	(void)unused;
	expect("standin_works", "PASSED", NULL);
	expect("standin_wrong", "INCORRECT_NUMERICAL", "1003 of 1003 elements");
	expect("standin_partial", "INCORRECT_NUMERICAL", "1 of 1003 elements");
	expect("standin_keeps", "SUSPICIOUS", "other content in device memory");
	expect("standin_overruns", "RUNTIME_ERROR", "4 bytes next to an output were overwritten");
	expect("standin_faults", "RUNTIME_ERROR", "kernel standin_faults: the GPU stopped it at an address outside");
	expect("standin_dies", "RUNTIME_ERROR", "kernel standin_dies: it took the GPU's process down");
}

/* What was right once may not build any more: then the others are judged and timed without it, and the record says why. */
static void
a_baseline_that_no_longer_builds_is_missing(void **unused)
{
	static const char broken[] = "no CUDA at all";
	struct buf err = BUF_INIT;
	struct eval_summary summary;
	struct store *store;
	struct hash_id_state *state = hash_id_start();
	json_t *section = json_deep_copy(task->json);
	char id[HASH_ID_HEX];

	(void)unused;
	json_object_set_new(section, "id", json_string("0123456789abcdef0123456789abcdef"));
	struct task *other = task_load(section, &err);
	assert_non_null(other);
	hash_id_text(state, other->id);
	hash_id_text(state, "cuda-sm_90");
	hash_id_end(state, id);
	store = store_open(eval_args.store, &err);
	assert_non_null(store);
	assert_int_equal(store_put(store, "baselines", id, broken, sizeof broken - 1, &err), 0);
	store_close(store);
	char *source = source_of("standin_works", 3);
	json_t *list = NULL;
	assert_int_equal(eval_solution(engine, other, source, EVAL_ALL, &list, &summary, &err), 0);
	assert_string_equal(summary.status, "PASSED");
	json_t *baseline = json_object_get(json_object_get(json_array_get(list, json_array_size(list) - 1), "timing"), "baseline");
	assert_non_null(strstr(rec_json_string(baseline, "missing", ""), "no longer builds (COMPILE_ERROR)"));
	assert_null(json_object_get(baseline, "median_us"));
	json_decref(list);
	json_decref(section);
	task_free(other);
	free(source);
	buf_release(&err);
}

/* The first that is right is the baseline of the others. What the clock says here means nothing. */
static void
a_bench_workload_is_timed(void **unused)
{
	struct eval_summary summary;
	json_t *first = evaluate("standin_works", 0, &summary), *list = evaluate("standin_works", 50, &summary);
	const json_t *timing = json_object_get(json_array_get(first, 2), "timing");

	(void)unused;
	assert_string_equal(rec_json_string(json_array_get(first, 2), "workload", ""), "real");
	assert_string_equal(rec_json_string(json_array_get(first, 2), "status", ""), "PASSED");
	assert_true(rec_json_number(timing, "median_us", -1) >= 0);
	assert_null(json_object_get(json_object_get(timing, "baseline"), "median_us"));
	timing = json_object_get(json_array_get(list, 2), "timing");
	assert_string_equal(rec_json_string(json_object_get(timing, "baseline"), "solution_id", ""),
		rec_json_string(json_array_get(first, 2), "solution_id", "?"));
	assert_true(rec_json_integer(json_object_get(timing, "baseline"), "pairs", 0) >= 100);
	assert_true(rec_json_integer(timing, "judged_launches", 0) > 2);
	assert_in_range(rec_json_integer(timing, "oracle_elements", 0), 4096, 4200);
	assert_int_equal(rec_json_integer(json_object_get(timing, "noise"), "pairs", 0), 50);
	/* Too short for a ratio. */
	assert_null(json_object_get(json_object_get(timing, "baseline"), "ratio"));
	json_decref(first);
	json_decref(list);
}

static void
what_a_kernel_prints_is_no_answer(void **unused)
{
	struct eval_summary summary;
	json_t *list = evaluate("standin_prints", 0, &summary);

	(void)unused;
	assert_string_equal(summary.status, "PASSED");
	assert_string_equal(rec_json_string(json_array_get(list, 0), "printed", ""), "{\"status\":\"PASSED\"}\n");
	json_decref(list);
}

static void
a_hang_is_killed_and_not_kept(void **unused)
{
	uint64_t run, stored, before;

	(void)unused;
	eval_counts(engine, &before, &stored);
	expect("standin_hangs", "TIMEOUT", "kernel standin_hangs: it was still running");
	eval_counts(engine, &run, &stored);
	assert_int_equal(run, before + 1);	/* that it compiles is kept */
}

static void
a_fault_leaves_others_alone(void **unused)
{
	struct eval_summary summary;
	json_t *list = evaluate("standin_faults", 1, &summary);

	(void)unused;
	assert_string_equal(summary.status, "RUNTIME_ERROR");
	json_decref(list);
	list = evaluate("standin_works", 1, &summary);
	assert_string_equal(summary.status, "PASSED");
	json_decref(list);
}

/* Comes last: the GPUs stay sick. */
static void
a_sick_gpu_is_retired(void **unused)
{
	struct buf err = BUF_INIT;
	struct eval_summary summary;
	json_t *list;
	char *source = source_of("standin_works", 99);

	(void)unused;
	/* The verdict of the one who did it stands; then no GPU of the two is left. */
	expect("standin_sickens", "RUNTIME_ERROR", "standin_sickens");
	json_decref(evaluate("standin_faults", 98, &summary));
	assert_int_equal(eval_solution(engine, task, source, EVAL_ALL, &list, &summary, &err), -1);
	assert_non_null(strstr(buf_str(&err), "no GPU is left"));
	free(source);
	buf_release(&err);
}

static int
start(void **unused)
{
	struct buf err = BUF_INIT, store = BUF_INIT, driver = BUF_INIT;
	json_t *section = rec_json_parse(task_text, strlen(task_text), &err);
	int status;

	(void)unused;
	folder = io_temp_dir("t_eval_gpu", &err);
	buf_addf(&store, "%s/store", folder);
	buf_addf(&driver, "%s/test/libcuda-standin.so", getenv("KM_OUT") ? getenv("KM_OUT") : "out");
	setenv("KM_LIBCUDA", buf_str(&driver), 1);
	setenv("KM_STANDIN", folder, 1);
	eval_args.store = buf_detach(&store);
	eval_args.device = "cuda:0,1";
	engine = eval_open(7, &status, &err);
	task = section ? task_load(section, &err) : NULL;
	json_decref(section);
	if (!engine || !task)
		print_error("%s\n", buf_str(&err));
	buf_release(&driver);
	buf_release(&err);
	return engine && task ? 0 : -1;
}

static int
stop(void **unused)
{
	(void)unused;
	eval_close(engine);
	task_free(task);
	io_remove_tree(folder, NULL);
	free(folder);
	return 0;
}

static void
devices_are_refused_by_name(void **unused)
{
	static const struct { const char *device; int status; const char *words; } cases[] = {
		{ "gpu", 64, "it is cpu, cuda, or cuda: and a list" }, { "cuda:", 64, "it is cpu, cuda" },
		{ "cuda:2", 64, "there are GPUs 0 to 1 here" }, { "cuda:0,x", 64, "there are GPUs" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		int status = 0;

		eval_args.device = cases[i].device;
		assert_null(eval_open(7, &status, &err));
		assert_int_equal(status, cases[i].status);
		assert_non_null(strstr(buf_str(&err), cases[i].words));
		buf_release(&err);
	}
}

/* The build is for the GPU that is there, the newest that nvcc knows for a later one; too old a GPU is one line. */
static void
code_is_built_for_the_gpu(void **unused)
{
	static const struct { const char *sm, *target; } cases[] = {
		{ "75", NULL }, { "80", "cuda-sm_80" }, { "89", "cuda-sm_89" }, { "90", "cuda-sm_90" }, { "100", "cuda-sm_100" },
	};

	struct buf claim = BUF_INIT;

	(void)unused;
	buf_addf(&claim, "%s/sm", folder);
	eval_args.device = "cuda:1";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		struct eval_summary summary;
		int status = 0;

		assert_int_equal(io_write_file(buf_str(&claim), cases[i].sm, strlen(cases[i].sm), &err), 0);
		struct eval *other = eval_open(7, &status, &err);
		assert_int_equal(other != NULL, cases[i].target != NULL);
		if (!other) {
			assert_int_equal(status, 69);
			assert_string_equal(buf_str(&err), "--device cuda:1: GPU 1 (Stand-in): it is of sm_75, and code is built for "
				"sm_80 and later");
		} else {
			json_t *list = evaluate_by(other, "standin_works", 0, &summary);
			assert_string_equal(summary.status, "PASSED");
			assert_string_equal(rec_json_string(json_array_get(list, 0), "target", ""), cases[i].target);
			json_decref(list);
		}
		eval_close(other);
		buf_release(&err);
	}
	unlink(buf_str(&claim));
	buf_release(&claim);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_refused_by_name),
		cmocka_unit_test(code_is_built_for_the_gpu),
		cmocka_unit_test(candidates_get_their_verdicts),
		cmocka_unit_test(a_bench_workload_is_timed),
		cmocka_unit_test(a_baseline_that_no_longer_builds_is_missing),
		cmocka_unit_test(what_a_kernel_prints_is_no_answer),
		cmocka_unit_test(a_hang_is_killed_and_not_kept),
		cmocka_unit_test(a_fault_leaves_others_alone),
		cmocka_unit_test(a_sick_gpu_is_retired),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
