/* A program that lives on in the sandbox and answers requests, each on a stream of its own.
 *
 * The program's standard input is a socket of packets. Each packet carries one byte and one descriptor: a stream on
 * which a request comes and its answer goes back. So requests may overlap, and a stream that ends without an answer
 * means that the program is gone. Packets end when it is to end. */
#ifndef SANDBOX_SERVER_H
#define SANDBOX_SERVER_H

#include "sandbox/sandbox.h"

struct sandbox_server;

/* Starts nothing yet. job: its argv, environment, binds, devices and limits count; what they point to is borrowed for the
 * server's life; wall_ms and cpu_s of the limits are those of one day where they are 0. Returned owned; safe from threads. */
struct sandbox_server *sandbox_server_new(const struct sandbox_job *job);
/* Ends the program, and with it all that it was asked. */
void sandbox_server_free(struct sandbox_server *server);

/* A new stream to the program, which is started if it does not run; reads and writes on it fail after patience_ms (at
 * least 1000). *start numbers the program's start. A descriptor, owned, or -1 with a sentence. */
int sandbox_server_open(struct sandbox_server *server, uint64_t patience_ms, unsigned *start, struct buf *err);
/* After a stream of that start failed: ends what is left of the program, so that the next stream starts it anew. 0 with
 * *ended telling how it ended, or -1 with a sentence: the sandbox could not be had. */
int sandbox_server_failed(struct sandbox_server *server, unsigned start, struct sandbox_result *ended, struct buf *err);

#endif
