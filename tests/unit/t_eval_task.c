/* Tasks: what task_load refuses and says, shapes, identities, prototypes, inputs and oracles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "eval/inputs.h"
#include "eval/oracle.h"
#include "eval/task.h"
#include "rec/json.h"

static const char good[] =
	"{\"name\":\"scaled\",\"id\":\"00\",\"op_type\":\"elementwise\",\"forms\":[\"math_spec\"],\"oracle\":\"math_spec\","
	"\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i,j] = alpha * x[i, j*S] + idx[i]\"},"
	"\"reference\":{\"language\":\"c\",\"source\":\"#include <stdint.h>\\nvoid reference(const float *x, const int32_t *idx,"
	" float *y, int64_t N, int64_t D, float alpha) { for (int64_t i = 0; i < N; i++) for (int64_t j = 0; j < (D-1)/2+1; j++)"
	" y[i*((D-1)/2+1)+j] = alpha * x[i*D+2*j] + idx[i]; }\"},"
	"\"axes\":[{\"name\":\"N\"},{\"name\":\"D\"},{\"name\":\"S\",\"value\":2},{\"name\":\"O\",\"expr\":\"(D - 1) div S + 1\"}],"
	"\"scalars\":[{\"name\":\"alpha\",\"dtype\":\"float32\",\"value\":0.5}],"
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\",\"D\"],\"domain\":{\"distribution\":\"normal\"}},"
	"{\"name\":\"idx\",\"dtype\":\"int32\",\"shape\":[\"N\"],"
	"\"domain\":{\"distribution\":\"integers\",\"low\":0,\"high\":\"D\"}}],"
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\",\"O\"]}],\"rtol\":1e-5,\"atol\":1e-6,"
	"\"workloads\":[{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":3,\"D\":7}},"
	"{\"name\":\"held\",\"role\":\"check\",\"axes\":{\"N\":2,\"D\":5},\"held_out\":true}]}";

/* The good task with one text replaced by another. */
static json_t *
changed(const char *from, const char *to)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	const char *at = strstr(good, from);

	assert_non_null(at);
	buf_add(&text, good, (size_t)(at - good));
	buf_adds(&text, to);
	buf_adds(&text, at + strlen(from));
	json_t *section = rec_json_parse(text.data, text.len, &err);
	if (!section)
		fail_msg("%s", buf_str(&err));
	buf_release(&text);
	return section;
}

static struct task *
load(const char *from, const char *to)
{
	struct buf err = BUF_INIT;
	json_t *section = changed(from, to);
	struct task *t = task_load(section, &err);

	json_decref(section);
	if (!t)
		fail_msg("%s", buf_str(&err));
	return t;
}

static void
a_task_has_resolved_axes_and_shapes(void **state)
{
	struct task *t = load("scaled", "scaled");
	int64_t shape[TASK_MAX_RANK];

	(void)state;
	assert_int_equal(t->workloads, 2);
	assert_true(t->workload[1].held_out);
	assert_int_equal(task_shape(t, &t->output[0], &t->workload[0], shape), 12);
	assert_int_equal(shape[0], 3);
	assert_int_equal(shape[1], 4);
	assert_int_equal(t->workload[0].tensor_bytes, 4 * (3 * 7 + 3 + 3 * 4));
	struct buf prototype = BUF_INIT;
	task_prototype(t, &prototype);
	assert_string_equal(buf_str(&prototype), "extern \"C\" void solve(const float *x, const int32_t *idx, float *y, "
		"int64_t N, int64_t D, float alpha, cudaStream_t stream)");
	buf_release(&prototype);
	task_free(t);
}

