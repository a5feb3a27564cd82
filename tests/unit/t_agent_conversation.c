/* Conversations and searches against an engine that believes the source: what is recorded, when a
 * transcript is stale, what stays and what goes when something is done again, and what the tree becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/conversation.h"
#include "agent/search.h"
#include "fake_eval.h"
#include "rec/schema.h"

#define HEAD "{\"format\":\"kernelmosaic-transcript/1\",\"task\":\"twice_f32\",\"author\":\"A\","
#define TURN(tool, source, more) "{\"content\":\"...\",\"tool\":\"" tool "\",\"source\":\"" source ".cu\"" more "}"
#define BRANCH(name, parent, source) "{\"branch\":\"" name "\",\"parent\":\"" parent "\",\"turns\":[" \
	TURN("submit", source, "") "]}"

struct world {
	struct task *task;
	char *directory;
	struct policy *policy;
	struct policy_session *session;
	struct sections sections;
	struct conversation_counts counts;
};

static void
world_open(struct world *w, const char *transcript, const char *const *sources)
{
	struct policy_options options = { .policy = "transcript" };
	struct buf err = BUF_INIT;
	int status;

	*w = (struct world){ .task = fake_task(), .directory = fake_transcript(transcript, sources) };
	options.transcripts = w->directory;
	w->policy = policy_open(&options, &status, &err);
	w->session = policy_begin(w->policy, w->task, &err);
	if (!w->session)
		die(1, "%s", buf_str(&err));
	w->sections = (struct sections){ json_array(), json_array(), json_array(), false };
}

static void
world_close(struct world *w)
{
	policy_end(w->session);
	policy_close(w->policy);
	sections_release(&w->sections);
	task_free(w->task);
	fake_remove(w->directory);
}

static json_t *
talk(struct world *w, enum agent_phase phase, const json_t *context, const char *parent, const char *verdict,
	uint64_t max_turns)
{
	struct conversation c = { .task = w->task, .session = w->session, .sections = &w->sections, .phase = phase,
		.branch = "", .max_turns = max_turns, .context = context, .guidance = json_array(),
		.parent_trajectory = parent, .baseline_cost = NAN, .parent_cost = NAN };
	struct buf err = BUF_INIT;
	json_t *trajectory;

	c.opening = json_pack("[{s:s,s:s}]", "role", "user", "content", "begin");
	c.verdict = verdict ? rec_json_parse(verdict, strlen(verdict), &err) : NULL;
	assert_int_equal(conversation_run(&c, &trajectory, &w->counts, &err), CONVERSATION_DONE);
	assert_int_equal(rec_schema_check("trajectory", trajectory, &err), 0);
	buf_release(&err);
	return trajectory;
}

static void
test_records(void **state)
{
	static const char *const sources[] = { "bad: fail=RUNTIME_ERROR line=7", "good: cost=100", NULL };
	struct world w;
	json_t *t, *turns, *solution;
	char id[33];

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("test", "bad", ",\"staged_error\":\"no bound\"") ","
		TURN("submit", "good", ",\"answers\":{\"status\":\"RUNTIME_ERROR\",\"check\":\"memcheck\",\"line\":7}") "]}", sources);
	t = talk(&w, PHASE_SOLVE, NULL, NULL, NULL, 12);
	assert_string_equal(rec_json_string(t, "exit_status", ""), "submitted");
	assert_false(rec_json_boolean(t, "stale", 1));
	eval_solution_id(w.task->id, "cost=100", id);
	assert_string_equal(rec_json_string(t, "solution_id", ""), id);
	/* user, assistant, tool, assistant, tool; each turn points at its assistant message */
	assert_int_equal(json_array_size(json_object_get(t, "messages")), 5);
	turns = json_object_get(t, "turns");
	assert_int_equal(json_array_size(turns), 2);
	assert_int_equal(rec_json_integer(json_array_get(turns, 0), "message_index", -1), 1);
	assert_int_equal(rec_json_integer(json_array_get(turns, 1), "message_index", -1), 3);
	assert_string_equal(rec_json_string(json_array_get(turns, 0), "status", ""), "RUNTIME_ERROR");
	assert_string_equal(rec_json_string(json_array_get(turns, 0), "outcome", ""), "failed");
	assert_string_equal(rec_json_string(json_array_get(turns, 0), "staged_error", ""), "no bound");
	assert_string_equal(rec_json_string(json_array_get(turns, 1), "outcome", ""), "passed");
	assert_int_equal(json_array_size(w.sections.solutions), 2);
	/* one and odd for the first, one, odd and shape for the second; never the held-out one */
	assert_int_equal(json_array_size(w.sections.evaluations), 5);
	solution = sections_solution(&w.sections, id);
	assert_string_equal(rec_json_string(solution, "parent_id", ""),
		rec_json_string(json_array_get(w.sections.solutions, 0), "id", "-"));
	assert_int_equal(w.counts.turns, 2);
	assert_int_equal(w.counts.submits, 1);
	json_decref(t);
	world_close(&w);
}

