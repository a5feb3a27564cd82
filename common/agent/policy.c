/* In: a conversation. Out: the next assistant message, from a recorded transcript or from a model. A
 * model's answer is looked up by what was asked before anything is sent, journalled as asked before it
 * is sent, and stored before it is journalled as answered: a kill at any point loses no paid answer. */
#include "agent/policy.h"

#include <pthread.h>

#include "agent/policy_file.h"
#include "agent/transcript.h"
#include "base/die.h"
#include "llm/ask.h"
#include "rec/json.h"

struct policy {
	bool is_transcript, frozen;
	const char *transcripts;
	struct store *store;
	struct policy_file file;
	struct llm_budget *budget;
	pthread_mutex_t lock;
	struct policy_counts counts;
};

struct policy_session {
	struct policy *policy;
	struct transcript transcript;	/* root NULL: none for this task */
	json_t *origin;
};

const char *
agent_phase_name(enum agent_phase phase)
{
	static const char *const names[] = { "solve", "repair", "optimize" };

	return names[phase];
}

/* ---- opening */

/* Ids asked and never closed by another event: the run was killed while they were under way. */
static uint64_t
count_in_flight(const char *store_directory)
{
	struct buf path = BUF_INIT;
	json_t *open = json_object();
	char *line = NULL;
	size_t room = 0;
	uint64_t count;
	FILE *journal;

	buf_addf(&path, "%s/journal", store_directory);
	journal = fopen(path.data, "re");
	while (journal && getline(&line, &room, journal) > 0) {
		char event[32], id[64];

		if (sscanf(line, "%31s %63s", event, id) != 2)
			continue;
		if (strcmp(event, "asked") == 0)
			json_object_set_new(open, id, json_true());
		else if (strcmp(event, "answered") == 0 || strcmp(event, "unanswered") == 0)
			json_object_del(open, id);
	}
	if (journal)
		fclose(journal);
	count = json_object_size(open);
	free(line);
	json_decref(open);
	buf_release(&path);
	return count;
}

static int
open_endpoint(struct policy *p, const struct policy_options *options, int *status, struct buf *err)
{
	*status = EX_USAGE;
	if (policy_file_load(&p->file, options->policy, !options->frozen, err) < 0)
		return -1;
	if (!p->store)
		return buf_err(err, "policy %s needs a store for its answers", options->policy);
	p->budget = llm_budget_new(p->file.max_requests, p->file.max_cost_usd, (unsigned)p->file.max_concurrent);
	if (options->store_directory)
		p->counts.possibly_paid = count_in_flight(options->store_directory);
	return 0;
}

struct policy *
policy_open(const struct policy_options *options, int *status, struct buf *err)
{
	struct policy *p = xcalloc(1, sizeof *p);

	pthread_mutex_init(&p->lock, NULL);
	p->is_transcript = strcmp(options->policy, "transcript") == 0;
	p->frozen = options->frozen;
	p->transcripts = options->transcripts;
	p->store = options->store;
	if (!p->is_transcript && open_endpoint(p, options, status, err) < 0) {
		policy_close(p);
		return NULL;
	}
	return p;
}

