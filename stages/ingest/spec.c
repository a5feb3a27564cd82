/* In: a spec folder. Out: the `task` section that it states, or the one reason why it is refused.
 * Nothing is guessed: a key or a file that is not known is an error, since a misspelt "tolerence" or
 * "spec.maths" would otherwise be a task with a default in its place. */
#include "spec.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/die.h"
#include "fields.h"
#include "math/math.h"
#include "rec/json.h"
#include "refuse.h"
#include "tensor/dtype.h"

enum { MAX_TASK_BYTES = 1 << 20, MAX_TEXT_BYTES = 256 << 10 };

/* Files of a folder; what may lie beside them begins with a dot, README or LICENSE. */
enum { TASK_JSON, PROMPT, REFERENCE, MODULE, MATH, FILES };
static const struct {
	const char *name, *form;
	size_t max_bytes;
} files[FILES] = {
	[TASK_JSON] = { "task.json", NULL, MAX_TASK_BYTES },
	[PROMPT] = { "prompt.md", "natural_language", MAX_TEXT_BYTES },
	[REFERENCE] = { "reference.c", "reference_program", MAX_TEXT_BYTES },
	[MODULE] = { "reference.py", "reference_program", MAX_TEXT_BYTES },
	[MATH] = { "spec.math", "math_spec", MATH_MAX_TEXT_BYTES },
};

/* Formats of other projects, which a user may well point at: refused by name rather than as unknown files. */
static const char *
foreign_format(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (dot && !strcmp(dot, ".py"))
		return "a PyTorch module is called reference.py";
	if (!strcmp(name, "definition.json") || !strcmp(name, "workload.jsonl"))
		return "FlashInfer Trace definitions are not read yet: write the task as a spec folder";
	return NULL;
}

static int
check_file_name(const char *name, struct filter_reason *reason)
{
	const char *known[FILES + 1] = { NULL };
	const char *foreign = foreign_format(name), *nearest;

	for (int i = 0; i < FILES; i++) {
		known[i] = files[i].name;
		if (!strcmp(name, files[i].name))
			return 0;
	}
	if (name[0] == '.' || !strncmp(name, "README", 6) || !strncmp(name, "LICENSE", 7))
		return 0;
	if (foreign)
		return refuse(reason, "unsupported_format", "%s: %s", name, foreign);
	nearest = fields_nearest(name, known);
	return refuse(reason, "unknown_file", "%.80s: not a file of a spec folder%s%s%s", name, nearest ? "; is " : "",
		nearest ? nearest : "", nearest ? " meant?" : "");
}

/* The folder's names are looked at in order, so that the one that is refused is always the same. */
static int
check_file_names(const char *folder, struct filter_reason *reason)
{
	struct dirent **names;
	int count = scandir(folder, &names, NULL, alphasort), status = 0;

	if (count < 0)
		return refuse(reason, "unreadable", "the folder cannot be read: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		if (!status)
			status = check_file_name(names[i]->d_name, reason);
		free(names[i]);
	}
	free(names);
	return status;
}

/* Text that can stand in a record: UTF-8, no NUL, something in it. */
static int
check_text(const char *name, const struct buf *text, struct filter_reason *reason)
{
	const char *nul = text->len ? memchr(text->data, 0, text->len) : NULL;
	size_t start = 0, number = 1;

	if (!text->len || strspn(text->data, " \t\r\n") == text->len)
		return refuse(reason, "missing_text", "%s is empty", name);
	if (nul)
		return refuse(reason, "bad_text", "%s: byte %zu is NUL", name, (size_t)(nul - text->data) + 1);
	while (start < text->len) {
		const char *end = memchr(text->data + start, '\n', text->len - start);
		size_t length = end ? (size_t)(end - text->data) - start : text->len - start;
		json_t *line = json_stringn(text->data + start, length);

		if (!line)
			return refuse(reason, "bad_text", "%s:%zu: the line is not UTF-8", name, number);
		json_decref(line);
		start += length + 1;
		number++;
	}
	return 0;
}

