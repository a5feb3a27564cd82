/* In: a conversation's opening and a policy. Out: a trajectory, and the solutions and evaluations that it
 * brought about. What the policy says is replayed or sampled; what it causes is always real, and a
 * transcript that expected another verdict than the real one is marked stale. */
#include "agent/conversation.h"

#include <math.h>

#include "base/die.h"
#include "hash/id.h"
#include "hash/sha256.h"
#include "rec/json.h"

enum { MAX_CALLS_A_TURN = 8, MAX_DEPTH = 512 };

struct run {
	struct conversation *c;
	json_t *messages;	/* context and own; the policy sees all */
	size_t first_own;
	json_t *tools, *turns, *verdict;
	char *parent_solution, *submitted, *stale_reason;
	json_t *staged_error, *metrics;
	const char *exit_status;
	struct conversation_counts counts;
};

/* NULL if the verdict is as the transcript says in every key it gives; else a sentence. Returned owned. */
static char *
stale_reason(const json_t *answers, const json_t *verdict)
{
	struct buf why = BUF_INIT;
	const char *key;
	json_t *said;

	json_object_foreach((json_t *)answers, key, said) {
		const json_t *real = json_object_get(verdict, key);

		if (real && json_equal(said, real))
			continue;
		buf_addf(&why, "%s%s: the transcript answers ", why.len ? "; " : "", key);
		rec_json_dump(said, &why);
		buf_adds(&why, ", the verdict says ");
		if (real)
			rec_json_dump(real, &why);
		else
			buf_adds(&why, "nothing");
	}
	return why.len ? buf_detach(&why) : NULL;
}

/* ---- records */

static json_t *
text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *
origin_with(const json_t *origin, json_t *staged_error)
{
	json_t *copy = json_copy((json_t *)origin);

	if (staged_error)
		json_object_set(copy, "staged_error", staged_error);
	return copy;
}

static void
add_solution(struct run *r, const char *id, const char *source, json_t *staged_error)
{
	struct conversation *c = r->c;
	char sha256[SHA256_HEX];
	/* Submitting what was tested changes nothing, and a source is no parent of itself. */
	bool same = r->parent_solution && strcmp(r->parent_solution, id) == 0;

	sha256_hex(source, strlen(source), sha256);
	if (!same)
		sections_add_solution(c->sections, json_pack("{s:s,s:s,s:s,s:o,s:s,s:s,s:s,s:o}", "id", id, "task_id",
			c->task->id, "phase", agent_phase_name(c->phase), "parent_id", text_or_null(r->parent_solution),
			"branch", c->branch, "source", source, "source_sha256", sha256, "origin",
			origin_with(policy_origin(c->session), staged_error)));
	free(r->parent_solution);
	r->parent_solution = xstrdup(id);
}

/* Six digits are the same with any C library. */
static json_t *
reward(const struct conversation *c, double cost)
{
	char text[32];

	if (c->phase != PHASE_OPTIMIZE || !(cost > 0) || !(c->baseline_cost > 0))
		return json_null();
	snprintf(text, sizeof text, "%.6g", log(c->baseline_cost / cost));
	return json_real(strtod(text, NULL) + 0.0);
}

static const char *
outcome(const struct conversation *c, const char *status, double cost)
{
	if (strcmp(status, "PASSED") != 0)
		return "failed";
	if (c->phase != PHASE_OPTIMIZE || !(cost > 0))
		return "passed";
	return cost < c->parent_cost ? "improved" : cost > c->parent_cost ? "regressed" : "unchanged";
}

static void
add_turn(struct run *r, size_t message_index, const char *tool, const struct tool_result *result,
	const char *solution_id, json_t *staged_error, const json_t *metrics)
{
	const char *status = result ? rec_json_string(result->verdict, "status", NULL) : NULL;
	json_t *turn = json_pack("{s:I,s:o,s:o,s:o,s:o}", "message_index", (json_int_t)(message_index - r->first_own),
		"solution_id", text_or_null(solution_id), "status", text_or_null(status),
		"reward", result ? reward(r->c, result->cost) : json_null(),
		"outcome", status ? json_string(outcome(r->c, status, result->cost)) : json_null());

	if (tool)
		json_object_set_new(turn, "tool", json_string(tool));
	if (staged_error)
		json_object_set(turn, "staged_error", staged_error);
	if (metrics)
		json_object_set(turn, "metrics", (json_t *)metrics);
	json_array_append_new(r->turns, turn);
}

/* ---- one turn */

static void
append_tool_message(struct run *r, const json_t *call, const struct buf *text)
{
	json_array_append_new(r->messages, json_pack("{s:s,s:O,s:o}", "role", "tool", "tool_call_id",
		json_object_get(call, "id"), "content", rec_json_text(buf_str(text), text->len)));
}

static int
run_call(struct run *r, const json_t *call, size_t message_index, const struct policy_answer *answer, bool first,
	struct buf *err)
{
	struct conversation *c = r->c;
	const json_t *function = json_object_get(call, "function");
	const char *source = rec_json_string(json_object_get(function, "arguments"), "source", "");
	struct tool_result result;
	char id[HASH_ID_HEX];

