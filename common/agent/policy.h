/* A policy maps a conversation to the next assistant message: recorded transcripts, or a model behind
 * an OpenAI-compatible endpoint whose answers are kept in the store, so that none is paid twice. */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "eval/task.h"
#include "hash/id.h"
#include "hash/sha256.h"
#include "llm/budget.h"
#include "store/store.h"

enum agent_phase { PHASE_SOLVE, PHASE_REPAIR, PHASE_OPTIMIZE };
const char *agent_phase_name(enum agent_phase phase);

enum { POLICY_BRANCH_MAX = 64, POLICY_MAX_SOURCE_BYTES = 256 << 10 };

struct policy;
struct policy_options {
	const char *policy;		/* "transcript", or a policy file's path */
	const char *transcripts;	/* folder with TASKNAME/transcript.json */
	const char *store_directory;	/* where the journal is; NULL: do not look at it */
	struct store *store;		/* borrowed; answers live here. NULL: none are kept (transcript only) */
	bool frozen;			/* no request is made: an answer that is not stored is no answer */
};
/* NULL with a sentence; *status gets the exit status to die with. Returned owned; safe from threads. */
struct policy *policy_open(const struct policy_options *options, int *status, struct buf *err);
void policy_close(struct policy *p);

/* One task's view of a policy: used by one thread. NULL with a sentence when the task's transcript is
 * there but not well-formed. Returned owned. */
struct policy_session *policy_begin(struct policy *p, const struct task *t, struct buf *err);
void policy_end(struct policy_session *s);
/* {"kind":"authored","author":..,"policy_sha256":..} or {"kind":"sampled","model":..,..}. Borrowed. */
const json_t *policy_origin(const struct policy_session *s);
/* SHA-256 of what the policy's answers depend on: the transcript with its sources, or model and sampling. Borrowed. */
const char *policy_identity(const struct policy_session *s);

struct policy_request {
	enum agent_phase phase;
	const char *branch;		/* "" outside optimize */
	uint64_t turn;			/* assistant messages of this conversation so far, without its context's */
	uint64_t sample;		/* which of several answers to the same messages */
	const json_t *messages;		/* the whole conversation; borrowed */
	const json_t *tools;		/* definitions in the API's form; borrowed */
};
struct policy_answer {
	json_t *message;	/* assistant message, tool call arguments as objects; owned */
	json_t *answers;	/* the verdict that a transcript's turn replies to, or NULL; owned */
	json_t *staged_error;	/* a transcript's string, or NULL; owned */
	json_t *metrics;	/* {prompt_tokens, completion_tokens, cached_tokens, cost_usd}, or NULL; owned */
};
void policy_answer_release(struct policy_answer *answer);

enum policy_result {
	POLICY_ANSWER,		/* filled */
	POLICY_NO_ANSWER,	/* the policy has nothing (more) to say here; err may say why */
	POLICY_FAILED,		/* endpoint or store failed: stop and try again later; err says why */
};
enum policy_result policy_next(struct policy_session *s, const struct policy_request *request,
	struct policy_answer *answer, struct buf *err);

/* Name of child number `child` of branch `parent` ("root" is the top). Transcripts name theirs, in the
 * order of the file: false when there are no more. Models take "n" and the node's number. */
bool policy_branch(const struct policy_session *s, const char *parent, uint64_t child, uint64_t node,
	char name[POLICY_BRANCH_MAX]);

/* What the identity of an answer is: (policy file, messages, tools, sample). The SHA-256 of the same bytes stands
 * beside the answer in the store. */
void policy_answer_id(const char *policy_sha256, const struct policy_request *request, char id[HASH_ID_HEX],
	char request_sha256[SHA256_HEX]);

struct policy_counts {
	uint64_t answers, stored, asked, no_answer, budget_refused, request_refused, possibly_paid;
	struct llm_spent spent;
	/* Requests that --frozen did not make, and the most that they can cost. */
	uint64_t missing;
	double missing_most_usd;
};
struct policy_counts policy_counts(struct policy *p);

#endif