static void
bad_tasks_are_refused_by_name(void **state)
{
	static const struct { const char *from, *to, *says; } cases[] = {
		{ "\"name\":\"scaled\"", "\"name\":\"sca led\"", "task 'sca led' is not a name" },
		{ "\"name\":\"alpha\"", "\"name\":\"x\"", "the name 'x' is used twice" },
		{ "\"name\":\"idx\"", "\"name\":\"stream\"", "'stream' has a reserved name" },
		{ "\"name\":\"idx\"", "\"name\":\"double\"", "'double' has a reserved name" },
		{ "\"dtype\":\"int32\"", "\"dtype\":\"int31\"", "unknown dtype 'int31'" },
		{ "[\"N\",\"O\"]", "[\"N\",\"Q\"]", "shape names 'Q', which is no axis" },
		{ "div S + 1", "div 0 + 1", "workload 'odd': " },
		{ "\"N\":3,\"D\":7", "\"N\":3", "workload 'odd': " },
		{ "\"N\":3,\"D\":7", "\"N\":3,\"D\":7,\"Z\":1", "workload 'odd': " },
		{ "\"N\":3,\"D\":7", "\"N\":300000000,\"D\":7", "more than the 1073741824 allowed" },
		{ "\"role\":\"check\"", "\"role\":\"chek\"", "has the role 'chek'" },
		{ "\"name\":\"held\"", "\"name\":\"odd\"", "workload 'odd' is there twice" },
		{ "\"oracle\":\"math_spec\"", "\"oracle\":\"truth\"", "neither math_spec nor reference_program" },
		{ "alpha * x[i, j*S]", "alpha * q[i, j*S]", "spec.math:1:" },
		{ "\"distribution\":\"normal\"", "\"distribution\":\"gauss\"", "unknown distribution 'gauss'" },
		{ "\"distribution\":\"normal\"", "\"distribution\":\"normal\",\"sigma\":1", "a domain has no 'sigma'" },
		{ "\"high\":\"D\"", "\"high\":\"D - D\"", "input 'idx', workload 'odd'" },
		{ "\"rtol\":1e-5", "\"rtol\":-1", "out of range" },
		{ "\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\",\"O\"]}]", "\"outputs\":[]", "no output" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		json_t *section = changed(cases[i].from, cases[i].to);
		struct task *t = task_load(section, &err);

		if (t || !strstr(buf_str(&err), cases[i].says))
			fail_msg("%s -> %s: said '%s', not '%s'", cases[i].from, cases[i].to, buf_str(&err), cases[i].says);
		json_decref(section);
		buf_release(&err);
	}
}

static void
an_identity_is_of_the_contract(void **state)
{
	char one[33], other[33];
	json_t *a = changed("scaled", "scaled"), *b = changed("scaled", "renamed"), *c = changed("alpha * x", "alpha*x");

	(void)state;
	task_identity(a, one);
	task_identity(b, other);
	assert_string_equal(one, other);
	task_identity(c, other);
	assert_string_not_equal(one, other);
	/* Nor of what follows from it. */
	json_object_set_new(json_object_get(b, "math_spec"), "latex", json_string("\\alpha x"));
	json_object_set_new(json_array_get(json_object_get(b, "workloads"), 0), "min_memory_bytes", json_integer(7));
	task_identity(b, other);
	assert_string_equal(one, other);
	json_decref(a);
	json_decref(b);
	json_decref(c);
}

static void
inputs_depend_on_every_part_of_the_key(void **state)
{
	struct task *t = load("scaled", "scaled");
	struct inputs_key keys[] = { { 1, 0, "s" }, { 2, 0, "s" }, { 1, 1, "s" }, { 1, 0, "t" }, { 1, 0, "s" } };
	struct tensor made[5][TASK_MAX_TENSORS];
	struct buf err = BUF_INIT;

	(void)state;
	for (int k = 0; k < 5; k++)
		assert_int_equal(inputs_make(t, &t->workload[0], &keys[k], made[k], &err), 0);
	for (int k = 1; k < 4; k++)
		assert_memory_not_equal(made[0][0].data, made[k][0].data, made[0][0].bytes);
	assert_memory_equal(made[0][0].data, made[4][0].data, made[0][0].bytes);
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < t->inputs; i++)
			tensor_release(&made[k][i]);
	task_free(t);
}

