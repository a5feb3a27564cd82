/* What sandbox_run and km-shim, the supervisor inside the sandbox, say to each other: through one memory
 * file that only they hold. The job goes in; after the program has ended, the report replaces it. */
#ifndef SANDBOX_SHIM_H
#define SANDBOX_SHIM_H

#include <stdint.h>

#include "sandbox/sandbox.h"

enum {
	SHIM_JOB_MAGIC = 0x4b4d4a31,
	SHIM_REPORT_MAGIC = 0x4b4d5231,
	SHIM_STARTED_MAGIC = 0x4b4d5331,	/* of an empty report, while the program runs */
	SHIM_MAX_OUTPUTS = 64,
	SHIM_MAX_JOB_BYTES = 1 << 22,
	SHIM_BAD_JOB = 120,	/* exit status of a supervisor that could not do its work */
};

/* Followed by filter_count struct sock_filter, then NUL-terminated strings: argv, environment, working
 * directory, output folder, output names, and Landlock rules ("r/path" to read and execute, "w/path"). */
struct shim_job {
	uint32_t magic, level, aslr_off;
	uint32_t filter_count, argv_count, environment_count, output_count, rule_count;
	uint32_t shared_user;	/* the user id has other processes: count them, never kill by it */
	int32_t launcher;	/* process id of the caller; 0 where it is in another namespace */
	uint64_t string_bytes;
	uint64_t file_bytes;	/* size of the largest file */
	struct sandbox_limits limits;
	uint64_t output_max[SHIM_MAX_OUTPUTS];
};

/* Followed by the bytes of the outputs that are OK, in order. Written last of all. */
struct shim_report {
	uint32_t magic, cause;
	int32_t exit_status, signal;
	int32_t error;		/* errno of a step that failed before the program ran, or 0 */
	char step[60];		/* its name */
	uint64_t wall_ns, user_ns, system_ns, peak_rss_bytes;
	struct {
		uint32_t state;
		uint64_t bytes;
	} outputs[SHIM_MAX_OUTPUTS];
};

#endif
