/* Later calls of solve(). In: a worker whose first call went well. Out: whether calls that come later, run in another order
 * or have other inputs before them give the same outputs; else the candidate keeps state, or counts on an order. */
#include "eval/ptx_worker.h"

#include <string.h>

#include "base/die.h"

/* Puts what lies in the outputs aside, or back. */
static void
copy_outputs(const struct worker *w, struct buf *aside, bool back)
{
	size_t at = 0;

	for (uint32_t i = 0; i < w->buffers; i++) {
		void *memory = (void *)w->buffer[i].address;

		if (!w->buffer[i].output || !w->buffer[i].bytes)
			continue;
		if (back)
			memcpy(memory, aside->data + at, w->buffer[i].bytes);
		else
			buf_add(aside, memory, w->buffer[i].bytes);
		at += w->buffer[i].bytes;
	}
}

static void
poison_outputs(struct worker *w)
{
	for (uint32_t i = 0; i < w->buffers; i++) {
		if (!w->buffer[i].output || !w->buffer[i].bytes)
			continue;
		memset((void *)w->buffer[i].address, w->poison[i], w->buffer[i].bytes);
		ptx_mark_initialised(w->machine, w->buffer[i].address, w->buffer[i].bytes, false);
	}
}

/* One more call, uncounted. False when it failed, with the reason and, for behind it, where that was. */
static bool
call_again(struct worker *w, const struct buf *inputs)
{
	struct ptx_counters total = w->total;

	worker_fill_inputs(w, inputs);
	poison_outputs(w);
	w->total = (struct ptx_counters){ 0 };
	w->charged = 0;
	w->repeating = true;
	worker_run_plan(w);
	w->repeated += w->total.budget_used + w->charged;
	w->total = total;
	if (w->status == PTX_OK && ptx_error_count(w->machine) == 0)
		return true;
	worker_drop_scratch(w);
	buf_reset(&w->where);
	buf_adds(&w->where, "This is in a later call of solve().");
	return false;
}

static bool
same_outputs(struct worker *w, const struct buf *first, const char *what)
{
	struct buf now = BUF_INIT;

	copy_outputs(w, &now, false);
	w->keeps_state = first->len && memcmp(first->data, now.data, first->len) != 0;
	if (w->keeps_state)
		buf_adds(&w->reason, what);
	buf_release(&now);
	return !w->keeps_state;
}

/* The call in another order, by one seed after another as long as it does not come to its end; each but the first starts
 * from the beginning, since the one before it was stopped halfway. Waiting for others may take longer in another order, so
 * there is twice the budget. */
static bool
call_by_seeds(struct worker *w)
{
	enum { SEEDS = 3 };
	struct buf err = BUF_INIT;
	uint64_t plain = w->schedule, budget = w->budget;
	bool went = false;

	w->budget = 2 * budget;
	for (int seed = 1; !went && seed <= SEEDS && (seed == 1 || w->status == PTX_BUDGET); seed++) {
		if (w->status == PTX_BUDGET) {
			w->status = PTX_OK;
			buf_reset(&w->reason);
			worker_check(ptx_write_symbols(w->machine, &err), &err);
		}
		w->schedule = plain + (uint64_t)seed;
		went = call_again(w, &w->inputs);
	}
	w->schedule = plain;
	w->budget = budget;
	return went;
}

/* The call once more, in another order of blocks and warps, one stream being late. Outputs that differ are kept for the
 * judge: sums in another order may differ, and be right. False when it failed, with the reason. */
static bool
call_in_other_order(struct worker *w, uint32_t late, const struct buf *first, bool *same)
{
	*same = false;
	w->other_streams = true;
	w->late = late;
	bool went = call_by_seeds(w);
	w->other_streams = false;
	if (!went) {
		buf_reset(&w->where);
		buf_addf(&w->where, "It was run in another order of its %sblocks and warps, which a GPU may take as well.",
			w->reordered_streams ? "streams, " : "");
		return false;
	}
	copy_outputs(w, &w->reordered, false);
	*same = !first->len || memcmp(first->data, w->reordered.data, first->len) == 0;
	if (*same)
		buf_reset(&w->reordered);
	return true;
}

