/* In: items to review and decisions about them. Out: what holds for each item, and the log.
 * The hard idea: nothing is ever changed. What holds is computed from the log each time, by the view
 * `standing`, so undo, a second reviewer and a task that changes are all just more rows; triggers keep
 * every program, ours too, from rewriting the log. */
#include "store/queue.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/die.h"
#include "base/io.h"

enum { VERSION = 1, APPLICATION_ID = 0x4b4d5251, BUSY_MS = 5000, MAX_VALUE_BYTES = 32 << 20 };

static const char schema[] =
	"CREATE TABLE item (row INTEGER PRIMARY KEY, task_id TEXT NOT NULL, shown_sha256 TEXT NOT NULL,"
	" name TEXT NOT NULL, family TEXT NOT NULL, dtypes TEXT NOT NULL, forms TEXT NOT NULL,"
	" task TEXT NOT NULL, listed INTEGER NOT NULL, UNIQUE (task_id, shown_sha256)) STRICT;"
	"CREATE INDEX item_name ON item (name);"
	"CREATE TABLE decision (sequence INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL,"
	" shown_sha256 TEXT NOT NULL, name TEXT NOT NULL,"
	" action TEXT NOT NULL CHECK (action IN ('accept', 'reject', 'skip', 'retract')), actor TEXT NOT NULL,"
	" actor_kind TEXT NOT NULL CHECK (actor_kind IN ('person', 'program')),"
	" mode TEXT NOT NULL CHECK (mode IN ('interactive', 'bulk', 'imported', 'replayed')),"
	" time TEXT NOT NULL, reason TEXT NOT NULL, retracts INTEGER REFERENCES decision) STRICT;"
	"CREATE INDEX decision_item ON decision (task_id, shown_sha256, sequence);"
	"CREATE INDEX decision_name ON decision (name);"
	"CREATE UNIQUE INDEX decision_retracts ON decision (retracts) WHERE retracts IS NOT NULL;"
	"CREATE TRIGGER decision_update BEFORE UPDATE ON decision"
	" BEGIN SELECT raise(ABORT, 'decisions are only appended'); END;"
	"CREATE TRIGGER decision_delete BEFORE DELETE ON decision"
	" BEGIN SELECT raise(ABORT, 'decisions are only appended'); END;"
	"CREATE VIEW kept AS SELECT * FROM decision d WHERE action <> 'retract'"
	" AND NOT EXISTS (SELECT 1 FROM decision r WHERE r.retracts = d.sequence);"
	"CREATE VIEW standing AS SELECT * FROM kept d WHERE NOT EXISTS (SELECT 1 FROM kept later"
	" WHERE later.task_id = d.task_id AND later.shown_sha256 = d.shown_sha256"
	" AND (later.time, later.sequence) > (d.time, d.sequence));";

#define ITEM_COLUMNS \
	"SELECT i.row, i.task_id, i.shown_sha256, i.name, i.family, i.dtypes, i.forms, s.action, s.actor," \
	" s.actor_kind, s.mode, s.time, s.reason, s.sequence IS NULL AND EXISTS (SELECT 1 FROM kept o" \
	"  WHERE o.name = i.name AND o.action <> 'skip')" \
	" FROM item i LEFT JOIN standing s ON s.task_id = i.task_id AND s.shown_sha256 = i.shown_sha256 "
#define DECISION_COLUMNS \
	"SELECT d.sequence, d.task_id, d.shown_sha256, d.name, d.action, d.actor, d.actor_kind, d.mode, d.time," \
	" d.reason, ifnull(d.retracts, 0), ifnull(i.listed, 0) AS listed FROM "
#define DECISION_JOIN \
	" d LEFT JOIN item i ON i.task_id = d.task_id AND i.shown_sha256 = d.shown_sha256 "

