/* Solutions through the whole engine: verdicts, findings with lines, cost, the store; and the golden verdicts
 * that may change only together with VERDICT_PROTOCOL. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "eval/eval.h"
#include "hash/sha256.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"

static const char task_text[] =
	"{\"name\":\"reverse\",\"id\":\"0123456789abcdef0123456789abcdef\",\"op_type\":\"gather\",\"forms\":[\"math_spec\"],"
	"\"oracle\":\"math_spec\",\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = x[N - 1 - i] + c[0]\"},"
	"\"axes\":[{\"name\":\"N\"},{\"name\":\"ONE\",\"value\":1}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"domain\":{\"distribution\":\"normal\"}},"
	"{\"name\":\"c\",\"dtype\":\"float32\",\"shape\":[\"ONE\"],\"domain\":{\"distribution\":\"uniform\",\"low\":1,\"high\":2}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-6,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":1003}},"
	"{\"name\":\"held\",\"role\":\"check\",\"axes\":{\"N\":33},\"held_out\":true},"
	"{\"name\":\"shape\",\"role\":\"profile\",\"axes\":{\"N\":4096}}]}";

/* The faults are on line 6 of the source, so that a finding can be asked for it. */
#define SOLUTION(line6) \
	"#include <stdint.h>\n" \
	"__global__ void reverse(const float *x, const float *c, float *y, int64_t n)\n" \
	"{\n" \
	"	__shared__ float tile[256];\n" \
	"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n" \
	"	" line6 "\n" \
	"}\n" \
	"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n" \
	"{\n" \
	"	reverse<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, c, y, N);\n" \
	"}\n"

static const char good[] = SOLUTION("tile[0] = 0; if (i < n) y[i] = x[n - 1 - i] + c[0];");

static struct eval *engine;
static struct task *task;
static char *folder;

static json_t *
evaluate(const char *source, enum eval_select select, struct eval_summary *summary)
{
	struct buf err = BUF_INIT;
	json_t *list;

	if (eval_solution(engine, task, source, select, &list, summary, &err))
		fail_msg("%s", buf_str(&err));
	return list;
}

/* The verdict on the source with a macro defined as this value. */
static void
expect_status(const char *source, const char *macro, int value, const char *status)
{
	struct buf text = BUF_INIT;
	struct eval_summary summary;

	buf_addf(&text, "#define %s %d\n%s", macro, value, source);
	json_t *list = evaluate(buf_str(&text), EVAL_VISIBLE, &summary);
	if (strcmp(summary.status, status) != 0)
		fail_msg("%s %d: %s: %s", macro, value, summary.status, rec_json_string(summary.decisive, "reason", ""));
	json_decref(list);
	buf_release(&text);
}

static void
a_right_solution_passes_with_a_cost(void **state)
{
	struct eval_summary summary;
	json_t *list = evaluate(good, EVAL_VISIBLE, &summary);

	(void)state;
	assert_string_equal(summary.status, "PASSED");
	assert_int_equal(json_array_size(list), 2);	/* odd and shape; held is held out */
	assert_true(summary.cost > 4096);
	const json_t *counters = json_object_get(summary.decisive, "counters");
	/* 4096 floats are read backwards, one is broadcast to 128 warps, 4096 are written: whole sectors all. */
	assert_int_equal(rec_json_integer(counters, "global_read_sectors", 0), 4096 / 8 + 128);
	assert_int_equal(rec_json_integer(counters, "global_write_sectors", 0), 4096 / 8);
	assert_true(summary.cost == (double)rec_json_integer(counters, "lane_instructions", 0)
		+ COST_PER_SECTOR * (4096 / 8 + 128 + 4096 / 8));
	json_decref(list);
}

/* A variable may hold the address of another one. */
static void
variables_may_point_at_one_another(void **state)
{
	static const char source[] =
		"#include <stdint.h>\n"
		"__device__ float values[2] = { 7, 0 };\n"
		"__device__ float *pointer = &values[1];\n"
		"__global__ void reverse(const float *x, const float *c, float *y, int64_t n)\n"
		"{\n"
		"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
		"	if (i < n) y[i] = x[n - 1 - i] + c[0] + *pointer;\n"
		"}\n"
		"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n"
		"{\n"
		"	reverse<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, c, y, N);\n"
		"}\n";
	struct eval_summary summary;

	(void)state;
	json_t *list = evaluate(source, EVAL_VISIBLE, &summary);
	if (strcmp(summary.status, "PASSED") != 0)
		fail_msg("%s: %s", summary.status, rec_json_string(summary.decisive, "reason", ""));
	json_decref(list);
}

