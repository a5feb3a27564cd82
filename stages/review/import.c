/* In: cases, and perhaps a file of decisions made elsewhere. Out: the review queue holds them, all or none. */
#include "base/die.h"
#include "commands.h"
#include "decisions.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "shown.h"

struct import {
	struct queue *queue;
	uint64_t added, known, decisions;
};

static int
add_task(struct import *im, const json_t *task, struct buf *err)
{
	struct buf dtypes = BUF_INIT, forms = BUF_INIT, text = BUF_INIT;
	struct queue_entry entry = { .task_id = rec_json_string(task, "id", ""), .name = rec_json_string(task, "name", ""),
		.family = rec_json_string(task, "op_type", "") };
	char shown[SHA256_HEX];
	int added;

	shown_sha256(task, shown);
	shown_dtypes(task, &dtypes);
	shown_forms(task, &forms);
	rec_json_dump(task, &text);
	entry.shown_sha256 = shown;
	entry.dtypes = buf_str(&dtypes);
	entry.forms = buf_str(&forms);
	entry.task = buf_str(&text);
	entry.task_length = text.len;
	added = queue_add(im->queue, &entry, err);
	im->added += added == 1;
	im->known += added == 0;
	buf_release(&dtypes);
	buf_release(&forms);
	buf_release(&text);
	return added;
}

static enum filter_verdict
import_case(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	json_t *task = rec_case_section(in, "task", &reason->message);
	int added;

	(void)out;
	if (!task) {
		reason->code = "bad_record";
		return FILTER_REJECT;
	}
	added = add_task(context, task, &reason->message);
	json_decref(task);
	reason->code = added ? "queued" : "in_queue";
	return added < 0 ? FILTER_RETRY : FILTER_DROP;
}

static void
import_decisions(struct import *im)
{
	struct buf err = BUF_INIT;
	int status;
	struct decisions *d = decisions_read(review_args.decisions, &status, &err);

	if (!d)
		die(status, "%s", buf_str(&err));
	for (size_t i = 0; i < decisions_count(d); i++) {
		int added = queue_decide(im->queue, decisions_at(d, i), &err);

		if (added < 0)
			die(queue_status(im->queue), "%s", buf_str(&err));
		im->decisions += added == 1;
	}
	decisions_free(d);
}

int
review_import(int argc, char **argv)
{
	static struct import im;
	static const struct filter_counter counters[] = {
		{ "new", &im.added }, { "known", &im.known }, { "decisions", &im.decisions }, { NULL, NULL },
	};
	const struct filter filter = { .stage = "review", .transform = import_case, .context = &im, .counters = counters };
	struct buf err = BUF_INIT;
	int status;

	filter_args.threads = 1;	/* a queue belongs to one thread */
	im.queue = queue_open(review_args.queue, true, &status, &err);
	if (!im.queue)
		die(status, "%s", buf_str(&err));
	if (queue_begin(im.queue, &err) < 0 || (review_args.replace && queue_clear_list(im.queue, &err) < 0))
		die(queue_status(im.queue), "%s", buf_str(&err));
	if (review_args.decisions)
		import_decisions(&im);
	status = filter_run(&filter, argc, argv);
	if (status) {
		queue_abandon(im.queue);
		warn("the queue stays as it was");
	} else if (queue_commit(im.queue, &err) < 0) {
		die(queue_status(im.queue), "%s", buf_str(&err));
	} else {
		note("tasks new in the queue: %llu, known: %llu, decisions taken over: %llu", (unsigned long long)im.added,
			(unsigned long long)im.known, (unsigned long long)im.decisions);
	}
	queue_close(im.queue);
	return status;
}
