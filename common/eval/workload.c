/* A built solution and one check or profile workload in, an evaluation out: record, run, judge.
 * A check workload is made hard to fit: it is recorded in turn with another size, and run with other inputs in between,
 * so that nothing a solution keeps from one call to the next can help it. */
#include "eval/workload.h"

#include <math.h>
#include <string.h>

#include "cuda/record.h"
#include "eval/ahead.h"
#include "eval/evaluation.h"
#include "eval/inputs.h"
#include "eval/judge.h"
#include "eval/run.h"
#include "rec/json.h"

/* Added to a trial for the inputs of calls in between. */
enum { TRIAL_BETWEEN = 1000000 };

static void
set_cost(json_t *evaluation)
{
	json_t *c = json_object_get(evaluation, "counters");
	json_int_t sectors = rec_json_integer(c, "global_read_sectors", 0) + rec_json_integer(c, "global_write_sectors", 0);

	json_object_set_new(evaluation, "cost",
		json_integer(rec_json_integer(c, "lane_instructions", 0) + COST_PER_SECTOR * sectors));
}

/* A check workload is run with other inputs in between: what a solution kept of them must not come back. */
static int
run_on_device(struct session *s, const struct question *q, const struct cuda_recording *recording,
	const struct tensor *inputs, struct run_result *run, struct buf *err)
{
	struct inputs_key key = { s->eval->seed, q->trial + TRIAL_BETWEEN, q->source };
	struct tensor others[TASK_MAX_TENSORS];
	bool checked = q->workload->role == TASK_CHECK;

	if (checked && inputs_make(q->task, q->workload, &key, others, err))
		return -1;
	int status = s->eval->gpus
		? gpu_run(&s->gpu, q->task, q->workload, s->build.folder, recording, inputs, checked ? others : NULL, run, err)
		: run_on_ptx(q->task, q->workload, s->build.folder, recording, inputs, checked ? others : NULL, run, err);
	for (int i = 0; checked && i < q->task->inputs; i++)
		tensor_release(&others[i]);
	return status;
}

static int
run_and_judge(struct session *s, const struct question *q, const struct cuda_recording *recording,
	const struct tensor *inputs, json_t **evaluation, struct buf *err)
{
	struct run_result run;
	int status = run_on_device(s, q, recording, inputs, &run, err);

	if (status)
		return -1;
	*evaluation = evaluation_of_run(q, &run);
	if (!strcmp(run.status, "PASSED"))
		status = judge_outputs(s->eval, q, &run, inputs, *evaluation, err);
	if (status == 0 && q->workload->role == TASK_PROFILE && run.counters
			&& !strcmp(evaluation_status(*evaluation), "PASSED"))
		set_cost(*evaluation);
	run_release(&run);
	if (status) {
		json_decref(*evaluation);
		*evaluation = NULL;
	}
	return status;
}

/* Another visible check workload, of a size as far from this one's as there is. NULL: all are alike. */
static const struct task_workload *
other_size(const struct task *t, const struct task_workload *this)
{
	const struct task_workload *best = NULL;
	double farthest = 0;

	for (int i = 0; i < t->workloads; i++) {
		const struct task_workload *w = &t->workload[i];
		double distance = fabs(log((double)w->tensor_bytes + 1) - log((double)this->tensor_bytes + 1));

		if (w->role == TASK_CHECK && !w->held_out && distance > farthest) {
			best = w;
			farthest = distance;
		}
	}
	return best;
}

/* A check workload has to be recorded alike when calls of another size come before it. 0, with another verdict in the
 * recording when it is not; -1 with a sentence. What fails on the other workload by itself is that one's to tell. */
static int
record_in_turn(const struct session *s, const struct task_workload *w, const struct cuda_argument *arguments, int count,
	struct cuda_recording *recording, struct buf *err)
{
	const char *folder = s->build.folder, *profile = s->eval->profile;
	const struct task_workload *other = w->role == TASK_CHECK ? other_size(s->task, w) : NULL;
	struct cuda_argument others[CUDA_MAX_ARGUMENTS];
	struct cuda_recording turns, alone;

	if (!other || recording->verdict != CUDA_OK)
		return 0;
	task_arguments(s->task, other, others);
	if (cuda_record_in_turn(folder, arguments, others, count, profile, NULL, recording->plan, &turns, err))
		return -1;
	if (turns.verdict != CUDA_OK) {
		if (cuda_record(folder, others, count, profile, NULL, &alone, err)) {
			cuda_recording_release(&turns);
			return -1;
		}
		if (alone.verdict == CUDA_OK) {
			recording->verdict = turns.verdict;
			buf_adds(&recording->reason, buf_str(&turns.reason));
		}
		cuda_recording_release(&alone);
	}
	cuda_recording_release(&turns);
	return 0;
}

int
workload_record(const struct session *s, const struct task_workload *w, struct cuda_recording *recording, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	int count = task_arguments(s->task, w, arguments);

	if (cuda_record(s->build.folder, arguments, count, s->eval->profile, NULL, recording, err))
		return -1;
	if (record_in_turn(s, w, arguments, count, recording, err) == 0)
		return 0;
	cuda_recording_release(recording);
	return -1;
}

int
workload_judge(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	struct inputs_key key = { s->eval->seed, q->trial, q->source };
	struct tensor inputs[TASK_MAX_TENSORS];
	struct cuda_recording recording = CUDA_RECORDING_INIT;
	int status = ahead_take(s->ahead, q->workload, &recording, err);

	if (status < 0 || (status == 0 && workload_record(s, q->workload, &recording, err)))
		return -1;
	status = 0;
	if (recording.verdict != CUDA_OK) {
		*evaluation = evaluation_start(q, cuda_verdict_name(recording.verdict), buf_str(&recording.reason));
	} else if (inputs_make(q->task, q->workload, &key, inputs, err)) {
		status = -1;
	} else {
		status = run_and_judge(s, q, &recording, inputs, evaluation, err);
		for (int i = 0; i < q->task->inputs; i++)
			tensor_release(&inputs[i]);
	}
	cuda_recording_release(&recording);
	return status;
}
