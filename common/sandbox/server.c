/* The caller's side of a program that serves: a thread holds its sandbox open, and streams are sent in to it. In: the
 * program. Out: streams. When the program ends, so do the streams that it has not taken, for nothing here keeps them. */
#include "sandbox/server.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/die.h"

enum { DAY_S = 86400 };

struct sandbox_server {
	pthread_mutex_t lock;
	pthread_t thread;		/* waits for the program's end */
	bool running;			/* the thread is to be joined */
	unsigned starts;
	int channel, inner_end;		/* packets go in at channel */
	struct sandbox_job job;
	struct sandbox_result ended;
	int failed;			/* the sandbox could not be had: failure */
	struct buf failure;
};

struct sandbox_server *
sandbox_server_new(const struct sandbox_job *job)
{
	struct sandbox_server *s = xcalloc(1, sizeof *s);

	pthread_mutex_init(&s->lock, NULL);
	s->job = (struct sandbox_job){ .argv = job->argv, .environment = job->environment, .binds = job->binds,
		.devices = job->devices, .limits = job->limits };
	if (!s->job.limits.wall_ms)
		s->job.limits.wall_ms = (uint64_t)DAY_S * 1000;
	if (!s->job.limits.cpu_s)
		s->job.limits.cpu_s = DAY_S;
	return s;
}

static void *
hold(void *context)
{
	struct sandbox_server *s = context;

	s->failed = sandbox_run(&s->job, &s->ended, &s->failure);
	close(s->inner_end);
	return NULL;
}

/* With the lock held. */
static int
start(struct sandbox_server *s, struct buf *err)
{
	int pair[2];

	if (s->running)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return buf_err(err, "%s cannot be started: %s", s->job.argv[0], strerror(errno));
	s->channel = pair[0];
	s->inner_end = s->job.stdin_fd = pair[1];
	buf_reset(&s->failure);
	if ((errno = pthread_create(&s->thread, NULL, hold, s))) {
		close(pair[0]);
		close(pair[1]);
		return buf_err(err, "%s cannot be started: %s", s->job.argv[0], strerror(errno));
	}
	s->running = true;
	s->starts++;
	return 0;
}

/* With the lock held, or nobody else there. */
static void
stop(struct sandbox_server *s)
{
	if (!s->running)
		return;
	close(s->channel);
	pthread_join(s->thread, NULL);
	s->running = false;
}

void
sandbox_server_free(struct sandbox_server *s)
{
	if (!s)
		return;
	stop(s);
	pthread_mutex_destroy(&s->lock);
	buf_release(&s->failure);
	free(s);
}

/* Sends one end of a pair on its way. A program that is gone shows when the other end is read. */
static int
send_end(int channel, int end)
{
	char byte = 0, control[CMSG_SPACE(sizeof end)] = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof end);
	memcpy(CMSG_DATA(head), &end, sizeof end);
	return sendmsg(channel, &message, MSG_NOSIGNAL) == 1 || errno == EPIPE || errno == ECONNRESET ? 0 : -1;
}

int
sandbox_server_open(struct sandbox_server *s, uint64_t patience_ms, unsigned *number, struct buf *err)
{
	struct timeval patience = { (time_t)(patience_ms / 1000), 0 };
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return buf_err(err, "%s cannot be asked: %s", s->job.argv[0], strerror(errno));
	pthread_mutex_lock(&s->lock);
	status = start(s, err);
	*number = s->starts;
	if (!status && (send_end(s->channel, pair[1]) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)))
		status = buf_err(err, "%s cannot be asked: %s", s->job.argv[0], strerror(errno));
	pthread_mutex_unlock(&s->lock);
	close(pair[1]);
	if (!status)
		return pair[0];
	close(pair[0]);
	return -1;
}

int
sandbox_server_failed(struct sandbox_server *s, unsigned number, struct sandbox_result *ended, struct buf *err)
{
	int status = 0;

	pthread_mutex_lock(&s->lock);
	if (s->starts == number)
		stop(s);
	*ended = s->ended;
	if (s->failed)
		status = buf_err(err, "%s", buf_str(&s->failure));
	pthread_mutex_unlock(&s->lock);
	return status;
}
