/* In: cases and a file of decisions. Out: the cases whose present state was accepted, each with its review
 * section. A decision about another state of a task is listed as stale and counts for nothing. */
#include <stdatomic.h>

#include "base/die.h"
#include "commands.h"
#include "decisions.h"
#include "rec/filter.h"
#include "rec/json.h"
#include "shown.h"

struct review {
	struct decisions *decisions;
	bool pass_undecided;
	_Atomic uint64_t accepted, rejected, undecided, stale, of_person;
};

static json_t *
section_of(const struct queue_decision *d, const char *shown)
{
	/* Only what a person decided at the screen is human; the mode it was made in stays beside "replayed". */
	if (d)
		return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "status", decisions_status(d->action),
			"shown_sha256", shown, "actor", d->actor, "actor_kind", d->actor_kind, "mode", "replayed", "decided_mode",
			d->mode, "time", d->time, "reason", d->reason);
	return json_pack("{s:s, s:s}", "status", "unreviewed", "shown_sha256", shown);
}

static enum filter_verdict
drop(struct filter_reason *reason, const char *code)
{
	reason->code = code;
	return FILTER_DROP;
}

static enum filter_verdict
pass(const struct rec_case *in, const struct queue_decision *d, const char *shown, struct buf *out,
	struct filter_reason *reason)
{
	static const char *const names[] = { "review" };
	json_t *section = section_of(d, shown);
	int status = rec_case_splice(in, 1, names, &section, out, &reason->message);

	json_decref(section);
	if (status == 0)
		return FILTER_PASS;
	reason->code = "bad_record";
	return FILTER_REJECT;
}

static bool
is_human(const struct queue_decision *d)
{
	return !strcmp(d->actor_kind, "person") && !strcmp(d->mode, "interactive");
}

static void
note_stale(struct review *r, const struct queue_decision *cited, const char *id)
{
	r->stale++;
	warn("stale decision: %s was %s by %s at %s, and %s since; review it again", cited->name,
		decisions_status(cited->action), cited->actor, cited->time,
		strcmp(cited->task_id, id) ? "its contract has changed" : "what is shown has changed");
}

static enum filter_verdict
review_case(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	struct review *r = context;
	json_t *task = rec_case_section(in, "task", &reason->message);
	const struct queue_decision *decision, *cited;
	enum filter_verdict verdict;
	char shown[SHA256_HEX];

	if (!task) {
		reason->code = "bad_record";
		return FILTER_REJECT;
	}
	shown_sha256(task, shown);
	decision = decisions_find(r->decisions, rec_json_string(task, "id", ""), shown);
	cited = decision ? NULL : decisions_cite(r->decisions, rec_json_string(task, "name", ""));
	if (cited)
		note_stale(r, cited, rec_json_string(task, "id", ""));
	if (decision)
		r->of_person += is_human(decision);
	if (decision && decision->action == QUEUE_REJECT) {
		r->rejected++;
		verdict = drop(reason, "rejected");
	} else if (decision || r->pass_undecided) {
		r->accepted += decision != NULL;
		r->undecided += !decision;
		verdict = pass(in, decision, shown, out, reason);
	} else {
		r->undecided++;
		verdict = drop(reason, "undecided");
	}
	json_decref(task);
	return verdict;
}

static void
open_review(struct review *r)
{
	const char *otherwise = review_args.otherwise ? review_args.otherwise : "hold";
	struct buf err = BUF_INIT;
	int status;

	r->pass_undecided = !strcmp(otherwise, "unreviewed");
	if (!r->pass_undecided && strcmp(otherwise, "hold"))
		die(EX_USAGE, "--default %s: hold or unreviewed was expected", otherwise);
	if (!review_args.decisions && !review_args.otherwise)
		die(EX_USAGE, "no --decisions FILE was given; see km-review -h, or say what becomes of all by --default");
	if (!review_args.decisions)
		return;
	r->decisions = decisions_read(review_args.decisions, &status, &err);
	if (!r->decisions)
		die(status, "%s", buf_str(&err));
}

int
review_filter(int argc, char **argv)
{
	static struct review r;
	const struct filter_counter counters[] = {
		{ "accepted", (const uint64_t *)&r.accepted }, { "rejected", (const uint64_t *)&r.rejected },
		{ "undecided", (const uint64_t *)&r.undecided }, { "stale", (const uint64_t *)&r.stale },
		{ "decided_by_person_at_the_screen", (const uint64_t *)&r.of_person }, { NULL, NULL },
	};
	const struct filter filter = { .stage = "review", .transform = review_case, .context = &r, .counters = counters };
	int status;

	open_review(&r);
	status = filter_run(&filter, argc, argv);
	if (status == 0 && r.undecided && !r.pass_undecided)
		note("tasks held back without a decision: %llu; review them, or pass them by --default unreviewed",
			(unsigned long long)r.undecided);
	decisions_free(r.decisions);
	return status;
}
