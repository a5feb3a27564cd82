/* In: a decision on the command line. Out: the queue's log has it, for one task or for all undecided ones.
 * It is no interactive decision, since nobody can tell whether the screen was looked at. */
#include <pwd.h>
#include <unistd.h>

#include "base/die.h"
#include "commands.h"
#include "decisions.h"
#include "store/queue.h"

enum { MAX_REASON_BYTES = 2000 };

const char *
review_actor(void)
{
	const struct passwd *user = getpwuid(getuid());

	if (review_args.actor && !*review_args.actor)
		die(EX_USAGE, "--actor is empty");
	return review_args.actor ? review_args.actor : user ? user->pw_name : "unknown";
}

const char *
review_actor_kind(void)
{
	const char *kind = review_args.actor_kind;

	if (kind && strcmp(kind, "person") && strcmp(kind, "program"))
		die(EX_USAGE, "--actor-kind %s: person or program was expected", kind);
	return kind ? kind : "person";
}

static const char *
mode(void)
{
	if (review_args.mode && strcmp(review_args.mode, "bulk") && strcmp(review_args.mode, "imported"))
		die(EX_USAGE, "--mode %s: bulk or imported was expected; interactive decisions are made in km-review tui",
			review_args.mode);
	return review_args.mode ? review_args.mode : "bulk";
}

static enum queue_action
action(void)
{
	const char *reason = review_args.reason ? review_args.reason : "";
	int chosen = review_args.accept + review_args.reject + review_args.skip + review_args.undo;

	if (chosen != 1)
		die(EX_USAGE, "decide needs one of --accept, --reject, --skip and --undo");
	if (review_args.undo ? review_args.all || review_args.task : review_args.all == (review_args.task != NULL))
		die(EX_USAGE, review_args.undo ? "--undo takes back the last decision, and needs no --task or --all" :
			"decide needs either --task NAME or --all");
	if (review_args.reject && !*reason)
		die(EX_USAGE, "--reject needs a --reason");
	if (strchr(reason, '\n') || strlen(reason) > MAX_REASON_BYTES)
		die(EX_USAGE, "--reason: one line of at most %d bytes was expected", MAX_REASON_BYTES);
	return review_args.accept ? QUEUE_ACCEPT : review_args.reject ? QUEUE_REJECT : review_args.skip ? QUEUE_SKIP :
		QUEUE_RETRACT;
}

static uint64_t
decide(struct queue *q, enum queue_action what)
{
	struct buf err = BUF_INIT;
	struct queue_list list;
	uint64_t decided = 0;
	int status = queue_begin(q, &err) < 0 || queue_list(q, &list, &err) < 0 ? -1 : 0;

	for (size_t i = 0; !status && i < list.count; i++) {
		const struct queue_item *item = &list.item[i];
		struct queue_decision d = { .task_id = item->task_id, .shown_sha256 = item->shown_sha256, .name = item->name,
			.action = what, .actor = review_actor(), .actor_kind = review_actor_kind(), .mode = mode(),
			.reason = review_args.reason ? review_args.reason : "" };

		if (review_args.all ? item->action == QUEUE_ACCEPT || item->action == QUEUE_REJECT :
		    strcmp(item->name, review_args.task) != 0)
			continue;
		status = queue_decide(q, &d, &err) < 0 ? -1 : 0;
		decided++;
	}
	if (status < 0 || queue_commit(q, &err) < 0)
		die(queue_status(q), "%s", buf_str(&err));
	queue_list_release(&list);
	return decided;
}

static int
undo(struct queue *q)
{
	struct buf err = BUF_INIT;
	int64_t row;
	int status = queue_undo(q, review_actor(), review_actor_kind(), mode(), &row, &err);

	if (status < 0)
		die(queue_status(q), "%s", buf_str(&err));
	if (status == 0)
		die(EX_DATAERR, "%s has no decision of mode %s to take back", review_actor(), mode());
	note("the last decision is taken back");
	return EX_OK;
}

int
review_decide(int argc, char **argv)
{
	enum queue_action what = action();
	struct buf err = BUF_INIT;
	struct queue *q;
	uint64_t decided;
	int status;

	if (argc)
		die(EX_USAGE, "decide reads no files, and %s was given", argv[0]);
	(void)mode();
	(void)review_actor_kind();
	q = queue_open(review_args.queue, false, &status, &err);
	if (!q)
		die(status, "%s", buf_str(&err));
	if (what == QUEUE_RETRACT) {
		status = undo(q);
	} else {
		decided = decide(q, what);
		if (!decided && review_args.task)
			die(EX_DATAERR, "there is no task \"%s\" in the queue", review_args.task);
		note("%s: %llu", decisions_status(what), (unsigned long long)decided);
		status = EX_OK;
	}
	queue_close(q);
	return status;
}