/* Each key of "answers" is compared; the first turn that differs gives the reason. */
static void
test_stale(void **state)
{
	static const char *const sources[] = { "bad: fail=RUNTIME_ERROR line=7", "good: cost=100", NULL };
	static const struct {
		const char *answers, *reason;
	} cases[] = {
		{ "{\"status\":\"RUNTIME_ERROR\",\"workload\":\"odd\",\"check\":\"memcheck\",\"kind\":\"out_of_bounds\","
			"\"line\":7}", NULL },
		{ "{\"status\":\"INCORRECT_NUMERICAL\"}",
			"status: the transcript answers \"INCORRECT_NUMERICAL\", the verdict says \"RUNTIME_ERROR\"" },
		{ "{\"line\":8}", "line: the transcript answers 8, the verdict says 7" },
		{ "{\"workload\":\"one\"}", "workload" }, { "{\"kind\":\"misaligned\"}", "kind" },
		{ "{\"check\":\"initcheck\"}", "check" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf text = BUF_INIT;
		struct world w;
		json_t *t;

		buf_addf(&text, HEAD "\"solve\":[" TURN("test", "bad", "") "," TURN("submit", "good", ",\"answers\":%s") "]}",
			cases[i].answers);
		world_open(&w, text.data, sources);
		t = talk(&w, PHASE_SOLVE, NULL, NULL, NULL, 12);
		assert_int_equal(rec_json_boolean(t, "stale", -1), cases[i].reason != NULL);
		if (cases[i].reason)
			assert_non_null(strstr(rec_json_string(t, "stale_reason", ""), cases[i].reason));
		assert_int_equal(w.counts.stale, cases[i].reason != NULL);
		json_decref(t);
		world_close(&w);
		buf_release(&text);
	}
}

/* The first turn of a repair answers the verdict on the submission; a text answers it too, without tools. */
static void
test_stale_without_tool(void **state)
{
	static const char *const sources[] = { "good: cost=100", NULL };
	struct world w;
	json_t *t;

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("submit", "good", "") "],\"repair\":[{\"content\":\"I see\",\"answers\":"
		"{\"status\":\"TIMEOUT\"}}," TURN("submit", "good", "") "]}", sources);
	t = talk(&w, PHASE_REPAIR, NULL, NULL, "{\"status\":\"TIMEOUT\"}", 12);
	assert_false(rec_json_boolean(t, "stale", 1));
	/* user, assistant, nudge, assistant, tool */
	assert_int_equal(json_array_size(json_object_get(t, "messages")), 5);
	assert_true(json_is_null(json_object_get(json_array_get(json_object_get(t, "turns"), 0), "status")));
	json_decref(t);
	t = talk(&w, PHASE_REPAIR, NULL, NULL, "{\"status\":\"PASSED\"}", 12);
	assert_true(rec_json_boolean(t, "stale", 0));
	json_decref(t);
	world_close(&w);
}

static void
test_limits(void **state)
{
	static const char *const sources[] = { "good: cost=100", NULL };
	struct world w;
	json_t *t;

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("test", "good", "") "," TURN("test", "good", "") ","
		TURN("submit", "good", "") "]}", sources);
	t = talk(&w, PHASE_SOLVE, NULL, NULL, NULL, 2);
	assert_string_equal(rec_json_string(t, "exit_status", ""), "turn_limit");
	assert_true(json_is_null(json_object_get(t, "solution_id")));
	assert_int_equal(json_array_size(json_object_get(t, "turns")), 2);
	json_decref(t);
	t = talk(&w, PHASE_REPAIR, NULL, NULL, NULL, 2);
	assert_string_equal(rec_json_string(t, "exit_status", ""), "no_answer");
	assert_int_equal(json_array_size(json_object_get(t, "messages")), 1);
	assert_int_equal(w.counts.no_answer, 1);
	json_decref(t);
	world_close(&w);
}

