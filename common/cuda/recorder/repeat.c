/* Many more calls of solve() with the same arguments, of which only those are kept that differ from all before.
 *
 * In: calls, as km-record makes them. Out: plans of the first two calls and one that was kept, one after the other. The
 * hard idea is how a call is recognised: when nothing that it took outlives it, the numbers and addresses that it used are
 * given out again, so that the next call writes the same text. From the first call that leaves something behind on, or
 * gives back what an earlier one took, all are kept, in one plan, as each builds on the one before. */
#include <string.h>

#include "cuda/plan.h"
#include "cuda/recorder/state.h"

/* DIFFERENT: plans of calls that leave nothing. Their texts and that of the first two calls, each time, stay below ENOUGH. */
enum { DIFFERENT = 8, IN_ONE_PLAN = 100, ENOUGH_TEXT = 8 << 20 };
#define MOST_TEXT (64ull << 20)	/* written and thrown away, in all */

static struct {
	size_t head;			/* the text before the first repeated call */
	size_t start[DIFFERENT + 1];	/* where each kept text begins, and where the next one will */
	int kept;
	size_t tail;			/* where those begin that build on each other; 0: none */
	unsigned in_tail;
	uint64_t written;
	struct recorder_mark mark;	/* as the call that runs found it */
} repeat;

EXPORT bool
kernelmosaic_recorder_repeat(void)
{
	size_t length;

	plan_text(&length);
	repeat.head = repeat.start[0] = length;
	return 2 * length < ENOUGH_TEXT;
}

/* The first two are in the head, so that each is number 2, unless it builds on others. */
EXPORT void
kernelmosaic_recorder_again(void)
{
	recorder_mark(&repeat.mark);
	kernelmosaic_recorder_call(2 + repeat.in_tail);
}

static bool
is_known(const char *text, size_t start, size_t length)
{
	for (int i = 0; i < repeat.kept; i++)
		if (repeat.start[i + 1] - repeat.start[i] == length - start && !memcmp(text + repeat.start[i], text + start,
		    length - start))
			return true;
	return false;
}

EXPORT bool
kernelmosaic_recorder_enough(void)
{
	size_t length, start = repeat.mark.length;
	const char *text;

	kernelmosaic_recorder_called();
	text = plan_text(&length);
	repeat.written += length - start;
	if (repeat.tail || !recorder_rewind(&repeat.mark)) {
		repeat.tail = repeat.tail ? repeat.tail : start;
		return ++repeat.in_tail == IN_ONE_PLAN || length - repeat.tail > ENOUGH_TEXT || recorder_is_short();
	}
	if (is_known(text, start, length)) {
		plan_cut(start);
	} else if (repeat.kept < DIFFERENT) {
		repeat.start[++repeat.kept] = length;
	} else {	/* the last place is for whatever came last */
		plan_move(repeat.start[DIFFERENT - 1], start);
		plan_text(&repeat.start[DIFFERENT]);
	}
	plan_text(&length);
	return repeat.written > MOST_TEXT || length + (size_t)repeat.kept * repeat.head > ENOUGH_TEXT;
}

EXPORT void
kernelmosaic_recorder_finish_repeated(void)
{
	for (int i = 0; i < repeat.kept; i++)
		plan_put(repeat.head, repeat.start[i], repeat.start[i + 1]);
	if (repeat.tail) {
		size_t length;

		plan_text(&length);
		plan_put(repeat.head, repeat.tail, length);
	}
	plan_written();
}
