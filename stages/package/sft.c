/* A case comes in, conversations to train on go out: sft_trajectories, one row for each branch from its root
 * to its leaf, and sft_direct, the same task answered at once. The hard idea: a branch keeps its failed turns
 * as context, and each message says by `train` whether it is one to learn from, which its source's later turns decide
 * as well. */
#include "rows.h"

#include <math.h>

#include "agent/tools.h"
#include "math/latex.h"
#include "parts.h"
#include "rec/json.h"

enum { MAX_CHAIN = 64 };

/* ---- branches */

/* From the root to `leaf`; returns how many. view_usable has bounded the length. */
static int
find_chain(const struct view *v, const json_t *leaf, const json_t *chain[MAX_CHAIN])
{
	int count = 0;

	for (const json_t *t = leaf; t && count < MAX_CHAIN; t = view_trajectory(v, rec_json_string(t,
		"parent_id", NULL)))
		chain[count++] = t;
	for (int i = 0; i < count / 2; i++) {
		const json_t *kept = chain[i];

		chain[i] = chain[count - 1 - i];
		chain[count - 1 - i] = kept;
	}
	return count;
}

/* One that does what it should: its tool was called, and what came back was good. */
static bool
good_turn(const json_t *turn)
{
	const char *status = rec_json_string(turn, "status", NULL), *outcome = rec_json_string(turn,
		"outcome", "");

	return status && !strcmp(status, "PASSED") && strcmp(outcome, "failed") && strcmp(outcome,
		"regressed") &&
		!rec_json_string(turn, "staged_error", NULL);
}

/* Whether an assistant message may be learnt from: all its turns are good, and there is one. */
static bool
good_message(const json_t *trajectory, size_t index)
{
	bool good = false;
	const json_t *turn;
	size_t i;

	json_array_foreach(json_object_get(trajectory, "turns"), i, turn) {
		if (rec_json_integer(turn, "message_index", -1) != (json_int_t)index)
			continue;
		if (!good_turn(turn))
			return false;
		good = true;
	}
	return good;
}

/* ---- messages */

struct conversation {
	json_t *messages, *turns;
	int calls;		/* for ids that are unique within the row */
	int answered;
};

static json_t *
call_id(int number)
{
	char id[16];

	/* Nine letters and digits: there are chat templates that take nothing else. */
	snprintf(id, sizeof id, "call%05d", number % 100000);
	return json_string(id);
}

static json_t *
renumbered_calls(struct conversation *c, const json_t *calls)
{
	json_t *list = json_array();
	const json_t *call;
	size_t i;

	json_array_foreach(calls, i, call) {
		const json_t *function = json_object_get(call, "function");

		/* All tools take the source and nothing else; another argument would be a column of its own. */
		json_array_append_new(list, json_pack("{s:o, s:s, s:{s:O, s:{s:o}}}", "id",
			call_id(++c->calls), "type",
			"function", "function", "name", json_object_get(function, "name"), "arguments",
			"source",
			parts_value(json_object_get(function, "arguments"), "source")));
	}
	return list;
}

static json_t *
row_message(struct conversation *c, const json_t *message, bool train)
{
	const json_t *calls = json_object_get(message, "tool_calls");
	const char *reasoning = rec_json_string(message, "reasoning_content", NULL);
	json_t *row = json_pack("{s:O, s:s}", "role", json_object_get(message, "role"), "content",
		rec_json_string(message, "content", ""));

	if (reasoning)
		json_object_set_new(row, "reasoning_content", json_string(reasoning));
	if (json_array_size(calls))
		json_object_set_new(row, "tool_calls", renumbered_calls(c, calls));
	/* Answers come in the order of the calls, as agents write them. */
	if (!strcmp(rec_json_string(message, "role", ""), "tool"))
		json_object_set_new(row, "tool_call_id", call_id(++c->answered));
	json_object_set_new(row, "train", json_boolean(train));
	return row;
}

static void
add_turns(struct conversation *c, const json_t *trajectory, size_t first_message)
{
	const json_t *turn;
	size_t i;

	json_array_foreach(json_object_get(trajectory, "turns"), i, turn) {
		json_t *row = json_object();

		json_object_set_new(row, "message_index",
			json_integer((json_int_t)first_message + rec_json_integer(turn, "message_index", 0)));
		parts_copy(row, trajectory, "phase", NULL);
		json_object_set_new(row, "solution_id", parts_value(turn, "solution_id"));
		json_object_set_new(row, "status", parts_value(turn, "status"));
		json_object_set_new(row, "reward", parts_real(rec_json_number(turn, "reward", NAN)));
		json_object_set_new(row, "outcome", parts_value(turn, "outcome"));
		json_object_set_new(row, "tool", parts_value(turn, "tool"));
		json_object_set_new(row, "staged_error", parts_value(turn, "staged_error"));
		json_array_append_new(c->turns, row);
	}
}

