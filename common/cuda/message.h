/* Messages between the supervisor and its GPU worker: a few parts of bytes over a stream socket. */
#ifndef CUDA_MESSAGE_H
#define CUDA_MESSAGE_H

#include <stdint.h>

#include "base/buf.h"

enum { MESSAGE_MAX_PARTS = 8 };
#define MESSAGE_MAX_BYTES ((uint64_t)4 << 30)

struct message {
	uint32_t parts;
	struct buf part[MESSAGE_MAX_PARTS];
};
#define MESSAGE_INIT { 0, { BUF_INIT } }

/* Parts are borrowed. 0, or -1 with errno (EPIPE: the other side is gone; no signal is raised). */
int message_send(int socket, const struct message *message);
/* Waits at most wall_ms (UINT64_MAX: for ever). 1 and a message in place of the old content; 0 at the time limit;
 * -1: the other side closed, broke off in the middle, or sent what is no message of at most max_bytes. */
int message_receive(int socket, uint64_t wall_ms, uint64_t max_bytes, struct message *message);
void message_release(struct message *message);

#endif
