/* The loop of every filter. Lines of JSON come in from files or standard input; the transform's lines go
 * out in the same order, refused ones to the rejects file, and every count adds up. The hard idea: the
 * main thread reads and writes, workers only transform; a ring of jobs between them keeps the order. */
#include "rec/filter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/footer.h"
#include "base/io.h"
#include "base/num.h"
#include "rec/json.h"

enum { RAW_MAX_BYTES = 4096, MAX_CODES = 64, MAX_SHARDS = 1 << 16, JOBS_PER_THREAD = 4 };

struct filter_args filter_args = { .output = "-", .seed = 1, .threads = 1 };

const struct opt filter_options[] = {
	{ 'o', "output", OPT_STRING, &filter_args.output, "FILE", "write cases to FILE, whole or not at all",
		0, 0 },
	{ 0, "rejects", OPT_STRING, &filter_args.rejects, "FILE",
	"write refused records to FILE, each with its reason",
		0, 0 },
	{ 0, "stats", OPT_STRING, &filter_args.stats, "FILE", "write counts as JSON to FILE", 0, 0 },
	{ 0, "max-rejects", OPT_STRING, &filter_args.max_rejects, "N|P%",
		"exit with 65 when more than N records, or P percent, are refused", 0, 0 },
	{ 0, "seed", OPT_U64, &filter_args.seed, "N", "start of every random choice; 1 when not given", 0,
	INT64_MAX },
	{ 0, "threads", OPT_U64, &filter_args.threads, "N",
	"work on N cases at a time; the output does not depend on it",
		1, 1024 },
	{ 0, "shard", OPT_STRING, &filter_args.shard, "I/N",
	"keep only the cases whose task id falls in shard I of N",
		0, 0 },
	{ .name = NULL }
};

struct tally {
	int codes;
	struct {
		const char *code;
		uint64_t count;
	} entry[MAX_CODES];
	uint64_t total;
};

enum job_state { JOB_FREE, JOB_READY, JOB_RUNNING, JOB_DONE };

struct job {
	enum job_state state;
	const char *file;	/* borrowed from argv */
	uint64_t line_number;
	struct buf line, out;
	bool is_case;		/* the scan went well, so the transform is to run */
	struct rec_case scanned;
	enum filter_verdict verdict;
	struct filter_reason reason;
};

struct run {
	const struct filter *filter;
	struct io_out *out, *rejects;
	struct tally dropped, rejected;
	uint64_t in, written, held, bytes_in, bytes_out;
	uint64_t reject_count_max;
	double reject_part_max;		/* of 1; negative: count_max rules */
	uint64_t shard, shards;
	int retry;			/* exit status of a FILTER_RETRY, 0: there was none */

	struct job *jobs;
	size_t job_count, head, tail;	/* sequence numbers: [head, tail) are in flight */
	size_t next;			/* the next one that a worker takes */
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	bool stop;
};

struct filter_sink {
	struct run *run;
};

static void
tally_add(struct tally *t, const char *code)
{
	t->total++;
	for (int i = 0; i < t->codes; i++) {
		if (!strcmp(t->entry[i].code, code)) {
			t->entry[i].count++;
			return;
		}
	}
	if (t->codes == MAX_CODES)
		die(EX_SOFTWARE, "more than %d reason codes", MAX_CODES);
	t->entry[t->codes].code = code;
	t->entry[t->codes++].count = 1;
}

/* ---- what becomes of one record */

static void
write_line(struct run *r, const char *line, size_t length)
{
	if (!length || memchr(line, '\n', length))
		die(EX_SOFTWARE, "%s made a record that is not one line", r->filter->stage);
	io_write(r->out, line, length);
	io_write(r->out, "\n", 1);
	r->written++;
	r->bytes_out += length + 1;
}

