/* A Python program in, a process in the sandbox out that answers on streams. What comes back was in the hands of a
 * reference's author: every length has a bound, and callers check what it holds. */
#include "eval/torch_worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "rec/json.h"
#include "sandbox/server.h"

enum { MAX_WORDS = 4096, BINDS = 4, MAX_GPUS = 64, ENVIRONMENT = 16 };
enum { GPU_THREADS = 4096, GPU_OPEN_FILES = 4096, GPU_FILES = 65536 };
#define GPU_TMP_BYTES (1ull << 30)	/* a compiler's cache */
#define GPU_MEMORY_BYTES (32ull << 30)	/* of the host */

static const char *const words[TORCH_STATES] = {
	[TORCH_DOES_NOT_COMPILE] = "reference.py cannot be loaded",
	[TORCH_FAILED] = "reference.py fails",
	[TORCH_TOO_SLOW] = "reference.py does not return",
	[TORCH_EXITED] = "reference.py ended the program instead of returning",
	[TORCH_NO_GPU] = "PyTorch cannot use the GPU",
};

struct request_head {		/* as in torch_worker.py */
	uint64_t text_bytes, part_bytes, seconds;
};

struct torch_worker {
	struct sandbox_server *server;
	const char *argv[3], *binds[BINDS + 1], *environment[ENVIRONMENT];
	char *owned_binds[BINDS], *library;
};

const char *
torch_state_words(enum torch_state state)
{
	return words[state] ? words[state] : "PyTorch's answer is out of order";
}

/* ---- what it may use */

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

/* The device files of NVIDIA's driver, there or not. */
static const char *const *
gpu_devices(void)
{
	static char names[MAX_GPUS][24];
	static const char *list[MAX_GPUS + 4] = { "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools" };

	for (int i = 0; i < MAX_GPUS; i++) {
		snprintf(names[i], sizeof names[i], "/dev/nvidia%d", i);
		list[3 + i] = names[i];
	}
	return list;
}

/* Compilers of torch.compile ask who they are and where they may keep what they make. */
static void
allow_gpu(struct torch_worker *w, struct sandbox_job *job, int *binds)
{
	static const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C", "TMPDIR=/tmp",
		"USER=kernelmosaic", "TRITON_CACHE_DIR=/tmp/triton", "TORCHINDUCTOR_CACHE_DIR=/tmp/inductor",
		"TORCHINDUCTOR_COMPILE_THREADS=1", NULL };
	const char *library = getenv("KM_LIBCUDA");
	struct buf line = BUF_INIT;
	int n = 0;

	for (; environment[n]; n++)
		w->environment[n] = environment[n];
	if (library) {
		buf_addf(&line, "KM_LIBCUDA=%s", library);
		w->environment[n++] = w->library = buf_detach(&line);
		w->binds[(*binds)++] = library;
	}
	job->environment = w->environment;
	job->devices = gpu_devices();
	job->limits = (struct sandbox_limits){ .address_space_bytes = SANDBOX_UNLIMITED, .memory_bytes = GPU_MEMORY_BYTES,
		.processes = GPU_THREADS, .open_files = GPU_OPEN_FILES, .tmp_bytes = GPU_TMP_BYTES, .files = GPU_FILES };
}

struct torch_worker *
torch_worker_new(const char *python, bool gpu)
{
	struct torch_worker *w = xcalloc(1, sizeof *w);
	struct sandbox_job job = { .argv = w->argv, .binds = w->binds,
		.limits = { .address_space_bytes = SANDBOX_UNLIMITED } };
	char *real = realpath(python, NULL);
	int binds = 0;

	/* A virtual environment has its packages in one place and its Python in another. */
	const char *const places[] = { python, real };
	for (int i = 0; i < 2; i++)
		if (places[i] && (w->owned_binds[binds] = prefix_of(places[i])))
			w->binds[binds] = w->owned_binds[binds], binds++;
	free(real);
	if (gpu)
		allow_gpu(w, &job, &binds);
	w->argv[0] = python;
	w->argv[1] = "/kernelmosaic/torch_worker.py";
	w->server = sandbox_server_new(&job);
	return w;
}

void
torch_worker_free(struct torch_worker *w)
{
	if (!w)
		return;
	sandbox_server_free(w->server);
	for (int i = 0; i < BINDS; i++)
		free(w->owned_binds[i]);
	free(w->library);
	free(w);
}

bool
torch_worker_exists(const struct torch_worker *w)
{
	return !access(w->argv[0], X_OK);
}

/* ---- requests */

int
torch_worker_ask(struct torch_worker *w, const struct buf *text, const struct buf *part, uint64_t seconds,
	uint64_t patience_s, unsigned *start, struct buf *err)
{
	struct request_head head = { text->len, part ? part->len : 0, seconds };
	int stream = sandbox_server_open(w->server, patience_s * 1000, start, err);

	if (stream >= 0 && !io_send_fd(stream, &head, sizeof head) && !io_send_fd(stream, text->data, text->len) && part)
		io_send_fd(stream, part->data, part->len);
	return stream;
}

enum torch_state
torch_worker_answer(int stream, uint64_t max_bytes, struct buf *payload)
{
	unsigned char state;
	uint64_t bytes;

	if (io_read_fd(stream, &state, 1) || io_read_fd(stream, &bytes, sizeof bytes) || state >= TORCH_STATES ||
	    bytes > (state == TORCH_OK ? max_bytes : MAX_WORDS))
		return TORCH_STATES;
	buf_reserve(payload, bytes + 1);
	if (bytes && io_read_fd(stream, payload->data + payload->len, bytes))
		return TORCH_STATES;
	payload->len += bytes;
	payload->data[payload->len] = 0;
	return (enum torch_state)state;
}

int
torch_worker_ended(struct torch_worker *w, unsigned start, struct sandbox_result *ended, struct buf *err)
{
	return sandbox_server_failed(w->server, start, ended, err);
}

json_t *
torch_worker_request(const char *what, const struct task *t, const struct task_workload *w)
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
	return json_pack("{s:s, s:s, s:o, s:o}", "do", what, "source", t->reference, "outputs", outputs, "values", values);
}
