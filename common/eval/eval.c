/* Source in, evaluations out: build, record, run, judge, one workload after the other until one fails.
 * Only deterministic verdicts are made here, so each is stored by what was asked and never run twice. */
#include "eval/eval.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build.h"
#include "cuda/nvrtc.h"
#include "cuda/record.h"
#include "eval/bench.h"
#include "eval/gpu.h"
#include "eval/inputs.h"
#include "eval/names.h"
#include "eval/oracle.h"
#include "eval/run.h"
#include "eval/tolerance.h"
#include "hash/id.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"
#include "tensor/compare.h"

enum { PRINTED_BYTES = 1024, TRIAL_VISIBLE = 0, TRIAL_FINAL = 1, TRIAL_BETWEEN = 1000000 };

struct eval_args eval_args = { .store = "out/store", .device = "cpu", .python = "/usr/bin/python3" };

const struct opt eval_option_table[] = {
	{ 0, "store", OPT_STRING, &eval_args.store, "DIR", "keep answers, builds and evaluations in DIR", 0, 0 },
	{ 0, "device", OPT_STRING, &eval_args.device, "cpu|cuda[:LIST]",
		"run kernels on the PTX machine (cpu), or on GPUs: all, or those of a list of numbers or UUIDs", 0, 0 },
	{ 0, "sandbox", OPT_CALL, sandbox_option, "LEVEL", SANDBOX_OPTION_HELP, 0, 0 },
	{ 0, "python", OPT_STRING, &eval_args.python, "PROGRAM", "run PyTorch references with PROGRAM (/usr/bin/python3)", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

struct eval {
	struct store *store;
	char *builds;		/* folder of the build cache */
	struct cuda_checker *checker;
	struct oracle *oracle;
	atomic_bool misses_something;
	uint64_t seed;
	const char *target;
	struct gpu_pool *gpus;	/* NULL: the PTX machine */
	atomic_uint_fast64_t run, stored;
};

/* "cpu", "cuda" or "cuda:LIST". 0, or -1 with a sentence. */
static int
open_device(const char *device, struct gpu_pool **gpus, int *status, struct buf *err)
{
	*gpus = NULL;
	*status = EX_USAGE;
	if (!strcmp(device, "cpu"))
		return 0;
	if (strncmp(device, "cuda", 4) || (device[4] && (device[4] != ':' || !device[5])))
		return buf_err(err, "--device %s: it is cpu, cuda, or cuda: and a list of GPUs", device);
	struct buf why = BUF_INIT;
	*gpus = gpu_pool_open(device[4] ? device + 5 : NULL, status, &why);
	if (!*gpus)
		buf_err(err, "--device %s: %s", device, buf_str(&why));
	buf_release(&why);
	return *gpus ? 0 : -1;
}

struct eval *
eval_open(uint64_t seed, int *status, struct buf *err)
{
	struct gpu_pool *gpus;

	*status = EX_USAGE;
	if (eval_args.schedule && strcmp(eval_args.device, "cpu")) {
		buf_err(err, "--schedule orders what runs on the PTX machine: it goes with --device cpu only");
		return NULL;
	}
	*status = EX_UNAVAILABLE;
	if (sandbox_require(SANDBOX_UNSET, err) || !cuda_toolkit_version(err) ||
	    open_device(eval_args.device, &gpus, status, err))
		return NULL;
	*status = EX_CANTCREAT;
	struct store *store = store_open(eval_args.store, err);
	if (!store) {
		gpu_pool_close(gpus);
		return NULL;
	}
	struct eval *e = xcalloc(1, sizeof *e);
	struct buf builds = BUF_INIT;
	buf_addf(&builds, "%s/builds", eval_args.store);
	e->store = store;
	e->checker = cuda_checker_new();
	e->oracle = oracle_new(store, eval_args.python);
	e->builds = buf_detach(&builds);
	e->seed = seed;
	e->gpus = gpus;
	e->target = gpus ? gpu_pool_target(gpus) : EVAL_TARGET;
	*status = EX_OK;
	return e;
}

void
eval_close(struct eval *e)
{
	if (!e)
		return;
	cuda_checker_free(e->checker);
	gpu_pool_close(e->gpus);
	oracle_free(e->oracle);
	store_close(e->store);
	free(e->builds);
	free(e);
}

struct oracle *
eval_oracle(struct eval *e)
{
	return e->oracle;
}

int
eval_failure(const struct eval *e)
{
	return atomic_load(&e->misses_something) ? EX_UNAVAILABLE : EX_TEMPFAIL;
}

void
eval_misses_something(struct eval *e)
{
	atomic_store(&e->misses_something, true);
}

struct store *
eval_store(struct eval *e)
{
	return e->store;
}

struct gpu_pool *
eval_gpus(struct eval *e)
{
	return e->gpus;
}

void
eval_counts(const struct eval *e, uint64_t *run, uint64_t *stored)
{
	*run = atomic_load(&e->run);
	*stored = atomic_load(&e->stored);
}

/* ---- identities */

void
eval_solution_id(const char *task_id, const char *source, char out[HASH_ID_HEX])
{
	struct hash_id_state *state = hash_id_start();

	hash_id_text(state, task_id);
	hash_id_text(state, source);
	hash_id_end(state, out);
}

/* One question: this solution on this workload with these inputs, under this protocol. */
struct question {
	const struct task *task;
	const struct task_workload *workload;	/* NULL: does it compile? */
	const char *source;
	const char *target;
	char solution[HASH_ID_HEX], id[HASH_ID_HEX];
	uint64_t trial;
};

static void
ask(const struct eval *e, const struct task *t, const struct task_workload *w, const char *source, uint64_t trial,
	struct question *q)
{
	uint64_t numbers[] = { e->seed, trial, VERDICT_PROTOCOL };
	struct hash_id_state *state = hash_id_start();

	*q = (struct question){ .task = t, .workload = w, .source = source, .trial = trial, .target = e->target };
	eval_solution_id(t->id, source, q->solution);
	hash_id_text(state, q->solution);
	hash_id_text(state, w ? w->name : "");
	hash_id_text(state, e->target);
	hash_id_part(state, numbers, sizeof numbers);
	if (eval_args.schedule)
		hash_id_part(state, &eval_args.schedule, sizeof eval_args.schedule);
	hash_id_end(state, q->id);
}

static const char *
role_name(enum task_role role)
{
	return role == TASK_CHECK ? "check" : role == TASK_PROFILE ? "profile" : "bench";
}

/* An evaluation without its findings and figures. */
static json_t *
start_evaluation(const struct question *q, const char *status, const char *reason)
{
	json_t *e = json_pack("{s:s, s:s}", "id", q->id, "solution_id", q->solution);

	if (q->workload) {
		json_object_set_new(e, "workload", json_string(q->workload->name));
		json_object_set_new(e, "role", json_string(role_name(q->workload->role)));
		json_object_set_new(e, "held_out", json_boolean(q->workload->held_out));
	}
	json_object_set_new(e, "trial", json_integer((json_int_t)q->trial));
	if (eval_args.schedule)
		json_object_set_new(e, "schedule", json_integer((json_int_t)eval_args.schedule));
	json_object_set_new(e, "target", json_string(q->target));
	json_object_set_new(e, "protocol", json_integer(VERDICT_PROTOCOL));
	json_object_set_new(e, "status", json_string(status));
	if (reason && reason[0]) {
		struct buf text = BUF_INIT;

		names_readable(reason, &text);
		json_object_set_new(e, "reason", rec_json_text(buf_str(&text), text.len));
		buf_release(&text);
	}
	return e;
}

/* ---- the store */

/* 1 and the evaluation, 0, or -1. The whole source is compared, not only its hash; what is damaged is made again. */
static int
recall(struct eval *e, const struct question *q, json_t **evaluation, struct buf *err)
{
	struct buf text = BUF_INIT, why = BUF_INIT;
	int there = store_get(e->store, "evaluations", q->id, &text, &why);
	json_t *entry = there == 1 ? rec_json_parse(buf_str(&text), text.len, &why) : NULL;
	json_t *kept = json_object_get(entry, "evaluation");
	bool whole = json_is_object(kept) && !strcmp(rec_json_string(kept, "id", ""), q->id);

	if (there == STORE_DAMAGED || (there == 1 && !whole))
		there = store_remove(e->store, "evaluations", q->id, err);
	else if (there < 0)
		buf_err(err, "%s", buf_str(&why));
	else if (there == 1 && strcmp(rec_json_string(entry, "source", ""), q->source))
		there = 0;
	if (there == 1) {
		*evaluation = json_incref(kept);
		atomic_fetch_add(&e->stored, 1);
	}
	json_decref(entry);
	buf_release(&text);
	buf_release(&why);
	return there;
}

static int
remember(struct eval *e, const struct question *q, json_t *evaluation, struct buf *err)
{
	json_t *entry = json_pack("{s:o, s:O}", "source", rec_json_text(q->source, strlen(q->source)), "evaluation",
		evaluation);
	struct buf text = BUF_INIT;
	bool added;

	rec_json_dump(entry, &text);
	int status = store_add(e->store, "evaluations", q->id, buf_str(&text), text.len, &added, err);
	/* Another process may have had the same question at the same time; one of the two answers is kept. */
	if (status == 0 && added)
		status = store_journal(e->store, "evaluated", q->id, err);
	atomic_fetch_add(&e->run, 1);
	buf_release(&text);
	json_decref(entry);
	return status;
}

/* ---- the judge */

static json_t *
mismatch_json(const struct tensor *got, const struct compare_result *r)
{
	int64_t subscripts[TENSOR_MAX_RANK];
	json_t *index = json_array();

	tensor_subscripts(got->rank, got->shape, r->first_mismatch, subscripts);
	for (int d = 0; d < got->rank; d++)
		json_array_append_new(index, json_integer(subscripts[d]));
	json_t *m = json_pack("{s:s, s:o}", "output", got->name, "index", index);
	double values[] = { r->expected, r->got };
	const char *const names[] = { "expected", "got" };
	for (int i = 0; i < 2; i++) {
		/* JSON has no infinities and no NaN: those are words. */
		json_t *value = !dtype_is_float(got->dtype) ? json_integer((json_int_t)values[i])
			: isnan(values[i]) ? json_string("nan")
			: isinf(values[i]) ? json_string(values[i] > 0 ? "inf" : "-inf") : json_real(values[i]);
		json_object_set_new(m, names[i], value);
	}
	return m;
}

/* Compares all outputs and adds the figures to the evaluation. 1 equal, 0 not, -1 ours. */
static int
judge_within(const struct task *t, const struct task_workload *w, const struct tensor *got, const struct tensor *expected,
	const struct tensor *slack, json_t *evaluation, struct buf *err)
{
	double absolute = 0, relative = 0;
	int64_t mismatched = 0, elements = 0;

	for (int i = 0; i < t->outputs; i++) {
		struct compare_result r;

		if (compare_tensors_within(&got[i], &expected[i], tolerance_of(t, w, got[i].dtype), slack ? &slack[i] : NULL,
				&r, err))
			return -1;
		if (r.mismatched && !mismatched)
			json_object_set_new(evaluation, "first_mismatch", mismatch_json(&got[i], &r));
		mismatched += r.mismatched;
		elements += r.elements;
		absolute = fmax(absolute, r.max_absolute_error);
		relative = fmax(relative, r.max_relative_error);
	}
	json_object_set_new(evaluation, "max_absolute_error", json_real(rec_json_round3(absolute)));
	json_object_set_new(evaluation, "max_relative_error", json_real(rec_json_round3(relative)));
	json_object_set_new(evaluation, "mismatched_elements", json_integer(mismatched));
	json_object_set_new(evaluation, "compared_elements", json_integer(elements));
	return mismatched == 0;
}

/* How sensitive the answer is to rounding is asked only where it decides. */
static int
judge(struct oracle *oracle, const struct question *q, const struct tensor *inputs, const struct tensor *got,
	const struct tensor *expected, json_t *evaluation, struct buf *err)
{
	struct tensor slack[TASK_MAX_TENSORS];
	int equal = judge_within(q->task, q->workload, got, expected, NULL, evaluation, err);

	if (equal)
		return equal;
	if (tolerance_slack(oracle, q->task, q->workload, inputs, expected, slack, err))
		return -1;
	json_object_del(evaluation, "first_mismatch");
	equal = judge_within(q->task, q->workload, got, expected, slack, evaluation, err);
	for (int i = 0; i < q->task->outputs; i++)
		tensor_release(&slack[i]);
	return equal;
}

static void
set_wrong(json_t *evaluation)
{
	struct buf reason = BUF_INIT;

	buf_addf(&reason, "%lld of %lld elements differ from the oracle by more than the tolerance",
		(long long)rec_json_integer(evaluation, "mismatched_elements", 0),
		(long long)rec_json_integer(evaluation, "compared_elements", 0));
	json_object_set_new(evaluation, "status", json_string("INCORRECT_NUMERICAL"));
	json_object_set_new(evaluation, "reason", json_string(buf_str(&reason)));
	buf_release(&reason);
}

/* So that two runs, or two devices, can be compared bit for bit when the outputs are long gone. */
static void
add_output_hashes(const struct tensor *outputs, int count, json_t *evaluation)
{
	json_t *list = json_array();

	for (int i = 0; i < count; i++) {
		char digits[HASH_ID_HEX];

		hash_id(outputs[i].data, outputs[i].bytes, digits);
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", outputs[i].name, "xxh3_128", digits));
	}
	json_object_set_new(evaluation, "outputs", list);
}

/* Later runs of the call on a GPU that gave other bits: right ones are no fault (atomics on floats), wrong ones are.
 * 0, or -1: ours. */
static int
judge_others(struct oracle *oracle, const struct question *q, const struct run_result *run, const struct tensor *inputs,
	const struct tensor *expected, json_t *evaluation, struct buf *err)
{
	int equal = 1;

	json_object_set_new(evaluation, "repeatable", json_false());
	for (int i = 0; i < run->others && equal == 1; i++) {
		json_t *figures = json_object();

		equal = judge(oracle, q, inputs, run->other[i], expected, figures, err);
		json_decref(figures);
	}
	if (equal == 0) {
		json_object_set_new(evaluation, "status", json_string("SUSPICIOUS"));
		json_object_set_new(evaluation, "reason", json_string("the first call of solve() gives right outputs, but one that "
			"finds other content in device memory, or runs its streams side by side, or its blocks and warps in another "
			"order, gives wrong ones"));
	}
	return equal < 0 ? -1 : 0;
}

static int
judge_outputs(struct eval *e, const struct question *q, const struct run_result *run, const struct tensor *inputs,
	json_t *evaluation, struct buf *err)
{
	const struct task *t = q->task;
	struct tensor expected[TASK_MAX_TENSORS];
	const char *code = "";
	struct buf why = BUF_INIT;
	enum oracle_status status = oracle_run(e->oracle, t, q->workload->axes, t->oracle_is_math, inputs, expected, &code,
		&why);

	if (status == ORACLE_UNAVAILABLE)
		eval_misses_something(e);
	if (status != ORACLE_OK) {
		buf_err(err, "the oracle of task %s failed on workload %s (%s): %s", t->name, q->workload->name, code,
			buf_str(&why));
		buf_release(&why);
		return -1;
	}
	int equal = judge(e->oracle, q, inputs, run->outputs, expected, evaluation, err);
	if (equal == 1 && run->others)
		equal = judge_others(e->oracle, q, run, inputs, expected, evaluation, err) < 0 ? -1 : 1;
	for (int i = 0; i < t->outputs; i++)
		tensor_release(&expected[i]);
	if (equal == 0)
		set_wrong(evaluation);
	return equal < 0 ? -1 : 0;
}

/* ---- one workload */

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
run_on_device(struct eval *e, struct gpu_session *gpu, const struct question *q, const struct cuda_build *build,
	const struct cuda_recording *recording, const struct tensor *inputs, struct run_result *run, struct buf *err)
{
	struct inputs_key key = { e->seed, q->trial + TRIAL_BETWEEN, q->source };
	struct tensor others[TASK_MAX_TENSORS];
	bool checked = q->workload->role == TASK_CHECK;

	if (checked && inputs_make(q->task, q->workload, &key, others, err))
		return -1;
	int status = e->gpus
		? gpu_run(gpu, q->task, q->workload, build->folder, recording, inputs, checked ? others : NULL, run, err)
		: run_on_ptx(q->task, q->workload, build->folder, recording, inputs, checked ? others : NULL, run, err);
	for (int i = 0; checked && i < q->task->inputs; i++)
		tensor_release(&others[i]);
	return status;
}

static int
run_and_judge(struct eval *e, struct gpu_session *gpu, const struct question *q, const struct cuda_build *build,
	const struct cuda_recording *recording, const struct tensor *inputs, json_t **evaluation, struct buf *err)
{
	struct run_result run;
	int status = run_on_device(e, gpu, q, build, recording, inputs, &run, err);

	if (status)
		return -1;
	*evaluation = start_evaluation(q, run.status, buf_str(&run.reason));
	json_object_set(*evaluation, "findings", run.findings);
	if (run.findings_dropped > 0)
		json_object_set_new(*evaluation, "findings_dropped", json_integer(run.findings_dropped));
	if (run.counters)
		json_object_set(*evaluation, "counters", run.counters);
	if (run.traffic)
		json_object_set(*evaluation, "traffic", run.traffic);
	if (run.estimate)
		json_object_set(*evaluation, "estimate", run.estimate);
	if (run.printed.len) {
		buf_elide(&run.printed, PRINTED_BYTES);
		json_object_set_new(*evaluation, "printed", rec_json_text(run.printed.data, run.printed.len));
	}
	if (!strcmp(run.status, "PASSED")) {
		add_output_hashes(run.outputs, run.output_count, *evaluation);
		status = judge_outputs(e, q, &run, inputs, *evaluation, err);
	}
	if (status == 0 && q->workload->role == TASK_PROFILE && run.counters
			&& !strcmp(rec_json_string(*evaluation, "status", ""), "PASSED"))
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
other_size(const struct question *q)
{
	const struct task_workload *best = NULL;
	double farthest = 0;

	for (int i = 0; i < q->task->workloads; i++) {
		const struct task_workload *w = &q->task->workload[i];
		double distance = fabs(log((double)w->tensor_bytes + 1) - log((double)q->workload->tensor_bytes + 1));

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
record_in_turn(const struct question *q, const struct cuda_build *build, const struct cuda_argument *arguments, int count,
	struct cuda_recording *recording, struct buf *err)
{
	const struct task_workload *other = q->workload->role == TASK_CHECK ? other_size(q) : NULL;
	struct cuda_argument others[CUDA_MAX_ARGUMENTS];
	struct cuda_recording turns, alone;

	if (!other || recording->verdict != CUDA_OK)
		return 0;
	task_arguments(q->task, other, others);
	if (cuda_record_in_turn(build->folder, arguments, others, count, NULL, NULL, recording->plan, &turns, err))
		return -1;
	if (turns.verdict != CUDA_OK) {
		if (cuda_record(build->folder, others, count, NULL, NULL, &alone, err)) {
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

static int
evaluate_workload(struct eval *e, struct gpu_session *gpu, const struct question *q, const struct cuda_build *build,
	json_t **evaluation, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct inputs_key key = { e->seed, q->trial, q->source };
	struct tensor inputs[TASK_MAX_TENSORS];
	struct cuda_recording recording = CUDA_RECORDING_INIT;
	int count = task_arguments(q->task, q->workload, arguments), status = 0;

	if (cuda_record(build->folder, arguments, count, NULL, NULL, &recording, err))
		return -1;
	if (record_in_turn(q, build, arguments, count, &recording, err)) {
		status = -1;
	} else if (recording.verdict != CUDA_OK) {
		*evaluation = start_evaluation(q, cuda_verdict_name(recording.verdict), buf_str(&recording.reason));
	} else if (inputs_make(q->task, q->workload, &key, inputs, err)) {
		status = -1;
	} else {
		status = run_and_judge(e, gpu, q, build, &recording, inputs, evaluation, err);
		for (int i = 0; i < q->task->inputs; i++)
			tensor_release(&inputs[i]);
	}
	cuda_recording_release(&recording);
	return status;
}

/* ---- a solution */

struct session {
	struct eval *eval;
	const struct task *task;
	const char *source;
	struct cuda_build build;
	bool built;
	struct gpu_session gpu;
};

static int
build(struct session *s, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct buf prelude = BUF_INIT;

	if (s->built)
		return 0;
	int status = cuda_prelude(arguments, task_arguments(s->task, NULL, arguments), &prelude, err);
	if (status == 0)
		status = cuda_build(s->source, strlen(s->source), buf_str(&prelude), s->eval->builds, NULL, &s->build, err);
	s->built = status == 0;
	buf_release(&prelude);
	return status;
}

/* ---- bench workloads, on a GPU */

/* The task's first correct solution on this target: this one where there was none. 0, or -1 with a sentence. */
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
	struct cuda_build build;
	struct cuda_recording recording;
};

/* Builds and records another solution for the same call. 0, or -1: ours, as what was correct once still is. */
static int
prepare_baseline(const struct session *s, const char *source, const struct cuda_argument *arguments, int count,
	struct baseline *b, struct buf *err)
{
	struct cuda_argument shape[CUDA_MAX_ARGUMENTS];
	struct buf prelude = BUF_INIT;
	int status = cuda_prelude(shape, task_arguments(s->task, NULL, shape), &prelude, err);

	eval_solution_id(s->task->id, source, b->id);
	if (status == 0)
		status = cuda_build(source, strlen(source), buf_str(&prelude), s->eval->builds, NULL, &b->build, err);
	buf_release(&prelude);
	if (status == 0 && b->build.verdict != CUDA_OK)
		status = buf_err(err, "the baseline %s no longer builds", b->id);
	if (status == 0)
		status = cuda_record(b->build.folder, arguments, count, NULL, NULL, &b->recording, err);
	if (status == 0 && b->recording.verdict != CUDA_OK)
		status = buf_err(err, "the baseline %s does not run on this workload: %s", b->id, buf_str(&b->recording.reason));
	return status;
}

static int
run_bench(struct session *s, const struct question *q, struct bench_request *request, json_t **evaluation, struct buf *err)
{
	struct run_result run;
	json_t *timing;

	if (bench_run(&s->gpu, request, &run, &timing, err))
		return -1;
	*evaluation = start_evaluation(q, run.status, buf_str(&run.reason));
	json_object_set(*evaluation, "findings", run.findings);
	if (run.findings_dropped > 0)
		json_object_set_new(*evaluation, "findings_dropped", json_integer(run.findings_dropped));
	if (run.printed.len) {
		buf_elide(&run.printed, PRINTED_BYTES);
		json_object_set_new(*evaluation, "printed", rec_json_text(run.printed.data, run.printed.len));
	}
	if (timing)
		json_object_set_new(*evaluation, "timing", timing);
	run_release(&run);
	return 0;
}

static int
evaluate_bench(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct cuda_recording recording = CUDA_RECORDING_INIT;
	struct baseline baseline = { "", CUDA_BUILD_INIT, CUDA_RECORDING_INIT };
	struct bench_request request = { .task = q->task, .workload = q->workload, .key = { s->eval->seed, q->trial, q->source },
		.solution_id = q->solution, .folder = s->build.folder, .recording = &recording, .store = s->eval->store };
	struct buf source = BUF_INIT;
	int count = task_arguments(q->task, q->workload, arguments);
	int status = cuda_record(s->build.folder, arguments, count, NULL, NULL, &recording, err);

	if (status == 0 && recording.verdict != CUDA_OK) {
		*evaluation = start_evaluation(q, cuda_verdict_name(recording.verdict), buf_str(&recording.reason));
	} else if (status == 0) {
		status = first_correct(s, &source, err);
		if (status == 0 && strcmp(buf_str(&source), q->source)) {
			status = prepare_baseline(s, buf_str(&source), arguments, count, &baseline, err);
			request.baseline_id = baseline.id;
			request.baseline_folder = baseline.build.folder;
			request.baseline_recording = &baseline.recording;
		}
		if (status == 0)
			status = run_bench(s, q, &request, evaluation, err);
	}
	cuda_recording_release(&recording);
	cuda_recording_release(&baseline.recording);
	cuda_build_release(&baseline.build);
	buf_release(&source);
	return status;
}

/* The compiler's first error as a finding, so that a repair can cite its line. */
static json_t *
compiler_finding(const char *log)
{
	for (const char *line = log; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *end = strchrnul(line, '\n'), *open = memchr(line, '(', (size_t)(end - line));
		const char *error = strstr(line, "error");
		char *after = NULL;
		long number = open ? strtol(open + 1, &after, 10) : 0;

		if (error && error < end && after && *after == ')' && number > 0)
			return json_pack("{s:s, s:s, s:o, s:i, s:o}", "check", "compiler", "kind", "error",
				"file", rec_json_text(line, (size_t)(open - line)), "line", (int)number,
				"message", rec_json_text(error, (size_t)(end - error)));
	}
	return NULL;
}

/* The line of a log that says most: the first with an error, else the first. */
static void
add_telling_line(const char *log, struct buf *out)
{
	const char *told = NULL;

	for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, "\n");
		bool error = memmem(line, length, "error", 5) || memmem(line, length, "undefined reference", 19);

		if (length && (error || !told))
			told = line;
		if (error)
			break;
	}
	if (told)
		buf_addf(out, "%.*s", (int)strcspn(told, "\n"), told);
	else
		buf_adds(out, "nvcc refuses it without words");
}

static json_t *
build_failure(const struct question *q, const struct cuda_build *b)
{
	bool compiler = b->verdict == CUDA_COMPILE_ERROR;
	json_t *finding = compiler ? compiler_finding(buf_str(&b->log)) : NULL;
	struct buf reason = BUF_INIT;

	if (finding)
		buf_adds(&reason, rec_json_string(finding, "message", ""));
	else if (compiler)
		add_telling_line(buf_str(&b->log), &reason);
	else
		buf_adds(&reason, buf_str(&b->log));
	json_t *evaluation = start_evaluation(q, cuda_verdict_name(b->verdict), buf_str(&reason));
	buf_release(&reason);

	if (compiler)
		json_object_set_new(evaluation, "compile_log", rec_json_text(buf_str(&b->log), b->log.len));
	if (finding)
		json_object_set_new(evaluation, "findings", json_pack("[o]", finding));
	return evaluation;
}

/* Nothing is looked up and nothing kept. */
static int
find_out(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	if (build(s, err))
		return -1;
	if (s->build.verdict != CUDA_OK)
		*evaluation = build_failure(q, &s->build);
	else if (!q->workload)
		*evaluation = start_evaluation(q, "PASSED", NULL);
	else
		return q->workload->role == TASK_BENCH ? evaluate_bench(s, q, evaluation, err)
			: evaluate_workload(s->eval, &s->gpu, q, &s->build, evaluation, err);
	return 0;
}

static int
answer(struct session *s, const struct question *q, json_t **evaluation, struct buf *err)
{
	int known = recall(s->eval, q, evaluation, err);

	if (known)
		return known < 0 ? -1 : 0;
	if (find_out(s, q, evaluation, err))
		return -1;
	/* A compiler or host code that met the wall clock may have met a slow machine. */
	if (!strcmp(rec_json_string(*evaluation, "status", ""), "TIMEOUT") && !json_object_get(*evaluation, "counters"))
		return 0;
	if (remember(s->eval, q, *evaluation, err)) {
		json_decref(*evaluation);
		return -1;
	}
	return 0;
}

static bool
selected(const struct task_workload *w, enum eval_select select, enum task_role role)
{
	return w->role == role && (role != TASK_CHECK || select == EVAL_ALL || !w->held_out);
}

/* 1 go on, 0 stop, -1 ours. */
static int
add_answer(struct session *s, const struct task_workload *w, uint64_t trial, json_t *list, struct eval_summary *summary,
	struct buf *err)
{
	struct question q;
	json_t *evaluation = NULL;

	ask(s->eval, s->task, w, s->source, trial, &q);
	if (answer(s, &q, &evaluation, err))
		return -1;
	json_array_append_new(list, evaluation);
	const char *status = rec_json_string(evaluation, "status", "");
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
	struct session s = { e, t, source, CUDA_BUILD_INIT, false, { e->gpus, NULL } };
	uint64_t trial = select == EVAL_ALL ? TRIAL_FINAL : TRIAL_VISIBLE;
	json_t *list = json_array();

	*summary = (struct eval_summary){ "PASSED", NULL, NAN };
	/* The build is a question of its own, so that a source that does not compile has one evaluation only. */
	int go = add_answer(&s, NULL, 0, list, summary, err);
	if (go == 1)
		json_array_clear(list);
	for (int role = TASK_CHECK; role <= (e->gpus ? TASK_BENCH : TASK_PROFILE); role++)
		for (int i = 0; i < t->workloads && go == 1; i++)
			if (selected(&t->workload[i], select, (enum task_role)role))
				go = add_answer(&s, &t->workload[i], trial, list, summary, err);
	gpu_session_close(&s.gpu);
	if (s.built)
		cuda_build_release(&s.build);
	if (go < 0) {
		json_decref(list);
		return -1;
	}
	*evaluations = list;
	return 0;
}

int
eval_again(struct eval *e, const struct task *t, const char *source, const json_t *record, json_t **evaluation,
	struct buf *err)
{
	struct session s = { e, t, source, CUDA_BUILD_INIT, false, { e->gpus, NULL } };
	const char *name = rec_json_string(record, "workload", NULL), *target = rec_json_string(record, "target", "");
	const struct task_workload *w = name ? task_workload(t, name) : NULL;
	json_int_t protocol = rec_json_integer(record, "protocol", 0);
	struct question q;

	if (name && !w)
		return buf_err(err, "the task has no workload '%s'", name), 1;
	if (strcmp(target, e->target))
		return buf_err(err, "it was made on %s, and this is %s: see --device", target, e->target), 1;
	if (protocol != VERDICT_PROTOCOL)
		return buf_err(err, "it was made by protocol %lld, and this is protocol %d", (long long)protocol, VERDICT_PROTOCOL), 1;
	ask(e, t, w, source, (uint64_t)rec_json_integer(record, "trial", 0), &q);
	if (strcmp(q.id, rec_json_string(record, "id", "")))
		return buf_err(err, "its id is not that of this task, solution and seed %llu: see --seed",
			(unsigned long long)e->seed), 1;
	int status = find_out(&s, &q, evaluation, err);
	gpu_session_close(&s.gpu);
	if (s.built)
		cuda_build_release(&s.build);
	return status;
}

int
eval_compile(struct eval *e, const struct task *t, const char *source, struct buf *log, struct buf *err)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct session s = { e, t, source, CUDA_BUILD_INIT, false, { NULL, NULL } };
	struct buf prelude = BUF_INIT;
	enum cuda_check quick;
	int status = cuda_prelude(arguments, task_arguments(t, NULL, arguments), &prelude, err);

	if (status == 0)
		status = cuda_quick_check(e->checker, source, strlen(source), buf_str(&prelude), NULL, &quick, log, err);
	buf_release(&prelude);
	if (status)
		return -1;
	if (quick != CUDA_CHECK_ASK_NVCC)
		return quick == CUDA_CHECK_OK;
	buf_reset(log);
	if (build(&s, err))
		return -1;
	buf_add(log, buf_str(&s.build.log), s.build.log.len);
	status = s.build.verdict == CUDA_OK;
	cuda_build_release(&s.build);
	return status;
}
