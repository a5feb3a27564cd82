/* One solution on its way through the engine: built once, on one worker of a GPU, for all of its workloads. */
#ifndef EVAL_SESSION_H
#define EVAL_SESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "cuda/build.h"
#include "eval/engine.h"
#include "eval/eval.h"
#include "eval/gpu.h"
#include "eval/question.h"
#include "eval/task.h"

struct ahead;

struct session {
	struct eval *eval;
	const struct task *task;
	const char *source;
	struct cuda_build build;	/* once `built` */
	bool built;
	struct gpu_session gpu;
	bool looks_ahead;		/* all workloads of `select` will be asked for, one after another */
	enum eval_select select;
	struct ahead *ahead;		/* recordings that are being made for them, or NULL */
};

/* Pointers are borrowed until session_close. */
void session_open(struct session *s, struct eval *e, const struct task *t, const char *source);
void session_close(struct session *s);

/* Is the workload among those that are asked for? */
bool session_selects(const struct task_workload *w, enum eval_select select);
/* Finds the answer out: nothing is looked up and nothing kept. *evaluation is returned owned. 0, or -1 with a sentence:
 * infrastructure. */
int session_find_out(struct session *s, const struct question *q, json_t **evaluation, struct buf *err);

/* ---- compile.c */
/* Builds any source against a task's prototype. 0 with b filled (release it), whatever its verdict; -1 with a sentence. */
int session_compile(const struct eval *e, const struct task *t, const char *source, struct cuda_build *b, struct buf *err);
/* Builds the session's own source, at the first call. 0, whatever the verdict; -1 with a sentence. */
int session_build(struct session *s, struct buf *err);
/* The evaluation of a source that nvcc refused. Returned owned. */
json_t *session_build_failure(const struct question *q, const struct cuda_build *b);

#endif
