/* An evaluation of a bench workload that passed in, the same with hardware counters out, where they are asked for. They
 * are kept in the store by the question's id, apart from the evaluation: what is asked for does not change a verdict, nor
 * the record of who did not ask. */
#include <string.h>

#include "cuda/record.h"
#include "eval/bench.h"
#include "eval/counters.h"
#include "eval/evaluation.h"
#include "eval/kept.h"
#include "eval/workload.h"
#include "rec/json.h"

/* 0, or -1 with a sentence. */
static int
count(struct session *s, const struct question *q, const json_t *evaluation, json_t **counters, struct buf *err)
{
	struct cuda_recording recording = CUDA_RECORDING_INIT;
	struct bench_request request = { .task = q->task, .workload = q->workload, .key = { s->eval->seed, q->trial, q->source },
		.solution_id = q->solution, .folder = s->build.folder, .recording = &recording, .store = s->eval->store };
	const json_t *gpu = json_object_get(json_object_get(evaluation, "timing"), "gpu");
	int status = workload_record(s, q->workload, &recording, err);

	if (status == 0 && recording.verdict != CUDA_OK)
		status = buf_err(err, "the solution does not run on this workload any more: %s", buf_str(&recording.reason));
	if (status == 0)
		*counters = counters_collect(s->eval->counters, s->eval->gpus, rec_json_string(gpu, "uuid", ""), &request);
	cuda_recording_release(&recording);
	return status;
}

int
workload_count(struct session *s, const struct question *q, json_t *evaluation, struct buf *err)
{
	json_t *counters = NULL;

	if (!s->eval->counters || !q->workload || q->workload->role != TASK_BENCH ||
	    strcmp(evaluation_status(evaluation), "PASSED"))
		return 0;
	int known = kept_json(s->eval->store, "counters", q->id, &counters, err);
	if (known < 0)
		return -1;
	if (!known && (session_build(s, err) || (s->build.verdict == CUDA_OK && count(s, q, evaluation, &counters, err))))
		return -1;
	/* What could not be counted may be counted another time. */
	if (!known && json_object_get(counters, "launches") && keep_json(s->eval->store, "counters", q->id, counters, err)) {
		json_decref(counters);
		return -1;
	}
	if (counters)
		json_object_set_new(evaluation, "hardware_counters", counters);
	return 0;
}
