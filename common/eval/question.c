/* What is asked of the engine in, its id out, and answers to and from the store.
 * An id is a hash of everything that decides the answer, so that a verdict is stored by what was asked and never made
 * twice: what is not in the id must not change a verdict. */
#include "eval/question.h"

#include <string.h>

#include "eval/engine.h"
#include "eval/kept.h"
#include "rec/json.h"

void
eval_solution_id(const char *task_id, const char *source, char out[HASH_ID_HEX])
{
	struct hash_id_state *state = hash_id_start();

	hash_id_text(state, task_id);
	hash_id_text(state, source);
	hash_id_end(state, out);
}

void
question_ask(const struct eval *e, const struct task *t, const struct task_workload *w, const char *source,
	uint64_t trial, struct question *q)
{
	uint64_t numbers[] = { e->seed, trial, VERDICT_PROTOCOL };
	struct hash_id_state *state = hash_id_start();

	*q = (struct question){ .task = t, .workload = w, .source = source, .trial = trial, .target = e->target };
	eval_solution_id(t->id, source, q->solution);
	hash_id_text(state, q->solution);
	hash_id_text(state, w ? w->name : "");
	hash_id_text(state, e->target);
	hash_id_part(state, numbers, sizeof numbers);
	if (eval_args.schedule)
		hash_id_part(state, &eval_args.schedule, sizeof eval_args.schedule);
	hash_id_end(state, q->id);
}

int
question_recall(struct eval *e, const struct question *q, json_t **evaluation, struct buf *err)
{
	json_t *entry;
	int there = kept_json(e->store, "evaluations", q->id, &entry, err);
	json_t *kept = json_object_get(entry, "evaluation");

	if (there == 1 && strcmp(rec_json_string(kept, "id", ""), q->id))
		there = store_remove(e->store, "evaluations", q->id, err);
	else if (there == 1 && strcmp(rec_json_string(entry, "source", ""), q->source))
		there = 0;
	if (there == 1) {
		*evaluation = json_incref(kept);
		atomic_fetch_add(&e->stored, 1);
	}
	json_decref(entry);
	return there;
}

int
question_remember(struct eval *e, const struct question *q, json_t *evaluation, struct buf *err)
{
	json_t *entry = json_pack("{s:o, s:O}", "source", rec_json_text(q->source, strlen(q->source)), "evaluation",
		evaluation);
	struct buf text = BUF_INIT;
	bool added;

	rec_json_dump(entry, &text);
	int status = store_add(e->store, "evaluations", q->id, buf_str(&text), text.len, &added, err);
	/* Another process may have had the same question at the same time; one of the two answers is kept. */
	if (status == 0 && added)
		status = store_journal(e->store, "evaluated", q->id, err);
	atomic_fetch_add(&e->run, 1);
	buf_release(&text);
	json_decref(entry);
	return status;
}
