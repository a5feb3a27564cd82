/* In: a policy file. Out: an endpoint, prices and limits. What decides an answer (model, sampling) is
 * hashed apart from what does not (limits, prices), so that raising a limit pays no answer twice. */
#include "agent/policy_file.h"

#include "rec/json.h"

enum { MAX_BYTES = 64 << 10 };

enum type { TEXT, OBJECT, COUNT, MONEY };
static const struct key {
	const char *name;
	enum type type;
	bool required;
} keys[] = {
	{ "kind", TEXT, true }, { "base_url", TEXT, true }, { "model", TEXT, true }, { "sampling", OBJECT, false },
	{ "prices", OBJECT, false }, { "key_env", TEXT, false }, { "terms", TEXT, true },
	{ "max_requests", COUNT, false }, { "max_cost_usd", MONEY, false }, { "max_concurrent", COUNT, false },
	{ "timeout_seconds", COUNT, false }, { "connect_timeout_seconds", COUNT, false },
	{ "max_attempts", COUNT, false }, { "retry_first_ms", COUNT, false }, { "ca_file", TEXT, false },
	{ NULL, TEXT, false },
};
static const char *const price_keys[] = { "input_per_million", "cached_input_per_million", "output_per_million", NULL };
/* Ours to set, or not understood by the parser of replies. */
static const char *const not_sampling[] = { "model", "messages", "tools", "stream", "n", NULL };

static bool
has_type(const json_t *value, enum type type)
{
	switch (type) {
	case TEXT: return json_is_string(value) && json_string_length(value) > 0;
	case OBJECT: return json_is_object(value);
	case COUNT: return json_is_integer(value) && json_integer_value(value) > 0
		&& json_integer_value(value) <= 1000000000;
	case MONEY: return json_is_number(value) && json_number_value(value) >= 0;
	}
	return false;
}

static int
check_keys(const json_t *root, struct buf *err)
{
	static const char *const types[] = { "a text", "an object", "a count above 0", "an amount" };
	const struct key *k;
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)root, name, value) {
		for (k = keys; k->name && strcmp(k->name, name) != 0; k++)
			;
		if (!k->name)
			return buf_err(err, "unknown key \"%s\"", name);
		if (!has_type(value, k->type))
			return buf_err(err, "\"%s\" must be %s", name, types[k->type]);
	}
	for (k = keys; k->name; k++)
		if (k->required && !json_object_get(root, k->name))
			return buf_err(err, "\"%s\" is missing", k->name);
	return 0;
}

static int
check_prices(const json_t *prices, struct buf *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)prices, name, value) {
		int i = 0;

		while (price_keys[i] && strcmp(price_keys[i], name) != 0)
			i++;
		if (!price_keys[i] || !has_type(value, MONEY))
			return buf_err(err, "prices.%s: unknown, or not an amount", name);
	}
	if (prices && !(json_object_get(prices, "input_per_million") && json_object_get(prices, "output_per_million")))
		return buf_err(err, "prices needs input_per_million and output_per_million");
	return 0;
}

static int
check_sampling(const json_t *sampling, struct buf *err)
{
	for (int i = 0; not_sampling[i]; i++)
		if (json_object_get(sampling, not_sampling[i]))
			return buf_err(err, "sampling must not set \"%s\"", not_sampling[i]);
	return 0;
}

/* max_completion_tokens is what newer servers call it. */
static uint64_t
token_limit(const json_t *sampling)
{
	json_int_t n = rec_json_integer(sampling, "max_tokens", 0);

	if (n <= 0)
		n = rec_json_integer(sampling, "max_completion_tokens", 0);
	return n > 0 ? (uint64_t)n : 0;
}

static int
check(struct policy_file *f, struct buf *err)
{
	const json_t *prices = json_object_get(f->root, "prices");

	if (!json_is_object(f->root))
		return buf_err(err, "must be an object");
	if (check_keys(f->root, err) < 0 || check_prices(prices, err) < 0
			|| check_sampling(json_object_get(f->root, "sampling"), err) < 0)
		return -1;
	if (strcmp(rec_json_string(f->root, "kind", ""), "openai") != 0)
		return buf_err(err, "kind \"%s\" is not known; this version has \"openai\"",
			rec_json_string(f->root, "kind", ""));
	if (json_object_get(f->root, "max_cost_usd") && !(prices && token_limit(json_object_get(f->root, "sampling"))))
		return buf_err(err, "max_cost_usd can be kept only with prices and sampling.max_tokens");
	return 0;
}

