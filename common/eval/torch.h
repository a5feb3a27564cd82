/* PyTorch references: a Python in the sandbox that imports torch once and runs each module in a fork of its own.
 *
 * A reference.py defines class Model(torch.nn.Module). Its forward gets by name whichever of the task's inputs, axes and
 * scalars its parameters name, and returns the outputs in the task's order. It runs in double precision on the CPU; how it
 * is timed on a GPU is told in torch_time.h. */
#ifndef EVAL_TORCH_H
#define EVAL_TORCH_H

#include "eval/oracle.h"

struct torch;

/* python: the program, borrowed. Starts nothing yet. Returned owned; safe from threads. */
struct torch *torch_new(const char *python);
void torch_free(struct torch *torch);

/* As oracle_run, with t->reference as the module. ORACLE_UNAVAILABLE: that Python has no torch. */
enum oracle_status torch_run(struct torch *torch, const struct task *t, const struct task_workload *w,
	const struct tensor *inputs, struct tensor *expected, const char **code, struct buf *err);

#endif
