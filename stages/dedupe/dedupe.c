/* km-dedupe: cases in, cases that say something new out, each with what it stands for. It sees the whole
 * set, and of equal tasks keeps the one whose name sorts first, so that the order of the input and the
 * number of its files change nothing. */
#include <pthread.h>
#include <search.h>

#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "normalise.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "zst/zst.h"

struct held {
	char *line, *name;
	size_t length;
	char id[HASH_ID_HEX];
	struct task_keys keys;
	uint64_t stands_for;		/* tasks dropped in favour of this one */
};

/* One way to be the same: whoever is kept claims its keys, and a later task that finds one claimed goes. */
struct claim {
	char key[HASH_ID_HEX];
	struct held *owner;
};

static struct held **entries;
static size_t entry_count, entry_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *claims;
static const char *dropped_path;

static int
compare_claims(const void *a, const void *b)
{
	return strcmp(((const struct claim *)a)->key, ((const struct claim *)b)->key);
}

static int
by_name(const void *a, const void *b)
{
	const struct held *x = *(struct held *const *)a, *y = *(struct held *const *)b;
	size_t shorter = x->length < y->length ? x->length : y->length;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = strcmp(x->id, y->id);
	if (!order)
		order = memcmp(x->line, y->line, shorter);
	return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* ---- on the way in: keys are made by any thread, entries are kept */

static void
keep(struct held *e)
{
	pthread_mutex_lock(&lock);
	if (entry_count == entry_size) {
		entry_size = entry_size ? 2 * entry_size : 1024;
		entries = xrealloc(entries, entry_size * sizeof *entries);
	}
	entries[entry_count++] = e;
	pthread_mutex_unlock(&lock);
}

static enum filter_verdict
hold(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	json_t *task = rec_case_section(in, "task", &reason->message);
	struct held *e;

	(void)context;
	(void)out;
	reason->code = "bad_record";
	if (!task)
		return FILTER_REJECT;
	e = xcalloc(1, sizeof *e);
	if (normalise_task(task, &e->keys, &reason->message) < 0) {
		json_decref(task);
		free(e);
		return FILTER_REJECT;
	}
	e->name = xstrdup(rec_json_string(task, "name", ""));
	snprintf(e->id, sizeof e->id, "%s", rec_json_string(task, "id", ""));
	e->line = xstrndup(in->line, in->length);
	e->length = in->length;
	json_decref(task);
	keep(e);
	reason->code = NULL;
	return FILTER_DROP;
}

/* ---- the whole set: who stays */

static struct held *
owner_of(const char *key)
{
	struct claim wanted;
	struct claim **found;

	if (!*key)
		return NULL;
	memcpy(wanted.key, key, HASH_ID_HEX);
	found = tfind(&wanted, &claims, compare_claims);
	return found ? (*found)->owner : NULL;
}

static void
claim(const char *key, struct held *owner)
{
	struct claim *c;

	if (!*key || owner_of(key))
		return;
	c = xmalloc(sizeof *c);
	memcpy(c->key, key, HASH_ID_HEX);
	c->owner = owner;
	if (!tsearch(c, &claims, compare_claims))
		die(EX_TEMPFAIL, "out of memory");
}

/* The kept task that `e` repeats, and how; NULL if it is new. */
static struct held *
original_of(const struct held *e, const char **code)
{
	const struct {
		const char *code, *key;
	} ways[] = {
		{ "duplicate_exact", e->id }, { "duplicate_exact", e->keys.exact }, { "duplicate_math",
			e->keys.math },
		{ "duplicate_reference", e->keys.reference }, { "duplicate_prompt", e->keys.prompt },
	};

	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		struct held *owner = owner_of(ways[i].key);

		*code = ways[i].code;
		if (owner)
			return owner;
	}
	return NULL;
}

