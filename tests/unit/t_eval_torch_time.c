/* Times of PyTorch modules, with a torch that is a few lines of Python and a driver that is the stand-in: what gets into
 * the record, what is kept, and modules that fail, hang, end the program or make their times up. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/spawn.h"
#include "eval/eval.h"
#include "eval/torch_time.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"

#define UUID "5b5b5b5b-5b5b-5b5b-5b5b-5b5b5b5b5b00"	/* of the stand-in's GPU 0, this test's own */

static char *folder, *python;
static struct store *store;
static struct gpu_pool *pool;

/* ---- a task with a module */

static struct task *
task_of(const char *forward)
{
	struct buf source = BUF_INIT, err = BUF_INIT;
	json_t *section = json_pack("{s:s, s:s, s:s, s:[s, s], s:s, s:{s:s, s:s}, s:[{s:s}],"
		"s:[{s:s, s:s, s:[s], s:{s:s}}, {s:s, s:s, s:[s], s:{s:s}}], s:[{s:s, s:s, s:[s]}], s:f, s:f,"
		"s:[{s:s, s:s, s:{s:i}}, {s:s, s:s, s:{s:i}}]}",
		"name", "twice", "id", "0123456789abcdef0123456789abcde0", "op_type", "map", "forms", "reference_program", "math_spec",
		"oracle", "math_spec", "math_spec", "language", "kernelmosaic-math/1", "text", "y[i] = 2 * x[i]", "axes", "name", "N",
		"inputs", "name", "x", "dtype", "float32", "shape", "N", "domain", "distribution", "normal",
		"name", "z", "dtype", "float32", "shape", "N", "domain", "distribution", "probability",
		"outputs", "name", "y", "dtype", "float32", "shape", "N", "rtol", 1e-6, "atol", 1e-6,
		"workloads", "name", "real", "role", "bench", "axes", "N", 5000,
		"name", "odd", "role", "check", "axes", "N", 33);

	buf_addf(&source, "import os, time, torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        %s\n", forward);
	json_object_set_new(section, "reference", json_pack("{s:s, s:s}", "language", "pytorch", "source", buf_str(&source)));
	struct task *t = task_load(section, &err);
	if (!t)
		fail_msg("%s", buf_str(&err));
	json_decref(section);
	buf_release(&source);
	return t;
}

static json_t *
timing_of(double median_us)
{
	return json_pack("{s:i, s:{s:s, s:s, s:i}, s:f}", "protocol", 1, "gpu", "name", "Stand-in", "uuid",
		UUID, "driver_version", 13000, "median_us", median_us);
}

/* Adds to a new timing. Returned owned. */
static json_t *
add(struct torch_times *times, const char *forward, int expected, struct buf *err)
{
	struct task *t = task_of(forward);
	json_t *timing = timing_of(100);
	int status = torch_times_add(times, t, &t->workload[0], 7, timing, err);

	if (status != expected)
		fail_msg("status %d instead of %d: %s", status, expected, buf_str(err));
	task_free(t);
	return timing;
}

static const json_t *
mode_of(const json_t *timing, const char *mode)
{
	return json_object_get(json_object_get(timing, "pytorch"), mode);
}

static const char *
reason_of(const json_t *timing, const char *mode)
{
	const json_t *m = mode_of(timing, mode);

	assert_null(json_object_get(m, "median_us"));
	assert_null(json_object_get(m, "speedup"));
	return rec_json_string(m, "reason", "(none)");
}

static struct torch_times *
times_of(enum torch_want want)
{
	return torch_times_new(store, pool, python, want);
}

/* ---- tests */

#define TWICE "assert any(x.tolist()) and not all(v == x.tolist()[0] for v in x.tolist())\n        return x * 2"

static void
check_mode(const json_t *timing, const char *name)
{
	const json_t *mode = mode_of(timing, name), *interval = json_object_get(mode, "interval");
	double median = rec_json_number(mode, "median_us", 0);
	struct buf samples = BUF_INIT, err = BUF_INIT;

	assert_true(median > 200 && median < 20000);
	assert_true(json_number_value(json_array_get(interval, 0)) <= median);
	assert_true(json_number_value(json_array_get(interval, 1)) >= median);
	assert_true(fabs(rec_json_number(mode, "speedup", 0) - median / 100) < 1e-3 * median);
	assert_int_equal(rec_json_boolean(mode, "queued", -1), 1);
	json_int_t count = rec_json_integer(mode, "count", 0);
	assert_in_range(count, 100, 1000);
	assert_int_equal(store_get(store, "samples", rec_json_string(mode, "samples", ""), &samples, &err), 1);
	assert_int_equal(samples.len, count * 4);
	assert_null(json_object_get(mode, "reason"));
	buf_release(&samples);
	buf_release(&err);
}

