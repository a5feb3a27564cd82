/* km-package: verified cases in, the release out, as a folder that appears whole or not at all. It sees the
 * whole set and sorts it by task id, so that shards and threads upstream leave no trace. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "base/num.h"
#include "build.h"
#include "card.h"
#include "hash/sha256.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "rec/schema.h"
#include "rows.h"
#include "shards.h"
#include "summary.h"
#include "zst/zst.h"

/* What is kept of one case until all are there. */
struct item {
	char *line, *license;
	size_t length;
	char id[HASH_ID_HEX];
	struct buf lines[ROWS_CONFIGS];
	json_int_t rows[ROWS_CONFIGS];
	json_t *summary, *protocols;
};

static struct item **items;
static size_t item_count, item_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *directory, *stage_folder;
static uint64_t shard_bytes = 64 << 20;
static uint64_t tasks, resolved, solutions, sft_trajectories, sft_direct, stale;

/* ---- one case to rows; any thread */

static int
add_row(struct item *item, int config, const json_t *row, struct buf *err)
{
	if (rec_schema_check(rows_configs[config].name, row, err) < 0)
		return -1;
	rec_json_dump(row, &item->lines[config]);
	buf_addc(&item->lines[config], '\n');
	item->rows[config]++;
	return 0;
}

static int
add_config(struct item *item, int config, const struct view *v, struct buf *err)
{
	json_t *rows = rows_configs[config].rows ? rows_configs[config].rows(v) : json_pack("[o]", rows_task(v)), *row;
	int status = 0;
	size_t i;

	json_array_foreach(rows, i, row)
		if (status == 0)
			status = add_row(item, config, row, err);
	json_decref(rows);
	return status;
}

static void
note_protocols(struct item *item, const struct view *v)
{
	const json_t *e;
	size_t i;

	item->protocols = json_object();
	json_array_foreach(v->evaluations, i, e) {
		char number[32];

		snprintf(number, sizeof number, "%lld", (long long)rec_json_integer(e, "protocol", 0));
		json_object_set_new(item->protocols, number, json_true());
	}
}

static void
free_item(struct item *item)
{
	for (int i = 0; i < ROWS_CONFIGS; i++)
		buf_release(&item->lines[i]);
	json_decref(item->summary);
	json_decref(item->protocols);
	free(item->line);
	free(item->license);
	free(item);
}

static void
keep(struct item *item)
{
	pthread_mutex_lock(&lock);
	if (item_count == item_size) {
		item_size = item_size ? 2 * item_size : 256;
		items = xrealloc(items, item_size * sizeof *items);
	}
	items[item_count++] = item;
	pthread_mutex_unlock(&lock);
}

/* NULL if the task may be released, else why not. */
static const char *
held_back(const struct view *v)
{
	const char *status = rec_json_string(v->review, "status", NULL);

	if (!status)
		return "not_reviewed";
	return strcmp(status, "rejected") ? NULL : "review_rejected";
}

static enum filter_verdict
hold(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	struct view v;
	struct item *item;
	int status = 0;

	(void)context;
	(void)out;
	reason->code = "bad_record";
	if (view_load(&v, in, &reason->message) < 0)
		return FILTER_REJECT;
	reason->code = held_back(&v);
	if (reason->code) {
		view_release(&v);
		return FILTER_DROP;
	}
	item = xcalloc(1, sizeof *item);
	snprintf(item->id, sizeof item->id, "%s", v.id);
	item->line = xstrndup(in->line, in->length);
	item->length = in->length;
	item->license = xstrdup(rec_json_string(v.task, "license", ""));
	item->summary = summary_of(&v);
	note_protocols(item, &v);
	for (int i = 0; i < ROWS_CONFIGS && status == 0; i++)
		status = add_config(item, i, &v, &reason->message);
	view_release(&v);
	if (status < 0) {
		free_item(item);
		reason->code = "bad_row";
		return FILTER_REJECT;
	}
	keep(item);
	return FILTER_DROP;
}

/* ---- the whole set */

static int
by_id(const void *a, const void *b)
{
	return strcmp((*(struct item *const *)a)->id, (*(struct item *const *)b)->id);
}

