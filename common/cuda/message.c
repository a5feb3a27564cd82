/* Parts in, the same parts out at the other end of a socket: a header of a mark, a count and the lengths, then the
 * bytes. The receiver trusts nothing: a worker shares its address space with a stranger's device code. */
#include "cuda/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/io.h"

#define MARK 0x31474d4bu	/* "KMG1" */

struct header {
	uint32_t mark, parts;
	uint64_t bytes[MESSAGE_MAX_PARTS];
};

/* 1 all there, 0 at the time limit, -1 closed. */
static int
receive_all(int socket, uint64_t end_ms, void *bytes, size_t count)
{
	for (char *at = bytes; count;) {
		struct pollfd p = { socket, POLLIN, 0 };
		uint64_t now = clock_ms();
		int ready = poll(&p, 1, end_ms == UINT64_MAX ? -1 : end_ms <= now ? 0 : end_ms - now > 60000 ? 60000
			: (int)(end_ms - now));

		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready == 0 && end_ms != UINT64_MAX && clock_ms() >= end_ms)
			return 0;
		if (ready <= 0)
			continue;
		ssize_t got = recv(socket, at, count, 0);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return -1;
		at += got;
		count -= (size_t)got;
	}
	return 1;
}

int
message_send(int socket, const struct message *message)
{
	struct header h = { MARK, message->parts, { 0 } };

	for (uint32_t i = 0; i < message->parts; i++)
		h.bytes[i] = message->part[i].len;
	if (io_send_fd(socket, &h, sizeof h))
		return -1;
	for (uint32_t i = 0; i < message->parts; i++)
		if (io_send_fd(socket, message->part[i].data, message->part[i].len))
			return -1;
	return 0;
}

int
message_receive(int socket, uint64_t wall_ms, uint64_t max_bytes, struct message *message)
{
	uint64_t end_ms = wall_ms == UINT64_MAX ? UINT64_MAX : clock_ms() + wall_ms, left = max_bytes;
	struct header h;
	int got = receive_all(socket, end_ms, &h, sizeof h);

	message_release(message);
	if (got != 1)
		return got;
	if (h.mark != MARK || h.parts > MESSAGE_MAX_PARTS)
		return -1;
	for (uint32_t i = 0; i < h.parts; i++) {
		if (h.bytes[i] > left)
			return -1;
		left -= h.bytes[i];
	}
	for (uint32_t i = 0; i < h.parts && got == 1; i++) {
		struct buf *part = &message->part[i];

		message->parts = i + 1;
		if (!h.bytes[i])
			continue;
		buf_reserve(part, h.bytes[i]);
		got = receive_all(socket, end_ms, part->data, h.bytes[i]);
		part->len = h.bytes[i];
		part->data[part->len] = '\0';
	}
	return got;
}

void
message_release(struct message *message)
{
	for (uint32_t i = 0; i < MESSAGE_MAX_PARTS; i++)
		buf_release(&message->part[i]);
	message->parts = 0;
}