static void
a_module_is_timed_once(void **unused)
{
	struct torch_times *times = times_of(TORCH_REQUIRED);
	struct buf err = BUF_INIT;
	json_t *first = add(times, TWICE, 0, &err), *second = add(times, TWICE, 0, &err);

	(void)unused;
	check_mode(first, "eager");
	check_mode(first, "compile");
	assert_string_equal(rec_json_string(json_object_get(first, "pytorch"), "version", ""), "9.9+fake");
	assert_true(json_equal(first, second));
	struct buf text = BUF_INIT, wanted = BUF_INIT;
	torch_times_text(first, &text);
	const char *const names[] = { "eager", "compile" };
	for (int i = 0; i < 2; i++)
		buf_addf(&wanted, ", %s %.6g us (this is %.3g times as fast)", i ? "torch.compile" : "PyTorch eager",
			rec_json_number(mode_of(first, names[i]), "median_us", 0), rec_json_number(mode_of(first, names[i]), "speedup", 0));
	assert_string_equal(buf_str(&text), buf_str(&wanted));
	buf_release(&text);
	buf_release(&wanted);
	torch_times_free(times);
	/* and by another process, from the store */
	times = times_of(TORCH_IF_POSSIBLE);
	json_t *third = add(times, TWICE, 0, &err);
	assert_true(json_equal(first, third));
	torch_times_free(times);
	json_decref(first);
	json_decref(second);
	json_decref(third);
	buf_release(&err);
}

/* Tries the lock of the GPU as another process that wants to check on it. */
static atomic_bool watching;

static void *
watch_lock(void *context)
{
	int lock = -1, *refused = context;

	for (int i = 0; i < 2 && lock < 0; i++)
		lock = open(i ? "/tmp/kernelmosaic-gpu-" UUID ".lock" : "/run/lock/kernelmosaic-gpu-" UUID ".lock", O_RDWR);
	while (lock >= 0 && watching) {
		*refused += flock(lock, LOCK_SH | LOCK_NB) != 0;
		flock(lock, LOCK_UN);
		usleep(1000);
	}
	close(lock);
	return NULL;
}

/* A hundred samples of 0.2 ms and more take 20 ms and more; before, others are let in. */
static void
the_gpu_is_held_alone_for_the_samples(void **unused)
{
	struct torch_times *times = times_of(TORCH_IF_POSSIBLE);
	struct buf err = BUF_INIT;
	pthread_t thread;
	int refused = 0;

	(void)unused;
	watching = true;
	assert_int_equal(pthread_create(&thread, NULL, watch_lock, &refused), 0);
	json_decref(add(times, "return x * 2 # while it is watched", 0, &err));
	watching = false;
	pthread_join(thread, NULL);
	assert_true(refused > 10);
	refused = 0;
	watching = true;
	assert_int_equal(pthread_create(&thread, NULL, watch_lock, &refused), 0);
	json_decref(add(times, "time.sleep(0.2)\n        raise ValueError", 0, &err));
	watching = false;
	pthread_join(thread, NULL);
	assert_int_equal(refused, 0);
	torch_times_free(times);
	buf_release(&err);
}

static void
short_times_make_no_ratio(void **unused)
{
	struct torch_times *times = times_of(TORCH_IF_POSSIBLE);
	struct task *t = task_of(TWICE);
	json_t *timing = timing_of(9.9);
	struct buf err = BUF_INIT;

	(void)unused;
	assert_int_equal(torch_times_add(times, t, &t->workload[0], 7, timing, &err), 0);
	assert_true(rec_json_number(mode_of(timing, "eager"), "median_us", 0) > 200);
	assert_null(json_object_get(mode_of(timing, "eager"), "speedup"));
	json_decref(timing);
	task_free(t);
	torch_times_free(times);
	buf_release(&err);
}

static void
a_failure_to_compile_costs_nothing_else(void **unused)
{
	struct torch_times *times = times_of(TORCH_REQUIRED);
	struct buf err = BUF_INIT;
	json_t *timing = add(times, "return x * 2\n    cannot_be_compiled = True", 0, &err);

	(void)unused;
	check_mode(timing, "eager");
	assert_string_equal(reason_of(timing, "compile"), "reference.py fails: RuntimeError: no C compiler");
	json_decref(timing);
	torch_times_free(times);
	buf_release(&err);
}