void
policy_close(struct policy *p)
{
	if (!p)
		return;
	llm_budget_free(p->budget);
	policy_file_release(&p->file);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static json_t *
sampled_origin(const struct policy_file *f)
{
	return json_pack("{s:s,s:s,s:s,s:s}", "kind", "sampled", "model", f->model, "policy_sha256", f->file_sha256,
		"terms", rec_json_string(f->root, "terms", ""));
}

static json_t *
authored_origin(const struct transcript *t)
{
	if (!t->root)
		return json_pack("{s:s,s:n,s:n}", "kind", "authored", "author", "policy_sha256");
	return json_pack("{s:s,s:s,s:s}", "kind", "authored", "author", rec_json_string(t->root, "author", ""),
		"policy_sha256", t->sha256);
}

struct policy_session *
policy_begin(struct policy *p, const struct task *t, struct buf *err)
{
	struct policy_session *s = xcalloc(1, sizeof *s);

	s->policy = p;
	if (!p->is_transcript) {
		s->origin = sampled_origin(&p->file);
		return s;
	}
	if (transcript_load(&s->transcript, p->transcripts, t->name, err) < 0) {
		free(s);
		return NULL;
	}
	s->origin = authored_origin(&s->transcript);
	return s;
}

void
policy_end(struct policy_session *s)
{
	if (!s)
		return;
	transcript_release(&s->transcript);
	json_decref(s->origin);
	free(s);
}

const json_t *
policy_origin(const struct policy_session *s)
{
	return s->origin;
}

const char *
policy_identity(const struct policy_session *s)
{
	return s->policy->is_transcript ? s->transcript.sha256 : s->policy->file.identity_sha256;
}

void
policy_answer_release(struct policy_answer *answer)
{
	json_decref(answer->message);
	json_decref(answer->answers);
	json_decref(answer->staged_error);
	json_decref(answer->metrics);
	*answer = (struct policy_answer){ 0 };
}

static void
count(struct policy *p, uint64_t *counter)
{
	pthread_mutex_lock(&p->lock);
	++*counter;
	pthread_mutex_unlock(&p->lock);
}

/* ---- transcripts */

static unsigned
calls_so_far(const json_t *messages)
{
	const json_t *message;
	unsigned calls = 0;
	size_t i;

	json_array_foreach(messages, i, message)
		calls += (unsigned)json_array_size(json_object_get(message, "tool_calls"));
	return calls;
}

static json_t *
transcript_message(const struct transcript *t, const json_t *turn, const json_t *messages)
{
	const char *tool = rec_json_string(turn, "tool", NULL), *source = rec_json_string(turn, "source", NULL);
	json_t *message = json_pack("{s:s,s:O}", "role", "assistant", "content", json_object_get(turn, "content"));
	char id[32];

	if (!tool)
		return message;
	snprintf(id, sizeof id, "call_%u", calls_so_far(messages) + 1);
	json_object_set_new(message, "tool_calls", json_pack("[{s:s,s:s,s:{s:s,s:{s:O}}}]", "id", id, "type",
		"function", "function", "name", tool, "arguments", "source", json_object_get(t->sources, source)));
	return message;
}

static enum policy_result
next_recorded(struct policy_session *s, const struct policy_request *r, struct policy_answer *answer)
{
	const json_t *turn = NULL;

	/* One conversation was written down; a second sample of it would be a copy. Branches have names. */
	if (s->transcript.root && (r->sample == 0 || r->phase == PHASE_OPTIMIZE))
		turn = transcript_turn(&s->transcript, r->phase, r->branch, r->turn);
	if (!turn)
		return POLICY_NO_ANSWER;
	answer->message = transcript_message(&s->transcript, turn, r->messages);
	answer->answers = json_incref(json_object_get(turn, "answers"));
	answer->staged_error = json_incref(json_object_get(turn, "staged_error"));
	return POLICY_ANSWER;
}

/* ---- models */

void
policy_answer_id(const char *policy_sha256, const struct policy_request *r, char id[HASH_ID_HEX],
	char request_sha256[SHA256_HEX])
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "%s %llu ", policy_sha256, (unsigned long long)r->sample);
	rec_json_canonical(r->tools, &text);
	buf_addc(&text, ' ');
	rec_json_canonical(r->messages, &text);
	hash_id(buf_str(&text), text.len, id);
	sha256_hex(buf_str(&text), text.len, request_sha256);
	buf_release(&text);
}

static json_t *
answer_metrics(const struct llm_reply *reply, double cost_usd)
{
	if (!reply->has_usage)
		return NULL;
	return json_pack("{s:I,s:I,s:I,s:f}", "prompt_tokens", (json_int_t)reply->prompt_tokens, "completion_tokens",
		(json_int_t)reply->completion_tokens, "cached_tokens", (json_int_t)reply->cached_tokens,
		"cost_usd", cost_usd);
}

/* The whole request's SHA-256 stands beside the answer: an id that collides is no hit. */
static int
parse_stored(const struct buf *text, const char *request_sha256, struct policy_answer *answer, struct buf *err)
{
	json_t *stored = rec_json_parse(buf_str(text), text->len, err);
	const json_t *message = json_object_get(stored, "message");
	int status = 0;

	if (!json_is_object(message) || strcmp(rec_json_string(stored, "request_sha256", ""), request_sha256) != 0) {
		status = buf_err(err, "An answer in the store does not belong to its id; remove it and run again.");
	} else {
		answer->message = json_incref((json_t *)message);
		answer->metrics = json_incref(json_object_get(stored, "metrics"));
	}
	json_decref(stored);
	return status;
}

static int
store_answer(struct policy *p, const char *id, const char *request_sha256, const struct llm_reply *reply,
	double cost_usd, struct policy_answer *answer, struct buf *err)
{
	json_t *record = json_pack("{s:s,s:O,s:s,s:s}", "request_sha256", request_sha256, "message", reply->message,
		"finish_reason", reply->finish_reason, "served_by", reply->model);
	struct buf text = BUF_INIT;
	int status;

	answer->message = json_incref(reply->message);
	answer->metrics = answer_metrics(reply, cost_usd);
	if (answer->metrics)
		json_object_set(record, "metrics", answer->metrics);
	rec_json_dump(record, &text);
	status = store_put(p->store, "answers", id, buf_str(&text), text.len, err);
	if (status == 0)
		status = store_journal(p->store, "answered", id, err);
	buf_release(&text);
	json_decref(record);
	return status;
}

