/* How far a right answer may be off: by what the task allows, and by what these inputs make of rounding. */
#ifndef EVAL_TOLERANCE_H
#define EVAL_TOLERANCE_H

#include "eval/oracle.h"
#include "eval/task.h"
#include "tensor/compare.h"
#include "tensor/tensor.h"

/* The task's own tolerance for an output of this dtype, widened for the length of its sums. */
struct tolerance tolerance_of(const struct task *t, const struct task_workload *w, enum dtype dtype);

/* What tolerance_slack does, for whoever asks about a few elements: draws of changed inputs, how an element of an input is
 * changed in one, and by what the root mean square of the moves is multiplied. */
enum { TOLERANCE_DRAWS = 4 };
double tolerance_changed(double value, uint64_t element, double step, uint32_t draw, uint32_t input);
double tolerance_step(const struct task *t);
double tolerance_grant(const struct task *t, const struct task_workload *w);

/* slack[t->outputs]: for float outputs tensors of float64 that compare_tensors_within takes, owned by the caller; for
 * the others, and where no slack is due (a task that wants exact results), empty ones that are safe to release.
 * expected: what the oracle gave for these inputs. 0, or -1 with a sentence: infrastructure. */
int tolerance_slack(struct oracle *oracle, const struct task *t, const struct task_workload *w,
	const struct tensor *inputs, const struct tensor *expected, struct tensor *slack, struct buf *err);

#endif
