/* In: a case with a correct solution. Out: a tree of solutions, each grown from a correct one by a
 * conversation. Rounds: W nodes are chosen, all are carried out, then all outcomes go up in slot order;
 * so neither the number of threads nor the order in which answers come in can change the tree. */
#include "agent/search.h"

#include <math.h>

#include "agent/tree.h"
#include "base/die.h"
#include "rec/json.h"

enum { MAX_WIDTH = 64 };

struct node {
	char branch[POLICY_BRANCH_MAX];
	const json_t *trajectory;	/* borrowed from the sections */
	const char *solution;		/* id, borrowed from the trajectory; NULL: it failed */
	double cost;
};

struct search {
	struct eval *eval;
	const struct task *task;
	struct policy_session *session;
	struct sections *sections;
	const struct guidance *guidance;
	const struct search_options *options;
	struct search_counts *counts;
	struct conversation_counts *conversations;
	struct tree tree;
	struct node *nodes;	/* by the tree's indices */
	size_t capacity;
	double baseline;
};

static struct node *
node_at(struct search *s, int index)
{
	while ((size_t)index >= s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 16;
		s->nodes = xrealloc(s->nodes, s->capacity * sizeof *s->nodes);
	}
	return &s->nodes[index];
}

/* ---- one node */

static void
prepare(struct search *s, int index, struct conversation *c)
{
	const struct tree_node *n = &s->tree.nodes[index];
	const struct node *parent = node_at(s, n->parent);

	*c = (struct conversation){ .eval = s->eval, .task = s->task, .session = s->session, .sections = s->sections,
		.phase = PHASE_OPTIMIZE, .branch = s->nodes[index].branch, .sample = (uint64_t)n->number,
		.max_turns = s->options->max_turns, .parent_trajectory = rec_json_string(parent->trajectory, "id", NULL),
		.parent_solution = parent->solution, .baseline_cost = s->baseline, .parent_cost = parent->cost,
		.verdict = json_pack("{s:s}", "status", "PASSED") };
	c->opening = json_pack("[o]", prompt_optimize(s->task, s->guidance, s->sections, parent->solution, &c->guidance));
}

static void
keep(struct search *s, struct node *node, json_t *trajectory)
{
	const char *solution = rec_json_string(trajectory, "solution_id", NULL);

	sections_put_trajectory(s->sections, NULL, trajectory);
	node->trajectory = trajectory;
	node->cost = solution ? sections_verdict(s->sections, solution).cost : NAN;
	node->solution = node->cost > 0 ? solution : NULL;
}

/* Carries a chosen node out. 0, or -1: ours. A node without a trajectory afterwards was withdrawn. */
static int
carry_out(struct search *s, int index, struct buf *err)
{
	const struct tree_node *n = &s->tree.nodes[index];
	struct node *node = node_at(s, index);
	struct conversation c;
	json_t *context, *trajectory;
	enum conversation_end end;

	*node = (struct node){ .cost = NAN };
	if (!policy_branch(s->session, n->parent ? s->nodes[n->parent].branch : "root", (uint64_t)n->number,
			(uint64_t)index, node->branch))
		return 0;
	context = conversation_messages(s->sections, s->nodes[n->parent].trajectory);
	prepare(s, index, &c);
	c.context = context;
	end = conversation_run(&c, &trajectory, s->conversations, err);
	json_decref(context);
	if (end == CONVERSATION_FAILED)
		return -1;
	if (json_array_size(json_object_get(trajectory, "turns")) == 0)
		json_decref(trajectory);
	else
		keep(s, node, trajectory);
	return 0;
}

/* ---- rounds */

static void
finish(struct search *s, int index)
{
	const struct node *node = &s->nodes[index];
	double before = s->tree.nodes[0].best;

	if (!node->trajectory) {
		tree_finish(&s->tree, index, TREE_WITHDRAWN, 0);
		return;
	}
	s->counts->nodes++;
	if (!node->solution) {
		tree_finish(&s->tree, index, TREE_FAILED, 0);
		return;
	}
	tree_finish(&s->tree, index, TREE_CORRECT, log(s->baseline / node->cost));
	s->counts->correct++;
	s->counts->improved += s->tree.nodes[0].best > before;
}

/* One round of at most `width` nodes; how many were chosen, or -1: ours. */
static int
run_round(struct search *s, uint64_t width, struct buf *err)
{
	int chosen[MAX_WIDTH], count = 0;

	while ((uint64_t)count < width && count < MAX_WIDTH) {
		chosen[count] = tree_choose(&s->tree);
		if (chosen[count] < 0)
			break;
		count++;
	}
	for (int i = 0; i < count; i++)
		if (carry_out(s, chosen[i], err) < 0)
			return -1;
	for (int i = 0; i < count; i++)
		finish(s, chosen[i]);
	return count;
}

static int
run_rounds(struct search *s, struct buf *err)
{
	uint64_t nodes = 0, since_best = 0;
	int count = 1;

	while (count > 0 && nodes < s->options->iterations
			&& (!s->options->patience || since_best < s->options->patience)) {
		uint64_t left = s->options->iterations - nodes, nodes_before = s->counts->nodes;
		double best = s->tree.nodes[0].best;

		count = run_round(s, left < s->options->width ? left : s->options->width, err);
		nodes += s->counts->nodes - nodes_before;
		since_best = s->tree.nodes[0].best > best ? 0 : since_best + s->counts->nodes - nodes_before;
	}
	return count < 0 ? -1 : 0;
}

/* ---- the result */

static json_t *
figure(double value)
{
	char text[32];

	snprintf(text, sizeof text, "%.6g", value);
	return json_real(strtod(text, NULL) + 0.0);
}

static void
write_figures(struct search *s)
{
	for (size_t i = 1; i < s->tree.count; i++) {
		const struct tree_node *n = &s->tree.nodes[i];
		bool correct = n->state == TREE_CORRECT;

		if (!s->nodes[i].trajectory)
			continue;
		json_object_set_new((json_t *)s->nodes[i].trajectory, "search", json_pack("{s:s,s:I,s:i,s:i,s:o,s:o,s:o}",
			"method", "mcts", "width", (json_int_t)s->options->width, "node", (int)i, "visits", n->visits,
			"reward", correct ? figure(n->reward) : json_null(),
			"value", correct ? figure(tree_value(&s->tree, (int)i)) : json_null(),
			"best_subtree_value", correct ? figure(n->best) : json_null()));
	}
}

int
search_run(struct eval *e, const struct task *t, struct policy_session *session, struct sections *sections,
	const struct guidance *g, const struct search_options *options, struct search_counts *counts,
	struct conversation_counts *conversations, struct buf *err)
{
	struct search s = { .eval = e, .task = t, .session = session, .sections = sections, .guidance = g,
		.options = options, .counts = counts, .conversations = conversations };
	const json_t *trajectory, *root = sections_root(sections, &trajectory);
	int status;

	if (!root || !sections_baseline(sections, &s.baseline))
		return 0;
	*node_at(&s, 0) = (struct node){ "root", trajectory, rec_json_string(root, "id", NULL),
		sections_verdict(sections, rec_json_string(root, "id", "")).cost };
	tree_init(&s.tree, log(s.baseline / s.nodes[0].cost), options->exploration, (int)options->max_children);
	status = run_rounds(&s, err);
	if (status == 0)
		write_figures(&s);
	tree_release(&s.tree);
	free(s.nodes);
	return status;
}
