/* The quick check: asks the warm NVRTC in the sandbox, and says what its answer is worth.
 *
 * In: source and prelude. Out: it compiles, it does not, or ask nvcc. NVRTC sees another world than nvcc (no host
 * headers, host functions taken for device functions), so its errors count only when the first one is of a kind that no
 * header can cause: syntax, and calls with the wrong number of arguments. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build_log.h"
#include "cuda/nvrtc.h"
#include "cuda/nvrtc_protocol.h"
#include "cuda/nvrtc_source.h"
#include "sandbox/sandbox.h"

enum {
	DEFAULT_WALL_MS = 10000,
	PATIENCE_MS = 60000,	/* beyond a compile's own time: the server may be reading headers, or be busy */
	SERVER_WALL_MS = 86400000
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
	pthread_mutex_t lock;
	pthread_t thread;		/* waits for the server's end */
	bool running;			/* the thread is to be joined */
	unsigned starts;
	int channel, server_end;	/* requests go in at channel */
	struct sandbox_result ended;
	struct buf failure;		/* of the sandbox */
};

struct cuda_checker *
cuda_checker_new(void)
{
	struct cuda_checker *c = xcalloc(1, sizeof *c);

	pthread_mutex_init(&c->lock, NULL);
	c->channel = -1;
	return c;
}

static void *
run_server(void *context)
{
	struct cuda_checker *c = context;
	char *toolkit = realpath(KM_CUDA, NULL);
	const char *argv[] = { "/kernelmosaic/km-nvrtc", toolkit ? toolkit : KM_CUDA, NULL };
	const char *binds[] = { strncmp(argv[1], "/usr/", 5) ? argv[1] : NULL, NULL };
	struct sandbox_job job = { .argv = argv, .binds = binds, .stdin_fd = c->server_end, .limits = {
		.wall_ms = SERVER_WALL_MS, .cpu_s = SERVER_WALL_MS / 1000, .address_space_bytes = SANDBOX_UNLIMITED,
		.tmp_bytes = HEADERS_BYTES } };

	if (sandbox_run(&job, &c->ended, &c->failure))
		c->ended.cause = SANDBOX_LAUNCH_FAILED;
	/* Streams that were sent and not taken end with it. */
	close(c->server_end);
	free(toolkit);
	return NULL;
}

/* With the lock held. */
static int
start_server(struct cuda_checker *c, struct buf *err)
{
	int pair[2];

	if (c->running)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return buf_err(err, "the quick check cannot start: %s", strerror(errno));
	c->channel = pair[0];
	c->server_end = pair[1];
	if ((errno = pthread_create(&c->thread, NULL, run_server, c))) {
		close(pair[0]);
		close(pair[1]);
		return buf_err(err, "the quick check cannot start: %s", strerror(errno));
	}
	c->running = true;
	c->starts++;
	return 0;
}

static void
stop_server(struct cuda_checker *c)
{
	if (!c->running)
		return;
	close(c->channel);
	pthread_join(c->thread, NULL);
	c->running = false;
}

void
cuda_checker_free(struct cuda_checker *c)
{
	if (!c)
		return;
	stop_server(c);
	pthread_mutex_destroy(&c->lock);
	buf_release(&c->failure);
	free(c);
}

/* ---- one request */

static int
send_all(int stream, const void *bytes, size_t count)
{
	for (const char *at = bytes; count;) {
		ssize_t sent = send(stream, at, count, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		count -= (size_t)sent;
	}
	return 0;
}

/* A new stream to the server, whose other end is on its way to it; -1 when there is no server any more. */
static int
open_stream(const struct cuda_checker *c, uint64_t wait_ms)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	struct timeval wait = { (time_t)(wait_ms / 1000), 0 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &pair[1], sizeof(int));
	ssize_t sent = sendmsg(c->channel, &message, MSG_NOSIGNAL);
	close(pair[1]);
	if (sent == 1 && !setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) &&
	    !setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait))
		return pair[0];
	close(pair[0]);
	return -1;
}

/* Asks once. 0 with the head and the log, or -1: the server is gone, or silent. */
static int
ask(const struct cuda_checker *c, const struct nvrtc_request *request, const char *source, const char *prelude,
	struct nvrtc_answer *answer, struct buf *log)
{
	int stream = open_stream(c, request->wall_ms + PATIENCE_MS), status = -1;

	if (stream < 0)
		return -1;
	if (!send_all(stream, request, sizeof *request) && !send_all(stream, source, request->source_bytes) &&
	    !send_all(stream, prelude, request->prelude_bytes) && !io_read_fd(stream, answer, sizeof *answer) &&
	    answer->log_bytes <= NVRTC_MAX_LOG_BYTES) {
		buf_reserve(log, answer->log_bytes + 1);
		status = answer->log_bytes ? io_read_fd(stream, log->data + log->len, answer->log_bytes) : 0;
		log->len += status ? 0 : answer->log_bytes;
		log->data[log->len] = 0;
	}
	close(stream);
	return status;
}

/* After a request that nobody answered: 1 try again, 0 there is no NVRTC, -1 ours. start: which server was asked. */
static int
look_after(struct cuda_checker *c, unsigned start, struct buf *err)
{
	int status = 1;

	pthread_mutex_lock(&c->lock);
	if (c->starts == start)
		stop_server(c);
	if (c->ended.cause == SANDBOX_LAUNCH_FAILED)
		status = buf_err(err, "%s", buf_str(&c->failure));
	else if (c->ended.cause == SANDBOX_EXITED && c->ended.exit_status == NVRTC_EXIT_UNAVAILABLE)
		status = 0;
	buf_reset(&c->failure);
	pthread_mutex_unlock(&c->lock);
	return status;
}

int
cuda_quick_check(struct cuda_checker *c, const char *source, size_t source_bytes, const char *prelude,
	const struct cuda_limits *limits, enum cuda_check *answer, struct buf *log, struct buf *err)
{
	struct nvrtc_request request = { (uint32_t)source_bytes, (uint32_t)strlen(prelude), DEFAULT_WALL_MS, DEFAULT_MEMORY };
	struct nvrtc_answer head;
	struct buf reason = BUF_INIT;
	unsigned start;
	int status = 1;

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
		status = unsure(answer, log, "%s", buf_str(&reason));
		buf_release(&reason);
		return status;
	}
	for (int attempt = 0; status == 1 && attempt < 2; attempt++) {
		pthread_mutex_lock(&c->lock);
		status = start_server(c, err);
		start = c->starts;
		pthread_mutex_unlock(&c->lock);
		if (status)
			return -1;
		if (!ask(c, &request, source, prelude, &head, log))
			return judge((enum nvrtc_state)head.state, (int)head.signal, source, source_bytes, answer, log);
		status = look_after(c, start, err);
	}
	if (status < 0)
		return -1;
	return unsure(answer, log, "%s", status ? "NVRTC's server ended twice" : "there is no libnvrtc.so.13");
}
