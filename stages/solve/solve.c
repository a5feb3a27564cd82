/* km-solve: a first implementation. In: cases with a task. Out: the same cases with one conversation for
 * each sample, and the solutions and evaluations that it brought about. Finished conversations stay. */
#include "agent/agent.h"
#include "base/footer.h"
#include "rec/json.h"
#include "zst/zst.h"

static uint64_t samples = 1;

static const struct opt solve_options[] = {
	{ 0, "samples", OPT_U64, &samples, "N", "hold N conversations for each task (1)", 1, 1000 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

static json_t *
find_sample(const struct sections *s, uint64_t sample)
{
	json_t *trajectory;
	size_t i;

	json_array_foreach(s->trajectories, i, trajectory)
		if (strcmp(rec_json_string(trajectory, "phase", ""), "solve") == 0
				&& (uint64_t)rec_json_integer(trajectory, "sample", 0) == sample)
			return trajectory;
	return NULL;
}

static int
solve_sample(struct agent_case *c, uint64_t sample, struct buf *err)
{
	const json_t *old = find_sample(&c->sections, sample);
	struct conversation conversation = { .eval = c->agent->eval, .task = c->task, .session = c->session,
		.sections = &c->sections, .phase = PHASE_SOLVE, .branch = "", .sample = sample,
		.max_turns = agent_args.max_turns };
	struct conversation_counts counts = { 0 };
	char prompt_sha256[SHA256_HEX];
	json_t *trajectory;

	conversation.opening = prompt_solve(c->task, c->agent->guidance, &conversation.guidance);
	conversation_prompt_sha256(c->session, conversation.opening, prompt_sha256);
	if (old && !agent_redo(c, old, prompt_sha256)) {
		json_decref(conversation.opening);
		json_decref(conversation.guidance);
		return 0;
	}
	if (conversation_run(&conversation, &trajectory, &counts, err) == CONVERSATION_FAILED)
		return -1;
	agent_count(&counts);
	sections_put_trajectory(&c->sections, old, trajectory);
	return 0;
}

static int
solve_case(struct agent_case *c, struct buf *err)
{
	for (uint64_t sample = 0; sample < samples; sample++)
		if (solve_sample(c, sample, err) < 0)
			return -1;
	return 0;
}

static enum filter_verdict
transform(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	return agent_transform(context, solve_case, in, out, reason);
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = { "km-solve", "[FILE...]",
		"let a policy write a first implementation of each task",
		"km-solve --transcripts seeds/transcripts -o solved.jsonl tasks.jsonl",
		{ solve_options, agent_options, eval_option_table, filter_options }, false };
	struct agent agent;
	int first, status;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	agent_open(&agent);
	status = agent_filter(&agent, "solve", transform, NULL, argc - first, argv + first);
	agent_close(&agent);
	return status;
}
