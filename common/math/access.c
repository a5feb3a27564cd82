/*
 * Subscripts: come in an access and a frame, go out the elements.
 * Lanes that are neighbours in a linear subscript are a strided row of the tensor, whose ends alone need
 * a bounds check; what sticks out on either side takes the pad value. All else goes lane by lane.
 */
#include <inttypes.h>

#include "math/plan.h"

typedef __int128 wide;	/* sums of at most eight products of int64 do not overflow it */

/* The subscript in lane 0 of a frame whose lanes are neighbours, and its step from lane to lane. */
static int
linear_value(struct math_run *run, const struct subscript *s, const struct frame *frame, wide *value,
	int64_t *step)
{
	*step = 0;
	if (s->op) {
		struct frame one = frame_one(frame);
		union lane lane = { 0 };
		int status = math_eval(run, s->op, &one, &lane);

		*value = lane.integer;
		return status;
	}
	*value = s->constant;
	for (int i = 0; i < s->term_count; i++) {
		if (s->terms[i].variable == frame->vector) {
			*step = s->terms[i].coefficient;
			*value += (wide)*step * frame->first;
		} else
			*value += (wide)s->terms[i].coefficient * frame->env[s->terms[i].variable];
	}
	return EVAL_OK;
}

/* Are all subscripts linear along the lanes? Those that no lane changes are, whatever they are. */
static bool
is_row(const struct op *op, const struct frame *frame)
{
	if (frame->lane)
		return false;
	for (int d = 0; d < op->store->rank && !op->affine; d++)
		if (op->subscripts[d].op && !frame_uniform(frame, op->subscripts[d].op))
			return false;
	return true;
}

static int
fail_outside(struct math_run *run, const struct op *op, int dimension, wide value)
{
	const struct store *s = op->store;
	int64_t shown = value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;

	return math_fail(run, op, "subscript %" PRId64 " of '%s' in dimension %d is outside 0..%" PRId64
		"; give a pad value after ';' or guard it", shown, s->name, dimension + 1,
			s->shape[dimension] - 1);
}

/* The pad value in the selected lanes. */
static int
pad(struct math_run *run, const struct op *op, const struct frame *frame, const int *select, int count,
	union lane *out)
{
	struct frame packed;
	union lane *values;
	int status;

	if (op->pad->kind <= NODE_BOOLEAN || frame_uniform(frame, op->pad)) {
		struct frame one = frame_one(frame);
		union lane value;

		if ((status = math_eval_as(run, op->pad, op->type, &one, &value)))
			return status;
		for (int i = 0; i < count; i++)
			out[select[i]] = value;
		return EVAL_OK;
	}
	if (math_pack(run, frame, select, count, &packed) || !(values = math_take(run, (size_t)count)))
		return EVAL_FAILED;
	if ((status = math_eval_as(run, op->pad, op->type, &packed, values)))
		return status;
	for (int i = 0; i < count; i++)
		out[select[i]] = values[i];
	return EVAL_OK;
}

/* The tensor's integers where the access, by its pad value, is real. */
static void
convert(const struct op *op, union lane *out, int count)
{
	if (op->type == MATH_REAL && op->store->type == MATH_INTEGER)
		for (int i = 0; i < count; i++)
			out[i].real = (double)out[i].integer;
}

/* ---- one lane */

static int
access_one(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	struct store *s = op->store;
	int64_t offset = 0, step;
	int status;

	for (int d = 0; d < s->rank; d++) {
		wide value;

		if ((status = linear_value(run, &op->subscripts[d], frame, &value, &step)))
			return status;
		if (value < 0 || value >= s->shape[d])
			return op->pad ? math_eval_as(run, op->pad, op->type, frame, out) : fail_outside(run,
				op, d, value);
		offset += (int64_t)value * s->stride[d];
	}
	if (s->data && !s->states)
		math_load(s, offset, 0, 1, out);
	else if ((status = math_fetch(run, s, &offset, 1, out)))
		return status;
	convert(op, out, 1);
	return EVAL_OK;
}

/* ---- a row */

/* Narrows low..high to the lanes whose subscript start + step * lane is within 0..extent. */
static void
clip(wide start, int64_t step, int64_t extent, int *low, int *high)
{
	wide last = start + (wide)step * (*high - 1);

	if (start >= 0 && start < extent && last >= 0 && last < extent)
		return;
	while (*low < *high && (start + (wide)step * *low < 0 || start + (wide)step * *low >= extent))
		++*low;
	while (*low < *high && (start + (wide)step * (*high - 1) < 0 || start
		+ (wide)step * (*high - 1) >= extent))
		--*high;
}

