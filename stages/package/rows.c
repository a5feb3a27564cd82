/* A case comes in, rows of the configs tasks and solutions go out. The hard idea: every field is always
 * there, null or empty where it does not apply, and nothing keyed by free names: a column has one type,
 * which a loader reads off the first rows. */
#include "rows.h"

#include <math.h>

#include "parts.h"
#include "rec/json.h"

/* ---- tasks */

static json_t *
task_axes(const json_t *axes)
{
	json_t *list = json_array();
	const json_t *axis;
	size_t i;

	json_array_foreach(axes, i, axis)
		json_array_append_new(list, json_pack("{s:O, s:o, s:o}", "name", json_object_get(axis,
			"name"), "value",
			parts_value(axis, "value"), "expr", parts_value(axis, "expr")));
	return list;
}

static json_t *
task_scalars(const json_t *scalars)
{
	json_t *list = json_array();
	const json_t *scalar;
	size_t i;

	json_array_foreach(scalars, i, scalar)
		json_array_append_new(list, json_pack("{s:O, s:O, s:o}", "name", json_object_get(scalar,
			"name"), "dtype",
			json_object_get(scalar, "dtype"), "value", parts_real(rec_json_number(scalar, "value",
			NAN))));
	return list;
}

/* Domains have other keys for each distribution, so they are text. */
static json_t *
task_inputs(const json_t *inputs)
{
	json_t *list = json_array();
	const json_t *input;
	size_t i;

	json_array_foreach(inputs, i, input)
		json_array_append_new(list, json_pack("{s:O, s:O, s:O, s:o}", "name", json_object_get(input,
			"name"), "dtype",
			json_object_get(input, "dtype"), "shape", json_object_get(input, "shape"), "domain",
			parts_json_text(json_object_get(input, "domain"))));
	return list;
}

static json_t *
task_outputs(const json_t *outputs)
{
	json_t *list = json_array();
	const json_t *output;
	size_t i;

	json_array_foreach(outputs, i, output)
		json_array_append_new(list, json_pack("{s:O, s:O, s:O}", "name", json_object_get(output,
			"name"), "dtype",
			json_object_get(output, "dtype"), "shape", json_object_get(output, "shape")));
	return list;
}

static json_t *
task_workloads(const json_t *workloads)
{
	json_t *list = json_array();
	const json_t *w;
	size_t i;

	json_array_foreach(workloads, i, w)
		json_array_append_new(list, json_pack("{s:O, s:O, s:o, s:b, s:o}", "name", json_object_get(w,
			"name"), "role",
			json_object_get(w, "role"), "axes", parts_named_sizes(json_object_get(w, "axes")),
			"held_out",
			rec_json_boolean(w, "held_out", 0), "min_memory_bytes", parts_value(w,
			"min_memory_bytes")));
	return list;
}

static json_t *
task_curation(const json_t *c)
{
	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o}", "exact_hash", parts_value(c, "exact_hash"),
		"normalised_hash",
		parts_value(c, "normalised_hash"), "duplicates_dropped", parts_value(c, "duplicates_dropped"),
		"benchmark_check", rec_json_string(c, "benchmark_check", "not_run"), "cell", parts_value(c,
		"cell"), "rank",
		parts_value(c, "rank"));
}

static json_t *
task_review(const json_t *r)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "status", rec_json_string(r, "status", "unreviewed"),
		"actor_kind", parts_value(r, "actor_kind"), "mode", parts_value(r, "mode"), "time",
		parts_value(r, "time"),
		"reason", parts_value(r, "reason"), "shown_sha256", parts_value(r, "shown_sha256"));
}

static json_t *
task_reference(const json_t *r)
{
	return json_is_object(r) ? json_pack("{s:O, s:O}", "language", json_object_get(r, "language"), "source",
		json_object_get(r, "source")) : json_null();
}

static json_t *
task_math(const json_t *m)
{
	return json_is_object(m) ? json_pack("{s:O, s:O, s:o}", "language", json_object_get(m, "language"),
		"text",
		json_object_get(m, "text"), "latex", parts_value(m, "latex")) : json_null();
}

