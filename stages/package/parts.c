/* Small pieces that rows are made of: members come in, members of one fixed type go out. */
#include "parts.h"

#include <math.h>
#include <stdarg.h>

#include "base/die.h"
#include "rec/case.h"
#include "rec/json.h"

json_t *
parts_start(void)
{
	return json_pack("{s:s}", "schema_version", REC_SCHEMA_VERSION);
}

json_t *
parts_value(const json_t *record, const char *key)
{
	json_t *value = json_object_get(record, key);

	return value ? json_incref(value) : json_null();
}

void
parts_copy(json_t *row, const json_t *from, ...)
{
	va_list args;
	const char *key;

	va_start(args, from);
	while ((key = va_arg(args, const char *)))
		json_object_set_new(row, key, parts_value(from, key));
	va_end(args);
}

json_t *
parts_list(const json_t *record, const char *key)
{
	json_t *value = json_object_get(record, key);

	return json_is_array(value) ? json_incref(value) : json_array();
}

static int
by_id(const void *a, const void *b)
{
	return strcmp(rec_json_string(*(const json_t *const *)a, "id", ""),
		rec_json_string(*(const json_t *const *)b, "id", ""));
}

const json_t **
parts_by_id(const json_t *list)
{
	size_t count = json_array_size(list);
	const json_t **sorted = xcalloc(count + 1, sizeof *sorted);

	for (size_t i = 0; i < count; i++)
		sorted[i] = json_array_get(list, i);
	qsort(sorted, count, sizeof *sorted, by_id);
	return sorted;
}

json_t *
parts_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *
parts_text(const char *text)
{
	return text ? json_string(text) : json_null();
}

json_t *
parts_json_text(const json_t *value)
{
	struct buf text = BUF_INIT;
	json_t *string;

	rec_json_dump(value, &text);
	string = json_stringn(text.data, text.len);
	buf_release(&text);
	return string;
}

json_t *
parts_named_sizes(const json_t *map)
{
	json_t *list = json_array(), *value;
	const char *key;

	json_object_foreach((json_t *)map, key, value)
		json_array_append_new(list, json_pack("{s:s, s:O}", "name", key, "value", value));
	return list;
}

json_t *
parts_origin(const json_t *origin)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", rec_json_string(origin, "kind", "authored"),
		"author",
		parts_value(origin, "author"), "model", parts_value(origin, "model"), "policy_sha256",
		parts_value(origin, "policy_sha256"), "staged_error", parts_value(origin, "staged_error"));
}

json_t *
parts_branch(const json_t *record)
{
	const char *branch = rec_json_string(record, "branch", "");

	return parts_text(*branch ? branch : NULL);
}
