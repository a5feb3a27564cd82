/* In: a case. Out: the same case with solutions, evaluations and trajectories added or taken away.
 * A case whose sections did not change keeps its very bytes, so that a finished stage can run again. */
#include "agent/sections.h"

#include <math.h>

#include <string.h>

#include "eval/bench.h"
#include "eval/eval.h"
#include "hash/sha256.h"
#include "rec/json.h"
#include "rec/schema.h"

static const char *const names[] = { "solutions", "evaluations", "trajectories" };

/* Sets a field that follows from others, or compares it with what a record brought along. 1: it was set, 0: it is
 * right, or -1. */
static int
settle(json_t *solution, const char *key, const char *value, struct buf *err)
{
	const char *given = rec_json_string(solution, key, NULL);

	if (given && strcmp(given, value))
		return buf_err(err, "a solution's %s is %.80s, and its task and source make it %s: leave it out, and it is filled in",
			key, given, value);
	if (given)
		return 0;
	json_object_set_new(solution, key, json_string(value));
	return 1;
}

int
sections_settle_solution(json_t *solution, const char *task_id, struct buf *err)
{
	const char *source = rec_json_string(solution, "source", NULL);
	char id[HASH_ID_HEX], sha256[SHA256_HEX];

	if (!source)
		return 0;	/* the schema has a sentence for it */
	eval_solution_id(task_id, source, id);
	sha256_hex(source, strlen(source), sha256);
	int set_id = settle(solution, "id", id, err);
	int set_hash = set_id < 0 ? -1 : settle(solution, "source_sha256", sha256, err);
	return set_hash < 0 ? -1 : set_id || set_hash;
}

/* The section, with what may be left out of a solution filled in. */
static json_t *
load_solutions(struct sections *s, const char *task_id, const struct rec_case *c, struct buf *err)
{
	struct buf why = BUF_INIT;
	size_t length, i;
	const char *raw = rec_case_raw(c, "solutions", &length);
	json_t *solutions = raw ? rec_json_parse(raw, length, &why) : json_array(), *solution;
	int settled = 0;

	if (!solutions)
		buf_err(err, "section \"solutions\": %s", buf_str(&why));
	buf_release(&why);
	json_array_foreach(solutions, i, solution) {
		settled = sections_settle_solution(solution, task_id, err);
		s->changed |= settled > 0;
		if (settled < 0)
			break;
	}
	if (settled < 0 || (solutions && rec_schema_check_section("solutions", solutions, err))) {
		json_decref(solutions);
		return NULL;
	}
	return solutions;
}

int
sections_load(struct sections *s, const char *task_id, const struct rec_case *c, struct buf *err)
{
	*s = (struct sections){ 0 };
	if ((s->solutions = load_solutions(s, task_id, c, err)) &&
	    (s->evaluations = rec_case_section_or_empty(c, "evaluations", err)) &&
	    (s->trajectories = rec_case_section_or_empty(c, "trajectories", err)))
		return 0;
	sections_release(s);
	return -1;
}

void
sections_release(struct sections *s)
{
	json_decref(s->solutions);
	json_decref(s->evaluations);
	json_decref(s->trajectories);
	*s = (struct sections){ 0 };
}

int
sections_write(const struct sections *s, const struct rec_case *c, struct buf *out, struct buf *err)
{
	json_t *const values[] = { s->solutions, s->evaluations, s->trajectories };

	if (s->changed)
		return rec_case_splice(c, 3, names, values, out, err);
	buf_add(out, c->line, c->length);
	return 0;
}

static json_t *
find(const json_t *array, const char *id)
{
	json_t *record;
	size_t i;

	json_array_foreach(array, i, record)
		if (id && strcmp(rec_json_string(record, "id", ""), id) == 0)
			return record;
	return NULL;
}

json_t *
sections_solution(const struct sections *s, const char *id)
{
	return find(s->solutions, id);
}

json_t *
sections_trajectory(const struct sections *s, const char *id)
{
	return find(s->trajectories, id);
}

void
sections_add_solution(struct sections *s, json_t *solution)
{
	if (find(s->solutions, rec_json_string(solution, "id", ""))) {
		json_decref(solution);
		return;
	}
	json_array_append_new(s->solutions, solution);
	s->changed = true;
}

void
sections_add_evaluations(struct sections *s, const json_t *evaluations)
{
	json_t *evaluation;
	size_t i;

	json_array_foreach(evaluations, i, evaluation)
		if (!find(s->evaluations, rec_json_string(evaluation, "id", ""))) {
			json_array_append(s->evaluations, evaluation);
			s->changed = true;
		}
}