json_t *
rows_task(const struct view *v)
{
	const json_t *final = view_final_solution(v), *t = v->task, *examples = json_object_get(t, "examples");
	const char *final_id = rec_json_string(final, "id", NULL), *author;
	const json_t *source = json_object_get(t, "source");
	json_t *row = parts_start(), *tags = json_object_get(t, "tags");

	author = rec_json_string(source, "author", NULL);
	parts_copy(row, t, "id", "name", "op_type", NULL);
	json_object_set_new(row, "tags", tags ? json_incref(tags) : json_array());
	parts_copy(row, t, "forms", "oracle", NULL);
	json_object_set_new(row, "prompt", parts_value(t, "prompt"));
	json_object_set_new(row, "reference", task_reference(json_object_get(t, "reference")));
	json_object_set_new(row, "math_spec", task_math(json_object_get(t, "math_spec")));
	json_object_set_new(row, "axes", task_axes(json_object_get(t, "axes")));
	json_object_set_new(row, "scalars", task_scalars(json_object_get(t, "scalars")));
	json_object_set_new(row, "inputs", task_inputs(json_object_get(t, "inputs")));
	json_object_set_new(row, "outputs", task_outputs(json_object_get(t, "outputs")));
	json_object_set_new(row, "rtol", parts_real(rec_json_number(t, "rtol", 0)));
	json_object_set_new(row, "atol", parts_real(rec_json_number(t, "atol", 0)));
	json_object_set_new(row, "reduction", parts_value(t, "reduction"));
	json_object_set_new(row, "workloads", task_workloads(json_object_get(t, "workloads")));
	json_object_set_new(row, "examples", examples ? parts_json_text(examples) : json_null());
	parts_copy(row, t, "prototype", NULL);
	json_object_set_new(row, "curation", task_curation(v->curation));
	json_object_set_new(row, "review", task_review(v->review));
	json_object_set_new(row, "resolved", json_boolean(final_id && view_resolved(v, final_id)));
	json_object_set_new(row, "final_solution_id", parts_text(final_id));
	json_object_set_new(row, "final_status", parts_text(final_id ? view_verdict(v, final_id,
		true).status : NULL));
	parts_copy(row, t, "license", NULL);
	json_object_set_new(row, "source", json_pack("{s:s, s:s}", "kind", rec_json_string(source, "kind",
		""), "author",
		author ? author : ""));
	return row;
}

/* ---- solutions */

static json_t *
word_or_number(const json_t *record, const char *key)
{
	const json_t *value = json_object_get(record, key);
	struct buf text = BUF_INIT;
	json_t *word;

	if (json_is_string(value))
		return json_string(json_string_value(value));
	if (!json_is_number(value))
		return json_null();
	rec_json_dump(value, &text);
	word = json_string(text.data);
	buf_release(&text);
	return word;
}

static json_t *
evaluation_mismatch(const json_t *m)
{
	if (!json_is_object(m))
		return json_null();
	return json_pack("{s:O, s:o, s:o, s:o}", "output", json_object_get(m, "output"), "index",
		parts_list(m, "index"),
		"expected", word_or_number(m, "expected"), "got", word_or_number(m, "got"));
}

static json_t *
evaluation_findings(const json_t *findings)
{
	static const char *const scalars[] = {
		"check", "kind", "severity", "kernel", "line", "space", "buffer", "offset_bytes", "size_bytes", "lanes",
			"other_line", "message", NULL
	};
	json_t *list = json_array();
	const json_t *f;
	size_t i;

	json_array_foreach(findings, i, f) {
		json_t *row = json_object();

		for (int k = 0; scalars[k]; k++)
			json_object_set_new(row, scalars[k], parts_value(f, scalars[k]));
		json_object_set_new(row, "block", parts_list(f, "block"));
		json_object_set_new(row, "thread", parts_list(f, "thread"));
		json_array_append_new(list, row);
	}
	return list;
}

static json_t *
evaluation_timing(const json_t *timing)
{
	static const struct { const char *mode, *us, *speedup; } modes[] = { { "eager", "eager_us", "eager_speedup" },
		{ "compile", "compile_us", "compile_speedup" } };
	const json_t *baseline = json_object_get(timing, "baseline"), *pytorch = json_object_get(timing, "pytorch");

	if (!timing)
		return json_null();
	json_t *row = json_pack("{s:s, s:o, s:o, s:o, s:o}", "gpu", rec_json_string(json_object_get(timing, "gpu"), "name", ""),
		"median_us", parts_real(rec_json_number(timing, "median_us", NAN)),
		"baseline_us", parts_real(rec_json_number(baseline, "median_us", NAN)),
		"baseline_ratio", parts_real(rec_json_number(baseline, "ratio", NAN)), "torch", parts_value(pytorch, "version"));
	for (int i = 0; i < 2; i++) {
		const json_t *mode = json_object_get(pytorch, modes[i].mode);

		json_object_set_new(row, modes[i].us, parts_real(rec_json_number(mode, "median_us", NAN)));
		json_object_set_new(row, modes[i].speedup, parts_real(rec_json_number(mode, "speedup", NAN)));
	}
	return row;
}

