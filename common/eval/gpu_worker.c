/* A GPU's number in, a process that waits with a context out. It is started with nothing of ours but its socket, and
 * when it is late it is killed: a kernel that never ends takes only its own process with it. */
#include "eval/gpu_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "rec/json.h"

enum { CHILD_SOCKET = 3, ERRORS_BYTES = 2048, LIST_WALL_MS = 60000 };

/* What the driver needs to be told, and nothing else. The caches of translated code are off: a run depends on its
 * fatbin alone. */
char **
gpu_worker_environment(const char *const *more)
{
	static const char *const passed[] = { "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "KM_LIBCUDA",
		"KM_STANDIN" };
	enum { PASSED = sizeof passed / sizeof *passed };
	int n = 0;

	while (more && more[n])
		n++;
	char **list = xcalloc((size_t)n + PASSED + 3, sizeof *list);
	for (int i = 0; i < n; i++)
		list[i] = xstrdup(more[i]);
	for (int i = 0; i < PASSED; i++) {
		const char *value = getenv(passed[i]);
		struct buf line = BUF_INIT;

		if (!value)
			continue;
		buf_addf(&line, "%s=%s", passed[i], value);
		list[n++] = buf_detach(&line);
	}
	list[n++] = xstrdup("CUDA_CACHE_DISABLE=1");
	list[n++] = xstrdup("CUDA_MODULE_LOADING=EAGER");
	list[n] = NULL;
	return list;
}

void
gpu_worker_free_list(char **list)
{
	for (int i = 0; list[i]; i++)
		free(list[i]);
	free(list);
}

static int
start_process(struct gpu_worker *w, int number, int child_socket, struct buf *err)
{
	posix_spawn_file_actions_t actions;
	char *path = spawn_libexec("km-gpu"), text[16];
	char **environment = gpu_worker_environment(NULL);
	char *argv[] = { path, text, NULL };

	snprintf(text, sizeof text, "%d", number);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, w->errors, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&actions, child_socket, CHILD_SOCKET);
	posix_spawn_file_actions_addclosefrom_np(&actions, CHILD_SOCKET + 1);
	int failed = posix_spawn(&w->pid, path, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	gpu_worker_free_list(environment);
	if (failed)
		buf_err(err, "cannot start %s: %s", path, strerror(failed));
	free(path);
	return failed ? -1 : 0;
}

/* How it ended, with the last line that it wrote. */
static void
reap(struct gpu_worker *w, bool *signalled, struct buf *how)
{
	char said[ERRORS_BYTES + 1];
	int status = 0;

	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	w->pid = -1;
	*signalled = WIFSIGNALED(status);
	if (WIFSIGNALED(status))
		buf_addf(how, "it ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		buf_addf(how, "it ended with status %d", WEXITSTATUS(status));
	off_t end = lseek(w->errors, 0, SEEK_END);
	ssize_t got = pread(w->errors, said, ERRORS_BYTES, end > ERRORS_BYTES ? end - ERRORS_BYTES : 0);
	if (got > 0) {
		said[got] = '\0';
		said[strcspn(said, "\n")] = '\0';
		buf_addf(how, ": %s", said);
	}
}

struct gpu_worker *
gpu_worker_start(int number, uint64_t wall_ms, struct buf *err)
{
	struct gpu_worker *w = xcalloc(1, sizeof *w);
	struct message m = MESSAGE_INIT;
	struct buf how = BUF_INIT;
	int pair[2];
	bool signalled;

	w->pid = w->socket = -1;
	w->errors = memfd_create("km-gpu-errors", MFD_CLOEXEC);
	if (w->errors < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		buf_err(err, "cannot make a socket for a GPU worker: %s", strerror(errno));
		gpu_worker_end(w);
		return NULL;
	}
	w->socket = pair[0];
	int started = start_process(w, number, pair[1], err);
	close(pair[1]);
	if (started == 0 && message_receive(w->socket, wall_ms, 1 << 16, &m) == 1 && m.parts == 1) {
		message_release(&m);
		return w;
	}
	if (started == 0) {
		kill(w->pid, SIGKILL);
		reap(w, &signalled, &how);
		buf_err(err, "the worker of GPU %d does not become ready: %s", number, buf_str(&how));
	}
	message_release(&m);
	buf_release(&how);
	gpu_worker_end(w);
	return NULL;
}

/* A name of a kernel, not the answer. */
static bool
is_note(struct gpu_worker *w, const struct message *m)
{
	struct buf err = BUF_INIT;
	json_t *note = m->parts == 1 ? rec_json_parse(buf_str(&m->part[0]), m->part[0].len, &err) : NULL;
	const char *now = rec_json_string(note, "now", NULL);

	if (now) {
		buf_reset(&w->running);
		buf_adds(&w->running, now);
	}
	bool noted = now != NULL;
	json_decref(note);
	buf_release(&err);
	return noted;
}

enum gpu_reply
gpu_worker_ask(struct gpu_worker *w, struct message *m, uint64_t wall_ms, bool *signalled, struct buf *ended)
{
	uint64_t end = clock_ms() + wall_ms;
	int got = message_send(w->socket, m) ? -1 : 1;

	buf_reset(&w->running);
	*signalled = false;
	while (got == 1) {
		uint64_t now = clock_ms();

		got = message_receive(w->socket, now < end ? end - now : 0, MESSAGE_MAX_BYTES, m);
		if (got == 1 && !is_note(w, m))
			return GPU_REPLY_OK;
	}
	kill(w->pid, SIGKILL);
	reap(w, signalled, ended);
	if (got < 0 && strstr(buf_str(ended), "signal 9"))	/* ours: it had closed its socket and was ending */
		*signalled = false;
	return got == 0 ? GPU_REPLY_LATE : GPU_REPLY_ENDED;
}

void
gpu_worker_end(struct gpu_worker *w)
{
	struct buf how = BUF_INIT;
	bool signalled;

	if (!w)
		return;
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		reap(w, &signalled, &how);
	}
	if (w->socket >= 0)
		close(w->socket);
	if (w->errors >= 0)
		close(w->errors);
	buf_release(&w->running);
	buf_release(&how);
	free(w);
}

int
gpu_worker_list(struct buf *text, int *status, struct buf *err)
{
	char *path = spawn_libexec("km-gpu");
	char list[] = "--list";
	char *argv[] = { path, list, NULL }, **environment = gpu_worker_environment(NULL);
	struct buf said = BUF_INIT;
	struct spawn how = { .argv = argv, .envp = environment, .output = text, .errors = &said, .wall_ms = LIST_WALL_MS };
	struct spawn_result ended;
	int failed = spawn_run(&how, &ended, err);

	*status = failed ? EX_OSERR : ended.exit_status > 0 ? ended.exit_status : EX_UNAVAILABLE;
	if (!failed && ended.exit_status != 0) {
		const char *line = buf_str(&said);
		const char *colon = strstr(line, ": ");

		line = colon ? colon + 2 : line;
		failed = buf_err(err, "%.*s", (int)strcspn(line, "\n"), *line ? line : "km-gpu ended without a word");
	}
	gpu_worker_free_list(environment);
	buf_release(&said);
	free(path);
	return failed;
}
