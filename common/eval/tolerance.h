/* How far a right answer may be off: by what the task allows, and by what these inputs make of rounding. */
#ifndef EVAL_TOLERANCE_H
#define EVAL_TOLERANCE_H

#include "eval/oracle.h"
#include "eval/task.h"
#include "tensor/compare.h"
#include "tensor/tensor.h"

/* The task's own tolerance for an output of this dtype, widened for the length of its sums. */
struct tolerance tolerance_of(const struct task *t, const struct task_workload *w, enum dtype dtype);

/* slack[t->outputs]: for float outputs tensors of float64 that compare_tensors_within takes, owned by the caller; for
 * the others, and where no slack is due (a task that wants exact results), empty ones that are safe to release.
 * expected: what the oracle gave for these inputs. 0, or -1 with a sentence: infrastructure. */
int tolerance_slack(struct oracle *oracle, const struct task *t, const struct task_workload *w,
	const struct tensor *inputs, const struct tensor *expected, struct tensor *slack, struct buf *err);

#endif
