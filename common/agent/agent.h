/* What km-solve, km-repair and km-optimize share: options, opening, counting, what to do again. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/conversation.h"
#include "agent/policy.h"
#include "agent/prompt.h"
#include "agent/sections.h"
#include "base/opt.h"
#include "eval/eval.h"
#include "rec/filter.h"

/* Values of the shared options; filled by opt_parse from agent_options. */
struct agent_args {
	const char *policy, *transcripts, *guidance;
	uint64_t max_turns;
	const char *redo;	/* NULL, "changed", "failed" or "all" */
	bool dry_run, frozen;
};
extern struct agent_args agent_args;
extern const struct opt agent_options[];

struct agent {
	struct eval *eval;
	struct policy *policy;
	struct guidance *guidance;
};
/* From agent_args and eval_args. Dies with a message and the right status: for programs only. */
void agent_open(struct agent *a);
void agent_close(struct agent *a);

/* One case as the three phases see it. */
struct agent_case {
	struct agent *agent;
	struct task *task;
	struct sections sections;
	struct policy_session *session;
};
typedef int agent_phase_function(struct agent_case *c, struct buf *err);	/* 0, or -1: ours, try again */

/* The whole transform: review gate, loading, the phase, splicing. To be called by the filter's transform. */
enum filter_verdict agent_transform(struct agent *a, agent_phase_function *phase, const struct rec_case *in,
	struct buf *out, struct filter_reason *reason);

/* Whether a finished trajectory has to be run again under --redo. prompt_sha256: of what it would open with now. */
bool agent_redo(const struct agent_case *c, const json_t *trajectory, const char *prompt_sha256);

/* filter_run with the shared counters and the stage's own (may be NULL, at most 32); reports a dry run.
 * The transform's context is the agent. */
int agent_filter(struct agent *a, const char *stage, filter_transform *transform,
	const struct filter_counter *own, int argc, char **argv);
/* Adds to the counters under a lock; agent_tally to one of the stage's own. */
void agent_count(const struct conversation_counts *more);
void agent_tally(uint64_t *counter, uint64_t more);

#endif