/* Each ends as a reason in the record, and none changes what the next one gets. */
static void
hostile_modules_get_a_reason(void **unused)
{
	static const struct { const char *forward, *reason; } cases[] = {
		{ "raise ValueError('none of it')", "reference.py fails: ValueError: none of it (line 4)" },
		{ "return x * 2, x", "reference.py fails: forward returns 2 values where the task has 1 output tensors" },
		{ "return torch.empty(4, x.dtype, 'cuda')", "reference.py fails: output y has the shape [4] where the task has [5000]" },
		{ "os._exit(0)", "reference.py ended the program instead of returning: it ended the process" },
		{ "os.kill(os.getpid(), 11)", "reference.py ended the program instead of returning: signal 11" },
		{ "os.kill(os.getppid(), 9)\n        time.sleep(60)",
		  "reference.py ended the Python that ran it: signal 9 (Killed)" },
		{ "while True: pass", "reference.py does not return" },
		/* Whatever it finds to write on: an answer that is made up. */
		{ "for fd in range(3, 99):\n            try: os.write(fd, bytes([6] + [0] * 8) + bytes([0, 2] + [0] * 7) + b'[]')\n"
		  "            except OSError: pass\n        time.sleep(60)", "what PyTorch answered is no list of times" },
		{ "for fd in range(3, 99):\n            try: os.write(fd, b'rubbish' * 9)\n            except OSError: pass\n"
		  "        time.sleep(60)", "PyTorch's answer is out of order" },
		/* 19 samples: one less than are taken. */
		{ "text = b'{\"samples_us\":[' + b','.join([b'20.0'] * 19) + b'],\"queued\":true}'\n        for fd in range(3, 99):\n"
		  "            try: os.write(fd, bytes([6] + [0] * 8) + bytes([0, len(text)] + [0] * 7) + text)\n"
		  "            except OSError: pass\n        time.sleep(60)", "what PyTorch answered is no list of times" },
		{ "text = b'{\"samples_us\":[' + b','.join([b'20.0'] * 29 + [b'-1']) + b'],\"queued\":true}'\n"
		  "        for fd in range(3, 99):\n"
		  "            try: os.write(fd, bytes([6] + [0] * 8) + bytes([0, len(text)] + [0] * 7) + text)\n"
		  "            except OSError: pass\n        time.sleep(60)", "what PyTorch answered is no list of times" },
	};
	struct torch_times *times = times_of(TORCH_IF_POSSIBLE);
	struct buf err = BUF_INIT;

	(void)unused;
	torch_ready_seconds = torch_samples_seconds = 10;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *timing = add(times, cases[i].forward, 0, &err);

		assert_string_equal(reason_of(timing, "eager"), cases[i].reason);
		json_decref(timing);
	}
	torch_ready_seconds = torch_samples_seconds = 30;
	json_t *timing = add(times, TWICE "\n        # after all these", 0, &err);
	check_mode(timing, "eager");
	json_decref(timing);
	torch_times_free(times);
	buf_release(&err);
}

/* A python without torch, one whose torch has no CUDA, one that is not there; and a GPU that PyTorch does not find. */
static void
what_is_missing_is_said(void **unused)
{
	static const char script[] = "cp -r \"$0/venv\" \"$0/no-torch\" && cp -r \"$0/venv\" \"$0/no-cuda\" &&"
		"rm -r \"$0\"/no-torch/lib/*/site-packages/torch && cd \"$0\"/no-cuda/lib/*/site-packages/torch &&"
		"rm -rf __pycache__ && echo 'cuda = None' >version.py && cp -r \"$0/venv\" \"$0/no-gpu\" &&"
		"cd \"$0\"/no-gpu/lib/*/site-packages/torch && rm -rf __pycache__ &&"
		"sed -i 's/return os.environ.*/return False/' cuda.py";
	static const struct { const char *python, *reason; } cases[] = {
		{ "no-torch/bin/python3", "has no torch" }, { "no-cuda/bin/python3", "has no CUDA" },
		{ "nothing/bin/python3", "there is no " }, { "no-gpu/bin/python3", NULL },
	};
	char *const argv[] = { "/bin/sh", "-ec", (char *)script, folder, NULL };
	struct spawn how = { .argv = argv };
	struct spawn_result result;
	struct buf err = BUF_INIT;

	(void)unused;
	assert_int_equal(spawn_run(&how, &result, &err) || result.exit_status, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int required = 0; required < 2; required++) {
			struct buf path = BUF_INIT;
			buf_addf(&path, "%s/%s", folder, cases[i].python);
			struct torch_times *times = torch_times_new(store, pool, buf_str(&path), required ? TORCH_REQUIRED
				: TORCH_IF_POSSIBLE);
			json_t *timing = add(times, TWICE "\n        # for one test alone", required, &err);
			const json_t *pytorch = json_object_get(timing, "pytorch");
			if (!cases[i].reason)
				assert_string_equal(reason_of(timing, "eager"), "PyTorch cannot use the GPU: it finds none");
			else if (!strstr(rec_json_string(pytorch, "reason", ""), cases[i].reason))
				fail_msg("%s: %s", cases[i].python, rec_json_string(pytorch, "reason", "(none)"));
			assert_int_equal(json_object_get(pytorch, "eager") == NULL, cases[i].reason != NULL);
			assert_int_equal(strstr(buf_str(&err), "--baseline torch: ") != NULL, required);
			buf_reset(&err);
			json_decref(timing);
			torch_times_free(times);
			buf_release(&path);
		}
	buf_release(&err);
}