	if (tools_execute(c->eval, c->task, call, &result, err) < 0) {
		tool_result_release(&result);
		return -1;
	}
	r->counts.tool_calls++;
	eval_solution_id(c->task->id, source, id);
	if (result.evaluations) {
		add_solution(r, id, source, answer->staged_error);
		sections_add_evaluations(c->sections, result.evaluations);
	}
	add_turn(r, message_index, rec_json_string(function, "name", ""), &result, result.evaluations ? id : NULL,
		answer->staged_error, first ? answer->metrics : NULL);
	append_tool_message(r, call, &result.text);
	json_decref(r->verdict);
	r->verdict = json_incref(result.verdict);
	if (result.submitted) {
		r->counts.submits++;
		r->submitted = xstrdup(id);
		r->exit_status = "submitted";
	}
	tool_result_release(&result);
	return 0;
}

static void
refuse_call(struct run *r, const json_t *call, const char *why)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "error: %s\n", why);
	append_tool_message(r, call, &text);
	buf_release(&text);
}

/* Every call gets an answer, as the API demands; nothing runs after a submit. */
static int
run_calls(struct run *r, const json_t *calls, const struct policy_answer *answer, struct buf *err)
{
	size_t message_index = json_array_size(r->messages) - 1, i;
	const json_t *call;

	json_array_foreach(calls, i, call) {
		if (r->submitted)
			refuse_call(r, call, "the solution is handed in already");
		else if (i >= MAX_CALLS_A_TURN)
			refuse_call(r, call, "too many calls in one message");
		else if (run_call(r, call, message_index, answer, i == 0, err) < 0)
			return -1;
	}
	return 0;
}

static void
check_stale(struct run *r, const struct policy_answer *answer)
{
	/* The first difference says it; what follows from it would only repeat it. */
	if (!r->stale_reason)
		r->stale_reason = stale_reason(answer->answers, r->verdict);
}

static void
add_metrics(struct run *r, const json_t *metrics)
{
	static const char *const tokens[] = { "prompt_tokens", "completion_tokens", "cached_tokens", NULL };

	if (!metrics)
		return;
	if (!r->metrics)
		r->metrics = json_object();
	for (int i = 0; tokens[i]; i++) {
		char total[64];

		snprintf(total, sizeof total, "total_%s", tokens[i]);
		json_object_set_new(r->metrics, total,
			json_integer(rec_json_integer(r->metrics, total, 0) + rec_json_integer(metrics, tokens[i], 0)));
	}
	json_object_set_new(r->metrics, "total_cost_usd",
		json_real(rec_json_number(r->metrics, "total_cost_usd", 0) + rec_json_number(metrics, "cost_usd", 0)));
}

/* 1: go on; 0: over; -1: our failure. */
static int
take_turn(struct run *r, uint64_t turn, struct buf *err)
{
	struct conversation *c = r->c;
	struct policy_request request = { c->phase, c->branch, turn, c->sample, r->messages, r->tools };
	struct policy_answer answer;
	enum policy_result result = policy_next(c->session, &request, &answer, err);
	const json_t *calls;
	int status = 1;

	if (result != POLICY_ANSWER)
		return result == POLICY_FAILED ? -1 : 0;
	r->counts.turns++;
	check_stale(r, &answer);
	add_metrics(r, answer.metrics);
	if (answer.staged_error && !r->staged_error)
		r->staged_error = json_incref(answer.staged_error);
	json_array_append(r->messages, answer.message);
	calls = json_object_get(answer.message, "tool_calls");
	if (json_array_size(calls)) {
		status = run_calls(r, calls, &answer, err) < 0 ? -1 : !r->submitted;
	} else {
		add_turn(r, json_array_size(r->messages) - 1, NULL, NULL, NULL, answer.staged_error, answer.metrics);
		json_array_append_new(r->messages, prompt_nudge());
	}
	policy_answer_release(&answer);
	return status;
}

/* ---- the whole */

static void
trajectory_id(const struct run *r, const struct conversation *c, const json_t *opening, char id[HASH_ID_HEX])
{
	struct hash_id_state *hash = hash_id_start();
	struct buf text = BUF_INIT;

	hash_id_text(hash, c->task->id);
	hash_id_text(hash, agent_phase_name(c->phase));
	hash_id_text(hash, c->branch);
	buf_addf(&text, "%llu", (unsigned long long)c->sample);
	hash_id_text(hash, text.data);
	hash_id_text(hash, policy_identity(c->session));
	hash_id_text(hash, c->parent_trajectory ? c->parent_trajectory : "");
	buf_reset(&text);
	rec_json_canonical(opening, &text);
	rec_json_canonical(r->tools, &text);
	hash_id_part(hash, buf_str(&text), text.len);
	hash_id_end(hash, id);
	buf_release(&text);
}

