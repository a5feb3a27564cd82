/* The tools that a model is given: compile, test, profile, submit. Their answers are plain text for the model
 * and a verdict for us. Same evaluation, same text: no times, no paths, no held-out workloads. */
#ifndef AGENT_TOOLS_H
#define AGENT_TOOLS_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/sections.h"
#include "base/buf.h"
#include "eval/eval.h"

/* Definitions as the chat completions API wants them. Returned owned. */
json_t *tools_definitions(void);
/* ["compile", "test", "profile", "submit"]. Returned owned. */
json_t *tools_names(void);
bool tools_known(const char *name);

struct tool_result {
	struct buf text;	/* the tool message's content */
	json_t *verdict;	/* {"status","workload","check","kind","line"}, those that apply; owned */
	json_t *evaluations;	/* array, or NULL for compile and errors; owned */
	double cost;		/* NAN unless PASSED and profiled */
	bool executed;		/* false: the call itself was wrong, text says how */
	bool submitted;
};
void tool_result_release(struct tool_result *r);
/* Runs one call {"function":{"name","arguments":{"source"}}}. 0, or -1 with a sentence when the failure
 * was ours. */
int tools_execute(struct eval *e, const struct task *t, const json_t *call, struct tool_result *r, struct buf *err);

/* The text of a verdict, from evaluation records. Appends. Records of held-out workloads are skipped. */
void tools_describe(const struct task *t, const json_t *evaluations, struct buf *out);
/* The verdict object that a transcript's "answers" is compared with. Returned owned. */
json_t *tools_verdict(const json_t *decisive, const char *status);
/* Line of the first error in a compiler's log about the solution; 0 if it names none. */
long tools_error_line(const char *log);

#endif
