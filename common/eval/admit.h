/* Would a task let a kernel pass that does not do the work? Asked before anyone solves it. */
#ifndef EVAL_ADMIT_H
#define EVAL_ADMIT_H

#include <stdbool.h>

#include "eval/oracle.h"
#include "eval/task.h"

/* What a lazy kernel might write. */
enum admit_fake {
	ADMIT_ZEROS,	/* nothing but zeros */
	ADMIT_CONSTANT,	/* the mean of the answers to other inputs, everywhere */
	ADMIT_OTHER,	/* the answers to other inputs: so they do not depend on the inputs */
	ADMIT_IDENTITY,	/* an input */
	ADMIT_HALF,	/* the first half, then zeros */
	ADMIT_FAKES
};

struct admit {
	bool caught[ADMIT_FAKES];	/* at least one workload tells it from the answer */
};

/* Tries all fakes on one workload: expected are the answers to inputs, others those to other inputs of the same
 * workload. 0, or -1 with a sentence. */
int admit_try(const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	const struct tensor *expected, const struct tensor *others, struct admit *admit, struct buf *err);
/* After all check workloads: true, or false with a sentence and *code: zeros_pass, constant_passes, inputs_unused,
 * identity_passes, half_passes. */
bool admit_verdict(const struct admit *admit, const char **code, struct buf *err);

#endif
