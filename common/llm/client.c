/* In: an endpoint and a request body. Out: the assistant's message in our form, and what it used.
 * The server is not trusted: its body is bounded, parsed strictly and normalised (call ids numbered,
 * arguments as objects), and what it says in errors is cut, and cleared of the key, before it is shown. */
#include "llm/client.h"

#include <curl/curl.h>
#include <pthread.h>

#include "base/die.h"
#include "rec/json.h"

enum { MAX_BODY_BYTES = 8 << 20, MAX_TOOL_CALLS = 64, SHOWN_BYTES = 300, MAX_TOKENS_REPORTED = 1 << 30 };

void
llm_reply_release(struct llm_reply *reply)
{
	json_decref(reply->message);
	*reply = (struct llm_reply){ 0 };
}

/* ---- the request */

static json_t *
api_call(const json_t *call)
{
	const json_t *function = json_object_get(call, "function");
	struct buf text = BUF_INIT;
	json_t *out;

	rec_json_dump(json_object_get(function, "arguments"), &text);
	out = json_pack("{s:O,s:s,s:{s:O,s:s}}", "id", json_object_get(call, "id"), "type", "function",
		"function", "name", json_object_get(function, "name"), "arguments", buf_str(&text));
	buf_release(&text);
	return out;
}

/* Only what every server knows: reasoning that a server added is refused by some when it comes back. */
static json_t *
api_message(const json_t *message)
{
	static const char *const plain[] = { "role", "content", "tool_call_id", NULL };
	json_t *out = json_object(), *calls = json_object_get(message, "tool_calls");
	json_t *call;
	size_t i;

	for (int k = 0; plain[k]; k++)
		if (json_object_get(message, plain[k]))
			json_object_set(out, plain[k], json_object_get(message, plain[k]));
	if (json_array_size(calls)) {
		json_t *list = json_array();

		json_array_foreach(calls, i, call)
			json_array_append_new(list, api_call(call));
		json_object_set_new(out, "tool_calls", list);
	}
	return out;
}

void
llm_request_body(const char *model, const json_t *sampling, uint64_t sample, const json_t *messages,
	const json_t *tools, struct buf *body)
{
	json_t *request = json_object(), *list = json_array(), *seed;
	const json_t *message;
	size_t i;

	json_object_set_new(request, "model", json_string(model));
	json_array_foreach(messages, i, message)
		json_array_append_new(list, api_message(message));
	json_object_set_new(request, "messages", list);
	if (json_array_size(tools))
		json_object_set(request, "tools", (json_t *)tools);
	if (sampling)
		json_object_update(request, (json_t *)sampling);
	seed = json_object_get(request, "seed");
	if (json_is_integer(seed))
		json_object_set_new(request, "seed", json_integer(json_integer_value(seed) + (json_int_t)sample));
	rec_json_dump(request, body);
	json_decref(request);
}

/* ---- the reply */

/* Some servers give content as a list of parts; their texts are joined. */
static json_t *
content_text(const json_t *content)
{
	struct buf text = BUF_INIT;
	const json_t *part;
	json_t *out;
	size_t i;

	if (json_is_string(content))
		return json_deep_copy(content);
	json_array_foreach(content, i, part)
		buf_adds(&text, rec_json_string(part, "text", ""));
	out = json_string(buf_str(&text));
	buf_release(&text);
	return out;
}

static json_t *
our_call(const json_t *call, unsigned number)
{
	const json_t *function = json_object_get(call, "function");
	const json_t *given = json_object_get(function, "arguments");
	const char *name = rec_json_string(function, "name", NULL);
	json_t *arguments = NULL, *out;
	char id[32];

	if (!name)
		return NULL;
	if (json_is_object(given))
		arguments = json_deep_copy(given);
	else if (json_is_string(given))
		arguments = rec_json_parse(json_string_value(given), json_string_length(given), NULL);
	snprintf(id, sizeof id, "call_%u", number);
	out = json_pack("{s:s,s:s,s:{s:s}}", "id", id, "type", "function", "function", "name", name);
	if (json_is_object(arguments)) {
		json_object_set_new(json_object_get(out, "function"), "arguments", arguments);
		return out;
	}
	json_decref(arguments);
	json_object_set_new(json_object_get(out, "function"), "arguments", json_object());
	json_object_set_new(json_object_get(out, "function"), "invalid_arguments",
		json_is_string(given) ? json_deep_copy(given) : json_string(""));
	return out;
}

