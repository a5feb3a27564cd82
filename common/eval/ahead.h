/* Recordings of all of a solution's workloads, made at once by threads while the first is still to be run. */
#ifndef EVAL_AHEAD_H
#define EVAL_AHEAD_H

#include "eval/eval.h"
#include "eval/session.h"

struct ahead;

/* For the selected workloads of the session, which is built and stays as it is until ahead_free. Returned owned. */
struct ahead *ahead_start(const struct session *s, enum eval_select select);
/* Waits for the workload's recording and hands it over. 1, or 0: it was not begun, or was taken; -1 with a sentence. */
int ahead_take(struct ahead *a, const struct task_workload *w, struct cuda_recording *recording, struct buf *err);
/* Waits for all that is under way. NULL is allowed. */
void ahead_free(struct ahead *a);

#endif
