/* Runs an untrusted program within limits: one job in, its status, its output and its named files out.
 *
 * At level `namespaces` (bubblewrap) the program sees only this, and nothing of the caller:
 *	/usr /lib* /bin /sbin	the host's, read-only	/in		the job's inputs, read-only
 *	/etc/alternatives, /etc/ld.so.cache		/kernelmosaic	the toolkit's libexec folder, read-only
 *	/dev/null zero full random urandom		/tmp		private, sized, empty at start
 *	/proc			of its own processes	/out		private, sized, empty at start
 * It has no network, no other process, no capability, a user id of its own, host name "kernelmosaic".
 * At level `landlock` /in, /tmp, /out and /kernelmosaic have other real names. They are rewritten in argv
 * and environment where they begin a path: at the start of a word, after a character that is no part of a
 * path ("--out=/out/x", "a.cu:/in"), or after a two-character option ("-I/in"). So: name files by these
 * paths in argv or environment, and let the program take them from there. */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum sandbox_level {
	SANDBOX_UNSET,		/* the required level: see sandbox_require; namespaces unless changed */
	SANDBOX_NONE,		/* rlimits and the wall clock only: for programs that are trusted */
	SANDBOX_LANDLOCK,	/* and Landlock, seccomp, a user id of its own when started by root. Not given:
				 * sizes of /tmp and /out (only of each file), a count of files, a view of its
				 * own (/proc shows the host's processes; leftovers are found and killed), and
				 * when not started by root: memory_bytes, an exact process count, and before
				 * kernel 6.12 safety from signals to the caller's other processes. A caller
				 * that is killed leaves its work folder $TMPDIR/km-sandbox.*. */
	SANDBOX_NAMESPACES,	/* all of it */
};

struct sandbox_input {
	const char *name;	/* shown as /in/NAME: letters, digits, "._+-", not starting with '.' */
	const char *path;	/* host file or folder, read with the caller's rights when the job starts */
	const void *bytes;	/* or, when path is NULL, its content: count bytes, borrowed */
	size_t count;
	bool executable;	/* for `bytes`; a host file keeps its own execute bit */
};

enum sandbox_file {
	SANDBOX_FILE_MISSING,	/* nothing of that name */
	SANDBOX_FILE_OK,	/* collected */
	SANDBOX_FILE_REFUSED,	/* a link, folder, device, FIFO or socket, or not readable */
	SANDBOX_FILE_TOO_LARGE,	/* over max_bytes: not collected */
};

struct sandbox_output {
	const char *name;	/* the file /out/NAME; characters as for inputs. Never a path. */
	uint64_t max_bytes;	/* 0: 64 MiB */
	struct buf *content;	/* takes the bytes (appended); NULL: they become output_folder/NAME, mode 644 */
	enum sandbox_file state;	/* set by sandbox_run, as is bytes */
	uint64_t bytes;
};

struct sandbox_limits {			/* 0 in any field takes the default in parentheses */
	uint64_t wall_ms;		/* of the whole job, from the program's start (60,000) */
	uint64_t cpu_s;			/* of each process (60); all together: wall_ms times the cores */
	uint64_t address_space_bytes;	/* RLIMIT_AS of each process (4 GiB); SANDBOX_UNLIMITED: none */
	uint64_t data_bytes;		/* RLIMIT_DATA: private writable memory of each process (none) */
	uint64_t memory_bytes;		/* resident, all processes together, looked at every 20 ms (8 GiB) */
	uint64_t tmp_bytes, out_bytes;	/* size of /tmp and of /out; also of the largest file (256 MiB, 64 MiB) */
	uint64_t files;			/* files and folders in each of them (4,096) */
	uint64_t processes;		/* at once, threads counted (64) */
	uint64_t open_files;		/* of each process (256) */
	uint64_t output_max_bytes;	/* kept of standard output and of standard error (1 MiB) */
};
#define SANDBOX_UNLIMITED UINT64_MAX

