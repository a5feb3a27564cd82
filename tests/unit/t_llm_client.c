/* The client against a scripted server: what it sends, what it accepts, what it calls lost or refused,
 * and how the retry loop and the budget count each attempt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "llm/ask.h"
#include "rec/json.h"
#include "stub_server.h"

#define OK_BODY "{\"model\":\"stub-1\",\"choices\":[{\"finish_reason\":\"stop\",\"message\":{\"role\":\"assistant\"," \
	"\"content\":\"hello\"}}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4," \
	"\"prompt_tokens_details\":{\"cached_tokens\":6}}}"
#define CALL_BODY "{\"choices\":[{\"finish_reason\":\"tool_calls\",\"message\":{\"role\":\"assistant\",\"content\":null," \
	"\"tool_calls\":[{\"id\":\"x9\",\"type\":\"function\",\"function\":{\"name\":\"test\",\"arguments\":" \
	"\"{\\\"source\\\": \\\"int x;\\\"}\"}},{\"id\":\"x10\",\"type\":\"function\",\"function\":{\"name\":\"test\"," \
	"\"arguments\":\"{oops\"}}]}}]}"

static struct stub_server server;
static char url[64];

static struct llm_endpoint
start(const struct stub_step *steps, int count)
{
	stub_start(&server, steps, count);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/v1/", server.port);
	return (struct llm_endpoint){ .base_url = url, .api_key = "sk-secret", .timeout_ms = 2000,
		.retry = { .attempts = 4, .first_ms = 1, .cap_ms = 4 } };
}

static enum llm_outcome
send_one(const struct llm_endpoint *e, struct llm_reply *reply, struct buf *err)
{
	uint64_t retry_after;

	return llm_send(e, "{\"x\":1}", 1, reply, &retry_after, err);
}

static void
test_ok(void **state)
{
	const struct stub_step steps[] = { { .status = 200, .body = OK_BODY } };
	struct llm_endpoint e = start(steps, 1);
	struct llm_reply reply;
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(send_one(&e, &reply, &err), LLM_OK);
	assert_string_equal(rec_json_string(reply.message, "content", ""), "hello");
	assert_string_equal(reply.model, "stub-1");
	assert_true(reply.has_usage);
	assert_int_equal(reply.prompt_tokens, 10);
	assert_int_equal(reply.cached_tokens, 6);
	assert_non_null(strstr(server.last.data, "POST /v1/chat/completions HTTP/1.1"));
	assert_non_null(strstr(server.last.data, "Authorization: Bearer sk-secret\r\n"));
	assert_non_null(strstr(server.last.data, "{\"x\":1}"));
	llm_reply_release(&reply);
	stub_stop(&server);
	buf_release(&err);
}

static void
test_tool_calls(void **state)
{
	struct llm_reply reply;
	struct buf err = BUF_INIT, text = BUF_INIT;

	(void)state;
	assert_int_equal(llm_parse_reply(CALL_BODY, strlen(CALL_BODY), 3, &reply, &err), 0);
	rec_json_dump(reply.message, &text);
	assert_string_equal(text.data, "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":["
		"{\"id\":\"call_3\",\"type\":\"function\",\"function\":{\"name\":\"test\",\"arguments\":{\"source\":\"int x;\"}}},"
		"{\"id\":\"call_4\",\"type\":\"function\",\"function\":{\"name\":\"test\",\"arguments\":{},"
		"\"invalid_arguments\":\"{oops\"}}]}");
	assert_false(reply.has_usage);
	llm_reply_release(&reply);
	buf_release(&text);
	buf_release(&err);
}

static void
test_request_body(void **state)
{
	json_t *messages = json_pack("[{s:s,s:s,s:s,s:[{s:s,s:s,s:{s:s,s:{s:s}}}]},{s:s,s:s,s:s}]", "role", "assistant",
		"content", "", "reasoning_content", "hm", "tool_calls", "id", "call_1", "type", "function", "function",
		"name", "test", "arguments", "source", "a\"b", "role", "tool", "tool_call_id", "call_1", "content", "ok");
	json_t *sampling = json_pack("{s:i,s:i}", "max_tokens", 9, "seed", 5);
	struct buf body = BUF_INIT;

	(void)state;
	llm_request_body("m", sampling, 2, messages, NULL, &body);
	assert_string_equal(body.data, "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"content\":\"\","
		"\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"test\",\"arguments\":"
		"\"{\\\"source\\\":\\\"a\\\\\\\"b\\\"}\"}}]},{\"role\":\"tool\",\"content\":\"ok\",\"tool_call_id\":\"call_1\"}],"
		"\"max_tokens\":9,\"seed\":7}");
	json_decref(messages);
	json_decref(sampling);
	buf_release(&body);
}

/* Each kind of bad answer, and what one attempt makes of it. */
static void
test_outcomes(void **state)
{
	static const struct {
		struct stub_step step;
		enum llm_outcome outcome;
		const char *says;
	} cases[] = {
		{ { .status = 429, .body = "{\"error\":{\"message\":\"slow down\"}}" }, LLM_BUSY, "status 429: slow down" },
		{ { .status = 500, .body = "oops" }, LLM_BUSY, "status 500" },
		{ { .status = 503, .body = "" }, LLM_BUSY, "status 503" },
		{ { .status = 401, .body = "{\"error\":{\"message\":\"bad key sk-secret!\"}}" }, LLM_DENIED, "bad key [key]!" },
		{ { .status = 400, .body = "{\"error\":\"too long\"}" }, LLM_REFUSED, "status 400: too long" },
		{ { .status = 302, .headers = "Location: http://127.0.0.1:1/\r\n", .body = "" }, LLM_REFUSED, "status 302" },
		{ { .status = 200, .body = "<html>" }, LLM_LOST, "not JSON" },
		{ { .status = 200, .body = "{}" }, LLM_LOST, "choices[0].message" },
		{ { .status = 200, .body = OK_BODY, .claimed_more = 10 }, LLM_LOST, "" },
		{ { .status = 200, .body = OK_BODY, .padding = 70000 }, LLM_UNUSABLE, "larger than 65536 bytes" },
		{ { .status = 200, .body = OK_BODY, .hang_ms = 400 }, LLM_LOST, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct llm_endpoint e = start(&cases[i].step, 1);
		struct llm_reply reply;
		struct buf err = BUF_INIT;

		e.max_body_bytes = 65536;
		e.timeout_ms = 200;
		assert_int_equal(send_one(&e, &reply, &err), cases[i].outcome);
		assert_non_null(strstr(buf_str(&err), cases[i].says));
		assert_null(strstr(buf_str(&err), "sk-secret"));
		assert_null(reply.message);
		assert_int_equal(server.requests, 1);
		stub_stop(&server);
		buf_release(&err);
	}
}

static void
test_unreachable(void **state)
{
	const struct stub_step step = { .status = 200, .body = OK_BODY };
	struct llm_endpoint e = start(&step, 1);
	struct llm_reply reply;
	struct buf err = BUF_INIT;

	(void)state;
	stub_stop(&server);
	assert_int_equal(send_one(&e, &reply, &err), LLM_UNREACHABLE);
	buf_release(&err);
}

static void
test_retry_after(void **state)
{
	const struct stub_step step = { .status = 429, .headers = "Retry-After: 7\r\n", .body = "" };
	struct llm_endpoint e = start(&step, 1);
	struct llm_reply reply;
	struct buf err = BUF_INIT;
	uint64_t retry_after = 0;

	(void)state;
	assert_int_equal(llm_send(&e, "{}", 1, &reply, &retry_after, &err), LLM_BUSY);
	assert_int_equal(retry_after, 7000);
	stub_stop(&server);
	buf_release(&err);
}

static enum llm_outcome
ask(const struct llm_endpoint *e, struct llm_budget *b, double *cost, struct buf *err)
{
	static const struct llm_prices prices = { 1e5, 5e4, 1e6 };
	struct llm_reply reply;
	enum llm_outcome outcome = llm_ask(e, b, &prices, 20, "{}", 1, &reply, cost, err);

	llm_reply_release(&reply);
	return outcome;
}

/* Turned away costs nothing, lost costs the most it can, answered costs what its usage says:
 * 4 fresh and 6 cached prompt tokens and 4 completion tokens make 0.4 + 0.3 + 4 dollars. */
static void
test_ask_again(void **state)
{
	const struct stub_step steps[] = { { .status = 429, .body = "" }, { .status = 500, .body = "" },
		{ .status = 200, .body = OK_BODY, .claimed_more = 1 }, { .status = 200, .body = OK_BODY } };
	struct llm_endpoint e = start(steps, 4);
	struct llm_budget *b = llm_budget_new(0, 100, 1);
	struct buf err = BUF_INIT;
	double cost;

	(void)state;
	assert_int_equal(ask(&e, b, &cost, &err), LLM_OK);
	assert_float_equal(cost, 4.7, 1e-9);
	assert_float_equal(llm_budget_spent(b).cost_usd, 24.7, 1e-9);
	assert_int_equal(llm_budget_spent(b).requests, 4);
	assert_int_equal(llm_budget_spent(b).prompt_tokens, 10);
	assert_int_equal(err.len, 0);
	llm_budget_free(b);
	stub_stop(&server);
	buf_release(&err);
}

static void
test_ask_gives_up(void **state)
{
	const struct stub_step step = { .status = 500, .body = "" };
	struct llm_endpoint e = start(&step, 1);
	struct llm_budget *b = llm_budget_new(0, 0, 1);
	struct buf err = BUF_INIT;
	double cost;

	(void)state;
	assert_int_equal(ask(&e, b, &cost, &err), LLM_BUSY);
	assert_int_equal(server.requests, 4);
	assert_non_null(strstr(err.data, "Gave up after 4 attempts."));
	llm_budget_free(b);
	stub_stop(&server);
	buf_release(&err);
}

/* Final outcomes are not tried again. */
static void
test_ask_final(void **state)
{
	const struct stub_step steps[] = { { .status = 401, .body = "" }, { .status = 200, .body = OK_BODY } };
	struct llm_endpoint e = start(steps, 2);
	struct llm_budget *b = llm_budget_new(0, 0, 1);
	struct buf err = BUF_INIT;
	double cost;

	(void)state;
	assert_int_equal(ask(&e, b, &cost, &err), LLM_DENIED);
	assert_int_equal(server.requests, 1);
	llm_budget_free(b);
	stub_stop(&server);
	buf_release(&err);
}

static void
test_budget_stops(void **state)
{
	const struct stub_step steps[] = { { .status = 200, .body = OK_BODY } };
	struct llm_endpoint e = start(steps, 1);
	struct llm_budget *money = llm_budget_new(0, 25, 1), *requests = llm_budget_new(1, 0, 1);
	struct buf err = BUF_INIT;
	double cost;

	(void)state;
	/* 4.7 are spent, then 20 are booked again: 24.7; a third booking would pass 25. */
	assert_int_equal(ask(&e, money, &cost, &err), LLM_OK);
	assert_int_equal(ask(&e, money, &cost, &err), LLM_OK);
	assert_int_equal(ask(&e, money, &cost, &err), LLM_OVER_BUDGET);
	assert_int_equal(ask(&e, requests, &cost, &err), LLM_OK);
	assert_int_equal(ask(&e, requests, &cost, &err), LLM_OVER_BUDGET);
	assert_int_equal(server.requests, 3);
	llm_budget_free(money);
	llm_budget_free(requests);
	stub_stop(&server);
	buf_release(&err);
}

static void
test_endpoint_check(void **state)
{
	static const struct {
		const char *url, *key;
		int status;
	} cases[] = {
		{ "https://host/v1", "k", 0 }, { "http://127.0.0.1:80/v1", "k", 0 }, { "http://localhost/v1", "k", 0 },
		{ "http://host/v1", NULL, 0 }, { "http://host/v1", "k", -1 }, { "http://localhost.evil/v1", "k", -1 },
		{ "http://127.0.0.1.evil/", "k", -1 }, { "file:///etc/passwd", NULL, -1 }, { "https://u:p@host/", NULL, -1 },
		{ "https://host/", "a\nb", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct llm_endpoint e = { .base_url = cases[i].url, .api_key = cases[i].key };
		struct buf err = BUF_INIT;

		assert_int_equal(llm_endpoint_check(&e, &err), cases[i].status);
		buf_release(&err);
	}
}

static void
test_bad_replies(void **state)
{
	static const char *const bodies[] = { "", "[]", "{\"choices\":[]}", "{\"choices\":[{\"message\":7}]}",
		"{\"choices\":[{\"message\":{\"tool_calls\":[{}]}}]}", "{\"a\":1,\"a\":2}", "{\"choices\":[{\"message\":{}}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct llm_reply reply;
		struct buf err = BUF_INIT;

		assert_int_equal(llm_parse_reply(bodies[i], strlen(bodies[i]), 1, &reply, &err), -1);
		assert_true(err.len > 0);
		assert_null(reply.message);
		buf_release(&err);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ok), cmocka_unit_test(test_tool_calls), cmocka_unit_test(test_request_body),
		cmocka_unit_test(test_outcomes), cmocka_unit_test(test_unreachable), cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_ask_again), cmocka_unit_test(test_ask_gives_up), cmocka_unit_test(test_ask_final),
		cmocka_unit_test(test_budget_stops), cmocka_unit_test(test_endpoint_check), cmocka_unit_test(test_bad_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
