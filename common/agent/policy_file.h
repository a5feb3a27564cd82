/* A policy file: which model, how it is sampled, what it costs, under which terms, and where to stop. */
#ifndef AGENT_POLICY_FILE_H
#define AGENT_POLICY_FILE_H

#include <jansson.h>

#include "base/buf.h"
#include "hash/sha256.h"
#include "llm/budget.h"
#include "llm/client.h"

struct policy_file {
	json_t *root;
	char file_sha256[SHA256_HEX];		/* provenance: of the file's bytes */
	char identity_sha256[SHA256_HEX];	/* of kind, base_url, model and sampling: what an answer depends on */
	struct llm_endpoint endpoint;		/* strings borrowed from root and the environment */
	struct llm_prices prices;
	const char *model;
	const json_t *sampling;			/* may be NULL */
	uint64_t max_tokens;			/* of one answer; 0: not limited */
	uint64_t max_requests, max_concurrent;
	double max_cost_usd;
};

/* Reads and checks. 0, or -1 with a sentence. The key is looked up only when with_key is set. */
int policy_file_load(struct policy_file *f, const char *path, bool with_key, struct buf *err);
/* The same from bytes; name is for messages. */
int policy_file_parse(struct policy_file *f, const char *name, const char *bytes, size_t count, bool with_key,
	struct buf *err);
void policy_file_release(struct policy_file *f);
/* The most that one attempt with this request body can cost: a token has at least one byte. */
double policy_file_most_usd(const struct policy_file *f, size_t body_bytes);

#endif