struct sandbox_job {
	const char *const *argv;	/* argv[0]: absolute path inside, e.g. "/kernelmosaic/km-record"; NULL ends */
	const char *const *environment;	/* NAME=VALUE, NULL ends; NULL: PATH, HOME=/tmp, LC_ALL=C, TMPDIR=/tmp */
	const char *const *binds;	/* host folders or files shown read-only at their own path, world-readable
					 * (a CUDA toolkit outside /usr); missing ones are skipped; NULL ends, or NULL */
	const char *const *devices;	/* device files (a GPU's), used at their own path; as for binds. What a driver does
					 * for them, memory too, is not counted. At level landlock, where CUDA does not start
					 * otherwise, also: UNIX streams to listen on (connect is refused), and files of
					 * /proc that belong to the user of the job are written */
	const struct sandbox_input *inputs;
	size_t input_count;		/* at most 512 files in all, folders unfolded */
	struct sandbox_output *outputs;
	size_t output_count;		/* at most 64 */
	const char *output_folder;	/* an existing host folder; needed where an output has no content buf */
	const void *stdin_bytes;	/* NULL: end of file at once */
	size_t stdin_count;
	int stdin_fd;			/* or a descriptor, borrowed: a socket to a program that serves; 0: none */
	bool work_in_out;		/* working directory /out instead of /tmp */
	bool aslr_off;			/* no address randomisation: the recorder's addresses must repeat */
	struct sandbox_limits limits;
	struct buf *output, *errors;	/* standard output and error, appended; NULL: discarded; may be the same */
};

enum sandbox_cause {
	SANDBOX_EXITED,		/* by itself: exit_status */
	SANDBOX_SIGNALLED,	/* signal, e.g. SIGSEGV, or SIGXFSZ for a file over its size */
	SANDBOX_WALL_CLOCK,	/* killed at wall_ms */
	SANDBOX_CPU,		/* killed at cpu_s. A compiler driver whose child meets it shows as exited */
	SANDBOX_MEMORY,		/* killed at memory_bytes; past address_space_bytes an allocation fails instead */
	SANDBOX_LAUNCH_FAILED,	/* never started: infrastructure, or argv[0] cannot be executed */
};

struct sandbox_result {
	enum sandbox_cause cause;
	int exit_status;	/* -1 if it did not exit */
	int signal;		/* 0 if it exited */
	bool output_cut;	/* more than output_max_bytes came; the rest was dropped */
	uint64_t wall_ns;	/* from the program's start to the end of its last process, sandbox not included */
	uint64_t user_ns, system_ns;	/* of all its processes */
	uint64_t peak_rss_bytes;	/* of the largest one */
	enum sandbox_level level;	/* that it ran at */
};

/* Runs one job to its end and leaves none of its processes. 0: the program was started and reaped,
 * whatever became of it; outputs are collected in every such case. -1 with a sentence in err: the
 * sandbox could not be had or the job is not well formed (cause LAUNCH_FAILED; callers report
 * EX_TEMPFAIL). Thread-safe. If the caller is killed, all processes of the job die with it. */
int sandbox_run(struct sandbox_job *job, struct sandbox_result *result, struct buf *err);

/* The highest level that works here, found by trying (once per process, ~20 ms); what is missing for
 * `namespaces`, and what to do, goes to why (may be NULL). */
enum sandbox_level sandbox_available(struct buf *why);

/* Sets the level that jobs of this process run at. -1 with one line for the user when it cannot be
 * had here (callers exit EX_UNAVAILABLE). Programs call it once, before threads. */
int sandbox_require(enum sandbox_level level, struct buf *err);

/* For `--sandbox LEVEL` (OPT_CALL): "namespaces", "landlock" or "none". Remembers only; the first
 * sandbox_run or sandbox_require(SANDBOX_UNSET) checks. */
int sandbox_option(const char *argument, struct buf *err);
#define SANDBOX_OPTION_HELP "confine programs by namespaces (default), landlock or none"

const char *sandbox_level_name(enum sandbox_level level);
/* One clause for a reason line: "exit status 2", "signal 11 (Segmentation fault)", "the wall clock of 10 s",
 * "the processor limit of 5 s". Appended to text. */
void sandbox_describe(const struct sandbox_job *job, const struct sandbox_result *result, struct buf *text);

#endif
