/* The side of the stage: inputs and source out to the Python in the sandbox, expected outputs back. What comes back was
 * in the hands of the reference's author, so names, types and shapes are checked against the task. */
#include "eval/torch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "rec/json.h"
#include "sandbox/server.h"
#include "tensor/safetensors.h"

enum { WALL_S = 20, PATIENCE_MS = (WALL_S + 120) * 1000, EXIT_NO_TORCH = 69, MAX_WORDS = 4096, BINDS = 3 };

enum state { STATE_OK, STATE_DOES_NOT_COMPILE, STATE_FAILED, STATE_TOO_SLOW, STATE_EXITED, STATES };
static const struct { const char *code, *words; } states[STATES] = {
	[STATE_DOES_NOT_COMPILE] = { "reference_does_not_compile", "reference.py cannot be loaded" },
	[STATE_FAILED] = { "reference_crashed", "reference.py fails" },
	[STATE_TOO_SLOW] = { "reference_timeout", "reference.py does not return" },
	[STATE_EXITED] = { "reference_exited", "reference.py ended the program instead of returning" },
};

struct request_head {		/* as in torch_worker.py */
	uint64_t text_bytes, tensor_bytes, seconds;
};

struct torch {
	/* A module can end the Python that all share. Who was not answered asks again alone, so that it fails for its own
	 * deeds only. */
	pthread_rwlock_t alone;
	struct sandbox_server *server;
	const char *argv[3], *binds[BINDS + 1];
	char *owned_binds[BINDS];
};

/* The folder two levels up, unless the sandbox shows it anyway. Returned owned, or NULL. */
static char *
prefix_of(const char *program)
{
	char *prefix = xstrdup(program);

	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(prefix, '/');
		if (slash)
			*slash = 0;
	}
	if (*prefix && strcmp(prefix, "/usr"))
		return prefix;
	free(prefix);
	return NULL;
}

struct torch *
torch_new(const char *python)
{
	struct torch *torch = xcalloc(1, sizeof *torch);
	struct sandbox_limits limits = { .address_space_bytes = SANDBOX_UNLIMITED };
	char *real = realpath(python, NULL);


	pthread_rwlock_init(&torch->alone, NULL);
	int binds = 0;

	/* A virtual environment has its packages in one place and its Python in another. */
	const char *const places[] = { python, real };
	for (int i = 0; i < 2; i++)
		if (places[i] && (torch->owned_binds[binds] = prefix_of(places[i])))
			torch->binds[binds] = torch->owned_binds[binds], binds++;
	free(real);
	torch->argv[0] = python;
	torch->argv[1] = "/kernelmosaic/torch_worker.py";
	torch->server = sandbox_server_new(torch->argv, torch->binds, &limits);
	return torch;
}

void
torch_free(struct torch *torch)
{
	if (!torch)
		return;
	sandbox_server_free(torch->server);
	pthread_rwlock_destroy(&torch->alone);
	for (int i = 0; i < BINDS; i++)
		free(torch->owned_binds[i]);
	free(torch);
}

static void
describe(const struct task *t, const struct task_workload *w, struct buf *out)
{
	json_t *outputs = json_array(), *values = json_object();

	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];
		json_t *list = json_array();

		task_shape(t, &t->output[i], w, shape);
		for (int d = 0; d < t->output[i].rank; d++)
			json_array_append_new(list, json_integer(shape[d]));
		json_array_append_new(outputs, json_pack("{s:s, s:o, s:b}", "name", t->output[i].name, "shape", list, "float",
			dtype_is_float(t->output[i].dtype)));
	}
	for (int i = 0; i < t->axes; i++)
		json_object_set_new(values, t->axis[i].name, json_integer(w->axes[i]));
	for (int i = 0; i < t->scalars; i++)
		json_object_set_new(values, t->scalar[i].name, dtype_is_float(t->scalar[i].dtype) ?
			json_real(t->scalar[i].value) : json_integer((json_int_t)t->scalar[i].value));
	json_t *request = json_pack("{s:s, s:o, s:o}", "source", t->reference, "outputs", outputs, "values", values);
	rec_json_dump(request, out);
	json_decref(request);
}

