/* In: a task, and what is known about a solution. Out: the messages that open a conversation. A form that
 * the task does not list stays hidden, for it may be the oracle; held-out workloads are never named. */
#include "agent/prompt.h"

#include <math.h>

#include "agent/tools.h"
#include "eval/torch_time.h"
#include "math/latex.h"
#include "rec/json.h"

static const char system_text[] =
	"You write CUDA C++ kernels that are correct first and fast second. A task states what to compute and the "
	"prototype of a host function `solve` that computes it on the GPU.\n"
	"\n"
	"Tools, each of which takes the whole source file:\n"
	"- `compile` gives the compiler's messages for the device code.\n"
	"- `test` builds the file, runs it on the visible check workloads and compares every element of the outputs. "
	"Checkers report accesses out of bounds, misaligned accesses, use of freed memory, reads of memory that was "
	"never written, and barriers that not all threads reach, with kernel and line. When all workloads pass it "
	"reports a cost: a weighted sum of counted instructions and memory sectors on the profile workload. Less is "
	"better. It is not a time.\n"
	"- `profile` does the same and lists the counters.\n"
	"- `submit` hands in the file and ends the task. Further workloads that you do not see are run afterwards.\n"
	"\n"
	"Rules:\n"
	"- One self-contained `.cu` file that defines `solve` exactly as declared. The declaration is included before "
	"it, with the headers for fixed-width integers, half and bfloat16.\n"
	"- Tensors are dense and row-major, and lie in device memory. Inputs must not be written. Outputs hold "
	"arbitrary bits on entry, and every element must be written.\n"
	"- Launch with `<<<grid, block, shared_bytes, stream>>>` on the given stream. The caller synchronises.\n"
	"- Scratch memory comes from `cudaMallocAsync` and goes back with `cudaFreeAsync`, on that stream.\n"
	"- No cuBLAS, cuDNN, Thrust, device-wide CUB, dynamic parallelism, and no access to device memory from the "
	"host. Inline PTX is allowed; tensor memory accelerators and `wgmma` are not available.\n"
	"- Sizes may be anything that the types allow; grids must cover sizes that are no multiple of a tile.\n";

static json_t *
message(const char *role, const struct buf *text)
{
	return json_pack("{s:s,s:o}", "role", role, "content", rec_json_text(buf_str(text), text->len));
}

static bool
shows(const struct task *t, const char *form)
{
	const json_t *shown;
	size_t i;

	json_array_foreach(json_object_get(t->json, "forms"), i, shown)
		if (json_is_string(shown) && strcmp(json_string_value(shown), form) == 0)
			return true;
	return false;
}

/* ---- the task */

static void
add_block(struct buf *out, const char *language, const char *text)
{
	size_t n = strlen(text);

	buf_addf(out, "```%s\n%s%s```\n", language, text, n && text[n - 1] == '\n' ? "" : "\n");
}

static void
add_forms(const struct task *t, struct buf *out)
{
	const json_t *spec = json_object_get(t->json, "math_spec");
	const char *prompt = rec_json_string(t->json, "prompt", NULL), *latex = rec_json_string(spec, "latex", NULL);

	if (shows(t, "natural_language") && prompt)
		buf_addf(out, "%s%s\n", prompt, *prompt && prompt[strlen(prompt) - 1] == '\n' ? "" : "\n");
	if (shows(t, "math_spec") && t->math_spec) {
		buf_adds(out, "## Definition\n\n");
		if (latex && *latex) {
			math_latex_markdown(latex, out);
			buf_adds(out, "The same in index notation, indices from 0:\n");
		}
		add_block(out, "", t->math_spec);
		buf_addc(out, '\n');
	}
	if (shows(t, "reference_program") && t->reference) {
		buf_adds(out, "## Reference program\n\n");
		buf_adds(out, t->reference_is_torch ? "In PyTorch.\n" : "In C, sequential. It gets float16 and bfloat16 tensors "
			"as `float` arrays that hold rounded values.\n");
		add_block(out, t->reference_is_torch ? "python" : "c", t->reference);
		buf_addc(out, '\n');
	}
}

