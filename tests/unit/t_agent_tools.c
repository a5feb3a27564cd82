/* What a model is told by the tools and the prompts, to the letter, and the verdicts made of it. The
 * texts are training data: a change here is a change of the data set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/prompt.h"
#include "agent/tools.h"
#include "fake_eval.h"

static struct task *task;

static int
set_up(void **state)
{
	(void)state;
	task = fake_task();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	task_free(task);
	return 0;
}

static struct tool_result
call(const char *tool, const char *source)
{
	json_t *c = json_pack("{s:{s:s,s:{s:s}}}", "function", "name", tool, "arguments", "source", source);
	struct buf err = BUF_INIT;
	struct tool_result r;

	assert_int_equal(tools_execute(NULL, task, c, &r, &err), 0);
	assert_int_equal(err.len, 0);
	json_decref(c);
	return r;
}

static void
expect(const char *tool, const char *source, const char *text, const char *verdict)
{
	struct tool_result r = call(tool, source);
	struct buf json = BUF_INIT;

	assert_string_equal(buf_str(&r.text), text);
	if (r.verdict)
		rec_json_dump(r.verdict, &json);
	assert_string_equal(buf_str(&json), verdict);
	/* Held-out workloads have no name and no size in anything that a model reads. */
	assert_null(strstr(buf_str(&r.text), "secret"));
	buf_release(&json);
	tool_result_release(&r);
}

static void
test_texts(void **state)
{
	(void)state;
	expect("compile", "x", "status: PASSED\n", "{\"status\":\"PASSED\"}");
	expect("compile", "fail=COMPILE_ERROR", "status: COMPILE_ERROR\n```\nsolution.cu(3): warning #1: odd\n"
		"solution.cu(12): error: expected a \";\"\n```\n", "{\"status\":\"COMPILE_ERROR\",\"line\":12}");
	expect("test", "cost=900", "status: PASSED\npassed: one (N=1, D=1), max_absolute_error 1.25e-07\n"
		"passed: odd (N=3, D=33), max_absolute_error 1.25e-07\npassed: shape (N=8, D=64), max_absolute_error 1.25e-07\n"
		"cost: 900\n", "{\"status\":\"PASSED\"}");
	expect("test", "cost=900 race", "status: PASSED, with 1 race warning\npassed: one (N=1, D=1), max_absolute_error 1.25e-07\n"
		"passed: odd (N=3, D=33), max_absolute_error 1.25e-07\nfindings:\n"
		"- warning: racecheck write_read, line 9: no barrier is between\n- and 2 more\n"
		"passed: shape (N=8, D=64), max_absolute_error 1.25e-07\ncost: 900\n", "{\"status\":\"PASSED\"}");
	expect("profile", "cost=900", "status: PASSED\npassed: one (N=1, D=1), max_absolute_error 1.25e-07\n"
		"passed: odd (N=3, D=33), max_absolute_error 1.25e-07\npassed: shape (N=8, D=64), max_absolute_error 1.25e-07\n"
		"cost: 900\nlane_instructions: 640\nbarriers: 2\n", "{\"status\":\"PASSED\"}");
	expect("test", "fail=COMPILE_ERROR", "status: COMPILE_ERROR\n```\nsolution.cu(12): error: expected a \";\"\n```\n"
		"passed: one (N=1, D=1), max_absolute_error 1.25e-07\n", "{\"status\":\"COMPILE_ERROR\",\"line\":12}");
	expect("submit", "fail=RUNTIME_ERROR line=7", "submitted\nstatus: RUNTIME_ERROR\nworkload: odd (N=3, D=33)\n"
		"reason: 1 of 8 elements differ\nmax_absolute_error: 0.5, max_relative_error: 2.0\nmismatched_elements: 1\n"
		"first_mismatch: y[1,2] expected 0.25, got nan\nfindings:\n- memcheck out_of_bounds, line 7: "
		"read past the end of x\n"
		"passed: one (N=1, D=1), max_absolute_error 1.25e-07\n",
		"{\"status\":\"RUNTIME_ERROR\",\"workload\":\"odd\",\"check\":\"memcheck\",\"kind\":\"out_of_bounds\",\"line\":7}");
	expect("test", "fail=INCORRECT_NUMERICAL", "status: INCORRECT_NUMERICAL\nworkload: odd (N=3, D=33)\n"
		"reason: 1 of 8 elements differ\nmax_absolute_error: 0.5, max_relative_error: 2.0\nmismatched_elements: 1\n"
		"first_mismatch: y[1,2] expected 0.25, got nan\npassed: one (N=1, D=1), max_absolute_error 1.25e-07\n",
		"{\"status\":\"INCORRECT_NUMERICAL\",\"workload\":\"odd\"}");
}

