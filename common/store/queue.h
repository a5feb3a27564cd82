/* The review queue: what a reviewer is shown, and every decision about it, in one SQLite file.
 *
 * An item is a task as it was shown: its id and the SHA-256 of all that stands on the screen. Decisions are
 * only ever appended; undo appends a retraction. What holds for an item is its latest decision, by time, that
 * was not retracted, and a decision about another state of the task does not count for this one.
 * Several processes of one host may use a queue at once (WAL); each decision is on the disk when
 * queue_decide returns. Files stay on one host: SQLite's locks do not work over a network. */
#ifndef STORE_QUEUE_H
#define STORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum queue_action { QUEUE_UNDECIDED, QUEUE_ACCEPT, QUEUE_REJECT, QUEUE_SKIP, QUEUE_RETRACT };

/* What comes in by queue_add: all text borrowed. `task` is the JSON that the reviewer's screen is made of. */
struct queue_entry {
	const char *task_id, *shown_sha256, *name, *family, *dtypes, *forms;
	const char *task;
	size_t task_length;
};

/* A decision, to be made or as it was made. All text borrowed. */
struct queue_decision {
	int64_t sequence;		/* its place in the log; 0 when it is to be made */
	const char *task_id, *shown_sha256, *name;
	enum queue_action action;
	const char *actor, *actor_kind;	/* "person" or "program" */
	const char *mode;		/* "interactive", "bulk", "imported", "replayed" */
	const char *time;		/* 2026-01-31T23:59:59Z; NULL: now */
	const char *reason;		/* "" for none */
	int64_t retracts;		/* the decision that a retraction takes back, else 0 */
};

/* An item of the list, with what holds for it. Text belongs to the list. */
struct queue_item {
	int64_t row;
	const char *task_id, *shown_sha256, *name, *family, *dtypes, *forms;
	enum queue_action action;	/* QUEUE_UNDECIDED, ACCEPT, REJECT or SKIP */
	const char *actor, *actor_kind, *mode, *time, *reason;	/* "" while undecided */
	bool lapsed;			/* undecided, and an earlier state of this task was decided */
};
struct queue_list {
	struct queue_item *item;	/* by name, then task id */
	size_t count;
	struct queue_text *text;
};

struct queue;

/* Opens a queue; `create` makes one where there is none. NULL with a sentence, and *status the exit status
 * to die with: 66 not there, 65 not a queue or of another version, 73 cannot be made, 74 I/O, 75 locked.
 * Returned owned; one thread. */
struct queue *queue_open(const char *path, bool create, int *status, struct buf *err);
void queue_close(struct queue *q);
/* The exit status that suits the last failure: 65, 73, 74, 75 as above. */
int queue_status(const struct queue *q);

/* Several calls as one: all of them are in the file after queue_commit, none after queue_abandon or a kill.
 * 0, or -1 with a sentence. */
int queue_begin(struct queue *q, struct buf *err);
int queue_commit(struct queue *q, struct buf *err);
void queue_abandon(struct queue *q);

/* Puts a task into the queue; other states of a task of this name leave the list, while their decisions
 * stay in the log. 1 new, 0 it was there, -1 with a sentence. */
int queue_add(struct queue *q, const struct queue_entry *entry, struct buf *err);
/* Takes every item off the list; queue_add brings them back. For an import that replaces. */
int queue_clear_list(struct queue *q, struct buf *err);

/* The items on the list. 0, or -1 with a sentence. Released with queue_list_release. */
int queue_list(struct queue *q, struct queue_list *list, struct buf *err);
void queue_list_release(struct queue_list *list);
/* Reads one item of a list again. Its text belongs to the list as before. */
int queue_refresh(struct queue *q, struct queue_list *list, size_t index, struct buf *err);
/* A number that changes when another process has changed the queue. */
int64_t queue_version(struct queue *q);
/* The JSON of an item, appended. 0, or -1 with a sentence. */
int queue_task(struct queue *q, int64_t row, struct buf *out, struct buf *err);

/* Appends a decision (not a retraction). 1 appended; 0 a decision with a time of its own was in the log
 * already, even if it was retracted since; -1 with a sentence. */
int queue_decide(struct queue *q, const struct queue_decision *decision, struct buf *err);
/* Takes back the actor's latest decision of this mode that still stands, on any item on the list. 1 and its
 * item's row in *row, 0 there is none, -1 with a sentence. */
int queue_undo(struct queue *q, const char *actor, const char *actor_kind, const char *mode, int64_t *row,
	struct buf *err);

/* Decisions in order of name: for each name the accept or reject that holds for its state on the list, or
 * else its latest about another state; or the whole log, by name, task id and sequence. The callback returns
 * 0 to go on. 0, or -1 with a sentence, or what the callback returned. */
typedef int queue_visit(void *context, const struct queue_decision *decision);
int queue_decisions(struct queue *q, bool whole_log, queue_visit *visit, void *context, struct buf *err);

#endif
