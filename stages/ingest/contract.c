/* In: a `task` section whose fields have the right types. Out: the same section, complete, or the reason
 * why it is no task. Whoever reads a case later relies on these rules and does not check them again. */
#include "contract.h"

#include <math.h>

#include "math/latex.h"
#include "math/math.h"
#include "rec/json.h"
#include "refuse.h"

enum { MAX_NAME = 63 };

static const char *const licenses[] = { "CC-BY-4.0", "CC0-1.0", "Apache-2.0", "MIT", "BSD-3-Clause", NULL };

static const struct {
	const char *form, *key;
} forms[] = {
	{ "natural_language", "prompt" },
	{ "reference_program", "reference" },
	{ "math_spec", "math_spec" },
	{ NULL, NULL },
};

/* Parameters that each distribution reads; a parameter of another one is a misunderstanding. */
static const struct {
	const char *name, *keys[3];
} distributions[] = {
	{ "normal", { "mean", "scale" } },
	{ "uniform", { "low", "high" } },
	{ "integers", { "low", "high" } },
	{ "permutation", { NULL } },
	{ "sorted", { "low", "high" } },
	{ "probability", { NULL } },
	{ "bernoulli", { "p" } },
	{ "constant", { "value" } },
	{ NULL, { NULL } },
};

static bool
is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* Names are folder names, C identifiers and words in messages at once. */
static int
check_name(const json_t *section, struct filter_reason *reason)
{
	const char *name = rec_json_string(section, "name", "");
	size_t length = strlen(name);

	if (!length || length > MAX_NAME)
		return refuse(reason, "bad_name", "name has %zu characters, and 1 to %d are allowed", length, MAX_NAME);
	if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length || name[0] < 'a')
		return refuse(reason, "bad_name", "name \"%s\" is not made of a-z, 0-9 and _, beginning with a letter", name);
	return 0;
}

static int
check_license(const json_t *section, struct filter_reason *reason)
{
	const char *license = rec_json_string(section, "license", "");

	if (is_one_of(license, licenses))
		return 0;
	return refuse(reason, "bad_license", "license \"%.60s\" is not one of CC-BY-4.0, CC0-1.0, Apache-2.0, MIT and "
		"BSD-3-Clause", license);
}

static int
check_source(const json_t *section, struct filter_reason *reason)
{
	const json_t *source = json_object_get(section, "source");
	const char *kind = rec_json_string(source, "kind", "");

	if (!strcmp(kind, "original") && !*rec_json_string(source, "author", ""))
		return refuse(reason, "bad_source", "source: an original task names its author");
	return 0;
}

/* Forms are listed once each and are there; the oracle is one that can be run. */
static int
check_forms(const json_t *section, struct filter_reason *reason)
{
	const json_t *list = json_object_get(section, "forms"), *form;
	const char *oracle = rec_json_string(section, "oracle", "");
	size_t i, seen = 0;

	if (!json_array_size(list))
		return refuse(reason, "bad_forms", "forms is empty: a task shows at least one form");
	json_array_foreach((json_t *)list, i, form) {
		int f = 0;

		while (forms[f].form && strcmp(forms[f].form, json_string_value(form)))
			f++;
		if (!forms[f].form)
			return refuse(reason, "bad_forms", "forms[%zu]: there is no form \"%.40s\"", i, json_string_value(form));
		if (seen & 1u << f)
			return refuse(reason, "bad_forms", "forms: \"%s\" stands twice", forms[f].form);
		seen |= 1u << f;
		if (!json_object_get(section, forms[f].key))
			return refuse(reason, "bad_forms", "form \"%s\" is listed, and \"%s\" is not there", forms[f].form,
				forms[f].key);
	}
	if (strcmp(oracle, "math_spec") && strcmp(oracle, "reference_program"))
		return refuse(reason, "bad_forms", "oracle \"%.40s\" is not math_spec or reference_program", oracle);
	if (!json_object_get(section, strcmp(oracle, "math_spec") ? "reference" : "math_spec"))
		return refuse(reason, "bad_forms", "the oracle is %s, and the task has none", oracle);
	if (seen == 1 && !json_array_size(json_object_get(section, "examples")))
		return refuse(reason, "missing_examples", "a task that shows only English needs worked examples, by which "
			"its prompt is checked");
	return 0;
}

