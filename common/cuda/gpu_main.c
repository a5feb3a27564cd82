/* km-gpu NUMBER [SOCKET]: the GPU worker. Messages come and go on descriptor 3, or on the socket with that path, for a
 * worker that another program starts; standard output belongs to the candidate's printf. `km-gpu --list` prints the GPUs
 * instead. One process serves one candidate and is then thrown away. */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/die.h"
#include "base/num.h"
#include "cuda/gpu.h"
#include "rec/json.h"

static int messages = 3;

/* A worker whose supervisor died would keep the GPU, in an endless kernel for ever. */
static void *
watch_supervisor(void *none)
{
	struct pollfd p = { messages, POLLRDHUP, 0 };

	while (poll(&p, 1, -1) < 0 || !(p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)))
		;
	_exit(0);
	return none;
}

static int
connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
		die(EX_PROTOCOL, "%s:", path);
	return fd;
}

static void
say_ready(struct gpu *g)
{
	json_t *report = json_pack("{s:b, s:b}", "ready", true, "fixed", g->base == CUDA_ARENA);

	gpu_answer(g, report, NULL, 0);
}

static void
serve(struct gpu *g, struct message *m)
{
	struct buf err = BUF_INIT;
	json_t *job = m->parts ? rec_json_parse(buf_str(&m->part[0]), m->part[0].len, &err) : NULL;
	const char *what = rec_json_string(job, "do", "");

	if (!strcmp(what, "check"))
		gpu_check(g, job, m);
	else if (!strcmp(what, "time"))
		gpu_time(g, job, m);
	else if (!strcmp(what, "probe"))
		gpu_answer(g, json_pack("{s:b}", "healthy", gpu_probe(g)), NULL, 0);
	else
		die(EX_PROTOCOL, "a message that is none: %s", buf_str(&err));
	json_decref(job);
	buf_release(&err);
}

int
main(int argc, char **argv)
{
	static struct gpu gpu;
	struct message m = MESSAGE_INIT;
	struct buf err = BUF_INIT;
	uint64_t number = 0;
	pthread_t watcher;

	die_program = "km-gpu";
	if (argc < 2 || argc > 3)
		die(EX_USAGE, "usage: km-gpu NUMBER [SOCKET], or km-gpu --list");
	if (driver_open(&err))
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	if (!strcmp(argv[1], "--list")) {
		gpu_list();
		return 0;
	}
	if (num_u64(argv[1], 0, 1023, &number))
		die(EX_USAGE, "km-gpu: %s is no number of a GPU", argv[1]);
	if (argc == 3)
		messages = connect_to(argv[2]);
	if (pthread_create(&watcher, NULL, watch_supervisor, NULL))
		die(EX_OSERR, "cannot start a thread:");
	gpu_start(&gpu, (int)number, messages);
	say_ready(&gpu);
	while (message_receive(messages, UINT64_MAX, MESSAGE_MAX_BYTES, &m) == 1)
		serve(&gpu, &m);
	_exit(0);	/* the driver's own clean-up takes longer than the kernel's */
}