/* One file of the folder; 1 read, 0 not there, -1 refused. Only regular files, since opening a FIFO waits. */
static int
read_file(const char *folder, int file, struct buf *out, struct filter_reason *reason)
{
	struct buf path = BUF_INIT, err = BUF_INIT;
	const char *name = files[file].name;
	struct stat st;
	int status = 1;

	buf_addf(&path, "%s/%s", folder, name);
	if (stat(buf_str(&path), &st) < 0)
		status = errno == ENOENT ? 0 : refuse(reason, "unreadable", "%s: %s", name, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		status = refuse(reason, "unreadable", "%s is not a regular file", name);
	else if ((uint64_t)st.st_size > files[file].max_bytes)
		status = refuse(reason, "too_large", "%s has %lld bytes, and %zu are allowed", name, (long long)st.st_size,
			files[file].max_bytes);
	else if (buf_read_file(out, buf_str(&path), files[file].max_bytes, &err) < 0)
		status = refuse(reason, "unreadable", "%s: %s", name, buf_str(&err));
	buf_release(&path);
	buf_release(&err);
	return status;
}

static bool
has_string(const json_t *array, const char *text)
{
	const json_t *element;
	size_t i;

	json_array_foreach((json_t *)array, i, element)
		if (!strcmp(json_string_value(element), text))
			return true;
	return false;
}

/* A form that is listed, or an oracle that is named, needs its file. */
static int
check_forms(const json_t *task, const struct buf *const texts[FILES], struct filter_reason *reason)
{
	const json_t *forms = json_object_get(task, "forms"), *form;
	const char *oracle = rec_json_string(task, "oracle", "");
	size_t i;

	json_array_foreach((json_t *)forms, i, form) {
		int file = PROMPT;

		while (file < FILES && strcmp(files[file].form, json_string_value(form)))
			file++;	/* of the two references the first, which stands for both */
		if (file == FILES)
			return refuse(reason, "bad_forms", "forms[%zu]: there is no form \"%.40s\"; there are "
				"natural_language, reference_program and math_spec", i, json_string_value(form));
	}
	if (texts[REFERENCE] && texts[MODULE])
		return refuse(reason, "bad_forms", "there are reference.c and reference.py, and a task has one reference program");
	for (int file = PROMPT; file < FILES; file++) {
		bool shown = has_string(forms, files[file].form), judge = !strcmp(oracle, files[file].form);
		bool there = texts[file] || (file == REFERENCE && texts[MODULE]) || (file == MODULE && texts[REFERENCE]);

		if ((shown || judge) && !there)
			return refuse(reason, "missing_file", "%s \"%s\" needs %s%s, which is not there",
				shown ? "form" : "oracle", files[file].form, files[file].name,
				file == REFERENCE ? " or reference.py" : "");
	}
	return 0;
}

static void
add_text(json_t *section, const char *key, const char *language_key, const char *language, const char *text_key,
	const struct buf *text)
{
	json_t *object;

	if (!text)
		return;
	object = json_object();
	json_object_set_new(object, language_key, json_string(language));
	json_object_set_new(object, text_key, json_stringn(text->data, text->len));
	json_object_set_new(section, key, object);
}

static void
copy(json_t *section, const json_t *from, const char *key, json_t *otherwise)
{
	json_t *value = json_object_get(from, key);

	if (value)
		json_object_set(section, key, value);
	else if (otherwise)
		json_object_set(section, key, otherwise);
	json_decref(otherwise);
}

static bool
has_float_output(const json_t *task)
{
	const json_t *output;
	size_t i;

	json_array_foreach(json_object_get(task, "outputs"), i, output) {
		const char *name = rec_json_string(output, "dtype", "");
		enum dtype dtype;

		if (!dtype_from_name(name, strlen(name), &dtype) && dtype_is_float(dtype))
			return true;
	}
	return false;
}

/* Tolerances are reals in the record, however they were written. */
static void
add_tolerance(json_t *section, const json_t *task)
{
	const json_t *tolerance = json_object_get(task, "tolerance");

	json_object_set_new(section, "rtol", json_real(rec_json_number(tolerance, "rtol", 0)));
	json_object_set_new(section, "atol", json_real(rec_json_number(tolerance, "atol", 0)));
	copy(section, tolerance, "reduction", NULL);
}

/* The order of keys is the record's own; id, latex, prototype and bytes are filled in later. */
static json_t *
section_of(const json_t *task, const struct buf *const texts[FILES])
{
	json_t *section = json_object();

	copy(section, task, "name", NULL);
	copy(section, task, "op_type", NULL);
	copy(section, task, "tags", json_array());
	copy(section, task, "forms", NULL);
	if (texts[PROMPT] && has_string(json_object_get(task, "forms"), "natural_language"))
		json_object_set_new(section, "prompt", json_stringn(texts[PROMPT]->data, texts[PROMPT]->len));
	add_text(section, "reference", "language", "c", "source", texts[REFERENCE]);
	add_text(section, "reference", "language", "pytorch", "source", texts[MODULE]);
	add_text(section, "math_spec", "language", MATH_LANGUAGE, "text", texts[MATH]);
	copy(section, task, "oracle", NULL);
	copy(section, task, "axes", NULL);
	copy(section, task, "scalars", json_array());
	copy(section, task, "inputs", NULL);
	copy(section, task, "outputs", NULL);
	add_tolerance(section, task);
	copy(section, task, "workloads", NULL);
	copy(section, task, "examples", NULL);
	copy(section, task, "license", NULL);
	copy(section, task, "source", NULL);
	return section;
}

json_t *
spec_parse(const char *text, size_t length, const struct spec_texts *given, struct filter_reason *reason)
{
	const struct buf *const texts[FILES] = {
		[PROMPT] = given->prompt, [REFERENCE] = given->reference, [MODULE] = given->module,
		[MATH] = given->math,
	};
	struct buf err = BUF_INIT;
	json_t *task = rec_json_parse(text, length, &err), *section = NULL;
	int status = 0;

	if (!task)
		status = refuse(reason, "bad_json", "task.json:%s", buf_str(&err));
	else if (fields_check(fields_task, task, &err) < 0)
		status = refuse(reason, "bad_field", "task.json: %s", buf_str(&err));
	else if (strcmp(rec_json_string(task, "format", ""), SPEC_FORMAT))
		status = refuse(reason, "unsupported_format", "task.json: format is \"%.60s\", and this program reads \"%s\"",
			rec_json_string(task, "format", ""), SPEC_FORMAT);
	else if (!json_object_get(task, "tolerance") && has_float_output(task))
		status = refuse(reason, "bad_tolerance", "task.json: a float output needs a tolerance, of 0 where it is exact");
	for (int file = PROMPT; !status && file < FILES; file++)
		if (texts[file])
			status = check_text(files[file].name, texts[file], reason);
	if (!status && !check_forms(task, texts, reason))
		section = section_of(task, texts);
	json_decref(task);
	buf_release(&err);
	return section;
}

json_t *
spec_read(const char *folder, struct buf *raw, struct filter_reason *reason)
{
	struct buf text[FILES] = { BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT, BUF_INIT };
	const struct buf *there[FILES] = { NULL };
	json_t *section = NULL;
	int status = read_file(folder, TASK_JSON, raw, reason);

	if (status == 0)
		status = check_file_names(folder, reason) < 0 ? -1 :
			refuse(reason, "missing_file", "the folder has no task.json");
	else if (status > 0)
		status = check_file_names(folder, reason);
	for (int file = PROMPT; status >= 0 && file < FILES; file++) {
		status = read_file(folder, file, &text[file], reason);
		if (status > 0)
			there[file] = &text[file];
	}
	if (status >= 0) {
		struct spec_texts texts = { there[PROMPT], there[REFERENCE], there[MODULE], there[MATH] };

		section = spec_parse(buf_str(raw), raw->len, &texts, reason);
	}
	for (int file = 0; file < FILES; file++)
		buf_release(&text[file]);
	return section;
}
