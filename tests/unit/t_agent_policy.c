/* Transcripts: what is refused, which turn comes when. Models: what decides an answer's identity, that no
 * stored answer is asked for again, and what the journal says around each request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agent/policy_file.h"
#include "agent/tools.h"
#include "agent/transcript.h"
#include "fake_eval.h"
#include "stub_server.h"

#define HEAD "{\"format\":\"kernelmosaic-transcript/1\",\"task\":\"twice_f32\",\"author\":\"A\","
#define SUBMIT "{\"content\":\"done\",\"tool\":\"submit\",\"source\":\"s.cu\"}"
#define TEST "{\"content\":\"try\",\"tool\":\"test\",\"source\":\"s.cu\"}"

static struct task *task;

static int
set_up(void **state)
{
	(void)state;
	task = fake_task();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	task_free(task);
	return 0;
}

static void
test_transcript_check(void **state)
{
	static const struct {
		const char *json, *says;	/* NULL: good */
	} cases[] = {
		{ HEAD "\"solve\":[" SUBMIT "]}", NULL },
		{ HEAD "\"solve\":[{\"content\":\"hm\"}," SUBMIT "]}", NULL },
		{ HEAD "\"solve\":[" TEST "," SUBMIT "],\"repair\":[" SUBMIT "],\"optimize\":[{\"branch\":\"a\",\"parent\":\"root\","
			"\"turns\":[" SUBMIT "]},{\"branch\":\"a1\",\"parent\":\"a\",\"turns\":[" SUBMIT "]}]}", NULL },
		{ "{\"format\":\"x/1\"}", "format" },
		{ HEAD "\"solve\":[]}", "1 to 64 turns" },
		{ HEAD "\"solve\":[" TEST "]}", "solve[0]: the last turn calls submit" },
		{ HEAD "\"solve\":[" SUBMIT "," SUBMIT "]}", "solve[0]: the last turn calls submit" },
		{ HEAD "\"solve\":[{\"tool\":\"submit\",\"source\":\"s.cu\"}]}", "solve[0]: must be an object with a content" },
		{ HEAD "\"solve\":[{\"content\":\"\",\"tool\":\"submit\"}]}", "tool and source go together" },
		{ HEAD "\"solve\":[{\"content\":\"\",\"tool\":\"rm\",\"source\":\"s.cu\"}]}", "solve[0].tool" },
		{ HEAD "\"solve\":[{\"content\":\"\",\"tool\":\"submit\",\"source\":\"../s.cu\"}]}", "solve[0].source" },
		{ HEAD "\"solve\":[{\"content\":\"\",\"answer\":{},\"tool\":\"submit\",\"source\":\"s.cu\"}]}",
			"solve[0].answer: unknown" },
		{ HEAD "\"solve\":[" TEST ",{\"content\":\"\",\"answers\":{\"line\":\"7\"},\"tool\":\"submit\",\"source\":\"s.cu\"}]}",
			"solve[1].answers.line" },
		{ HEAD "\"solve\":[" SUBMIT "],\"optimize\":[{\"branch\":\"b\",\"parent\":\"c\",\"turns\":[" SUBMIT "]}]}",
			"optimize[0].parent" },
		{ HEAD "\"solve\":[" SUBMIT "],\"optimize\":[{\"branch\":\"B\",\"parent\":\"root\",\"turns\":[" SUBMIT "]}]}",
			"optimize[0].branch" },
		{ HEAD "\"solve\":[" SUBMIT "],\"optimize\":[{\"branch\":\"b\",\"parent\":\"root\",\"turns\":[" SUBMIT "]},"
			"{\"branch\":\"b\",\"parent\":\"root\",\"turns\":[" SUBMIT "]}]}", "there already" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf err = BUF_INIT;
		json_t *root = rec_json_parse(cases[i].json, strlen(cases[i].json), &err);

		assert_non_null(root);
		assert_int_equal(transcript_check(root, "twice_f32", &err), cases[i].says ? -1 : 0);
		if (cases[i].says)
			assert_non_null(strstr(err.data, cases[i].says));
		buf_release(&err);
		assert_int_equal(transcript_check(root, "another", NULL), -1);
		json_decref(root);
	}
}

