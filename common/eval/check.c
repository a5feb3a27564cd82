/* A task before anyone solves it. In: a task. Out: whether its forms and examples say the same thing.
 * Two executable forms run on generated inputs of every check workload; examples run against the oracle. */
#include <math.h>
#include <string.h>

#include "eval/admit.h"
#include "eval/eval.h"
#include "eval/inputs.h"
#include "eval/oracle.h"
#include "rec/json.h"
#include "tensor/compare.h"

/* Both forms are computed in double; a reference that stores float rounds once. Sums may be taken in any order. */
static const struct tolerance forms_tolerance = { 1e-5, 1e-6 };

static void
release_all(struct tensor *tensors, int count)
{
	for (int i = 0; i < count; i++)
		tensor_release(&tensors[i]);
}

static enum oracle_status
compare_forms(const struct task *t, const struct task_workload *w, const struct tensor *math,
	const struct tensor *reference, const char **code, struct buf *err)
{
	for (int i = 0; i < t->outputs; i++) {
		struct compare_result r;
		struct tolerance tolerance = forms_tolerance;

		/* Compared at the precision that an output has room for. */
		double unit = dtype_unit_roundoff(t->output[i].dtype);
		tolerance.rtol = fmax(tolerance.rtol, 2 * unit);
		if (compare_tensors(&reference[i], &math[i], tolerance, &r, err))
			return ORACLE_INFRASTRUCTURE;
		if (r.mismatched == 0)
			continue;
		*code = "forms_disagree";
		buf_err(err, "spec.math and %s disagree on %lld of %lld elements of '%s' in workload '%s': "
			"%.9g and %.9g at element %lld", t->reference_is_torch ? "reference.py" : "reference.c",
			(long long)r.mismatched, (long long)r.elements, math[i].name,
			w->name, r.expected, r.got, (long long)r.first_mismatch);
		return ORACLE_REFUSED;
	}
	return ORACLE_OK;
}

/* Answers to other inputs of the workload, and what passes for the right ones with their help. */
static enum oracle_status
try_fakes(struct eval *e, const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	const struct tensor *expected, struct admit *admit, const char **code, struct buf *err)
{
	struct inputs_key key = { 0, 1, "" };
	struct tensor other_inputs[TASK_MAX_TENSORS], others[TASK_MAX_TENSORS], sampled[TASK_MAX_TENSORS];
	bool math = t->math_spec != NULL;

	if (inputs_make(t, w, &key, other_inputs, err))
		return ORACLE_INFRASTRUCTURE;
	enum oracle_status status = oracle_run(eval_oracle(e), t, w->axes, math, other_inputs, others, code, err);
	if (status == ORACLE_OK) {
		admit_mix(t, inputs, other_inputs);
		status = oracle_run(eval_oracle(e), t, w->axes, math, other_inputs, sampled, code, err);
		if (status == ORACLE_OK) {
			if (admit_try(t, w, inputs, expected, others, sampled, admit, err))
				status = ORACLE_INFRASTRUCTURE;
			release_all(sampled, t->outputs);
		}
		release_all(others, t->outputs);
	}
	release_all(other_inputs, t->inputs);
	return status;
}

/* A reference that draws random numbers, or reads what it did not write, is no oracle. */
static enum oracle_status
repeat_reference(struct eval *e, const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	const struct tensor *first, const char **code, struct buf *err)
{
	struct tensor again[TASK_MAX_TENSORS];
	enum oracle_status status = oracle_run(eval_oracle(e), t, w->axes, false, inputs, again, code, err);

	if (status != ORACLE_OK)
		return status;
	for (int i = 0; i < t->outputs && status == ORACLE_OK; i++)
		if (memcmp(first[i].data, again[i].data, first[i].bytes)) {
			*code = "reference_not_repeatable";
			buf_err(err, "%s gives other values of '%s' when it runs again on workload '%s'",
				t->reference_is_torch ? "reference.py" : "reference.c", first[i].name, w->name);
			status = ORACLE_REFUSED;
		}
	release_all(again, t->outputs);
	return status;
}

static enum oracle_status
check_workload(struct eval *e, const struct task *t, const struct task_workload *w, struct admit *admit,
	const char **code, struct buf *err)
{
	struct inputs_key key = { 0, 0, "" };
	struct tensor inputs[TASK_MAX_TENSORS], one[TASK_MAX_TENSORS], other[TASK_MAX_TENSORS];
	bool both = t->math_spec && t->reference;

	if (inputs_make(t, w, &key, inputs, err))
		return ORACLE_INFRASTRUCTURE;
	enum oracle_status status = oracle_run(eval_oracle(e), t, w->axes, t->math_spec != NULL, inputs, one, code, err);
	if (status == ORACLE_OK) {
		if (both)
			status = oracle_run(eval_oracle(e), t, w->axes, false, inputs, other, code, err);
		if (both && status == ORACLE_OK) {
			status = compare_forms(t, w, one, other, code, err);
			release_all(other, t->outputs);
		} else if (!both && t->reference) {
			status = repeat_reference(e, t, w, inputs, one, code, err);
		}
		if (status == ORACLE_OK)
			status = try_fakes(e, t, w, inputs, one, admit, code, err);
		release_all(one, t->outputs);
	}
	release_all(inputs, t->inputs);
	return status;
}

