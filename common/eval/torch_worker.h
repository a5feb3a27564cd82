/* The Python in the sandbox that has torch: torch_worker.py, started and spoken to. What it does is told there. */
#ifndef EVAL_TORCH_WORKER_H
#define EVAL_TORCH_WORKER_H

#include "eval/task.h"
#include "sandbox/sandbox.h"

/* How a request ended, as in torch_worker.py. */
enum torch_state {
	TORCH_OK, TORCH_DOES_NOT_COMPILE, TORCH_FAILED, TORCH_TOO_SLOW, TORCH_EXITED, TORCH_NO_GPU,
	TORCH_READY,		/* to be timed */
	TORCH_STATES,		/* no state: nobody answered */
};
/* "reference.py cannot be loaded", for a failure. Static. */
const char *torch_state_words(enum torch_state state);
enum { TORCH_EXIT_MISSING = 69 };	/* of a Python that has no torch */

struct torch_worker;
/* python: the program, borrowed. gpu: it may use the GPUs of this machine. Starts nothing yet. Returned owned; safe from
 * threads. */
struct torch_worker *torch_worker_new(const char *python, bool gpu);
/* Ends the Python, and with it all that it was asked. */
void torch_worker_free(struct torch_worker *worker);
/* Is there such a program? */
bool torch_worker_exists(const struct torch_worker *worker);

/* Asks: `text` is JSON, `part` may be NULL, and after `seconds` it is stopped. A stream on which reads fail after
 * patience_s, or -1 with a sentence: infrastructure. *start numbers the Python's start, for torch_worker_ended. A request
 * that cannot be sent shows when the answer is read. */
int torch_worker_ask(struct torch_worker *worker, const struct buf *text, const struct buf *part, uint64_t seconds,
	uint64_t patience_s, unsigned *start, struct buf *err);
/* The next answer on a stream, of at most max_bytes: its state, and its bytes appended to the payload. TORCH_STATES when
 * there was none. */
enum torch_state torch_worker_answer(int stream, uint64_t max_bytes, struct buf *payload);
/* After a stream without an answer: how that Python ended; the next request starts another. 0, or -1 with a sentence: the
 * sandbox could not be had. */
int torch_worker_ended(struct torch_worker *worker, unsigned start, struct sandbox_result *ended, struct buf *err);

/* ---- what both kinds of requests say of a task: "outputs", "source" and "values" into a new object. Returned owned. */
json_t *torch_worker_request(const char *what, const struct task *t, const struct task_workload *w);

#endif
