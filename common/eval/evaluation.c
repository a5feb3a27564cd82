/* A question and what a device answered in, an evaluation record out.
 * Only deterministic fields are written here: the record is part of the release, whose bytes two runs must share. */
#include "eval/evaluation.h"

#include <string.h>

#include "eval/names.h"
#include "rec/json.h"

enum { PRINTED_BYTES = 1024 };

static const char *
role_name(enum task_role role)
{
	return role == TASK_CHECK ? "check" : role == TASK_PROFILE ? "profile" : "bench";
}

json_t *
evaluation_start(const struct question *q, const char *status, const char *reason)
{
	json_t *e = json_pack("{s:s, s:s}", "id", q->id, "solution_id", q->solution);

	if (q->workload) {
		json_object_set_new(e, "workload", json_string(q->workload->name));
		json_object_set_new(e, "role", json_string(role_name(q->workload->role)));
		json_object_set_new(e, "held_out", json_boolean(q->workload->held_out));
	}
	json_object_set_new(e, "trial", json_integer((json_int_t)q->trial));
	if (eval_args.schedule)
		json_object_set_new(e, "schedule", json_integer((json_int_t)eval_args.schedule));
	json_object_set_new(e, "target", json_string(q->target));
	json_object_set_new(e, "protocol", json_integer(VERDICT_PROTOCOL));
	json_object_set_new(e, "status", json_string(status));
	if (reason && reason[0]) {
		struct buf text = BUF_INIT;

		names_readable(reason, &text);
		json_object_set_new(e, "reason", rec_json_text(buf_str(&text), text.len));
		buf_release(&text);
	}
	return e;
}

json_t *
evaluation_of_run(const struct question *q, struct run_result *run)
{
	json_t *e = evaluation_start(q, run->status, buf_str(&run->reason));

	json_object_set(e, "findings", run->findings);
	if (run->findings_dropped > 0)
		json_object_set_new(e, "findings_dropped", json_integer(run->findings_dropped));
	if (run->counters)
		json_object_set(e, "counters", run->counters);
	if (run->traffic)
		json_object_set(e, "traffic", run->traffic);
	if (run->estimate)
		json_object_set(e, "estimate", run->estimate);
	if (run->printed.len) {
		buf_elide(&run->printed, PRINTED_BYTES);
		json_object_set_new(e, "printed", rec_json_text(run->printed.data, run->printed.len));
	}
	return e;
}

const char *
evaluation_status(const json_t *evaluation)
{
	return rec_json_string(evaluation, "status", "");
}