static struct policy *
open_transcripts(const char *directory)
{
	struct policy_options options = { .policy = "transcript", .transcripts = directory };
	struct buf err = BUF_INIT;
	int status;

	return policy_open(&options, &status, &err);
}

static void
test_transcript_turns(void **state)
{
	static const char *const sources[] = { "s: one", "t: two", NULL };
	char *directory = fake_transcript(HEAD "\"solve\":[" TEST ",{\"content\":\"so\",\"tool\":\"submit\",\"source\":\"t.cu\","
		"\"answers\":{\"status\":\"PASSED\"},\"staged_error\":\"off by one\"}],\"optimize\":[{\"branch\":\"a\",\"parent\":"
		"\"root\",\"turns\":[" SUBMIT "]},{\"branch\":\"b\",\"parent\":\"root\",\"turns\":[" SUBMIT "]},"
		"{\"branch\":\"a1\",\"parent\":\"a\",\"turns\":[" SUBMIT "]}]}", sources);
	struct policy *p = open_transcripts(directory);
	struct buf err = BUF_INIT, text = BUF_INIT;
	struct policy_session *s = policy_begin(p, task, &err);
	json_t *messages = json_pack("[{s:[{}]}]", "tool_calls"), *tools = json_array();
	struct policy_request r = { PHASE_SOLVE, "", 1, 0, messages, tools };
	struct policy_answer answer;
	char name[POLICY_BRANCH_MAX];

	(void)state;
	assert_non_null(s);
	assert_int_equal(policy_next(s, &r, &answer, &err), POLICY_ANSWER);
	rec_json_dump(answer.message, &text);
	assert_string_equal(text.data, "{\"role\":\"assistant\",\"content\":\"so\",\"tool_calls\":[{\"id\":\"call_2\",\"type\":"
		"\"function\",\"function\":{\"name\":\"submit\",\"arguments\":{\"source\":\"two\"}}}]}");
	assert_string_equal(json_string_value(answer.staged_error), "off by one");
	assert_string_equal(rec_json_string(answer.answers, "status", ""), "PASSED");
	policy_answer_release(&answer);
	r.turn = 2;
	assert_int_equal(policy_next(s, &r, &answer, &err), POLICY_NO_ANSWER);
	r.turn = 0;
	r.sample = 1;
	assert_int_equal(policy_next(s, &r, &answer, &err), POLICY_NO_ANSWER);
	assert_true(policy_branch(s, "root", 1, 9, name));
	assert_string_equal(name, "b");
	assert_true(policy_branch(s, "a", 0, 9, name));
	assert_string_equal(name, "a1");
	assert_false(policy_branch(s, "root", 2, 9, name));
	assert_string_equal(rec_json_string(policy_origin(s), "kind", ""), "authored");
	policy_end(s);
	policy_close(p);
	json_decref(messages);
	json_decref(tools);
	fake_remove(directory);
	buf_release(&text);
	buf_release(&err);
}

static void
hash_of(const char *json, const char *source, char out[SHA256_HEX])
{
	const char *sources[] = { source, NULL };
	char *directory = fake_transcript(json, sources);
	struct transcript t;
	struct buf err = BUF_INIT;

	assert_int_equal(transcript_load(&t, directory, "twice_f32", &err), 1);
	memcpy(out, t.sha256, SHA256_HEX);
	transcript_release(&t);
	fake_remove(directory);
}

/* The provenance hash covers the sources as well as the turns. */
static void
test_transcript_hash(void **state)
{
	char a[SHA256_HEX], b[SHA256_HEX], c[SHA256_HEX];

	(void)state;
	hash_of(HEAD "\"solve\":[" SUBMIT "]}", "s: one", a);
	hash_of(HEAD "\"solve\":[" SUBMIT "]}", "s: two", b);
	hash_of(HEAD "\"solve\":[" SUBMIT "]} ", "s: one", c);
	assert_string_not_equal(a, b);
	assert_string_not_equal(a, c);
}

