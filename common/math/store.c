/*
 * Elements of inputs and definitions: come in offsets, go out values, computed when they are not there yet.
 * The hard idea is depth: a recurrence over a million elements must not recurse a million times. Past
 * EVAL_MAX_DEPTH an evaluation gives up with EVAL_NEEDS, the element that it wanted is computed from an
 * empty stack, and it is tried again; every attempt gets that much further, and a dependency of an element
 * on itself is seen because it is still marked.
 */
#include <inttypes.h>
#include <string.h>

#include "base/die.h"
#include "math/plan.h"

/* ---- elements that are there */

#define LOAD_ROW(type, field, convert) do { \
		const type *p = (const type *)store->data + offset; \
		for (int i = 0; i < count; i++) \
			out[i].field = convert(p[i * step]); \
	} while (0)
#define AS_IS(x) (x)
#define AS_BOOLEAN(x) ((x) != 0)

void
math_load(const struct store *store, int64_t offset, int64_t step, int count, union lane *out)
{
	switch (store->dtype) {
	case DTYPE_FLOAT64: LOAD_ROW(double, real, AS_IS); break;
	case DTYPE_FLOAT32: LOAD_ROW(float, real, AS_IS); break;
	case DTYPE_FLOAT16: LOAD_ROW(uint16_t, real, dtype_from_half); break;
	case DTYPE_BFLOAT16: LOAD_ROW(uint16_t, real, dtype_from_bfloat16); break;
	case DTYPE_INT64: LOAD_ROW(int64_t, integer, AS_IS); break;
	case DTYPE_INT32: LOAD_ROW(int32_t, integer, AS_IS); break;
	case DTYPE_UINT8: LOAD_ROW(uint8_t, integer, AS_IS); break;
	case DTYPE_BOOL: LOAD_ROW(uint8_t, integer, AS_BOOLEAN); break;
	case DTYPE_COUNT: break;
	}
}

/* ---- memory of computed elements */

int
math_take_memory(struct math_run *run, uint64_t bytes)
{
	run->starved = bytes > run->memory_limit || run->memory > run->memory_limit - bytes;
	if (run->starved)
		return buf_err(run->err, "The evaluation needs more than %" PRIu64 " bytes of memory.",
			run->memory_limit);
	run->memory += bytes;
	return 0;
}

enum { MEMO_ENTRY_BYTES = sizeof(int64_t) + sizeof(union lane) + 1 };

void
math_memo_release(struct math_run *run, struct memo *memo)
{
	run->memory -= memo->capacity * MEMO_ENTRY_BYTES;
	free(memo->keys);
	free(memo->values);
	free(memo->states);
	memset(memo, 0, sizeof *memo);
}

