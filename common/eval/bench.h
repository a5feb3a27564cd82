/* A bench workload, on a GPU only: inputs made there, outputs against the trusted solution's, and times. */
#ifndef EVAL_BENCH_H
#define EVAL_BENCH_H

#include "cuda/message.h"
#include "eval/gpu.h"
#include "eval/inputs.h"
#include "store/store.h"

/* Raised by hand when times of the same solution can no longer be compared with those before. */
enum { TIMING_PROTOCOL = 1 };
/* Shorter times are mostly the launch itself: no ratio is made of them. */
#define BENCH_LEAST_RATIO_US 10.0

struct bench_request {
	const struct task *task;
	const struct task_workload *workload;
	struct inputs_key key;
	const char *solution_id;
	const char *folder;			/* of the build */
	const struct cuda_recording *recording;
	/* The task's first correct solution; NULL: it is this one. missing: why there is no time of it; then it is neither
	 * built nor run, and outputs are not compared with its. */
	const char *baseline_id, *missing, *baseline_folder;
	const struct cuda_recording *baseline_recording;
	struct store *store;			/* takes the samples */
	int noise_pairs;			/* of the solution against itself; 0: 50 */
	const double *slack;			/* of each output: outputs may differ from the baseline's by so much more; or NULL */
	bool any_outputs;			/* for tests of the clock: outputs may differ from the baseline's */
};

/* 0 with result (its outputs stay empty) and *timing, a `timing` of the record, NULL unless PASSED or SUSPICIOUS; -1
 * with a sentence: infrastructure. */
int bench_run(struct gpu_session *session, const struct bench_request *request, struct run_result *result,
	json_t **timing, struct buf *err);

/* The message that asks a worker to time the request; counted: to run it for a profiler instead. 0, or -1 with a
 * sentence. */
int bench_pack(const struct bench_request *request, bool counted, struct message *m, struct buf *err);

/* The time by which solutions are compared: of the paired ratio when there is one. NAN when nothing was measured. */
double bench_cost(const json_t *timing);

#endif