static void
test_transcript_missing(void **state)
{
	static const char *const none[] = { NULL };
	char *directory = fake_transcript(HEAD "\"solve\":[" SUBMIT "]}", none);
	struct policy *p = open_transcripts(directory), *empty = open_transcripts("/nonexistent");
	struct policy_request r = { PHASE_SOLVE, "", 0, 0, NULL, NULL };
	struct policy_answer answer;
	struct buf err = BUF_INIT;
	struct policy_session *s;

	(void)state;
	/* A source that is not there is an error; a task without a transcript is not. */
	assert_null(policy_begin(p, task, &err));
	assert_non_null(strstr(err.data, "s.cu"));
	s = policy_begin(empty, task, &err);
	assert_int_equal(policy_next(s, &r, &answer, &err), POLICY_NO_ANSWER);
	policy_end(s);
	policy_close(p);
	policy_close(empty);
	fake_remove(directory);
	buf_release(&err);
}

/* ---- models */

#define REPLY "{\"model\":\"stub-1\",\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\"," \
	"\"content\":\"hello\"}}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4}}"

struct model {
	struct stub_server server;
	char *directory;
	struct buf file, store;
};

static void
model_file(struct model *m, const char *more)
{
	struct buf text = BUF_INIT, err = BUF_INIT;

	buf_addf(&text, "{\"kind\":\"openai\",\"base_url\":\"http://127.0.0.1:%d/v1\",\"model\":\"m\",\"terms\":\"test only\","
		"\"key_env\":\"KM_TEST_KEY\",\"max_attempts\":2,\"retry_first_ms\":1,\"prices\":{\"input_per_million\":1e6,"
		"\"output_per_million\":1e6},\"sampling\":{\"max_tokens\":100}%s}", m->server.port, more);
	assert_int_equal(io_write_file(m->file.data, text.data, text.len, &err), 0);
	buf_release(&text);
}

static void
model_start(struct model *m, const struct stub_step *steps, int count)
{
	struct buf err = BUF_INIT;

	*m = (struct model){ 0 };
	setenv("KM_TEST_KEY", "sk-secret", 1);
	stub_start(&m->server, steps, count);
	m->directory = io_temp_dir("km-test-", &err);
	buf_addf(&m->file, "%s/policy.json", m->directory);
	buf_addf(&m->store, "%s/store", m->directory);
	model_file(m, "");
}

static void
model_stop(struct model *m)
{
	stub_stop(&m->server);
	fake_remove(m->directory);
	buf_release(&m->file);
	buf_release(&m->store);
}

/* Opens everything anew, asks once, closes: as a run of its own would. */
static enum policy_result
model_ask(struct model *m, const char *user, uint64_t sample, bool frozen, struct policy_counts *counts, struct buf *err)
{
	struct store *store = store_open(m->store.data, err);
	struct policy_options options = { .policy = m->file.data, .store = store, .store_directory = m->store.data,
		.frozen = frozen };
	json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", user), *tools = tools_definitions();
	struct policy_request r = { PHASE_SOLVE, "", 0, sample, messages, tools };
	struct policy_answer answer;
	enum policy_result result;
	int status;
	struct policy *p = policy_open(&options, &status, err);
	struct policy_session *s;

	assert_non_null(p);
	s = policy_begin(p, task, err);
	result = policy_next(s, &r, &answer, err);
	if (result == POLICY_ANSWER)
		assert_string_equal(rec_json_string(answer.message, "content", ""), "hello");
	*counts = policy_counts(p);
	policy_answer_release(&answer);
	policy_end(s);
	policy_close(p);
	store_close(store);
	json_decref(messages);
	json_decref(tools);
	return result;
}

static void
journal(const struct model *m, struct buf *out)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/journal", m->store.data);
	buf_reset(out);
	buf_read_file(out, path.data, 1 << 20, NULL);
	buf_release(&path);
}

static int
count_of(const struct buf *text, const char *word)
{
	int count = 0;

	for (const char *p = buf_str(text); (p = strstr(p, word)); p += strlen(word))
		count++;
	return count;
}

