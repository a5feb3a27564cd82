/* The loop of a filter: read cases, call the transform, write in order, count, reject, report.
 * A program's main is: footer_start, opt_parse with filter_options, filter_run, exit. */
#ifndef REC_FILTER_H
#define REC_FILTER_H

#include <stdbool.h>

#include <stdbool.h>

#include "base/opt.h"
#include "rec/case.h"

/* Values of the shared options; filled by opt_parse from filter_options. */
struct filter_args {
	const char *output;		/* -o FILE, default "-" */
	const char *rejects;		/* --rejects FILE, default none */
	const char *stats;		/* --stats FILE, default none */
	const char *max_rejects;	/* --max-rejects N|P%; NULL: the program's default */
	uint64_t seed;			/* --seed, default 1 */
	uint64_t threads;		/* --threads, default 1 */
	const char *shard;		/* --shard I/N: only cases whose task id falls in shard I; NULL: all */
};
extern struct filter_args filter_args;
extern const struct opt filter_options[];

enum filter_verdict {
	FILTER_PASS,		/* `out` holds the line */
	FILTER_DROP,		/* not wanted: counted with its code, not written */
	FILTER_REJECT,		/* refused: goes to the rejects file */
	FILTER_RETRY,		/* our own failure: nothing is decided, the run ends with 75 or reason->exit_status */
};
struct filter_reason {
	const char *code;	/* short word, static: "bad_json", "duplicate", "oracles_disagree" */
	struct buf message;	/* one sentence */
	int exit_status;	/* of FILTER_RETRY; 0: 75 */
};
/* Called from any of the threads; `out` and `reason` are the caller's and empty. */
typedef enum filter_verdict filter_transform(void *context, const struct rec_case *in, struct buf *out,
	struct filter_reason *reason);

struct filter_sink;
struct filter_counter {
	const char *name;
	const uint64_t *value;
};

struct filter {
	const char *stage;		/* "solve": the stage field of rejects and stats */
	filter_transform *transform;
	void *context;
	/* Filters that see the whole set (dedupe, diversify): called once after the last line, NULL otherwise.
	 * They keep what they need in transform (returning FILTER_DROP with code NULL = held) and write here. */
	enum filter_verdict (*finish)(void *context, struct filter_sink *sink, struct buf *err);
	/* A program whose records are not lines (ingest reads folders): filter_run reads nothing, and finish()
	 * takes each record in by filter_take before it emits, drops or refuses it. transform is NULL then. */
	bool takes_records;
	uint64_t default_max_rejects;	/* UINT64_MAX: all */
	/* Extra integer counters for --stats, name/value pairs, NULL name ends; may be NULL. */
	const struct filter_counter *counters;
};
/* For finish(): writes lines, drops and rejects of held records, which are counted as usual. */
void filter_emit(struct filter_sink *sink, const char *line, size_t length);
void filter_drop(struct filter_sink *sink, const char *code);
void filter_refuse(struct filter_sink *sink, const char *code, const char *message, const char *raw,
	size_t raw_length);
/* For finish() of a program that takes_records: one more record is read and held; and a refusal that says where
 * the record stood (line 0: the whole file or folder). */
void filter_take(struct filter_sink *sink, size_t bytes);
void filter_refuse_at(struct filter_sink *sink, const char *file, uint64_t line,
	const struct filter_reason *reason,
	const char *raw, size_t raw_length);

/* Whether the run will end with 65: for a finish() that writes more than the output. */
bool filter_refused_too_many(const struct filter_sink *sink);

/* Reads the files named (none: standard input), runs the loop with --threads workers and ordered
 * output, writes rejects as {file,line,stage,code,message,raw}, stats, the counts and the footer.
 * Returns the exit status: 0, 65 (more rejects than allowed), 66, 73, 74, 75; counts that do not add up: 70. */
int filter_run(const struct filter *filter, int argc, char **argv);

#endif