static int
by_summary_name(const void *a, const void *b)
{
	return strcmp(rec_json_string(*(json_t *const *)a, "name", ""), rec_json_string(*(json_t *const *)b,
		"name", ""));
}

/* A second case of one task would give two rows of one id. */
static void
refuse_twins(struct filter_sink *sink)
{
	size_t kept = 0;

	if (item_count)	/* there is no array of none */
		qsort(items, item_count, sizeof *items, by_id);
	for (size_t i = 0; i < item_count; i++) {
		struct item *item = items[i];

		if (kept && !strcmp(items[kept - 1]->id, item->id)) {
			filter_refuse(sink, "task_twice", "another case has the same task id", item->line,
				item->length);
			free_item(item);
		} else {
			items[kept++] = item;
		}
	}
	item_count = kept;
}

/* The card's view of it: summaries by name, counts, rows by split, licences. All returned owned. */
static void
add_up(json_t **summaries, json_t **totals, json_t **rows, json_t **licenses)
{
	json_t **sorted = xcalloc(item_count + 1, sizeof *sorted), *seen = json_object();

	*summaries = json_array();
	*totals = json_object();
	*rows = json_object();
	*licenses = json_array();
	for (size_t i = 0; i < item_count; i++) {
		sorted[i] = items[i]->summary;
		summary_add(*totals, json_object_get(items[i]->summary, "counts"));
		json_object_set_new(seen, items[i]->license, json_true());
		for (int c = 0; c < ROWS_CONFIGS; c++)
			summary_count(*rows, rows_configs[c].name, view_split(items[i]->id), items[i]->rows[c]);
	}
	qsort(sorted, item_count, sizeof *sorted, by_summary_name);
	for (size_t i = 0; i < item_count; i++)
		json_array_append(*summaries, sorted[i]);
	json_object_set_new(seen, "Apache-2.0", json_true());
	static const char *const order[] = { "CC-BY-4.0", "CC0-1.0", "Apache-2.0", "MIT", "BSD-3-Clause" };
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (json_object_get(seen, order[i]))
			json_array_append_new(*licenses, json_string(order[i]));
	json_decref(seen);
	free(sorted);
}

static int
write_configs(const char *folder, json_t *files, struct buf *err)
{
	struct shard_rows *rows = xcalloc(item_count + 1, sizeof *rows);
	int status = 0;

	for (int c = 0; c < ROWS_CONFIGS && status == 0; c++) {
		for (size_t i = 0; i < item_count; i++)
			rows[i] = (struct shard_rows){ view_split(items[i]->id), &items[i]->lines[c] };
		status = shards_write(folder, rows_configs[c].name, rows, item_count, shard_bytes, files, err);
	}
	free(rows);
	return status;
}

static int
write_card(const char *folder, const json_t *stages, json_t *files, struct buf *err)
{
	json_t *summaries, *totals, *rows, *licenses;
	struct buf text = BUF_INIT;
	int status;

	add_up(&summaries, &totals, &rows, &licenses);
	stale = (uint64_t)(rec_json_integer(json_object_get(totals, "trajectories_stale"), "authored", 0) +
		rec_json_integer(json_object_get(totals, "trajectories_stale"), "sampled", 0));
	card_write(&(struct card){ summaries, totals, rows, licenses, stages }, &text);
	status = shards_write_plain(folder, "README.md", &text, files, err);
	buf_release(&text);
	json_decref(summaries);
	json_decref(totals);
	json_decref(rows);
	json_decref(licenses);
	return status;
}

/* ---- side files */

static void
hash_contents(const json_t *files, char hex[SHA256_HEX])
{
	struct sha256_state *state = sha256_start();
	uint8_t digest[SHA256_BYTES];
	const json_t *file;
	size_t i;

	json_array_foreach(files, i, file) {
		sha256_text(state, rec_json_string(file, "path", ""));
		sha256_text(state, rec_json_string(file, "content_sha256", ""));
	}
	sha256_end(state, digest);
	sha256_to_hex(digest, hex);
}