static void
tasks_without_a_module_and_runs_without_a_wish_get_nothing(void **unused)
{
	struct torch_times *times = times_of(TORCH_NEVER);
	struct buf err = BUF_INIT;
	json_t *timing = add(times, TWICE, 0, &err);
	struct task *t = task_of(TWICE);

	(void)unused;
	assert_null(json_object_get(timing, "pytorch"));
	torch_times_free(times);
	times = times_of(TORCH_REQUIRED);
	t->reference_is_torch = false;
	assert_int_equal(torch_times_add(times, t, &t->workload[0], 7, timing, &err), 0);
	assert_null(json_object_get(timing, "pytorch"));
	torch_times_free(times);
	task_free(t);
	json_decref(timing);
}

/* ---- by the engine */

/* The bench evaluation of a solution that the driver knows by its kernel's name, by an engine of its own. NULL: it failed,
 * and *failure is the exit status that this calls for. Returned owned. */
static json_t *
evaluate(const char *baseline, const char *program, int *failure)
{
	static const char source[] = "#include <stdint.h>\n"
		"extern \"C\" __global__ void standin_works(const float *x, float *y, int64_t n) { if (n) y[0] = x[0]; }\n"
		"extern \"C\" void solve(const float *x, const float *z, float *y, int64_t N, cudaStream_t stream)\n"
		"{ standin_works<<<1, 32, 0, stream>>>(x, y, N); }\n";
	struct eval_summary summary;
	struct buf err = BUF_INIT;
	json_t *list = NULL, *evaluation = NULL;
	int status;

	eval_args.baseline = baseline;
	eval_args.python = program;
	struct eval *engine = eval_open(7, &status, &err);
	if (!engine)
		fail_msg("%s", buf_str(&err));
	struct task *t = task_of("return x * 2 # by the engine");
	if (!eval_solution(engine, t, source, EVAL_VISIBLE, &list, &summary, &err)) {
		assert_string_equal(summary.status, "PASSED");
		evaluation = json_incref((json_t *)summary.decisive);
		assert_string_equal(rec_json_string(evaluation, "workload", ""), "real");
	}
	*failure = evaluation ? 0 : eval_failure(engine);
	json_decref(list);
	task_free(t);
	eval_close(engine);
	buf_release(&err);
	return evaluation;
}

static bool
has_eager(const json_t *evaluation)
{
	return json_object_get(mode_of(json_object_get(evaluation, "timing"), "eager"), "median_us") != NULL;
}

