/*
 * Evaluation of a bound spec: whole, or one element of it.
 * As a whole, definitions are filled one after the other in the order of their dependencies, a row of
 * lanes at a time; a recurrence element by element. One element computes what it needs and remembers it.
 */
#include <inttypes.h>
#include <string.h>

#include "math/plan.h"

/* The index along which a definition is filled: the last one, unless it is short and another is not. */
static int
vector_index(const struct store *store)
{
	int chosen = store->rank - 1;

	if (store->rank && store->shape[chosen] < 32)
		for (int d = 0; d < store->rank; d++)
			if (store->shape[d] > store->shape[chosen])
				chosen = d;
	return chosen;
}

static int
fail_range(struct math_run *run, const struct store *store, int64_t offset, int64_t value)
{
	const struct definition *d = store->definition;

	math_name_element(run, store, offset);
	if (run->err)
		buf_addf(run->err, " is %" PRId64 ", which %s cannot hold", value,
			dtype_name(run->spec->tensors[d->tensor].dtype));
	return -1;
}

/* An integer output must fit its dtype: an oracle that wraps around would be a riddle. */
static int
check_value(struct math_run *run, const struct store *store, int64_t offset, int64_t value)
{
	int64_t low, high;

	if (store->output < 0 || store->type != MATH_INTEGER)
		return 0;
	dtype_integer_range(run->spec->tensors[store->definition->tensor].dtype, &low, &high);
	return value >= low && value <= high ? 0 : fail_range(run, store, offset, value);
}

/* ---- as a whole */

static int
fill_row(struct math_run *run, struct store *store, int64_t *env, int vector, union lane *data)
{
	union lane *row = math_take(run, MATH_LANES);
	size_t mark = run->scratch_used;
	int64_t offset = 0;

	if (!row)
		return -1;
	for (int d = 0; d < store->rank; d++)
		if (d != vector)
			offset += env[d] * store->stride[d];
	for (int64_t at = 0; at < store->shape[vector]; at += MATH_LANES) {
		int64_t left = store->shape[vector] - at;
		struct frame frame = { env, vector, left < MATH_LANES ? (int)left : MATH_LANES, at, NULL };

		if (math_eval_as(run, store->body, store->type, &frame, row))
			return -1;
		for (int i = 0; i < frame.lanes; i++)
			data[offset + (at + i) * store->stride[vector]] = row[i];
		run->scratch_used = mark;
	}
	return 0;
}

/* Counts env up over all indices but `vector`; false after the last. */
static bool
next_row(const struct store *store, int64_t *env, int vector)
{
	for (int d = store->rank; d-- > 0;) {
		if (d == vector)
			continue;
		if (++env[d] < store->shape[d])
			return true;
		env[d] = 0;
	}
	return false;
}

static int
fill(struct math_run *run, struct store *store, union lane *data)
{
	int vector = vector_index(store);
	int64_t *env;

	run->scratch_used = 0;
	run->depth = 0;
	env = (int64_t *)math_take(run, MATH_MAX_VARIABLES);
	memset(env, 0, MATH_MAX_VARIABLES * sizeof *env);
	if (store->elements == 0)
		return 0;
	if (store->rank == 0) {
		struct frame frame = { env, -1, 1, 0, NULL };

		return math_eval_as(run, store->body, store->type, &frame, data) ? -1 : 0;
	}
	do {
		size_t mark = run->scratch_used;

		if (fill_row(run, store, env, vector, data))
			return -1;
		run->scratch_used = mark;
	} while (next_row(store, env, vector));
	return 0;
}

/* Elements in row-major order; those that others have computed on the way are done already. */
static int
fill_recurrent(struct math_run *run, struct store *store)
{
	union lane value;

	for (int64_t i = 0; i < store->elements; i++)
		if (store->states[i] != STATE_DONE && math_compute(run, store, i, &value))
			return -1;
	return 0;
}

static int
allocate(struct math_run *run, struct store *store, struct tensor *t)
{
	uint64_t bytes = (uint64_t)store->elements * (sizeof(union lane) + (store->definition->recurrent ? 1
		: 0));

	if (math_take_memory(run, bytes) || tensor_init(t, store->name, store->dtype, store->rank, store->shape,
		run->err))
		return -1;
	store->data = t->data;
	if (store->definition->recurrent && !(store->states = calloc((size_t)store->elements + 1, 1)))
		return buf_err(run->err, "There is no memory to evaluate '%s'.", store->name);
	return 0;
}

