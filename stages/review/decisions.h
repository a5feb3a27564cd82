/* A file of review decisions: JSON lines, one for each decision, sorted by task name. */
#ifndef REVIEW_DECISIONS_H
#define REVIEW_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "store/queue.h"

struct decisions;

/* Reads a whole file strictly: every line a decision that accepts or rejects, at most one for each state of a
 * task. NULL with a sentence that names the line; *status gets 66, 65 or 74. Returned owned; read-only
 * afterwards, so safe from threads. */
struct decisions *decisions_read(const char *path, int *status, struct buf *err);
void decisions_free(struct decisions *d);
size_t decisions_count(const struct decisions *d);
/* In order of the file. Borrowed. */
const struct queue_decision *decisions_at(const struct decisions *d, size_t index);

/* The decision about exactly this state of a task; NULL if there is none. Borrowed. */
const struct queue_decision *decisions_find(const struct decisions *d, const char *task_id, const char *shown_sha256);
/* Some decision that cites the task by name, whatever was shown then. Borrowed. */
const struct queue_decision *decisions_cite(const struct decisions *d, const char *name);

/* One line for such a file, with its newline; `whole` adds what only a log has. Appended. */
void decisions_write(const struct queue_decision *decision, bool whole, struct buf *out);
/* "accepted", "rejected", "skipped", "retracted", "undecided". Static. */
const char *decisions_status(enum queue_action action);

#endif
