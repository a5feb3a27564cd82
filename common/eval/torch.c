/* The side of the stage: inputs and source out to the Python in the sandbox, expected outputs back. What comes back was
 * in the hands of the reference's author, so names, types and shapes are checked against the task. */
#include "eval/torch.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "eval/torch_worker.h"
#include "rec/json.h"
#include "tensor/safetensors.h"

enum { WALL_S = 20, PATIENCE_S = WALL_S + 120 };

static const char *const codes[TORCH_STATES] = {
	[TORCH_DOES_NOT_COMPILE] = "reference_does_not_compile",
	[TORCH_FAILED] = "reference_crashed",
	[TORCH_TOO_SLOW] = "reference_timeout",
	[TORCH_EXITED] = "reference_exited",
};

struct torch {
	/* A module can end the Python that all share. Who was not answered asks again alone, so that it fails for its own
	 * deeds only. */
	pthread_rwlock_t alone;
	struct torch_worker *worker;
	const char *python;
};

struct torch *
torch_new(const char *python)
{
	struct torch *torch = xcalloc(1, sizeof *torch);

	pthread_rwlock_init(&torch->alone, NULL);
	torch->worker = torch_worker_new(python, false);
	torch->python = python;
	return torch;
}

void
torch_free(struct torch *torch)
{
	if (!torch)
		return;
	torch_worker_free(torch->worker);
	pthread_rwlock_destroy(&torch->alone);
	free(torch);
}

/* What is asked, and what came back. */
struct exchange {
	struct buf text, tensors, payload;
	uint64_t max_bytes;		/* of the payload */
	enum torch_state state;
};

static void
exchange_release(struct exchange *x)
{
	buf_release(&x->text);
	buf_release(&x->tensors);
	buf_release(&x->payload);
}

/* Asks the Python once. 0 with the state, or -1: infrastructure. */
static int
ask(const struct torch *torch, struct exchange *x, struct sandbox_result *ended, struct buf *err)
{
	unsigned start;
	int stream = torch_worker_ask(torch->worker, &x->text, &x->tensors, WALL_S, PATIENCE_S, &start, err);

	if (stream < 0)
		return -1;
	buf_reset(&x->payload);
	x->state = torch_worker_answer(stream, x->max_bytes, &x->payload);
	close(stream);
	return x->state == TORCH_STATES ? torch_worker_ended(torch->worker, start, ended, err) : 0;
}

/* The expected outputs, moved out of the file that came. */
static int
take_outputs(const struct task *t, const struct task_workload *w, const struct buf *payload, struct tensor *expected,
	struct buf *err)
{
	struct safetensors file = SAFETENSORS_INIT;
	int taken = 0, status = safetensors_parse(payload->data, payload->len, &file, err);

	for (; !status && taken < t->outputs; taken++) {
		const struct task_tensor *output = &t->output[taken];
		struct tensor *got = (struct tensor *)safetensors_find(&file, output->name);
		int64_t shape[TASK_MAX_RANK];

		task_shape(t, output, w, shape);
		if (!got || got->rank != output->rank || memcmp(got->shape, shape, (size_t)got->rank * sizeof *shape) ||
		    got->dtype != (dtype_is_float(output->dtype) ? DTYPE_FLOAT64 : DTYPE_INT64)) {
			status = buf_err(err, "the answer does not hold output %s as the task has it", output->name);
			break;
		}
		expected[taken] = *got;
		*got = (struct tensor)TENSOR_INIT;
	}
	if (status)
		while (taken-- > 0)
			tensor_release(&expected[taken]);
	safetensors_release(&file);
	return status;
}

static enum oracle_status
judge(const struct task *t, const struct task_workload *w, enum torch_state state, const struct buf *payload,
	struct tensor *expected, const char **code, struct buf *err)
{
	if (state == TORCH_OK) {
		*code = codes[TORCH_FAILED];
		return take_outputs(t, w, payload, expected, err) ? ORACLE_REFUSED : ORACLE_OK;
	}
	*code = codes[state] ? codes[state] : codes[TORCH_FAILED];
	buf_addf(err, "%s: %s", torch_state_words(state), buf_str(payload));
	return ORACLE_REFUSED;
}

static enum oracle_status
miss_torch(const struct torch *torch, struct buf *err)
{
	buf_err(err, "the task has a PyTorch module, and %s has no torch: install python3-torch, or name another with --python",
		torch->python);
	return ORACLE_UNAVAILABLE;
}

/* After two requests that nobody answered. */
static enum oracle_status
give_up(const struct torch *torch, const struct sandbox_result *ended, const char **code, struct buf *err)
{
	if (ended->cause == SANDBOX_EXITED && ended->exit_status == TORCH_EXIT_MISSING)
		return miss_torch(torch, err);
	*code = codes[TORCH_EXITED];
	buf_adds(err, "reference.py ended the Python that ran it, twice");
	return ORACLE_REFUSED;
}

/* Asks, and where nobody answered asks again alone. 0, or -1: infrastructure. */
static int
converse(struct torch *torch, struct exchange *x, struct sandbox_result *ended, struct buf *err)
{
	int failed = 0;

	x->state = TORCH_STATES;
	for (int attempt = 0; attempt < 2 && x->state == TORCH_STATES && !failed; attempt++) {
		if (attempt)
			pthread_rwlock_wrlock(&torch->alone);
		else
			pthread_rwlock_rdlock(&torch->alone);
		failed = ask(torch, x, ended, err);
		pthread_rwlock_unlock(&torch->alone);
	}
	return failed;
}

enum oracle_status
torch_run(struct torch *torch, const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	struct tensor *expected, const char **code, struct buf *err)
{
	struct exchange x = { .max_bytes = SAFETENSORS_MAX_HEADER_BYTES };
	enum oracle_status status = ORACLE_INFRASTRUCTURE;
	struct sandbox_result ended;

	if (!torch_worker_exists(torch->worker))
		return miss_torch(torch, err);
	json_t *request = torch_worker_request("run", t, w);
	rec_json_dump(request, &x.text);
	json_decref(request);
	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];
		x.max_bytes += 8 * (uint64_t)task_shape(t, &t->output[i], w, shape);
	}
	if (!safetensors_format(inputs, (size_t)t->inputs, &x.tensors, err) && !converse(torch, &x, &ended, err))
		status = x.state == TORCH_STATES ? give_up(torch, &ended, code, err) :
			judge(t, w, x.state, &x.payload, expected, code, err);
	exchange_release(&x);
	return status;
}
