/* A case comes in, what the card says about it goes out: how the first attempt went, what was repaired, what
 * each branch of the search did to the cost, and the final verdict. Nothing is estimated; what did not
 * happen is not counted. */
#include "summary.h"

#include <math.h>

#include "rec/json.h"

void
summary_count(json_t *counts, const char *group, const char *key, json_int_t n)
{
	json_t *inner = json_object_get(counts, group);

	if (!inner) {
		inner = json_object();
		json_object_set_new(counts, group, inner);
	}
	json_object_set_new(inner, key, json_integer(rec_json_integer(inner, key, 0) + n));
}

void
summary_add(json_t *total, const json_t *counts)
{
	const char *group, *key;
	json_t *inner, *n;

	json_object_foreach((json_t *)counts, group, inner)
		json_object_foreach(inner, key, n)
			summary_count(total, group, key, json_integer_value(n));
}

static bool
is(const json_t *record, const char *key, const char *value)
{
	return !strcmp(rec_json_string(record, key, ""), value);
}

/* "memcheck out_of_bounds" where a checker says it, "INCORRECT_NUMERICAL" and the like elsewhere. */
static void
fault_name(const struct verdict *verdict, struct buf *out)
{
	const json_t *finding = json_array_get(json_object_get(verdict->decisive, "findings"), 0);
	const char *check = rec_json_string(finding, "check", "");

	if (!strcmp(verdict->status, "RUNTIME_ERROR") && *check)
		buf_addf(out, "%s %s", check, rec_json_string(finding, "kind", ""));
	else
		buf_adds(out, verdict->status);
}

static const json_t *
repair_of(const struct view *v, const json_t *trajectory)
{
	const json_t *t;
	size_t i;

	json_array_foreach(v->trajectories, i, t)
		if (is(t, "phase", "repair") && is(t, "parent_id", rec_json_string(trajectory, "id", "")))
			return t;
	return NULL;
}

static bool
passed(const struct view *v, const json_t *trajectory)
{
	const char *id = rec_json_string(trajectory, "solution_id", NULL);
	const char *status = id ? view_verdict(v, id, false).status : NULL;

	return status && !strcmp(status, "PASSED");
}

/* How the first conversation ended, and whether a repair mended it. */
static void
add_first_attempt(const struct view *v, json_t *summary, json_t *counts)
{
	const json_t *t, *repair;
	struct verdict verdict;
	struct buf fault = BUF_INIT;
	const char *id, *outcome;
	size_t i;

	json_array_foreach(v->trajectories, i, t) {
		if (!is(t, "phase", "solve") || !view_usable(v, t) || !(id = rec_json_string(t, "solution_id",
			NULL)))
			continue;
		verdict = view_verdict(v, id, false);
		if (!verdict.status)
			continue;
		buf_reset(&fault);
		fault_name(&verdict, &fault);
		if (!json_object_get(summary, "first"))
			json_object_set_new(summary, "first", json_string(fault.data));
		if (!strcmp(verdict.status, "PASSED"))
			continue;
		repair = repair_of(v, t);
		outcome = !repair ? "none" : !view_usable(v, repair) ? "stale" : passed(v, repair) ? "yes" :
			"no";
		summary_count(counts, "faults", fault.data, 1);
		summary_count(counts, "repaired", fault.data, !strcmp(outcome, "yes"));
		if (!json_object_get(summary, "repair"))
			json_object_set_new(summary, "repair", json_string(outcome));
	}
	buf_release(&fault);
}

/* A branch against the solution that it set out from. */
static const char *
branch_outcome(const struct view *v, const json_t *trajectory)
{
	const json_t *parent = view_trajectory(v, rec_json_string(trajectory, "parent_id", ""));
	const char *own_id = rec_json_string(trajectory, "solution_id", NULL);
	const char *parent_id = rec_json_string(parent, "solution_id", NULL);
	double own, before;

	if (!own_id || !passed(v, trajectory))
		return "failed";
	own = view_verdict(v, own_id, false).cost;
	before = parent_id ? view_verdict(v, parent_id, false).cost : NAN;
	return own < before ? "better" : own > before ? "worse" : own == before ? "equal" : "failed";
}

static void
add_branches(const struct view *v, json_t *summary, json_t *counts)
{
	const json_t *t;
	size_t i;

	json_array_foreach(v->trajectories, i, t) {
		const char *outcome;

		if (!is(t, "phase", "optimize") || !view_usable(v, t))
			continue;
		outcome = branch_outcome(v, t);
		json_object_set_new(summary, outcome, json_integer(rec_json_integer(summary, outcome, 0) + 1));
		summary_count(counts, "branches", outcome, 1);
	}
}

static void
add_turns(const json_t *trajectory, const char *origin, json_t *counts)
{
	const json_t *turn;
	size_t i;

	json_array_foreach(json_object_get(trajectory, "turns"), i, turn) {
		summary_count(counts, "turns", origin, 1);
		summary_count(counts, "turn_status", rec_json_string(turn, "status", "no tool called"), 1);
		summary_count(counts, "staged_faults", origin, rec_json_string(turn, "staged_error",
			NULL) != NULL);
	}
}

