/* The record table. A jansson value and a record's name come in; a verdict with the path of the first
 * wrong field goes out, or the record's JSON Schema. The hard idea: one table gives both, so that the
 * published schema cannot say anything else than what the loader does. */
#include "rec/schema.h"

#include <stdbool.h>

#include "rec/json.h"
#include "rec/table.h"

static const char *const kind_names[] = {
	[KIND_STRING] = "string", [KIND_INTEGER] = "integer", [KIND_NUMBER] = "number",
		[KIND_BOOLEAN] = "boolean",
	[KIND_RECORD] = "object", [KIND_MAP] = "object", [KIND_INTEGER_MAP] = "object",
};

static const char *const json_names[] = {
	[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
	[JSON_INTEGER] = "an integer", [JSON_REAL] = "a real number", [JSON_TRUE] = "true",
	[JSON_FALSE] = "false",
	[JSON_NULL] = "null",
};

static bool
all_of(const char *text, const char *set, size_t length)
{
	return strlen(text) == length && strspn(text, set) == length;
}

static bool
is_name(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	size_t length = strlen(text);

	return length > 0 && length <= 64 && strspn(text, letters) > 0 &&
		strspn(text + 1,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == length - 1;
}

static bool
is_version(const char *text)
{
	size_t length = strlen(text);

	return length >= 3 && length <= 8 && !memcmp(text, "1.", 2) && strspn(text + 2,
		"0123456789") == length - 2;
}

/* 2026-01-31T23:59:59Z, the one form in which we write times. */
static bool
is_time(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00Z";

	if (strlen(text) != sizeof shape - 1)
		return false;
	for (size_t i = 0; i < sizeof shape - 1; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return true;
}

static bool
fits_form(enum form form, const char *text)
{
	switch (form) {
	case FORM_ANY: return true;
	case FORM_ID: return all_of(text, "0123456789abcdef", 32);
	case FORM_SHA256: return all_of(text, "0123456789abcdef", 64);
	case FORM_NAME: return is_name(text);
	case FORM_VERSION: return is_version(text);
	case FORM_TIME: return is_time(text);
	}
	return false;
}

static const struct form_text {
	const char *pattern, *words;
} forms[] = {
	[FORM_ANY] = { NULL, NULL },
	[FORM_ID] = { "^[0-9a-f]{32}$", "32 lower-case hexadecimal digits" },
	[FORM_SHA256] = { "^[0-9a-f]{64}$", "64 lower-case hexadecimal digits" },
	[FORM_NAME] = { "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
	"a name of at most 64 letters, digits and underscores" },
	[FORM_VERSION] = { "^1\\.[0-9]{1,6}$", "a version 1.x" },
	[FORM_TIME] = { "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$",
	"a time as 2026-01-31T23:59:59Z" },
};

static const struct record *
find_record(const char *name)
{
	for (const struct record *r = rec_table; r->name; r++)
		if (!strcmp(r->name, name))
			return r;
	return NULL;
}

/* ---- checking */

static int check_record(const struct record *r, const json_t *value, struct buf *path, struct buf *err);

static int
wrong_type(const char *wanted, const json_t *value, const struct buf *path, struct buf *err)
{
	return buf_err(err, "%s: must be %s, and is %s", buf_str(path), wanted, json_names[json_typeof(value)]);
}

static int
check_string(const struct field *f, const json_t *value, const struct buf *path, struct buf *err)
{
	const char *text = json_string_value(value);

	if (!text)
		return wrong_type("a string", value, path, err);
	if ((f->flags & NONEMPTY) && !*text)
		return buf_err(err, "%s: must not be empty", buf_str(path));
	if (!fits_form(f->form, text))
		return buf_err(err, "%s: must be %s, and is \"%.80s\"", buf_str(path), forms[f->form].words,
			text);
	if (!f->choices)
		return 0;
	for (const char *const *choice = f->choices; *choice; choice++)
		if (!strcmp(*choice, text))
			return 0;
	buf_err(err, "%s: \"%.80s\" is none of", buf_str(path), text);
	for (const char *const *choice = f->choices; err && *choice; choice++)
		buf_addf(err, "%s %s", choice == f->choices ? "" : ",", *choice);
	return -1;
}

static int
check_integer(const struct field *f, const json_t *value, const struct buf *path, struct buf *err)
{
	json_int_t number = json_integer_value(value), least = f->flags & POSITIVE ? 1 : 0;

	if (!json_is_integer(value))
		return wrong_type("an integer", value, path, err);
	if ((f->flags & (POSITIVE | NOT_NEGATIVE)) && number < least)
		return buf_err(err, "%s: %lld is less than %lld", buf_str(path), (long long)number,
			(long long)least);
	/* Beyond 2^53 most readers of JSON would change the number silently. */
	if (number > MAX_INTEGER || number < -MAX_INTEGER)
		return buf_err(err, "%s: %lld is beyond 2^53", buf_str(path), (long long)number);
	return 0;
}

static int
check_number(const struct field *f, const json_t *value, const struct buf *path, struct buf *err)
{
	if (!json_is_number(value))
		return wrong_type("a number", value, path, err);
	if ((f->flags & NOT_NEGATIVE) && json_number_value(value) < 0)
		return buf_err(err, "%s: %g is less than 0", buf_str(path), json_number_value(value));
	return 0;
}

static int
check_integer_map(const struct field *f, const json_t *value, struct buf *path, struct buf *err)
{
	size_t length = path->len;
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)value, key, member) {
		buf_addf(path, ".%s", key);
		if (check_integer(f, member, path, err) < 0)
			return -1;
		path->len = length;
		path->data[length] = '\0';
	}
	return 0;
}

static int
check_one(const struct field *f, const json_t *value, struct buf *path, struct buf *err)
{
	switch (f->kind) {
	case KIND_STRING: return check_string(f, value, path, err);
	case KIND_INTEGER: return check_integer(f, value, path, err);
	case KIND_NUMBER: return check_number(f, value, path, err);
	case KIND_BOOLEAN: return json_is_boolean(value) ? 0 : wrong_type("true or false", value, path, err);
	case KIND_NUMBER_OR_TEXT:
		return json_is_number(value) || json_is_string(value) ? 0 :
			wrong_type("a number or a string", value, path, err);
	case KIND_RECORD:
		if (!json_is_object(value))
			return wrong_type("an object", value, path, err);
		return check_record(find_record(f->record), value, path, err);
	case KIND_MAP: return json_is_object(value) ? 0 : wrong_type("an object", value, path, err);
	case KIND_INTEGER_MAP:
		return json_is_object(value) ? check_integer_map(f, value, path, err) :
		wrong_type("an object", value, path, err);
	case KIND_ANYTHING: return 0;
	}
	return 0;
}

static int
check_field(const struct field *f, const json_t *value, struct buf *path, struct buf *err)
{
	size_t length = path->len;

	if (json_is_null(value) && (f->flags & NULLABLE))
		return 0;
	if (!(f->flags & ARRAY))
		return check_one(f, value, path, err);
	if (!json_is_array(value))
		return wrong_type("an array", value, path, err);
	if ((f->flags & SOME) && json_array_size(value) == 0)
		return buf_err(err, "%s: must have an item at least", buf_str(path));
	for (size_t i = 0; i < json_array_size(value); i++) {
		buf_addf(path, "[%zu]", i);
		if (check_one(f, json_array_get(value, i), path, err) < 0)
			return -1;
		path->len = length;
		path->data[length] = '\0';
	}
	return 0;
}

static int
check_record(const struct record *r, const json_t *value, struct buf *path, struct buf *err)
{
	size_t length = path->len;

	for (const struct field *f = r->fields; f->name; f++) {
		const json_t *member = json_object_get(value, f->name);

		if (!member && !(f->flags & REQUIRED))
			continue;
		buf_addf(path, "%s%s", length ? "." : "", f->name);
		if (!member)
			return buf_err(err, "%s: is missing", path->data);
		if (check_field(f, member, path, err) < 0)
			return -1;
		path->len = length;
		path->data[length] = '\0';
	}
	return 0;
}

int
rec_schema_check(const char *name, const json_t *value, struct buf *err)
{
	const struct record *r = find_record(name);
	struct field whole = { .name = name, .kind = KIND_RECORD, .record = name };
	struct buf path = BUF_INIT;
	int status;

	if (!r)
		return buf_err(err, "there is no record named \"%s\"", name);
	/* The fields of a case are known by their own names: "task.rtol", not "case.task.rtol". */
	if (!strcmp(name, "case") && json_is_object(value))
		buf_reserve(&path, 1);
	else
		buf_adds(&path, name);
	status = check_one(&whole, value, &path, err);
	buf_release(&path);
	return status;
}

int
rec_schema_check_section(const char *section, const json_t *value, struct buf *err)
{
	struct buf path = BUF_INIT;
	int status = 0;

	if (!value)
		return buf_err(err, "%s: has no value", section);
	for (const struct field *f = find_record("case")->fields; f->name; f++) {
		if (strcmp(f->name, section))
			continue;
		buf_adds(&path, section);
		status = check_field(f, value, &path, err);
	}
	buf_release(&path);
	return status;
}

/* ---- writing JSON Schema */

static json_t *
type_name(const struct field *f)
{
	const char *name = kind_names[f->kind];

	return (f->flags & NULLABLE) && !(f->flags & ARRAY) ? json_pack("[ss]", name, "null") :
		json_string(name);
}

static void
add_limits(json_t *schema, const struct field *f)
{
	bool integer = f->kind == KIND_INTEGER || f->kind == KIND_INTEGER_MAP;

	if (integer) {
		json_object_set_new(schema, "minimum",
			json_integer(f->flags & POSITIVE ? 1 : f->flags & NOT_NEGATIVE ? 0 : -MAX_INTEGER));
		json_object_set_new(schema, "maximum", json_integer(MAX_INTEGER));
	} else if (f->flags & NOT_NEGATIVE) {
		json_object_set_new(schema, "minimum", json_integer(0));
	}
	if (f->flags & NONEMPTY)
		json_object_set_new(schema, "minLength", json_integer(1));
	if (forms[f->form].pattern)
		json_object_set_new(schema, "pattern", json_string(forms[f->form].pattern));
}

static void
add_choices(json_t *schema, const struct field *f)
{
	json_t *list;

	if (!f->choices)
		return;
	list = json_array();
	for (const char *const *choice = f->choices; *choice; choice++)
		json_array_append_new(list, json_string(*choice));
	if ((f->flags & NULLABLE) && !(f->flags & ARRAY))
		json_array_append_new(list, json_null());
	json_object_set_new(schema, "enum", list);
}

static json_t *
one_schema(const struct field *f)
{
	json_t *schema = json_object();

	switch (f->kind) {
	case KIND_ANYTHING:
		break;
	case KIND_NUMBER_OR_TEXT:
		json_object_set_new(schema, "type", f->flags & NULLABLE ? json_pack("[sss]", "number",
		"string", "null") :
			json_pack("[ss]", "number", "string"));
		break;
	case KIND_RECORD: {
		json_t *ref = json_pack("{s:s+}", "$ref", "#/$defs/", f->record);

		if ((f->flags & NULLABLE) && !(f->flags & ARRAY)) {
			json_object_set_new(schema, "anyOf", json_pack("[o,{s:s}]", ref, "type", "null"));
		} else {
			json_object_update(schema, ref);
			json_decref(ref);
		}
		break;
	}
	case KIND_INTEGER_MAP: {
		json_t *number = json_pack("{s:s}", "type", "integer");

		add_limits(number, f);
		json_object_set_new(schema, "type", type_name(f));
		json_object_set_new(schema, "additionalProperties", number);
		break;
	}
	default:
		json_object_set_new(schema, "type", type_name(f));
		add_limits(schema, f);
		add_choices(schema, f);
	}
	return schema;
}

static json_t *
field_schema(const struct field *f)
{
	json_t *schema = one_schema(f);

	if (f->flags & ARRAY) {
		schema = json_pack("{s:o}", "items", schema);
		json_object_set_new(schema, "type", f->flags & NULLABLE ? json_pack("[ss]", "array", "null") :
			json_string("array"));
		if (f->flags & SOME)
			json_object_set_new(schema, "minItems", json_integer(1));
	}
	if (f->about)
		json_object_set_new(schema, "description", json_string(f->about));
	return schema;
}

static json_t *
record_schema(const struct record *r)
{
	json_t *schema = json_object(), *properties = json_object(), *required = json_array();

	for (const struct field *f = r->fields; f->name; f++) {
		json_object_set_new(properties, f->name, field_schema(f));
		if (f->flags & REQUIRED)
			json_array_append_new(required, json_string(f->name));
	}
	if (r->about)
		json_object_set_new(schema, "description", json_string(r->about));
	json_object_set_new(schema, "type", json_string("object"));
	json_object_set_new(schema, "properties", properties);
	if (json_array_size(required))
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

static void
collect_definitions(const struct record *r, json_t *definitions)
{
	for (const struct field *f = r->fields; f->name; f++) {
		const struct record *inner = f->kind == KIND_RECORD ? find_record(f->record) : NULL;

		if (!inner || json_object_get(definitions, inner->name))
			continue;
		json_object_set_new(definitions, inner->name, record_schema(inner));
		collect_definitions(inner, definitions);
	}
}

int
rec_schema_write(const char *name, struct buf *out)
{
	const struct record *r = find_record(name);
	json_t *schema, *definitions = json_object();
	char *text;

	if (!r || !r->published) {
		json_decref(definitions);
		return -1;
	}
	schema = json_pack("{s:s, s:s+}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
		"KernelMosaic ", name);
	json_object_update_new(schema, record_schema(r));
	collect_definitions(r, definitions);
	if (json_object_size(definitions))
		json_object_set(schema, "$defs", definitions);
	json_decref(definitions);
	text = json_dumps(schema, JSON_INDENT(1));
	json_decref(schema);
	if (!text)
		return -1;
	buf_adds(out, text);
	buf_addc(out, '\n');
	free(text);
	return 0;
}

/* ---- columns for a dataset card */

static int
write_columns(const struct record *r, int indent, struct buf *out)
{
	static const char *const dtypes[] = {
		[KIND_STRING] = "string", [KIND_INTEGER] = "int64", [KIND_NUMBER] = "float64",
			[KIND_BOOLEAN] = "bool",
	};

	for (const struct field *f = r->fields; f->name; f++) {
		bool list = (f->flags & ARRAY) != 0;

		buf_addf(out, "%*s- name: %s\n%*s  ", indent, "", f->name, indent, "");
		if (f->kind == KIND_RECORD) {
			buf_addf(out, "%s:\n", list ? "list" : "struct");
			if (write_columns(find_record(f->record), indent + 2, out) < 0)
				return -1;
		} else if (f->kind <= KIND_BOOLEAN) {
			buf_addf(out, "%s: %s\n", list ? "sequence" : "dtype", dtypes[f->kind]);
		} else {
			return -1;
		}
	}
	return 0;
}

int
rec_schema_features(const char *name, int indent, struct buf *out)
{
	const struct record *r = find_record(name);

	return r ? write_columns(r, indent, out) : -1;
}
