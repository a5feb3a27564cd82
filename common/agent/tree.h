/* Monte Carlo tree search over correct kernels: which nodes to grow next, and what was learnt.
 * The tree is a function of the outcomes and of the width; who ran them, and when, does not matter. */
#ifndef AGENT_TREE_H
#define AGENT_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum tree_state {
	TREE_PENDING,	/* chosen in this round, no outcome yet */
	TREE_CORRECT,	/* has a reward, may have children */
	TREE_FAILED,	/* stays as it is */
	TREE_WITHDRAWN,	/* the policy had no answer: as if never chosen */
};

struct tree_node {
	int parent;		/* -1: the root */
	int number;		/* among the children of its parent, from 0 */
	enum tree_state state;
	double reward;		/* log(baseline cost / cost), when correct */
	bool closed;		/* takes no more children */
	int children;		/* pending and finished */
	/* over the subtree, itself included */
	int visits, failures;
	double reward_sum, best;	/* of the correct ones */
};

struct tree {
	struct tree_node *nodes;
	size_t count, capacity;
	double exploration;	/* UCB constant */
	int max_children;	/* 0: no limit */
	int pending;
};

/* The root is correct and has reward root_reward. */
void tree_init(struct tree *t, double root_reward, double exploration, int max_children);
void tree_release(struct tree *t);
/* Chooses a node to grow, adds a pending child and counts it as a virtual loss on the path to the root.
 * The child's index, or -1 when nothing can grow. */
int tree_choose(struct tree *t);
/* Replaces the virtual loss by the outcome. Call in the order in which tree_choose gave the nodes. */
void tree_finish(struct tree *t, int node, enum tree_state state, double reward);
/* UCB of a child as its parent sees it: mean of the normalised rewards plus the exploration term. */
double tree_score(const struct tree *t, int node);
/* Mean reward of the correct nodes below and including this one; 0 when there are none. */
double tree_value(const struct tree *t, int node);

#endif
