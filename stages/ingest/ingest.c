/* km-ingest: raw specs in, cases out in order of name.
 * Every spec is read and completed, then its forms and worked examples are run against each other, several
 * tasks at a time; one that is refused goes to the rejects file and leaves the others as they are. */
#include <pthread.h>

#include "base/die.h"
#include "base/footer.h"
#include "eval/eval.h"
#include "gather.h"
#include "rec/filter.h"
#include "refuse.h"
#include "zst/zst.h"

static bool no_check;

static const struct opt ingest_options[] = {
	{ 0, "no-check", OPT_FLAG, &no_check, NULL,
		"do not run the forms and worked examples against each other; what else is wrong is still refused", 0, 0 },
	{ .name = NULL }
};

static const struct opt_program program = {
	.name = "km-ingest",
	.operands = "PATH...",
	.summary = "turn raw task specifications into cases",
	.example = "km-ingest -o tasks.jsonl --rejects rejects.jsonl seeds/specs",
	.tables = { ingest_options, filter_options, eval_option_table, NULL },
};

/* ---- names are unique: transcripts and decisions cite them */

static int
by_name(const void *a, const void *b)
{
	const struct raw_spec *x = *(struct raw_spec *const *)a, *y = *(struct raw_spec *const *)b;
	int order = strcmp(x->task->name, y->task->name);

	return order ? order : x < y ? -1 : x > y;
}

/* The specs that were not refused, in order of name. Returned owned. */
static struct raw_spec **
sort_good(struct raw_specs *specs, size_t *count)
{
	struct raw_spec **good = xcalloc(specs->count + 1, sizeof *good);

	*count = 0;
	for (size_t i = 0; i < specs->count; i++)
		if (!specs->list[i].reason.code)
			good[(*count)++] = &specs->list[i];
	qsort(good, *count, sizeof *good, by_name);
	return good;
}

/* Of several specs of one name the first that was given stays. */
static void
refuse_duplicates(struct raw_spec **good, size_t count)
{
	const struct raw_spec *first = count ? good[0] : NULL;

	for (size_t i = 1; i < count; i++) {
		if (strcmp(first->task->name, good[i]->task->name))
			first = good[i];
		else
			refuse(&good[i]->reason, "duplicate_name", "the name \"%s\" is taken by %s", first->task->name, first->file);
	}
}

/* ---- running the forms */

struct checks {
	struct eval *eval;
	struct raw_spec **list;
	size_t count, next, done;
	struct buf failure;		/* ours, not a task's */
	pthread_mutex_t lock;
};

static void
check_one(struct checks *c, struct raw_spec *s)
{
	const char *code = "bad_task";
	struct buf err = BUF_INIT;
	int agree = eval_check_task(c->eval, s->task, &code, &err);

	if (agree == 0)
		refuse(&s->reason, code, "%s", buf_str(&err));
	pthread_mutex_lock(&c->lock);
	if (agree < 0 && !c->failure.len)
		buf_addf(&c->failure, "%s: %s", s->file, buf_str(&err));
	footer_progress(++c->done, c->count, "tasks", NULL);
	pthread_mutex_unlock(&c->lock);
	buf_release(&err);
}

static void *
check_some(void *context)
{
	struct checks *c = context;

	for (;;) {
		struct raw_spec *s = NULL;

		pthread_mutex_lock(&c->lock);
		while (!c->failure.len && c->next < c->count && !s) {
			s = c->list[c->next++];
			if (s->reason.code)
				s = NULL;
		}
		pthread_mutex_unlock(&c->lock);
		if (!s)
			return NULL;
		check_one(c, s);
	}
}

static void
check_all(struct raw_spec **list, size_t count)
{
	struct checks c = { .list = list, .count = count };
	pthread_t *threads = xcalloc(filter_args.threads, sizeof *threads);
	struct buf err = BUF_INIT;
	int status = EX_SOFTWARE;
	uint64_t started = 1;

	c.eval = eval_open(filter_args.seed, &status, &err);
	if (!c.eval)
		die(status, "%s", buf_str(&err));
	pthread_mutex_init(&c.lock, NULL);
	while (started < filter_args.threads && !pthread_create(&threads[started], NULL, check_some, &c))
		started++;
	check_some(&c);
	for (uint64_t i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	status = eval_failure(c.eval);
	eval_close(c.eval);
	free(threads);
	if (c.failure.len)
		die(status, "%s", buf_str(&c.failure));
}

/* ---- output */

struct result {
	struct raw_specs *specs;
	struct raw_spec **good;
	size_t count;
};

static enum filter_verdict
write_all(void *context, struct filter_sink *sink, struct buf *err)
{
	const struct result *r = context;

	(void)err;
	for (size_t i = 0; i < r->specs->count; i++) {
		const struct raw_spec *s = &r->specs->list[i];

		filter_take(sink, s->text.len);
		if (s->reason.code)
			filter_refuse_at(sink, s->file, s->line, &s->reason, buf_str(&s->text), s->text.len);
	}
	for (size_t i = 0; i < r->count; i++)
		if (!r->good[i]->reason.code)
			filter_emit(sink, buf_str(&r->good[i]->out), r->good[i]->out.len);
	return FILTER_PASS;
}

int
main(int argc, char **argv)
{
	struct raw_specs specs = { 0 };
	struct result result = { .specs = &specs };
	struct filter filter = { .stage = "ingest", .takes_records = true, .context = &result, .finish = write_all };
	struct buf err = BUF_INIT;
	int status = EX_NOINPUT;

	footer_start(argc, argv);
	zst_register();
	argv += opt_parse(&program, argc, argv);
	if (!*argv)
		die(EX_USAGE, "no PATH was given; see %s -h", program.name);
	if (filter_args.shard)
		die(EX_USAGE, "--shard: ingest sees the whole set, and the stages after it take shards");
	for (; *argv; argv++)
		if (gather_path(&specs, *argv, &status, &err) < 0)
			die(status, "%s", buf_str(&err));
	result.good = sort_good(&specs, &result.count);
	refuse_duplicates(result.good, result.count);
	if (!no_check && result.count)
		check_all(result.good, result.count);
	status = filter_run(&filter, 0, NULL);
	free(result.good);
	gather_release(&specs);
	return status;
}