enum statement {
	BEGIN, COMMIT, ROLLBACK, ADD, UNLIST_OTHERS, RELIST, UNLIST_ALL, LIST, REFRESH, TASK, SAME, DECIDE, LATEST,
	LAST, RETRACT, STANDING, LOG, DATA_VERSION, STATEMENTS
};
static const char *const sql[STATEMENTS] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[ADD] = "INSERT INTO item (task_id, shown_sha256, name, family, dtypes, forms, task, listed)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1) ON CONFLICT DO NOTHING",
	[UNLIST_OTHERS] = "UPDATE item SET listed = 0 WHERE name = ?3 AND NOT (task_id = ?1 AND shown_sha256 = ?2)",
	[RELIST] = "UPDATE item SET listed = 1 WHERE task_id = ?1 AND shown_sha256 = ?2",
	[UNLIST_ALL] = "UPDATE item SET listed = 0",
	[LIST] = ITEM_COLUMNS "WHERE i.listed ORDER BY i.name, i.task_id",
	[REFRESH] = ITEM_COLUMNS "WHERE i.row = ?1",
	[TASK] = "SELECT task FROM item WHERE row = ?1",
	[SAME] = "SELECT 1 FROM decision WHERE task_id = ?1 AND shown_sha256 = ?2 AND action = ?4 AND actor = ?5 AND"
		" actor_kind = ?6 AND mode = ?7 AND time = ?8 AND reason = ?9 AND name = ?3",
	[DECIDE] = "INSERT INTO decision (task_id, shown_sha256, name, action, actor, actor_kind, mode, time, reason)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
	[LATEST] = "SELECT ifnull(max(time), '') FROM decision WHERE task_id = ?1 AND shown_sha256 = ?2",
	[LAST] = "SELECT k.sequence, i.row FROM kept k JOIN item i ON i.task_id = k.task_id AND"
		" i.shown_sha256 = k.shown_sha256 AND i.listed WHERE k.actor = ?1 AND k.actor_kind = ?2 AND k.mode = ?3"
		" ORDER BY k.sequence DESC LIMIT 1",
	[RETRACT] = "INSERT INTO decision (task_id, shown_sha256, name, action, actor, actor_kind, mode, time, reason,"
		" retracts) SELECT task_id, shown_sha256, name, 'retract', actor, actor_kind, mode, ?2, '', sequence"
		" FROM decision WHERE sequence = ?1",
	[STANDING] = DECISION_COLUMNS "standing" DECISION_JOIN "WHERE d.action IN ('accept', 'reject')"
		" ORDER BY d.name, listed DESC, d.time DESC, d.sequence DESC",
	[LOG] = DECISION_COLUMNS "decision" DECISION_JOIN "ORDER BY d.name, d.task_id, d.sequence",
	[DATA_VERSION] = "PRAGMA data_version",
};

static const char *const action_names[] = {
	[QUEUE_UNDECIDED] = "undecided", [QUEUE_ACCEPT] = "accept", [QUEUE_REJECT] = "reject", [QUEUE_SKIP] = "skip",
	[QUEUE_RETRACT] = "retract",
};

struct queue {
	sqlite3 *db;
	char *path;
	int status;
	sqlite3_stmt *statement[STATEMENTS];
};

struct queue_text {
	struct arena arena;
};

static enum queue_action
action_from_name(const char *name)
{
	for (enum queue_action a = QUEUE_ACCEPT; a <= QUEUE_RETRACT; a++)
		if (!strcmp(action_names[a], name))
			return a;
	return QUEUE_UNDECIDED;
}

/* ---- failures: what SQLite says, in the words of the exit statuses */

static int
exit_status(int code)
{
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return EX_TEMPFAIL;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM: return EX_CANTCREAT;
	case SQLITE_FULL:
	case SQLITE_IOERR: return EX_IOERR;
	case SQLITE_NOMEM: return EX_TEMPFAIL;
	}
	return EX_DATAERR;
}

static int
fail(struct queue *q, struct buf *err)
{
	int code = q->db ? sqlite3_errcode(q->db) : SQLITE_NOMEM;

	q->status = exit_status(code);
	if (q->status == EX_TEMPFAIL)
		return buf_err(err, "%s: another program has held the review queue for %d s; try again", q->path,
			BUSY_MS / 1000);
	if ((code & 0xff) == SQLITE_NOTADB || (code & 0xff) == SQLITE_CORRUPT)
		return buf_err(err, "%s: not a review queue, or a damaged one: %s", q->path, sqlite3_errmsg(q->db));
	return buf_err(err, "%s: %s", q->path, sqlite3_errmsg(q->db));
}

int
queue_status(const struct queue *q)
{
	return q->status;
}

/* ---- statements */

static sqlite3_stmt *
bind(struct queue *q, enum statement which, int count, const char *const *texts)
{
	sqlite3_stmt *s = q->statement[which];

	sqlite3_reset(s);
	sqlite3_clear_bindings(s);
	for (int i = 0; i < count; i++)
		if (texts[i])
			sqlite3_bind_text(s, i + 1, texts[i], -1, SQLITE_STATIC);
	return s;
}