/* What a request that brought no answer means for the run. */
static enum policy_result
no_answer(struct policy *p, enum llm_outcome outcome, const char *id, struct buf *err)
{
	/* A lost request may have been paid, and stays open in the journal. */
	if (outcome != LLM_LOST && store_journal(p->store, "unanswered", id, err) < 0)
		return POLICY_FAILED;
	if (outcome == LLM_OVER_BUDGET) {
		count(p, &p->counts.budget_refused);
		return POLICY_NO_ANSWER;
	}
	if (outcome == LLM_REFUSED || outcome == LLM_UNUSABLE) {
		count(p, &p->counts.request_refused);
		return POLICY_NO_ANSWER;
	}
	return POLICY_FAILED;
}

static enum policy_result
ask(struct policy *p, const struct policy_request *r, const char *id, const char *request_sha256,
	const struct buf *body, double most_usd, struct policy_answer *answer, struct buf *err)
{
	struct llm_reply reply = { 0 };
	enum llm_outcome outcome;
	double cost_usd = 0;
	int status;

	if (store_journal(p->store, "asked", id, err) < 0)
		return POLICY_FAILED;
	outcome = llm_ask(&p->file.endpoint, p->budget, &p->file.prices, most_usd, body->data,
		calls_so_far(r->messages) + 1, &reply, &cost_usd, err);
	if (outcome != LLM_OK)
		return no_answer(p, outcome, id, err);
	count(p, &p->counts.asked);
	status = store_answer(p, id, request_sha256, &reply, cost_usd, answer, err);
	llm_reply_release(&reply);
	return status < 0 ? POLICY_FAILED : POLICY_ANSWER;
}

static enum policy_result
missing(struct policy *p, double most_usd)
{
	pthread_mutex_lock(&p->lock);
	p->counts.missing++;
	p->counts.missing_most_usd += most_usd;
	pthread_mutex_unlock(&p->lock);
	return POLICY_NO_ANSWER;
}

static enum policy_result
next_sampled(struct policy *p, const struct policy_request *r, struct policy_answer *answer, struct buf *err)
{
	struct buf stored = BUF_INIT, body = BUF_INIT;
	char id[HASH_ID_HEX], request_sha256[SHA256_HEX];
	enum policy_result result;
	double most_usd;
	int found;

	policy_answer_id(p->file.identity_sha256, r, id, request_sha256);
	llm_request_body(p->file.model, p->file.sampling, r->sample, r->messages, r->tools, &body);
	most_usd = policy_file_most_usd(&p->file, body.len);
	found = store_get(p->store, "answers", id, &stored, err);
	if (found > 0) {
		count(p, &p->counts.stored);
		result = parse_stored(&stored, request_sha256, answer, err) < 0 ? POLICY_FAILED : POLICY_ANSWER;
	} else if (found < 0) {
		result = POLICY_FAILED;
	} else if (p->frozen) {
		result = missing(p, most_usd);
	} else {
		result = ask(p, r, id, request_sha256, &body, most_usd, answer, err);
	}
	buf_release(&stored);
	buf_release(&body);
	return result;
}

enum policy_result
policy_next(struct policy_session *s, const struct policy_request *r, struct policy_answer *answer, struct buf *err)
{
	struct policy *p = s->policy;
	enum policy_result result;

	*answer = (struct policy_answer){ 0 };
	result = p->is_transcript ? next_recorded(s, r, answer) : next_sampled(p, r, answer, err);
	if (result == POLICY_ANSWER)
		count(p, &p->counts.answers);
	else
		policy_answer_release(answer);
	if (result == POLICY_NO_ANSWER)
		count(p, &p->counts.no_answer);
	return result;
}

bool
policy_branch(const struct policy_session *s, const char *parent, uint64_t child, uint64_t node,
	char name[POLICY_BRANCH_MAX])
{
	const char *recorded;

	if (!s->policy->is_transcript) {
		snprintf(name, POLICY_BRANCH_MAX, "n%llu", (unsigned long long)node);
		return true;
	}
	recorded = s->transcript.root ? transcript_branch(&s->transcript, parent, child) : NULL;
	if (!recorded)
		return false;
	snprintf(name, POLICY_BRANCH_MAX, "%s", recorded);
	return true;
}

struct policy_counts
policy_counts(struct policy *p)
{
	struct policy_counts counts;

	pthread_mutex_lock(&p->lock);
	counts = p->counts;
	pthread_mutex_unlock(&p->lock);
	if (p->budget)
		counts.spent = llm_budget_spent(p->budget);
	return counts;
}
