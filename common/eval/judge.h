/* Outputs against the oracle: the verdict of a check or profile workload. */
#ifndef EVAL_JUDGE_H
#define EVAL_JUDGE_H

#include <jansson.h>

#include "eval/question.h"
#include "eval/run.h"
#include "tensor/tensor.h"

/* Asks the oracle about these inputs (q->task->inputs of them), compares all outputs of the run with its answer, and adds
 * hashes of the outputs, error figures, and where they are not right status and reason to the evaluation. 0, or -1 with
 * a sentence: infrastructure. */
int judge_outputs(struct eval *e, const struct question *q, const struct run_result *run, const struct tensor *inputs,
	json_t *evaluation, struct buf *err);

#endif