static void
refuse(struct run *r, const char *file, uint64_t line, const char *code, const char *message, const char *raw,
	size_t raw_length)
{
	struct buf kept = BUF_INIT, text = BUF_INIT;
	json_t *reject;

	tally_add(&r->rejected, code);
	/* A flood of refusals shall not hide the first ones; the file has them all. */
	if (r->rejected.total <= 20 && line)
		warn("%s:%" PRIu64 ": %s", file, line, message);
	else if (r->rejected.total <= 20)
		warn("%s: %s", file, message);
	else if (r->rejected.total == 21)
		warn("more records are refused; --rejects FILE keeps them all");
	if (!r->rejects)
		return;
	buf_add(&kept, raw, raw_length);
	buf_elide(&kept, RAW_MAX_BYTES);
	reject = json_pack("{s:o, s:I, s:s, s:s, s:o, s:o}", "file", rec_json_text(file, strlen(file)),
		"line", (json_int_t)line, "stage", r->filter->stage, "code", code,
		"message", rec_json_text(message, strlen(message)), "raw", rec_json_text(buf_str(&kept),
		kept.len));
	rec_json_dump(reject, &text);
	buf_addc(&text, '\n');
	io_write(r->rejects, text.data, text.len);
	json_decref(reject);
	buf_release(&kept);
	buf_release(&text);
}

static void
settle(struct run *r, struct job *job)
{
	const char *code = job->reason.code;

	switch (job->verdict) {
	case FILTER_PASS:
		write_line(r, job->out.data, job->out.len);
		break;
	case FILTER_DROP:
		if (!code && r->filter->finish)
			r->held++;
		else
			tally_add(&r->dropped, code ? code : "dropped");
		break;
	case FILTER_REJECT:
		refuse(r, job->file, job->line_number, code ? code : "refused", buf_str(&job->reason.message),
			buf_str(&job->line), job->line.len);
		break;
	case FILTER_RETRY:
		warn("%s:%" PRIu64 ": %s", job->file, job->line_number, buf_str(&job->reason.message));
		r->retry = job->reason.exit_status ? job->reason.exit_status : EX_TEMPFAIL;
		break;
	}
}

void
filter_emit(struct filter_sink *sink, const char *line, size_t length)
{
	sink->run->held--;
	write_line(sink->run, line, length);
}

void
filter_drop(struct filter_sink *sink, const char *code)
{
	sink->run->held--;
	tally_add(&sink->run->dropped, code);
}

void
filter_refuse(struct filter_sink *sink, const char *code, const char *message, const char *raw,
	size_t raw_length)
{
	sink->run->held--;
	refuse(sink->run, "(whole set)", 0, code, message, raw, raw_length);
}

void
filter_take(struct filter_sink *sink, size_t bytes)
{
	sink->run->in++;
	sink->run->held++;
	sink->run->bytes_in += bytes;
}

void
filter_refuse_at(struct filter_sink *sink, const char *file, uint64_t line, const struct filter_reason *reason,
	const char *raw, size_t raw_length)
{
	sink->run->held--;
	refuse(sink->run, file, line, reason->code, buf_str(&reason->message), raw, raw_length);
}

/* ---- one record through the transform; runs in the workers */

static enum filter_verdict
reject_line(struct job *job, const char *code)
{
	job->reason.code = code;
	return FILTER_REJECT;
}

static enum filter_verdict
transform_line(const struct run *r, struct job *job)
{
	char id[HASH_ID_HEX], digits[9];

	if (rec_case_scan(&job->scanned, buf_str(&job->line), job->line.len, &job->reason.message) < 0)
		return reject_line(job, "bad_json");
	if (r->shards > 1) {
		uint64_t number;

		if (rec_case_task_id(&job->scanned, id, &job->reason.message) < 0)
			return reject_line(job, "bad_record");
		snprintf(digits, sizeof digits, "%.8s", id);
		number = strtoull(digits, NULL, 16);
		if (number % r->shards != r->shard) {
			job->reason.code = "other_shard";
			return FILTER_DROP;
		}
	}
	return r->filter->transform(r->filter->context, &job->scanned, &job->out, &job->reason);
}

static void
do_job(const struct run *r, struct job *job)
{
	if (job->is_case)
		job->verdict = transform_line(r, job);
}