static void
add_trajectory(struct conversation *c, const json_t *trajectory)
{
	size_t first = json_array_size(c->messages), i;
	const json_t *message;

	json_array_foreach(json_object_get(trajectory, "messages"), i, message) {
		bool assistant = !strcmp(rec_json_string(message, "role", ""), "assistant");

		json_array_append_new(c->messages, row_message(c, message, assistant && good_message(trajectory, i)));
	}
	add_turns(c, trajectory, first);
}

/* ---- sources that went wrong
 * A compile that passes says little: what the same source did when it ran counts for that message too. */

static const char *
call_source(const json_t *message, size_t number)
{
	const json_t *call = json_array_get(json_object_get(message, "tool_calls"), number);

	return rec_json_string(json_object_get(json_object_get(call, "function"), "arguments"), "source", NULL);
}

/* Keys are sources. Turns stand in the order of messages and of calls within one. */
static void
note_bad_sources(const struct conversation *c, json_t *bad)
{
	json_int_t before = -1;
	const json_t *turn;
	size_t i, number = 0;

	json_array_foreach(c->turns, i, turn) {
		json_int_t index = rec_json_integer(turn, "message_index", -1);
		const char *source;

		number = index == before ? number + 1 : 0;
		before = index;
		source = call_source(json_array_get(c->messages, (size_t)index), number);
		if (source && !good_turn(turn))
			json_object_set_new(bad, source, json_true());
	}
}

static const char *
solution_source(const struct view *v, const char *id)
{
	const json_t *s;
	size_t i;

	json_array_foreach(v->solutions, i, s)
		if (!strcmp(rec_json_string(s, "id", ""), id))
			return rec_json_string(s, "source", NULL);
	return NULL;
}

static void
untrain_bad_sources(struct conversation *c, const char *hopeless_source)
{
	json_t *bad = json_object(), *message;
	size_t i;

	note_bad_sources(c, bad);
	if (hopeless_source)
		json_object_set_new(bad, hopeless_source, json_true());
	json_array_foreach(c->messages, i, message)
		for (size_t k = 0; k < json_array_size(json_object_get(message, "tool_calls")); k++)
			if (json_object_get(bad, call_source(message, k)))
				json_object_set_new(message, "train", json_false());
	json_decref(bad);
}

/* Definitions of the tools that any part of the branch was offered, in the order of the agent's table. */
static json_t *
tool_list(const json_t *const *chain, int count)
{
	json_t *all = tools_definitions(), *list = json_array(), *definition;
	const json_t *name;
	size_t i, k;

	json_array_foreach(all, i, definition) {
		const char *wanted = rec_json_string(json_object_get(definition, "function"), "name", "");
		bool offered = false;

		for (int t = 0; t < count; t++)
			json_array_foreach(json_object_get(chain[t], "tools"), k, name)
				offered = offered || !strcmp(json_string_value(name), wanted);
		if (offered)
			json_array_append(list, definition);
	}
	json_decref(all);
	return list;
}

/* ---- rows */

static json_t *
both_licenses(const struct view *v)
{
	const char *license = rec_json_string(v->task, "license", "");
	struct buf text = BUF_INIT;
	json_t *value;

	/* The task's words under its own licence, the code in the answers under that of the code. */
	buf_addf(&text, "%s%s", license, strcmp(license, "Apache-2.0") ? " AND Apache-2.0" : "");
	value = json_string(text.data);
	buf_release(&text);
	return value;
}

static json_t *
cost_ratio(const struct view *v, double cost)
{
	double baseline;
	char text[32];

	if (!view_baseline(v, &baseline) || !(cost > 0))
		return json_null();
	snprintf(text, sizeof text, "%.4g", cost / baseline);
	return json_real(strtod(text, NULL));
}

/* Of the whole branch: sampled if any part is, and the first fault that was staged. */
static json_t *
branch_origin(const json_t *const *chain, int count)
{
	const json_t *best = json_object_get(chain[count - 1], "origin");
	const char *staged = NULL;
	json_t *origin;

	for (int i = count - 1; i >= 0; i--) {
		const json_t *o = json_object_get(chain[i], "origin");

		staged = rec_json_string(o, "staged_error", staged);
		if (!strcmp(rec_json_string(o, "kind", ""), "sampled"))
			best = o;
	}
	origin = parts_origin(best);
	json_object_set_new(origin, "staged_error", parts_text(staged));
	return origin;
}

