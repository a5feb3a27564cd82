/* km-repair: what failed, once more. In: cases after km-solve. Out: the same cases, with a conversation
 * that continues each one whose submitted solution did not pass, from its verdict to a new submission. */
#include "agent/agent.h"
#include "base/footer.h"
#include "rec/json.h"
#include "zst/zst.h"

static uint64_t repaired, failed;
static const struct filter_counter counters[] = { { "repaired", &repaired }, { "still_failing", &failed }, { NULL, NULL } };

static json_t *
find_continuation(const struct sections *s, const char *parent_id)
{
	json_t *trajectory;
	size_t i;

	json_array_foreach(s->trajectories, i, trajectory)
		if (strcmp(rec_json_string(trajectory, "phase", ""), "repair") == 0
				&& strcmp(rec_json_string(trajectory, "parent_id", ""), parent_id) == 0)
			return trajectory;
	return NULL;
}

static void
count_result(const struct sections *s, const json_t *trajectory)
{
	const char *id = rec_json_string(trajectory, "solution_id", NULL);
	const char *status = id ? sections_verdict(s, id).status : NULL;

	agent_tally(status && strcmp(status, "PASSED") == 0 ? &repaired : &failed, 1);
}

static int
converse(struct agent_case *c, struct conversation *conversation, const json_t *old, struct buf *err)
{
	struct conversation_counts counts = { 0 };
	json_t *trajectory;

	if (conversation_run(conversation, &trajectory, &counts, err) == CONVERSATION_FAILED)
		return -1;
	agent_count(&counts);
	/* A transcript without a repair, a budget that is used up: nothing was said, so nothing is kept. */
	if (json_array_size(json_object_get(trajectory, "turns")) == 0) {
		json_decref(trajectory);
		agent_tally(&failed, 1);
		return 0;
	}
	count_result(&c->sections, trajectory);
	sections_put_trajectory(&c->sections, old, trajectory);
	return 0;
}

/* Continues one solve conversation whose submission failed. */
static int
repair(struct agent_case *c, const json_t *solve, const struct sections_verdict *v, struct buf *err)
{
	const char *parent = rec_json_string(solve, "id", ""), *solution = rec_json_string(solve, "solution_id", "");
	const json_t *old = find_continuation(&c->sections, parent);
	struct conversation conversation = { .eval = c->agent->eval, .task = c->task, .session = c->session,
		.sections = &c->sections, .phase = PHASE_REPAIR, .branch = "",
		.sample = (uint64_t)rec_json_integer(solve, "sample", 0), .max_turns = agent_args.max_turns,
		.parent_trajectory = parent, .parent_solution = solution };
	char prompt_sha256[SHA256_HEX];
	json_t *context;
	int status = 0;

	conversation.opening = json_pack("[o]",
		prompt_repair(c->task, c->agent->guidance, &c->sections, solution, &conversation.guidance));
	conversation_prompt_sha256(c->session, conversation.opening, prompt_sha256);
	if (old && !agent_redo(c, old, prompt_sha256)) {
		json_decref(conversation.opening);
		json_decref(conversation.guidance);
		return 0;
	}
	context = conversation_messages(&c->sections, solve);
	conversation.context = context;
	conversation.verdict = tools_verdict(v->decisive, v->status);
	status = converse(c, &conversation, old, err);
	json_decref(context);
	return status;
}

static int
repair_case(struct agent_case *c, struct buf *err)
{
	json_t *before = json_copy(c->sections.trajectories);
	json_t *trajectory;
	int status = 0;
	size_t i;

	json_array_foreach(before, i, trajectory) {
		const char *solution = rec_json_string(trajectory, "solution_id", NULL);
		struct sections_verdict v;

		if (strcmp(rec_json_string(trajectory, "phase", ""), "solve") != 0 || !solution)
			continue;
		v = sections_verdict(&c->sections, solution);
		if (!v.status || strcmp(v.status, "PASSED") == 0)
			continue;
		status = repair(c, trajectory, &v, err);
		if (status < 0)
			break;
	}
	json_decref(before);
	return status;
}

static enum filter_verdict
transform(void *context, const struct rec_case *in, struct buf *out, struct filter_reason *reason)
{
	return agent_transform(context, repair_case, in, out, reason);
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = { "km-repair", "[FILE...]",
		"let a policy correct submitted solutions that did not pass",
		"km-repair --transcripts seeds/transcripts -o repaired.jsonl solved.jsonl",
		{ agent_options, eval_option_table, filter_options }, false };
	struct agent agent;
	int first, status;

	footer_start(argc, argv);
	zst_register();
	first = opt_parse(&program, argc, argv);
	agent_open(&agent);
	status = agent_filter(&agent, "repair", transform, counters, argc - first, argv + first);
	agent_close(&agent);
	return status;
}
