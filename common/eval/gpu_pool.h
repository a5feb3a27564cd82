/* The GPUs of a run and their waiting workers: the inside of the supervisor. */
#ifndef EVAL_GPU_POOL_H
#define EVAL_GPU_POOL_H

#include <jansson.h>

#include "eval/gpu.h"
#include "eval/gpu_gate.h"
#include "eval/gpu_worker.h"

/* Gives the session a worker, if it has none, from a GPU that is not retired. 0, or -1 with a sentence. */
int gpu_pool_enlist(struct gpu_session *session, struct buf *err);
/* One command on the session's worker; the GPU is held for it. After anything but a sound answer the worker is gone,
 * and the GPU was probed and perhaps retired. */
enum gpu_reply gpu_pool_ask(struct gpu_session *session, struct message *m, uint64_t wall_ms, enum gpu_hold hold,
	bool *signalled, struct buf *ended);
/* Throws the worker away after an answer that says that its context may be broken; probes the GPU. */
void gpu_pool_distrust(struct gpu_session *session);
/* What `km-gpu --list` said of the session's GPU. Borrowed. */
const json_t *gpu_pool_device(const struct gpu_session *session);

/* A turn on one of the pool's GPUs, by its UUID, for a process that is no worker of the pool: nothing is timed on it
 * meanwhile, and nothing else is done on it at all when it is held alone. */
struct gpu_turn {
	struct device *device;
	enum gpu_hold hold;
};
/* 0, or -1 with a sentence: no such GPU. Ended by the same thread. */
int gpu_pool_take_turn(struct gpu_pool *pool, const char *uuid, enum gpu_hold hold, struct gpu_turn *turn, struct buf *err);
void gpu_pool_end_turn(struct gpu_turn *turn);
/* That km-gpu takes. */
int gpu_pool_number(const struct gpu_turn *turn);

/* ---- gpu.c: parts of a message */
/* "buffers" of the job. */
void gpu_add_buffers(const struct cuda_recording *recording, const struct task *t, json_t *job);
/* A file of a build's folder. 0, or -1 with a sentence. */
int gpu_add_file(const char *folder, const char *name, struct buf *out, struct buf *err);
/* A copy with names as in the source. Returned owned. */
json_t *gpu_readable_findings(const json_t *findings);

#endif