#define IN_PARTS(kernel, parts) \
	"#include <stdint.h>\n" \
	"__global__ void reverse(const float *x, const float *c, float *y, int *flag, int64_t n)\n" \
	"{\n" \
	"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, k = blockIdx.y;\n" \
	"	" kernel "\n" \
	"}\n" \
	"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n" \
	"{\n" \
	"	int *flag;\n" \
	"	cudaMallocAsync(&flag, 4, stream);\n" \
	"	cudaMemsetAsync(flag, 0, 4, stream);\n" \
	"	cudaMemsetAsync(y, 0, N * 4, stream);\n" \
	"	reverse<<<dim3((unsigned)((N + 255) / 256), " parts "), 256, 0, stream>>>(x, c, y, flag, N);\n" \
	"	cudaFreeAsync(flag, stream);\n" \
	"}\n"

/* Block 0 comes first by chance only. Sums of floats depend on the order of their atomics too, but stay right. */
static void
what_depends_on_the_order_of_blocks_is_found(void **state)
{
	static const char chance[] = IN_PARTS("if (!i) atomicExch(flag, 1); if (i < n) y[i] = "
		"(x[n - 1 - i] + c[0]) * atomicAdd(flag, 0);", "1");
	static const char sums[] = IN_PARTS("if (i >= n) return; float v = x[n - 1 - i]; "
		"atomicAdd(&y[i], k == 0 ? v : k == 1 ? c[0] : k == 2 ? -0.3f * v : 0.3f * v);", "4");
	struct eval_summary summary;

	(void)state;
	json_t *list = evaluate(chance, EVAL_VISIBLE, &summary);
	assert_string_equal(summary.status, "SUSPICIOUS");
	assert_non_null(strstr(rec_json_string(summary.decisive, "reason", ""), "in another order"));
	json_decref(list);
	list = evaluate(sums, EVAL_VISIBLE, &summary);
	if (strcmp(summary.status, "PASSED") != 0)
		fail_msg("%s: %s", summary.status, rec_json_string(summary.decisive, "reason", ""));
	assert_true(json_is_false(json_object_get(json_array_get(list, 0), "repeatable")));
	json_decref(list);
}

/* Cooperative launches and clusters come from the host code to the machine. */
static void
blocks_may_wait_for_each_other(void **state)
{
	static const char source[] =
		"#include <stdint.h>\n"
		"#include <cooperative_groups.h>\n"
		"namespace cg = cooperative_groups;\n"
		"__global__ void together(const float *x, float *y, int64_t n)\n"
		"{\n"
		"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
		"	if (i < n) y[i] = x[i];\n"
		"	cg::this_grid().sync();\n"
		"	float v = i < n ? y[n - 1 - i] : 0;\n"
		"	cg::this_grid().sync();\n"
		"	if (i < n) y[i] = v;\n"
		"}\n"
		"__global__ void __cluster_dims__(4, 1, 1) add(const float *c, float *y, int64_t n)\n"
		"{\n"
		"	__shared__ float s;\n"
		"	cg::cluster_group cluster = cg::this_cluster();\n"
		"	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;\n"
		"	if (!threadIdx.x) s = cluster.block_rank() == 3 ? c[0] : 0;\n"
		"	cluster.sync();\n"
		"	if (i < n) y[i] += *cluster.map_shared_rank(&s, 3);\n"
		"	cluster.sync();\n"
		"}\n"
		"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n"
		"{\n"
		"	unsigned blocks = (unsigned)((N + 1023) / 1024 * 4);\n"
		"	void *arguments[] = { &x, &y, &N };\n"
		"	cudaLaunchCooperativeKernel((const void *)together, dim3(blocks), dim3(256), arguments, 0, stream);\n"
		"	add<<<blocks, 256, 0, stream>>>(c, y, N);\n"
		"}\n";
	struct eval_summary summary;

	(void)state;
	json_t *list = evaluate(source, EVAL_VISIBLE, &summary);
	if (strcmp(summary.status, "PASSED") != 0)
		fail_msg("%s: %s", summary.status, rec_json_string(summary.decisive, "reason", ""));
	const json_t *findings = json_object_get(json_array_get(list, 0), "findings");
	if (json_array_size(findings))
		fail_msg("%s", rec_json_string(json_array_get(findings, 0), "message", ""));
	json_decref(list);
}