/* Several check workloads of which one is held out, one profile workload; a bench workload may follow. */
static int
check_workloads(const json_t *section, struct filter_reason *reason)
{
	size_t visible = 0, held_out = 0, profiles = 0, i;
	const json_t *w;

	json_array_foreach(json_object_get(section, "workloads"), i, w) {
		const char *role = rec_json_string(w, "role", "");
		bool hidden = rec_json_boolean(w, "held_out", 0);

		if (strcmp(role, "check") && strcmp(role, "profile") && strcmp(role, "bench"))
			return refuse(reason, "bad_workloads", "workloads[%zu]: role \"%.40s\" is not check, profile or bench", i,
				role);
		if (hidden && strcmp(role, "check"))
			return refuse(reason, "bad_workloads", "workloads[%zu]: only a check workload can be held out", i);
		visible += !hidden && !strcmp(role, "check");
		held_out += hidden;
		profiles += !strcmp(role, "profile");
	}
	if (!visible)
		return refuse(reason, "bad_workloads", "workloads: no check workload is shown to the solver");
	if (held_out != 1)
		return refuse(reason, "bad_workloads", "workloads: %zu check workloads are held out, and exactly one must be",
			held_out);
	if (profiles != 1)
		return refuse(reason, "bad_workloads", "workloads: there are %zu profile workloads, and exactly one must be",
			profiles);
	return 0;
}

/* Both may be 0: a maximum, a gather or a sort gives floats exactly. */
static int
check_tolerance(const json_t *section, struct filter_reason *reason)
{
	double rtol = rec_json_number(section, "rtol", 0), atol = rec_json_number(section, "atol", 0);

	if (!(rtol >= 0 && rtol < 1))
		return refuse(reason, "bad_tolerance", "rtol is %g, and 0 to below 1 is allowed", rtol);
	if (!(atol >= 0 && isfinite(atol)))
		return refuse(reason, "bad_tolerance", "atol is %g, and may not be negative", atol);
	return 0;
}

static int
check_domain(const json_t *input, const char *path, struct filter_reason *reason)
{
	const json_t *domain = json_object_get(input, "domain"), *value;
	const char *name = rec_json_string(domain, "distribution", ""), *key;
	int d = 0;

	if (!domain)
		return 0;
	while (distributions[d].name && strcmp(distributions[d].name, name))
		d++;
	if (!distributions[d].name)
		return refuse(reason, "bad_domain", "%s.domain: there is no distribution \"%.40s\"", path, name);
	json_object_foreach((json_t *)domain, key, value) {
		bool known = !strcmp(key, "distribution");

		for (int k = 0; k < 3 && distributions[d].keys[k]; k++)
			known = known || !strcmp(key, distributions[d].keys[k]);
		if (!known)
			return refuse(reason, "bad_domain", "%s.domain: distribution \"%s\" has no \"%.40s\"", path, name, key);
	}
	return 0;
}