static void
add_verdicts(const struct view *v, const char *solution_id, json_t *row)
{
	struct verdict seen = { NULL, NULL, NAN }, last = seen;

	if (solution_id) {
		seen = view_verdict(v, solution_id, false);
		last = view_verdict(v, solution_id, true);
	}
	json_object_set_new(row, "solution_id", parts_text(solution_id));
	json_object_set_new(row, "resolved", json_boolean(solution_id && view_resolved(v, solution_id)));
	json_object_set_new(row, "final_status", parts_text(last.status));
	json_object_set_new(row, "status", parts_text(seen.status));
	json_object_set_new(row, "cost", parts_real(seen.cost));
	json_object_set_new(row, "cost_ratio", cost_ratio(v, seen.cost));
}

static json_t *
search_node(const json_t *leaf)
{
	const json_t *node = json_object_get(leaf, "search");

	if (!json_is_object(node))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "method", parts_value(node, "method"), "node",
		parts_value(node, "node"), "visits", parts_value(node, "visits"), "value",
		parts_real(rec_json_number(node, "value", NAN)), "best_subtree_value",
		parts_real(rec_json_number(node, "best_subtree_value", NAN)), "reward",
		parts_real(rec_json_number(node, "reward", NAN)));
}

/* Every text that any part of the branch was shown, once. */
static json_t *
guidance_list(const json_t *const *chain, int count)
{
	json_t *list = json_array(), *seen = json_object();
	const json_t *text;
	size_t i;

	for (int t = 0; t < count; t++) {
		json_array_foreach(json_object_get(chain[t], "guidance"), i, text) {
			const char *hash = rec_json_string(text, "sha256", "");

			if (json_object_get(seen, hash))
				continue;
			json_object_set_new(seen, hash, json_true());
			json_array_append_new(list, json_pack("{s:O, s:s}", "name", json_object_get(text,
				"name"), "sha256", hash));
		}
	}
	json_decref(seen);
	return list;
}

static json_t *
branch_row(const struct view *v, const json_t *leaf)
{
	const json_t *chain[MAX_CHAIN];
	int count = find_chain(v, leaf, chain);
	struct conversation c = { json_array(), json_array(), 0, 0 };
	const char *solution_id = rec_json_string(leaf, "solution_id", NULL);
	const char *final = solution_id ? view_verdict(v, solution_id, true).status : NULL;
	json_t *row = parts_start(), *phases = json_array(), *ids = json_array();

	for (int i = 0; i < count; i++) {
		add_trajectory(&c, chain[i]);
		json_array_append(phases, json_object_get(chain[i], "phase"));
		json_array_append(ids, json_object_get(chain[i], "id"));
	}
	/* An answer that the final verdict went against is nothing to learn, whoever tested it before. */
	untrain_bad_sources(&c, final && strcmp(final, "PASSED") ? solution_source(v, solution_id) : NULL);
	parts_copy(row, leaf, "id", "task_id", NULL);
	json_object_set_new(row, "task_name", json_string(v->name));
	json_object_set_new(row, "op_type", json_string(v->op_type));
	parts_copy(row, v->task, "forms", NULL);
	json_object_set_new(row, "branch", parts_branch(leaf));
	json_object_set_new(row, "phases", phases);
	json_object_set_new(row, "trajectory_ids", ids);
	json_object_set_new(row, "messages", c.messages);
	json_object_set_new(row, "tools", tool_list(chain, count));
	json_object_set_new(row, "turns", c.turns);
	add_verdicts(v, solution_id, row);
	parts_copy(row, leaf, "exit_status", NULL);
	json_object_set_new(row, "search", search_node(leaf));
	json_object_set_new(row, "guidance", guidance_list(chain, count));
	json_object_set_new(row, "origin", branch_origin(chain, count));
	json_object_set_new(row, "license", both_licenses(v));
	return row;
}

json_t *
rows_sft_trajectories(const struct view *v)
{
	size_t count = json_array_size(v->trajectories);
	const json_t **sorted = parts_by_id(v->trajectories);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		/* A conversation without a word of the policy teaches nothing. */
		if (view_usable(v, sorted[i]) && view_leaf(v, sorted[i]) &&
			json_array_size(json_object_get(sorted[i], "turns")))
			json_array_append_new(rows, branch_row(v, sorted[i]));
	free(sorted);
	return rows;
}

/* ---- the task and its answer, without tools */

static bool
shows(const struct view *v, const char *form)
{
	const json_t *shown;
	size_t i;

	json_array_foreach(json_object_get(v->task, "forms"), i, shown)
		if (!strcmp(json_string_value(shown), form))
			return true;
	return false;
}

static void
add_block(struct buf *out, const char *language, const char *text)
{
	size_t length = strlen(text);

	buf_addf(out, "```%s\n%s%s```\n\n", language, text, length && text[length - 1] == '\n' ? "" : "\n");
}

