/* In: a task section. Out: the pages of the review screen, and the hash by which a decision cites them.
 * One table of fields serves both: what is not in it is not shown, and does not lapse a decision. */
#include "shown.h"

#include <stdbool.h>

#include "hash/sha256.h"
#include "rec/json.h"

static const char *const fields[] = {
	"name", "op_type", "tags", "forms", "prompt", "reference", "math_spec", "oracle", "axes", "scalars", "inputs",
	"outputs", "rtol", "atol", "reduction", "workloads", "examples", "prototype", "license", "source", NULL,
};

static const struct {
	const char *form;	/* NULL: always shown to the model in some form */
	const char *heading, *hidden_heading, *key;
} pages[SHOWN_PAGES] = {
	[SHOWN_PROMPT] = { "natural_language", "Prompt", "Prompt (hidden)", "prompt" },
	[SHOWN_REFERENCE] = { "reference_program", "Reference", "Reference (hidden)", "reference" },
	[SHOWN_MATH] = { "math_spec", "Math", "Math (hidden)", "math_spec" },
	[SHOWN_CONTRACT] = { NULL, "Contract", NULL, NULL },
};

void
shown_sha256(const json_t *task, char out[SHA256_HEX])
{
	json_t *shown = json_object();
	struct buf text = BUF_INIT;

	for (int i = 0; fields[i]; i++) {
		json_t *value = json_object_get(task, fields[i]);

		if (value)
			json_object_set(shown, fields[i], value);
	}
	rec_json_canonical(shown, &text);
	sha256_hex(buf_str(&text), text.len, out);
	buf_release(&text);
	json_decref(shown);
}