static json_t *
all_protocols(void)
{
	json_t *list = json_array();

	for (json_int_t number = 0; number < 1000; number++) {
		char key[32];

		snprintf(key, sizeof key, "%lld", (long long)number);
		for (size_t i = 0; i < item_count; i++) {
			if (json_object_get(items[i]->protocols, key)) {
				json_array_append_new(list, json_integer(number));
				break;
			}
		}
	}
	return list;
}

static int
write_json(const char *folder, const char *name, json_t *value, struct buf *err)
{
	struct buf path = BUF_INIT;
	char *dump = json_dumps(value, JSON_INDENT(1));
	struct buf text = BUF_INIT;
	int status;

	buf_addf(&path, "%s/%s", folder, name);
	buf_addf(&text, "%s\n", dump);
	status = io_write_file(path.data, text.data, text.len, err);
	free(dump);
	buf_release(&text);
	json_decref(value);
	buf_release(&path);
	return status;
}

static int
write_manifest(const char *folder, json_t *files, struct buf *err)
{
	char hex[SHA256_HEX];
	json_t *counts = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "tasks", (json_int_t)tasks, "resolved",
		(json_int_t)resolved, "solutions", (json_int_t)solutions, "sft_trajectories",
		(json_int_t)sft_trajectories,
		"sft_direct", (json_int_t)sft_direct, "stale_trajectories", (json_int_t)stale);

	hash_contents(files, hex);
	return write_json(folder, "MANIFEST.json", json_pack("{s:s, s:I, s:{s:o}, s:o, s:s, s:O}",
		"schema_version",
		REC_SCHEMA_VERSION, "seed", (json_int_t)filter_args.seed, "protocols", "verdict",
		all_protocols(), "counts", counts,
		"content_sha256", hex, "files", files), err);
}

static void
count_rows(void)
{
	uint64_t *const totals[ROWS_CONFIGS] = { &tasks, &solutions, &sft_trajectories, &sft_direct };

	for (size_t i = 0; i < item_count; i++) {
		for (int c = 0; c < ROWS_CONFIGS; c++)
			*totals[c] += (uint64_t)items[i]->rows[c];
		resolved += items[i]->rows[ROWS_CONFIGS - 1] > 0;
	}
}

/* ---- the folder: written beside its place, then exchanged for what stands there */

static bool
is_release_or_empty(const char *path)
{
	struct buf manifest = BUF_INIT;
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true, release;

	while (dir && (entry = readdir(dir)))
		empty = empty && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."));
	if (dir)
		closedir(dir);
	buf_addf(&manifest, "%s/MANIFEST.json", path);
	release = access(manifest.data, F_OK) == 0;
	buf_release(&manifest);
	return dir ? empty || release : errno == ENOENT;
}

/* Folders that killed runs left beside ours: their process is gone. */
static void
sweep_leftovers(void)
{
	const char *slash = strrchr(directory, '/'), *base = slash ? slash + 1 : directory;
	char *parent = slash ? xstrndup(directory, slash == directory ? 1 : (size_t)(slash - directory)) :
		xstrdup(".");
	DIR *dir = opendir(parent);
	size_t length = strlen(base);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct buf path = BUF_INIT;
		uint64_t pid;

		if (!strncmp(entry->d_name, base, length) && !strncmp(entry->d_name + length, ".tmp.", 5) &&
		    num_u64(entry->d_name + length + 5, 2, INT32_MAX, &pid) == 0 && kill((pid_t)pid, 0) < 0 &&
		errno == ESRCH) {
			buf_addf(&path, "%s/%s", parent, entry->d_name);
			io_remove_tree(path.data, NULL);
		}
		buf_release(&path);
	}
	if (dir)
		closedir(dir);
	free(parent);
}

static int
put_in_place(const char *folder, struct buf *err)
{
	if (renameat2(AT_FDCWD, folder, AT_FDCWD, directory, RENAME_EXCHANGE) == 0)
		return io_remove_tree(folder, err);
	if (errno == EINVAL && io_remove_tree(directory, err) < 0)	/* a file system that cannot exchange */
		return -1;
	if (rename(folder, directory) < 0)
		return buf_err(err, "%s: cannot rename into place: %s", directory, strerror(errno));
	return 0;
}

