/* What one workload has to say of a solution that compiles. */
#ifndef EVAL_WORKLOAD_H
#define EVAL_WORKLOAD_H

#include "cuda/record.h"
#include "eval/session.h"

/* What a built session's solution launches for a workload; a check workload's in turn with calls of another size. 0 with
 * recording filled (release it) whatever its verdict, or -1 with a sentence. */
int workload_record(const struct session *s, const struct task_workload *w, struct cuda_recording *recording, struct buf *err);
/* A check or profile workload, on the PTX machine or a GPU: recorded, run, judged by the oracle. The session is built.
 * *evaluation is returned owned. 0, or -1 with a sentence: infrastructure. */
int workload_judge(struct session *s, const struct question *q, json_t **evaluation, struct buf *err);
/* A bench workload, on a GPU only: run and timed against the task's first correct solution. Otherwise as above. */
int workload_time(struct session *s, const struct question *q, json_t **evaluation, struct buf *err);
/* Adds hardware counters to the evaluation of a bench workload that passed, where they are asked for: the store's, or new
 * ones. 0, or -1 with a sentence: infrastructure. */
int workload_count(struct session *s, const struct question *q, json_t *evaluation, struct buf *err);

#endif
