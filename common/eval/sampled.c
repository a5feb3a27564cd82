/* Values of sampled elements in, a verdict on them out. The inputs are never made as a whole: the math spec reads a few
 * of their pages. Several threads work on what is expected while a GPU makes what is judged. There is a budget of steps,
 * applied in the elements' order when all is there, so that the verdict depends on neither the machine nor the threads. */
#include "eval/sampled.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"

#include "eval/lazy.h"
#include "eval/tolerance.h"

/* Of one element, and of all of an output's: about 0.05 and 2 seconds. */
#define ELEMENT_STEPS 20000000ull
#define OUTPUT_STEPS 1000000000ull
enum { THREADS = 4 };

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

/* An element as the math spec has it. */
struct expected {
	struct math_value value;
	uint64_t steps;
	bool known;
};

struct sampled_output {
	uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES];
	struct expected expected[SAMPLED_RANDOM + SAMPLED_EDGES];
	size_t count;
};

struct sampled {
	const struct task *task;
	const struct task_workload *workload;
	struct generate_job jobs[TASK_MAX_TENSORS];
	struct math_spec *spec;
	struct sampled_output *output;
	struct worker {
		struct sampled *all;
		size_t first;		/* its elements are this one and every THREADS-th after it */
		pthread_t thread;
		bool started;
	} worker[THREADS];
	atomic_bool stop;
};

/* ---- what is expected */

/* A thread's share of an output: every THREADS-th element, until one is too much work. */
static void
evaluate_output(struct sampled *s, struct math_run *run, int output, size_t first)
{
	const struct task_tensor *o = &s->task->output[output];
	struct sampled_output *out = &s->output[output];
	int64_t shape[TASK_MAX_RANK], subscripts[TASK_MAX_RANK];
	uint64_t steps = 0;

	task_shape(s->task, o, s->workload, shape);
	for (size_t i = first; i < out->count && steps < OUTPUT_STEPS && !atomic_load(&s->stop); i += THREADS) {
		struct expected *e = &out->expected[i];
		struct buf why = BUF_INIT;

		tensor_subscripts(o->rank, shape, (int64_t)out->numbers[i], subscripts);
		e->known = math_element(run, (size_t)output, subscripts, &e->value, &why) == 0;
		e->steps = math_run_steps(run);
		steps += e->steps;
		buf_release(&why);
		if (!e->known)
			return;
	}
}

static void *
evaluate(void *context)
{
	const struct worker *worker = context;
	struct sampled *s = worker->all;
	struct tensor inputs[TASK_MAX_TENSORS];
	const struct tensor *list[TASK_MAX_TENSORS];
	struct math_limits limits = { .steps = ELEMENT_STEPS };
	struct buf why = BUF_INIT;

	for (int i = 0; i < s->task->inputs; i++) {
		struct tensor *x = &inputs[i];

		*x = (struct tensor){ .dtype = s->task->input[i].dtype, .rank = s->task->input[i].rank };
		snprintf(x->name, sizeof x->name, "%s", s->task->input[i].name);
		x->bytes = (uint64_t)task_shape(s->task, &s->task->input[i], s->workload, x->shape) * dtype_bytes(x->dtype);
		list[i] = x;
	}
	struct lazy *lazy = lazy_open(inputs, s->jobs, s->task->inputs, &why);
	struct math_run *run = lazy ? math_bind(s->spec, s->workload->axes, list, &limits, &why) : NULL;
	for (int i = 0; run && i < s->task->outputs; i++)
		evaluate_output(s, run, i, worker->first);
	math_run_free(run);
	lazy_close(lazy);
	buf_release(&why);
	return NULL;
}

struct sampled *
sampled_start(const struct task *t, const struct task_workload *w, const struct inputs_key *key, uint64_t seed, struct buf *err)
{
	struct sampled *s = xcalloc(1, sizeof *s);
	struct buf why = BUF_INIT;

	s->task = t;
	s->workload = w;
	if (inputs_jobs(t, w, key, s->jobs, err)) {
		free(s);
		return NULL;
	}
	s->output = xcalloc((size_t)t->outputs + 1, sizeof *s->output);
	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];

		s->output[i].count = sampled_numbers(task_shape(t, &t->output[i], w, shape), seed, s->output[i].numbers);
	}
	s->spec = t->math_spec ? task_parse_math(t, &why) : NULL;
	for (int i = 0; s->spec && i < THREADS; i++) {
		s->worker[i].all = s;
		s->worker[i].first = (size_t)i;
		if (pthread_create(&s->worker[i].thread, NULL, evaluate, &s->worker[i]))
			die(EX_OSERR, "cannot start a thread:");
		s->worker[i].started = true;
	}
	buf_release(&why);
	return s;
}

static void
wait_for_all(struct sampled *s)
{
	for (int i = 0; i < THREADS; i++)
		if (s->worker[i].started)
			pthread_join(s->worker[i].thread, NULL);
	memset(s->worker, 0, sizeof s->worker);
}

void
sampled_free(struct sampled *s)
{
	if (!s)
		return;
	atomic_store(&s->stop, true);
	wait_for_all(s);
	math_free(s->spec);
	free(s->output);
	free(s);
}

/* ---- the verdict */

/* The elements of one output, until the budget is used up. 0, or -1 with a sentence. */
static int
judge_output(const struct sampled *s, int output, const char *values, struct sampled_result *result, struct buf *err)
{
	const struct sampled_output *out = &s->output[output];
	enum dtype dtype = s->task->output[output].dtype;
	struct tolerance tolerance = tolerance_of(s->task, s->workload, dtype);
	uint64_t steps = 0;

	for (size_t i = 0; i < out->count && steps < OUTPUT_STEPS && out->expected[i].known; i++) {
		const struct math_value *value = &out->expected[i].value;
		struct compare_result r;
		struct tensor one = { .dtype = dtype, .rank = 0, .data = (char *)values + i * dtype_bytes(dtype),
			.bytes = dtype_bytes(dtype) };
		int64_t zero = 0;

		steps += out->expected[i].steps;
		if (compare_elements(&one, &zero, 1, &value->real, value->is_integer ? &value->integer : NULL, tolerance, &r, err))
			return -1;
		result->checked++;
		if (r.mismatched && !result->mismatched++) {
			result->output = output;
			result->first = r;
			result->first.first_mismatch = (int64_t)out->numbers[i];
		}
	}
	return 0;
}

int
sampled_judge(struct sampled *s, const struct buf *values, struct sampled_result *result, struct buf *err)
{
	size_t at = 0;

	*result = (struct sampled_result){ .checked = 0 };
	wait_for_all(s);
	for (int i = 0; s->spec && i < s->task->outputs; i++) {
		size_t bytes = s->output[i].count * dtype_bytes(s->task->output[i].dtype);

		if (bytes > values->len - at)
			return buf_err(err, "the GPU worker gave too few sampled elements");
		if (judge_output(s, i, values->data + at, result, err))
			return -1;
		at += bytes;
	}
	return 0;
}