static int
check_domains(const json_t *section, struct filter_reason *reason)
{
	const json_t *input;
	size_t i;

	json_array_foreach(json_object_get(section, "inputs"), i, input) {
		struct buf path = BUF_INIT;
		int status;

		buf_addf(&path, "inputs[%zu]", i);
		status = check_domain(input, buf_str(&path), reason);
		buf_release(&path);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int
render_math(const struct task *t, json_t *section, struct filter_reason *reason)
{
	struct buf err = BUF_INIT, latex = BUF_INIT;
	struct math_spec *spec;
	int status = 0;

	if (!t->math_spec)
		return 0;
	spec = task_parse_math(t, &err);
	if (spec) {
		math_latex(spec, &latex);
		json_object_set_new(json_object_get(section, "math_spec"), "latex", json_stringn(buf_str(&latex), latex.len));
	} else {
		status = refuse(reason, "bad_math", "%s", buf_str(&err));
	}
	math_free(spec);
	buf_release(&latex);
	buf_release(&err);
	return status;
}

/* The length of the reduction, by which tolerances may grow, is known for every workload. */
static int
check_reduction(const struct task *t, struct filter_reason *reason)
{
	const char *names[TASK_MAX_AXES];
	struct buf err = BUF_INIT;
	int status = 0;

	for (int i = 0; i < t->axes; i++)
		names[i] = t->axis[i].name;
	for (int i = 0; t->reduction && !status && i < t->workloads; i++) {
		int64_t length = 0;

		if (math_axis_expression(t->reduction, names, t->workload[i].axes, (size_t)t->axes, &length, &err) < 0)
			status = refuse(reason, "bad_tolerance", "tolerance.reduction:%s", buf_str(&err));
		else if (length < 0)
			status = refuse(reason, "bad_tolerance", "tolerance.reduction is %lld for workload '%s'",
				(long long)length, t->workload[i].name);
	}
	buf_release(&err);
	return status;
}

/* ---- fields that follow from others */

/* Sets a field, or compares it with what a record brought along. */
static int
settle(json_t *object, const char *key, json_t *value, const char *place, struct filter_reason *reason)
{
	json_t *given = json_object_get(object, key);
	struct buf was = BUF_INIT, is = BUF_INIT;
	int status = 0;

	if (!given) {
		json_object_set_new(object, key, value);
		return 0;
	}
	if (!json_equal(given, value)) {
		rec_json_dump(given, &was);
		rec_json_dump(value, &is);
		status = refuse(reason, "stale_field", "%s%s is %.80s, and the task makes it %.300s: leave it out, and it is "
			"filled in", place, key, buf_str(&was), buf_str(&is));
	}
	json_decref(value);
	buf_release(&was);
	buf_release(&is);
	return status;
}

static int
settle_bytes(const struct task *t, json_t *section, struct filter_reason *reason)
{
	json_t *workloads = json_object_get(section, "workloads");

	for (int i = 0; i < t->workloads; i++) {
		struct buf place = BUF_INIT;
		int status;

		buf_addf(&place, "workloads[%d].", i);
		status = settle(json_array_get(workloads, (size_t)i), "min_memory_bytes",
			json_integer((json_int_t)t->workload[i].tensor_bytes), buf_str(&place), reason);
		buf_release(&place);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int
settle_prototype(const struct task *t, json_t *section, struct filter_reason *reason)
{
	struct buf text = BUF_INIT;
	int status;

	task_prototype(t, &text);
	status = settle(section, "prototype", json_stringn(buf_str(&text), text.len), "", reason);
	buf_release(&text);
	return status;
}

static int
check_rules(const json_t *section, struct filter_reason *reason)
{
	static int (*const rules[])(const json_t *section, struct filter_reason *reason) = {
		check_name, check_license, check_source, check_forms, check_workloads, check_tolerance, check_domains,
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i](section, reason) < 0)
			return -1;
	return 0;
}

/* task_load gives sentences; two kinds that a reader of rejects looks for get a code of their own. */
static const char *
load_code(const char *sentence)
{
	if (!strncmp(sentence, "spec.math:", 10))
		return "bad_math";
	if (strstr(sentence, " bytes for its tensors"))
		return "too_large";
	return "bad_task";
}

/* The task keeps pointers into the section, so it is loaded again once all fields are there. */
static struct task *
load(json_t *section, struct filter_reason *reason)
{
	struct buf err = BUF_INIT;
	struct task *t = task_load(section, &err);

	if (!t)
		refuse(reason, load_code(buf_str(&err)), "%s", buf_str(&err));
	buf_release(&err);
	return t;
}

struct task *
contract_complete(json_t *section, struct filter_reason *reason)
{
	char id[HASH_ID_HEX];
	struct task *t = NULL;
	int status = check_rules(section, reason);

	if (!status)
		t = load(section, reason);
	if (!t)
		return NULL;
	status = check_reduction(t, reason);
	if (!status)
		status = render_math(t, section, reason);
	if (!status)
		status = settle_bytes(t, section, reason);
	if (!status)
		status = settle_prototype(t, section, reason);
	task_free(t);
	if (status < 0)
		return NULL;
	task_identity(section, id);
	if (settle(section, "id", json_string(id), "", reason) < 0)
		return NULL;
	return load(section, reason);
}
