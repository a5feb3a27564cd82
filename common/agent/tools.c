/* In: a tool call of a model. Out: what the engine found, as text for the model and as a verdict for us.
 * The text is a function of the evaluation alone: no times, no paths, nothing of held-out workloads, so
 * that a recorded conversation replays to the same bytes. */
#include "agent/tools.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "agent/hardware.h"
#include "agent/policy.h"
#include "eval/evaluation.h"
#include "eval/torch_time.h"
#include "rec/json.h"

/* What the engine calls the source in all messages. */
#define SOLUTION_FILE "solution.cu"

enum { SHOWN_FINDINGS = 6, SHOWN_LOG_BYTES = 3000, MAX_LINE = 1000000 };

enum tool { TOOL_COMPILE, TOOL_TEST, TOOL_PROFILE, TOOL_SUBMIT, TOOLS };
static const struct {
	const char *name, *description;
} tools[TOOLS] = {
	[TOOL_COMPILE] = { "compile", "Compiles the device code of a solution and returns the compiler's messages. "
		"Quick; host code is not checked." },
	[TOOL_TEST] = { "test", "Builds a solution, runs it on the check workloads and compares every output element. "
		"Returns errors, findings of the memory, initialisation and synchronisation checkers with source "
		"lines, and the cost when all pass." },
	[TOOL_PROFILE] = { "profile", "Tests a solution and returns all counters of the profile workload: "
		"instructions, memory sectors, bank conflicts, barriers." },
	[TOOL_SUBMIT] = { "submit", "Hands in a solution as the final answer and ends the task." },
};

static int
find_tool(const char *name)
{
	for (int i = 0; i < TOOLS; i++)
		if (strcmp(tools[i].name, name) == 0)
			return i;
	return -1;
}

bool
tools_known(const char *name)
{
	return find_tool(name) >= 0;
}

json_t *
tools_names(void)
{
	json_t *names = json_array();

	for (int i = 0; i < TOOLS; i++)
		json_array_append_new(names, json_string(tools[i].name));
	return names;
}

json_t *
tools_definitions(void)
{
	json_t *list = json_array();

	for (int i = 0; i < TOOLS; i++)
		json_array_append_new(list, json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}}",
			"type", "function", "function", "name", tools[i].name, "description", tools[i].description,
			"parameters", "type", "object", "properties", "source", "type", "string",
			"description", "The whole CUDA C++ source file.", "required", "source"));
	return list;
}

void
tool_result_release(struct tool_result *r)
{
	buf_release(&r->text);
	json_decref(r->verdict);
	json_decref(r->evaluations);
	*r = (struct tool_result){ 0 };
}

/* ---- text */

/* Absolute paths are of one machine: only the file's name stays. */
static void
add_without_paths(struct buf *out, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \t\n\"'(),:;");
		const char *last = NULL;

		if (p[0] == '/' && isalnum((unsigned char)p[1]))
			for (size_t i = 1; i < n; i++)
				if (p[i] == '/')
					last = p + i;
		if (last) {
			n -= (size_t)(last + 1 - p);
			p = last + 1;
		}
		buf_add(out, p, n);
		p += n;
		if (*p)
			buf_addc(out, *p++);
	}
}

static void
add_log(struct buf *out, const char *log)
{
	struct buf clean = BUF_INIT;

	add_without_paths(&clean, log);
	while (clean.len && isspace((unsigned char)clean.data[clean.len - 1]))
		clean.data[--clean.len] = '\0';
	buf_elide(&clean, SHOWN_LOG_BYTES);
	if (clean.len)
		buf_addf(out, "```\n%s\n```\n", clean.data);
	buf_release(&clean);
}

/* A line of the solution: where the access is, or where the library's function that makes it was inlined. */
static long
finding_line(const json_t *f)
{
	if (strcmp(rec_json_string(f, "file", SOLUTION_FILE), SOLUTION_FILE) == 0)
		return (long)rec_json_integer(f, "line", 0);
	if (strcmp(rec_json_string(f, "inlined_file", ""), SOLUTION_FILE) == 0)
		return (long)rec_json_integer(f, "inlined_line", 0);
	return 0;
}

/* The message names kernel, thread and place; what it leaves out does not matter for this kind. */
static void
add_finding(struct buf *out, const json_t *f)
{
	long line = finding_line(f);

	buf_addf(out, "- %s%s %s", strcmp(rec_json_string(f, "severity", ""), "warning") == 0 ? "warning: " : "",
		rec_json_string(f, "check", ""), rec_json_string(f, "kind", ""));
	if (line > 0)
		buf_addf(out, ", line %ld", line);
	buf_adds(out, ": ");
	add_without_paths(out, rec_json_string(f, "message", ""));
	buf_addc(out, '\n');
}