static void
test_answers_are_kept(void **state)
{
	const struct stub_step step = { .status = 200, .body = REPLY };
	struct policy_counts counts;
	struct buf err = BUF_INIT, text = BUF_INIT;
	struct model m;

	(void)state;
	model_start(&m, &step, 1);
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(counts.asked, 1);
	assert_int_equal(counts.spent.prompt_tokens, 10);
	assert_float_equal(counts.spent.cost_usd, 14, 1e-9);
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(counts.asked, 0);
	assert_int_equal(counts.stored, 1);
	assert_int_equal(m.server.requests, 1);
	/* Raising a limit or a price is no new question. */
	model_file(&m, ",\"max_requests\":7,\"max_cost_usd\":1000000");
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(m.server.requests, 1);
	/* Another sample, another message: new ones. */
	assert_int_equal(model_ask(&m, "hi", 1, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(model_ask(&m, "ho", 0, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(m.server.requests, 3);
	journal(&m, &text);
	assert_int_equal(count_of(&text, "asked "), 3);
	assert_int_equal(count_of(&text, "answered "), 3);
	assert_null(strstr(text.data, "sk-secret"));
	model_stop(&m);
	buf_release(&text);
	buf_release(&err);
}

/* An answer that was given to another question is not taken, even where it lies under this one's id. */
static void
test_foreign_answer(void **state)
{
	static const char foreign[] = "{\"request_sha256\":\"00\",\"message\":{\"role\":\"assistant\",\"content\":\"hello\"}}";
	const struct stub_step step = { .status = 200, .body = REPLY };
	json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "hi"), *tools = tools_definitions();
	struct policy_request r = { PHASE_SOLVE, "", 0, 0, messages, tools };
	struct policy_counts counts;
	struct policy_file file;
	struct buf err = BUF_INIT;
	struct model m;
	char id[HASH_ID_HEX], sha256[SHA256_HEX];

	(void)state;
	model_start(&m, &step, 1);
	assert_int_equal(policy_file_load(&file, m.file.data, true, &err), 0);
	policy_answer_id(file.identity_sha256, &r, id, sha256);
	struct store *store = store_open(m.store.data, &err);
	assert_int_equal(store_put(store, "answers", id, foreign, strlen(foreign), &err), 0);
	store_close(store);
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_FAILED);
	assert_non_null(strstr(err.data, "does not belong to its id"));
	assert_int_equal(m.server.requests, 0);
	policy_file_release(&file);
	model_stop(&m);
	json_decref(messages);
	json_decref(tools);
	buf_release(&err);
}

static void
test_frozen(void **state)
{
	const struct stub_step step = { .status = 200, .body = REPLY };
	struct policy_counts counts;
	struct buf err = BUF_INIT;
	struct model m;

	(void)state;
	model_start(&m, &step, 1);
	unsetenv("KM_TEST_KEY");
	assert_int_equal(model_ask(&m, "hi", 0, true, &counts, &err), POLICY_NO_ANSWER);
	assert_int_equal(counts.missing, 1);
	assert_true(counts.missing_most_usd > 100);
	assert_int_equal(m.server.requests, 0);
	setenv("KM_TEST_KEY", "sk-secret", 1);
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_ANSWER);
	assert_int_equal(model_ask(&m, "hi", 0, true, &counts, &err), POLICY_ANSWER);
	assert_int_equal(counts.missing, 0);
	model_stop(&m);
	buf_release(&err);
}

static void
test_failures(void **state)
{
	static const struct {
		struct stub_step step;
		enum policy_result result;
		int closed;	/* the journal says that nothing can have been paid */
	} cases[] = {
		{ { .status = 500, .body = "" }, POLICY_FAILED, 1 },
		{ { .status = 401, .body = "" }, POLICY_FAILED, 1 },
		{ { .status = 400, .body = "" }, POLICY_NO_ANSWER, 1 },
		{ { .status = 200, .body = "junk" }, POLICY_FAILED, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct policy_counts counts;
		struct buf err = BUF_INIT, text = BUF_INIT;
		struct model m;

		model_start(&m, &cases[i].step, 1);
		assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), cases[i].result);
		assert_true(err.len > 0);
		journal(&m, &text);
		assert_int_equal(count_of(&text, "asked "), 1);
		assert_int_equal(count_of(&text, "unanswered "), cases[i].closed);
		/* What is still open is reported by the next run. */
		model_ask(&m, "hi", 0, true, &counts, &err);
		assert_int_equal(counts.possibly_paid, !cases[i].closed);
		model_stop(&m);
		buf_release(&text);
		buf_release(&err);
	}
}

