/* One conversation: the policy speaks, tools run, both are recorded as a trajectory. */
#ifndef AGENT_CONVERSATION_H
#define AGENT_CONVERSATION_H

#include <jansson.h>
#include <stdint.h>

#include "agent/policy.h"
#include "agent/prompt.h"
#include "agent/sections.h"
#include "agent/tools.h"
#include "hash/sha256.h"

struct conversation_counts {
	uint64_t turns, tool_calls, submits, stale, no_answer;
};

struct conversation {
	struct eval *eval;
	const struct task *task;
	struct policy_session *session;
	struct sections *sections;	/* solutions and evaluations are added as they come */
	enum agent_phase phase;
	const char *branch;		/* "" outside optimize */
	uint64_t sample, max_turns;
	const json_t *context;		/* messages of the trajectories it continues; NULL: none */
	json_t *opening;		/* messages that open it (an array); taken */
	json_t *guidance;		/* [{"name","sha256"}]; taken */
	const char *parent_trajectory;	/* id, or NULL */
	const char *parent_solution;	/* id, or NULL */
	json_t *verdict;		/* what the policy has just read, or NULL; taken */
	double baseline_cost;		/* for rewards in optimize; NAN elsewhere */
	double parent_cost;
};

enum conversation_end {
	CONVERSATION_DONE,	/* *trajectory is a new record, returned owned */
	CONVERSATION_FAILED,	/* ours: try again later */
};
/* Runs until a submit, the turn limit, or no answer. */
enum conversation_end conversation_run(struct conversation *c, json_t **trajectory,
	struct conversation_counts *counts, struct buf *err);

/* SHA-256 of what a conversation opens with: policy, opening messages and tools. --redo changed compares it. */
void conversation_prompt_sha256(const struct policy_session *session, const json_t *opening, char out[SHA256_HEX]);
/* All messages from the first ancestor's to this trajectory's own. NULL if a parent is missing.
 * Returned owned. */
json_t *conversation_messages(const struct sections *s, const json_t *trajectory);

#endif