static void
report_drop(struct io_out *out, const struct held *e, const struct held *kept, const char *code)
{
	struct buf message = BUF_INIT, text = BUF_INIT;
	json_t *row;

	buf_addf(&message, "%s says the same as %s (%s), which is kept", e->name, kept->name, kept->id);
	if (die_verbosity > 1)
		note("%s: %s", code, message.data);
	if (out) {
		row = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "stage", "dedupe", "code", code,
			"message", message.data,
			"name", e->name, "id", e->id, "kept_name", kept->name, "kept_id", kept->id);
		rec_json_dump(row, &text);
		buf_addc(&text, '\n');
		io_write(out, text.data, text.len);
		json_decref(row);
	}
	buf_release(&message);
	buf_release(&text);
}

static void
free_held(struct held *e)
{
	free(e->line);
	free(e->name);
	free(e);
}

static int
emit(struct filter_sink *sink, const struct held *e, struct buf *err)
{
	static const char *const names[] = { "curation" };
	struct rec_case c;
	struct buf line = BUF_INIT;
	json_t *curation = NULL;
	int status = rec_case_scan(&c, e->line, e->length, err);

	if (status == 0)
		curation = rec_case_section_or_empty(&c, "curation", err);
	if (!curation)
		return -1;
	json_object_set_new(curation, "exact_hash", json_string(e->keys.exact));
	json_object_set_new(curation, "normalised_hash", json_string(e->keys.all));
	json_object_set_new(curation, "duplicates_dropped", json_integer((json_int_t)e->stands_for));
	if (!json_object_get(curation, "benchmark_check"))
		json_object_set_new(curation, "benchmark_check", json_string("not_run"));
	status = rec_case_splice(&c, 1, names, &curation, &line, err);
	if (status == 0)
		filter_emit(sink, line.data, line.len);
	json_decref(curation);
	buf_release(&line);
	return status;
}

static struct io_out *
open_dropped(struct buf *err)
{
	struct io_out *out = dropped_path ? io_open_out(dropped_path, err) : NULL;

	if (dropped_path && !out)
		die(EX_CANTCREAT, "%s", buf_str(err));
	return out;
}

/* Decides in order of name; returns how many stay, moved to the front. */
static size_t
choose(struct filter_sink *sink, struct io_out *report)
{
	size_t kept = 0;

	if (entry_count)	/* there is no array of none */
		qsort(entries, entry_count, sizeof *entries, by_name);
	for (size_t i = 0; i < entry_count; i++) {
		struct held *e = entries[i], *original;
		const char *code;

		original = original_of(e, &code);
		if (original) {
			original->stands_for++;
			report_drop(report, e, original, code);
			filter_drop(sink, code);
			free_held(e);
			continue;
		}
		claim(e->id, e);
		claim(e->keys.exact, e);
		claim(e->keys.math, e);
		claim(e->keys.reference, e);
		claim(e->keys.prompt, e);
		entries[kept++] = e;
	}
	return kept;
}

static enum filter_verdict
finish(void *context, struct filter_sink *sink, struct buf *err)
{
	struct io_out *report = open_dropped(err);
	size_t kept = choose(sink, report);

	(void)context;
	if (report && io_commit(report, err) < 0)
		die(EX_IOERR, "%s", buf_str(err));
	for (size_t i = 0; i < kept; i++) {
		struct buf why = BUF_INIT;

		if (emit(sink, entries[i], &why) < 0)
			filter_refuse(sink, "bad_record", buf_str(&why), entries[i]->line, entries[i]->length);
		buf_release(&why);
	}
	return FILTER_PASS;
}

static const struct opt dedupe_options[] = {
	{ 0, "dropped", OPT_STRING, &dropped_path, "FILE",
		"write what was dropped, and in favour of which task, to FILE", 0, 0 },
	{ .name = NULL }
};

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-dedupe", .operands = "[FILE...]", .summary = "drop tasks that repeat another",
		.example = "km-dedupe --dropped dropped.jsonl -o unique.jsonl tasks.jsonl",
		.tables = { dedupe_options, filter_options },
	};
	static const struct filter filter = {
		.stage = "dedupe", .transform = hold, .finish = finish, .default_max_rejects = 0,
	};
	int first;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	return filter_run(&filter, argc - first, argv + first);
}