/* ---- worked examples */

static int
refuse_example(const char **code, struct buf *err, size_t number, const char *why, const char *name)
{
	*code = "example_wrong";
	return buf_err(err, "example %zu: %s '%s'", number + 1, why, name);
}

/* A tensor from a flat list of the example. */
static int
example_tensor(const struct task_tensor *tensor, const int64_t *shape, enum dtype dtype, const json_t *values,
	size_t number, struct tensor *out, const char **code, struct buf *err)
{
	json_t *value;
	size_t i;

	if (!json_is_array(values))
		return refuse_example(code, err, number, "there is no list of numbers for", tensor->name);
	if (tensor_init(out, tensor->name, dtype, tensor->rank, shape, err))
		return -1;
	if ((int64_t)json_array_size(values) != tensor_elements(out)) {
		tensor_release(out);
		return refuse_example(code, err, number, "the list has not as many numbers as the shape of", tensor->name);
	}
	json_array_foreach(values, i, value) {
		if (json_is_integer(value) && !dtype_is_float(dtype))
			tensor_set_integer(out, (int64_t)i, json_integer_value(value));
		else if (json_is_number(value))
			tensor_set(out, (int64_t)i, json_number_value(value));
		else if (json_is_boolean(value))
			tensor_set_integer(out, (int64_t)i, json_is_true(value));
		else {
			tensor_release(out);
			return refuse_example(code, err, number, "there is something that is no number in", tensor->name);
		}
	}
	return 0;
}

static enum oracle_status
compare_example(const struct task *t, const struct task_workload *w, const json_t *outputs, size_t number,
	const struct tensor *expected, const char **code, struct buf *err)
{
	for (int i = 0; i < t->outputs; i++) {
		struct tensor told;
		struct compare_result r;
		int64_t shape[TASK_MAX_RANK];
		/* A prompt shows a few digits. */
		struct tolerance tolerance = { fmax(t->rtol, 1e-3), fmax(t->atol, 1e-4) };

		task_shape(t, &t->output[i], w, shape);
		if (example_tensor(&t->output[i], shape, expected[i].dtype, json_object_get(outputs, t->output[i].name),
				number, &told, code, err))
			return ORACLE_REFUSED;
		int status = compare_tensors(&told, &expected[i], tolerance, &r, err);
		tensor_release(&told);
		if (status)
			return ORACLE_INFRASTRUCTURE;
		if (r.mismatched) {
			*code = "example_wrong";
			buf_err(err, "example %zu: '%s' says %.9g at element %lld, the oracle %.9g", number + 1,
				t->output[i].name, r.got, (long long)r.first_mismatch, r.expected);
			return ORACLE_REFUSED;
		}
	}
	return ORACLE_OK;
}

static enum oracle_status
check_example(struct eval *e, const struct task *t, const json_t *example, size_t number, const char **code,
	struct buf *err)
{
	struct task_workload w = { .name = "example", .role = TASK_CHECK };
	struct tensor inputs[TASK_MAX_TENSORS], expected[TASK_MAX_TENSORS];
	enum oracle_status status = ORACLE_REFUSED;
	int made = 0;

	*code = "example_wrong";
	if (task_resolve(t, json_object_get(example, "axes"), w.axes, err))
		return status;
	for (; made < t->inputs; made++) {
		const struct task_tensor *tensor = &t->input[made];
		int64_t shape[TASK_MAX_RANK];

		task_shape(t, tensor, &w, shape);
		if (example_tensor(tensor, shape, tensor->dtype,
				json_object_get(json_object_get(example, "inputs"), tensor->name), number, &inputs[made],
				code, err))
			goto out;
	}
	status = oracle_run(eval_oracle(e), t, w.axes, t->oracle_is_math, inputs, expected, code, err);
	if (status == ORACLE_OK) {
		status = compare_example(t, &w, json_object_get(example, "outputs"), number, expected, code, err);
		release_all(expected, t->outputs);
	}
out:
	release_all(inputs, made);
	return status;
}

int
eval_check_task(struct eval *e, const struct task *t, const char **code, struct buf *err)
{
	const json_t *examples = json_object_get(t->json, "examples"), *example;
	enum oracle_status status = ORACLE_OK;
	struct admit admit = { 0 };
	bool tried = false;
	size_t number;

	for (int i = 0; i < t->workloads && status == ORACLE_OK; i++)
		if (t->workload[i].role == TASK_CHECK) {
			tried = true;
			status = check_workload(e, t, &t->workload[i], &admit, code, err);
		}
	if (status == ORACLE_OK && tried && !admit_verdict(&admit, code, err))
		status = ORACLE_REFUSED;
	json_array_foreach(examples, number, example)
		if (status == ORACLE_OK)
			status = check_example(e, t, example, number, code, err);
	if (status == ORACLE_UNAVAILABLE)
		eval_misses_something(e);
	return status == ORACLE_OK ? 1 : status == ORACLE_REFUSED ? 0 : -1;
}
