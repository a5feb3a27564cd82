/* A search for cheaper solutions of one case: tree.h chooses, conversations.h finds out. */
#ifndef AGENT_SEARCH_H
#define AGENT_SEARCH_H

#include <stdint.h>

#include "agent/conversation.h"

struct search_options {
	uint64_t width;		/* nodes chosen in one round, before any of their outcomes is known */
	uint64_t iterations;	/* nodes in all */
	uint64_t patience;	/* nodes without a new best before it ends; 0: no limit */
	uint64_t max_children;	/* 0: no limit */
	uint64_t max_turns;
	double exploration;
};

struct search_counts {
	uint64_t nodes, correct, improved;
};

/* Starts from the case's root solution (sections_root); rewards are against its baseline. Adds a
 * trajectory for each node, its figures in "search". 0, also when there is no root; -1: ours. */
int search_run(struct eval *e, const struct task *t, struct policy_session *session, struct sections *s,
	const struct guidance *g, const struct search_options *options, struct search_counts *counts,
	struct conversation_counts *conversations, struct buf *err);

#endif