/* What is asked, and what came back. */
struct exchange {
	struct buf text, tensors, payload;
	uint64_t max_bytes;		/* of the payload */
	unsigned char state;		/* enum state; STATES: nobody answered */
};

static void
exchange_release(struct exchange *x)
{
	buf_release(&x->text);
	buf_release(&x->tensors);
	buf_release(&x->payload);
}

/* Asks on a stream. 0 with the state and its payload, or -1: no answer. */
static int
ask(int stream, struct exchange *x)
{
	struct request_head head = { x->text.len, x->tensors.len, WALL_S };
	uint64_t bytes = 0;
	int status = -1;

	if (!io_send_fd(stream, &head, sizeof head) && !io_send_fd(stream, x->text.data, x->text.len) &&
	    !io_send_fd(stream, x->tensors.data, x->tensors.len) && !io_read_fd(stream, &x->state, 1) &&
	    !io_read_fd(stream, &bytes, sizeof bytes) && x->state < STATES &&
	    bytes <= (x->state == STATE_OK ? x->max_bytes : MAX_WORDS)) {
		buf_reserve(&x->payload, bytes + 1);
		status = bytes ? io_read_fd(stream, x->payload.data, bytes) : 0;
		x->payload.len = status ? 0 : bytes;
		x->payload.data[x->payload.len] = 0;
	}
	close(stream);
	return status;
}

/* Asks the server once. 0 with the state, which stays STATES when nobody answers, or -1: infrastructure. */
static int
ask_server(const struct torch *torch, struct exchange *x, struct sandbox_result *ended, struct buf *err)
{
	unsigned start;
	int stream = sandbox_server_open(torch->server, PATIENCE_MS, &start, err);

	if (stream < 0)
		return -1;
	if (!ask(stream, x))
		return 0;
	x->state = STATES;
	return sandbox_server_failed(torch->server, start, ended, err);
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
judge(const struct task *t, const struct task_workload *w, enum state state, const struct buf *payload,
	struct tensor *expected, const char **code, struct buf *err)
{
	if (state == STATE_OK) {
		*code = states[STATE_FAILED].code;
		return take_outputs(t, w, payload, expected, err) ? ORACLE_REFUSED : ORACLE_OK;
	}
	*code = states[state].code;
	buf_addf(err, "%s: %s", states[state].words, buf_str(payload));
	return ORACLE_REFUSED;
}

static enum oracle_status
miss_torch(const struct torch *torch, struct buf *err)
{
	buf_err(err, "the task has a PyTorch module, and %s has no torch: install python3-torch, or name another with --python",
		torch->argv[0]);
	return ORACLE_UNAVAILABLE;
}

/* After two requests that nobody answered. */
static enum oracle_status
give_up(const struct torch *torch, const struct sandbox_result *ended, const char **code, struct buf *err)
{
	if (ended->cause == SANDBOX_EXITED && ended->exit_status == EXIT_NO_TORCH)
		return miss_torch(torch, err);
	*code = states[STATE_EXITED].code;
	buf_adds(err, "reference.py ended the Python that ran it, twice");
	return ORACLE_REFUSED;
}

/* Asks, and where nobody answered asks again alone. 0, or -1: infrastructure. */
static int
converse(struct torch *torch, struct exchange *x, struct sandbox_result *ended, struct buf *err)
{
	int failed = 0;

	x->state = STATES;
	for (int attempt = 0; attempt < 2 && x->state == STATES && !failed; attempt++) {
		if (attempt)
			pthread_rwlock_wrlock(&torch->alone);
		else
			pthread_rwlock_rdlock(&torch->alone);
		failed = ask_server(torch, x, ended, err);
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

	if (access(torch->argv[0], X_OK))
		return miss_torch(torch, err);
	describe(t, w, &x.text);
	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];
		x.max_bytes += 8 * (uint64_t)task_shape(t, &t->output[i], w, shape);
	}
	if (!safetensors_format(inputs, (size_t)t->inputs, &x.tensors, err) && !converse(torch, &x, &ended, err))
		status = x.state == STATES ? give_up(torch, &ended, code, err) :
			judge(t, w, (enum state)x.state, &x.payload, expected, code, err);
	exchange_release(&x);
	return status;
}
