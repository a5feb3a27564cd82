/* In: outcomes of nodes. Out: which node to grow next. Upper confidence bounds on the rewards,
 * normalised to 0..1 by the least and greatest of the whole tree; a failure counts as 0. A node chosen
 * and not finished counts as a failure (virtual loss), which spreads a round over the tree.
 * UCT: Kocsis and Szepesvari 2006; virtual loss: Chaslot, Winands and van den Herik 2008. */
#include "agent/tree.h"

#include <math.h>

#include "base/die.h"

static int
add_node(struct tree *t, struct tree_node node)
{
	if (t->count == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 16;
		t->nodes = xrealloc(t->nodes, t->capacity * sizeof *t->nodes);
	}
	t->nodes[t->count] = node;
	return (int)t->count++;
}

void
tree_init(struct tree *t, double root_reward, double exploration, int max_children)
{
	*t = (struct tree){ .exploration = exploration, .max_children = max_children };
	add_node(t, (struct tree_node){ .parent = -1, .state = TREE_CORRECT, .reward = root_reward, .visits = 1,
		.reward_sum = root_reward, .best = root_reward });
}

void
tree_release(struct tree *t)
{
	free(t->nodes);
	*t = (struct tree){ 0 };
}

static void
reward_range(const struct tree *t, double *least, double *greatest)
{
	*least = INFINITY;
	*greatest = -INFINITY;
	for (size_t i = 0; i < t->count; i++) {
		if (t->nodes[i].state != TREE_CORRECT)
			continue;
		*least = fmin(*least, t->nodes[i].reward);
		*greatest = fmax(*greatest, t->nodes[i].reward);
	}
}

/* Mean over the subtree of rewards scaled to 0..1; failures and virtual losses add 0. */
static double
normalised_mean(const struct tree *t, const struct tree_node *n)
{
	int correct = n->visits - n->failures;
	double least, greatest, sum;

	reward_range(t, &least, &greatest);
	if (greatest > least)
		sum = (n->reward_sum - correct * least) / (greatest - least);
	else
		sum = 0.5 * correct;
	return n->visits ? sum / n->visits : 0;
}

double
tree_score(const struct tree *t, int node)
{
	const struct tree_node *n = &t->nodes[node];
	double parent_visits = n->parent < 0 ? n->visits : t->nodes[n->parent].visits;

	return normalised_mean(t, n) + t->exploration * sqrt(log(parent_visits) / n->visits);
}

double
tree_value(const struct tree *t, int node)
{
	const struct tree_node *n = &t->nodes[node];
	int correct = n->visits - n->failures;

	return correct ? n->reward_sum / correct : 0;
}

/* Children that a node may have by now: one for a new node, more as its subtree is visited. */
static bool
has_room(const struct tree *t, const struct tree_node *n)
{
	if (n->state != TREE_CORRECT || n->closed || (t->max_children && n->children >= t->max_children))
		return false;
	return n->children < (int)ceil(sqrt((double)n->visits));
}

/* Whether anything in the subtree can still take a child, at once or after more visits. */
static bool
can_grow(const struct tree *t, int node)
{
	const struct tree_node *n = &t->nodes[node];

	if (n->state != TREE_CORRECT)
		return false;
	if (!n->closed && !(t->max_children && n->children >= t->max_children))
		return true;
	for (size_t i = (size_t)node + 1; i < t->count; i++)
		if (t->nodes[i].parent == node && can_grow(t, (int)i))
			return true;
	return false;
}

/* The child with the highest score that can grow; of equal ones the earliest. */
static int
best_child(const struct tree *t, int node)
{
	int best = -1;
	double best_score = -INFINITY;

	for (size_t i = (size_t)node + 1; i < t->count; i++) {
		double score;

		if (t->nodes[i].parent != node || !can_grow(t, (int)i))
			continue;
		score = tree_score(t, (int)i);
		if (score > best_score) {
			best_score = score;
			best = (int)i;
		}
	}
	return best;
}

/* `sign` 1 books a virtual loss on the path, -1 takes it back. */
static void
virtual_loss(struct tree *t, int node, int sign)
{
	for (int n = node; n >= 0; n = t->nodes[n].parent) {
		t->nodes[n].visits += sign;
		t->nodes[n].failures += sign;
	}
}

int
tree_choose(struct tree *t)
{
	int node = 0, child;

	if (!can_grow(t, 0))
		return -1;
	while (!has_room(t, &t->nodes[node])) {
		int next = best_child(t, node);

		/* Nothing below can grow: this node takes a child early. */
		if (next < 0)
			break;
		node = next;
	}
	child = add_node(t, (struct tree_node){ .parent = node, .number = t->nodes[node].children,
		.state = TREE_PENDING, .best = -INFINITY });
	t->nodes[node].children++;
	t->pending++;
	virtual_loss(t, child, 1);
	return child;
}

void
tree_finish(struct tree *t, int node, enum tree_state state, double reward)
{
	struct tree_node *n = &t->nodes[node];

	virtual_loss(t, node, -1);
	t->pending--;
	n->state = state;
	if (state == TREE_WITHDRAWN) {
		/* The policy has nothing more to say here. */
		t->nodes[n->parent].closed = true;
		t->nodes[n->parent].children--;
		return;
	}
	n->reward = state == TREE_CORRECT ? reward : 0;
	for (int i = node; i >= 0; i = t->nodes[i].parent) {
		t->nodes[i].visits++;
		if (state == TREE_CORRECT) {
			t->nodes[i].reward_sum += reward;
			t->nodes[i].best = fmax(t->nodes[i].best, reward);
		} else {
			t->nodes[i].failures++;
		}
	}
}