static const char *
origin_of(const json_t *record)
{
	return rec_json_string(json_object_get(record, "origin"), "kind", "authored");
}

/* Where a time was measured, and whether what got a final verdict is faster than PyTorch. */
static void
add_timing(const json_t *evaluation, json_t *counts)
{
	static const struct { const char *mode, *words; } modes[] = { { "eager", "eager" }, { "compile", "`torch.compile`" } };
	const json_t *timing = json_object_get(evaluation, "timing");

	if (!timing)
		return;
	summary_count(counts, "timed", rec_json_string(json_object_get(timing, "gpu"), "name", ""), 1);
	for (int i = 0; i < 2 && rec_json_boolean(evaluation, "final", 0); i++) {
		const json_t *mode = json_object_get(json_object_get(timing, "pytorch"), modes[i].mode);
		double speedup = rec_json_number(mode, "speedup", NAN);

		if (isnan(speedup))
			continue;
		summary_count(counts, "pytorch", modes[i].words, 1);
		summary_count(counts, "faster_than_pytorch", modes[i].words, speedup > 1);
	}
}

static void
add_origins(const struct view *v, json_t *counts)
{
	const json_t *record;
	size_t i;

	json_array_foreach(v->solutions, i, record) {
		const char *id = rec_json_string(record, "id", ""), *origin = origin_of(record);
		const char *status = view_verdict(v, id, false).status;

		summary_count(counts, "solutions", origin, 1);
		summary_count(counts, "solutions_passed", origin, status && !strcmp(status, "PASSED"));
		summary_count(counts, "solutions_resolved", origin, view_resolved(v, id));
	}
	json_array_foreach(v->trajectories, i, record) {
		summary_count(counts, "trajectories", origin_of(record), 1);
		summary_count(counts, "trajectories_stale", origin_of(record), rec_json_boolean(record,
			"stale", 1));
		add_turns(record, origin_of(record), counts);
	}
	json_array_foreach(v->evaluations, i, record) {
		summary_count(counts, "evaluations", rec_json_boolean(record, "final", 0) ? "final" : "seen",
			1);
		summary_count(counts, "targets", rec_json_string(record, "target", ""), 1);
		add_timing(record, counts);
	}
}

/* "E", "C", "M" for the forms shown. */
static void
add_letters(const struct view *v, json_t *summary)
{
	struct buf forms = BUF_INIT, letters = BUF_INIT;

	view_forms(v, " ", &forms);
	buf_adds(&letters, strstr(buf_str(&forms), "natural_language") ? "E" : "");
	buf_adds(&letters, strstr(buf_str(&forms), "reference_program") ? "C" : "");
	buf_adds(&letters, strstr(buf_str(&forms), "math_spec") ? "M" : "");
	json_object_set_new(summary, "forms", json_string(buf_str(&letters)));
	buf_release(&forms);
	buf_release(&letters);
}

static void
add_final(const struct view *v, json_t *summary, json_t *counts)
{
	const json_t *final = view_final_solution(v);
	const char *id = rec_json_string(final, "id", NULL), *status = id ? view_verdict(v, id, true).status :
		NULL;
	bool resolved = id && view_resolved(v, id);
	double baseline, cost = id ? view_verdict(v, id, false).cost : NAN;

	json_object_set_new(summary, "final", json_string(status ? status : "none"));
	if (view_baseline(v, &baseline) && cost > 0)
		json_object_set_new(summary, "cost_ratio", json_real(cost / baseline));
	summary_count(counts, "resolved", v->op_type, resolved);
	summary_count(counts, "resolved_forms", json_string_value(json_object_get(summary, "forms")), resolved);
	summary_count(counts, "resolved_dtype", view_dtype(v), resolved);
}

json_t *
summary_of(const struct view *v)
{
	const char *review = rec_json_string(v->review, "status", "unreviewed");
	json_t *summary = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", v->name, "op_type", v->op_type,
		"dtype",
		view_dtype(v), "split", view_split(v->id), "review", review);
	json_t *counts = json_object();

	add_letters(v, summary);
	summary_count(counts, "tasks", v->op_type, 1);
	summary_count(counts, "forms", json_string_value(json_object_get(summary, "forms")), 1);
	summary_count(counts, "dtype", view_dtype(v), 1);
	summary_count(counts, "review", review, 1);
	/* A bulk decision, an imported one or a program's is no person's judgement of the task. */
	summary_count(counts, "decided", is(v->review, "mode", "interactive") && is(v->review, "actor_kind",
		"person") ?
		"person" : "other", 1);
	summary_count(counts, "benchmark_check", rec_json_string(v->curation, "benchmark_check", "not_run"), 1);
	add_first_attempt(v, summary, counts);
	add_branches(v, summary, counts);
	add_origins(v, counts);
	add_final(v, summary, counts);
	json_object_set_new(summary, "counts", counts);
	return summary;
}