/* Runs a statement that gives no rows. */
static int
run(struct queue *q, sqlite3_stmt *s, struct buf *err)
{
	int code = sqlite3_step(s);

	if (code != SQLITE_DONE && code != SQLITE_ROW) {
		fail(q, err);
		sqlite3_reset(s);
		return -1;
	}
	sqlite3_reset(s);
	return 0;
}

/* Next row of a statement: 1, 0 at the end, -1. */
static int
next(struct queue *q, sqlite3_stmt *s, struct buf *err)
{
	int code = sqlite3_step(s);

	if (code == SQLITE_ROW)
		return 1;
	if (code != SQLITE_DONE)
		fail(q, err);
	sqlite3_reset(s);
	return code == SQLITE_DONE ? 0 : -1;
}

static const char *
column(sqlite3_stmt *s, int i)
{
	const char *text = (const char *)sqlite3_column_text(s, i);

	return text ? text : "";
}

/* ---- opening */

static int
pragma_value(struct queue *q, const char *pragma, int64_t *value, struct buf *err)
{
	sqlite3_stmt *s = NULL;
	int status = 0;

	if (sqlite3_prepare_v2(q->db, pragma, -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
		status = fail(q, err);
	else
		*value = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return status;
}

static int
execute(struct queue *q, const char *text, struct buf *err)
{
	return sqlite3_exec(q->db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(q, err);
}

static int
refuse(struct queue *q, int status, struct buf *err, const char *what)
{
	q->status = status;
	return buf_err(err, "%s: %s", q->path, what);
}

static int
create_tables(struct queue *q, struct buf *err)
{
	struct buf text = BUF_INIT;
	int status;

	buf_addf(&text, "%s PRAGMA application_id = %d; PRAGMA user_version = %d;", schema, APPLICATION_ID, VERSION);
	status = execute(q, buf_str(&text), err);
	buf_release(&text);
	return status;
}

/* 1: our file, of our version. 0: an empty file. -1: anything else, which is left as it is. */
static int
identify(struct queue *q, struct buf *err)
{
	int64_t application, version, tables;
	struct buf what = BUF_INIT;

	if (pragma_value(q, "PRAGMA application_id", &application, err) < 0 ||
	    pragma_value(q, "PRAGMA user_version", &version, err) < 0 ||
	    pragma_value(q, "SELECT count(*) FROM sqlite_schema", &tables, err) < 0)
		return -1;
	if (application == APPLICATION_ID && version == VERSION)
		return 1;
	if (!application && !tables)
		return 0;
	if (application == APPLICATION_ID)
		buf_addf(&what, "a review queue of version %lld, and this program reads version %d", (long long)version,
			VERSION);
	else
		buf_adds(&what, "an SQLite file, but not a review queue");
	refuse(q, EX_DATAERR, err, buf_str(&what));
	buf_release(&what);
	return -1;
}

/* Under a write lock, so that two first imports at once make one queue. */
static int
settle_schema(struct queue *q, bool create, struct buf *err)
{
	int ours = identify(q, err), status = 0;

	if (ours)
		return ours < 0 ? -1 : 0;
	if (!create)
		return refuse(q, EX_DATAERR, err, "an empty file; make a queue with km-review import");
	if (execute(q, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	ours = identify(q, err);
	if (ours <= 0)
		status = ours < 0 ? -1 : create_tables(q, err);
	if (execute(q, status < 0 ? "ROLLBACK" : "COMMIT", status < 0 ? NULL : err) < 0)
		status = -1;
	return status;
}

static int
prepare(struct queue *q, struct buf *err)
{
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(q->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &q->statement[i], NULL) != SQLITE_OK)
			return fail(q, err);
	return 0;
}

/* The file may come from anyone: no functions from its schema, no writing to its internals, bounded values. */
static void
distrust(struct queue *q)
{
	sqlite3_busy_timeout(q->db, BUSY_MS);
	sqlite3_extended_result_codes(q->db, 1);
	sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

static int
open_tables(struct queue *q, bool create, struct buf *err)
{
	distrust(q);
	if (settle_schema(q, create, err) < 0 ||
	    execute(q, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON", err) < 0)
		return -1;
	return prepare(q, err);
}

/* A file that is not there, or not a file, is told apart before SQLite makes one. */
static int
check_path(struct queue *q, bool create, struct buf *err)
{
	const char *slash = strrchr(q->path, '/');
	struct stat st;
	char *folder;
	int status;

	if (stat(q->path, &st) == 0)
		return S_ISREG(st.st_mode) ? 0 : refuse(q, EX_DATAERR, err, "not a regular file");
	if (errno != ENOENT && errno != ENOTDIR)
		return refuse(q, create ? EX_CANTCREAT : EX_NOINPUT, err, strerror(errno));
	if (!create)
		return refuse(q, EX_NOINPUT, err, "there is no review queue; make one with km-review import");
	if (!slash || slash == q->path)
		return 0;
	folder = xstrndup(q->path, (size_t)(slash - q->path));
	status = io_make_dirs(folder, err);
	free(folder);
	if (status < 0)
		q->status = EX_CANTCREAT;
	return status;
}

struct queue *
queue_open(const char *path, bool create, int *status, struct buf *err)
{
	struct queue *q = xcalloc(1, sizeof *q);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0), result;

	q->path = xstrdup(path);
	q->status = EX_IOERR;
	result = check_path(q, create, err);
	if (!result && sqlite3_open_v2(path, &q->db, flags, NULL) != SQLITE_OK)
		result = fail(q, err);
	if (!result)
		result = open_tables(q, create, err);
	if (!result)
		return q;
	*status = q->status;
	queue_close(q);
	return NULL;
}

void
queue_close(struct queue *q)
{
	if (!q)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(q->statement[i]);
	sqlite3_close(q->db);
	free(q->path);
	free(q);
}

int
queue_begin(struct queue *q, struct buf *err)
{
	return run(q, q->statement[BEGIN], err);
}

int
queue_commit(struct queue *q, struct buf *err)
{
	return run(q, q->statement[COMMIT], err);
}

void
queue_abandon(struct queue *q)
{
	run(q, q->statement[ROLLBACK], NULL);
}

/* ---- items */

int
queue_add(struct queue *q, const struct queue_entry *entry, struct buf *err)
{
	const char *texts[] = { entry->task_id, entry->shown_sha256, entry->name, entry->family, entry->dtypes,
		entry->forms };
	sqlite3_stmt *s = bind(q, ADD, 6, texts);
	int added;

	sqlite3_bind_text(s, 7, entry->task, (int)entry->task_length, SQLITE_STATIC);
	if (entry->task_length > MAX_VALUE_BYTES)
		return refuse(q, EX_DATAERR, err, "a task is too long for the queue");
	if (run(q, s, err) < 0)
		return -1;
	added = sqlite3_changes(q->db) > 0;
	if (run(q, bind(q, UNLIST_OTHERS, 3, texts), err) < 0)
		return -1;
	if (!added && run(q, bind(q, RELIST, 2, texts), err) < 0)
		return -1;
	return added;
}

int
queue_clear_list(struct queue *q, struct buf *err)
{
	return run(q, q->statement[UNLIST_ALL], err);
}

static void
read_item(sqlite3_stmt *s, struct arena *arena, struct queue_item *item)
{
	*item = (struct queue_item){
		.row = sqlite3_column_int64(s, 0),
		.task_id = arena_strdup(arena, column(s, 1)),
		.shown_sha256 = arena_strdup(arena, column(s, 2)),
		.name = arena_strdup(arena, column(s, 3)),
		.family = arena_strdup(arena, column(s, 4)),
		.dtypes = arena_strdup(arena, column(s, 5)),
		.forms = arena_strdup(arena, column(s, 6)),
		.action = action_from_name(column(s, 7)),
		.actor = arena_strdup(arena, column(s, 8)),
		.actor_kind = arena_strdup(arena, column(s, 9)),
		.mode = arena_strdup(arena, column(s, 10)),
		.time = arena_strdup(arena, column(s, 11)),
		.reason = arena_strdup(arena, column(s, 12)),
		.lapsed = sqlite3_column_int(s, 13) != 0,
	};
}

int
queue_list(struct queue *q, struct queue_list *list, struct buf *err)
{
	sqlite3_stmt *s = bind(q, LIST, 0, NULL);
	size_t capacity = 0;
	int got;

	*list = (struct queue_list){ .text = xcalloc(1, sizeof *list->text) };
	while ((got = next(q, s, err)) > 0) {
		if (list->count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			list->item = xrealloc(list->item, capacity * sizeof *list->item);
		}
		read_item(s, &list->text->arena, &list->item[list->count++]);
	}
	if (got < 0)
		queue_list_release(list);
	return got;
}

void
queue_list_release(struct queue_list *list)
{
	if (list->text)
		arena_release(&list->text->arena);
	free(list->text);
	free(list->item);
	*list = (struct queue_list){ 0 };
}

int
queue_refresh(struct queue *q, struct queue_list *list, size_t index, struct buf *err)
{
	sqlite3_stmt *s = bind(q, REFRESH, 0, NULL);
	int got;

	sqlite3_bind_int64(s, 1, list->item[index].row);
	got = next(q, s, err);
	if (got > 0) {
		read_item(s, &list->text->arena, &list->item[index]);
		sqlite3_reset(s);
	}
	return got < 0 ? -1 : 0;
}

int64_t
queue_version(struct queue *q)
{
	sqlite3_stmt *s = bind(q, DATA_VERSION, 0, NULL);
	int64_t version = next(q, s, NULL) > 0 ? sqlite3_column_int64(s, 0) : -1;

	sqlite3_reset(s);
	return version;
}

int
queue_task(struct queue *q, int64_t row, struct buf *out, struct buf *err)
{
	sqlite3_stmt *s = bind(q, TASK, 0, NULL);
	int got;

	sqlite3_bind_int64(s, 1, row);
	got = next(q, s, err);
	if (got > 0) {
		buf_add(out, column(s, 0), (size_t)sqlite3_column_bytes(s, 0));
		sqlite3_reset(s);
		return 0;
	}
	return got < 0 ? -1 : refuse(q, EX_DATAERR, err, "the item is not in the queue");
}

/* ---- decisions */

static void
time_now(char text[32])
{
	time_t now = time(NULL);
	struct tm tm;

	strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
}

/* Now; or, where a clock was set back, the time of the last decision about the item: later decisions are never
 * earlier. */
static int
time_of_decision(struct queue *q, const char *const *item, struct buf *out, struct buf *err)
{
	sqlite3_stmt *s = bind(q, LATEST, 2, item);
	char now[32];

	if (next(q, s, err) < 0)
		return -1;
	time_now(now);
	buf_adds(out, strcmp(now, column(s, 0)) < 0 ? column(s, 0) : now);
	sqlite3_reset(s);
	return 0;
}

int
queue_decide(struct queue *q, const struct queue_decision *d, struct buf *err)
{
	struct buf time = BUF_INIT;
	const char *texts[] = { d->task_id, d->shown_sha256, d->name, action_names[d->action], d->actor,
		d->actor_kind, d->mode, d->time, d->reason };
	sqlite3_stmt *s;
	int got;

	if (d->time) {
		s = bind(q, SAME, 9, texts);
		got = next(q, s, err);
		sqlite3_reset(s);
		if (got)
			return got < 0 ? -1 : 0;
	}
	got = d->time ? 0 : time_of_decision(q, texts, &time, err);
	if (got < 0)
		return -1;
	texts[7] = d->time ? d->time : buf_str(&time);
	got = run(q, bind(q, DECIDE, 9, texts), err) < 0 ? -1 : 1;
	buf_release(&time);
	return got;
}

int
queue_undo(struct queue *q, const char *actor, const char *actor_kind, const char *mode, int64_t *row,
	struct buf *err)
{
	const char *const who[] = { actor, actor_kind, mode };
	sqlite3_stmt *s = bind(q, LAST, 3, who);
	int64_t sequence;
	char now[32];
	int got = next(q, s, err);

	if (got <= 0)
		return got;
	sequence = sqlite3_column_int64(s, 0);
	*row = sqlite3_column_int64(s, 1);
	sqlite3_reset(s);
	s = bind(q, RETRACT, 0, NULL);
	time_now(now);
	sqlite3_bind_int64(s, 1, sequence);
	sqlite3_bind_text(s, 2, now, -1, SQLITE_STATIC);
	return run(q, s, err) < 0 ? -1 : 1;
}

/* Of a name's standing decisions, sorted so, the first is the one about what is on the list now. */
int
queue_decisions(struct queue *q, bool whole_log, queue_visit *visit, void *context, struct buf *err)
{
	sqlite3_stmt *s = bind(q, whole_log ? LOG : STANDING, 0, NULL);
	struct buf last = BUF_INIT;
	bool first = true;
	int got;

	while ((got = next(q, s, err)) > 0) {
		struct queue_decision d = { sqlite3_column_int64(s, 0), column(s, 1), column(s, 2), column(s, 3),
			action_from_name(column(s, 4)), column(s, 5), column(s, 6), column(s, 7), column(s, 8), column(s, 9),
			sqlite3_column_int64(s, 10) };

		if (!whole_log && !first && !strcmp(buf_str(&last), d.name))
			continue;
		first = false;
		buf_reset(&last);
		buf_adds(&last, d.name);
		got = visit(context, &d);
		if (got) {
			sqlite3_reset(s);
			break;
		}
	}
	buf_release(&last);
	return got;
}
