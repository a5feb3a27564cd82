/* In: a decisions file. Out: its decisions, found by what they were made about, or by name. Two sorted
 * lists of pointers are the index; a file of decisions is small. */
#include "decisions.h"

#include <jansson.h>

#include "base/arena.h"
#include "base/die.h"
#include "base/io.h"
#include "rec/json.h"

enum { MAX_LINE_BYTES = 64 << 10, MAX_DECISIONS = 1 << 22 };

struct decisions {
	struct queue_decision *list;
	const struct queue_decision **by_state, **by_name;
	size_t count;
	struct arena text;
};

static const char *const statuses[] = {
	[QUEUE_UNDECIDED] = "undecided", [QUEUE_ACCEPT] = "accepted", [QUEUE_REJECT] = "rejected",
	[QUEUE_SKIP] = "skipped", [QUEUE_RETRACT] = "retracted",
};

const char *
decisions_status(enum queue_action action)
{
	return statuses[action];
}

void
decisions_write(const struct queue_decision *d, bool whole, struct buf *out)
{
	json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", d->name, "task_id", d->task_id,
		"shown_sha256", d->shown_sha256, "status", statuses[d->action], "actor", d->actor, "actor_kind",
		d->actor_kind, "mode", d->mode, "time", d->time, "reason", d->reason);

	if (whole)
		json_object_set_new(line, "sequence", json_integer(d->sequence));
	if (whole && d->retracts)
		json_object_set_new(line, "retracts", json_integer(d->retracts));
	rec_json_dump(line, out);
	buf_addc(out, '\n');
	json_decref(line);
}

/* ---- reading */