static int
parse_calls(const json_t *calls, unsigned first_call, json_t *message, struct buf *err)
{
	json_t *list;
	const json_t *call;
	size_t i;

	if (!json_array_size(calls))
		return 0;
	if (json_array_size(calls) > MAX_TOOL_CALLS)
		return buf_err(err, "The reply has %zu tool calls, more than %d.", json_array_size(calls), MAX_TOOL_CALLS);
	list = json_array();
	json_object_set_new(message, "tool_calls", list);
	json_array_foreach(calls, i, call)
		if (json_array_append_new(list, our_call(call, first_call + (unsigned)i)) < 0)
			return buf_err(err, "Tool call %zu of the reply names no function.", i + 1);
	return 0;
}

static int64_t
tokens(const json_t *usage, const char *key)
{
	json_int_t n = rec_json_integer(usage, key, 0);

	return n < 0 ? 0 : n > MAX_TOKENS_REPORTED ? MAX_TOKENS_REPORTED : n;
}

static void
parse_usage(const json_t *usage, struct llm_reply *reply)
{
	reply->has_usage = json_is_integer(json_object_get(usage, "prompt_tokens"))
		&& json_is_integer(json_object_get(usage, "completion_tokens"));
	if (!reply->has_usage)
		return;
	reply->prompt_tokens = tokens(usage, "prompt_tokens");
	reply->completion_tokens = tokens(usage, "completion_tokens");
	reply->cached_tokens = tokens(json_object_get(usage, "prompt_tokens_details"), "cached_tokens");
}

static int
parse_choice(const json_t *root, unsigned first_call, struct llm_reply *reply, struct buf *err)
{
	const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
	const json_t *message = json_object_get(choice, "message");
	const char *reasoning = rec_json_string(message, "reasoning_content", NULL);

	if (!json_is_object(message))
		return buf_err(err, "The reply has no choices[0].message.");
	reply->message = json_pack("{s:s,s:o}", "role", "assistant", "content",
		content_text(json_object_get(message, "content")));
	if (reasoning && *reasoning)
		json_object_set_new(reply->message, "reasoning_content", json_string(reasoning));
	if (parse_calls(json_object_get(message, "tool_calls"), first_call, reply->message, err) < 0)
		return -1;
	snprintf(reply->finish_reason, sizeof reply->finish_reason, "%s",
		rec_json_string(choice, "finish_reason", ""));
	snprintf(reply->model, sizeof reply->model, "%s", rec_json_string(root, "model", ""));
	parse_usage(json_object_get(root, "usage"), reply);
	return 0;
}

int
llm_parse_reply(const char *body, size_t length, unsigned first_call, struct llm_reply *reply, struct buf *err)
{
	struct buf why = BUF_INIT;
	json_t *root = rec_json_parse(body, length, &why);
	int status;

	*reply = (struct llm_reply){ 0 };
	if (!root) {
		buf_err(err, "The reply is not JSON: %s", buf_str(&why));
		buf_release(&why);
		return -1;
	}
	status = parse_choice(root, first_call, reply, err);
	json_decref(root);
	if (status < 0)
		llm_reply_release(reply);
	return status;
}

/* ---- the transfer */

static bool
is_local(const char *host)
{
	static const char *const local[] = { "localhost", "127.0.0.1", "[::1]", NULL };

	for (int i = 0; local[i]; i++) {
		size_t n = strlen(local[i]);

		if (strncmp(host, local[i], n) == 0 && (host[n] == ':' || host[n] == '/' || !host[n]))
			return true;
	}
	return false;
}

int
llm_endpoint_check(const struct llm_endpoint *endpoint, struct buf *err)
{
	const char *url = endpoint->base_url;

	if (endpoint->api_key && strpbrk(endpoint->api_key, "\r\n"))
		return buf_err(err, "The key contains a line break.");
	if (strchr(url, '@'))
		return buf_err(err, "base_url must not hold a user name or password; name the key by key_env.");
	if (strncmp(url, "https://", 8) == 0 && url[8])
		return 0;
	if (strncmp(url, "http://", 7) != 0 || !url[7])
		return buf_err(err, "base_url \"%s\" is neither http:// nor https://.", url);
	if (endpoint->api_key && !is_local(url + 7))
		return buf_err(err, "base_url \"%s\" would send the key unencrypted; use https://.", url);
	return 0;
}

struct sink {
	struct buf body;
	size_t max_bytes;
	bool over;
};

static size_t
receive(char *bytes, size_t size, size_t count, void *context)
{
	struct sink *sink = context;

	if (size * count > sink->max_bytes - sink->body.len) {
		sink->over = true;
		return 0;
	}
	buf_add(&sink->body, bytes, size * count);
	return size * count;
}

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void
start_curl(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		die(EX_UNAVAILABLE, "libcurl does not start");
}

