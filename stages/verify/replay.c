/* An evaluation as it is recorded and as it came out now in, the differences out: status, reason, findings, counters,
 * error figures, hashes of outputs, whatever fields there are. A field of either record counts, so that one that is
 * added to the records later is compared without a word here. */
#include "replay.h"

#include <string.h>

#include "base/die.h"
#include "base/opt.h"
#include "rec/json.h"

enum { SHOWN_BYTES = 240 };

/* Measured or added later, so that they may differ between two runs of the same. */
static const char *const not_compared[] = { "final", "timing", "hardware_counters", "environment", "time", NULL };

const json_t *
replay_find(const json_t *evaluations, const char *id)
{
	const json_t *evaluation;
	size_t i;

	json_array_foreach(evaluations, i, evaluation)
		if (strcmp(rec_json_string(evaluation, "id", ""), id) == 0)
			return evaluation;
	return NULL;
}

static void
show(const json_t *value, struct buf *out)
{
	if (value)
		rec_json_dump(value, out);
	else
		buf_adds(out, "nothing");
	buf_elide(out, SHOWN_BYTES);
}

static uint64_t compare_fields(const char *prefix, const json_t *was, const json_t *is);

static uint64_t
compare_field(const char *prefix, const char *key, const json_t *was, const json_t *is)
{
	struct buf name = BUF_INIT, before = BUF_INIT, now = BUF_INIT;
	uint64_t count = 1;

	buf_addf(&name, "%s%s%s", prefix, *prefix ? "." : "", key);
	if (json_is_object(was) && json_is_object(is)) {
		count = compare_fields(buf_str(&name), was, is);
	} else {
		show(was, &before);
		show(is, &now);
		note("%s was %s and is %s", buf_str(&name), buf_str(&before), buf_str(&now));
	}
	buf_release(&name);
	buf_release(&before);
	buf_release(&now);
	return count;
}

static uint64_t
compare_fields(const char *prefix, const json_t *was, const json_t *is)
{
	uint64_t count = 0;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)was, key, value)
		if (!json_equal(value, json_object_get(is, key)))
			count += compare_field(prefix, key, value, json_object_get(is, key));
	json_object_foreach((json_t *)is, key, value)
		if (!json_object_get(was, key))
			count += compare_field(prefix, key, NULL, value);
	return count;
}

static json_t *
comparable(const json_t *evaluation)
{
	json_t *copy = json_copy((json_t *)evaluation);

	for (int i = 0; not_compared[i]; i++)
		json_object_del(copy, not_compared[i]);
	return copy;
}

uint64_t
replay_compare(const json_t *was, const json_t *is)
{
	json_t *before = comparable(was), *now = comparable(is);
	uint64_t count = compare_fields("", before, now);

	json_decref(before);
	json_decref(now);
	return count;
}

int
replay_exit_status(const char *id, uint64_t replays, uint64_t differences)
{
	if (replays == 0) {
		warn("no case has an evaluation with the id %s", id);
		return EX_DATAERR;
	}
	if (differences == 0)
		note("evaluation %s came out as it is recorded", id);
	return differences != 0;
}
