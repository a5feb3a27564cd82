/* Values of sampled elements in, a verdict on them out. The inputs are never made as a whole: the math spec reads a few
 * of their pages. It has a budget of steps, so that the verdict does not depend on the machine. */
#include "eval/sampled.h"

#include <math.h>
#include <string.h>

#include "eval/lazy.h"
#include "eval/tolerance.h"

/* Of one element, and of all of an output's: about 0.05 and 2 seconds. */
#define ELEMENT_STEPS 20000000ull
#define OUTPUT_STEPS 1000000000ull

size_t
sampled_numbers(int64_t elements, uint64_t seed, uint64_t *numbers)
{
	const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	size_t n = 0;

	for (int i = 0; i < SAMPLED_EDGES && i < elements; i++)
		numbers[n++] = (uint64_t)(i % 2 ? elements - 1 - i / 2 : i / 2);
	for (uint32_t i = 0; i < SAMPLED_RANDOM && elements > SAMPLED_EDGES; i++) {
		const uint32_t counter[4] = { i, 0x5a4d, 0, 0 };
		uint32_t word[4];

		generate_philox(counter, key, word);
		numbers[n++] = (((uint64_t)word[1] << 32) | word[0]) % (uint64_t)elements;
	}
	return n;
}

/* The elements of one output, until the budget is used up. 0, or -1 with a sentence. */
static int
judge_output(struct math_run *run, const struct task *t, const struct task_workload *w, int output, const char *values,
	const uint64_t *numbers, size_t count, struct sampled_result *result, struct buf *err)
{
	const struct task_tensor *o = &t->output[output];
	struct tolerance tolerance = tolerance_of(t, w, o->dtype);
	int64_t shape[TASK_MAX_RANK], subscripts[TASK_MAX_RANK];
	uint64_t steps = 0;

	task_shape(t, o, w, shape);
	for (size_t i = 0; i < count && steps < OUTPUT_STEPS; i++) {
		struct compare_result r;
		struct math_value value;
		struct buf why = BUF_INIT;
		struct tensor one = { .dtype = o->dtype, .rank = 0, .data = (char *)values + i * dtype_bytes(o->dtype),
			.bytes = dtype_bytes(o->dtype) };
		int64_t zero = 0;

		tensor_subscripts(o->rank, shape, (int64_t)numbers[i], subscripts);
		int failed = math_element(run, (size_t)output, subscripts, &value, &why);
		buf_release(&why);
		steps += math_run_steps(run);
		if (failed)
			return 0;	/* more work than an element may cost: nothing is said of the rest */
		if (compare_elements(&one, &zero, 1, &value.real, value.is_integer ? &value.integer : NULL, tolerance, &r, err))
			return -1;
		result->checked++;
		if (r.mismatched && !result->mismatched++) {
			result->output = output;
			result->first = r;
			result->first.first_mismatch = (int64_t)numbers[i];
		}
	}
	return 0;
}

static int
judge_all(struct math_run *run, const struct task *t, const struct task_workload *w, uint64_t seed, const struct buf *values,
	struct sampled_result *result, struct buf *err)
{
	uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES];
	size_t at = 0;

	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];
		size_t count = sampled_numbers(task_shape(t, &t->output[i], w, shape), seed, numbers);
		size_t bytes = count * dtype_bytes(t->output[i].dtype);

		if (bytes > values->len - at)
			return buf_err(err, "the GPU worker gave too few sampled elements");
		if (judge_output(run, t, w, i, values->data + at, numbers, count, result, err))
			return -1;
		at += bytes;
	}
	return 0;
}

int
sampled_judge(const struct task *t, const struct task_workload *w, const struct inputs_key *key, uint64_t seed,
	const struct buf *values, struct sampled_result *result, struct buf *err)
{
	struct tensor inputs[TASK_MAX_TENSORS];
	const struct tensor *list[TASK_MAX_TENSORS];
	struct generate_job jobs[TASK_MAX_TENSORS];
	struct math_limits limits = { .steps = ELEMENT_STEPS };
	struct buf why = BUF_INIT;
	int status = 0;

	*result = (struct sampled_result){ .checked = 0 };
	struct math_spec *spec = t->math_spec ? task_parse_math(t, &why) : NULL;
	if (!spec) {
		buf_release(&why);
		return 0;
	}
	for (int i = 0; i < t->inputs; i++) {
		struct tensor *x = &inputs[i];

		*x = (struct tensor){ .dtype = t->input[i].dtype, .rank = t->input[i].rank };
		snprintf(x->name, sizeof x->name, "%s", t->input[i].name);
		x->bytes = (uint64_t)task_shape(t, &t->input[i], w, x->shape) * dtype_bytes(x->dtype);
		list[i] = x;
	}
	if (inputs_jobs(t, w, key, jobs, err)) {
		math_free(spec);
		return -1;
	}
	struct lazy *lazy = lazy_open(inputs, jobs, t->inputs, &why);
	struct math_run *run = lazy ? math_bind(spec, w->axes, list, &limits, &why) : NULL;
	if (run)
		status = judge_all(run, t, w, seed, values, result, err);
	math_run_free(run);
	lazy_close(lazy);
	math_free(spec);
	buf_release(&why);
	return status;
}
