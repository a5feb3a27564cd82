/* The quick check: asks the warm NVRTC in the sandbox, and says what its answer is worth.
 *
 * In: source and prelude. Out: it compiles, it does not, or ask nvcc. NVRTC sees another world than nvcc (no host
 * headers, host functions taken for device functions), so its errors count only when the first one is of a kind that no
 * header can cause: syntax, and calls with the wrong number of arguments. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build_log.h"
#include "cuda/nvrtc.h"
#include "cuda/nvrtc_protocol.h"
#include "cuda/nvrtc_source.h"
#include "sandbox/server.h"

enum {
	DEFAULT_WALL_MS = 10000,
	PATIENCE_MS = 60000	/* beyond a compile's own time: the server may be reading headers, or be busy */
};
#define DEFAULT_MEMORY (4ull << 30)
#define HEADERS_BYTES (2ull << 30)	/* of precompiled headers: up to 140 MiB a set */

static const char *const certain[] = {
	"expected a", "unrecognized token", "missing closing quote", "too few arguments in function call",
	"too many arguments in function call", "this declaration has no storage class or type specifier",
	"a break statement may only be used", "a continue statement may only be used",
};

/* Is the log's first error in the source, and of a kind that nvcc shares? */
static bool
error_is_certain(const char *log)
{
	const char *first = strstr(log, "error: "), *line = first;

	if (!first)
		return false;
	while (line > log && line[-1] != '\n')
		line--;
	if (strncmp(line, "solution.cu(", 12) != 0 && strncmp(line, "At end of source", 16) != 0)
		return false;
	first += strlen("error: ");
	for (size_t i = 0; i < sizeof certain / sizeof *certain; i++)
		if (!strncmp(first, certain[i], strlen(certain[i])))
			return true;
	return false;
}

static int
unsure(enum cuda_check *answer, struct buf *log, const char *format, const char *what)
{
	*answer = CUDA_CHECK_ASK_NVCC;
	buf_reset(log);
	buf_addf(log, format, what);
	return 0;
}

static int
judge(enum nvrtc_state state, int signal, const char *source, size_t bytes, enum cuda_check *answer, struct buf *log)
{
	struct buf name = BUF_INIT;

	if (state == NVRTC_DIED)
		return unsure(answer, log, "NVRTC did not end by itself%s", signal == SIGALRM ? ": the wall clock" :
			signal == SIGXCPU || signal == SIGKILL ? ": the processor limit" : signal ? ": it crashed" : "");
	build_log_clean(log, NULL);
	if (state == NVRTC_COMPILES && nvrtc_mixes_host_and_device(source, bytes, &name))
		unsure(answer, log, "device code may call the host function %s", buf_str(&name));
	else if (state == NVRTC_COMPILES)
		*answer = CUDA_CHECK_OK;
	else if (error_is_certain(buf_str(log)))
		*answer = CUDA_CHECK_ERROR;
	else
		*answer = CUDA_CHECK_ASK_NVCC;
	buf_release(&name);
	return 0;
}

/* ---- the server */

struct cuda_checker {
	struct sandbox_server *server;
	char *toolkit;
	char architecture[40];
	const char *argv[4], *binds[2];
};

struct cuda_checker *
cuda_checker_new(int arch)
{
	struct cuda_checker *c = xcalloc(1, sizeof *c);
	struct sandbox_job job = { .argv = c->argv, .binds = c->binds,
		.limits = { .address_space_bytes = SANDBOX_UNLIMITED, .tmp_bytes = HEADERS_BYTES } };

	c->toolkit = realpath(KM_CUDA, NULL);
	c->argv[0] = "/kernelmosaic/km-nvrtc";
	c->argv[1] = c->toolkit ? c->toolkit : KM_CUDA;
	snprintf(c->architecture, sizeof c->architecture, "--gpu-architecture=compute_%d", arch);
	c->argv[2] = c->architecture;
	c->binds[0] = strncmp(c->argv[1], "/usr/", 5) ? c->argv[1] : NULL;
	c->server = sandbox_server_new(&job);
	return c;
}

void
cuda_checker_free(struct cuda_checker *c)
{
	if (!c)
		return;
	sandbox_server_free(c->server);
	free(c->toolkit);
	free(c);
}

/* Asks on a stream. 0 with the head and the log, or -1: the server is gone, or silent. */
static int
ask(int stream, const struct nvrtc_request *request, const char *source, const char *prelude, struct nvrtc_answer *answer,
	struct buf *log)
{
	int status = -1;

	if (!io_send_fd(stream, request, sizeof *request) &&
	    !io_send_fd(stream, source, request->source_bytes) &&
	    !io_send_fd(stream, prelude, request->prelude_bytes) && !io_read_fd(stream, answer, sizeof *answer) &&
	    answer->log_bytes <= NVRTC_MAX_LOG_BYTES) {
		buf_reserve(log, answer->log_bytes + 1);
		status = answer->log_bytes ? io_read_fd(stream, log->data + log->len, answer->log_bytes) : 0;
		log->len += status ? 0 : answer->log_bytes;
		log->data[log->len] = 0;
	}
	close(stream);
	return status;
}

int
cuda_quick_check(struct cuda_checker *c, const char *source, size_t source_bytes, const char *prelude,
	const struct cuda_limits *limits, enum cuda_check *answer, struct buf *log, struct buf *err)
{
	struct nvrtc_request request = { (uint32_t)source_bytes, (uint32_t)strlen(prelude), DEFAULT_WALL_MS, DEFAULT_MEMORY };
	struct nvrtc_answer head;
	struct sandbox_result ended;
	struct buf reason = BUF_INIT;
	unsigned start;

	if (limits && limits->wall_ms)
		request.wall_ms = limits->wall_ms;
	if (limits && limits->memory_bytes)
		request.memory_bytes = limits->memory_bytes;
#ifdef CUDA_SANITIZED
	request.memory_bytes = 0;
#endif
	if (source_bytes > CUDA_MAX_SOURCE_BYTES)
		return unsure(answer, log, "%s", "the source is too long");
	if (build_refused_include(source, source_bytes, &reason)) {
		unsure(answer, log, "%s", buf_str(&reason));
		buf_release(&reason);
		return 0;
	}
	for (int attempt = 0; attempt < 2; attempt++) {
		int stream = sandbox_server_open(c->server, request.wall_ms + PATIENCE_MS, &start, err);

		if (stream < 0)
			return -1;
		if (!ask(stream, &request, source, prelude, &head, log))
			return judge((enum nvrtc_state)head.state, (int)head.signal, source, source_bytes, answer, log);
		if (sandbox_server_failed(c->server, start, &ended, err))
			return -1;
		if (ended.cause == SANDBOX_EXITED && ended.exit_status == NVRTC_EXIT_UNAVAILABLE)
			return unsure(answer, log, "%s", "there is no libnvrtc.so.13");
	}
	return unsure(answer, log, "%s", "NVRTC's server ended twice");
}
