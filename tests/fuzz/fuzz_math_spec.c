/*
 * Specs from anywhere: parse, check, render, evaluate within a small budget. What evaluates as a whole must
 * give the same bits element by element.
 */
#include <stdlib.h>
#include <string.h>

#include "math/c.h"
#include "math/latex.h"
#include "math/math.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct math_axis axes[] = {
	{ .name = "N" }, { .name = "D" }, { .name = "R", .fixed = true, .value = 3 }, { .name = "M",
		.expression = "(N + 1) div 2" },
};
static const struct math_scalar scalars[] = {
	{ .name = "eps", .dtype = DTYPE_FLOAT32, .real = 1e-5 }, { .name = "n", .dtype = DTYPE_INT32,
		.integer = 2 },
};
static const struct math_tensor inputs[] = {
	{ "x", DTYPE_FLOAT32, 2, { "N", "D" } }, { "w", DTYPE_FLOAT16, 1, { "R" } }, { "k", DTYPE_INT64, 1,
		{ "N" } },
	{ "b", DTYPE_BOOL, 2, { "N", "D" } },
};
static const struct math_tensor output = { "y", DTYPE_FLOAT32, 2, { "N", "D" } };
static const struct math_task task = { axes, 4, scalars, 2, inputs, 4, &output, 1 };
static const int64_t axis_values[] = { 4, 3, 3, 2 };

static void
check_elements(struct math_run *run, const struct tensor *whole)
{
	struct math_value value;
	int64_t subscripts[2];
	struct buf err = BUF_INIT;

	for (int64_t i = 0; i < 12; i++) {
		tensor_subscripts(2, whole->shape, i, subscripts);
		/* one element may take more steps than its share of the whole: what is shared is computed again */
		if (math_element(run, 0, subscripts, &value, &err))
			break;
		if (memcmp(&value.real, (char *)whole->data + 8 * i, 8) && (value.real == value.real
			|| tensor_get(whole, i) == tensor_get(whole, i)))
			abort();
	}
	buf_release(&err);
}

static void
evaluate(const struct math_spec *spec)
{
	static const struct math_limits limits = { 300000, 1 << 20 };
	struct tensor tensors[4], result;
	const struct tensor *list[4];
	struct buf err = BUF_INIT;
	struct math_run *run;

	for (int i = 0; i < 4; i++) {
		int64_t shape[TENSOR_MAX_RANK];

		if (math_resolve_shape(&inputs[i], axes, 4, axis_values, shape, NULL)
			|| tensor_init(&tensors[i], inputs[i].name, inputs[i].dtype, inputs[i].rank, shape, NULL))
			abort();
		for (int64_t e = 0; e < tensor_elements(&tensors[i]); e++)
			tensor_set(&tensors[i], e, (double)(e * 7 % 5) - 1);
		list[i] = &tensors[i];
	}
	run = math_bind(spec, axis_values, list, &limits, &err);
	if (run && !math_evaluate(run, &result, &err)) {
		check_elements(run, &result);
		tensor_release(&result);
	} else if (!err.len)
		abort();
	math_run_free(run);
	for (int i = 0; i < 4; i++)
		tensor_release(&tensors[i]);
	buf_release(&err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf err = BUF_INIT, text = BUF_INIT;
	struct math_spec *spec = math_parse((const char *)data, size, &task, &err);

	if (spec) {
		math_latex(spec, &text);
		buf_reset(&text);
		math_c(spec, "reference", &text, &err);
		evaluate(spec);
	} else if (!err.len)
		abort();
	math_free(spec);
	buf_release(&text);
	buf_release(&err);
	return 0;
}