/* Even when it is handed evaluations of held-out workloads. */
static void
test_held_out_is_not_described(void **state)
{
	struct eval_summary summary;
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *evaluations;

	(void)state;
	assert_int_equal(eval_solution(NULL, task, "cost=900", EVAL_ALL, &evaluations, &summary, &err), 0);
	assert_int_equal(json_array_size(evaluations), 4);
	json_object_set_new(json_array_get(evaluations, 2), "status", json_string("TIMEOUT"));
	tools_describe(task, evaluations, &text);
	assert_non_null(strstr(text.data, "status: PASSED\n"));
	assert_null(strstr(text.data, "secret"));
	assert_null(strstr(text.data, "TIMEOUT"));
	json_decref(evaluations);
	buf_release(&text);
}

static void
describe(const char *counters, const char *expected)
{
	struct buf err = BUF_INIT, text = BUF_INIT, json = BUF_INIT;

	buf_addf(&json, "[{\"workload\":\"small\",\"status\":\"PASSED\",\"max_absolute_error\":0.0,"
		"\"hardware_counters\":%s}]", counters);
	json_t *evaluations = rec_json_parse(buf_str(&json), json.len, &err);
	assert_non_null(evaluations);
	tools_describe(task, evaluations, &text);
	const char *after = strstr(buf_str(&text), "max_absolute_error 0.0\n");
	assert_string_equal(after ? after + strlen("max_absolute_error 0.0\n") : buf_str(&text), expected);
	json_decref(evaluations);
	buf_release(&json);
	buf_release(&text);
}

static void
test_hardware_counters(void **state)
{
	(void)state;
	describe("{\"tool\":\"ncu 1\",\"launches\":[{\"kernel\":\"scale\",\"duration_us\":61.3,\"registers_per_thread\":16,"
		"\"dram_percent\":88.1,\"l2_percent\":41.2,\"l1_percent\":9.9,\"issue_percent\":11.3,\"occupancy_percent\":91.7,"
		"\"dram_read_bytes\":120000000,\"dram_write_bytes\":92000000,\"l2_hit_percent\":50.1,\"l1_hit_percent\":0.0,"
		"\"global_read_requests\":10,\"global_read_sectors\":160,\"global_write_requests\":10,\"global_write_sectors\":45,"
		"\"shared_wavefronts\":200,\"shared_bank_conflicts\":50,\"warp_instructions\":4,\"lane_instructions\":66,"
		"\"waiting_memory\":31.25,\"waiting_barrier\":0.4}]}",
		"kernel scale, counted on the GPU: limited by DRAM, 88% of peak; L2 41%, issue slots 11%\n"
		"occupancy 92% with 16 registers a thread; active lanes 16.5 of 32; sectors a read request 16; sectors a write request "
		"4.5; bank conflicts 25% of shared memory passes\n"
		"DRAM read 120 MB, written 92 MB; hits in L1 0%, in L2 50%; warps wait most for global or local memory (31.2 warps an "
		"issue)\n");
	/* What was not counted is not spoken of. */
	describe("{\"tool\":\"ncu 1\",\"launches\":[{\"kernel\":\"k\",\"issue_percent\":12.0}]}",
		"kernel k, counted on the GPU: no part is busy (issue slots most, 12% of peak): it waits, or has too little work\n");
	describe("{\"tool\":\"ncu 1\",\"launches\":[{\"kernel\":\"k\"}]}",
		"kernel k, counted on the GPU: no part's use is known\n");
	/* The three longest launches, the longest first. */
	describe("{\"tool\":\"ncu 1\",\"launches\":[{\"kernel\":\"a\",\"duration_us\":1.0},{\"kernel\":\"b\",\"duration_us\":4.0},"
		"{\"kernel\":\"c\",\"duration_us\":2.0},{\"kernel\":\"d\",\"duration_us\":3.0}]}",
		"kernel b, counted on the GPU: no part's use is known\nkernel d, counted on the GPU: no part's use is known\n"
		"kernel c, counted on the GPU: no part's use is known\n");
	describe("{\"tool\":\"ncu\",\"reason\":\"there is no program ncu here\"}",
		"nothing was counted on the GPU: there is no program ncu here\n");
}

