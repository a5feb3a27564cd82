/* The subcommands of km-review. Each returns an exit status, or dies. */
#ifndef REVIEW_COMMANDS_H
#define REVIEW_COMMANDS_H

#include <stdbool.h>

/* Values of the options; NULL or false when not given. */
struct review_args {
	const char *queue;		/* --queue FILE */
	const char *decisions;		/* --decisions FILE */
	const char *otherwise;		/* --default hold|unreviewed */
	const char *task;		/* --task NAME */
	const char *reason, *actor, *actor_kind, *mode;
	bool all, accept, reject, skip, undo, replace, log;
};
extern struct review_args review_args;

int review_filter(int argc, char **argv);	/* cases and a decisions file in, reviewed cases out */
int review_import(int argc, char **argv);	/* cases, and decisions about them, into the queue */
int review_tui(int argc, char **argv);		/* the queue on the terminal */
int review_decide(int argc, char **argv);	/* one decision, or one about all that is undecided */
int review_export(int argc, char **argv);	/* decisions out of the queue */

/* Who decides: --actor, or the user's name; --actor-kind, or "person". Borrowed. */
const char *review_actor(void);
const char *review_actor_kind(void);

#endif
