/* A child process with limits on time and output. The sandbox is built on it. */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct spawn {
	char *const *argv;		/* argv[0] is the path; NULL ends */
	char *const *envp;		/* the whole environment; NULL: an empty one */
	const char *directory;		/* NULL: the caller's */
	const void *input;		/* bytes for standard input; NULL: /dev/null */
	size_t input_bytes;
	int input_fd;			/* or a descriptor, borrowed, that becomes standard input; 0: none */
	struct buf *output, *errors;	/* captured; NULL: discarded. The same buf may serve both. */
	size_t output_max;		/* bytes kept of each; the rest is read and dropped; 0: 1 MiB */
	uint64_t wall_ms;		/* 0: no limit. Past it the whole process group is killed. */
	const int *keep_fds;		/* descriptors the child inherits at the same number, -1 ends; NULL: none */
	/* Runs in the child between fork and exec; async-signal-safe calls only; nonzero stops it (126). */
	int (*prepare)(void *context);
	void *context;
};

struct spawn_result {
	int exit_status;	/* -1 if killed by a signal */
	int signal;		/* 0 if it exited */
	bool timed_out;
	bool output_cut;	/* more than output_max came */
	uint64_t wall_ns, user_ns, system_ns;
	uint64_t peak_rss_bytes;
};

/* Runs to the end. 0 when the child was started and reaped, whatever its status; -1 with a sentence.
 * Every other descriptor is closed in the child; its process group dies with it. Safe from threads. */
int spawn_run(const struct spawn *how, struct spawn_result *result, struct buf *err);

/* Path of an internal program or file beside the running one:
 * DIR-OF-EXECUTABLE/../libexec/kernelmosaic/NAME. Returned owned. */
char *spawn_libexec(const char *name);

#endif
