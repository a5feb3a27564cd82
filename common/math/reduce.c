/*
 * Reductions: come in an op and a frame, goes out the combined value in each lane.
 * Terms are always combined in the order of the indices as they are written, the last one fastest, so that
 * the result does not depend on how it is computed: either all lanes take one term at a time, or, where
 * lanes are few, each lane in turn takes the terms of the last index as lanes of their own.
 */
#include <math.h>

#include "math/plan.h"

/* One reduction in progress; each pointer has an entry for each lane. */
struct total {
	const struct op *op;
	union lane *value;	/* so far; argmax and argmin: the index */
	union lane *best;	/* argmax and argmin: the value there */
	union lane *any;	/* integer: 1 once there was a term */
	bool overflow;
};

enum { FEW_LANES = 16 };

static int
start(struct math_run *run, const struct op *op, struct total *t, union lane *out, int lanes)
{
	static const double real_start[] = { [REDUCE_PROD] = 1, [REDUCE_MAX] = -INFINITY, [REDUCE_MIN] = INFINITY,
		[REDUCE_ALL] = 0 };
	bool one = op->number == REDUCE_PROD || op->number == REDUCE_ALL;

	*t = (struct total){ op, out, math_take(run, (size_t)lanes), math_take(run, (size_t)lanes), false };
	if (!t->best || !t->any)
		return EVAL_FAILED;
	for (int i = 0; i < lanes; i++) {
		t->any[i].integer = 0;
		if (op->type == MATH_REAL)
			out[i].real = real_start[op->number];
		else
			out[i].integer = one;
	}
	return EVAL_OK;
}

static int
finish(struct math_run *run, const struct total *t, int lanes)
{
	const struct op *op = t->op;
	bool needs_any = op->type == MATH_INTEGER && op->number >= REDUCE_MAX && op->number <= REDUCE_ARGMIN;

	if (t->overflow)
		return math_fail(run, op, "integer overflow");
	for (int i = 0; i < lanes && needs_any; i++)
		if (!t->any[i].integer)
			return math_fail(run, op, "%s of nothing has no value here",
				math_reduction_names[op->number]);
	return EVAL_OK;
}

/* The first NaN wins and stays; else the first of the largest (smallest). */
static bool
is_better(const struct total *t, const struct op *body, union lane x, union lane best)
{
	bool largest = t->op->number == REDUCE_ARGMAX || t->op->number == REDUCE_MAX;

	if (body->type == MATH_INTEGER)
		return largest ? x.integer > best.integer : x.integer < best.integer;
	if (isnan(best.real))
		return false;
	return isnan(x.real) || (largest ? x.real > best.real : x.real < best.real);
}

static void
take_index(struct total *t, int lane, union lane x, int64_t index)
{
	if (t->any[lane].integer && !is_better(t, t->op->children[0], x, t->best[lane]))
		return;
	t->any[lane].integer = 1;
	t->best[lane] = x;
	t->value[lane].integer = index;
}

static void
take_integer(struct total *t, int lane, int64_t x)
{
	int64_t *value = &t->value[lane].integer;

	switch (t->op->number) {
	case REDUCE_SUM: t->overflow |= __builtin_add_overflow(*value, x, value); break;
	case REDUCE_PROD: t->overflow |= __builtin_mul_overflow(*value, x, value); break;
	case REDUCE_ANY: *value |= x; break;
	case REDUCE_ALL: *value &= x; break;
	default:
		if (!t->any[lane].integer || (t->op->number == REDUCE_MAX ? x > *value : x < *value))
			*value = x;
		t->any[lane].integer = 1;
		break;
	}
}

static void
take_real(struct total *t, int lane, double x)
{
	double *value = &t->value[lane].real;

	switch (t->op->number) {
	case REDUCE_SUM: *value += x; break;
	case REDUCE_PROD: *value *= x; break;
	case REDUCE_MAX: *value = x > *value || isnan(x) ? x : *value; break;
	default: *value = x < *value || isnan(x) ? x : *value; break;
	}
}

static void
take_term(struct total *t, int lane, union lane x, int64_t index)
{
	if (t->op->number == REDUCE_ARGMAX || t->op->number == REDUCE_ARGMIN)
		take_index(t, lane, x, index);
	else if (t->op->type == MATH_REAL)
		take_real(t, lane, x.real);
	else
		take_integer(t, lane, x.integer);
}

/* terms[i] into lane i, or lane select[i]. */
static void
take_lanes(struct total *t, const union lane *terms, const int *select, int count, int64_t index)
{
	if (!select && t->op->type == MATH_REAL && t->op->number == REDUCE_SUM) {
		for (int i = 0; i < count; i++)
			t->value[i].real += terms[i].real;
		return;
	}
	for (int i = 0; i < count; i++)
		take_term(t, select ? select[i] : i, terms[i], index);
}

/* terms, one after the other, into the only lane. */
static void
take_row(struct total *t, const union lane *terms, int count, const struct frame *frame)
{
	if (t->op->type == MATH_REAL && t->op->number == REDUCE_SUM) {
		double value = t->value[0].real;

		for (int i = 0; i < count; i++)
			value += terms[i].real;
		t->value[0].real = value;
		return;
	}
	if (t->op->type == MATH_INTEGER && t->op->number == REDUCE_SUM) {
		int64_t value = t->value[0].integer;

		for (int i = 0; i < count; i++)
			t->overflow |= __builtin_add_overflow(value, terms[i].integer, &value);
		t->value[0].integer = value;
		return;
	}
	for (int i = 0; i < count; i++)
		take_term(t, 0, terms[i], frame->vector >= 0 ? frame_lane(frame, i) : 0);
}

