/* A solution in, an evaluation for each workload out, until one fails: what all callers of the engine ask for.
 * Each answer comes from the store where it is known; the build is a question of its own, so that a source that does not
 * compile has one evaluation only. */
#include "eval/session.h"

#include <math.h>
#include <string.h>

#include "eval/ahead.h"
#include "eval/bench.h"
#include "eval/evaluation.h"
#include "eval/workload.h"
#include "rec/json.h"

enum { TRIAL_VISIBLE = 0, TRIAL_FINAL = 1 };

void
session_open(struct session *s, struct eval *e, const struct task *t, const char *source)
{
	*s = (struct session){ .eval = e, .task = t, .source = source, .build = CUDA_BUILD_INIT, .gpu = { e->gpus, NULL } };
}

void
session_close(struct session *s)
{
	gpu_session_close(&s->gpu);
	ahead_free(s->ahead);
	if (s->built)
		cuda_build_release(&s->build);
}

bool
session_selects(const struct task_workload *w, enum eval_select select)
{
	return w->role != TASK_CHECK || select == EVAL_ALL || !w->held_out;
}

static int
run_workload(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	if (s->looks_ahead && !s->ahead)
		s->ahead = ahead_start(s, s->select);
	return q->workload->role == TASK_BENCH ? workload_time(s, q, evaluation, err) : workload_judge(s, q, evaluation, err);
}

int
session_find_out(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	if (session_build(s, err))
		return -1;
	if (s->build.verdict != CUDA_OK)
		*evaluation = session_build_failure(q, &s->build);
	else if (!q->workload)
		*evaluation = evaluation_start(q, "PASSED", NULL);
	else
		return run_workload(s, q, evaluation, err);
	return 0;
}

/* PyTorch's times into the record of a solution that was timed. A record that was kept without them stays so, unless
 * they are required. 0, or -1: ours. */
static int
add_pytorch(struct session *s, const struct question *q, json_t *evaluation, struct buf *err)
{
	json_t *timing = json_object_get(evaluation, "timing");
	int missing = 0;

	if (s->eval->torch_times && timing && !strcmp(evaluation_status(evaluation), "PASSED"))
		missing = torch_times_add(s->eval->torch_times, q->task, q->workload, s->eval->seed, timing, err);
	if (missing > 0)
		eval_misses_something(s->eval);
	return missing ? -1 : 0;
}

static int
answer(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	int known = question_recall(s->eval, q, evaluation, err);
	bool bare = known == 1 && s->eval->torch_times && torch_times_are_required(s->eval->torch_times);

	if (bare && add_pytorch(s, q, *evaluation, err)) {
		json_decref(*evaluation);
		return -1;
	}
	if (known)
		return known < 0 ? -1 : 0;
	if (session_find_out(s, q, evaluation, err))
		return -1;
	/* A compiler or host code that met the wall clock may have met a slow machine. */
	if (!strcmp(evaluation_status(*evaluation), "TIMEOUT") && !json_object_get(*evaluation, "counters"))
		return 0;
	if (add_pytorch(s, q, *evaluation, err) || question_remember(s->eval, q, *evaluation, err)) {
		json_decref(*evaluation);
		return -1;
	}
	return 0;
}

/* 1 go on, 0 stop, -1 ours. */
static int
add_answer(struct session *s, const struct task_workload *w, uint64_t trial, json_t *list, struct eval_summary *summary,
	struct buf *err)
{
	struct question q;
	json_t *evaluation = NULL;

	question_ask(s->eval, s->task, w, s->source, trial, &q);
	if (answer(s, &q, &evaluation, err))
		return -1;
	if (workload_count(s, &q, evaluation, err)) {
		json_decref(evaluation);
		return -1;
	}
	json_array_append_new(list, evaluation);
	const char *status = evaluation_status(evaluation);
	if (strcmp(status, "PASSED")) {
		summary->status = status;
		summary->decisive = evaluation;
		return 0;
	}
	if (w && w->role == TASK_PROFILE) {
		summary->decisive = evaluation;
		summary->cost = rec_json_number(evaluation, "cost", NAN);
	}
	if (w && w->role == TASK_BENCH) {
		summary->decisive = evaluation;
		summary->cost = bench_cost(json_object_get(evaluation, "timing"));
	}
	return 1;
}

int
eval_solution(struct eval *e, const struct task *t, const char *source, enum eval_select select, json_t **evaluations,
	struct eval_summary *summary, struct buf *err)
{
	struct session s;
	uint64_t trial = select == EVAL_ALL ? TRIAL_FINAL : TRIAL_VISIBLE;
	json_t *list = json_array();

	session_open(&s, e, t, source);
	/* A GPU runs a workload in less time than recording it takes; the PTX machine needs the processors itself. */
	s.looks_ahead = e->gpus != NULL;
	s.select = select;
	*summary = (struct eval_summary){ "PASSED", NULL, NAN };
	int go = add_answer(&s, NULL, 0, list, summary, err);
	if (go == 1)
		json_array_clear(list);
	for (int role = TASK_CHECK; role <= (e->gpus ? TASK_BENCH : TASK_PROFILE); role++)
		for (int i = 0; i < t->workloads && go == 1; i++)
			if ((int)t->workload[i].role == role && session_selects(&t->workload[i], select))
				go = add_answer(&s, &t->workload[i], trial, list, summary, err);
	session_close(&s);
	if (go < 0) {
		json_decref(list);
		return -1;
	}
	*evaluations = list;
	return 0;
}