static int
write_release(const char *folder, const json_t *stages, struct buf *err)
{
	json_t *files = json_array();
	int status = io_make_dirs(folder, err);

	if (status == 0)
		status = write_configs(folder, files, err);
	if (status == 0)
		status = write_card(folder, stages, files, err);
	if (status == 0)
		status = write_manifest(folder, files, err);
	if (status == 0)
		status = write_json(folder, "BUILD.json", build_record(stage_folder), err);
	if (status == 0)
		status = put_in_place(folder, err);
	json_decref(files);
	return status;
}

static enum filter_verdict
finish(void *context, struct filter_sink *sink, struct buf *err)
{
	struct buf folder = BUF_INIT, why = BUF_INIT;

	(void)context;
	refuse_twins(sink);
	if (filter_refused_too_many(sink)) {
		/* The run ends with 65, and the release that stands there stays. */
		for (size_t i = 0; i < item_count; i++)
			filter_drop(sink, "not_released");
		return FILTER_PASS;
	}
	count_rows();
	json_t *stages = build_stages(stage_folder, &why);
	if (!stages)
		die(EX_DATAERR, "%s", buf_str(&why));
	buf_addf(&folder, "%s.tmp.%ld", directory, (long)getpid());
	if (write_release(folder.data, stages, &why) < 0) {
		/* The place was tried at the start, so it is the disk. */
		io_remove_tree(folder.data, NULL);
		die(EX_IOERR, "%s", buf_str(&why));
	}
	for (size_t i = 0; i < item_count; i++) {
		filter_emit(sink, items[i]->line, items[i]->length);
		free_item(items[i]);
	}
	(void)err;
	json_decref(stages);
	buf_release(&folder);
	buf_release(&why);
	return FILTER_PASS;
}

/* ---- options: those of a filter, but -o names a folder */

static struct opt options[16] = {
	{ 'o', "output", OPT_STRING, &directory, "DIR",
		"write the release to DIR, whole or not at all; needed", 0, 0 },
	{ 0, "stages", OPT_STRING, &stage_folder, "DIR",
	"take the counts and commands of earlier stages from DIR/*.stats.json",
		0, 0 },
	{ 0, "shard-bytes", OPT_BYTES, &shard_bytes, "SIZE",
	"end a shard of the release once it holds SIZE; 64M when not given",
		1, INT64_MAX },
};

static void
complete_options(void)
{
	int count = 3;

	for (const struct opt *o = filter_options; o->name; o++)
		if (o->letter != 'o' && strcmp(o->name, "shard"))
			options[count++] = *o;
}

static void
check_directory(void)
{
	struct buf path = BUF_INIT;

	if (!directory || !*directory)
		die(EX_USAGE, "-o DIR is needed");
	while (strlen(directory) > 1 && directory[strlen(directory) - 1] == '/')
		directory = xstrndup(directory, strlen(directory) - 1);
	if (!is_release_or_empty(directory))
		die(EX_CANTCREAT, "%s: is there already and is no release; it is left alone", directory);
	/* The place is tried before the work is done. */
	buf_addf(&path, "%s.tmp.%ld", directory, (long)getpid());
	if (mkdir(path.data, 0777) < 0)
		die(EX_CANTCREAT, "%s:", path.data);
	rmdir(path.data);
	buf_release(&path);
	sweep_leftovers();
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-package", .operands = "[FILE...]",
			.summary = "make the release from verified cases",
		.example = "km-package -o out/release out/data/verify-*.jsonl.zst", .tables = { options },
	};
	static const struct filter_counter counters[] = {
		{ "tasks", &tasks }, { "resolved", &resolved }, { "solutions", &solutions },
		{ "sft_trajectories", &sft_trajectories }, { "sft_direct", &sft_direct },
		{ "stale_trajectories", &stale },
		{ NULL, NULL }
	};
	static const struct filter filter = {
		.stage = "package", .transform = hold, .finish = finish, .counters = counters,
	};
	int first;

	footer_start(argc, argv);
	zst_register();
	complete_options();
	first = opt_parse(&program, argc, argv);
	check_directory();
	/* The cases have gone into the rows: none leaves by standard output. */
	filter_args.output = "/dev/null";
	return filter_run(&filter, argc - first, argv + first);
}