static json_t *
evaluation_row(const json_t *e)
{
	json_t *row = json_object();

	parts_copy(row, e, "id", NULL);
	json_object_set_new(row, "workload", parts_value(e, "workload"));
	json_object_set_new(row, "role", parts_value(e, "role"));
	json_object_set_new(row, "held_out", json_boolean(rec_json_boolean(e, "held_out", 0)));
	json_object_set_new(row, "trial", parts_value(e, "trial"));
	parts_copy(row, e, "target", "protocol", NULL);
	json_object_set_new(row, "final", json_boolean(rec_json_boolean(e, "final", 0)));
	parts_copy(row, e, "status", NULL);
	json_object_set_new(row, "reason", parts_value(e, "reason"));
	json_object_set_new(row, "max_absolute_error", parts_real(rec_json_number(e, "max_absolute_error",
		NAN)));
	json_object_set_new(row, "max_relative_error", parts_real(rec_json_number(e, "max_relative_error",
		NAN)));
	json_object_set_new(row, "mismatched_elements", parts_value(e, "mismatched_elements"));
	json_object_set_new(row, "compared_elements", parts_value(e, "compared_elements"));
	json_object_set_new(row, "first_mismatch", evaluation_mismatch(json_object_get(e, "first_mismatch")));
	json_object_set_new(row, "findings", evaluation_findings(json_object_get(e, "findings")));
	json_object_set_new(row, "counters", parts_named_sizes(json_object_get(e, "counters")));
	json_object_set_new(row, "cost", parts_real(rec_json_number(e, "cost", NAN)));
	json_object_set_new(row, "timing", evaluation_timing(json_object_get(e, "timing")));
	json_object_set_new(row, "compile_log", parts_value(e, "compile_log"));
	return row;
}

static json_t *
evaluations_of(const struct view *v, const char *solution_id)
{
	json_t *list = json_array();
	const json_t *e;
	size_t i;

	json_array_foreach(v->evaluations, i, e)
		if (!strcmp(rec_json_string(e, "solution_id", ""), solution_id))
			json_array_append_new(list, evaluation_row(e));
	return list;
}

static json_t *
solution_row(const struct view *v, const json_t *s, bool final)
{
	const char *id = rec_json_string(s, "id", "");
	struct verdict seen = view_verdict(v, id, false), last = view_verdict(v, id, true);
	bool seen_failed = seen.status && strcmp(seen.status, "PASSED");
	json_t *row = parts_start();

	parts_copy(row, s, "id", "task_id", NULL);
	json_object_set_new(row, "task_name", json_string(v->name));
	json_object_set_new(row, "op_type", json_string(v->op_type));
	parts_copy(row, s, "phase", NULL);
	json_object_set_new(row, "branch", parts_branch(s));
	json_object_set_new(row, "parent_id", parts_value(s, "parent_id"));
	json_object_set_new(row, "origin", parts_origin(json_object_get(s, "origin")));
	parts_copy(row, s, "source", "source_sha256", NULL);
	/* A failure anywhere makes it one that fails. */
	json_object_set_new(row, "status", parts_text(last.status && !seen_failed ? last.status : seen.status));
	json_object_set_new(row, "final", json_boolean(final));
	json_object_set_new(row, "resolved", json_boolean(view_resolved(v, id)));
	json_object_set_new(row, "cost", parts_real(isnan(seen.cost) ? last.cost : seen.cost));
	json_object_set_new(row, "evaluations", evaluations_of(v, id));
	json_object_set_new(row, "license", json_string("Apache-2.0"));
	return row;
}

json_t *
rows_solutions(const struct view *v)
{
	size_t count = json_array_size(v->solutions);
	const json_t **sorted = parts_by_id(v->solutions), *final = view_final_solution(v);
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows, solution_row(v, sorted[i], sorted[i] == final));
	free(sorted);
	return rows;
}

const struct rows_config rows_configs[ROWS_CONFIGS] = {
	{ "tasks", NULL }, { "solutions", rows_solutions }, { "sft_trajectories", rows_sft_trajectories },
	{ "sft_direct", rows_sft_direct },
};
