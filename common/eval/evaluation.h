/* Evaluations as records: the fields of table.c that say what was asked and what a device answered. */
#ifndef EVAL_EVALUATION_H
#define EVAL_EVALUATION_H

#include <jansson.h>

#include "eval/question.h"
#include "eval/run.h"

/* An evaluation without findings and figures. reason: NULL or "" for none; mangled names in it are written as in the
 * source. Returned owned. */
json_t *evaluation_start(const struct question *q, const char *status, const char *reason);
/* What a device answered: status, reason, findings, counters and what the kernels printed (which is cut short in `run`).
 * Returned owned. */
json_t *evaluation_of_run(const struct question *q, struct run_result *run);
/* "PASSED" and the like. Borrowed. */
const char *evaluation_status(const json_t *evaluation);
/* Appends ", with N race warnings" for the most that one of the evaluations has, nothing for none. */
void evaluation_race_warnings(const json_t *evaluations, struct buf *out);

#endif