/* A copy on a second stream, which waits for the kernel of the first, or only seems to. */
static void
what_depends_on_the_order_of_streams_is_found(void **state)
{
	static const char source[] =
		"#include <stdint.h>\n"
		"__global__ void reverse(const float *x, const float *c, float *y, int64_t n)\n"
		"{\n"
		"	for (int64_t i = threadIdx.x; i < n; i += 256) y[i] = x[n - 1 - i] + c[0];\n"
		"}\n"
		"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n"
		"{\n"
		"	float *scratch;\n"
		"	cudaStream_t other;\n"
		"	cudaEvent_t event[2];\n"
		"	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);\n"
		"	for (int k = 0; k < 2; k++) cudaEventCreateWithFlags(&event[k], cudaEventDisableTiming);\n"
		"	cudaMallocAsync((void **)&scratch, N * 4, stream);\n"
		"	if (!WAITS) cudaEventRecord(event[0], stream);\n"
		"	reverse<<<1, 256, 0, stream>>>(x, c, scratch, N);\n"
		"	if (WAITS) cudaEventRecord(event[0], stream);\n"
		"	cudaStreamWaitEvent(other, event[0], 0);\n"
		"	cudaMemcpyAsync(y, scratch, N * 4, cudaMemcpyDeviceToDevice, other);\n"
		"	cudaEventRecord(event[1], other);\n"
		"	cudaStreamWaitEvent(stream, event[1], 0);\n"
		"	cudaFreeAsync(scratch, stream);\n"
		"}\n";

	(void)state;
	expect_status(source, "WAITS", 0, "SUSPICIOUS");
	expect_status(source, "WAITS", 1, "PASSED");
}

/* Right when called once, and scratch that is taken twice is no state. */
static void
what_a_call_leaves_in_device_memory_is_found(void **state)
{
	static const char source[] =
		"#include <stdint.h>\n"
		"__device__ int calls;\n"
		"__global__ void reverse(const float *x, const float *c, float *y, float *scratch, int64_t n)\n"
		"{\n"
		"	for (int64_t i = threadIdx.x; i < n; i += 256) scratch[i] = x[n - 1 - i] + c[0];\n"
		"	for (int64_t i = threadIdx.x; i < n; i += 256) y[i] = scratch[i] + (KEEP ? calls : 0);\n"
		"	__syncthreads();\n"
		"	if (!threadIdx.x) calls++;\n"
		"}\n"
		"extern \"C\" void solve(const float *x, const float *c, float *y, int64_t N, cudaStream_t stream)\n"
		"{\n"
		"	float *scratch;\n"
		"	cudaMallocAsync((void **)&scratch, N * 4, stream);\n"
		"	reverse<<<1, 256, 0, stream>>>(x, c, y, scratch, N);\n"
		"	cudaFreeAsync(scratch, stream);\n"
		"}\n";

	(void)state;
	expect_status(source, "KEEP", 0, "PASSED");
	expect_status(source, "KEEP", 1, "SUSPICIOUS");
}