/* Where the key is, or would go. The capacity is a power of two. */
static size_t
memo_slot(const struct memo *memo, int64_t key)
{
	size_t slot = (size_t)((uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (memo->capacity - 1);

	while (memo->keys[slot] >= 0 && memo->keys[slot] != key)
		slot = (slot + 1) & (memo->capacity - 1);
	return slot;
}

static int
memo_grow(struct math_run *run, struct memo *memo)
{
	size_t capacity = memo->capacity ? 2 * memo->capacity : 256;
	struct memo larger = { NULL, NULL, NULL, memo->count, capacity };

	if (math_take_memory(run, capacity * MEMO_ENTRY_BYTES))
		return -1;
	larger.keys = xmalloc(capacity * sizeof *larger.keys);
	larger.values = xmalloc(capacity * sizeof *larger.values);
	larger.states = xmalloc(capacity);
	for (size_t i = 0; i < capacity; i++)
		larger.keys[i] = -1;
	for (size_t i = 0; i < memo->capacity; i++)
		if (memo->keys[i] >= 0) {
			size_t slot = memo_slot(&larger, memo->keys[i]);

			larger.keys[slot] = memo->keys[i];
			larger.values[slot] = memo->values[i];
			larger.states[slot] = memo->states[i];
		}
	math_memo_release(run, memo);
	*memo = larger;
	return 0;
}

static enum state
state_of(const struct store *store, int64_t offset)
{
	size_t slot;

	if (store->states)
		return (enum state)store->states[offset];
	if (!store->memo.capacity)
		return STATE_EMPTY;
	slot = memo_slot(&store->memo, offset);
	return store->memo.keys[slot] < 0 ? STATE_EMPTY : (enum state)store->memo.states[slot];
}

static void
read_done(const struct store *store, int64_t offset, union lane *out)
{
	if (store->states)
		math_load(store, offset, 0, 1, out);
	else
		*out = store->memo.values[memo_slot(&store->memo, offset)];
}

static int
set_state(struct math_run *run, struct store *store, int64_t offset, enum state state, union lane value)
{
	struct memo *memo = &store->memo;
	size_t slot;

	if (store->states) {
		store->states[offset] = (unsigned char)state;
		if (state == STATE_DONE)
			((union lane *)store->data)[offset] = value;
		return 0;
	}
	slot = memo->capacity ? memo_slot(memo, offset) : 0;
	if (!memo->capacity || memo->keys[slot] < 0) {
		if (memo->count * 3 >= memo->capacity * 2 && memo_grow(run, memo))
			return EVAL_FAILED;
		slot = memo_slot(memo, offset);
		memo->count++;
	}
	memo->keys[slot] = offset;
	memo->states[slot] = (unsigned char)state;
	memo->values[slot] = value;
	return 0;
}

/* ---- elements that are not there */

void
math_name_element(struct math_run *run, const struct store *store, int64_t offset)
{
	int64_t subscripts[TENSOR_MAX_RANK];

	if (!run->err)
		return;
	buf_addf(run->err, "%d:%d: %s", store->definition->line, store->definition->column, store->name);
	tensor_subscripts(store->rank, store->shape, offset, subscripts);
	if (store->rank)
		tensor_format_shape(run->err, store->rank, subscripts);
}

static int
fail_cycle(struct math_run *run, const struct store *store, int64_t offset)
{
	math_name_element(run, store, offset);
	if (run->err)
		buf_adds(run->err, " depends on itself");
	return EVAL_FAILED;
}

static int
ask_for(struct math_run *run, struct store *store, int64_t offset)
{
	run->need = (struct request){ store, offset };
	return EVAL_NEEDS;
}

/* One element, with its dependencies, as deep as the stack allows. */
static int
compute_one(struct math_run *run, struct store *store, int64_t offset, union lane *out)
{
	enum state state = state_of(store, offset);
	size_t mark = run->scratch_used;
	struct frame frame = { NULL, -1, 1, 0, NULL };
	int status;

	if (state == STATE_DONE) {
		read_done(store, offset, out);
		return EVAL_OK;
	}
	if (state != STATE_EMPTY)
		return fail_cycle(run, store, offset);
	if (run->depth > EVAL_MAX_DEPTH)
		return ask_for(run, store, offset);
	frame.env = (int64_t *)math_take(run, MATH_MAX_VARIABLES);
	if (!frame.env || set_state(run, store, offset, STATE_BUSY, (union lane){ 0 }))
		return EVAL_FAILED;
	tensor_subscripts(store->rank, store->shape, offset, frame.env);
	status = math_eval_as(run, store->body, store->type, &frame, out);
	run->scratch_used = mark;
	/* the entry exists, so this needs no memory */
	set_state(run, store, offset, status ? STATE_EMPTY : STATE_DONE, status ? (union lane){ 0 } : *out);
	return status;
}

int
math_compute(struct math_run *run, struct store *store, int64_t offset, union lane *out)
{
	int status;

	run->pending_count = 0;
	run->need = (struct request){ store, offset };
	do {
		struct request top;

		if (run->pending_count == run->pending_capacity) {
			run->pending_capacity = run->pending_capacity ? 2 * run->pending_capacity : 64;
			run->pending = xrealloc(run->pending, run->pending_capacity * sizeof *run->pending);
		}
		run->pending[run->pending_count++] = run->need;
		do {
			top = run->pending[run->pending_count - 1];
			if (state_of(top.store, top.offset) == STATE_PENDING)
				set_state(run, top.store, top.offset, STATE_EMPTY, (union lane){ 0 });
			run->depth = 0;
			run->scratch_used = 0;
			status = compute_one(run, top.store, top.offset, out);
			run->pending_count -= status == EVAL_OK;
		} while (status == EVAL_OK && run->pending_count);
		if (status == EVAL_NEEDS && set_state(run, top.store, top.offset, STATE_PENDING,
			(union lane){ 0 }))
			status = EVAL_FAILED;
	} while (status == EVAL_NEEDS);
	while (run->pending_count) {
		struct request left = run->pending[--run->pending_count];

		if (state_of(left.store, left.offset) != STATE_EMPTY)
			set_state(run, left.store, left.offset, STATE_EMPTY, (union lane){ 0 });
	}
	return status;
}

/* The dimension in which alone the elements differ, or -1. */
static int
only_difference(const struct store *store, const int64_t *offsets, int count, const int64_t *first)
{
	int64_t other[TENSOR_MAX_RANK];
	int found = -1;

	for (int i = 1; i < count; i++) {
		tensor_subscripts(store->rank, store->shape, offsets[i], other);
		for (int d = 0; d < store->rank; d++) {
			if (other[d] == first[d] || d == found)
				continue;
			if (found >= 0)
				return -1;
			found = d;
		}
	}
	return found;
}

/* Without recurrence, elements that differ in one subscript only are computed together, as lanes. */
static int
compute_lanes(struct math_run *run, struct store *store, const int64_t *offsets, int count, int64_t *env,
	int vector,
	union lane *out)
{
	int64_t *lane = (int64_t *)math_take(run, (size_t)count);
	struct frame frame = { env, vector, count, env[vector], NULL };

	if (!lane)
		return EVAL_FAILED;
	for (int i = 0; i < count; i++) {
		lane[i] = offsets[i] / store->stride[vector] % store->shape[vector];
		if (lane[i] != frame.first + i)
			frame.lane = lane;
	}
	return math_eval_as(run, store->body, store->type, &frame, out);
}

static int
compute_missing(struct math_run *run, struct store *store, const int64_t *offsets, const int *missing, int count,
	union lane *out)
{
	int64_t *wanted = (int64_t *)math_take(run, (size_t)count), *env = (int64_t *)math_take(run,
		MATH_MAX_VARIABLES);
	union lane *values = math_take(run, (size_t)count);
	int status = EVAL_OK, vector;

	if (!wanted || !env || !values)
		return EVAL_FAILED;
	for (int i = 0; i < count; i++)
		wanted[i] = offsets[missing[i]];
	tensor_subscripts(store->rank, store->shape, wanted[0], env);
	vector = only_difference(store, wanted, count, env);
	if (vector < 0) {
		for (int i = 0; i < count && !status; i++)
			status = compute_one(run, store, wanted[i], &out[missing[i]]);
		return status;
	}
	if (run->depth > EVAL_MAX_DEPTH)
		return ask_for(run, store, wanted[0]);
	if ((status = compute_lanes(run, store, wanted, count, env, vector, values)))
		return status;
	for (int i = 0; i < count && !status; i++) {
		out[missing[i]] = values[i];
		status = set_state(run, store, wanted[i], STATE_DONE, values[i]);
	}
	return status;
}

static int
fetch_recurrent(struct math_run *run, struct store *store, const int64_t *offsets, int count, union lane *out)
{
	int status = EVAL_OK;

	for (int i = 0; i < count && !status; i++)
		status = compute_one(run, store, offsets[i], &out[i]);
	return status;
}

int
math_fetch(struct math_run *run, struct store *store, const int64_t *offsets, int count, union lane *out)
{
	int *missing, missing_count = 0;

	if (store->data && !store->states) {
		for (int i = 0; i < count; i++)
			math_load(store, offsets[i], 0, 1, &out[i]);
		return EVAL_OK;
	}
	if (store->definition->recurrent)
		return fetch_recurrent(run, store, offsets, count, out);
	if (!(missing = math_take_numbers(run, (size_t)count)))
		return EVAL_FAILED;
	for (int i = 0; i < count; i++) {
		if (state_of(store, offsets[i]) == STATE_DONE)
			read_done(store, offsets[i], &out[i]);
		else
			missing[missing_count++] = i;
	}
	return missing_count ? compute_missing(run, store, offsets, missing, missing_count, out) : EVAL_OK;
}