static void *
worker(void *context)
{
	struct run *r = context;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct job *job;

		while (!r->stop && r->next == r->tail)
			pthread_cond_wait(&r->work, &r->lock);
		if (r->stop)
			break;
		job = &r->jobs[r->next++ % r->job_count];
		job->state = JOB_RUNNING;
		pthread_mutex_unlock(&r->lock);
		do_job(r, job);
		pthread_mutex_lock(&r->lock);
		job->state = JOB_DONE;
		pthread_cond_signal(&r->done);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- the main thread's side of the ring; the lock is held only to look at states */

/* Settles finished jobs from the oldest on; waits for it when `wait` is set. */
static void
collect(struct run *r, bool wait)
{
	while (r->head != r->tail && !r->retry) {
		struct job *job = &r->jobs[r->head % r->job_count];

		pthread_mutex_lock(&r->lock);
		while (wait && job->state != JOB_DONE)
			pthread_cond_wait(&r->done, &r->lock);
		bool finished = job->state == JOB_DONE;
		pthread_mutex_unlock(&r->lock);
		if (!finished)
			return;
		settle(r, job);
		job->state = JOB_FREE;
		r->head++;
		footer_progress(r->head, 0, "records", NULL);
		wait = false;
	}
}

static struct job *
free_job(struct run *r)
{
	struct job *job;

	collect(r, r->tail - r->head == r->job_count);
	job = &r->jobs[r->tail % r->job_count];
	buf_reset(&job->line);
	buf_reset(&job->out);
	buf_reset(&job->reason.message);
	job->reason.code = NULL;
	job->is_case = false;
	return job;
}

static void
submit(struct run *r, struct job *job, uint64_t threads)
{
	if (threads == 1)
		do_job(r, job);
	pthread_mutex_lock(&r->lock);
	/* A line that needs no transform goes to the workers all the same: `next` must pass over it. */
	job->state = threads == 1 ? JOB_DONE : JOB_READY;
	r->tail++;
	if (threads > 1)
		pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
}

static void
refuse_unread(struct job *job, const char *code, const char *message)
{
	job->verdict = FILTER_REJECT;
	job->reason.code = code;
	buf_adds(&job->reason.message, message);
}

/* All lines of one file. 0, or the exit status. */
static int
read_file(struct run *r, const char *path, uint64_t threads)
{
	struct buf err = BUF_INIT;
	struct io_in *in = io_open_in(path, &err);
	enum io_line got = IO_EOF;
	int status = 0;

	if (!in) {
		warn("%s", buf_str(&err));
		buf_release(&err);
		return EX_NOINPUT;
	}
	while (!r->retry && !io_failed(r->out)) {
		struct job *job = free_job(r);

		if (r->retry || (got = io_read_line(in, &job->line, REC_CASE_MAX_BYTES, &err)) == IO_EOF ||
			got == IO_ERROR)
			break;
		r->in++;
		r->bytes_in += job->line.len + 1;
		job->file = strcmp(path, "-") ? path : "standard input";
		job->line_number = io_line_number(in);
		if (got == IO_TOO_LONG)
			refuse_unread(job, "line_too_long",
				"the line has more than 16 MiB; only its head is kept");
		else if (got == IO_TRUNCATED)
			refuse_unread(job, "truncated", "the last line has no newline: the file was cut");
		else
			job->is_case = true;
		submit(r, job, threads);
	}
	if (got == IO_ERROR) {
		warn("%s", buf_str(&err));
		status = EX_IOERR;
	}
	io_close_in(in);
	buf_release(&err);
	return status;
}

static int
read_all(struct run *r, int count, char **paths, uint64_t threads)
{
	static char standard[] = "-";
	char *only[] = { standard };
	int status = 0;

	if (count == 0) {
		paths = only;
		count = 1;
	}
	for (int i = 0; i < count && status == 0 && !r->retry; i++)
		status = read_file(r, paths[i], threads);
	while (r->head != r->tail && !r->retry)
		collect(r, true);
	return status;
}

static int
run_threads(struct run *r, int count, char **paths)
{
	uint64_t threads = filter_args.threads ? filter_args.threads : 1;
	pthread_t *workers = xcalloc(threads, sizeof *workers);
	uint64_t started = 0;
	int status;

	r->job_count = threads == 1 ? 1 : threads * JOBS_PER_THREAD;
	r->jobs = xcalloc(r->job_count, sizeof *r->jobs);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	pthread_cond_init(&r->done, NULL);
	for (; threads > 1 && started < threads; started++)
		if (pthread_create(&workers[started], NULL, worker, r) != 0)
			break;
	if (threads > 1 && !started)
		die(EX_TEMPFAIL, "cannot start a thread");
	status = read_all(r, count, paths, threads);
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	for (uint64_t i = 0; i < started; i++)
		pthread_join(workers[i], NULL);
	for (size_t i = 0; i < r->job_count; i++) {
		buf_release(&r->jobs[i].line);
		buf_release(&r->jobs[i].out);
		buf_release(&r->jobs[i].reason.message);
	}
	free(r->jobs);
	free(workers);
	return status;
}

/* ---- options that are text */

static void
parse_max_rejects(struct run *r)
{
	const char *text = filter_args.max_rejects;
	size_t length = text ? strlen(text) : 0;
	double percent;
	char *number;
	int bad;

	r->reject_part_max = -1;
	r->reject_count_max = r->filter->default_max_rejects;
	if (!text)
		return;
	if (length == 0 || text[length - 1] != '%') {
		if (num_u64(text, 0, UINT64_MAX, &r->reject_count_max) < 0)
			die(EX_USAGE, "--max-rejects %s: a count, or a percentage as 5%%, was expected", text);
		return;
	}
	number = xstrndup(text, length - 1);
	bad = num_f64(number, 0, 100, &percent);
	free(number);
	if (bad < 0)
		die(EX_USAGE, "--max-rejects %s: a percentage from 0%% to 100%% was expected", text);
	r->reject_part_max = percent / 100;
}

static void
parse_shard(struct run *r)
{
	const char *text = filter_args.shard, *slash = text ? strchr(text, '/') : NULL;
	char *index;
	int bad;

	r->shards = 1;
	if (!text)
		return;
	index = xstrndup(text, slash ? (size_t)(slash - text) : 0);
	bad = !slash || num_u64(slash + 1, 1, MAX_SHARDS, &r->shards) < 0 || num_u64(index, 0, r->shards - 1,
		&r->shard) < 0;
	free(index);
	if (bad)
		die(EX_USAGE, "--shard %s: I/N with I from 0 to N-1 was expected", text);
}

/* A missing file should be known before hours are spent on the one before it. */
static void
check_inputs(int count, char **paths)
{
	for (int i = 0; i < count; i++)
		if (strcmp(paths[i], "-") && access(paths[i], R_OK) < 0)
			die(EX_NOINPUT, "%s:", paths[i]);
}

static struct io_out *
open_output(const char *path)
{
	struct buf err = BUF_INIT;
	struct io_out *out = io_open_out(path, &err);

	if (!out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	return out;
}

/* ---- the end: counts, statistics, files into place */

static json_t *
tally_object(const struct tally *t)
{
	json_t *object = json_object();

	for (int i = 0; i < t->codes; i++)
		json_object_set_new(object, t->entry[i].code, json_integer((json_int_t)t->entry[i].count));
	return object;
}

static json_t *
counter_object(const struct filter_counter *counter)
{
	json_t *object = json_object();

	for (; counter && counter->name; counter++)
		json_object_set_new(object, counter->name, json_integer((json_int_t)*counter->value));
	return object;
}

static int
write_stats(const struct run *r, double seconds)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	json_t *stats;
	int status;

	if (!filter_args.stats)
		return 0;
	stats = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:f, s:I, s:I, s:s, s:o}", "stage",
		r->filter->stage,
		"in", (json_int_t)r->in, "out", (json_int_t)r->written, "dropped", tally_object(&r->dropped),
		"rejected", tally_object(&r->rejected), "counters", counter_object(r->filter->counters),
		"threads", (json_int_t)(filter_args.threads ? filter_args.threads : 1), "seconds",
		rec_json_round3(seconds),
		"bytes_in", (json_int_t)r->bytes_in, "bytes_out", (json_int_t)r->bytes_out, "version",
		opt_version,
		"command", rec_json_text(footer_command(), strlen(footer_command())));
	rec_json_dump(stats, &text);
	buf_addc(&text, '\n');
	json_decref(stats);
	status = io_write_file(filter_args.stats, text.data, text.len, &err);
	if (status < 0)
		warn("%s", buf_str(&err));
	buf_release(&text);
	buf_release(&err);
	return status < 0 ? EX_CANTCREAT : 0;
}

