/* The supervisor of GPU workers: GPUs that are healthy, processes that wait ready with a context, one candidate each,
 * checks side by side and timing alone, a watchdog, and a probe after every failure. Only it turns answers into results.
 *
 * Between processes a GPU is shared by a lock file named after its UUID, in /run/lock or else /tmp
 * (kernelmosaic-gpu-UUID.lock): checks hold it shared, timed sections alone. */
#ifndef EVAL_GPU_H
#define EVAL_GPU_H

#include <jansson.h>
#include <stdbool.h>

#include "eval/run.h"

struct gpu_pool;

/* Starts on the GPUs of `list`: NULL for all, else numbers or UUIDs with commas. NULL with a sentence; *status gets 64
 * (not a list, no such GPU) or 69 (no driver, no GPU, one that is older than sm_80). Safe from threads. Returned owned. */
struct gpu_pool *gpu_pool_open(const char *list, int *status, struct buf *err);
/* Ends all workers. Sessions must be closed. */
void gpu_pool_close(struct gpu_pool *pool);
/* The architecture that code is compiled for: that of the oldest of its GPUs, or what nvcc knows before it. */
int gpu_pool_arch(const struct gpu_pool *pool);
/* The profile (of common/cuda/profiles) of that GPU, which answers what host code asks. Static. */
const char *gpu_pool_profile(const struct gpu_pool *pool);

/* What the pool did so far. */
struct gpu_counts {
	uint64_t workers, commands, kills, probes, failed_probes, retired;
	double pool_seconds;			/* the pool was open, times the GPUs */
	double command_seconds, alone_seconds;	/* a GPU had a command; one that times */
	double start_seconds;			/* of making contexts, one after the other */
	double worker_wait_seconds, turn_wait_seconds;	/* candidates waited for a worker, and for their turn */
};
void gpu_pool_counts(struct gpu_pool *pool, struct gpu_counts *counts);

/* All workloads of one candidate. A worker is taken at the first need and thrown away at the end. */
struct gpu_session {
	struct gpu_pool *pool;
	struct gpu_worker *worker;
};
void gpu_session_close(struct gpu_session *session);

/* Runs the one call of the recording thrice (see common/cuda/gpu_check.c), the last time after a call on other inputs
 * (may be NULL). 0 with result filled (release it), or -1 with a sentence: infrastructure. result->other[]
 * holds outputs of later runs that are not those of the first. */
int gpu_run(struct gpu_session *session, const struct task *t, const struct task_workload *w, const char *build_folder,
	const struct cuda_recording *recording, const struct tensor *inputs, const struct tensor *others, struct run_result *result,
	struct buf *err);

#endif
