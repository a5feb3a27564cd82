/* The executable truth of a task: its math spec in double, or its reference, in C or PyTorch, in the sandbox. */
#ifndef EVAL_ORACLE_H
#define EVAL_ORACLE_H

#include "eval/task.h"
#include "store/store.h"
#include "tensor/tensor.h"

enum oracle_status {
	ORACLE_OK,
	ORACLE_REFUSED,		/* the task's fault: *code and err say how */
	ORACLE_INFRASTRUCTURE,	/* ours: err says how */
	ORACLE_UNAVAILABLE,	/* what the oracle needs is not on this machine: err says what */
};

struct oracle;
/* store: where compiled references are kept, borrowed. python: runs PyTorch references, borrowed. Returned owned; safe
 * from threads. */
struct oracle *oracle_new(struct store *store, const char *python);
void oracle_free(struct oracle *oracle);

/* Expected outputs for these inputs, in task order: expected[t->outputs] are set up here and owned by the
 * caller. float64 for float outputs; int64 for integers and bool. `math` chooses the form.
 * codes: oracle_fails (math), reference_does_not_compile, reference_crashed, reference_out_of_bounds,
 * reference_timeout, reference_exited; static strings. */
enum oracle_status oracle_run(struct oracle *oracle, const struct task *t, const int64_t *axes, bool math,
	const struct tensor *inputs, struct tensor *expected, const char **code, struct buf *err);

#endif
