/* The system calls that a confined program may not make. */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

#include "base/buf.h"

/* Appends the filter as struct sock_filter[]. no_unix_sockets: where the network namespace does not
 * keep the host's sockets away, only socketpair is left. 0 or -1 with a sentence. */
int sandbox_filter(bool no_unix_sockets, struct buf *program, struct buf *err);

#endif