static void
add_domain(struct buf *out, const json_t *domain)
{
	const char *key;
	json_t *value;

	buf_addf(out, ", values: %s", rec_json_string(domain, "distribution", "any"));
	json_object_foreach((json_t *)domain, key, value) {
		if (strcmp(key, "distribution") == 0)
			continue;
		buf_addf(out, ", %s ", key);
		if (json_is_string(value))
			buf_adds(out, json_string_value(value));
		else
			rec_json_dump(value, out);
	}
}

static void
add_tensor(struct buf *out, const char *role, const struct task_tensor *tensor)
{
	buf_addf(out, "- `%s`: %s, %s [", tensor->name, role, dtype_name(tensor->dtype));
	for (int i = 0; i < tensor->rank; i++)
		buf_addf(out, "%s%s", i ? ", " : "", tensor->shape[i]);
	buf_addc(out, ']');
	if (tensor->domain)
		add_domain(out, tensor->domain);
	buf_addc(out, '\n');
}

static void
add_interface(const struct task *t, struct buf *out)
{
	buf_adds(out, "## Interface\n\n");
	add_block(out, "cuda", t->prototype);
	buf_addc(out, '\n');
	for (int i = 0; i < t->inputs; i++)
		add_tensor(out, "input", &t->input[i]);
	for (int i = 0; i < t->outputs; i++)
		add_tensor(out, "output", &t->output[i]);
	for (int i = 0; i < t->axes; i++) {
		if (t->axis[i].constant)
			buf_addf(out, "- `%s` is always %lld and not passed\n", t->axis[i].name, (long long)t->axis[i].value);
		else if (t->axis[i].expression)
			buf_addf(out, "- `%s` = %s, not passed\n", t->axis[i].name, t->axis[i].expression);
	}
	for (int i = 0; i < t->scalars; i++)
		buf_addf(out, "- `%s`: %s scalar, %.9g in all workloads\n", t->scalar[i].name,
			dtype_name(t->scalar[i].dtype), t->scalar[i].value);
}

static void
add_tolerance(const struct task *t, struct buf *out)
{
	if (t->rtol == 0 && t->atol == 0)
		buf_adds(out, "\nOutputs must be equal to the expected ones.\n");
	else
		buf_addf(out, "\nAn element of a floating-point output is right if |got - expected| <= %g + %g |expected|; "
			"integers must be equal.\n", t->atol, t->rtol);
	if (t->reduction)
		buf_addf(out, "The tolerance is widened for the rounding of a sum of %s terms.\n", t->reduction);
}

static void
add_workloads(const struct task *t, struct buf *out)
{
	static const char *const roles[] = { [TASK_CHECK] = "check", [TASK_PROFILE] = "profile",
		[TASK_BENCH] = "real size" };

	buf_adds(out, "\n## Workloads\n\n");
	for (int i = 0; i < t->workloads; i++) {
		const struct task_workload *w = &t->workload[i];

		if (w->held_out)
			continue;
		buf_addf(out, "- `%s` (%s):", w->name, roles[w->role]);
		for (int k = 0, shown = 0; k < t->axes; k++)
			if (!t->axis[k].constant && !t->axis[k].expression)
				buf_addf(out, "%s %s=%lld", shown++ ? "," : "", t->axis[k].name, (long long)w->axes[k]);
		buf_addc(out, '\n');
	}
}

static void
add_guidance(const struct guidance *g, const struct task *t, enum agent_phase phase, struct buf *out,
	json_t **used)
{
	struct buf text = BUF_INIT;

	guidance_choose(g, t->op_type, phase, &text, used);
	if (text.len)
		buf_addf(out, "\n# Guidance\n%s", text.data);
	buf_release(&text);
}

json_t *
prompt_solve(const struct task *t, const struct guidance *g, json_t **used)
{
	struct buf text = BUF_INIT, user = BUF_INIT;
	json_t *messages = json_array();

	buf_adds(&text, system_text);
	add_guidance(g, t, PHASE_SOLVE, &text, used);
	json_array_append_new(messages, message("system", &text));
	add_forms(t, &user);
	add_interface(t, &user);
	add_tolerance(t, &user);
	add_workloads(t, &user);
	buf_adds(&user, "\nWrite the solution, test it, and submit it.\n");
	json_array_append_new(messages, message("user", &user));
	buf_release(&text);
	buf_release(&user);
	return messages;
}

