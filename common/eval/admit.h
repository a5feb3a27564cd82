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
	ADMIT_SCALED,	/* the answers and a quarter of them, integers and one */
	ADMIT_SAMPLE,	/* the answers to inputs of which every second element, drawn at random, is another */
	ADMIT_FAKES
};

struct admit {
	bool caught[ADMIT_FAKES];	/* at least one workload tells it from the answer */
};

/* Tries all fakes on one workload: expected are the answers to inputs, others those to other inputs of the same
 * workload, sampled those to a mixture of both (admit_mix). 0, or -1 with a sentence. */
int admit_try(const struct task *t, const struct task_workload *w, const struct tensor *inputs, const struct tensor *expected,
	const struct tensor *others, const struct tensor *sampled, struct admit *admit, struct buf *err);
/* Writes some of the elements of `inputs` over those of `others`, about half, where they are floats. */
void admit_mix(const struct task *t, const struct tensor *inputs, struct tensor *others);
/* After all check workloads: true, or false with a sentence and *code: zeros_pass, constant_passes, inputs_unused,
 * identity_passes, half_passes, tolerance_too_wide, sample_passes. */
bool admit_verdict(const struct admit *admit, const char **code, struct buf *err);

#endif
