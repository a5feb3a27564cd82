/* A launch plan in, outputs and what the PTX machine saw out. The machine runs in a process of its own,
 * in the sandbox: the PTX is a stranger's, and a fault of ours must not become his. */
#ifndef EVAL_RUN_H
#define EVAL_RUN_H

#include <jansson.h>

#include "cuda/record.h"
#include "eval/task.h"
#include "tensor/tensor.h"

/* Lane instructions of all launches together, past which a run is TIMEOUT: the clock is never asked. */
#define RUN_BUDGET ((uint64_t)1000000000)

enum { RUN_MAX_OTHERS = 6 };

struct run_result {
	const char *status;	/* PASSED (ran to its end), RUNTIME_ERROR, TIMEOUT, UNSUPPORTED; static */
	struct buf reason;	/* one line unless PASSED */
	json_t *findings;	/* array, owned */
	int64_t findings_dropped;	/* more than the array holds */
	json_t *counters;	/* object, owned; of all launches; NULL on a GPU */
	json_t *traffic, *estimate;	/* array and object, owned; of a profile workload on the PTX machine, else NULL */
	struct buf printed;	/* by device printf */
	struct tensor outputs[TASK_MAX_TENSORS];	/* task order; set up when status is PASSED */
	int output_count;
	/* Outputs of later runs of the same call that are not bit for bit those of the first: on a GPU, or in another order
	 * of blocks and warps on the PTX machine. */
	struct tensor other[RUN_MAX_OTHERS][TASK_MAX_TENSORS];
	int others, other_count[RUN_MAX_OTHERS];
	int64_t oracle_elements;	/* of bench workloads: how many the oracle was asked for */
};

/* Runs the one call of `recording` on these inputs. others: inputs of the same task for a call in between, which makes
 * it a checked run: initcheck as well, and the call is repeated to see whether it keeps anything; NULL: a plain run.
 * 0 with result filled (release it), or -1 with a sentence: infrastructure. */
int run_on_ptx(const struct task *t, const struct task_workload *w, const char *build_folder,
	const struct cuda_recording *recording, const struct tensor *inputs, const struct tensor *others,
	struct run_result *result, struct buf *err);
void run_release(struct run_result *result);

/* ---- what a worker of either device answers, which may be a stranger's words */
/* The status of the list (NULL ends) that equals word, or NULL. */
const char *run_known_status(const char *word, const char *const *known);
/* Outputs in task order from the bytes of the worker ("PTX", "GPU"); *count tensors are set up, whatever is returned.
 * 0, or -1 with a sentence. */
int run_take_outputs(const struct task *t, const struct task_workload *w, const struct buf *bytes, const char *worker,
	struct tensor *outputs, int *count, struct buf *err);

#endif
