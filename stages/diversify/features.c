/* A task section comes in; its cell and the set of its features go out. The hard idea: a set of hashed words
 * ("calls:exp", "rank:2") stands for the task, so that two tasks differ by what a kernel writer would have
 * to do differently, and not by their names or their prose. */
#include "features.h"

#include <ctype.h>

#include "base/die.h"
#include "hash/id.h"
#include "rec/json.h"

static void
add(struct features *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
add(struct features *f, const char *format, ...)
{
	struct buf text = BUF_INIT;
	char id[HASH_ID_HEX], digits[9];
	va_list args;

	va_start(args, format);
	buf_vaddf(&text, format, args);
	va_end(args);
	hash_id(text.data, text.len, id);
	snprintf(digits, sizeof digits, "%.8s", id);
	f->hash = xrealloc(f->hash, (f->count + 1) * sizeof *f->hash);
	f->hash[f->count++] = (uint32_t)strtoul(digits, NULL, 16);
	buf_release(&text);
}

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
add_tensors(struct features *f, const char *kind, const json_t *tensors)
{
	size_t i;
	const json_t *tensor;

	add(f, "%s:%zu", kind, json_array_size(tensors));
	json_array_foreach(tensors, i, tensor) {
		add(f, "%s rank:%zu", kind, json_array_size(json_object_get(tensor, "shape")));
		add(f, "%s dtype:%s", kind, rec_json_string(tensor, "dtype", ""));
		add(f, "domain:%s", rec_json_string(json_object_get(tensor, "domain"), "distribution", "none"));
	}
}

static int
log2_of(size_t value)
{
	int log = 0;

	while (value >>= 1)
		log++;
	return log;
}

/* Words before an opening bracket, in either language: exp, sum, sqrt, fmax. */
static void
add_calls(struct features *f, const char *text)
{
	for (const char *p = text; p && *p; p++) {
		size_t length = 0;

		while (isalnum((unsigned char)p[length]) || p[length] == '_')
			length++;
		if (!length)
			continue;
		if (p[length] == '(')
			add(f, "calls:%.*s", (int)length, p);
		p += length - 1;
	}
}

static void
add_lines(struct features *f, const char *kind, const char *text)
{
	size_t lines = 1;

	if (!text)
		return;
	for (const char *p = text; *p; p++)
		lines += *p == '\n' && p[1];
	add(f, "%s lines:%d", kind, log2_of(lines));
	add_calls(f, text);
}

struct features
features_of(const json_t *task)
{
	struct features f = { NULL, 0 };
	const json_t *tag;
	size_t i, kept = 0;

	json_array_foreach(json_object_get(task, "tags"), i, tag)
		add(&f, "tag:%s", json_string_value(tag));
	add_tensors(&f, "inputs", json_object_get(task, "inputs"));
	add_tensors(&f, "outputs", json_object_get(task, "outputs"));
	add(&f, "axes:%zu", json_array_size(json_object_get(task, "axes")));
	add(&f, "scalars:%zu", json_array_size(json_object_get(task, "scalars")));
	add(&f, "reduction:%d", json_is_string(json_object_get(task, "reduction")));
	add_lines(&f, "math", rec_json_string(json_object_get(task, "math_spec"), "text", NULL));
	add_lines(&f, "reference", rec_json_string(json_object_get(task, "reference"), "source", NULL));
	qsort(f.hash, f.count, sizeof *f.hash, by_value);
	for (i = 0; i < f.count; i++)
		if (!kept || f.hash[kept - 1] != f.hash[i])
			f.hash[kept++] = f.hash[i];
	f.count = kept;
	return f;
}

double
features_distance(const struct features *a, const struct features *b)
{
	size_t i = 0, k = 0, shared = 0, all = 0;

	while (i < a->count || k < b->count) {
		uint32_t x = i < a->count ? a->hash[i] : UINT32_MAX, y = k < b->count ? b->hash[k] : UINT32_MAX;
		int in_a = k == b->count || (i < a->count && x <= y), in_b = i == a->count || (k < b->count &&
			y <= x);

		shared += in_a && in_b;
		all++;
		i += (size_t)in_a;
		k += (size_t)in_b;
	}
	return all ? 1 - (double)shared / (double)all : 0;
}

void
features_cell(const json_t *task, struct buf *out)
{
	static const char *const order[] = { "natural_language", "reference_program", "math_spec" };
	const json_t *forms = json_object_get(task, "forms"), *form;
	const char *joint = "";

	buf_addf(out, "%s/%s/", rec_json_string(task, "op_type", ""),
		rec_json_string(json_array_get(json_object_get(task, "outputs"), 0), "dtype", ""));
	for (int i = 0; i < 3; i++) {
		size_t k;

		json_array_foreach(forms, k, form) {
			if (strcmp(json_string_value(form), order[i]))
				continue;
			buf_addf(out, "%s%s", joint, order[i]);
			joint = "+";
			break;
		}
	}
}