static bool
has_word(const struct buf *words, const char *word)
{
	const char *at = buf_str(words);
	size_t length = strlen(word);

	for (; (at = strstr(at, word)); at += length)
		if ((at == words->data || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

void
shown_dtypes(const json_t *task, struct buf *out)
{
	static const char *const lists[] = { "inputs", "outputs" };
	struct buf words = BUF_INIT;
	const json_t *tensor;
	size_t i;

	for (int l = 0; l < 2; l++) {
		json_array_foreach(json_object_get(task, lists[l]), i, tensor) {
			const char *dtype = rec_json_string(tensor, "dtype", "?");

			if (!has_word(&words, dtype))
				buf_addf(&words, "%s%s", words.len ? " " : "", dtype);
		}
	}
	buf_adds(out, buf_str(&words));
	buf_release(&words);
}

static bool
shows_form(const json_t *task, const char *form)
{
	const json_t *name;
	size_t i;

	json_array_foreach(json_object_get(task, "forms"), i, name)
		if (json_is_string(name) && !strcmp(json_string_value(name), form))
			return true;
	return false;
}

void
shown_forms(const json_t *task, struct buf *out)
{
	buf_addc(out, shows_form(task, "natural_language") ? 'E' : '-');
	buf_addc(out, shows_form(task, "reference_program") ? 'C' : '-');
	buf_addc(out, shows_form(task, "math_spec") ? 'M' : '-');
}

const char *
shown_page_name(const json_t *task, enum shown_page page)
{
	if (!pages[page].form)
		return pages[page].heading;
	if (!json_object_get(task, pages[page].key))
		return NULL;
	return shows_form(task, pages[page].form) ? pages[page].heading : pages[page].hidden_heading;
}

/* ---- the contract */

static void
add_words(const json_t *array, const char *between, struct buf *out)
{
	const json_t *word;
	size_t i;

	json_array_foreach((json_t *)array, i, word)
		buf_addf(out, "%s%s", i ? between : "", json_is_string(word) ? json_string_value(word) : "?");
}

static void
add_value(const json_t *value, struct buf *out)
{
	if (json_is_string(value))
		buf_adds(out, json_string_value(value));
	else if (value)
		rec_json_dump(value, out);
}

static void
add_axes(const json_t *task, struct buf *out)
{
	const json_t *axis;
	size_t i;

	buf_adds(out, "Axes\n");
	json_array_foreach(json_object_get(task, "axes"), i, axis) {
		const json_t *value = json_object_get(axis, "value"), *expression = json_object_get(axis, "expr");

		buf_addf(out, "  %-8s ", rec_json_string(axis, "name", "?"));
		buf_adds(out, value || expression ? "= " : "given by the workload");
		add_value(value ? value : expression, out);
		buf_addc(out, '\n');
	}
}

static void
add_domain(const json_t *domain, struct buf *out)
{
	const json_t *value;
	const char *key;

	buf_addf(out, "%s", rec_json_string(domain, "distribution", ""));
	json_object_foreach((json_t *)domain, key, value) {
		if (!strcmp(key, "distribution"))
			continue;
		buf_addf(out, " %s=", key);
		add_value(value, out);
	}
}

static void
add_tensors(const json_t *task, const char *heading, const char *key, struct buf *out)
{
	const json_t *tensor;
	size_t i;

	buf_addf(out, "%s\n", heading);
	json_array_foreach(json_object_get(task, key), i, tensor) {
		buf_addf(out, "  %-8s %-8s [", rec_json_string(tensor, "name", "?"), rec_json_string(tensor, "dtype", "?"));
		add_words(json_object_get(tensor, "shape"), ", ", out);
		buf_adds(out, "]");
		if (json_object_get(tensor, "domain")) {
			buf_adds(out, "  ");
			add_domain(json_object_get(tensor, "domain"), out);
		}
		buf_addc(out, '\n');
	}
}

static void
add_scalars(const json_t *task, struct buf *out)
{
	const json_t *scalars = json_object_get(task, "scalars"), *scalar;
	size_t i;

	if (!json_array_size(scalars))
		return;
	buf_adds(out, "Scalars\n");
	json_array_foreach((json_t *)scalars, i, scalar) {
		buf_addf(out, "  %-8s %-8s = ", rec_json_string(scalar, "name", "?"), rec_json_string(scalar, "dtype", "?"));
		add_value(json_object_get(scalar, "value"), out);
		buf_addc(out, '\n');
	}
}

static void
add_tolerance(const json_t *task, struct buf *out)
{
	const char *reduction = rec_json_string(task, "reduction", NULL);

	buf_addf(out, "Tolerance\n  rtol %g, atol %g", rec_json_number(task, "rtol", 0), rec_json_number(task, "atol", 0));
	if (reduction)
		buf_addf(out, ", reduction length %s", reduction);
	buf_addc(out, '\n');
}

/* Bytes as people read them. */
static void
add_bytes(json_int_t bytes, struct buf *out)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	int unit = 0;

	for (; value >= 1024 && unit < 4; unit++)
		value /= 1024;
	buf_addf(out, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void
add_workloads(const json_t *task, struct buf *out)
{
	const json_t *workload, *value;
	const char *axis;
	size_t i;

	buf_adds(out, "Workloads\n");
	json_array_foreach(json_object_get(task, "workloads"), i, workload) {
		buf_addf(out, "  %-8s %-8s", rec_json_string(workload, "role", "?"), rec_json_string(workload, "name", "?"));
		json_object_foreach(json_object_get(workload, "axes"), axis, value)
			buf_addf(out, " %s=%" JSON_INTEGER_FORMAT, axis, json_integer_value(value));
		buf_adds(out, "  ");
		add_bytes(rec_json_integer(workload, "min_memory_bytes", 0), out);
		buf_adds(out, rec_json_boolean(workload, "held_out", 0) ? "  held out\n" : "\n");
	}
}

static void
add_examples(const json_t *task, struct buf *out)
{
	const json_t *examples = json_object_get(task, "examples"), *example;
	size_t i;

	if (!json_array_size(examples))
		return;
	buf_adds(out, "Examples\n");
	json_array_foreach((json_t *)examples, i, example) {
		buf_adds(out, "  ");
		rec_json_dump(example, out);
		buf_addc(out, '\n');
	}
}

static void
add_contract(const json_t *task, struct buf *out)
{
	const json_t *source = json_object_get(task, "source");

	buf_addf(out, "Task\n  family   %s\n  tags     ", rec_json_string(task, "op_type", "?"));
	add_words(json_object_get(task, "tags"), ", ", out);
	buf_adds(out, "\n  forms    ");
	add_words(json_object_get(task, "forms"), ", ", out);
	buf_addf(out, "\n  oracle   %s\n  license  %s, %s by %s\n", rec_json_string(task, "oracle", "?"),
		rec_json_string(task, "license", "?"), rec_json_string(source, "kind", "?"),
		rec_json_string(source, "author", "unknown"));
	add_tensors(task, "Inputs", "inputs", out);
	add_tensors(task, "Outputs", "outputs", out);
	add_axes(task, out);
	add_scalars(task, out);
	add_tolerance(task, out);
	add_workloads(task, out);
	add_examples(task, out);
	buf_addf(out, "Prototype\n  %s\n", rec_json_string(task, "prototype", "?"));
}

void
shown_page_text(const json_t *task, enum shown_page page, struct buf *out)
{
	const json_t *math = json_object_get(task, "math_spec");

	switch (page) {
	case SHOWN_PROMPT:
		buf_adds(out, rec_json_string(task, "prompt", ""));
		break;
	case SHOWN_REFERENCE:
		buf_adds(out, rec_json_string(json_object_get(task, "reference"), "source", ""));
		break;
	case SHOWN_MATH:
		buf_addf(out, "%s\nLaTeX\n%s\n", rec_json_string(math, "text", ""), rec_json_string(math, "latex", ""));
		break;
	case SHOWN_CONTRACT:
		add_contract(task, out);
		break;
	case SHOWN_PAGES:
		break;
	}
}