static void
add_forms(const struct view *v, struct buf *out)
{
	const json_t *math = json_object_get(v->task, "math_spec");
	const char *prompt = rec_json_string(v->task, "prompt", NULL), *latex = rec_json_string(math, "latex",
		NULL);
	const json_t *reference = json_object_get(v->task, "reference");
	const char *source = rec_json_string(reference, "source", NULL);
	bool torch = !strcmp(rec_json_string(reference, "language", ""), "pytorch");

	if (prompt && shows(v, "natural_language"))
		buf_addf(out, "%s\n\n", prompt);
	if (math && shows(v, "math_spec")) {
		buf_adds(out, "Definition:\n\n");
		if (latex && *latex) {
			math_latex_markdown(latex, out);
			buf_adds(out, "In index notation, indices from 0:\n\n");
		}
		add_block(out, "", rec_json_string(math, "text", ""));
	}
	if (source && shows(v, "reference_program")) {
		buf_addf(out, "%s reference:\n\n", torch ? "PyTorch" : "Sequential");
		add_block(out, torch ? "python" : "c", source);
	}
}

static void
add_tensors(const char *role, const json_t *tensors, struct buf *out)
{
	const json_t *tensor, *size;
	size_t i, k;

	json_array_foreach(tensors, i, tensor) {
		buf_addf(out, "- %s `%s`: %s [", role, rec_json_string(tensor, "name", ""),
			rec_json_string(tensor, "dtype", ""));
		json_array_foreach(json_object_get(tensor, "shape"), k, size)
			buf_addf(out, "%s%s", k ? ", " : "", json_string_value(size));
		buf_adds(out, "]\n");
	}
}

static void
add_axes(const json_t *axes, struct buf *out)
{
	const json_t *axis;
	size_t i;

	json_array_foreach(axes, i, axis) {
		const char *name = rec_json_string(axis, "name", ""), *expression = rec_json_string(axis,
			"expr", NULL);

		if (expression)
			buf_addf(out, "- `%s` = %s, not passed\n", name, expression);
		else if (json_is_integer(json_object_get(axis, "value")))
			buf_addf(out, "- `%s` is always %lld and not passed\n", name,
				(long long)rec_json_integer(axis, "value", 0));
	}
}

static json_t *
direct_question(const struct view *v)
{
	struct buf text = BUF_INIT;
	json_t *content;

	buf_adds(&text,
		"Write a CUDA C++ source file that defines the host function `solve` as declared below. It "
		"gets "
		"dense row-major tensors in device memory, launches its kernels on `stream`, writes every "
		"element of the "
		"outputs, and does not synchronise. Answer with the whole file.\n\n");
	add_forms(v, &text);
	add_block(&text, "cuda", rec_json_string(v->task, "prototype", ""));
	add_tensors("input", json_object_get(v->task, "inputs"), &text);
	add_tensors("output", json_object_get(v->task, "outputs"), &text);
	add_axes(json_object_get(v->task, "axes"), &text);
	content = json_stringn(text.data, text.len);
	buf_release(&text);
	return content;
}

json_t *
rows_sft_direct(const struct view *v)
{
	const json_t *final = view_final_solution(v);
	const char *id = rec_json_string(final, "id", NULL);
	json_t *rows = json_array(), *row;
	struct buf answer = BUF_INIT;
	struct verdict seen;

	if (!id || !view_resolved(v, id))
		return rows;
	seen = view_verdict(v, id, false);
	add_block(&answer, "cuda", rec_json_string(final, "source", ""));
	row = parts_start();
	json_object_set_new(row, "id", json_string(id));
	json_object_set_new(row, "task_id", json_string(v->id));
	json_object_set_new(row, "task_name", json_string(v->name));
	json_object_set_new(row, "op_type", json_string(v->op_type));
	parts_copy(row, v->task, "forms", NULL);
	/* One blank line ends a block; the answer ends with its block. */
	json_object_set_new(row, "messages", json_pack("[{s:s, s:o, s:b}, {s:s, s:s%, s:b}]", "role", "user",
		"content",
		direct_question(v), "train", 0, "role", "assistant", "content", answer.data, answer.len - 1,
		"train", 1));
	json_object_set_new(row, "solution_id", json_string(id));
	json_object_set_new(row, "resolved", json_true());
	json_object_set_new(row, "cost", parts_real(seen.cost));
	json_object_set_new(row, "origin", parts_origin(json_object_get(final, "origin")));
	json_object_set_new(row, "license", both_licenses(v));
	json_array_append_new(rows, row);
	buf_release(&answer);
	return rows;
}
