/* km-diversify: cases in, a spread subset out, the others in reserve in the order in which they would come
 * next. It sees the whole set. The hard idea: tasks are put into one order that does not depend on how many
 * are wanted; the first N of it are the subset, so a larger N only adds. */
#include <math.h>
#include <pthread.h>

#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "features.h"
#include "hash/id.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "zst/zst.h"

struct candidate {
	char *line, *name, *cell_name;
	size_t length;
	char id[HASH_ID_HEX];
	char draw[HASH_ID_HEX];		/* of the seed and the id: breaks ties */
	struct features features;
	double nearest;			/* distance to the nearest chosen one of the cell */
	uint64_t rank;			/* 0: not chosen yet */
};

struct cell {
	const char *name;
	struct candidate **member;	/* a run of the sorted candidates; borrowed */
	size_t size, taken;
	double weight;
};

static struct candidate **candidates;
static size_t candidate_count, candidate_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t wanted = UINT64_MAX;
static const char *reserve_path;

/* For --stats. */
static uint64_t cells_in, cells_filled, entropy_millibits, entropy_in_millibits;

/* ---- on the way in */

static void
keep(struct candidate *c)
{
	pthread_mutex_lock(&lock);
	if (candidate_count == candidate_size) {
		candidate_size = candidate_size ? 2 * candidate_size : 1024;
		candidates = xrealloc(candidates, candidate_size * sizeof *candidates);
	}
	candidates[candidate_count++] = c;
	pthread_mutex_unlock(&lock);
}

static void
draw(struct candidate *c)
{
	struct hash_id_state *state = hash_id_start();
	char seed[32];

	snprintf(seed, sizeof seed, "%llu", (unsigned long long)filter_args.seed);
	hash_id_text(state, seed);
	hash_id_text(state, c->id);
	hash_id_text(state, c->name);
	hash_id_end(state, c->draw);
}

static enum filter_verdict
hold(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	json_t *task = rec_case_section(in, "task", &reason->message);
	struct buf cell = BUF_INIT;
	struct candidate *c;

	(void)context;
	(void)out;
	reason->code = "bad_record";
	if (!task)
		return FILTER_REJECT;
	c = xcalloc(1, sizeof *c);
	c->name = xstrdup(rec_json_string(task, "name", ""));
	snprintf(c->id, sizeof c->id, "%s", rec_json_string(task, "id", ""));
	c->line = xstrndup(in->line, in->length);
	c->length = in->length;
	features_cell(task, &cell);
	c->cell_name = buf_detach(&cell);
	c->features = features_of(task);
	c->nearest = INFINITY;
	draw(c);
	json_decref(task);
	keep(c);
	reason->code = NULL;
	return FILTER_DROP;
}

/* ---- cells */

static int
by_cell(const void *a, const void *b)
{
	const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
	int order = strcmp(x->cell_name, y->cell_name);

	if (!order)
		order = strcmp(x->draw, y->draw);
	if (!order && x->length != y->length)
		order = x->length < y->length ? -1 : 1;
	return order ? order : memcmp(x->line, y->line, x->length);
}

static struct cell *
make_cells(size_t *count)
{
	struct cell *cells = xcalloc(candidate_count + 1, sizeof *cells);
	size_t n = 0;

	if (candidate_count)	/* there is no array of none */
		qsort(candidates, candidate_count, sizeof *candidates, by_cell);
	for (size_t i = 0; i < candidate_count; i++) {
		if (i == 0 || strcmp(candidates[i]->cell_name, cells[n - 1].name)) {
			cells[n].name = candidates[i]->cell_name;
			cells[n++].member = &candidates[i];
		}
		cells[n - 1].size++;
	}
	/* Square roots: a cell of a hundred tasks shall weigh more than one of a single task, not a
	 * hundredfold. */
	for (size_t i = 0; i < n; i++)
		cells[i].weight = sqrt((double)cells[i].size);
	*count = n;
	return cells;
}

/* The cell that lies furthest behind its share of the `chosen` tasks plus one; empty cells come first. */
static struct cell *
neediest(struct cell *cells, size_t count, double total_weight, uint64_t chosen)
{
	struct cell *best = NULL;
	double best_need = 0;

	for (size_t i = 0; i < count; i++) {
		struct cell *c = &cells[i];
		double need = c->weight / total_weight * (double)(chosen + 1) - (double)c->taken;

		if (c->taken == c->size)
			continue;
		if (c->taken == 0)
			need += (double)candidate_count + 1;
		if (!best || need > best_need) {
			best = c;
			best_need = need;
		}
	}
	return best;
}

/* The member furthest from all that were chosen before; the draw decides the first and all ties. */
static struct candidate *
furthest(struct cell *c)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < c->size; i++)
		if (!c->member[i]->rank && (!best || c->member[i]->nearest > best->nearest))
			best = c->member[i];
	for (size_t i = 0; i < c->size; i++) {
		double distance = features_distance(&c->member[i]->features, &best->features);

		if (distance < c->member[i]->nearest)
			c->member[i]->nearest = distance;
	}
	c->taken++;
	return best;
}