static int
fill_row(struct math_run *run, const struct op *op, int64_t offset, int64_t step, int count, union lane *out)
{
	struct store *s = op->store;
	int64_t *offsets;
	int status;

	if (s->data && !s->states) {
		math_load(s, offset, step, count, out);
	} else {
		if (!(offsets = (int64_t *)math_take(run, (size_t)count)))
			return EVAL_FAILED;
		for (int i = 0; i < count; i++)
			offsets[i] = offset + step * i;
		if ((status = math_fetch(run, s, offsets, count, out)))
			return status;
	}
	convert(op, out, count);
	return EVAL_OK;
}

static int
access_row(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	const struct store *s = op->store;
	int low = 0, high = frame->lanes, count = 0, status, *select;
	wide offset = 0, stride = 0;

	for (int d = 0; d < s->rank; d++) {
		int64_t step;
		wide start;

		if ((status = linear_value(run, &op->subscripts[d], frame, &start, &step)))
			return status;
		clip(start, step, s->shape[d], &low, &high);
		if (!op->pad && (low > 0 || high < frame->lanes))
			return fail_outside(run, op, d, start + (wide)step * (low > 0 ? 0 : high));
		offset += start * s->stride[d];
		stride += (wide)step * s->stride[d];
	}
	if (low < high && (status = fill_row(run, op, (int64_t)(offset + stride * low), (int64_t)stride,
		high - low, out + low)))
		return status;
	if (high - low == frame->lanes)
		return EVAL_OK;
	if (!(select = math_take_numbers(run, (size_t)frame->lanes)))
		return EVAL_FAILED;
	for (int i = 0; i < frame->lanes; i++)
		if (i < low || i >= high)
			select[count++] = i;
	return pad(run, op, frame, select, count, out);
}

/* ---- lane by lane */

/* offsets[i] of each lane, -1 where the pad value stands. */
static int
lane_offsets(struct math_run *run, const struct op *op, const struct frame *frame, int64_t *offsets)
{
	const struct store *s = op->store;
	union lane *subscripts = math_take(run, (size_t)frame->lanes);
	int status;

	if (!subscripts)
		return EVAL_FAILED;
	for (int i = 0; i < frame->lanes; i++)
		offsets[i] = 0;
	for (int d = 0; d < s->rank; d++) {
		if ((status = math_eval(run, op->children[d], frame, subscripts)))
			return status;
		for (int i = 0; i < frame->lanes; i++) {
			int64_t value = subscripts[i].integer;

			if (offsets[i] < 0)
				continue;
			if (value >= 0 && value < s->shape[d])
				offsets[i] += value * s->stride[d];
			else if (op->pad)
				offsets[i] = -1;
			else
				return fail_outside(run, op, d, value);
		}
	}
	return EVAL_OK;
}

static int
access_lanes(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	int64_t *offsets = (int64_t *)math_take(run, (size_t)frame->lanes);
	int *inside = math_take_numbers(run, 2 * (size_t)frame->lanes), *outside = inside + frame->lanes;
	union lane *values = math_take(run, (size_t)frame->lanes);
	int inside_count = 0, outside_count = 0, status;

	if (!offsets || !inside || !values)
		return EVAL_FAILED;
	if ((status = lane_offsets(run, op, frame, offsets)))
		return status;
	for (int i = 0; i < frame->lanes; i++) {
		if (offsets[i] < 0)
			outside[outside_count++] = i;
		else {
			offsets[inside_count] = offsets[i];
			inside[inside_count++] = i;
		}
	}
	if ((status = math_fetch(run, op->store, offsets, inside_count, values)))
		return status;
	convert(op, values, inside_count);
	for (int i = 0; i < inside_count; i++)
		out[inside[i]] = values[i];
	return outside_count ? pad(run, op, frame, outside, outside_count, out) : EVAL_OK;
}

int
math_eval_access(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out)
{
	if (frame->vector < 0)
		return access_one(run, op, frame, out);
	if (is_row(op, frame))
		return access_row(run, op, frame, out);
	return access_lanes(run, op, frame, out);
}
