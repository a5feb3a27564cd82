/* A case comes in; answers about its solutions and conversations go out. The one hard idea: a verdict is
 * never chosen. Solutions are compared by what was seen before the final verdict, and what that verdict then
 * says stands, also when it is bad. */
#include "view.h"

#include <math.h>

#include "agent/sections.h"
#include "eval/task.h"
#include "hash/id.h"
#include "rec/json.h"

enum { MAX_CHAIN = 64 };

/* What names another's content is not released. */
static int
check_ids(const struct view *v, struct buf *err)
{
	struct task *t = task_load_known(v->task, err);
	json_t *solution;
	size_t i;

	if (!t)
		return -1;
	task_free(t);
	json_array_foreach(v->solutions, i, solution)
		if (sections_settle_solution(solution, rec_json_string(v->task, "id", ""), err) < 0)
			return -1;
	return 0;
}

int
view_load(struct view *v, const struct rec_case *c, struct buf *err)
{
	memset(v, 0, sizeof *v);
	if (!(v->task = rec_case_section(c, "task", err)) ||
	    !(v->curation = rec_case_section_or_empty(c, "curation", err)) ||
	    !(v->review = rec_case_section_or_empty(c, "review", err)) ||
	    !(v->solutions = rec_case_section_or_empty(c, "solutions", err)) ||
	    !(v->evaluations = rec_case_section_or_empty(c, "evaluations", err)) ||
	    !(v->trajectories = rec_case_section_or_empty(c, "trajectories", err))) {
		view_release(v);
		return -1;
	}
	if (check_ids(v, err)) {
		view_release(v);
		return -1;
	}
	v->id = rec_json_string(v->task, "id", "");
	v->name = rec_json_string(v->task, "name", "");
	v->op_type = rec_json_string(v->task, "op_type", "");
	return 0;
}

void
view_release(struct view *v)
{
	json_decref(v->task);
	json_decref(v->curation);
	json_decref(v->review);
	json_decref(v->solutions);
	json_decref(v->evaluations);
	json_decref(v->trajectories);
	memset(v, 0, sizeof *v);
}

static bool
has(const json_t *record, const char *key, const char *value)
{
	const char *found = rec_json_string(record, key, NULL);

	return found && value && !strcmp(found, value);
}

struct verdict
view_verdict(const struct view *v, const char *solution_id, bool final)
{
	struct verdict verdict = { NULL, NULL, NAN };
	const json_t *e;
	size_t i;

	json_array_foreach(v->evaluations, i, e) {
		if (!has(e, "solution_id", solution_id) || (rec_json_boolean(e, "final", 0) != 0) != final)
			continue;
		if (!has(e, "status", "PASSED"))
			return (struct verdict){ rec_json_string(e, "status", ""), e, NAN };
		verdict.status = "PASSED";
		if (!verdict.decisive || has(e, "role", "profile"))
			verdict.decisive = e;
		if (has(e, "role", "profile"))
			verdict.cost = rec_json_number(e, "cost", NAN);
	}
	return verdict;
}

/* Whether a workload has a final evaluation of the solution. */
static bool
is_judged(const struct view *v, const char *solution_id, const char *workload)
{
	const json_t *e;
	size_t i;

	json_array_foreach(v->evaluations, i, e)
		if (has(e, "solution_id", solution_id) && has(e, "workload", workload) && rec_json_boolean(e, "final", 0))
			return true;
	return false;
}

bool
view_resolved(const struct view *v, const char *solution_id)
{
	const json_t *w;
	size_t i;

	/* Bench workloads are for GPUs only. */
	json_array_foreach(json_object_get(v->task, "workloads"), i, w)
		if (!has(w, "role", "bench") && !is_judged(v, solution_id, rec_json_string(w, "name", "")))
			return false;

	const char *last = view_verdict(v, solution_id, true).status, *seen = view_verdict(v, solution_id,
		false).status;

	return last && !strcmp(last, "PASSED") && (!seen || !strcmp(seen, "PASSED"));
}

/* Handed in by a conversation; where there are none, every solution counts. */
static bool
is_submitted(const struct view *v, const char *id)
{
	const json_t *t;
	size_t i;

	json_array_foreach(v->trajectories, i, t)
		if (has(t, "solution_id", id))
			return true;
	return json_array_size(v->trajectories) == 0;
}

const json_t *
view_final_solution(const struct view *v)
{
	const json_t *best = NULL, *s;
	double least = INFINITY;
	size_t i;

	json_array_foreach(v->solutions, i, s) {
		const char *id = rec_json_string(s, "id", "");
		struct verdict seen = view_verdict(v, id, false);
		double cost = isnan(seen.cost) ? INFINITY : seen.cost;

		if (!view_verdict(v, id, true).status || !is_submitted(v, id) || (best && !(cost < least)))
			continue;
		best = s;
		least = cost;
	}
	return best;
}

const json_t *
view_baseline(const struct view *v, double *cost)
{
	const json_t *s;
	size_t i;

	json_array_foreach(v->solutions, i, s) {
		*cost = view_verdict(v, rec_json_string(s, "id", ""), false).cost;
		if (*cost > 0)
			return s;
	}
	*cost = NAN;
	return NULL;
}

const json_t *
view_trajectory(const struct view *v, const char *id)
{
	const json_t *t;
	size_t i;

	json_array_foreach(v->trajectories, i, t)
		if (has(t, "id", id))
			return t;
	return NULL;
}

bool
view_usable(const struct view *v, const json_t *t)
{
	/* A circle of parents would be a chain without an end. */
	for (int depth = 0; depth < MAX_CHAIN; depth++) {
		const char *parent = rec_json_string(t, "parent_id", NULL);

		if (!t || rec_json_boolean(t, "stale", 1))
			return false;
		if (!parent)
			return true;
		t = view_trajectory(v, parent);
	}
	return false;
}

bool
view_leaf(const struct view *v, const json_t *trajectory)
{
	const char *id = rec_json_string(trajectory, "id", "");
	const json_t *t;
	size_t i;

	json_array_foreach(v->trajectories, i, t)
		if (has(t, "parent_id", id) && view_usable(v, t))
			return false;
	return true;
}

void
view_forms(const struct view *v, const char *joint, struct buf *out)
{
	static const char *const order[] = { "natural_language", "reference_program", "math_spec" };
	const json_t *forms = json_object_get(v->task, "forms"), *form;
	bool first = true;
	size_t k;

	for (int i = 0; i < 3; i++) {
		json_array_foreach(forms, k, form) {
			if (strcmp(json_string_value(form), order[i]))
				continue;
			buf_addf(out, "%s%s", first ? "" : joint, order[i]);
			first = false;
			break;
		}
	}
}

const char *
view_dtype(const struct view *v)
{
	return rec_json_string(json_array_get(json_object_get(v->task, "outputs"), 0), "dtype", "");
}

const char *
view_split(const char *task_id)
{
	struct hash_id_state *state = hash_id_start();
	char id[HASH_ID_HEX], digits[9];
	unsigned long percent;

	/* The digits of the task id itself choose the shard that it is worked on in: these are others. */
	hash_id_text(state, "split 1");
	hash_id_text(state, task_id);
	hash_id_end(state, id);
	snprintf(digits, sizeof digits, "%.8s", id);
	percent = strtoul(digits, NULL, 16) % 100;
	return percent < 80 ? "train" : percent < 90 ? "validation" : "test";
}