static void
add_findings(struct buf *out, const json_t *e)
{
	const json_t *findings = json_object_get(e, "findings");
	size_t count = json_array_size(findings), more = (size_t)rec_json_integer(e, "findings_dropped", 0);

	if (!count)
		return;
	buf_adds(out, "findings:\n");
	for (size_t i = 0; i < count && i < SHOWN_FINDINGS; i++)
		add_finding(out, json_array_get(findings, i));
	more += count > SHOWN_FINDINGS ? count - SHOWN_FINDINGS : 0;
	if (more)
		buf_addf(out, "- and %zu more\n", more);
}

/* Numbers as the record holds them; it has text for nan and inf. */
static void
add_value(struct buf *out, const json_t *value)
{
	if (json_is_string(value))
		buf_adds(out, json_string_value(value));
	else if (value)
		rec_json_dump(value, out);
	else
		buf_adds(out, "?");
}

static void
add_errors(struct buf *out, const json_t *e)
{
	const json_t *absolute = json_object_get(e, "max_absolute_error"), *index, *mismatch;
	const json_t *relative = json_object_get(e, "max_relative_error");
	size_t i;

	if (absolute && !json_is_null(absolute)) {
		buf_adds(out, "max_absolute_error: ");
		add_value(out, absolute);
		buf_adds(out, ", max_relative_error: ");
		add_value(out, relative);
		buf_addc(out, '\n');
	}
	if (rec_json_integer(e, "mismatched_elements", 0) > 0)
		buf_addf(out, "mismatched_elements: %lld\n", (long long)rec_json_integer(e, "mismatched_elements", 0));
	mismatch = json_object_get(e, "first_mismatch");
	if (!json_is_object(mismatch))
		return;
	buf_addf(out, "first_mismatch: %s[", rec_json_string(mismatch, "output", ""));
	json_array_foreach(json_object_get(mismatch, "index"), i, index)
		buf_addf(out, "%s%lld", i ? "," : "", (long long)json_integer_value(index));
	buf_adds(out, "] expected ");
	add_value(out, json_object_get(mismatch, "expected"));
	buf_adds(out, ", got ");
	add_value(out, json_object_get(mismatch, "got"));
	buf_addc(out, '\n');
}

static void
add_workload(struct buf *out, const struct task *t, const char *name)
{
	const struct task_workload *w = task_workload(t, name);

	buf_adds(out, name);
	if (!w)
		return;
	buf_adds(out, " (");
	for (int i = 0, shown = 0; i < t->axes; i++)
		if (!t->axis[i].constant && !t->axis[i].expression)
			buf_addf(out, "%s%s=%lld", shown++ ? ", " : "", t->axis[i].name, (long long)w->axes[i]);
	buf_addc(out, ')');
}

/* The reason, unless it only repeats the first finding or the compiler's log. */
static void
add_reason(struct buf *out, const json_t *e)
{
	const char *reason = rec_json_string(e, "reason", "");
	const json_t *first = json_array_get(json_object_get(e, "findings"), 0);

	if (!*reason || strcmp(reason, rec_json_string(first, "message", "")) == 0)
		return;
	buf_adds(out, "reason: ");
	add_without_paths(out, reason);
	buf_addc(out, '\n');
}

static void
add_time(struct buf *out, const json_t *timing)
{
	buf_addf(out, "time on a GPU: %.6g us", rec_json_number(timing, "median_us", NAN));
	torch_times_text(timing, out);
	buf_addc(out, '\n');
}

static void
add_failure(struct buf *out, const struct task *t, const json_t *e)
{
	const char *log = rec_json_string(e, "compile_log", NULL);

	buf_addf(out, "status: %s\n", rec_json_string(e, "status", ""));
	if (strcmp(rec_json_string(e, "status", ""), "COMPILE_ERROR") != 0) {
		buf_adds(out, "workload: ");
		add_workload(out, t, rec_json_string(e, "workload", ""));
		buf_addc(out, '\n');
	}
	add_reason(out, e);
	add_errors(out, e);
	/* The compiler's own words say more than the finding made of them. */
	if (log && *log)
		add_log(out, log);
	else
		add_findings(out, e);
}

static void
add_passed(struct buf *out, const struct task *t, const json_t *e)
{
	buf_adds(out, "passed: ");
	add_workload(out, t, rec_json_string(e, "workload", ""));
	buf_adds(out, ", max_absolute_error ");
	add_value(out, json_object_get(e, "max_absolute_error"));
	buf_addc(out, '\n');
	add_findings(out, e);
}

