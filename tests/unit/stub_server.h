/* A server with a script, for tests: each connection gets the next step, the last one repeats. */
#ifndef STUB_SERVER_H
#define STUB_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

struct stub_step {
	int status;
	const char *headers;	/* "Retry-After: 1\r\n", or NULL */
	const char *body;
	size_t claimed_more;	/* Content-Length says so many bytes more than come */
	size_t padding;		/* blanks after the body, counted in Content-Length */
	int hang_ms;		/* waits before it answers */
};

struct stub_server {
	int listener, port;
	const struct stub_step *steps;
	int count;
	pthread_t thread;
	int requests;		/* so far */
	struct buf last;	/* the last request, headers and body */
};

static void
stub_read_request(int fd, struct buf *request)
{
	size_t need = 0;

	buf_reset(request);
	for (;;) {
		char chunk[4096];
		ssize_t n = read(fd, chunk, sizeof chunk);
		const char *end, *length;

		if (n <= 0)
			return;
		buf_add(request, chunk, (size_t)n);
		end = strstr(request->data, "\r\n\r\n");
		length = strcasestr(request->data, "content-length:");
		if (end && !need)
			need = (size_t)(end + 4 - request->data) + (length ? strtoul(length + 15, NULL, 10) : 0);
		if (need && request->len >= need)
			return;
	}
}

static void
stub_answer(int fd, const struct stub_step *step)
{
	struct buf out = BUF_INIT;
	size_t sent = 0;

	usleep((useconds_t)step->hang_ms * 1000);
	buf_addf(&out, "HTTP/1.1 %d Stub\r\nConnection: close\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
		step->status, step->headers ? step->headers : "", strlen(step->body) + step->padding + step->claimed_more,
		step->body);
	for (size_t i = 0; i < step->padding; i++)
		buf_addc(&out, ' ');
	while (sent < out.len) {
		ssize_t n = send(fd, out.data + sent, out.len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	buf_release(&out);
}

static void *
stub_serve(void *context)
{
	struct stub_server *s = context;

	for (;;) {
		int fd = accept(s->listener, NULL, NULL), step;

		if (fd < 0)
			return NULL;
		stub_read_request(fd, &s->last);
		step = s->requests < s->count ? s->requests : s->count - 1;
		s->requests++;
		stub_answer(fd, &s->steps[step]);
		close(fd);
	}
}

static void
stub_start(struct stub_server *s, const struct stub_step *steps, int count)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;

	*s = (struct stub_server){ .steps = steps, .count = count };
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->listener, (struct sockaddr *)&address, size) < 0 || listen(s->listener, 16) < 0
			|| getsockname(s->listener, (struct sockaddr *)&address, &size) < 0) {
		perror("stub server");
		exit(1);
	}
	s->port = ntohs(address.sin_port);
	pthread_create(&s->thread, NULL, stub_serve, s);
}

static void
stub_stop(struct stub_server *s)
{
	shutdown(s->listener, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->listener);
	buf_release(&s->last);
}

#endif