/* Whether a race within a warp or an element that was left out does harm, the outputs tell; the record keeps both. */
static void
warnings_decide_nothing(void **state)
{
	struct eval_summary summary;
	json_t *list = evaluate(SOLUTION("float v = i < n ? x[n - 1 - i] : 0; if (threadIdx.x < 32) tile[threadIdx.x / 2] = v;"
		" __syncthreads(); if (i < n) y[i] = v + c[0] + 0 * tile[0];"), EVAL_VISIBLE, &summary);

	(void)state;
	assert_string_equal(summary.status, "PASSED");
	const json_t *findings = json_object_get(json_array_get(list, 0), "findings");
	assert_int_equal(json_array_size(findings), 1);
	const json_t *finding = json_array_get(findings, 0);
	assert_string_equal(rec_json_string(finding, "severity", ""), "warning");
	assert_string_equal(rec_json_string(finding, "check", ""), "racecheck");
	assert_string_equal(rec_json_string(finding, "kind", ""), "write_write");
	assert_int_equal(rec_json_integer(finding, "line", 0), 6);
	assert_int_equal(rec_json_integer(finding, "other_line", 0), 6);
	assert_string_equal(rec_json_string(finding, "buffer", ""), "tile");
	json_decref(list);
	list = evaluate(SOLUTION("if (i < n - 3) y[i] = x[n - 1 - i] + c[0];"), EVAL_VISIBLE, &summary);
	assert_string_equal(summary.status, "INCORRECT_NUMERICAL");
	finding = json_array_get(json_object_get(summary.decisive, "findings"), 0);
	assert_string_equal(rec_json_string(finding, "kind", ""), "never_written");
	assert_string_equal(rec_json_string(finding, "message", ""),
		"Output y: 3 of 1003 elements never written, first at [1000].");
	json_decref(list);
}

static void
held_out_workloads_are_for_the_final_verdict_only(void **state)
{
	struct eval_summary summary;
	json_t *list = evaluate(good, EVAL_ALL, &summary);

	(void)state;
	assert_string_equal(summary.status, "PASSED");
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(rec_json_string(json_array_get(list, 1), "workload", ""), "held");
	assert_true(rec_json_boolean(json_array_get(list, 1), "held_out", 0));
	json_decref(list);
}

static void
an_answer_is_kept_and_not_run_again(void **state)
{
	struct eval_summary summary;
	uint64_t run, stored, run_again, stored_again;
	json_t *first = evaluate(good, EVAL_VISIBLE, &summary);

	(void)state;
	eval_counts(engine, &run, &stored);
	json_t *second = evaluate(good, EVAL_VISIBLE, &summary);
	eval_counts(engine, &run_again, &stored_again);
	assert_true(json_equal(first, second));
	assert_int_equal(run, run_again);
	assert_int_equal(stored_again, stored + 3);	/* the build is a question too */
	json_decref(first);
	json_decref(second);
}