static bool
is_shown(const struct task *t, const json_t *evaluation)
{
	const struct task_workload *w = task_workload(t, rec_json_string(evaluation, "workload", ""));

	return !rec_json_boolean(evaluation, "held_out", 0) && !(w && w->held_out);
}

static const json_t *
first_failure(const struct task *t, const json_t *evaluations)
{
	const json_t *e;
	size_t i;

	json_array_foreach(evaluations, i, e)
		if (is_shown(t, e) && strcmp(rec_json_string(e, "status", ""), "PASSED") != 0)
			return e;
	return NULL;
}

static void
add_success(struct buf *out, const struct task *t, const json_t *evaluations)
{
	json_t *shown = json_array(), *e;
	size_t i;

	json_array_foreach((json_t *)evaluations, i, e)
		if (is_shown(t, e))
			json_array_append(shown, e);
	buf_adds(out, "status: PASSED");
	evaluation_race_warnings(shown, out);
	buf_addc(out, '\n');
	json_decref(shown);
}

void
tools_describe(const struct task *t, const json_t *evaluations, struct buf *out)
{
	const json_t *failure = first_failure(t, evaluations), *e;
	size_t i;

	if (failure)
		add_failure(out, t, failure);
	else
		add_success(out, t, evaluations);
	json_array_foreach(evaluations, i, e) {
		if (!is_shown(t, e) || strcmp(rec_json_string(e, "status", ""), "PASSED") != 0)
			continue;
		add_passed(out, t, e);
		if (!failure && json_is_number(json_object_get(e, "cost")))
			buf_addf(out, "cost: %.15g\n", rec_json_number(e, "cost", NAN));
		const json_t *timing = json_object_get(e, "timing");
		if (!failure && timing)
			add_time(out, timing);
		if (!failure)
			hardware_describe(json_object_get(e, "hardware_counters"), out);
	}
}

/* An estimate is said to be one, with what makes it. */
static void
add_estimate(struct buf *out, const json_t *estimate)
{
	json_t *part;
	size_t i;

	if (!json_is_object(estimate))
		return;
	buf_addf(out, "estimate for %s (by a model, not measured): %.3g us, limited by %s in kernel %s; %" PRId64
		" threads fit on a multiprocessor\nparts of the estimate:", rec_json_string(estimate, "gpu", ""),
		rec_json_number(estimate, "time_us", NAN), rec_json_string(estimate, "limiter", ""),
		rec_json_string(estimate, "kernel", ""), (int64_t)rec_json_integer(estimate, "resident_threads", 0));
	json_array_foreach(json_object_get(estimate, "parts"), i, part)
		buf_addf(out, "%s %s %.3g us", i ? "," : "", rec_json_string(part, "name", ""), rec_json_number(part, "time_us", NAN));
	buf_addc(out, '\n');
}

static void
add_ratio(struct buf *out, const json_t *counters, const char *above, const char *below, const char *what)
{
	double n = rec_json_number(counters, below, 0);

	if (n > 0)
		buf_addf(out, "%s: %.3g\n", what, rec_json_number(counters, above, 0) / n);
}

static void
add_profile(struct buf *out, const json_t *profile)
{
	const json_t *c = json_object_get(profile, "counters");
	json_t *b;
	size_t i;

	add_estimate(out, json_object_get(profile, "estimate"));
	add_ratio(out, c, "lane_instructions", "warp_instructions", "active lanes of 32");
	add_ratio(out, c, "global_read_sectors", "global_read_requests", "sectors of 32 bytes a global read request");
	add_ratio(out, c, "global_write_sectors", "global_write_requests", "sectors of 32 bytes a global write request");
	add_ratio(out, c, "shared_bank_conflicts", "shared_requests", "bank conflicts a shared request");
	json_array_foreach(json_object_get(profile, "traffic"), i, b)
		buf_addf(out, "buffer %s of %" PRId64 " bytes: %" PRId64 " read, %" PRId64 " written, in distinct sectors %" PRId64 "\n",
			rec_json_string(b, "buffer", ""), (int64_t)rec_json_integer(b, "size_bytes", 0),
			(int64_t)rec_json_integer(b, "read_bytes", 0), (int64_t)rec_json_integer(b, "write_bytes", 0),
			(int64_t)rec_json_integer(b, "footprint_bytes", 0));
}

static void
add_counters(struct buf *out, const json_t *profile)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(profile, "counters"), name, value) {
		buf_addf(out, "%s: ", name);
		add_value(out, value);
		buf_addc(out, '\n');
	}
}