struct sections_verdict
sections_verdict(const struct sections *s, const char *solution_id)
{
	struct sections_verdict verdict = { NULL, NULL, NAN };
	const json_t *evaluation;
	size_t i;

	json_array_foreach(s->evaluations, i, evaluation) {
		const char *status = rec_json_string(evaluation, "status", "");

		if (rec_json_boolean(evaluation, "final", 0)
				|| strcmp(rec_json_string(evaluation, "solution_id", ""), solution_id) != 0)
			continue;
		if (strcmp(status, "PASSED") != 0)
			return (struct sections_verdict){ status, evaluation, NAN };
		verdict.status = "PASSED";
		/* On a GPU a measured time stands where the cost does elsewhere. */
		const json_t *timing = json_object_get(evaluation, "timing");
		if (timing) {
			verdict.decisive = evaluation;
			verdict.cost = bench_cost(timing);
		} else if (strcmp(rec_json_string(evaluation, "role", ""), "profile") == 0) {
			verdict.decisive = evaluation;
			verdict.cost = rec_json_number(evaluation, "cost", NAN);
		}
	}
	return verdict;
}

const json_t *
sections_baseline(const struct sections *s, double *cost)
{
	const json_t *solution;
	size_t i;

	json_array_foreach(s->solutions, i, solution) {
		struct sections_verdict v = sections_verdict(s, rec_json_string(solution, "id", ""));

		if (v.cost > 0) {
			*cost = v.cost;
			return solution;
		}
	}
	*cost = NAN;
	return NULL;
}

const json_t *
sections_root(const struct sections *s, const json_t **trajectory)
{
	const json_t *best = NULL, *candidate;
	double least = INFINITY;
	size_t i;

	*trajectory = NULL;
	json_array_foreach(s->trajectories, i, candidate) {
		const char *id = rec_json_string(candidate, "solution_id", NULL);
		double cost = id ? sections_verdict(s, id).cost : NAN;

		if (strcmp(rec_json_string(candidate, "phase", ""), "optimize") == 0 || !(cost < least))
			continue;
		least = cost;
		best = sections_solution(s, id);
		*trajectory = candidate;
	}
	return best;
}

/* ---- replacing and forgetting */

/* A parent stands before its children, so one pass finds all that grew from `gone`, whose ids it extends. */
static json_t *
without_descendants(const json_t *trajectories, json_t *gone)
{
	json_t *kept = json_array(), *trajectory;
	size_t i;

	json_array_foreach(trajectories, i, trajectory) {
		const char *parent = rec_json_string(trajectory, "parent_id", NULL);

		if (parent && json_object_get(gone, parent))
			json_object_set_new(gone, rec_json_string(trajectory, "id", ""), json_true());
		else
			json_array_append(kept, trajectory);
	}
	return kept;
}

static json_t *
mentioned_solutions(const json_t *trajectories)
{
	json_t *ids = json_object();
	const json_t *trajectory, *turn;
	size_t i, k;

	json_array_foreach(trajectories, i, trajectory)
		json_array_foreach(json_object_get(trajectory, "turns"), k, turn) {
			const char *id = rec_json_string(turn, "solution_id", NULL);

			if (id)
				json_object_set_new(ids, id, json_true());
		}
	return ids;
}

static json_t *
records_with(json_t *array, const char *key, const json_t *ids)
{
	json_t *kept = json_array(), *record;
	size_t i;

	json_array_foreach(array, i, record)
		if (json_object_get(ids, rec_json_string(record, key, "")))
			json_array_append(kept, record);
	json_decref(array);
	return kept;
}

/* Taken: kept. */
static void
set_trajectories(struct sections *s, json_t *kept)
{
	json_t *ids = mentioned_solutions(kept);

	s->solutions = records_with(s->solutions, "id", ids);
	s->evaluations = records_with(s->evaluations, "solution_id", ids);
	json_decref(ids);
	json_decref(s->trajectories);
	s->trajectories = kept;
	s->changed = true;
}

void
sections_put_trajectory(struct sections *s, const json_t *old, json_t *trajectory)
{
	json_t *gone, *kept, *item;
	size_t i, at = json_array_size(s->trajectories);

	json_array_foreach(s->trajectories, i, item)
		if (item == old)
			at = i;
	if (at == json_array_size(s->trajectories)) {
		json_array_append_new(s->trajectories, trajectory);
		s->changed = true;
		return;
	}
	if (json_equal(old, trajectory)) {
		json_decref(trajectory);
		return;
	}
	gone = json_pack("{s:b}", rec_json_string(old, "id", ""), 1);
	json_array_set_new(s->trajectories, at, trajectory);
	kept = without_descendants(s->trajectories, gone);
	json_decref(gone);
	set_trajectories(s, kept);
}

void
sections_forget(struct sections *s, enum agent_phase phase)
{
	json_t *gone = json_object(), *others = json_array(), *trajectory;
	size_t i;

	json_array_foreach(s->trajectories, i, trajectory) {
		if (strcmp(rec_json_string(trajectory, "phase", ""), agent_phase_name(phase)) == 0)
			json_object_set_new(gone, rec_json_string(trajectory, "id", ""), json_true());
		else
			json_array_append(others, trajectory);
	}
	if (json_object_size(gone))
		set_trajectories(s, without_descendants(others, gone));
	json_decref(gone);
	json_decref(others);
}