/* ---- the innermost step */

/* The lanes of frame where the guard holds; count of them in *select (NULL: all), or -1 with *status. */
static int
guarded(struct math_run *run, const struct op *op, const struct frame *frame, int **select, int *status)
{
	union lane *holds;
	int count = 0;

	*select = NULL;
	if (!op->guard)
		return frame->lanes;
	holds = math_take(run, (size_t)frame->lanes);
	*select = math_take_numbers(run, (size_t)frame->lanes);
	*status = !holds || !*select ? EVAL_FAILED : math_eval(run, op->guard, frame, holds);
	if (*status)
		return -1;
	for (int i = 0; i < frame->lanes; i++)
		if (holds[i].integer)
			(*select)[count++] = i;
	if (count == frame->lanes)
		*select = NULL;
	return count;
}

/* The terms of one step: lanes of `frame` where the guard holds, in *terms, with the packed frame. */
static int
eval_terms(struct math_run *run, const struct op *op, const struct frame *frame, union lane **terms, int **select,
	struct frame *packed, int *count)
{
	int status = EVAL_OK;

	*count = guarded(run, op, frame, select, &status);
	if (*count <= 0)
		return status;
	*packed = *frame;
	if (*select && math_pack(run, frame, *select, *count, packed))
		return EVAL_FAILED;
	*terms = math_take(run, (size_t)*count);
	return *terms ? math_eval(run, op->children[0], packed, *terms) : EVAL_FAILED;
}

static int
eval_range(struct math_run *run, const struct op *op, int level, const struct frame *frame, int64_t *low,
	int64_t *high)
{
	struct frame one = frame_one(frame);
	union lane value;
	int status = math_eval(run, op->binds[level].low, &one, &value);

	*low = value.integer;
	if (!status)
		status = math_eval(run, op->binds[level].high, &one, &value);
	*high = value.integer;
	return status;
}

/* ---- all lanes, one term at a time */

static int
each_term(struct math_run *run, const struct op *op, int level, const struct frame *frame, struct total *t)
{
	int64_t low, high, *at;
	size_t mark = run->scratch_used;
	int status, count, *select;
	struct frame packed;
	union lane *terms;

	if (level == op->bind_count) {
		status = eval_terms(run, op, frame, &terms, &select, &packed, &count);
		if (!status && count > 0)
			take_lanes(t, terms, select, count, frame->env[op->binds[0].variable]);
		run->scratch_used = mark;
		return status;
	}
	if ((status = eval_range(run, op, level, frame, &low, &high)))
		return status;
	at = &frame->env[op->binds[level].variable];
	for (*at = low; *at < high; ++*at)
		if ((status = math_count_steps(run, op, 1)) || (status = each_term(run, op, level + 1, frame, t)))
			return status;
	return EVAL_OK;
}

/* ---- one lane, a row of terms at a time */

static int
each_row(struct math_run *run, const struct op *op, int level, const struct frame *frame, struct total *t)
{
	int64_t low, high, *at;
	int status, count, *select, variable = op->binds[level].variable;
	struct frame packed;
	union lane *terms;

	if ((status = eval_range(run, op, level, frame, &low, &high)))
		return status;
	at = &frame->env[variable];
	if (level + 1 < op->bind_count) {
		for (*at = low; *at < high; ++*at)
			if ((status = math_count_steps(run, op, 1))
				|| (status = each_row(run, op, level + 1, frame, t)))
				return status;
		return EVAL_OK;
	}
	while (low < high) {
		uint64_t left = (uint64_t)high - (uint64_t)low;
		struct frame row = { frame->env, variable, left < MATH_LANES ? (int)left : MATH_LANES, low,
			NULL };
		size_t mark = run->scratch_used;

		if ((status = math_count_steps(run, op, row.lanes))
			|| (status = eval_terms(run, op, &row, &terms, &select, &packed, &count)))
			return status;
		if (count > 0)
			take_row(t, terms, count, &packed);
		run->scratch_used = mark;
		low += row.lanes;
	}
	return EVAL_OK;
}

static int
reduce_one(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	struct total total;
	int status = start(run, op, &total, out, 1);

	if (!status)
		status = each_row(run, op, 0, frame, &total);
	return status ? status : finish(run, &total, 1);
}

static int
reduce_lane_by_lane(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	struct frame one = frame_one(frame);
	size_t mark = run->scratch_used;
	int status = EVAL_OK;

	for (int i = 0; i < frame->lanes && !status; i++) {
		frame->env[frame->vector] = frame_lane(frame, i);
		status = reduce_one(run, op, &one, &out[i]);
		run->scratch_used = mark;
	}
	return status;
}

int
math_eval_reduce(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	struct total total;
	int status;

	if (frame->vector < 0)
		return reduce_one(run, op, frame, out);
	if (op->range_variables >> frame->vector & 1
		|| (frame->lanes < FEW_LANES && op->last_extent > 4 * frame->lanes))
		return reduce_lane_by_lane(run, op, frame, out);
	if ((status = start(run, op, &total, out, frame->lanes))
		|| (status = each_term(run, op, 0, frame, &total)))
		return status;
	return finish(run, &total, frame->lanes);
}