void
conversation_prompt_sha256(const struct policy_session *session, const json_t *opening, char out[SHA256_HEX])
{
	json_t *tools = tools_definitions();
	struct buf text = BUF_INIT;

	buf_adds(&text, policy_identity(session));
	rec_json_canonical(opening, &text);
	rec_json_canonical(tools, &text);
	sha256_hex(buf_str(&text), text.len, out);
	buf_release(&text);
	json_decref(tools);
}

static json_t *
own_messages(const struct run *r)
{
	json_t *own = json_array();

	for (size_t i = r->first_own; i < json_array_size(r->messages); i++)
		json_array_append(own, json_array_get(r->messages, i));
	/* A nudge that nobody answered is not part of the conversation. */
	if (json_array_size(own) > 1 && !r->submitted) {
		const json_t *last = json_array_get(own, json_array_size(own) - 1);
		const json_t *before = json_array_get(own, json_array_size(own) - 2);

		if (strcmp(rec_json_string(last, "role", ""), "user") == 0
				&& strcmp(rec_json_string(before, "role", ""), "assistant") == 0)
			json_array_remove(own, json_array_size(own) - 1);
	}
	return own;
}

static json_t *
make_trajectory(const struct run *r, const char *id, const char *prompt_sha256)
{
	const struct conversation *c = r->c;
	json_t *t = json_pack("{s:s,s:s,s:s,s:s,s:o,s:I,s:o,s:s,s:o,s:o,s:O,s:o,s:b}", "id", id, "task_id", c->task->id,
		"phase", agent_phase_name(c->phase), "branch", c->branch, "parent_id",
		text_or_null(c->parent_trajectory), "sample", (json_int_t)c->sample, "origin",
		origin_with(policy_origin(c->session), r->staged_error), "prompt_sha256", prompt_sha256,
		"messages", own_messages(r), "tools", tools_names(), "turns", r->turns, "solution_id",
		text_or_null(r->submitted), "stale", r->stale_reason != NULL);

	if (r->stale_reason)
		json_object_set_new(t, "stale_reason", json_string(r->stale_reason));
	json_object_set(t, "guidance", c->guidance);
	json_object_set_new(t, "exit_status", json_string(r->exit_status));
	if (r->metrics)
		json_object_set(t, "final_metrics", r->metrics);
	return t;
}

static void
release(struct run *r)
{
	json_decref(r->messages);
	json_decref(r->tools);
	json_decref(r->turns);
	json_decref(r->verdict);
	json_decref(r->staged_error);
	json_decref(r->metrics);
	free(r->parent_solution);
	free(r->submitted);
	free(r->stale_reason);
	json_decref(r->c->opening);
	json_decref(r->c->guidance);
	r->c->opening = r->c->guidance = NULL;
}

enum conversation_end
conversation_run(struct conversation *c, json_t **trajectory, struct conversation_counts *counts, struct buf *err)
{
	struct run r = { .c = c, .messages = c->context ? json_copy((json_t *)c->context) : json_array(),
		.tools = tools_definitions(), .turns = json_array(), .verdict = c->verdict, .exit_status = "turn_limit" };
	char id[HASH_ID_HEX], prompt_sha256[SHA256_HEX];
	int status = 1;

	c->verdict = NULL;
	*trajectory = NULL;
	r.first_own = json_array_size(r.messages);
	r.parent_solution = c->parent_solution ? xstrdup(c->parent_solution) : NULL;
	trajectory_id(&r, c, c->opening, id);
	conversation_prompt_sha256(c->session, c->opening, prompt_sha256);
	json_array_extend(r.messages, c->opening);
	for (uint64_t turn = 0; status > 0 && turn < c->max_turns; turn++)
		status = take_turn(&r, turn, err);
	if (status == 0 && !r.submitted)
		r.exit_status = "no_answer";
	if (status >= 0) {
		r.counts.stale = r.stale_reason != NULL;
		r.counts.no_answer = strcmp(r.exit_status, "no_answer") == 0;
		*trajectory = make_trajectory(&r, id, prompt_sha256);
	}
	counts->turns += r.counts.turns;
	counts->tool_calls += r.counts.tool_calls;
	counts->submits += r.counts.submits;
	counts->stale += r.counts.stale;
	counts->no_answer += r.counts.no_answer;
	release(&r);
	return status < 0 ? CONVERSATION_FAILED : CONVERSATION_DONE;
}

json_t *
conversation_messages(const struct sections *s, const json_t *trajectory)
{
	const json_t *chain[MAX_DEPTH];
	json_t *messages;
	int depth = 0;

	for (; trajectory && depth < MAX_DEPTH; depth++) {
		const char *parent = rec_json_string(trajectory, "parent_id", NULL);

		chain[depth] = trajectory;
		trajectory = parent ? sections_trajectory(s, parent) : NULL;
		if (parent && !trajectory)
			return NULL;
	}
	/* A chain this long goes round in circles. */
	if (trajectory)
		return NULL;
	messages = json_array();
	while (depth--)
		json_array_extend(messages, json_object_get(chain[depth], "messages"));
	return messages;
}