/* ---- verdicts */

/* "FILE(LINE): error" as nvcc and NVRTC print it; other files are ours. */
static long
line_of_error(const char *at)
{
	char *end;
	long line = strtol(at, &end, 10);

	if (end == at || line <= 0 || line > MAX_LINE || strncmp(end, "): ", 3) != 0)
		return 0;
	end += 3;
	return strncmp(end, "error", 5) == 0 || strncmp(end, "catastrophic error", 18) == 0 ? line : 0;
}

long
tools_error_line(const char *log)
{
	for (const char *p = log; (p = strstr(p, ".cu(")); p += 4) {
		long line = line_of_error(p + 4);

		if (line)
			return line;
	}
	return 0;
}

json_t *
tools_verdict(const json_t *decisive, const char *status)
{
	json_t *verdict = json_pack("{s:s}", "status", status);
	const json_t *finding = json_array_get(json_object_get(decisive, "findings"), 0);
	const char *log = rec_json_string(decisive, "compile_log", NULL);
	long line = finding_line(finding);

	if (strcmp(status, "PASSED") == 0)
		return verdict;
	if (strcmp(status, "COMPILE_ERROR") == 0)
		line = log && tools_error_line(log) ? tools_error_line(log) : line;
	else if (rec_json_string(decisive, "workload", NULL))
		json_object_set(verdict, "workload", json_object_get(decisive, "workload"));
	if (finding) {
		json_object_set(verdict, "check", json_object_get(finding, "check"));
		json_object_set(verdict, "kind", json_object_get(finding, "kind"));
	}
	if (line > 0)
		json_object_set_new(verdict, "line", json_integer(line));
	return verdict;
}

/* ---- running */

static int
run_compile(struct eval *e, const struct task *t, const char *source, struct tool_result *r, struct buf *err)
{
	struct buf log = BUF_INIT;
	int status = eval_compile(e, t, source, &log, err);
	long line = status == 0 ? tools_error_line(buf_str(&log)) : 0;

	if (status >= 0) {
		r->verdict = json_pack("{s:s}", "status", status ? "PASSED" : "COMPILE_ERROR");
		if (line)
			json_object_set_new(r->verdict, "line", json_integer(line));
		buf_addf(&r->text, "status: %s\n", status ? "PASSED" : "COMPILE_ERROR");
		add_log(&r->text, buf_str(&log));
	}
	buf_release(&log);
	return status < 0 ? -1 : 0;
}

static int
run_solution(struct eval *e, const struct task *t, const char *source, enum tool tool, struct tool_result *r,
	struct buf *err)
{
	struct eval_summary summary = { 0 };

	if (eval_solution(e, t, source, EVAL_VISIBLE, &r->evaluations, &summary, err) < 0)
		return -1;
	r->verdict = tools_verdict(summary.decisive, summary.status);
	r->cost = summary.cost;
	r->submitted = tool == TOOL_SUBMIT;
	if (r->submitted)
		buf_adds(&r->text, "submitted\n");
	tools_describe(t, r->evaluations, &r->text);
	if (tool == TOOL_PROFILE && strcmp(summary.status, "PASSED") == 0) {
		add_profile(&r->text, summary.decisive);
		add_counters(&r->text, summary.decisive);
	}
	return 0;
}

static int
wrong_call(struct tool_result *r, const char *why)
{
	r->executed = false;
	buf_addf(&r->text, "error: %s\n", why);
	return 0;
}

int
tools_execute(struct eval *e, const struct task *t, const json_t *call, struct tool_result *r, struct buf *err)
{
	const json_t *function = json_object_get(call, "function");
	const json_t *source = json_object_get(json_object_get(function, "arguments"), "source");
	int tool = find_tool(rec_json_string(function, "name", ""));

	*r = (struct tool_result){ .cost = NAN };
	if (tool < 0)
		return wrong_call(r, "there is no such tool; the tools are compile, test, profile and submit");
	if (json_object_get(function, "invalid_arguments"))
		return wrong_call(r, "the arguments are not a JSON object; give {\"source\": \"...\"}");
	if (!json_is_string(source) || json_string_length(source) == 0)
		return wrong_call(r, "the argument \"source\" is missing; it is the whole CUDA C++ source file");
	if (json_string_length(source) > POLICY_MAX_SOURCE_BYTES)
		return wrong_call(r, "the source is larger than 256 KiB");
	r->executed = true;
	if (tool == TOOL_COMPILE)
		return run_compile(e, t, json_string_value(source), r, err);
	return run_solution(e, t, json_string_value(source), (enum tool)tool, r, err);
}