/* In this order, on one store: no wish, a record that was kept, and a requirement, which completes it. */
static void
the_engine_adds_them(void **unused)
{
	struct buf no_cuda = BUF_INIT, store_folder = BUF_INIT;
	int failure;

	(void)unused;
	buf_addf(&no_cuda, "%s/no-cuda/bin/python3", folder);
	buf_addf(&store_folder, "%s/engine", folder);
	eval_args.store = store_folder.data;
	eval_args.device = "cuda:0";
	json_t *without = evaluate("none", python, &failure), *kept = evaluate("auto", python, &failure);
	assert_non_null(json_object_get(without, "timing"));
	assert_null(json_object_get(json_object_get(without, "timing"), "pytorch"));
	assert_true(json_equal(without, kept));
	assert_null(evaluate("torch", no_cuda.data, &failure));
	assert_int_equal(failure, 69);
	json_t *completed = evaluate("torch", python, &failure);
	assert_true(has_eager(completed));
	json_decref(without);
	json_decref(kept);
	json_decref(completed);
	/* and at once in a store that has nothing */
	buf_adds(&store_folder, "-too");
	eval_args.store = store_folder.data;
	json_t *first = evaluate("auto", python, &failure), *second = evaluate("none", python, &failure);
	assert_true(has_eager(first));
	assert_true(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	buf_release(&no_cuda);
	buf_release(&store_folder);
}

static void
other_baselines_are_refused(void **unused)
{
	struct buf err = BUF_INIT;
	int status = 0;

	(void)unused;
	eval_args.baseline = "pytorch";
	assert_null(eval_open(7, &status, &err));
	assert_int_equal(status, 64);
	assert_string_equal(buf_str(&err), "--baseline pytorch: it is auto, torch or none");
	eval_args.baseline = "auto";
	buf_release(&err);
}

static void
options_have_three_values(void **unused)
{
	enum torch_want want;

	(void)unused;
	assert_int_equal(torch_want_from_name("auto", &want), 0);
	assert_int_equal(want, TORCH_IF_POSSIBLE);
	assert_int_equal(torch_want_from_name("torch", &want), 0);
	assert_int_equal(want, TORCH_REQUIRED);
	assert_int_equal(torch_want_from_name("none", &want), 0);
	assert_int_equal(want, TORCH_NEVER);
	assert_int_equal(torch_want_from_name("pytorch", &want), -1);
}

/* ---- set-up */

/* A virtual environment whose torch is the one of tests/data. */
static int
make_python(struct buf *err)
{
	static const char script[] = "v=$(/usr/bin/python3 -c 'import sys; print(\"python%d.%d\" % sys.version_info[:2])')\n"
		"mkdir -p \"$0/venv/bin\" \"$0/venv/lib/$v/site-packages\"\nln -s /usr/bin/python3 \"$0/venv/bin/python3\"\n"
		"printf 'home = /usr/bin\\ninclude-system-site-packages = false\\n' >\"$0/venv/pyvenv.cfg\"\n"
		"cp -r tests/data/torch/fake/torch \"$0/venv/lib/$v/site-packages/\"\n"
		"touch \"$0/own-gpu\"\nchmod -R a+rX \"$0\"";
	char *const argv[] = { "/bin/sh", "-ec", (char *)script, folder, NULL };
	struct spawn how = { .argv = argv };
	struct spawn_result result;
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/venv/bin/python3", folder);
	python = buf_detach(&path);
	return spawn_run(&how, &result, err) || result.exit_status ? -1 : 0;
}

static int
start(void **unused)
{
	struct buf err = BUF_INIT, path = BUF_INIT, driver = BUF_INIT;
	int status;

	(void)unused;
	folder = io_temp_dir("t_eval_torch_time", &err);
	buf_addf(&path, "%s/store", folder);
	buf_addf(&driver, "%s/test/libcuda-standin.so", getenv("KM_OUT") ? getenv("KM_OUT") : "out");
	char *real = realpath(buf_str(&driver), NULL);
	setenv("KM_LIBCUDA", real ? real : "/nowhere", 1);
	setenv("KM_STANDIN", folder, 1);
	torch_ready_seconds = torch_samples_seconds = 30;
	bool made = !make_python(&err) && sandbox_available(&err) > SANDBOX_NONE && !sandbox_require(sandbox_available(NULL), &err) &&
		(store = store_open(buf_str(&path), &err)) && (pool = gpu_pool_open("0", &status, &err));
	if (!made)
		print_error("%s\n", buf_str(&err));
	free(real);
	buf_release(&driver);
	buf_release(&path);
	buf_release(&err);
	return made ? 0 : -1;
}

static int
stop(void **unused)
{
	(void)unused;
	gpu_pool_close(pool);
	store_close(store);
	io_remove_tree(folder, NULL);
	free(folder);
	free(python);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_have_three_values),
		cmocka_unit_test(a_module_is_timed_once),
		cmocka_unit_test(the_gpu_is_held_alone_for_the_samples),
		cmocka_unit_test(short_times_make_no_ratio),
		cmocka_unit_test(a_failure_to_compile_costs_nothing_else),
		cmocka_unit_test(hostile_modules_get_a_reason),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(other_baselines_are_refused),
		cmocka_unit_test(the_engine_adds_them),
		cmocka_unit_test(tasks_without_a_module_and_runs_without_a_wish_get_nothing),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
