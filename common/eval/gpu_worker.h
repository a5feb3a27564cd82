/* One worker process and its socket. */
#ifndef EVAL_GPU_WORKER_H
#define EVAL_GPU_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "cuda/message.h"

struct gpu_worker {
	pid_t pid;
	int socket, errors;	/* errors: file that its standard error goes to */
	int gpu;		/* index in the pool */
	struct buf running;	/* kernel that it named last */
};

enum gpu_reply {
	GPU_REPLY_OK,
	GPU_REPLY_LATE,		/* the time limit passed; the worker was killed and reaped */
	GPU_REPLY_ENDED,	/* the worker is gone: *ended says how */
};

/* Starts km-gpu for GPU `number` and waits until it is ready. NULL with a sentence. Returned owned. */
struct gpu_worker *gpu_worker_start(int number, uint64_t wall_ms, struct buf *err);
/* Sends a command and waits for its answer, which replaces the message. `ended` gets a clause where it ended. */
enum gpu_reply gpu_worker_ask(struct gpu_worker *w, struct message *m, uint64_t wall_ms, bool *signalled, struct buf *ended);
/* Kills, reaps and frees. NULL is allowed. */
void gpu_worker_end(struct gpu_worker *w);
/* What `km-gpu --list` prints. 0, or -1 with its sentence and *status its exit status. */
int gpu_worker_list(struct buf *text, int *status, struct buf *err);

/* The environment of all that talks to the driver: what that needs to be told, nothing else, and `more` (NAME=VALUE, NULL
 * ends; may be NULL). Returned owned: gpu_worker_free_list frees it, or any such list. */
char **gpu_worker_environment(const char *const *more);
void gpu_worker_free_list(char **list);

#endif