#define TIMED "\"timing\":{\"median_us\":40.0,\"empty_kernel_us\":2.5%s}"
#define PYTORCH ",\"pytorch\":{\"version\":\"2\",\"eager\":{\"median_us\":80.0,\"speedup\":2.0}," \
	"\"compile\":{\"reason\":\"no compiler\"}}"

/* What was measured, and PyTorch's time where there is one. */
static void
test_times(void **state)
{
	static const struct { const char *more, *told, *prompt; } cases[] = {
		{ "", "time on a GPU: 40 us\n", "takes 40 us on workload small, of which an empty kernel takes 2.5.\n\nMake it" },
		{ PYTORCH, "time on a GPU: 40 us, PyTorch eager 80 us (this is 2 times as fast)\n",
		  "empty kernel takes 2.5.\nThe same there by PyTorch eager 80 us (this is 2 times as fast).\n\nMake it" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT, text = BUF_INIT, json = BUF_INIT;
		struct sections s = { json_array(), json_array(), json_array(), false };
		const char *source = "timed";
		char id[33];

		eval_solution_id(task->id, source, id);
		buf_addf(&json, "[{\"solution_id\":\"%s\",\"workload\":\"small\",\"status\":\"PASSED\",\"max_absolute_error\":0.0,"
			TIMED "}]", id, cases[i].more);
		json_t *evaluations = rec_json_parse(buf_str(&json), json.len, &err), *used;
		assert_non_null(evaluations);
		tools_describe(task, evaluations, &text);
		assert_non_null(strstr(buf_str(&text), cases[i].told));
		sections_add_solution(&s, json_pack("{s:s,s:s}", "id", id, "source", source));
		sections_add_evaluations(&s, evaluations);
		json_t *m = prompt_optimize(task, NULL, &s, id, &used);
		assert_non_null(strstr(rec_json_string(m, "content", ""), cases[i].prompt));
		json_decref(m);
		json_decref(used);
		json_decref(evaluations);
		sections_release(&s);
		buf_release(&text);
		buf_release(&json);
	}
}

static void
test_held_out_counters_are_not_described(void **state)
{
	struct buf err = BUF_INIT, text = BUF_INIT;
	static const char json[] = "[{\"workload\":\"small\",\"held_out\":true,\"status\":\"PASSED\",\"hardware_counters\":"
		"{\"tool\":\"ncu\",\"launches\":[{\"kernel\":\"secret\"}]}}]";
	json_t *evaluations = rec_json_parse(json, sizeof json - 1, &err);

	(void)state;
	tools_describe(task, evaluations, &text);
	assert_null(strstr(buf_str(&text), "secret"));
	json_decref(evaluations);
	buf_release(&text);
}

static void
test_only_submit_submits(void **state)
{
	static const char *const names[] = { "compile", "test", "profile", "submit" };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct tool_result r = call(names[i], "cost=5");

		assert_int_equal(r.submitted, i == 3);
		assert_true(r.executed);
		tool_result_release(&r);
	}
}

