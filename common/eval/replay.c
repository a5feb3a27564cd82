/* A stored evaluation in, the same question answered anew out.
 * Repeating is only meant where it can give the same bytes, so whatever differs in what was asked (target, protocol,
 * seed, task) is said before anything runs. */
#include <string.h>

#include "eval/session.h"
#include "rec/json.h"

int
eval_again(struct eval *e, const struct task *t, const char *source, const json_t *record, json_t **evaluation,
	struct buf *err)
{
	struct session s;
	const char *name = rec_json_string(record, "workload", NULL), *target = rec_json_string(record, "target", "");
	const struct task_workload *w = name ? task_workload(t, name) : NULL;
	json_int_t protocol = rec_json_integer(record, "protocol", 0);
	struct question q;

	if (name && !w)
		return buf_err(err, "the task has no workload '%s'", name), 1;
	if (strcmp(target, e->target))
		return buf_err(err, "it was made on %s, and this is %s: see --device and --arch", target, e->target), 1;
	if (protocol != VERDICT_PROTOCOL)
		return buf_err(err, "it was made by protocol %lld, and this is protocol %d", (long long)protocol, VERDICT_PROTOCOL), 1;
	question_ask(e, t, w, source, (uint64_t)rec_json_integer(record, "trial", 0), &q);
	if (strcmp(q.id, rec_json_string(record, "id", "")))
		return buf_err(err, "its id is not that of this task, solution and seed %llu: see --seed",
			(unsigned long long)e->seed), 1;
	session_open(&s, e, t, source);
	int status = session_find_out(&s, &q, evaluation, err);
	session_close(&s);
	return status;
}