/* Every stream is late once. Two operations that nothing orders run in either order then. As soon as outputs differ no
 * other order is tried. False when a call failed, with the reason. */
static bool
call_in_other_orders(struct worker *w, const struct buf *first, bool *same)
{
	uint32_t *order = xcalloc(w->plan->call_start[1] - w->plan->call_start[0] + 1, sizeof *order);
	bool went = call_in_other_order(w, PLAN_GIVEN_STREAM, first, same);

	for (uint32_t late = 0; went && *same && late < w->plan->streams; late++)
		if (late != PLAN_GIVEN_STREAM && plan_other_order(w->plan, 0, late, order))
			went = call_in_other_order(w, late, first, same);
	free(order);
	return went;
}

/* A stretch of later calls: one with other inputs, and one with the first ones that has to give the first outputs. */
static bool
call_others_and_first(struct worker *w, const struct buf *first, struct buf *variables)
{
	if (!call_again(w, &w->others) || !call_again(w, &w->inputs) ||
	    !same_outputs(w, first, "a call of solve() gives other outputs when one with other inputs came before it: it "
			"depends on what that one left in device memory"))
		return false;
	worker_copy_variables(w, variables);
	return true;
}

/* Calls that count themselves in device memory: many real ones, and then those for which the count is put far ahead. */
static void
call_many_times(struct worker *w, const struct buf *first, const struct buf variables[3])
{
	static const uint32_t ahead[] = { 1000, 1000000 };
	enum { CALLS = 32 };
	const char *what = "a call of solve() gives other outputs after many calls: it depends on what they counted in device "
		"memory";
	uint64_t limit = w->repeated + 2 * w->budget;
	bool same = true;

	for (int call = 0; same && call < CALLS && w->repeated < limit; call++)
		same = call_again(w, &w->inputs) && same_outputs(w, first, what);
	for (size_t k = 0; same && k < sizeof ahead / sizeof *ahead; k++) {
		worker_motion(w, variables, ahead[k]);
		same = call_again(w, &w->inputs) && same_outputs(w, first, what);
	}
}

/* From the start: as long as variables are not as they were before a stretch of calls, there may be something in them that
 * later calls go by. When they are, all that follows would be the same again. */
static void
call_with_variables(struct worker *w, const struct buf *first)
{
	struct buf variables[3] = { BUF_INIT, BUF_INIT, BUF_INIT }, err = BUF_INIT;
	bool went = true;

	worker_check(ptx_write_symbols(w->machine, &err), &err);
	for (int k = 0; k < 3 && went; k++) {
		went = call_others_and_first(w, first, &variables[k]);
		if (went && k == 1 && !memcmp(variables[0].data, variables[1].data, variables[0].len))
			goto out;
	}
	if (went && worker_motion(w, variables, 0) == MOTION_NO_RULE) {
		w->keeps_state = true;
		buf_adds(&w->reason, "solve() keeps something in device memory that changes from call to call in no regular way: "
			"what later calls make of it cannot be foreseen");
	} else if (went) {
		call_many_times(w, first, variables);
	}
out:
	for (int k = 0; k < 3; k++)
		buf_release(&variables[k]);
}

/* Variables of the module keep what a call left there, as they do on a GPU. So: the same call again, in another order,
 * and in the same one if that gave something else; then from the start calls with other inputs and the first ones after
 * each, which meet what was kept of the others. A call that gives something else computes from what it found. */
void
worker_repeat_call(struct worker *w)
{
	struct buf first = BUF_INIT;
	bool same;

	copy_outputs(w, &first, false);
	bool went = call_in_other_orders(w, &first, &same) && (same || call_again(w, &w->inputs));
	if (went && !same)
		went = same_outputs(w, &first, "a second call of solve() with the same arguments gives other outputs: it depends on "
			"what the first one left in device memory");
	if (went && worker_has_variables(w))
		call_with_variables(w, &first);
	copy_outputs(w, &first, true);
	buf_release(&first);
}
