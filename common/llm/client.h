/* One request to one model: an OpenAI-compatible chat completion over libcurl. */
#ifndef LLM_CLIENT_H
#define LLM_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "llm/retry.h"

/* Where requests go and within which limits. All strings borrowed. */
struct llm_endpoint {
	const char *base_url;		/* "https://host/v1"; "/chat/completions" is appended */
	const char *api_key;		/* the value of the environment variable; NULL: no Authorization header */
	const char *ca_file;		/* NULL: the system's; peer and host are always verified */
	uint64_t connect_timeout_ms;	/* 0: 10,000 */
	uint64_t timeout_ms;		/* whole request; 0: 600,000 */
	size_t max_body_bytes;		/* 0: 8 MiB */
	struct llm_retry retry;
};

/* What one attempt came to. */
enum llm_outcome {
	LLM_OK,
	LLM_BUSY,		/* 408, 409, 429, 5xx: the server says later; nothing was generated */
	LLM_LOST,		/* connection broke, time ran out, body truncated or not JSON: perhaps paid */
	LLM_UNREACHABLE,	/* no connection was made: nothing was sent */
	LLM_DENIED,		/* 401, 403: the key or the account; every further request would fail too */
	LLM_REFUSED,		/* any other status: this request is wrong, others may be fine */
	LLM_UNUSABLE,		/* the answer passes max_body_bytes: paid, and asking again would not help */
	LLM_OVER_BUDGET,	/* llm_ask only: not sent */
};

struct llm_reply {
	json_t *message;		/* {"role":"assistant","content":..,"tool_calls":[..]}; owned by the reply */
	char finish_reason[32];
	char model[128];		/* as the server names it; "" if it does not */
	bool has_usage;
	int64_t prompt_tokens, completion_tokens, cached_tokens;
};
void llm_reply_release(struct llm_reply *reply);

/* Reads a response body. The message is normalised: tool call ids become call_1.. counted from
 * first_call, arguments become an object; arguments that are not a JSON object leave
 * "arguments":{} and "invalid_arguments": the text, for the tools to complain about.
 * 0, or -1 with a sentence. */
int llm_parse_reply(const char *body, size_t length, unsigned first_call, struct llm_reply *reply, struct buf *err);

/* The request body: our messages (tool call arguments are objects) in the API's form (strings), with the
 * model, the tools and the sampling object's members; a "seed" among them is raised by `sample`, so that
 * several samples of one conversation differ. */
void llm_request_body(const char *model, const json_t *sampling, uint64_t sample, const json_t *messages,
	const json_t *tools, struct buf *body);

/* 0, or -1 with a sentence: not http or https, or a key that would travel unencrypted to another host. */
int llm_endpoint_check(const struct llm_endpoint *endpoint, struct buf *err);

/* Sends once, follows no redirect, writes the key nowhere. The reply is filled on LLM_OK only.
 * *retry_after_ms: what the server asked for, or 0. */
enum llm_outcome llm_send(const struct llm_endpoint *endpoint, const char *body, unsigned first_call,
	struct llm_reply *reply, uint64_t *retry_after_ms, struct buf *err);

#endif