static void
test_our_failure(void **state)
{
	static const char *const sources[] = { "s: broken", NULL };
	struct conversation c = { .phase = PHASE_SOLVE, .branch = "", .max_turns = 3, .baseline_cost = NAN };
	struct buf err = BUF_INIT;
	json_t *trajectory;
	struct world w;

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("submit", "s", "") "]}", sources);
	c.task = w.task;
	c.session = w.session;
	c.sections = &w.sections;
	c.opening = json_array();
	c.guidance = json_array();
	assert_int_equal(conversation_run(&c, &trajectory, &w.counts, &err), CONVERSATION_FAILED);
	assert_null(trajectory);
	assert_non_null(strstr(err.data, "out of order"));
	world_close(&w);
	buf_release(&err);
}

/* ---- continuing, replacing */

static void
test_continuation(void **state)
{
	static const char *const sources[] = { "bad: fail=TIMEOUT", "good: cost=100", NULL };
	json_t *solve, *repair, *messages;
	struct world w;

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("submit", "bad", "") "],\"repair\":[" TURN("submit", "good", "") "]}", sources);
	solve = talk(&w, PHASE_SOLVE, NULL, NULL, NULL, 12);
	sections_put_trajectory(&w.sections, NULL, solve);
	messages = conversation_messages(&w.sections, solve);
	repair = talk(&w, PHASE_REPAIR, messages, rec_json_string(solve, "id", ""), NULL, 12);
	sections_put_trajectory(&w.sections, NULL, repair);
	json_decref(messages);
	/* Only what is new is stored, the whole can be had, and call ids go on counting. */
	assert_int_equal(json_array_size(json_object_get(repair, "messages")), 3);
	assert_int_equal(rec_json_integer(json_array_get(json_object_get(repair, "turns"), 0), "message_index", -1), 1);
	messages = conversation_messages(&w.sections, repair);
	assert_int_equal(json_array_size(messages), 6);
	assert_string_equal(rec_json_string(json_array_get(json_object_get(json_array_get(messages, 4), "tool_calls"), 0),
		"id", ""), "call_2");
	json_decref(messages);
	/* The same again changes nothing at all. */
	w.sections.changed = false;
	sections_put_trajectory(&w.sections, solve, json_deep_copy(solve));
	assert_false(w.sections.changed);
	assert_int_equal(json_array_size(w.sections.trajectories), 2);
	/* Another one takes its place, and what grew from the old one goes with its solutions. */
	json_t *other = json_deep_copy(solve);
	json_object_set_new(other, "turns", json_array());
	sections_put_trajectory(&w.sections, solve, other);
	assert_int_equal(json_array_size(w.sections.trajectories), 1);
	assert_int_equal(json_array_size(w.sections.solutions), 0);
	assert_int_equal(json_array_size(w.sections.evaluations), 0);
	world_close(&w);
}

static void
test_circles(void **state)
{
	struct sections s = { json_array(), json_array(), json_pack("[{s:s,s:s},{s:s,s:s}]", "id", "a", "parent_id", "b",
		"id", "b", "parent_id", "a"), false };

	(void)state;
	assert_null(conversation_messages(&s, json_array_get(s.trajectories, 0)));
	sections_release(&s);
}

/* ---- search */

#define TREE HEAD "\"solve\":[" TURN("submit", "root", "") "],\"optimize\":[" BRANCH("a", "root", "a") "," \
	BRANCH("b", "root", "b") "," BRANCH("c", "root", "c") "," BRANCH("a1", "a", "a1") "," BRANCH("a2", "a", "a2") "," \
	BRANCH("b1", "b", "b1") "]}"
static const char *const tree_sources[] = { "root: cost=1000", "a: cost=500", "b: fail=TIMEOUT", "c: cost=2000",
	"a1: cost=250", "a2: fail=RUNTIME_ERROR line=3", "b1: cost=1", NULL };

static void
search(struct world *w, uint64_t width, uint64_t iterations, uint64_t patience, struct search_counts *counts)
{
	struct search_options options = { .width = width, .iterations = iterations, .patience = patience,
		.max_children = 6, .max_turns = 12, .exploration = 0.7 };
	struct buf err = BUF_INIT;

	world_open(w, TREE, tree_sources);
	sections_put_trajectory(&w->sections, NULL, talk(w, PHASE_SOLVE, NULL, NULL, NULL, 12));
	*counts = (struct search_counts){ 0 };
	assert_int_equal(search_run(NULL, w->task, w->session, &w->sections, NULL, &options, counts, &w->counts, &err), 0);
	assert_int_equal(err.len, 0);
}