static bool
is_hex(const char *text, size_t length)
{
	return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

static bool
is_time(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00Z";
	size_t i = 0;

	for (; text[i] && shape[i]; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return !text[i] && !shape[i];
}

static bool
is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* One key of the line as a string in the arena; NULL with a sentence. */
static const char *
text_of(struct decisions *d, const json_t *line, const char *key, struct buf *err)
{
	const char *text = rec_json_string(line, key, NULL);

	if (text)
		return arena_strdup(&d->text, text);
	buf_err(err, "\"%s\" is missing, or no string", key);
	return NULL;
}

static int
check(const struct queue_decision *d, struct buf *err)
{
	static const char *const kinds[] = { "person", "program", NULL };
	static const char *const modes[] = { "interactive", "bulk", "imported", "replayed", NULL };

	if (!is_hex(d->task_id, 32))
		return buf_err(err, "task_id is not 32 hexadecimal digits");
	if (!is_hex(d->shown_sha256, 64))
		return buf_err(err, "shown_sha256 is not 64 hexadecimal digits");
	if (!*d->name || !*d->actor)
		return buf_err(err, "name or actor is empty");
	if (!is_one_of(d->actor_kind, kinds))
		return buf_err(err, "actor_kind \"%.40s\" is not person or program", d->actor_kind);
	if (!is_one_of(d->mode, modes))
		return buf_err(err, "mode \"%.40s\" is not interactive, bulk, imported or replayed", d->mode);
	if (!is_time(d->time))
		return buf_err(err, "time \"%.40s\" is not as 2026-01-31T23:59:59Z", d->time);
	return 0;
}

static int
parse_line(struct decisions *d, const json_t *line, struct queue_decision *out, struct buf *err)
{
	const char *status;
	const struct {
		const char *key, **to;
	} keys[] = {
		{ "name", &out->name }, { "task_id", &out->task_id }, { "shown_sha256", &out->shown_sha256 },
		{ "status", &status }, { "actor", &out->actor }, { "actor_kind", &out->actor_kind }, { "mode", &out->mode },
		{ "time", &out->time }, { "reason", &out->reason },
	};

	if (!json_is_object(line))
		return buf_err(err, "a decision is a JSON object");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!(*keys[i].to = text_of(d, line, keys[i].key, err)))
			return -1;
	if (!strcmp(status, statuses[QUEUE_ACCEPT]))
		out->action = QUEUE_ACCEPT;
	else if (!strcmp(status, statuses[QUEUE_REJECT]))
		out->action = QUEUE_REJECT;
	else
		return buf_err(err, "status \"%.40s\" is not accepted or rejected", status);
	return check(out, err);
}

static int
add_line(struct decisions *d, const struct buf *text, struct buf *err)
{
	json_t *line = rec_json_parse(buf_str(text), text->len, err);
	int status = -1;

	if (d->count == MAX_DECISIONS) {
		buf_err(err, "more than %d decisions", MAX_DECISIONS);
	} else if (line) {
		if ((d->count & (d->count - 1)) == 0)
			d->list = xrealloc(d->list, (d->count ? 2 * d->count : 1) * sizeof *d->list);
		d->list[d->count] = (struct queue_decision){ 0 };
		status = parse_line(d, line, &d->list[d->count], err);
		d->count += status == 0;
	}
	json_decref(line);
	return status;
}

static int
read_lines(struct decisions *d, struct io_in *in, int *status, struct buf *err)
{
	struct buf line = BUF_INIT, why = BUF_INIT;
	enum io_line got;
	int failed = 0;

	*status = EX_DATAERR;
	while (!failed && (got = io_read_line(in, &line, MAX_LINE_BYTES, &why)) != IO_EOF) {
		if (got == IO_ERROR)
			*status = EX_IOERR;
		else if (got == IO_TOO_LONG)
			buf_err(&why, "the line is longer than %d bytes", MAX_LINE_BYTES);
		else if (got == IO_TRUNCATED)
			buf_err(&why, "the last line has no newline: the file was cut");
		failed = got != IO_LINE || add_line(d, &line, &why) < 0;
	}
	if (failed)
		buf_err(err, "%s:%llu: %s", io_name(in), (unsigned long long)io_line_number(in), buf_str(&why));
	buf_release(&line);
	buf_release(&why);
	return failed ? -1 : 0;
}

static int
compare_state(const void *a, const void *b)
{
	const struct queue_decision *x = *(const struct queue_decision *const *)a;
	const struct queue_decision *y = *(const struct queue_decision *const *)b;
	int order = strcmp(x->task_id, y->task_id);

	return order ? order : strcmp(x->shown_sha256, y->shown_sha256);
}

static int
compare_name(const void *a, const void *b)
{
	return strcmp((*(const struct queue_decision *const *)a)->name, (*(const struct queue_decision *const *)b)->name);
}

static int
make_index(struct decisions *d, const char *path, struct buf *err)
{
	d->by_state = xcalloc(d->count + 1, sizeof *d->by_state);
	d->by_name = xcalloc(d->count + 1, sizeof *d->by_name);
	for (size_t i = 0; i < d->count; i++)
		d->by_state[i] = d->by_name[i] = &d->list[i];
	qsort(d->by_state, d->count, sizeof *d->by_state, compare_state);
	qsort(d->by_name, d->count, sizeof *d->by_name, compare_name);
	for (size_t i = 1; i < d->count; i++)
		if (!compare_state(&d->by_state[i - 1], &d->by_state[i]))
			return buf_err(err, "%s: \"%s\" is decided twice", path, d->by_state[i]->name);
	return 0;
}

struct decisions *
decisions_read(const char *path, int *status, struct buf *err)
{
	struct io_in *in = io_open_in(path, err);
	struct decisions *d;
	int failed;

	*status = EX_NOINPUT;
	if (!in)
		return NULL;
	d = xcalloc(1, sizeof *d);
	failed = read_lines(d, in, status, err);
	io_close_in(in);
	if (!failed)
		failed = make_index(d, path, err);
	if (!failed)
		return d;
	decisions_free(d);
	return NULL;
}

void
decisions_free(struct decisions *d)
{
	if (!d)
		return;
	free(d->list);
	free(d->by_state);
	free(d->by_name);
	arena_release(&d->text);
	free(d);
}

size_t
decisions_count(const struct decisions *d)
{
	return d ? d->count : 0;
}

const struct queue_decision *
decisions_at(const struct decisions *d, size_t index)
{
	return &d->list[index];
}

const struct queue_decision *
decisions_find(const struct decisions *d, const char *task_id, const char *shown_sha256)
{
	const struct queue_decision wanted = { .task_id = task_id, .shown_sha256 = shown_sha256 }, *key = &wanted;
	const struct queue_decision **found = NULL;

	if (d)
		found = bsearch(&key, d->by_state, d->count, sizeof *d->by_state, compare_state);
	return found ? *found : NULL;
}

const struct queue_decision *
decisions_cite(const struct decisions *d, const char *name)
{
	const struct queue_decision wanted = { .name = name }, *key = &wanted;
	const struct queue_decision **found = NULL;

	if (d)
		found = bsearch(&key, d->by_name, d->count, sizeof *d->by_name, compare_name);
	return found ? *found : NULL;
}