static bool
too_many_rejects(const struct run *r)
{
	if (r->reject_part_max >= 0)
		return (double)r->rejected.total > r->reject_part_max * (double)r->in;
	return r->rejected.total > r->reject_count_max;
}

bool
filter_refused_too_many(const struct filter_sink *sink)
{
	return too_many_rejects(sink->run);
}

static int
finish(struct run *r)
{
	struct filter_sink sink = { r };
	struct buf err = BUF_INIT;
	enum filter_verdict verdict = r->filter->finish(r->filter->context, &sink, &err);
	int status = verdict == FILTER_RETRY ? EX_TEMPFAIL : verdict == FILTER_REJECT ? EX_DATAERR : 0;

	if (status)
		warn("%s", buf_str(&err));
	buf_release(&err);
	return status;
}

/* What the counts say, when nothing went wrong before. */
static int
judge_counts(const struct run *r)
{
	if (r->held || r->in != r->written + r->dropped.total + r->rejected.total) {
		warn("counts do not add up: %" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " dropped, "
			"%" PRIu64 " refused, %" PRIu64
			" held", r->in, r->written, r->dropped.total, r->rejected.total, r->held);
		return EX_SOFTWARE;
	}
	if (too_many_rejects(r)) {
		warn("%" PRIu64 " of %" PRIu64 " records were refused, more than --max-rejects allows",
			r->rejected.total, r->in);
		return EX_DATAERR;
	}
	return 0;
}

