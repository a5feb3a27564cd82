/* From the paths of a command line to the raw specs behind them. */
#ifndef INGEST_GATHER_H
#define INGEST_GATHER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "rec/filter.h"

struct task;

/* One raw spec on its way to a case. */
struct raw_spec {
	char *file;			/* folder, or file of cases; for messages and rejects */
	uint64_t line;			/* 0: a folder */
	struct buf text;		/* task.json, or the line */
	struct filter_reason reason;	/* code NULL: not refused so far */
	struct task *task;		/* once complete; owns its section */
	struct buf out;			/* the case, without newline */
};

struct raw_specs {
	struct raw_spec *list;
	size_t count, capacity;
};

/* Appends what the path stands for: a spec folder, a folder of spec folders in order of name, or the lines
 * of a file of cases (.jsonl, .jsonl.zst, "-"), and completes each of them; what is refused is in the list
 * too, with its reason. 0, or -1 with a sentence where the path cannot be read at all: *status gets the
 * exit status. */
int gather_path(struct raw_specs *specs, const char *path, int *status, struct buf *err);
void gather_release(struct raw_specs *specs);

#endif
