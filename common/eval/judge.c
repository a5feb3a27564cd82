/* Outputs of a run in, a verdict in its evaluation out.
 * The task's own tolerance comes first; only where that fails is it asked how far rounding alone may carry an answer on
 * these inputs, as that costs several runs of the oracle. */
#include "eval/judge.h"

#include <math.h>

#include "eval/engine.h"
#include "eval/tolerance.h"
#include "rec/json.h"
#include "tensor/compare.h"

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

int
judge_outputs(struct eval *e, const struct question *q, const struct run_result *run, const struct tensor *inputs,
	json_t *evaluation, struct buf *err)
{
	const struct task *t = q->task;
	struct tensor expected[TASK_MAX_TENSORS];
	const char *code = "";
	struct buf why = BUF_INIT;
	enum oracle_status status = oracle_run(e->oracle, t, q->workload->axes, t->oracle_is_math, inputs, expected, &code,
		&why);

	add_output_hashes(run->outputs, run->output_count, evaluation);
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