static void
take_values(struct policy_file *f)
{
	const json_t *root = f->root, *prices = json_object_get(root, "prices");

	f->model = rec_json_string(root, "model", NULL);
	f->sampling = json_object_get(root, "sampling");
	f->max_tokens = token_limit(f->sampling);
	f->max_requests = (uint64_t)rec_json_integer(root, "max_requests", 0);
	f->max_concurrent = (uint64_t)rec_json_integer(root, "max_concurrent", 0);
	f->max_cost_usd = rec_json_number(root, "max_cost_usd", 0);
	f->prices.input_per_million = rec_json_number(prices, "input_per_million", 0);
	f->prices.cached_input_per_million = rec_json_number(prices, "cached_input_per_million",
		f->prices.input_per_million);
	f->prices.output_per_million = rec_json_number(prices, "output_per_million", 0);
	f->endpoint.base_url = rec_json_string(root, "base_url", NULL);
	f->endpoint.ca_file = rec_json_string(root, "ca_file", NULL);
	f->endpoint.timeout_ms = 1000 * (uint64_t)rec_json_integer(root, "timeout_seconds", 0);
	f->endpoint.connect_timeout_ms = 1000 * (uint64_t)rec_json_integer(root, "connect_timeout_seconds", 0);
	f->endpoint.retry.attempts = (unsigned)rec_json_integer(root, "max_attempts", 0);
	f->endpoint.retry.first_ms = (uint64_t)rec_json_integer(root, "retry_first_ms", 0);
}

static int
take_key(struct policy_file *f, struct buf *err)
{
	const char *variable = rec_json_string(f->root, "key_env", NULL);

	if (!variable)
		return 0;
	f->endpoint.api_key = getenv(variable);
	if (!f->endpoint.api_key || !*f->endpoint.api_key)
		return buf_err(err, "the environment variable %s, which key_env names, is not set", variable);
	return 0;
}

static void
hash_identity(struct policy_file *f)
{
	static const char *const deciding[] = { "kind", "base_url", "model", "sampling", NULL };
	json_t *identity = json_object();
	struct buf text = BUF_INIT;

	for (int i = 0; deciding[i]; i++)
		if (json_object_get(f->root, deciding[i]))
			json_object_set(identity, deciding[i], json_object_get(f->root, deciding[i]));
	rec_json_canonical(identity, &text);
	sha256_hex(buf_str(&text), text.len, f->identity_sha256);
	buf_release(&text);
	json_decref(identity);
}

int
policy_file_parse(struct policy_file *f, const char *name, const char *bytes, size_t count, bool with_key,
	struct buf *err)
{
	struct buf why = BUF_INIT;
	int status = 0;

	*f = (struct policy_file){ 0 };
	f->root = rec_json_parse(bytes, count, &why);
	if (!f->root || check(f, &why) < 0) {
		status = -1;
	} else {
		take_values(f);
		hash_identity(f);
		sha256_hex(bytes, count, f->file_sha256);
		if ((with_key && take_key(f, &why) < 0) || llm_endpoint_check(&f->endpoint, &why) < 0)
			status = -1;
	}
	if (status < 0) {
		buf_err(err, "%s: %s", name, buf_str(&why));
		policy_file_release(f);
	}
	buf_release(&why);
	return status;
}

int
policy_file_load(struct policy_file *f, const char *path, bool with_key, struct buf *err)
{
	struct buf text = BUF_INIT;
	int status = buf_read_file(&text, path, MAX_BYTES, err);

	*f = (struct policy_file){ 0 };
	if (status == 0)
		status = policy_file_parse(f, path, buf_str(&text), text.len, with_key, err);
	buf_release(&text);
	return status;
}

void
policy_file_release(struct policy_file *f)
{
	json_decref(f->root);
	*f = (struct policy_file){ 0 };
}

double
policy_file_most_usd(const struct policy_file *f, size_t body_bytes)
{
	double dearest = f->prices.input_per_million > f->prices.cached_input_per_million
		? f->prices.input_per_million : f->prices.cached_input_per_million;

	return ((double)body_bytes * dearest + (double)f->max_tokens * f->prices.output_per_million) / 1e6;
}