/* ---- oracles */

static struct store *store;
static struct oracle *oracle;

static enum oracle_status
run_oracle(struct task *t, bool math, struct tensor *expected, const char **code, struct buf *err)
{
	struct inputs_key key = { 1, 0, "" };
	struct tensor inputs[TASK_MAX_TENSORS];

	assert_int_equal(inputs_make(t, &t->workload[0], &key, inputs, err), 0);
	enum oracle_status status = oracle_run(oracle, t, t->workload[0].axes, math, inputs, expected, code, err);
	for (int i = 0; i < t->inputs; i++)
		tensor_release(&inputs[i]);
	return status;
}

static void
math_and_reference_say_the_same(void **state)
{
	struct task *t = load("scaled", "scaled");
	struct tensor math[1], reference[1];
	struct buf err = BUF_INIT;
	const char *code = "";

	(void)state;
	assert_int_equal(run_oracle(t, true, math, &code, &err), ORACLE_OK);
	assert_int_equal(run_oracle(t, false, reference, &code, &err), ORACLE_OK);
	for (int64_t e = 0; e < 12; e++)
		assert_true(tensor_get(&math[0], e) - tensor_get(&reference[0], e) < 1e-5
			&& tensor_get(&reference[0], e) - tensor_get(&math[0], e) < 1e-5);
	tensor_release(math);
	tensor_release(reference);
	task_free(t);
}

static void
bad_references_are_told_apart(void **state)
{
	static const struct { const char *body, *code, *says; } cases[] = {
		{ "int *p = 0; *p = 1;", "reference_crashed", "Segmentation fault" },
		{ "for (;;) ;", "reference_timeout", "does not return" },
		{ "y[N * 4 * 100] = 1;", "reference_crashed", "" },
		{ "y[12] = 1;", "reference_out_of_bounds", "past the end of y" },
		{ "y[-1] = 1;", "reference_out_of_bounds", "before the start of y" },
		{ "((float *)x)[0] = 1;", "reference_out_of_bounds", "writes to its input x" },
		{ "exit(0);", "reference_exited", "instead of returning" },
		{ "y[0] = ;", "reference_does_not_compile", "does not compile" },
		{ "abort();", "reference_crashed", "Aborted" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct task *t = load("scaled", "scaled");
		struct buf source = BUF_INIT, err = BUF_INIT;
		struct tensor expected[1];
		const char *code = "";

		buf_addf(&source, "#include <stdint.h>\n#include <stdlib.h>\nvoid reference(const float *x, const int32_t *idx, "
			"float *y, int64_t N, int64_t D, float alpha) { %s }\n", cases[i].body);
		t->reference = buf_str(&source);
		assert_int_equal(run_oracle(t, false, expected, &code, &err), ORACLE_REFUSED);
		if (strcmp(code, cases[i].code) && !(i == 2 && !strcmp(code, "reference_out_of_bounds")))
			fail_msg("%s: code %s, not %s", cases[i].body, code, cases[i].code);
		if (!strstr(buf_str(&err), cases[i].says))
			fail_msg("%s: said '%s'", cases[i].body, buf_str(&err));
		task_free(t);
		buf_release(&source);
		buf_release(&err);
	}
}

static char *folder;

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	folder = io_temp_dir("km-eval", &err);
	store = folder ? store_open(folder, &err) : NULL;
	oracle = store ? oracle_new(store, "/usr/bin/python3") : NULL;
	return store ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	oracle_free(oracle);
	store_close(store);
	return io_remove_tree(folder, &err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_has_resolved_axes_and_shapes), cmocka_unit_test(bad_tasks_are_refused_by_name),
		cmocka_unit_test(an_identity_is_of_the_contract),
		cmocka_unit_test(inputs_depend_on_every_part_of_the_key),
		cmocka_unit_test(math_and_reference_say_the_same), cmocka_unit_test(bad_references_are_told_apart),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
