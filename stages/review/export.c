/* In: the review queue. Out: its decisions as JSON lines, sorted, the same bytes for the same log. */
#include "base/die.h"
#include "base/io.h"
#include "commands.h"
#include "decisions.h"
#include "rec/filter.h"

struct export {
	struct io_out *out;
	struct buf line;
	uint64_t count;
};

static int
write_one(void *context, const struct queue_decision *d)
{
	struct export *e = context;

	buf_reset(&e->line);
	decisions_write(d, review_args.log, &e->line);
	io_write(e->out, e->line.data, e->line.len);
	e->count++;
	return 0;
}

int
review_export(int argc, char **argv)
{
	struct export e = { .line = BUF_INIT };
	struct buf err = BUF_INIT;
	struct queue *q;
	int status;

	if (argc)
		die(EX_USAGE, "export reads no files, and %s was given; -o names the output", argv[0]);
	q = queue_open(review_args.queue, false, &status, &err);
	if (!q)
		die(status, "%s", buf_str(&err));
	e.out = io_open_out(filter_args.output, &err);
	if (!e.out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	if (queue_decisions(q, review_args.log, write_one, &e, &err) < 0)
		die(queue_status(q), "%s", buf_str(&err));
	if (io_commit(e.out, &err) < 0)
		die(EX_IOERR, "%s", buf_str(&err));
	note("decisions: %llu", (unsigned long long)e.count);
	buf_release(&e.line);
	queue_close(q);
	return EX_OK;
}
