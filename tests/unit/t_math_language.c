/*
 * LANGUAGE.md is a specification and a test: every example in it is parsed, checked and evaluated, as a
 * whole and element by element, and must give the values or the error that stand there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "math_example.h"
#include "tensor/compare.h"

/* All examples are run, so that one change of the language shows all that it changes. */
static int failures;

static void
check_error(const struct example *e, const char *got)
{
	if (e->error && strcmp(got, e->error) == 0)
		return;
	failures++;
	print_error("example at line %d: expected %s\n  got %s\n", e->line, e->error ? e->error : "values", got);
}

static void
check_output(const struct example *e, size_t k, const struct tensor *got)
{
	struct compare_result result;

	assert_int_equal(got->dtype, e->expected[k].dtype);
	if (!compare_tensors(got, &e->expected[k], (struct tolerance){ 1e-12, 1e-12 }, &result, NULL)
		&& !result.mismatched)
		return;
	failures++;
	print_error("example at line %d: %s[%lld] is %.17g, expected %.17g\n", e->line, got->name,
		(long long)result.first_mismatch, result.got, result.expected);
}

/* Every element alone has the very bits that it has in the whole. */
static void
check_elements(const struct example *e, struct math_run *run, size_t k, const struct tensor *whole)
{
	int64_t subscripts[TENSOR_MAX_RANK];
	struct math_value value;
	struct buf err = BUF_INIT;

	for (int64_t i = 0; i < tensor_elements(whole); i++) {
		tensor_subscripts(whole->rank, whole->shape, i, subscripts);
		if (math_element(run, k, subscripts, &value, &err))
			fail_msg("example at line %d, element %lld: %s", e->line, (long long)i, buf_str(&err));
		assert_int_equal(value.is_integer, whole->dtype == DTYPE_INT64);
		if (value.is_integer)
			assert_true(value.integer == tensor_get_integer(whole, i));
		else
			assert_memory_equal(&value.real, (char *)whole->data + 8 * i, 8);
	}
	buf_release(&err);
}

static void
run_example(const struct example *e)
{
	struct buf err = BUF_INIT;
	struct math_spec *spec = math_parse(e->spec, strlen(e->spec), &e->task, &err);
	struct math_run *run = spec ? math_bind(spec, e->axis_values, e->input_list, NULL, &err) : NULL;
	struct tensor outputs[EXAMPLE_MAX];

	if (!run || math_evaluate(run, outputs, &err))
		check_error(e, buf_str(&err));
	else if (e->error)
		check_error(e, "no error");
	else
		for (size_t k = 0; k < e->task.output_count; k++) {
			check_output(e, k, &outputs[k]);
			check_elements(e, run, k, &outputs[k]);
		}
	for (size_t k = 0; k < e->task.output_count && !e->error; k++)
		tensor_release(&outputs[k]);
	math_run_free(run);
	math_free(spec);
	buf_release(&err);
}

static void
run_file(const char *path, int least)
{
	char *text = example_text(path);
	const char *at = text;
	int line = 0, count = 0;
	struct example e;

	failures = 0;
	for (; example_next(&at, &line, &e); count++) {
		run_example(&e);
		example_release(&e);
	}
	print_message("%d examples\n", count);
	assert_true(count >= least);
	assert_int_equal(failures, 0);
	free(text);
}

static void
language(void **state)
{
	(void)state;
	run_file("common/math/LANGUAGE.md", 40);
}

static void
more(void **state)
{
	(void)state;
	run_file("tests/data/math/render.md", 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(language), cmocka_unit_test(more) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