/* ---- repair and optimization */

static json_t *
evaluations_of(const struct sections *s, const char *solution_id)
{
	json_t *list = json_array(), *evaluation;
	size_t i;

	json_array_foreach(s->evaluations, i, evaluation)
		if (strcmp(rec_json_string(evaluation, "solution_id", ""), solution_id) == 0
				&& !rec_json_boolean(evaluation, "final", 0))
			json_array_append(list, evaluation);
	return list;
}

/* The named line with one neighbour on each side. */
static void
add_source_line(struct buf *out, const char *source, long line)
{
	long number = 1;

	buf_addf(out, "\nAround line %ld of the submission:\n```cuda\n", line);
	for (const char *p = source; *p && number <= line + 1; number++) {
		size_t n = strcspn(p, "\n");

		if (number >= line - 1)
			buf_addf(out, "%s%4ld  %.*s\n", number == line ? ">" : " ", number, (int)n, p);
		p += n + (p[n] == '\n');
	}
	buf_adds(out, "```\n");
}

json_t *
prompt_repair(const struct task *t, const struct guidance *g, const struct sections *s, const char *solution_id,
	json_t **used)
{
	struct sections_verdict v = sections_verdict(s, solution_id);
	json_t *evaluations = evaluations_of(s, solution_id);
	json_t *verdict = tools_verdict(v.decisive, v.status ? v.status : "RUNTIME_ERROR");
	json_int_t line = rec_json_integer(verdict, "line", 0);
	struct buf text = BUF_INIT;
	json_t *out;

	buf_adds(&text, "The submitted solution is not correct. The verdict:\n\n");
	tools_describe(t, evaluations, &text);
	if (line > 0)
		add_source_line(&text, rec_json_string(sections_solution(s, solution_id), "source", ""), (long)line);
	buf_adds(&text, "\nFind the cause, say what it is, correct the solution, test it, and submit it again.\n");
	add_guidance(g, t, PHASE_REPAIR, &text, used);
	out = message("user", &text);
	buf_release(&text);
	json_decref(evaluations);
	json_decref(verdict);
	return out;
}

static void
add_counters(struct buf *out, const json_t *counters)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)counters, name, value) {
		buf_addf(out, "- %s: ", name);
		rec_json_dump(value, out);
		buf_addc(out, '\n');
	}
}

static void
add_pytorch(struct buf *out, const json_t *timing)
{
	struct buf times = BUF_INIT;

	torch_times_text(timing, &times);
	if (times.len)
		buf_addf(out, "The same there by %s.\n", times.data + 2);
	buf_release(&times);
}

json_t *
prompt_optimize(const struct task *t, const struct guidance *g, const struct sections *s, const char *solution_id,
	json_t **used)
{
	struct sections_verdict v = sections_verdict(s, solution_id);
	struct buf text = BUF_INIT;
	json_t *out;

	const json_t *timing = json_object_get(v.decisive, "timing");
	if (timing) {
		buf_addf(&text, "The solution is correct on all visible workloads, and takes %.6g us on workload %s, of which an empty "
			"kernel takes %.3g.\n", rec_json_number(timing, "median_us", NAN), rec_json_string(v.decisive, "workload", ""),
			rec_json_number(timing, "empty_kernel_us", NAN));
		add_pytorch(&text, timing);
		buf_adds(&text, "\nMake it faster without making it wrong: name what takes most, change one thing, test it, "
			"and submit the result.\n");
	} else {
		buf_addf(&text, "The solution is correct on all visible workloads, at a cost of %.15g on the profile workload. "
			"What was counted there:\n", v.cost);
		add_counters(&text, json_object_get(v.decisive, "counters"));
		buf_adds(&text, "\nMake it cheaper without making it wrong: name what costs most, change one thing, test it, "
			"and submit the result.\n");
	}
	add_guidance(g, t, PHASE_OPTIMIZE, &text, used);
	out = message("user", &text);
	buf_release(&text);
	return out;
}

json_t *
prompt_nudge(void)
{
	return json_pack("{s:s,s:s}", "role", "user", "content",
		"No tool was called. Go on with compile, test or profile, and end with submit.");
}
