/* In: a case. Out: the case after one of the agent's phases. What the three phases share: options, the
 * gate of review, loading and splicing, deciding what to do again, and the counters of --stats. */
#include "agent/agent.h"

#include <math.h>
#include <pthread.h>

#include "base/die.h"
#include "rec/json.h"

struct agent_args agent_args = { .policy = "transcript", .transcripts = "seeds/transcripts",
	.guidance = "seeds/guidance", .max_turns = 12 };

static int
set_redo(const char *argument, struct buf *err)
{
	static const char *const known[] = { "changed", "failed", "all" };

	for (int i = 0; i < 3; i++)
		if (strcmp(argument, known[i]) == 0) {
			agent_args.redo = known[i];
			return 0;
		}
	return buf_err(err, "it is changed, failed or all");
}

const struct opt agent_options[] = {
	{ 0, "policy", OPT_STRING, &agent_args.policy, "transcript|FILE",
		"who speaks: recorded transcripts, or the model of a policy file", 0, 0 },
	{ 0, "transcripts", OPT_STRING, &agent_args.transcripts, "DIR",
		"take transcripts from DIR/TASK/transcript.json", 0, 0 },
	{ 0, "guidance", OPT_STRING, &agent_args.guidance, "DIR",
		"show the texts of DIR that fit; an empty name shows none", 0, 0 },
	{ 0, "max-turns", OPT_U64, &agent_args.max_turns, "N",
		"end a conversation after N assistant messages (12)", 1, 1000 },
	{ 0, "redo", OPT_CALL, set_redo, "changed|failed|all", "run finished conversations again", 0, 0 },
	{ 0, "dry-run", OPT_FLAG, &agent_args.dry_run, NULL,
		"pass cases through, make no request, and say how many would be next and what they can cost", 0, 0 },
	{ 0, "frozen", OPT_FLAG, &agent_args.frozen, NULL,
		"make no request: an answer that is not stored is no answer", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

/* ---- opening */

static void
report_in_flight(struct agent *a)
{
	uint64_t lost = policy_counts(a->policy).possibly_paid;

	if (lost)
		note("%llu request%s had been sent when an earlier run ended, and may have been paid for",
			(unsigned long long)lost, lost == 1 ? "" : "s");
}

void
agent_open(struct agent *a)
{
	struct buf err = BUF_INIT;
	struct policy_options options = { .policy = agent_args.policy, .transcripts = agent_args.transcripts,
		.store_directory = eval_args.store, .frozen = agent_args.frozen || agent_args.dry_run };
	int status = EX_NOINPUT;

	*a = (struct agent){ 0 };
	a->guidance = guidance_load(agent_args.guidance, &err);
	if (!a->guidance)
		die(status, "%s", buf_str(&err));
	a->eval = eval_open(filter_args.seed, &status, &err);
	if (!a->eval)
		die(status, "%s", buf_str(&err));
	options.store = eval_store(a->eval);
	a->policy = policy_open(&options, &status, &err);
	if (!a->policy)
		die(status, "%s", buf_str(&err));
	report_in_flight(a);
	buf_release(&err);
}

void
agent_close(struct agent *a)
{
	policy_close(a->policy);
	guidance_free(a->guidance);
	eval_close(a->eval);
	*a = (struct agent){ 0 };
}

/* ---- counters, which filter_run reads by address */

static struct {
	pthread_mutex_t lock;
	struct conversation_counts conversations;
	uint64_t run, stored, answers, answers_stored, asked, budget_refused, request_refused, possibly_paid;
	uint64_t prompt_tokens, completion_tokens, cached_tokens, cost_micro_usd;
} counts = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct filter_counter shared[] = {
	{ "turns", &counts.conversations.turns }, { "tool_calls", &counts.conversations.tool_calls },
	{ "submits", &counts.conversations.submits }, { "stale", &counts.conversations.stale },
	{ "no_answer", &counts.conversations.no_answer }, { "evaluations_run", &counts.run },
	{ "evaluations_stored", &counts.stored }, { "answers", &counts.answers },
	{ "answers_stored", &counts.answers_stored }, { "requests_answered", &counts.asked },
	{ "requests_over_budget", &counts.budget_refused }, { "requests_refused", &counts.request_refused },
	{ "requests_possibly_paid", &counts.possibly_paid }, { "prompt_tokens", &counts.prompt_tokens },
	{ "completion_tokens", &counts.completion_tokens }, { "cached_tokens", &counts.cached_tokens },
	{ "cost_micro_usd", &counts.cost_micro_usd }, { NULL, NULL },
};

void
agent_count(const struct conversation_counts *more)
{
	pthread_mutex_lock(&counts.lock);
	counts.conversations.turns += more->turns;
	counts.conversations.tool_calls += more->tool_calls;
	counts.conversations.submits += more->submits;
	counts.conversations.stale += more->stale;
	counts.conversations.no_answer += more->no_answer;
	pthread_mutex_unlock(&counts.lock);
}

void
agent_tally(uint64_t *counter, uint64_t more)
{
	pthread_mutex_lock(&counts.lock);
	*counter += more;
	pthread_mutex_unlock(&counts.lock);
}

static void
refresh_counts(const struct agent *a)
{
	struct policy_counts p = policy_counts(a->policy);

	pthread_mutex_lock(&counts.lock);
	eval_counts(a->eval, &counts.run, &counts.stored);
	counts.answers = p.answers;
	counts.answers_stored = p.stored;
	counts.asked = p.asked;
	counts.budget_refused = p.budget_refused;
	counts.request_refused = p.request_refused;
	counts.possibly_paid = p.possibly_paid;
	counts.prompt_tokens = p.spent.prompt_tokens;
	counts.completion_tokens = p.spent.completion_tokens;
	counts.cached_tokens = p.spent.cached_tokens;
	counts.cost_micro_usd = (uint64_t)llround(p.spent.cost_usd * 1e6);
	pthread_mutex_unlock(&counts.lock);
}

/* ---- one case */

static enum filter_verdict
refuse(struct filter_reason *reason, const char *code, struct buf *err)
{
	reason->code = code;
	buf_adds(&reason->message, buf_str(err));
	return FILTER_REJECT;
}

/* Whether review lets the case through: accepted, released unreviewed, or never in a queue. 1, 0, -1. */
static int
is_accepted(const struct rec_case *in, struct buf *err)
{
	size_t length;
	json_t *review;
	const char *status;
	int accepted;

	if (!rec_case_raw(in, "review", &length))
		return 1;
	review = rec_case_section(in, "review", err);
	if (!review)
		return -1;
	status = rec_json_string(review, "status", "");
	accepted = strcmp(status, "accepted") == 0 || strcmp(status, "unreviewed") == 0;
	json_decref(review);
	return accepted;
}

static void
release_case(struct agent_case *c)
{
	policy_end(c->session);
	sections_release(&c->sections);
	task_free(c->task);
}

/* NULL, or the code of the refusal. */
static const char *
load_case(struct agent_case *c, const struct rec_case *in, struct buf *err)
{
	json_t *section = rec_case_section(in, "task", err);

	if (section)
		c->task = task_load_known(section, err);
	json_decref(section);
	if (!c->task)
		return "bad_task";
	if (sections_load(&c->sections, c->task->id, in, err) < 0)
		return "bad_sections";
	c->session = policy_begin(c->agent->policy, c->task, err);
	return c->session ? NULL : "bad_transcript";
}

static enum filter_verdict
run_case(struct agent_case *c, agent_phase_function *phase, const struct rec_case *in, struct buf *out,
	struct filter_reason *reason, struct buf *err)
{
	if (phase(c, err) < 0) {
		reason->code = "try_again";
		buf_adds(&reason->message, buf_str(err));
		reason->exit_status = eval_failure(c->agent->eval);
		return FILTER_RETRY;
	}
	/* Why a conversation ended without an answer, where the policy said so. */
	if (err->len)
		warn("%s: %s", c->task->name, buf_str(err));
	buf_reset(err);
	if (agent_args.dry_run) {
		buf_add(out, in->line, in->length);
		return FILTER_PASS;
	}
	return sections_write(&c->sections, in, out, err) < 0 ? refuse(reason, "bad_result", err) : FILTER_PASS;
}

enum filter_verdict
agent_transform(struct agent *a, agent_phase_function *phase, const struct rec_case *in, struct buf *out,
	struct filter_reason *reason)
{
	struct agent_case c = { .agent = a };
	struct buf err = BUF_INIT;
	enum filter_verdict verdict;
	int accepted = is_accepted(in, &err);

	if (accepted < 0) {
		verdict = refuse(reason, "bad_review", &err);
	} else if (!accepted) {
		reason->code = "not_accepted";
		verdict = FILTER_DROP;
	} else {
		const char *code = load_case(&c, in, &err);

		verdict = code ? refuse(reason, code, &err) : run_case(&c, phase, in, out, reason, &err);
		refresh_counts(a);
	}
	release_case(&c);
	buf_release(&err);
	return verdict;
}

bool
agent_redo(const struct agent_case *c, const json_t *trajectory, const char *prompt_sha256)
{
	const char *exit_status = rec_json_string(trajectory, "exit_status", "");
	const char *solution = rec_json_string(trajectory, "solution_id", NULL);
	const char *status;

	/* It never came to an end: there may be an answer by now. */
	if (strcmp(exit_status, "no_answer") == 0)
		return true;
	if (!agent_args.redo)
		return false;
	if (strcmp(agent_args.redo, "changed") == 0)
		return strcmp(rec_json_string(trajectory, "prompt_sha256", ""), prompt_sha256) != 0;
	if (strcmp(agent_args.redo, "all") == 0)
		return true;
	status = solution ? sections_verdict(&c->sections, solution).status : NULL;
	return !status || strcmp(status, "PASSED") != 0;
}

/* ---- the program */

static void
report_dry_run(const struct agent *a)
{
	struct policy_counts p = policy_counts(a->policy);

	note("dry run: %llu requests are next, for at most $%.4f together; each of their conversations may take %llu turns",
		(unsigned long long)p.missing, p.missing_most_usd, (unsigned long long)agent_args.max_turns);
}

int
agent_filter(struct agent *a, const char *stage, filter_transform *transform, const struct filter_counter *own,
	int argc, char **argv)
{
	struct filter_counter counters[64];
	struct filter filter = { .stage = stage, .transform = transform, .context = a,
		.default_max_rejects = UINT64_MAX, .counters = counters };
	size_t n = 0;
	int status;

	for (size_t i = 0; own && own[i].name && n < 32; i++)
		counters[n++] = own[i];
	for (size_t i = 0; shared[i].name; i++)
		counters[n++] = shared[i];
	counters[n] = (struct filter_counter){ NULL, NULL };
	refresh_counts(a);
	status = filter_run(&filter, argc, argv);
	if (agent_args.dry_run)
		report_dry_run(a);
	if (counts.conversations.no_answer && !strcmp(stage, "solve"))
		warn("%llu conversations got no answer from the policy %s (--policy, --transcripts)",
			(unsigned long long)counts.conversations.no_answer, agent_args.policy);
	return status;
}
