/* PyTorch as a baseline: what a task's module takes on a GPU, eager and by torch.compile, for the record of a bench
 * workload. It is timed once for each task, GPU and version of torch; the store keeps it for all candidates. */
#ifndef EVAL_TORCH_TIME_H
#define EVAL_TORCH_TIME_H

#include "eval/gpu.h"
#include "eval/task.h"
#include "store/store.h"

enum torch_want {
	TORCH_IF_POSSIBLE,	/* where it cannot be had, the record says why */
	TORCH_REQUIRED,		/* where it cannot be had: exit 69 */
	TORCH_NEVER,
};
/* Of "auto", "torch" or "none". 0, or -1. */
int torch_want_from_name(const char *name, enum torch_want *want);

/* How long Python may take to make itself ready, and for its samples: tests make these shorter. Set before use. */
extern unsigned torch_ready_seconds, torch_samples_seconds;

struct torch_times;
/* All borrowed. Starts nothing yet. Returned owned; safe from threads. */
struct torch_times *torch_times_new(struct store *store, struct gpu_pool *pool, const char *python, enum torch_want want);
void torch_times_free(struct torch_times *times);

bool torch_times_are_required(const struct torch_times *times);
/* Adds "pytorch" to a `timing` of this workload, unless it has times or the task has no module. seed: of the engine. 0; 1 with a
 * sentence: it was required, and cannot be had here; -1 with a sentence: infrastructure. */
int torch_times_add(struct torch_times *times, const struct task *t, const struct task_workload *w, uint64_t seed,
	json_t *timing, struct buf *err);
/* Appends ", PyTorch eager 318 us (this is 1.19 times as fast)" and the like for torch.compile, as far as a timing has them. */
void torch_times_text(const json_t *timing, struct buf *out);

#endif
