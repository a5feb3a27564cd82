/* km-optimize: cheaper solutions by Monte Carlo tree search. In: cases with a correct solution. Out: the
 * same cases with a tree of solutions and the conversation of each node. A finished search stays. */
#include "agent/agent.h"
#include "agent/search.h"
#include "base/footer.h"
#include "rec/json.h"
#include "zst/zst.h"

static struct search_options options = { .width = 2, .iterations = 16, .patience = 8, .max_children = 6,
	.exploration = 0.7 };
static uint64_t nodes, correct, improved, without_root;

static const struct opt optimize_options[] = {
	{ 0, "width", OPT_U64, &options.width, "W",
		"choose W nodes in each round (2); the tree depends on it", 1, 64 },
	{ 0, "iterations", OPT_U64, &options.iterations, "N", "grow at most N nodes for each task (16)", 1, 10000 },
	{ 0, "patience", OPT_U64, &options.patience, "N",
		"stop after N nodes without a new best (8); 0 never does", 0, 10000 },
	{ 0, "children", OPT_U64, &options.max_children, "N", "grow at most N nodes from one (6); 0 sets no limit", 0, 1000 },
	{ 0, "exploration", OPT_F64, &options.exploration, "C", "weight of the exploration term (0.7)", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};
static const struct filter_counter counters[] = { { "nodes", &nodes }, { "correct_nodes", &correct },
	{ "new_bests", &improved }, { "without_correct_solution", &without_root }, { NULL, NULL } };

static json_t *
first_branch(const struct sections *s)
{
	json_t *trajectory;
	size_t i;

	json_array_foreach(s->trajectories, i, trajectory)
		if (strcmp(rec_json_string(trajectory, "phase", ""), "optimize") == 0)
			return trajectory;
	return NULL;
}

/* What a branch from the root would open with now. */
static void
root_prompt_sha256(const struct agent_case *c, const json_t *root, char sha256[SHA256_HEX])
{
	json_t *used, *opening = json_pack("[o]", prompt_optimize(c->task, c->agent->guidance, &c->sections,
		rec_json_string(root, "id", ""), &used));

	conversation_prompt_sha256(c->session, opening, sha256);
	json_decref(opening);
	json_decref(used);
}

static void
count_search(const struct search_counts *found, const struct conversation_counts *conversations)
{
	agent_tally(&nodes, found->nodes);
	agent_tally(&correct, found->correct);
	agent_tally(&improved, found->improved);
	agent_count(conversations);
}

static int
optimize_case(struct agent_case *c, struct buf *err)
{
	const json_t *trajectory, *root = sections_root(&c->sections, &trajectory);
	const json_t *branch = first_branch(&c->sections);
	struct conversation_counts conversations = { 0 };
	struct search_counts found = { 0 };
	char sha256[SHA256_HEX];
	int status;

	if (!root) {
		agent_tally(&without_root, 1);
		return 0;
	}
	root_prompt_sha256(c, root, sha256);
	if (branch && !agent_redo(c, branch, sha256))
		return 0;
	sections_forget(&c->sections, PHASE_OPTIMIZE);
	status = search_run(c->agent->eval, c->task, c->session, &c->sections, c->agent->guidance, &options, &found,
		&conversations, err);
	if (status == 0)
		count_search(&found, &conversations);
	return status;
}

static enum filter_verdict
transform(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	return agent_transform(context, optimize_case, in, out, reason);
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = { "km-optimize", "[FILE...]",
		"let a policy search for cheaper solutions among correct ones",
		"km-optimize --transcripts seeds/transcripts --iterations 16 -o optimized.jsonl repaired.jsonl",
		{ optimize_options, agent_options, eval_option_table, filter_options }, false };
	struct agent agent;
	int first, status;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	options.max_turns = agent_args.max_turns;
	agent_open(&agent);
	status = agent_filter(&agent, "optimize", transform, counters, argc - first, argv + first);
	agent_close(&agent);
	return status;
}
