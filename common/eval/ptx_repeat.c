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

static bool
is_variable(const struct worker *w, uint32_t symbol)
{
	const struct ptx_symbol *found = ptx_symbol_find(w->module, w->plan->symbol[symbol].name);

	return found && found->space == PTX_SPACE_GLOBAL;
}

/* Appends the bytes of all variables that kernels can write. */
static void
copy_variables(const struct worker *w, struct buf *out)
{
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		if (is_variable(w, i))
			buf_add(out, (const void *)w->plan->symbol[i].address, w->plan->symbol[i].bytes);
}

/* Puts variables where a thousand more calls would have them, if each adds what the last one added. Whoever only uses
 * them within a call writes before he reads. False: the last call changed none. */
static bool
extrapolate_variables(const struct worker *w, const struct buf *before)
{
	bool changed = false;
	size_t at = 0;

	for (uint32_t i = 0; i < w->plan->symbols; i++) {
		const struct ptxinfo_symbol *symbol = &w->plan->symbol[i];

		if (!is_variable(w, i))
			continue;
		for (uint64_t offset = 0; offset + 4 <= symbol->bytes; offset += 4) {
			uint32_t was, is;

			memcpy(&was, before->data + at + offset, 4);
			memcpy(&is, (const char *)symbol->address + offset, 4);
			changed = changed || was != is;
			is += 1000 * (is - was);
			memcpy((char *)symbol->address + offset, &is, 4);
		}
		at += symbol->bytes;
	}
	return changed;
}

/* One more call, uncounted. False when it failed, with the reason. */
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
	w->total = total;
	if (w->status == PTX_OK && ptx_error_count(w->machine) == 0)
		return true;
	buf_adds(&w->reason, w->reason.len ? " This is in a later call of solve()." : "");
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

/* The call once more, in another order of blocks and warps, one stream being late. Outputs that differ are kept for the
 * judge: sums in another order may differ, and be right. An order that takes too long says nothing. False when it
 * failed, with the reason. */
static bool
call_in_other_order(struct worker *w, uint32_t late, const struct buf *first, bool *same)
{
	uint64_t plain = w->schedule;

	*same = false;

	w->schedule = plain + 1;
	w->other_streams = true;
	w->late = late;
	bool went = call_again(w, &w->inputs);
	w->schedule = plain;
	w->other_streams = false;
	if (!went && w->status == PTX_BUDGET) {
		w->status = PTX_OK;
		buf_reset(&w->reason);
		return true;
	}
	if (!went) {
		buf_adds(&w->reason, " It runs in another order of blocks and warps, which a GPU may take as well.");
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

/* Variables of the module keep what a call left there, as they do on a GPU. So: the same call again, in another order,
 * and in the same one if that gave something else; then from the start a call with other inputs, and the first one
 * after it, which meets what was kept of the others; then the first one when a thousand calls have gone by. A call
 * that gives something else computes from what it found. */
void
worker_repeat_call(struct worker *w)
{
	struct buf first = BUF_INIT, variables = BUF_INIT, err = BUF_INIT;
	bool has_variables = false, same;

	copy_outputs(w, &first, false);
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		has_variables = has_variables || is_variable(w, i);
	if (!call_in_other_orders(w, &first, &same) || (!same && !call_again(w, &w->inputs)))
		goto out;
	if ((!same && !same_outputs(w, &first, "a second call of solve() with the same arguments gives "
			"other outputs: it depends on what the first one left in device memory")) || !has_variables)
		goto out;
	worker_check(ptx_write_symbols(w->machine, &err), &err);
	if (!call_again(w, &w->others))
		goto out;
	copy_variables(w, &variables);
	if (call_again(w, &w->inputs) && same_outputs(w, &first, "a call of solve() gives other outputs when one with other "
			"inputs came before it: it depends on what that one left in device memory")
			&& extrapolate_variables(w, &variables) && call_again(w, &w->inputs))
		same_outputs(w, &first, "a call of solve() gives other outputs after many calls: it depends on what they "
			"counted in device memory");
out:
	copy_outputs(w, &first, true);
	buf_release(&first);
	buf_release(&variables);
}
