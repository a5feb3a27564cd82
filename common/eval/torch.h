/* PyTorch references: a Python in the sandbox that imports torch once and runs each module in a fork of its own.
 *
 * A reference.py defines class Model(torch.nn.Module). Its forward gets by name whichever of the task's inputs, axes and
 * scalars its parameters name, and returns the outputs in the task's order. As an oracle it runs in double precision on the
 * CPU, as a baseline in the task's dtypes on a GPU. */
#ifndef EVAL_TORCH_H
#define EVAL_TORCH_H

#include "eval/oracle.h"

struct torch;

/* python: the program, borrowed. gpu: it may use the GPUs of this machine. Starts nothing yet. Returned owned; safe
 * from threads. */
struct torch *torch_new(const char *python, bool gpu);
void torch_free(struct torch *torch);

/* As oracle_run, with t->reference as the module. ORACLE_UNAVAILABLE: that Python has no torch. */
enum oracle_status torch_run(struct torch *torch, const struct task *t, const struct task_workload *w,
	const struct tensor *inputs, struct tensor *expected, const char **code, struct buf *err);

/* Times the module on a GPU, eager or compiled (torch.compile), in the task's dtypes: `samples` launches with cold
 * caches, microseconds by events into microseconds[samples]; *version gets torch's version. 0; 1 with a reason in
 * err: it cannot be timed here; -1 with a sentence: infrastructure. */
int torch_time(struct torch *torch, const struct task *t, const struct task_workload *w, const char *gpu_uuid, bool compiled,
	int samples, double *microseconds, struct buf *version, struct buf *err);

#endif
