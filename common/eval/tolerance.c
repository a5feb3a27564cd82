/* Inputs and an oracle in, for each output element the error that rounding may cause out.
 * The hard idea is to ask the oracle itself how sensitive it is: it runs again on inputs that are changed by about
 * one rounding of the accumulator, each up or down by chance, and what an element then moves by is the error that a
 * backward stable kernel may have as well (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition,
 * section 1.5: forward error is at most condition times backward error). For a sum this is u times the root of the
 * summed squares of its terms, however near to zero the sum itself is; for exp(x) it is u |x| exp(x). Adding up n
 * terms one by one rounds n partial sums, which is sqrt(n) as much; a handful of other operations is granted too.
 * So one outlier among small terms, or a difference of large ones, widens the elements that it touches, by what it
 * costs there, and no others: a tolerance that had to cover the worst element would cover cheats as well. */
#include "eval/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/generate.h"

/* Operations: roundings granted beside those of the sum. */
enum { OPERATIONS = 4 };

/* The change of an input: 1.5 roundings, so that one survives storing it in the accumulator's own type. */
static const double step_roundings = 1.5;

static bool
is_double(const struct task *t)
{
	for (int i = 0; i < t->outputs; i++)
		if (t->output[i].dtype == DTYPE_FLOAT64)
			return true;
	return false;
}

static enum dtype
wide_dtype(const struct task *t, enum dtype dtype)
{
	if (!dtype_is_float(dtype) || dtype == DTYPE_FLOAT64)
		return dtype;
	/* The math language computes in double; a C reference takes float for all shorter types. */
	return t->oracle_is_math ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
}

double
tolerance_changed(double value, uint64_t element, double step, uint32_t draw, uint32_t input)
{
	static const uint32_t key[2] = { 0x736c6163, 0x6b000001 };
	uint32_t counter[4] = { (uint32_t)element, (uint32_t)(element >> 32), draw, input }, words[4];

	generate_philox(counter, key, words);
	return value * (words[0] & 1 ? 1 + step : 1 - step);
}

double
tolerance_step(const struct task *t)
{
	return step_roundings * (is_double(t) ? 0x1p-53 : 0x1p-24);
}

double
tolerance_grant(const struct task *t, const struct task_workload *w)
{
	return OPERATIONS + sqrt((double)task_reduction(t, w));
}

/* The same numbers, each float a little off. */
static int
change(const struct tensor *from, enum dtype dtype, double step, uint32_t draw, uint32_t input, struct tensor *to,
	struct buf *err)
{
	int64_t elements = tensor_elements(from);

	if (tensor_init(to, from->name, dtype, from->rank, from->shape, err))
		return -1;
	if (!dtype_is_float(dtype)) {
		if (from->bytes)
			memcpy(to->data, from->data, from->bytes);
		return 0;
	}
	for (int64_t e = 0; e < elements; e++)
		tensor_set(to, e, tolerance_changed(tensor_get(from, e), (uint64_t)e, step, draw, input));
	return 0;
}

static void
add_squares(const struct task *t, const struct tensor *expected, const struct tensor *moved, struct tensor *slack)
{
	for (int i = 0; i < t->outputs; i++) {
		double *sum = slack[i].data;

		if (!sum)
			continue;
		for (int64_t e = 0; e < tensor_elements(&slack[i]); e++) {
			double by = tensor_get(&moved[i], e) - tensor_get(&expected[i], e);

			if (isfinite(by))
				sum[e] += by * by;
		}
	}
}

/* 0, or -1: ours. An oracle that does not take the changed inputs (1 + a step is no probability) gives no slack. */
static int
draw_once(struct oracle *oracle, const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	const struct tensor *expected, uint32_t draw, struct tensor *slack, struct buf *err)
{
	double step = tolerance_step(t);
	struct tensor changed[TASK_MAX_TENSORS], moved[TASK_MAX_TENSORS];
	struct task wide = *t;
	struct buf why = BUF_INIT;
	const char *code;
	int made = 0, status = -1;

	for (; made < t->inputs; made++) {
		wide.input[made].dtype = wide_dtype(t, t->input[made].dtype);
		if (change(&inputs[made], wide.input[made].dtype, step, draw, (uint32_t)made, &changed[made], err))
			goto out;
	}
	enum oracle_status ran = oracle_run(oracle, &wide, w->axes, t->oracle_is_math, changed, moved, &code, &why);
	if (ran == ORACLE_OK) {
		add_squares(t, expected, moved, slack);
		for (int i = 0; i < t->outputs; i++)
			tensor_release(&moved[i]);
	}
	if (ran == ORACLE_INFRASTRUCTURE || ran == ORACLE_UNAVAILABLE)
		buf_err(err, "%s", buf_str(&why));
	else
		status = 0;
out:
	while (made-- > 0)
		tensor_release(&changed[made]);
	buf_release(&why);
	return status;
}

struct tolerance
tolerance_of(const struct task *t, const struct task_workload *w, enum dtype dtype)
{
	struct tolerance tolerance = { t->rtol, t->atol };

	return t->reduction ? compare_widen(tolerance, dtype, task_reduction(t, w)) : tolerance;
}

int
tolerance_slack(struct oracle *oracle, const struct task *t, const struct task_workload *w,
	const struct tensor *inputs, const struct tensor *expected, struct tensor *slack, struct buf *err)
{
	double grant = tolerance_grant(t, w);

	for (int i = 0; i < t->outputs; i++)
		slack[i] = (struct tensor)TENSOR_INIT;
	if (t->rtol == 0 && t->atol == 0)
		return 0;
	for (int i = 0; i < t->outputs; i++)
		if (dtype_is_float(t->output[i].dtype) && tensor_init(&slack[i], expected[i].name, DTYPE_FLOAT64,
				expected[i].rank, expected[i].shape, err))
			goto failed;
	for (uint32_t draw = 0; draw < TOLERANCE_DRAWS; draw++)
		if (draw_once(oracle, t, w, inputs, expected, draw, slack, err))
			goto failed;
	for (int i = 0; i < t->outputs; i++)
		for (int64_t e = 0; slack[i].data && e < tensor_elements(&slack[i]); e++)
			tensor_set(&slack[i], e, grant * sqrt(tensor_get(&slack[i], e) / TOLERANCE_DRAWS));
	return 0;
failed:
	for (int i = 0; i < t->outputs; i++)
		tensor_release(&slack[i]);
	return -1;
}