static void
test_wrong_calls(void **state)
{
	static const char *const calls[] = {
		"{\"function\":{\"name\":\"shell\",\"arguments\":{\"source\":\"x\"}}}",
		"{\"function\":{\"name\":\"test\",\"arguments\":{}}}",
		"{\"function\":{\"name\":\"test\",\"arguments\":{\"source\":\"\"}}}",
		"{\"function\":{\"name\":\"test\",\"arguments\":{\"source\":7}}}",
		"{\"function\":{\"name\":\"test\",\"arguments\":{},\"invalid_arguments\":\"{oops\"}}",
	};

	(void)state;
	fake_evaluations = 0;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		json_t *c = rec_json_parse(calls[i], strlen(calls[i]), NULL);
		struct buf err = BUF_INIT;
		struct tool_result r;

		assert_int_equal(tools_execute(NULL, task, c, &r, &err), 0);
		assert_false(r.executed);
		assert_null(r.verdict);
		assert_int_equal(strncmp(r.text.data, "error: ", 7), 0);
		json_decref(c);
		tool_result_release(&r);
	}
	assert_int_equal(fake_evaluations, 0);
}

static void
test_our_failure(void **state)
{
	json_t *c = json_pack("{s:{s:s,s:{s:s}}}", "function", "name", "test", "arguments", "source", "broken");
	struct buf err = BUF_INIT;
	struct tool_result r;

	(void)state;
	assert_int_equal(tools_execute(NULL, task, c, &r, &err), -1);
	assert_non_null(strstr(err.data, "out of order"));
	tool_result_release(&r);
	json_decref(c);
	buf_release(&err);
}