/* One component: a definition by itself, or several that depend on one another. */
static int
fill_component(struct math_run *run, struct tensor *tensors, int from, int to)
{
	const struct math_spec *spec = run->spec;
	int status = 0;

	for (int i = from; i < to && !status; i++) {
		int tensor = spec->definitions[spec->order[i]].tensor;

		status = allocate(run, &run->stores[tensor], &tensors[tensor]);
	}
	for (int i = from; i < to && !status; i++) {
		struct store *store = &run->stores[spec->definitions[spec->order[i]].tensor];

		status = store->states ? fill_recurrent(run, store) : fill(run, store, (union lane *)store->data);
		for (int64_t e = 0; e < store->elements && !status; e++)
			if (store->output >= 0 && store->type == MATH_INTEGER)
				status = check_value(run, store, e, ((union lane *)store->data)[e].integer);
	}
	for (int i = from; i < to; i++) {
		struct store *store = &run->stores[spec->definitions[spec->order[i]].tensor];

		free(store->states);
		store->states = NULL;
	}
	return status;
}

static int
fill_all(struct math_run *run, struct tensor *tensors)
{
	const struct math_spec *spec = run->spec;

	for (int i = 0, next; i < spec->definition_count; i = next) {
		next = i + 1;
		while (next < spec->definition_count && spec->definitions[spec->order[next]].component
			== spec->definitions[spec->order[i]].component)
			next++;
		if (fill_component(run, tensors, i, next))
			return -1;
	}
	return 0;
}

static void
forget(struct math_run *run)
{
	for (int i = 0; i < run->spec->tensor_count; i++)
		math_memo_release(run, &run->stores[i].memo);
	run->memory = 0;
}

int
math_evaluate(struct math_run *run, struct tensor *outputs, struct buf *err)
{
	const struct math_spec *spec = run->spec;
	struct tensor *tensors = calloc((size_t)spec->tensor_count + 1, sizeof *tensors);
	int status;

	run->err = err;
	run->steps = 0;
	forget(run);
	memset(outputs, 0, (size_t)spec->output_count * sizeof *outputs);
	status = tensors ? fill_all(run, tensors) : buf_err(err, "There is no memory for the evaluation.");
	for (int i = 0; i < spec->output_count && !status; i++) {
		outputs[i] = tensors[spec->output_tensors[i]];
		tensors[spec->output_tensors[i]].data = NULL;
	}
	for (int i = spec->input_count; i < spec->tensor_count; i++) {
		run->stores[i].data = NULL;
		if (tensors)
			free(tensors[i].data);
	}
	free(tensors);
	run->memory = 0;
	run->err = NULL;
	return status ? -1 : 0;
}

/* ---- one element */

int
math_element(struct math_run *run, size_t output, const int64_t *subscripts, struct math_value *value,
	struct buf *err)
{
	struct store *store = &run->stores[run->spec->output_tensors[output]];
	struct buf why = BUF_INIT;
	bool remembers = run->memory > 0;
	union lane lane;
	int64_t offset;
	int status;

	for (int d = 0; d < store->rank; d++)
		if (subscripts[d] < 0 || subscripts[d] >= store->shape[d])
			return buf_err(err, "Output '%s' has no element %" PRId64 " in dimension %d.",
				store->name, subscripts[d],
				d + 1);
	run->err = &why;
	run->steps = 0;
	run->starved = false;
	offset = tensor_element(store->rank, store->shape, subscripts);
	status = math_compute(run, store, offset, &lane);
	if (status && run->starved && remembers) {
		/* what earlier elements left behind may be all that is in the way */
		forget(run);
		buf_reset(&why);
		status = math_compute(run, store, offset, &lane);
	}
	if (!status) {
		value->is_integer = store->type != MATH_REAL;
		value->integer = value->is_integer ? lane.integer : 0;
		value->real = value->is_integer ? (double)lane.integer : lane.real;
		status = check_value(run, store, offset, value->integer);
	}
	if (status)
		buf_err(err, "%s", buf_str(&why));
	buf_release(&why);
	run->err = NULL;
	return status ? -1 : 0;
}