static void
faults_are_named_with_their_line(void **state)
{
	static const struct { const char *line6, *status, *check, *kind; int line; } cases[] = {
		{ "y[i] = x[n - 1 - i] + c[0];", "RUNTIME_ERROR", "memcheck", "out_of_bounds", 6 },
		{ "if (i < n) y[i] = tile[threadIdx.x] + c[0];", "RUNTIME_ERROR", "initcheck", "uninitialised_read", 6 },
		{ "tile[0] = 0; if (threadIdx.x & 1) __syncthreads(); if (i < n) y[i] = x[n - 1 - i] + c[0] + 0 * tile[0];",
			"RUNTIME_ERROR", "synccheck", "divergent_barrier", 6 },
		{ "tile[0] = 0; if (i < n) y[i] = x[i] + c[0];", "INCORRECT_NUMERICAL", NULL, NULL, 0 },
		{ "tile[0] = 0; if (i < n - 1) y[i] = x[n - 1 - i] + c[0];", "INCORRECT_NUMERICAL", "initcheck", "never_written", 0 },
		{ "((float *)x)[i < n ? i : 0] = 0;", "RUNTIME_ERROR", "memcheck", "read_only_write", 6 },
		{ "tile[0] = 0; while (n) if (*(volatile const float *)c == 12345.0f) n = 0;", "TIMEOUT", "synccheck",
			"deadlock", 6 },
		{ "undeclared = 1;", "COMPILE_ERROR", "compiler", "error", 6 },
		/* look-alikes that are right: lanes may leave before a barrier, and stop in different rounds of a loop */
		{ "tile[0] = 0; if (i >= n) return; __syncthreads(); y[i] = x[n - 1 - i] + c[0];", "PASSED", NULL, NULL, 0 },
		{ "for (int k = 0; k < threadIdx.x % 5; k++) tile[k] = x[k]; __syncthreads(); if (i < n) y[i] = x[n - 1 - i] + c[0];",
			"PASSED", NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf source = BUF_INIT;
		struct eval_summary summary;
		const char *at = strstr(good, "tile[0]");

		buf_add(&source, good, (size_t)(at - good));
		buf_adds(&source, cases[i].line6);
		buf_adds(&source, strchr(at, '\n'));
		json_t *list = evaluate(buf_str(&source), EVAL_VISIBLE, &summary);
		const json_t *finding = json_array_get(json_object_get(summary.decisive, "findings"), 0);
		if (strcmp(summary.status, cases[i].status))
			fail_msg("%s: %s (%s)", cases[i].line6, summary.status, rec_json_string(summary.decisive, "reason", ""));
		assert_true(isnan(summary.cost) == (strcmp(summary.status, "PASSED") != 0));
		if (cases[i].check) {
			assert_string_equal(rec_json_string(finding, "check", "none"), cases[i].check);
			assert_string_equal(rec_json_string(finding, "kind", "none"), cases[i].kind);
			assert_int_equal(rec_json_integer(finding, "line", 0), cases[i].line);
		} else if (finding) {
			fail_msg("%s: %s", cases[i].line6, rec_json_string(finding, "message", ""));
		}
		json_decref(list);
		buf_release(&source);
	}
}

static void
the_quick_check_agrees_with_the_compiler(void **state)
{
	struct buf log = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(eval_compile(engine, task, good, &log, &err), 1);
	assert_int_equal(eval_compile(engine, task, SOLUTION("undeclared = 1;"), &log, &err), 0);
	assert_non_null(strstr(buf_str(&log), "undeclared"));
	buf_release(&log);
	buf_release(&err);
}

/* If this fails, an input byte or a verdict has changed: raise VERDICT_PROTOCOL, then write the new digest here. */
static void
golden_verdicts_change_only_with_the_protocol(void **state)
{
	static const struct { int protocol; const char *digest; } golden = { 3,
		"f7aefe360503dd5df9f0b7137d6690715151b4965aa31fc178f28cd52f8712ee" };
	struct eval_summary summary;
	json_t *list = evaluate(good, EVAL_ALL, &summary), *evaluation;
	struct buf text = BUF_INIT;
	char digest[SHA256_HEX];
	size_t i;

	(void)state;
	json_array_foreach(list, i, evaluation) {
		/* Instruction counts are the compiler's, estimates a model's; verdicts and errors are ours. */
		static const char *const not_ours[] = { "counters", "cost", "estimate", "traffic" };
		for (size_t k = 0; k < sizeof not_ours / sizeof *not_ours; k++)
			json_object_del(evaluation, not_ours[k]);
		rec_json_canonical(evaluation, &text);
	}
	sha256_hex(buf_str(&text), text.len, digest);
	assert_int_equal(VERDICT_PROTOCOL, golden.protocol);
	if (strcmp(digest, golden.digest))
		fail_msg("digest %s of %s", digest, buf_str(&text));
	json_decref(list);
	buf_release(&text);
}

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;
	json_t *section = rec_json_parse(task_text, sizeof task_text - 1, &err);
	int status;

	(void)state;
	folder = io_temp_dir("km-eval", &err);
	task = task_load(section, &err);
	json_decref(section);
	eval_args.store = folder;
	engine = task && folder ? eval_open(1, &status, &err) : NULL;
	if (!engine)
		print_error("%s\n", buf_str(&err));
	return engine ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	eval_close(engine);
	task_free(task);
	return io_remove_tree(folder, &err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_solution_passes_with_a_cost),
		cmocka_unit_test(variables_may_point_at_one_another),
		cmocka_unit_test(what_a_call_leaves_in_device_memory_is_found),
		cmocka_unit_test(what_depends_on_the_order_of_streams_is_found),
		cmocka_unit_test(warnings_decide_nothing),
		cmocka_unit_test(what_depends_on_the_order_of_blocks_is_found), cmocka_unit_test(blocks_may_wait_for_each_other),
		cmocka_unit_test(held_out_workloads_are_for_the_final_verdict_only),
		cmocka_unit_test(an_answer_is_kept_and_not_run_again), cmocka_unit_test(faults_are_named_with_their_line),
		cmocka_unit_test(the_quick_check_agrees_with_the_compiler),
		cmocka_unit_test(golden_verdicts_change_only_with_the_protocol),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
