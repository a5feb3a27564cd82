/* One question to the engine: its id, and the answers that the store keeps by it. */
#ifndef EVAL_QUESTION_H
#define EVAL_QUESTION_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "eval/eval.h"
#include "eval/task.h"
#include "hash/id.h"

/* This solution on this workload with these inputs, under this protocol. Pointers are borrowed. */
struct question {
	const struct task *task;
	const struct task_workload *workload;	/* NULL: does it compile? */
	const char *source;
	const char *target;
	char solution[HASH_ID_HEX], id[HASH_ID_HEX];
	uint64_t trial;
};

void question_ask(const struct eval *e, const struct task *t, const struct task_workload *w, const char *source,
	uint64_t trial, struct question *q);

/* 1 and the stored evaluation (returned owned), 0: there is none, or -1 with a sentence. The whole source is compared,
 * not only its hash; an entry that is damaged is removed, to be made again. */
int question_recall(struct eval *e, const struct question *q, json_t **evaluation, struct buf *err);
/* Keeps the evaluation (borrowed) and counts it as run. 0, or -1 with a sentence. */
int question_remember(struct eval *e, const struct question *q, json_t *evaluation, struct buf *err);

#endif
