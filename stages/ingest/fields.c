/* In: an object of a task.json and the table of its keys. Out: nothing, or one sentence about the first
 * thing wrong. The table nests, so that one description holds the whole file, and a misspelt key is an
 * error with a suggestion rather than a default that nobody asked for. */
#include "fields.h"

enum { LONGEST_WORD = 40, MAX_DEPTH = 8 };

static const struct field axis_fields[] = {
	{ "name", FIELD_STRING, true, NULL },
	{ "value", FIELD_INTEGER, false, NULL },
	{ "expr", FIELD_STRING, false, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field scalar_fields[] = {
	{ "name", FIELD_STRING, true, NULL },
	{ "dtype", FIELD_STRING, true, NULL },
	{ "value", FIELD_NUMBER, true, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field domain_fields[] = {
	{ "distribution", FIELD_STRING, true, NULL },
	{ "mean", FIELD_NUMBER, false, NULL },
	{ "scale", FIELD_NUMBER, false, NULL },
	{ "low", FIELD_BOUND, false, NULL },
	{ "high", FIELD_BOUND, false, NULL },
	{ "p", FIELD_NUMBER, false, NULL },
	{ "value", FIELD_NUMBER, false, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field input_fields[] = {
	{ "name", FIELD_STRING, true, NULL },
	{ "dtype", FIELD_STRING, true, NULL },
	{ "shape", FIELD_STRINGS, true, NULL },
	{ "domain", FIELD_OBJECT, true, domain_fields },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field output_fields[] = {
	{ "name", FIELD_STRING, true, NULL },
	{ "dtype", FIELD_STRING, true, NULL },
	{ "shape", FIELD_STRINGS, true, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field tolerance_fields[] = {
	{ "rtol", FIELD_NUMBER, true, NULL },
	{ "atol", FIELD_NUMBER, true, NULL },
	{ "reduction", FIELD_STRING, false, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field workload_fields[] = {
	{ "name", FIELD_STRING, true, NULL },
	{ "role", FIELD_STRING, true, NULL },
	{ "axes", FIELD_INTEGERS, true, NULL },
	{ "held_out", FIELD_BOOLEAN, false, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field example_fields[] = {
	{ "axes", FIELD_INTEGERS, false, NULL },
	{ "inputs", FIELD_ARRAYS, true, NULL },
	{ "outputs", FIELD_ARRAYS, true, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
static const struct field source_fields[] = {
	{ "kind", FIELD_STRING, true, NULL },
	{ "author", FIELD_STRING, false, NULL },
	{ "url", FIELD_STRING, false, NULL },
	{ "revision", FIELD_STRING, false, NULL },
	{ NULL, FIELD_STRING, false, NULL },
};
const struct field fields_task[] = {
	{ "format", FIELD_STRING, true, NULL },
	{ "name", FIELD_STRING, true, NULL },
	{ "op_type", FIELD_STRING, true, NULL },
	{ "tags", FIELD_STRINGS, false, NULL },
	{ "forms", FIELD_STRINGS, true, NULL },
	{ "oracle", FIELD_STRING, true, NULL },
	{ "axes", FIELD_OBJECTS, true, axis_fields },
	{ "scalars", FIELD_OBJECTS, false, scalar_fields },
	{ "inputs", FIELD_OBJECTS, true, input_fields },
	{ "outputs", FIELD_OBJECTS, true, output_fields },
	{ "tolerance", FIELD_OBJECT, false, tolerance_fields },
	{ "workloads", FIELD_OBJECTS, true, workload_fields },
	{ "examples", FIELD_OBJECTS, false, example_fields },
	{ "license", FIELD_STRING, true, NULL },
	{ "source", FIELD_OBJECT, true, source_fields },
	{ NULL, FIELD_STRING, false, NULL },
};

/* Levenshtein's distance, with one row of the table kept. Words are at most LONGEST_WORD long. */
static size_t
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t row[LONGEST_WORD + 1];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; i < a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			size_t best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j + 1] = best < diagonal + 1 ? best : diagonal + 1;
		}
	}
	return row[b_length];
}

const char *
fields_nearest(const char *word, const char *const *candidates)
{
	size_t length = strlen(word), least = 3;
	const char *nearest = NULL;

	for (; length <= LONGEST_WORD && *candidates; candidates++) {
		size_t other = strlen(*candidates), d;

		if (other > LONGEST_WORD)
			continue;
		d = distance(word, length, *candidates, other);
		if (d < least && 2 * d <= length) {
			least = d;
			nearest = *candidates;
		}
	}
	return nearest;
}

static int check_object(const struct field *fields, const json_t *object, const char *path, struct buf *err);

static int
unknown_key(const struct field *fields, const char *key, const char *path, struct buf *err)
{
	const char *names[32];
	const char *nearest;
	size_t count = 0;

	for (; fields[count].name && count < 31; count++)
		names[count] = fields[count].name;
	names[count] = NULL;
	nearest = fields_nearest(key, names);
	buf_err(err, "%s%sunknown key \"%.60s\"", path, *path ? ": " : "", key);
	if (nearest)
		buf_addf(err, "; is \"%s\" meant?", nearest);
	return -1;
}

/* Numbers and booleans, in arrays as deep as a tensor has dimensions. */
static bool
is_numbers(const json_t *value, int depth)
{
	const json_t *element;
	size_t i;

	if (!json_is_array(value) || depth > MAX_DEPTH)
		return false;
	json_array_foreach((json_t *)value, i, element)
		if (!json_is_number(element) && !json_is_boolean(element) && !is_numbers(element, depth + 1))
			return false;
	return true;
}

static bool
all_strings(const json_t *value)
{
	const json_t *element;
	size_t i;

	if (!json_is_array(value))
		return false;
	json_array_foreach((json_t *)value, i, element)
		if (!json_is_string(element) || !json_string_length(element))
			return false;
	return true;
}

static bool
all_members(const json_t *value, enum field_kind kind)
{
	const json_t *member;
	const char *key;

	if (!json_is_object(value))
		return false;
	json_object_foreach((json_t *)value, key, member)
		if (kind == FIELD_INTEGERS ? !json_is_integer(member) : !is_numbers(member, 0))
			return false;
	return true;
}

static bool
is_kind(const json_t *value, enum field_kind kind)
{
	bool text = json_is_string(value) && json_string_length(value);

	switch (kind) {
	case FIELD_STRING: return text;
	case FIELD_INTEGER: return json_is_integer(value);
	case FIELD_NUMBER: return json_is_number(value);
	case FIELD_BOOLEAN: return json_is_boolean(value);
	case FIELD_BOUND: return text || json_is_number(value);
	case FIELD_STRINGS: return all_strings(value);
	case FIELD_INTEGERS:
	case FIELD_ARRAYS: return all_members(value, kind);
	case FIELD_OBJECT: return json_is_object(value);
	case FIELD_OBJECTS: return json_is_array(value);
	}
	return false;
}

static const char *
kind_name(enum field_kind kind)
{
	static const char *const names[] = {
		[FIELD_STRING] = "a string that is not empty",
		[FIELD_INTEGER] = "an integer",
		[FIELD_NUMBER] = "a number",
		[FIELD_BOOLEAN] = "true or false",
		[FIELD_BOUND] = "a number, or an axis expression in a string",
		[FIELD_STRINGS] = "an array of strings",
		[FIELD_INTEGERS] = "an object of integers",
		[FIELD_ARRAYS] = "an object of arrays of numbers",
		[FIELD_OBJECT] = "an object",
		[FIELD_OBJECTS] = "an array of objects",
	};

	return names[kind];
}

static int
check_value(const struct field *f, const json_t *value, const char *path, struct buf *err)
{
	struct buf inner = BUF_INIT;
	const json_t *element;
	int status = 0;
	size_t i;

	buf_addf(&inner, "%s%s%s", path, *path ? "." : "", f->name);
	if (!is_kind(value, f->kind)) {
		status = buf_err(err, "%s must be %s", buf_str(&inner), kind_name(f->kind));
	} else if (f->kind == FIELD_OBJECT) {
		status = check_object(f->inside, value, buf_str(&inner), err);
	} else if (f->kind == FIELD_OBJECTS) {
		json_array_foreach((json_t *)value, i, element) {
			struct buf place = BUF_INIT;

			buf_addf(&place, "%s[%zu]", buf_str(&inner), i);
			status = check_object(f->inside, element, buf_str(&place), err);
			buf_release(&place);
			if (status < 0)
				break;
		}
	}
	buf_release(&inner);
	return status;
}

static int
check_object(const struct field *fields, const json_t *object, const char *path, struct buf *err)
{
	const char *colon = *path ? ": " : "";
	const json_t *value;
	const char *key;

	if (!json_is_object(object))
		return buf_err(err, "%s%smust be an object", path, *path ? " " : "task.json ");
	json_object_foreach((json_t *)object, key, value) {
		const struct field *f = fields;

		while (f->name && strcmp(f->name, key))
			f++;
		if (!f->name)
			return unknown_key(fields, key, path, err);
		if (check_value(f, value, path, err) < 0)
			return -1;
	}
	for (const struct field *f = fields; f->name; f++)
		if (f->required && !json_object_get(object, f->name))
			return buf_err(err, "%s%skey \"%s\" is missing", path, colon, f->name);
	return 0;
}

int
fields_check(const struct field *fields, const json_t *object, struct buf *err)
{
	return check_object(fields, object, "", err);
}
