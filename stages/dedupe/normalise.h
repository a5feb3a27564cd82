/* What is left of a task when names, blanks, comments and letter case mean nothing. */
#ifndef DEDUPE_NORMALISE_H
#define DEDUPE_NORMALISE_H

#include <jansson.h>

#include "base/buf.h"
#include "hash/id.h"

/* One key for each way to be the same task; "" where the task has no such form. All of them include the
 * tensors: dtypes, shapes, scalars and constant axes, in order, under canonical names. */
struct task_keys {
	char exact[HASH_ID_HEX];	/* everything but id and name */
	char prompt[HASH_ID_HEX];	/* only for tasks that show English alone */
	char reference[HASH_ID_HEX];	/* shown or hidden */
	char math[HASH_ID_HEX];		/* shown or hidden */
	char all[HASH_ID_HEX];		/* of the three before: curation.normalised_hash */
};

/* task: a valid `task` section, borrowed. 0, or -1 with a sentence (a math spec that has no tokens). */
int normalise_task(const json_t *task, struct task_keys *keys, struct buf *err);

#endif
