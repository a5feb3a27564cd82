/* A child process within limits. In: a command. Out: its status, output and use of resources.
 * The child is a process group of its own, so that one kill ends all that it started; a pidfd
 * lets one poll wait for output, for the end and for the clock. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { DEFAULT_OUTPUT_MAX = 1 << 20, MAX_KEPT_FDS = 16 };

static void
close_range_from(unsigned first, unsigned last)
{
	syscall(SYS_close_range, first, last, 0);
}

/* Closes everything from 3 on but the kept descriptors, which are sorted on the way. */
static void
close_others(const int *keep)
{
	unsigned next = 3;

	for (;;) {
		int smallest = -1;
		for (int i = 0; keep && keep[i] >= 0; i++)
			if ((unsigned)keep[i] >= next && (smallest < 0 || keep[i] < smallest))
				smallest = keep[i];
		if (smallest < 0)
			break;
		if ((unsigned)smallest > next)
			close_range_from(next, (unsigned)smallest - 1);
		fcntl(smallest, F_SETFD, 0);
		next = (unsigned)smallest + 1;
	}
	close_range_from(next, ~0u);
}

static _Noreturn void
child(const struct spawn *how, int in, int out, int errors, int report)
{
	static char *const empty[] = { NULL };
	int kept[MAX_KEPT_FDS + 2], count = 0;
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0)
		goto fail;
	if (how->directory && chdir(how->directory))
		goto fail;
	for (; how->keep_fds && how->keep_fds[count] >= 0 && count < MAX_KEPT_FDS; count++)
		kept[count] = how->keep_fds[count];
	kept[count++] = report;
	kept[count] = -1;
	close_others(kept);
	fcntl(report, F_SETFD, FD_CLOEXEC);
	if (how->prepare && how->prepare(how->context))
		_exit(126);
	execve(how->argv[0], how->argv, how->envp ? how->envp : empty);
fail:;
	int code = errno;
	if (write(report, &code, sizeof code) < 0)
		_exit(127);
	_exit(127);
}

struct stream {
	int fd;
	struct buf *into;
	size_t taken, max;
	bool cut;
};

static void
drain(struct stream *s)
{
	char bytes[65536];
	ssize_t got = read(s->fd, bytes, sizeof bytes);

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		close(s->fd);
		s->fd = -1;
		return;
	}
	size_t room = s->max - s->taken, use = (size_t)got < room ? (size_t)got : room;
	if (s->into)
		buf_add(s->into, bytes, use);
	s->taken += use;
	if (use < (size_t)got)
		s->cut = true;
}

static void
feed(int *fd, const char *bytes, size_t count, size_t *done)
{
	ssize_t put = write(*fd, bytes + *done, count - *done);

	if (put < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (put > 0)
		*done += (size_t)put;
	if (put < 0 || *done == count) {
		close(*fd);
		*fd = -1;
	}
}

/* Waits for the end of the child or of its time, moving bytes meanwhile. */
static void
supervise(const struct spawn *how, pid_t pid, int pidfd, int in, struct stream *streams, struct spawn_result *result)
{
	uint64_t start = clock_ns(), deadline = how->wall_ms ? start + how->wall_ms * 1000000u : UINT64_MAX;
	size_t fed = 0;
	bool ended = false;
	uint64_t grace = UINT64_MAX;

	while (!ended || streams[0].fd >= 0 || streams[1].fd >= 0) {
		uint64_t now = clock_ns(), until = ended ? grace : deadline;
		int wait_ms = -1;

		if (now >= until) {
			if (ended)
				break;
			result->timed_out = true;
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			deadline = UINT64_MAX;
			continue;
		}
		if (until != UINT64_MAX)
			wait_ms = (int)((until - now) / 1000000u) + 1;
		struct pollfd p[4] = {
			{ ended ? -1 : pidfd, POLLIN, 0 }, { streams[0].fd, POLLIN, 0 },
			{ streams[1].fd, POLLIN, 0 }, { in, POLLOUT, 0 },
		};
		if (poll(p, 4, wait_ms) < 0)
			continue;
		if (p[1].revents)
			drain(&streams[0]);
		if (p[2].revents)
			drain(&streams[1]);
		if (p[3].revents)
			feed(&in, how->input, how->input_bytes, &fed);
		if (p[0].revents) {
			/* The leader is gone: its group dies too, and what it wrote is still read. */
			ended = true;
			kill(-pid, SIGKILL);
			grace = clock_ns() + 2000000000u;
		}
	}
	if (in >= 0)
		close(in);
	for (int i = 0; i < 2; i++)
		if (streams[i].fd >= 0)
			close(streams[i].fd);
	result->output_cut = streams[0].cut || streams[1].cut;
	result->wall_ns = clock_ns() - start;
}

static void
reap(pid_t pid, struct spawn_result *result)
{
	struct rusage usage;
	int status;

	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	result->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	result->user_ns = (uint64_t)usage.ru_utime.tv_sec * 1000000000u + (uint64_t)usage.ru_utime.tv_usec * 1000u;
	result->system_ns = (uint64_t)usage.ru_stime.tv_sec * 1000000000u + (uint64_t)usage.ru_stime.tv_usec * 1000u;
	result->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024u;
}

static void
close_all(int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int
spawn_run(const struct spawn *how, struct spawn_result *result, struct buf *err)
{
	/* pairs: standard input, output, errors, report of a failed exec */
	int fd[8] = { -1, -1, -1, -1, -1, -1, -1, -1 }, code = 0;

	*result = (struct spawn_result){ 0 };
	for (int i = 0; i < 8; i += 2)
		if (pipe2(fd + i, O_CLOEXEC))
			goto fail;
	bool feeds = how->input && how->input_bytes && !how->input_fd;
	if (!feeds) {
		close(fd[0]);
		fd[0] = how->input_fd ? fcntl(how->input_fd, F_DUPFD_CLOEXEC, 3) : open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd[0] < 0)
			goto fail;
	}
	pid_t pid = fork();
	if (pid < 0)
		goto fail;
	if (pid == 0)
		child(how, fd[0], fd[3], fd[5], fd[7]);
	setpgid(pid, pid);
	close(fd[0]);
	close(fd[3]);
	close(fd[5]);
	close(fd[7]);
	if (feeds) {
		fcntl(fd[1], F_SETFL, O_NONBLOCK);
	} else {
		close(fd[1]);
		fd[1] = -1;
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	size_t max = how->output_max ? how->output_max : DEFAULT_OUTPUT_MAX;
	struct stream streams[2] = { { fd[2], how->output, 0, max, false }, { fd[4], how->errors, 0, max, false } };
	supervise(how, pid, pidfd, fd[1], streams, result);
	reap(pid, result);
	close(pidfd);
	ssize_t got = read(fd[6], &code, sizeof code);
	close(fd[6]);
	if (got == sizeof code)
		return buf_err(err, "%s: cannot run: %s", how->argv[0], strerror(code));
	return 0;
fail:
	code = errno;
	close_all(fd, 8);
	return buf_err(err, "%s: cannot start: %s", how->argv[0], strerror(code));
}

char *
spawn_libexec(const char *name)
{
	char self[4096];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	struct buf path = BUF_INIT;

	self[length > 0 ? length : 0] = 0;
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
	}
	/* Internal programs stand in libexec/kernelmosaic themselves, one folder deeper. */
	size_t end = strlen(self);
	bool inside = end >= 8 && !strcmp(self + end - 8, "/libexec");
	buf_addf(&path, "%s%s/kernelmosaic/%s", self, inside ? "" : "/libexec", name);
	return buf_detach(&path);
}
