/* The system calls that a confined program may not make. */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <linux/filter.h>

#include "base/buf.h"

/* Of family AF_UNIX; others are refused anyway. socketpair is left in each case. */
enum sandbox_sockets {
	SANDBOX_SOCKETS_ALL,	/* where a network namespace keeps the host's abstract ones away, and a view its files */
	SANDBOX_SOCKETS_NONE,
	SANDBOX_SOCKETS_LISTEN,	/* streams that connect to nobody: CUDA does not start without one to listen on */
};

/* Appends the filter as struct sock_filter[]. 0 or -1 with a sentence. */
int sandbox_filter(enum sandbox_sockets sockets, struct buf *program, struct buf *err);

#endif