static int
by_rank(const void *a, const void *b)
{
	uint64_t x = (*(struct candidate *const *)a)->rank, y = (*(struct candidate *const *)b)->rank;

	return (x > y) - (x < y);
}

/* Entropy of the cells' shares, of the chosen tasks or of all; *filled counts the cells that have any. */
static uint64_t
millibits(const struct cell *cells, size_t count, bool chosen, uint64_t *filled)
{
	double total = 0, entropy = 0;
	uint64_t used = 0;

	for (size_t i = 0; i < count; i++)
		total += (double)(chosen ? cells[i].taken : cells[i].size);
	for (size_t i = 0; i < count; i++) {
		double share = (double)(chosen ? cells[i].taken : cells[i].size) / (total > 0 ? total : 1);

		used += share > 0;
		entropy -= share > 0 ? share * log2(share) : 0;
	}
	*filled = used;
	return (uint64_t)lround(1000 * entropy);
}

static void
rank_all(void)
{
	size_t count;
	struct cell *cells = make_cells(&count);
	double total_weight = 0;
	uint64_t limit = wanted < candidate_count ? wanted : candidate_count;

	for (size_t i = 0; i < count; i++)
		total_weight += cells[i].weight;
	entropy_in_millibits = millibits(cells, count, false, &cells_in);
	for (uint64_t rank = 1; rank <= candidate_count; rank++) {
		struct cell *c = neediest(cells, count, total_weight, rank - 1);

		furthest(c)->rank = rank;
		if (rank == limit)
			entropy_millibits = millibits(cells, count, true, &cells_filled);
	}
	free(cells);
	qsort(candidates, candidate_count, sizeof *candidates, by_rank);
}

/* ---- on the way out */

static int
with_curation(const struct candidate *c, bool selected, struct buf *line, struct buf *err)
{
	static const char *const names[] = { "curation" };
	struct rec_case scanned;
	json_t *curation;
	int status;

	if (rec_case_scan(&scanned, c->line, c->length, err) < 0)
		return -1;
	curation = rec_case_section_or_empty(&scanned, "curation", err);
	if (!curation)
		return -1;
	json_object_set_new(curation, "cell", json_string(c->cell_name));
	json_object_set_new(curation, "rank", json_integer((json_int_t)c->rank));
	json_object_set_new(curation, "selected", json_boolean(selected));
	status = rec_case_splice(&scanned, 1, names, &curation, line, err);
	json_decref(curation);
	return status;
}

static void
place(struct filter_sink *sink, const struct candidate *c, struct io_out *reserve)
{
	struct buf line = BUF_INIT, err = BUF_INIT;
	bool selected = c->rank <= wanted;

	if (with_curation(c, selected, &line, &err) < 0) {
		filter_refuse(sink, "bad_record", buf_str(&err), c->line, c->length);
	} else if (selected) {
		filter_emit(sink, line.data, line.len);
	} else {
		filter_drop(sink, "reserve");
		if (reserve) {
			buf_addc(&line, '\n');
			io_write(reserve, line.data, line.len);
		}
	}
	buf_release(&line);
	buf_release(&err);
}

static enum filter_verdict
finish(void *context, struct filter_sink *sink, struct buf *err)
{
	struct io_out *reserve = reserve_path ? io_open_out(reserve_path, err) : NULL;

	(void)context;
	if (reserve_path && !reserve)
		die(EX_CANTCREAT, "%s", buf_str(err));
	rank_all();
	for (size_t i = 0; i < candidate_count; i++)
		place(sink, candidates[i], reserve);
	if (reserve && io_commit(reserve, err) < 0)
		die(EX_IOERR, "%s", buf_str(err));
	note("%llu of %llu cells filled; entropy %.2f bits (%.2f with all tasks)",
		(unsigned long long)cells_filled,
		(unsigned long long)cells_in, (double)entropy_millibits / 1000,
		(double)entropy_in_millibits / 1000);
	return FILTER_PASS;
}

static const struct opt diversify_options[] = {
	{ 'n', "count", OPT_U64, &wanted, "N", "select N tasks; all when not given", 0, INT64_MAX },
	{ 0, "reserve", OPT_STRING, &reserve_path, "FILE",
	"write the others to FILE, in the order in which they would come next",
		0, 0 },
	{ .name = NULL }
};

int
main(int argc, char **argv)
{
	static const struct opt_program program = {
		.name = "km-diversify", .operands = "[FILE...]", .summary = "select a spread subset of tasks",
		.example = "km-diversify -n 100 --reserve rest.jsonl -o chosen.jsonl unique.jsonl",
		.tables = { diversify_options, filter_options },
	};
	static const struct filter_counter counters[] = {
		{ "cells", &cells_in }, { "cells_filled", &cells_filled }, { "entropy_millibits",
			&entropy_millibits },
		{ "entropy_of_all_millibits", &entropy_in_millibits }, { NULL, NULL }
	};
	static const struct filter filter = {
		.stage = "diversify", .transform = hold, .finish = finish, .counters = counters,
	};
	int first;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	return filter_run(&filter, argc - first, argv + first);
}
