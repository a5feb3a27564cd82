/* A case: one task's line through all stages. Sections are found by a scan that does not parse them;
 * a stage parses the ones it needs and splices its own, and all other bytes pass through untouched. */
#ifndef REC_CASE_H
#define REC_CASE_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "hash/id.h"

enum { REC_CASE_MAX_BYTES = 16 << 20, REC_MAX_SECTIONS = 32 };
#define REC_SCHEMA_VERSION "1.0"

struct rec_case {
	const char *line;	/* borrowed; without the newline */
	size_t length;
	int sections;
	struct {
		size_t key_start, key_length;	/* without quotes */
		size_t value_start, value_length;
	} section[REC_MAX_SECTIONS];
};

/* Finds the top-level sections of a line that must be one JSON object with schema_version 1.x.
 * Brackets and strings are balanced and checked; the inside of a section is not parsed.
 * 0, or -1 with a sentence. */
int rec_case_scan(struct rec_case *c, const char *line, size_t length, struct buf *err);
/* Raw bytes of a section; NULL if it is not there. Borrowed from the line. */
const char *rec_case_raw(const struct rec_case *c, const char *name, size_t *length);
/* The 32 digits of task.id, found by a scan. 0, or -1 with a sentence. */
int rec_case_task_id(const struct rec_case *c, char id[HASH_ID_HEX], struct buf *err);
/* A section parsed and validated against the record table; NULL with a sentence. Returned owned. */
json_t *rec_case_section(const struct rec_case *c, const char *name, struct buf *err);
/* Like rec_case_section, but a missing section gives an empty array (solutions, evaluations,
 * trajectories) or an empty object (the others). */
json_t *rec_case_section_or_empty(const struct rec_case *c, const char *name, struct buf *err);
/* The line with `count` sections replaced or added at the end, without newline, appended to out.
 * Values are validated first. 0, or -1 with a sentence. names and values borrowed. */
int rec_case_splice(const struct rec_case *c, int count, const char *const *names, json_t *const *values,
	struct buf *out, struct buf *err);

#endif
