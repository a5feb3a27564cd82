/* Turns on one GPU, for threads of this process and for other processes: many share it, or one has it alone. */
#ifndef EVAL_GPU_GATE_H
#define EVAL_GPU_GATE_H

#include <pthread.h>

#include "base/buf.h"

enum gpu_hold {
	GPU_SHARED,	/* checks */
	GPU_ALONE,	/* timing */
};

struct gpu_gate {
	int lock;			/* file that other processes lock as well */
	pthread_rwlock_t order;
	pthread_mutex_t mutex;
	int sharing;			/* threads that hold it shared */
	int working;			/* commands that run now */
	double working_since, busy;	/* seconds with at least one */
};

/* 0, or -1 with a sentence. The gate lies still from then on. */
int gpu_gate_open(struct gpu_gate *gate, const char *uuid, struct buf *err);
void gpu_gate_close(struct gpu_gate *gate);
/* Waits for its turn. Who wants the GPU alone comes before who would share it; so nobody who holds it may wait for
 * another that has yet to enter. Leaves in the thread that entered. */
void gpu_gate_enter(struct gpu_gate *gate, enum gpu_hold hold);
void gpu_gate_leave(struct gpu_gate *gate, enum gpu_hold hold);
/* A command begins (1) or ends (-1). */
void gpu_gate_work(struct gpu_gate *gate, int change);
/* Seconds with a command at work so far. */
double gpu_gate_busy(struct gpu_gate *gate);

#endif
