/* The inputs of a workload: made from a key that the solution's own bytes go into. */
#ifndef EVAL_INPUTS_H
#define EVAL_INPUTS_H

#include "eval/task.h"
#include "tensor/generate.h"
#include "tensor/tensor.h"

/* What decides the inputs, besides the task: SHA-256 over all of these and the tensor's name. */
struct inputs_key {
	uint64_t seed, trial;
	const char *source;	/* of the solution; "" for the oracles by themselves */
};

/* Does the domain make sense for this tensor and workload? 0, or -1 with a sentence. */
int inputs_check_domain(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	struct buf *err);
/* All inputs, in task order, into tensors[t->inputs], each owned by the caller (tensor_release).
 * 0, or -1 with a sentence and nothing to release. */
int inputs_make(const struct task *t, const struct task_workload *w, const struct inputs_key *key,
	struct tensor *tensors, struct buf *err);
/* What a GPU needs to make the same, one for each input. 0, or -1 with a sentence. */
int inputs_jobs(const struct task *t, const struct task_workload *w, const struct inputs_key *key,
	struct generate_job *jobs, struct buf *err);

#endif
