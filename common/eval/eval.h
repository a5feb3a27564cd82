/* Source in, evaluations out: build, record, run, judge. Deterministic verdicts are kept in the store. */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "eval/task.h"
#include "hash/id.h"
#include "store/store.h"

/* Work is counted in lane instructions; a sector of 32 bytes counts as many as an SM of sm_90 issues while its L1
 * delivers one: 128 lane instructions and 128 bytes a clock (NVIDIA, "H100 Tensor Core GPU Architecture", 2022).
 * The sum is a cost and nothing more: no time follows from it. */
enum { COST_PER_SECTOR = 32 };

/* Raised by hand when an input byte or a verdict changes for the same solution; a golden test watches it. */
enum { VERDICT_PROTOCOL = 3 };
#define EVAL_TARGET "ptx-sm_90"		/* of the PTX machine by default; on a GPU: "cuda-sm_90" and the like */

/* Values of the engine's options, filled by opt_parse from eval_option_table. */
struct eval_args {
	const char *store;	/* --store DIR, default out/store */
	const char *device;	/* --device cpu|cuda[:LIST] */
	const char *arch;	/* --arch sm_80|sm_89|sm_90, of the PTX machine; NULL: sm_90. A GPU has its own */
	const char *python;	/* --python PROGRAM, which runs PyTorch references */
	const char *baseline;	/* --baseline auto|torch|none: whether PyTorch is timed on a GPU */
	const char *counters;	/* --counters PROGRAM: Nsight Compute, to count on a GPU; NULL: nothing is counted */
	uint64_t schedule;	/* --schedule SEED of km-verify: order of blocks and warps on the PTX machine; 0: the plain one */
};
extern struct eval_args eval_args;
extern const struct opt eval_option_table[];

struct eval;
/* Opens the engine from eval_args. NULL with a sentence; *status gets the exit status to die with
 * (64 usage, 69 something missing, 73 store). Returned owned; safe from threads. */
struct eval *eval_open(uint64_t seed, int *status, struct buf *err);
void eval_close(struct eval *e);
struct store *eval_store(struct eval *e);
struct oracle *eval_oracle(struct eval *e);
/* Exit status that a failure of ours calls for: 69 when something was missing, else 75. */
int eval_failure(const struct eval *e);
void eval_misses_something(struct eval *e);

enum eval_select {
	EVAL_VISIBLE,	/* check workloads that are not held out, then profile for the cost, on a GPU then bench */
	EVAL_ALL,	/* held-out ones as well: only km-verify asks */
};

/* Statuses as in the record: strings, static. */
struct eval_summary {
	const char *status;		/* PASSED, or that of the first workload that did not pass */
	const json_t *decisive;		/* that evaluation, or when PASSED the profile or bench one; borrowed from the array */
	double cost;			/* NAN unless PASSED and profiled; on a GPU the time of the bench workload over
					 * that of the baseline, NAN where none was measured */
};

/* Evaluates a solution on the selected workloads, stopping at the first failure. *evaluations gets a
 * new array of evaluation records (returned owned). 0, or -1 with a sentence when the failure was ours
 * (INFRASTRUCTURE: retry, exit 75). */
int eval_solution(struct eval *e, const struct task *t, const char *source, enum eval_select select,
	json_t **evaluations, struct eval_summary *summary, struct buf *err);

/* Runs the evaluation of a record once more, from its inputs' key on, whatever the store holds: same build, same inputs,
 * same target. *evaluation gets the new record (returned owned). 1 with a sentence: it cannot be repeated as it was
 * (another seed, target, protocol, task or source); -1 with a sentence: ours. */
int eval_again(struct eval *e, const struct task *t, const char *source, const json_t *record, json_t **evaluation,
	struct buf *err);

/* The quick check of the device half: *log gets the compiler's words. 1 compiles, 0 does not, -1 ours. */
int eval_compile(struct eval *e, const struct task *t, const char *source, struct buf *log, struct buf *err);

/* Ids of records. solution: of its source; evaluation: of (solution, workload, target, seed, trial,
 * protocol, schedule). */
void eval_solution_id(const char *task_id, const char *source, char out[HASH_ID_HEX]);

/* ---- for ingest: the oracles by themselves */
/* Runs both executable forms (where there are two) on the check workloads with generated inputs, and the
 * worked examples against the oracle. 1 agree; 0 refused, with a sentence in err and a word in *code:
 * forms_disagree, example_wrong, oracle_fails, reference_does_not_compile, reference_crashed,
 * reference_out_of_bounds, reference_timeout, reference_exited; and where a kernel that does not do the work would
 * pass: zeros_pass, constant_passes, inputs_unused, identity_passes, half_passes; -1 ours. */
int eval_check_task(struct eval *e, const struct task *t, const char **code, struct buf *err);

/* NULL on the PTX machine. Borrowed. */
struct gpu_pool *eval_gpus(struct eval *e);
/* How many evaluations were run and how many came from the store, since eval_open. */
void eval_counts(const struct eval *e, uint64_t *run, uint64_t *stored);

#endif