static void
test_budget(void **state)
{
	const struct stub_step step = { .status = 200, .body = REPLY };
	struct policy_counts counts;
	struct buf err = BUF_INIT, text = BUF_INIT;
	struct model m;

	(void)state;
	model_start(&m, &step, 1);
	/* One request of 100 tokens may cost 100 dollars at these prices: it does not fit into 50. */
	model_file(&m, ",\"max_cost_usd\":50");
	assert_int_equal(model_ask(&m, "hi", 0, false, &counts, &err), POLICY_NO_ANSWER);
	assert_int_equal(counts.budget_refused, 1);
	assert_int_equal(m.server.requests, 0);
	journal(&m, &text);
	assert_int_equal(count_of(&text, "unanswered "), 1);
	model_stop(&m);
	buf_release(&text);
	buf_release(&err);
}

static void
test_policy_file(void **state)
{
	static const char good[] = "\"kind\":\"openai\",\"base_url\":\"https://h/v1\",\"model\":\"m\",\"terms\":\"t\"";
	static const struct {
		const char *more, *says;
	} cases[] = {
		{ "", NULL }, { ",\"sampling\":{\"temperature\":1}", NULL },
		{ ",\"temprature\":1", "unknown key \"temprature\"" },
		{ ",\"sampling\":{\"stream\":true}", "must not set \"stream\"" },
		{ ",\"prices\":{\"input_per_million\":1}", "needs input_per_million and output" },
		{ ",\"prices\":{\"input\":1}", "prices.input" },
		{ ",\"max_cost_usd\":5", "can be kept only with" },
		{ ",\"max_requests\":0", "\"max_requests\" must be a count above 0" },
		{ ",\"key_env\":\"KM_TEST_NOT_SET\"", "KM_TEST_NOT_SET" },
	};

	(void)state;
	unsetenv("KM_TEST_NOT_SET");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf text = BUF_INIT, err = BUF_INIT;
		struct policy_file f;

		buf_addf(&text, "{%s%s}", good, cases[i].more);
		assert_int_equal(policy_file_parse(&f, "p.json", text.data, text.len, true, &err), cases[i].says ? -1 : 0);
		if (cases[i].says)
			assert_non_null(strstr(err.data, cases[i].says));
		else
			policy_file_release(&f);
		buf_release(&text);
		buf_release(&err);
	}
}

static void
test_answer_id(void **state)
{
	json_t *messages = json_pack("[{s:s,s:s}]", "role", "user", "content", "hi"), *tools = json_array();
	json_t *sorted = json_pack("[{s:s,s:s}]", "content", "hi", "role", "user");
	struct policy_request r = { PHASE_SOLVE, "", 0, 0, messages, tools }, same = { PHASE_REPAIR, "x", 5, 0, sorted, tools };
	char a[HASH_ID_HEX], b[HASH_ID_HEX], sha256[SHA256_HEX];

	(void)state;
	policy_answer_id("p", &r, a, sha256);
	policy_answer_id("p", &same, b, sha256);
	/* Phase, branch and turn are in the messages; the order of keys says nothing. */
	assert_string_equal(a, b);
	policy_answer_id("q", &r, b, sha256);
	assert_string_not_equal(a, b);
	r.sample = 1;
	policy_answer_id("p", &r, b, sha256);
	assert_string_not_equal(a, b);
	json_decref(messages);
	json_decref(sorted);
	json_decref(tools);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transcript_check), cmocka_unit_test(test_transcript_turns),
		cmocka_unit_test(test_transcript_hash), cmocka_unit_test(test_transcript_missing),
		cmocka_unit_test(test_answers_are_kept), cmocka_unit_test(test_foreign_answer),
		cmocka_unit_test(test_frozen), cmocka_unit_test(test_failures),
		cmocka_unit_test(test_budget), cmocka_unit_test(test_policy_file), cmocka_unit_test(test_answer_id),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
