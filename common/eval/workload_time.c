/* A built solution and one bench workload in, an evaluation with times out, on a GPU.
 * What it is timed against is the first solution of this task that passed all checks here: the store names it once, and
 * later runs and other processes take the same. */
#include <string.h>

#include "cuda/build.h"
#include "cuda/record.h"
#include "eval/ahead.h"
#include "eval/bench.h"
#include "eval/evaluation.h"
#include "eval/workload.h"

static int
first_correct(struct session *s, struct buf *source, struct buf *err)
{
	struct hash_id_state *state = hash_id_start();
	char id[HASH_ID_HEX];

	hash_id_text(state, s->task->id);
	hash_id_text(state, s->eval->target);
	hash_id_end(state, id);
	if (store_put(s->eval->store, "baselines", id, s->source, strlen(s->source), err))
		return -1;
	return store_get(s->eval->store, "baselines", id, source, err) == 1 ? 0 : -1;
}

struct baseline {
	char id[HASH_ID_HEX];
	struct buf missing;	/* why it cannot be timed any more */
	struct cuda_build build;
	struct cuda_recording recording;
};

/* Builds and records another solution for the same call. What was correct once may be refused now, by another toolkit or
 * by checks that are newer; that says nothing about who is timed against it. 0, or -1: ours. */
static int
prepare_baseline(const struct session *s, const char *source, const struct cuda_argument *arguments, int count,
	struct baseline *b, struct buf *err)
{
	int status = session_compile(s->eval, s->task, source, &b->build, err);

	eval_solution_id(s->task->id, source, b->id);
	if (status == 0 && b->build.verdict != CUDA_OK)
		buf_addf(&b->missing, "it no longer builds (%s)", cuda_verdict_name(b->build.verdict));
	else if (status == 0)
		status = cuda_record(b->build.folder, arguments, count, s->eval->profile, NULL, &b->recording, err);
	if (status == 0 && !b->missing.len && b->recording.verdict != CUDA_OK)
		buf_addf(&b->missing, "it is no longer recorded (%s): %s", cuda_verdict_name(b->recording.verdict),
			buf_str(&b->recording.reason));
	return status;
}

static int
run_bench(struct session *s, const struct question *q, struct bench_request *request, json_t **evaluation, struct buf *err)
{
	struct run_result run;
	json_t *timing;

	if (bench_run(&s->gpu, request, &run, &timing, err))
		return -1;
	*evaluation = evaluation_of_run(q, &run);
	if (timing)
		json_object_set_new(*evaluation, "timing", timing);
	run_release(&run);
	return 0;
}

int
workload_time(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct cuda_recording recording = CUDA_RECORDING_INIT;
	struct baseline baseline = { "", BUF_INIT, CUDA_BUILD_INIT, CUDA_RECORDING_INIT };
	struct bench_request request = { .task = q->task, .workload = q->workload, .key = { s->eval->seed, q->trial, q->source },
		.solution_id = q->solution, .folder = s->build.folder, .recording = &recording, .store = s->eval->store };
	struct buf source = BUF_INIT;
	int count = task_arguments(q->task, q->workload, arguments);
	int status = ahead_take(s->ahead, q->workload, &recording, err);

	status = status == 0 ? workload_record(s, q->workload, &recording, err) : status < 0 ? -1 : 0;
	if (status == 0 && recording.verdict != CUDA_OK) {
		*evaluation = evaluation_start(q, cuda_verdict_name(recording.verdict), buf_str(&recording.reason));
	} else if (status == 0) {
		status = first_correct(s, &source, err);
		if (status == 0 && strcmp(buf_str(&source), q->source)) {
			status = prepare_baseline(s, buf_str(&source), arguments, count, &baseline, err);
			request.baseline_id = baseline.id;
			request.missing = baseline.missing.len ? buf_str(&baseline.missing) : NULL;
			request.baseline_folder = baseline.build.folder;
			request.baseline_recording = &baseline.recording;
		}
		if (status == 0)
			status = run_bench(s, q, &request, evaluation, err);
	}
	cuda_recording_release(&recording);
	cuda_recording_release(&baseline.recording);
	cuda_build_release(&baseline.build);
	buf_release(&baseline.missing);
	buf_release(&source);
	return status;
}
