/* What a model is told: from the forms that the task shows, never from those it hides. */
#ifndef AGENT_PROMPT_H
#define AGENT_PROMPT_H

#include <jansson.h>

#include "agent/policy.h"
#include "agent/sections.h"
#include "base/buf.h"
#include "eval/task.h"

struct guidance;
/* Loads DIR/NAME.md: "---", "op_types: a b" (or "any"), "phases: solve optimize", "---", text.
 * NULL with a sentence. directory "" or NULL: none. Returned owned. */
struct guidance *guidance_load(const char *directory, struct buf *err);
void guidance_free(struct guidance *g);
/* Appends the texts that fit, in order of name; used gets [{"name","sha256"}] (a new array, owned). */
void guidance_choose(const struct guidance *g, const char *op_type, enum agent_phase phase, struct buf *text,
	json_t **used);

/* [system, user] for a first implementation. *used as above. Returned owned. */
json_t *prompt_solve(const struct task *t, const struct guidance *g, json_t **used);
/* The user message that opens a repair: the verdict, and the source lines it names. Returned owned. */
json_t *prompt_repair(const struct task *t, const struct guidance *g, const struct sections *s,
	const char *solution_id, json_t **used);
/* The user message that opens an optimization branch. Returned owned. */
json_t *prompt_optimize(const struct task *t, const struct guidance *g, const struct sections *s,
	const char *solution_id, json_t **used);
/* What is said to a model that called no tool. Returned owned. */
json_t *prompt_nudge(void);

#endif
