/* Some elements of a bench workload's outputs, as the oracle has them. */
#ifndef EVAL_SAMPLED_H
#define EVAL_SAMPLED_H

#include "eval/inputs.h"
#include "eval/task.h"
#include "tensor/compare.h"

enum { SAMPLED_RANDOM = 4096, SAMPLED_EDGES = 8 };

/* The numbers of one output's elements: the first and last few, and others at random by the seed. Returned: how many,
 * at most SAMPLED_RANDOM + SAMPLED_EDGES. */
size_t sampled_numbers(int64_t elements, uint64_t seed, uint64_t *numbers);

struct sampled;
struct sampled_result {
	int64_t checked, mismatched;	/* checked 0: there is no math spec, or it is too much work */
	int output;			/* of the first mismatch */
	struct compare_result first;
};
/* Starts threads that work out what is expected of an output's sampled elements. The task stays as it is until
 * sampled_free. NULL with a sentence. Returned owned. */
struct sampled *sampled_start(const struct task *t, const struct task_workload *w, const struct inputs_key *key,
	uint64_t seed, struct buf *err);
/* Compares values (all outputs' elements one after the other, as the device stored them) with the math spec, once it is
 * there, by the rule that check workloads are judged by: within the tolerance, or within what rounding may cost on these
 * inputs. Elements that need too much work are left out, and all that follow. 0, or -1 with a sentence. */
int sampled_judge(struct sampled *s, const struct buf *values, struct sampled_result *result, struct buf *err);
/* The most that rounding may cost in a few of the sampled elements of each output, into slack[task's outputs]; 0 where it
 * is not known. */
void sampled_slack(struct sampled *s, double *slack);
/* Stops the threads. NULL is allowed. */
void sampled_free(struct sampled *s);

#endif