/* A finding inside a function of the toolkit's headers has the line of the solution that it came from. */
static void
test_finding_lines(void **state)
{
	static const struct {
		const char *file, *inlined_file;
		long line;
	} cases[] = {
		{ "solution.cu", NULL, 107 }, { "solution.cu", "other.cu", 107 }, { "device.hpp", "solution.cu", 11 },
		{ "device.hpp", "other.cu", 0 }, { "device.hpp", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *finding = json_pack("{s:s,s:s,s:s,s:i,s:i}", "check", "memcheck", "kind", "misaligned", "file",
			cases[i].file, "line", 107, "inlined_line", 11);
		if (cases[i].inlined_file)
			json_object_set_new(finding, "inlined_file", json_string(cases[i].inlined_file));
		json_t *e = json_pack("{s:s,s:s,s:[o]}", "workload", "odd", "status", "RUNTIME_ERROR", "findings", finding);
		json_t *verdict = tools_verdict(e, "RUNTIME_ERROR");

		assert_int_equal(rec_json_integer(verdict, "line", 0), cases[i].line);
		json_decref(verdict);
		json_decref(e);
	}
}

static void
test_error_lines(void **state)
{
	(void)state;
	assert_int_equal(tools_error_line("solution.cu(7): error: x\nsolution.cu(3): error: y\n"), 7);
	assert_int_equal(tools_error_line("solution.cu(2): warning #177-D: x\nsolution.cu(9): error: y\n"), 9);
	assert_int_equal(tools_error_line("prelude.h(4): error: x\n"), 0);
	assert_int_equal(tools_error_line("ptxas error : too many registers\n"), 0);
	assert_int_equal(tools_error_line("solution.cu(5): catastrophic error: no file\n"), 5);
	assert_int_equal(tools_error_line("x.cu(99999999999999999999): error"), 0);
}

/* ---- prompts */

static const char *
content(const json_t *messages, size_t index)
{
	return rec_json_string(json_array_get(messages, index), "content", "");
}

static void
test_hidden_forms(void **state)
{
	json_t *used, *messages = prompt_solve(task, NULL, &used);
	const char *user = content(messages, 1);

	(void)state;
	assert_int_equal(json_array_size(messages), 2);
	assert_non_null(strstr(user, "Double every element"));
	assert_non_null(strstr(user, "void solve(const float *x, float *y, int64_t N, int64_t D, cudaStream_t stream)"));
	assert_non_null(strstr(user, "|got - expected| <= 1e-07 + 1e-06 |expected|"));
	assert_non_null(strstr(user, "- `odd` (check): N=3, D=33\n"));
	/* The task shows English only: its formula is the oracle. */
	assert_null(strstr(user, "2 * x"));
	assert_null(strstr(user, "2 x_"));
	assert_null(strstr(user, "secret"));
	assert_null(strstr(user, "N=5"));
	json_decref(messages);
	json_decref(used);
}

static void
test_shown_forms(void **state)
{
	json_t *used, *messages;

	(void)state;
	json_object_set_new(task->json, "forms", json_pack("[s]", "math_spec"));
	messages = prompt_solve(task, NULL, &used);
	assert_non_null(strstr(content(messages, 1), "$$\ny_{ij} = 2 x_{ij}\n$$"));
	assert_non_null(strstr(content(messages, 1), "y[i,j] = 2 * x[i,j]"));
	assert_null(strstr(content(messages, 1), "Double every"));
	json_object_set_new(task->json, "forms", json_pack("[s]", "natural_language"));
	json_decref(messages);
	json_decref(used);
}

static void
put(const char *directory, const char *name, const char *text)
{
	struct buf path = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/%s", directory, name);
	assert_int_equal(io_write_file(path.data, text, strlen(text), &err), 0);
	buf_release(&path);
}

static void
test_guidance(void **state)
{
	struct buf err = BUF_INIT, text = BUF_INIT;
	char *directory = io_temp_dir("km-test-", &err);
	struct guidance *g;
	json_t *used;

	(void)state;
	put(directory, "b.md", "---\nop_types: any\nphases: solve repair\n---\nsecond\n");
	put(directory, "a.md", "---\nop_types: softmax elementwise\nphases: solve\n---\nfirst\n");
	put(directory, "c.md", "---\nop_types: softmax\nphases: solve\n---\nthird\n");
	put(directory, "README.md", "not a text\n");
	g = guidance_load(directory, &err);
	assert_non_null(g);
	guidance_choose(g, "elementwise", PHASE_SOLVE, &text, &used);
	assert_string_equal(text.data, "\nfirst\n\nsecond\n");
	assert_int_equal(json_array_size(used), 2);
	assert_string_equal(rec_json_string(json_array_get(used, 0), "name", ""), "a");
	json_decref(used);
	buf_reset(&text);
	/* "element" is no word of "elementwise". */
	guidance_choose(g, "element", PHASE_SOLVE, &text, &used);
	assert_string_equal(text.data, "\nsecond\n");
	json_decref(used);
	guidance_free(g);
	put(directory, "d.md", "no head\n");
	assert_null(guidance_load(directory, &err));
	assert_non_null(strstr(err.data, "d.md: must open with"));
	fake_remove(directory);
	buf_release(&text);
	buf_release(&err);
}

static void
test_repair_prompt(void **state)
{
	const char *source = "// one\n// two\nfail=RUNTIME_ERROR line=2\n// four\n";
	struct sections s = { json_array(), json_array(), json_array(), false };
	struct tool_result r = call("test", source);
	json_t *used, *m;
	char id[33];

	(void)state;
	eval_solution_id(task->id, source, id);
	sections_add_solution(&s, json_pack("{s:s,s:s}", "id", id, "source", source));
	sections_add_evaluations(&s, r.evaluations);
	m = prompt_repair(task, NULL, &s, id, &used);
	assert_non_null(strstr(rec_json_string(m, "content", ""), "- memcheck out_of_bounds, line 2: read past"));
	assert_non_null(strstr(rec_json_string(m, "content", ""), "```cuda\n    1  // one\n>   2  // two\n"
		"    3  fail=RUNTIME_ERROR line=2\n```"));
	json_decref(m);
	json_decref(used);
	tool_result_release(&r);
	sections_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts), cmocka_unit_test(test_held_out_is_not_described),
		cmocka_unit_test(test_times), cmocka_unit_test(test_hardware_counters),
		cmocka_unit_test(test_held_out_counters_are_not_described),
		cmocka_unit_test(test_only_submit_submits), cmocka_unit_test(test_wrong_calls),
		cmocka_unit_test(test_our_failure), cmocka_unit_test(test_error_lines), cmocka_unit_test(test_finding_lines),
		cmocka_unit_test(test_hidden_forms),
		cmocka_unit_test(test_shown_forms), cmocka_unit_test(test_guidance), cmocka_unit_test(test_repair_prompt),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