/* Puts the output in place, or drops it when the run failed. */
static int
close_output(struct io_out *out, int status, int failure)
{
	struct buf err = BUF_INIT;

	if (!out)
		return status;
	if (status && !failure) {
		/* Nothing to keep: half an output must not look like a whole one. */
		io_abandon(out);
		return status;
	}
	if (io_commit(out, &err) < 0) {
		warn("%s", buf_str(&err));
		status = status ? status : EX_IOERR;
	}
	buf_release(&err);
	return status;
}

int
filter_run(const struct filter *filter, int argc, char **argv)
{
	struct run r = { .filter = filter };
	double start = clock_seconds();
	bool to_standard;
	int status, stats_status;

	parse_max_rejects(&r);
	parse_shard(&r);
	if (!filter->takes_records)
		check_inputs(argc, argv);
	r.out = open_output(filter_args.output);
	if (filter_args.rejects)
		r.rejects = open_output(filter_args.rejects);
	status = filter->takes_records ? 0 : run_threads(&r, argc, argv);
	if (r.retry)
		status = r.retry;
	if (!status && filter->finish)
		status = finish(&r);
	if (!status)
		status = judge_counts(&r);
	/* On standard output the good records are already on their way, so the rest of them follow. */
	to_standard = !strcmp(filter_args.output, "-");
	status = close_output(r.out, status, to_standard);
	status = close_output(r.rejects, status, 1);
	stats_status = write_stats(&r, clock_seconds() - start);
	status = status ? status : stats_status;
	note("%s: %" PRIu64 " in, %" PRIu64 " out, %" PRIu64 " dropped, %" PRIu64 " refused", filter->stage,
		r.in,
		r.written, r.dropped.total, r.rejected.total);
	footer_print();
	return status;
}
