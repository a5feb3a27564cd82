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
enum { THREADS = 4, EXCUSED_AT_ONCE = 64, SLACK_ELEMENTS = 128 };

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

/* Inputs that are made where the math spec reads them, and the run that reads them. */
struct lazy_run {
	struct tensor inputs[TASK_MAX_TENSORS];
	struct lazy *lazy;
	struct math_spec *wide;	/* of inputs in double; NULL: that of the task is used */
	struct math_run *run;	/* NULL: it cannot be had */
};

/* change: NULL, or what is done to the inputs, which are all double then. */
static void
open_run(const struct sampled *s, const struct lazy_change *change, struct lazy_run *r)
{
	const struct tensor *list[TASK_MAX_TENSORS];
	struct math_limits limits = { .steps = ELEMENT_STEPS };
	struct task wide = *s->task;
	struct buf why = BUF_INIT;

	for (int i = 0; i < s->task->inputs; i++) {
		struct tensor *x = &r->inputs[i];

		if (change && dtype_is_float(wide.input[i].dtype))
			wide.input[i].dtype = DTYPE_FLOAT64;
		*x = (struct tensor){ .dtype = wide.input[i].dtype, .rank = s->task->input[i].rank };
		snprintf(x->name, sizeof x->name, "%s", s->task->input[i].name);
		x->bytes = (uint64_t)task_shape(s->task, &s->task->input[i], s->workload, x->shape) * dtype_bytes(x->dtype);
		list[i] = x;
	}
	r->lazy = lazy_open(r->inputs, s->jobs, s->task->inputs, change, &why);
	r->wide = change ? task_parse_math(&wide, &why) : NULL;
	r->run = r->lazy && (r->wide || !change)
		? math_bind(change ? r->wide : s->spec, s->workload->axes, list, &limits, &why) : NULL;
	buf_release(&why);
}

static void
close_run(struct lazy_run *r)
{
	math_run_free(r->run);
	math_free(r->wide);
	lazy_close(r->lazy);
}