static struct curl_slist *
request_headers(const struct llm_endpoint *endpoint)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");

	if (endpoint->api_key) {
		struct buf line = BUF_INIT;

		buf_addf(&line, "Authorization: Bearer %s", endpoint->api_key);
		headers = curl_slist_append(headers, line.data);
		buf_release(&line);
	}
	/* No 100-continue round trip: some servers never answer it. */
	return curl_slist_append(headers, "Expect:");
}

static void
set_options(CURL *curl, const struct llm_endpoint *e, const char *url, struct curl_slist *headers,
	const char *body, struct sink *sink)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
	if (e->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, e->ca_file);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)(e->connect_timeout_ms ? e->connect_timeout_ms : 10000));
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(e->timeout_ms ? e->timeout_ms : 600000));
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
}

static enum llm_outcome
transfer_outcome(CURL *curl, CURLcode code, const struct llm_endpoint *e, const struct sink *sink, struct buf *err)
{
	curl_off_t sent_at = 0;

	curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &sent_at);
	if (sink->over) {
		buf_err(err, "%s: the reply is larger than %zu bytes.", e->base_url, sink->max_bytes);
		return LLM_UNUSABLE;
	}
	buf_err(err, "%s: %s.", e->base_url, curl_easy_strerror(code));
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return LLM_DENIED;
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return LLM_REFUSED;
	return sent_at > 0 ? LLM_LOST : LLM_UNREACHABLE;
}

/* What the server says about an error: a little of it, on one line, without the key. */
static void
show_error(const struct llm_endpoint *e, long status, const struct buf *body, struct buf *err)
{
	json_t *root = rec_json_parse(buf_str(body), body->len, NULL);
	const json_t *error = json_object_get(root, "error");
	const char *said = json_is_string(error) ? json_string_value(error) : rec_json_string(error, "message", "");
	struct buf text = BUF_INIT;

	for (; *said && text.len < SHOWN_BYTES; said++) {
		if (e->api_key && *e->api_key && strncmp(said, e->api_key, strlen(e->api_key)) == 0) {
			buf_adds(&text, "[key]");
			said += strlen(e->api_key) - 1;
		} else {
			buf_addc(&text, (unsigned char)*said < ' ' ? ' ' : *said);
		}
	}
	buf_err(err, "%s: status %ld%s%s.", e->base_url, status, text.len ? ": " : "", buf_str(&text));
	buf_release(&text);
	json_decref(root);
}

static enum llm_outcome
status_outcome(long status)
{
	if (status == 408 || status == 409 || status == 425 || status == 429 || status >= 500)
		return LLM_BUSY;
	return status == 401 || status == 403 ? LLM_DENIED : LLM_REFUSED;
}

static enum llm_outcome
response_outcome(CURL *curl, const struct llm_endpoint *e, const struct sink *sink, unsigned first_call,
	struct llm_reply *reply, uint64_t *retry_after_ms, struct buf *err)
{
	curl_off_t seconds = 0;
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200) {
		curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &seconds);
		*retry_after_ms = seconds > 0 ? (uint64_t)seconds * 1000 : 0;
		show_error(e, status, &sink->body, err);
		return status_outcome(status);
	}
	return llm_parse_reply(buf_str(&sink->body), sink->body.len, first_call, reply, err) < 0 ? LLM_LOST : LLM_OK;
}

enum llm_outcome
llm_send(const struct llm_endpoint *e, const char *body, unsigned first_call, struct llm_reply *reply,
	uint64_t *retry_after_ms, struct buf *err)
{
	struct sink sink = { BUF_INIT, e->max_body_bytes ? e->max_body_bytes : MAX_BODY_BYTES, false };
	struct buf url = BUF_INIT;
	struct curl_slist *headers;
	enum llm_outcome outcome;
	CURLcode code;
	CURL *curl;

	*retry_after_ms = 0;
	*reply = (struct llm_reply){ 0 };
	pthread_once(&curl_once, start_curl);
	curl = curl_easy_init();
	if (!curl)
		die(EX_TEMPFAIL, "out of memory");
	buf_adds(&url, e->base_url);
	while (url.len && url.data[url.len - 1] == '/')
		url.data[--url.len] = '\0';
	buf_adds(&url, "/chat/completions");
	headers = request_headers(e);
	set_options(curl, e, url.data, headers, body, &sink);
	code = curl_easy_perform(curl);
	outcome = code == CURLE_OK ? response_outcome(curl, e, &sink, first_call, reply, retry_after_ms, err)
		: transfer_outcome(curl, code, e, &sink, err);
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	buf_release(&sink.body);
	buf_release(&url);
	return outcome;
}