static const json_t *
branch(const struct world *w, const char *name)
{
	const json_t *t;
	size_t i;

	json_array_foreach(w->sections.trajectories, i, t)
		if (strcmp(rec_json_string(t, "branch", ""), name) == 0 && *name)
			return t;
	return NULL;
}

static double
reward_of(const struct world *w, const char *name)
{
	return rec_json_number(json_object_get(branch(w, name), "search"), "reward", NAN);
}

static void
test_search(void **state)
{
	(void)state;
	for (uint64_t width = 1; width <= 5; width++) {
		struct search_counts counts;
		struct world w;

		search(&w, width, 100, 0, &counts);
		/* All that can be reached is found, whatever the width; b failed, so b1 is never tried. */
		assert_int_equal(counts.nodes, 5);
		assert_int_equal(counts.correct, 3);
		assert_non_null(branch(&w, "a2"));
		assert_null(branch(&w, "b1"));
		assert_float_equal(reward_of(&w, "a"), 0.693147, 1e-9);
		assert_float_equal(reward_of(&w, "a1"), 1.38629, 1e-9);
		assert_float_equal(reward_of(&w, "c"), -0.693147, 1e-9);
		assert_true(isnan(reward_of(&w, "b")));
		assert_string_equal(rec_json_string(branch(&w, "a1"), "parent_id", ""), rec_json_string(branch(&w, "a"), "id", "-"));
		assert_string_equal(rec_json_string(json_array_get(json_object_get(branch(&w, "a1"), "turns"), 0), "outcome", ""),
			"improved");
		assert_string_equal(rec_json_string(json_array_get(json_object_get(branch(&w, "c"), "turns"), 0), "outcome", ""),
			"regressed");
		assert_float_equal(rec_json_number(json_object_get(branch(&w, "a"), "search"), "best_subtree_value", 0), 1.38629, 1e-9);
		/* A failure keeps its place and its verdict. */
		assert_string_equal(rec_json_string(json_array_get(json_object_get(branch(&w, "b"), "turns"), 0), "status", ""),
			"TIMEOUT");
		world_close(&w);
	}
}

static void
dump(uint64_t width, uint64_t iterations, uint64_t patience, struct buf *out)
{
	struct search_counts counts;
	struct world w;

	search(&w, width, iterations, patience, &counts);
	rec_json_dump(w.sections.trajectories, out);
	rec_json_dump(w.sections.solutions, out);
	rec_json_dump(w.sections.evaluations, out);
	world_close(&w);
}

static void
test_search_repeats(void **state)
{
	struct buf one = BUF_INIT, two = BUF_INIT;

	(void)state;
	dump(2, 16, 8, &one);
	dump(2, 16, 8, &two);
	assert_string_equal(one.data, two.data);
	buf_release(&one);
	buf_release(&two);
}

static void
test_search_limits(void **state)
{
	struct search_counts counts;
	struct world w;

	(void)state;
	search(&w, 2, 3, 0, &counts);
	assert_int_equal(counts.nodes, 3);
	world_close(&w);
	/* a is a new best, b is not: with a patience of one the next round of one ends it. */
	search(&w, 1, 100, 1, &counts);
	assert_int_equal(counts.improved + 1, counts.nodes);
	world_close(&w);
}

static void
test_search_without_root(void **state)
{
	static const char *const sources[] = { "s: fail=TIMEOUT", NULL };
	struct search_options options = { .width = 1, .iterations = 5, .max_turns = 12 };
	struct search_counts counts = { 0 };
	struct buf err = BUF_INIT;
	struct world w;

	(void)state;
	world_open(&w, HEAD "\"solve\":[" TURN("submit", "s", "") "],\"optimize\":[" BRANCH("a", "root", "s") "]}", sources);
	sections_put_trajectory(&w.sections, NULL, talk(&w, PHASE_SOLVE, NULL, NULL, NULL, 12));
	assert_int_equal(search_run(NULL, w.task, w.session, &w.sections, NULL, &options, &counts, &w.counts, &err), 0);
	assert_int_equal(counts.nodes, 0);
	world_close(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records), cmocka_unit_test(test_stale), cmocka_unit_test(test_stale_without_tool),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_our_failure), cmocka_unit_test(test_continuation),
		cmocka_unit_test(test_circles), cmocka_unit_test(test_search), cmocka_unit_test(test_search_repeats),
		cmocka_unit_test(test_search_limits), cmocka_unit_test(test_search_without_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