static void *
evaluate(void *context)
{
	const struct worker *worker = context;
	struct sampled *s = worker->all;
	struct lazy_run r;

	open_run(s, NULL, &r);
	for (int i = 0; r.run && i < s->task->outputs; i++)
		evaluate_output(s, r.run, i, worker->first);
	close_run(&r);
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

/* ---- what rounding may cost */

/* As tolerance_slack has it, but for some elements of one output: slack[k] of elements[k], by their places in the sample. */
static void
find_slack(const struct sampled *s, int output, const size_t *elements, size_t count, double *slack)
{
	const struct sampled_output *out = &s->output[output];
	const struct task_tensor *o = &s->task->output[output];
	int64_t shape[TASK_MAX_RANK], subscripts[TASK_MAX_RANK];

	memset(slack, 0, count * sizeof *slack);
	task_shape(s->task, o, s->workload, shape);
	for (uint32_t draw = 0; draw < TOLERANCE_DRAWS; draw++) {
		struct lazy_change change = { tolerance_step(s->task), draw };
		struct lazy_run r;

		open_run(s, &change, &r);
		for (size_t k = 0; r.run && k < count; k++) {
			struct math_value moved;
			struct buf why = BUF_INIT;

			tensor_subscripts(o->rank, shape, (int64_t)out->numbers[elements[k]], subscripts);
			double by = math_element(r.run, (size_t)output, subscripts, &moved, &why) == 0
				? moved.real - out->expected[elements[k]].value.real : 0;
			slack[k] += isfinite(by) ? by * by : 0;
			buf_release(&why);
		}
		close_run(&r);
	}
	for (size_t k = 0; k < count; k++)
		slack[k] = tolerance_grant(s->task, s->workload) * sqrt(slack[k] / TOLERANCE_DRAWS);
}

static bool
has_slack(const struct sampled *s, int output)
{
	return (s->task->rtol != 0 || s->task->atol != 0) && dtype_is_float(s->task->output[output].dtype);
}

void
sampled_slack(struct sampled *s, double *slack)
{
	wait_for_all(s);
	for (int i = 0; i < s->task->outputs; i++) {
		size_t elements[SLACK_ELEMENTS], count = 0, every = s->output[i].count / SLACK_ELEMENTS + 1;
		double each[SLACK_ELEMENTS];

		slack[i] = 0;
		for (size_t k = 0; s->spec && has_slack(s, i) && k < s->output[i].count && count < SLACK_ELEMENTS; k += every)
			if (s->output[i].expected[k].known)
				elements[count++] = k;
		if (count)
			find_slack(s, i, elements, count, each);
		for (size_t k = 0; k < count; k++)
			slack[i] = fmax(slack[i], each[k]);
	}
}

/* ---- the verdict */

static int
compare_one(const struct sampled *s, int output, size_t element, const char *values, double slack, struct compare_result *r,
	struct buf *err)
{
	const struct math_value *value = &s->output[output].expected[element].value;
	enum dtype dtype = s->task->output[output].dtype;
	struct tolerance tolerance = tolerance_of(s->task, s->workload, dtype);
	struct tensor one = { .dtype = dtype, .data = (char *)values + element * dtype_bytes(dtype), .bytes = dtype_bytes(dtype) };
	int64_t zero = 0;

	if (!dtype_is_float(dtype))
		return compare_elements(&one, &zero, 1, &value->real, value->is_integer ? &value->integer : NULL, tolerance, r, err);
	struct tensor want = { .dtype = DTYPE_FLOAT64, .data = (void *)&value->real, .bytes = sizeof value->real };
	struct tensor more = { .dtype = DTYPE_FLOAT64, .data = &slack, .bytes = sizeof slack };
	return compare_tensors_within(&one, &want, tolerance, &more, r, err);
}

/* Elements that differ by more than the tolerance, until one differs by more than rounding may cost on top: the others
 * are as they are then, for the verdict is clear. 0, or -1 with a sentence. */
static int
excuse(const struct sampled *s, int output, const char *values, const size_t *wrong, size_t count,
	struct sampled_result *result, struct buf *err)
{
	double slack[EXCUSED_AT_ONCE];

	for (size_t k = 0; k < count; k++) {
		struct compare_result r;
		size_t at_once = count - k < EXCUSED_AT_ONCE ? count - k : EXCUSED_AT_ONCE;

		if (k % EXCUSED_AT_ONCE == 0 && has_slack(s, output))
			find_slack(s, output, wrong + k, at_once, slack);
		if (compare_one(s, output, wrong[k], values, has_slack(s, output) ? slack[k % EXCUSED_AT_ONCE] : 0, &r, err))
			return -1;
		if (!r.mismatched)
			continue;
		if (!result->mismatched) {
			result->output = output;
			result->first = r;
			result->first.first_mismatch = (int64_t)s->output[output].numbers[wrong[k]];
		}
		result->mismatched += (int64_t)(count - k);
		return 0;
	}
	return 0;
}

/* The elements of one output, until the budget is used up. 0, or -1 with a sentence. */
static int
judge_output(const struct sampled *s, int output, const char *values, struct sampled_result *result, struct buf *err)
{
	const struct sampled_output *out = &s->output[output];
	size_t wrong[SAMPLED_RANDOM + SAMPLED_EDGES], count = 0;
	uint64_t steps = 0;

	for (size_t i = 0; i < out->count && steps < OUTPUT_STEPS && out->expected[i].known; i++) {
		struct compare_result r;

		steps += out->expected[i].steps;
		if (compare_one(s, output, i, values, 0, &r, err))
			return -1;
		result->checked++;
		if (r.mismatched)
			wrong[count++] = i;
	}
	return excuse(s, output, values, wrong, count, result, err);
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
