/* JSON values from outside and back. Text comes in, a jansson tree goes out, and the reverse.
 * jansson's own writer prints 0.1 as 0.10000000000000001 and takes 2,048 levels of nesting; the writer
 * here gives the shortest number that reads back equal, because ids are hashed from its bytes. */
#include "rec/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "base/die.h"
#include "rec/utf8.h"

enum { MAX_DEPTH = 64 };

/* jansson recurses, so the depth is bounded before it sees the text. */
static bool
too_deep(const char *text, size_t length)
{
	int depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > MAX_DEPTH)
				return true;
		} else if (c == '}' || c == ']') {
			depth--;
		}
	}
	return false;
}

json_t *
rec_json_parse(const char *text, size_t length, struct buf *err)
{
	json_error_t error;
	json_t *value;

	if (too_deep(text, length)) {
		buf_err(err, "brackets are nested more than %d deep", MAX_DEPTH);
		return NULL;
	}
	value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!value)
		buf_err(err, "%d:%d: %s", error.line, error.column, error.text);
	return value;
}

json_t *
rec_json_load_file(const char *path, size_t max_bytes, struct buf *err)
{
	struct buf text = BUF_INIT, why = BUF_INIT;
	json_t *value = NULL;

	if (buf_read_file(&text, path, max_bytes, err) == 0) {
		value = rec_json_parse(buf_str(&text), text.len, &why);
		if (!value)
			buf_err(err, "%s:%s", path, buf_str(&why));
	}
	buf_release(&text);
	buf_release(&why);
	return value;
}

static void
dump_string(const char *text, size_t length, struct buf *out)
{
	static const char hex[] = "0123456789abcdef";
	size_t start = 0;

	buf_addc(out, '"');
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		char escape[6] = { '\\', 0, '0', '0', 0, 0 };
		size_t count = 2;

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		switch (c) {
		case '"': case '\\': escape[1] = (char)c; break;
		case '\b': escape[1] = 'b'; break;
		case '\f': escape[1] = 'f'; break;
		case '\n': escape[1] = 'n'; break;
		case '\r': escape[1] = 'r'; break;
		case '\t': escape[1] = 't'; break;
		default:
			escape[1] = 'u';
			escape[4] = hex[c >> 4];
			escape[5] = hex[c & 15];
			count = 6;
		}
		buf_add(out, text + start, i - start);
		buf_add(out, escape, count);
		start = i + 1;
	}
	buf_add(out, text + start, length - start);
	buf_addc(out, '"');
}

static void
dump_real(double value, bool canonical, struct buf *out)
{
	char text[40];

	/* 1 and 1.0 are one value to whoever wrote the spec, so they are one to the identity. */
	if (canonical && value == rint(value) && fabs(value) < 9007199254740992.0) {
		buf_addf(out, "%" PRId64, (int64_t)value);
		return;
	}
	/* 15 digits always suffice for what was written with 15; only subnormals can be shorter yet. */
	for (int digits = fabs(value) < 1e-300 ? 1 : 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_adds(out, text);
	if (!strpbrk(text, ".e"))
		buf_adds(out, ".0");
}

static void dump_value(const json_t *value, bool canonical, struct buf *out);

static int
by_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
dump_sorted(const json_t *object, struct buf *out)
{
	size_t count = json_object_size(object), i = 0;
	const char **keys = xcalloc(count + 1, sizeof *keys), *key;
	json_t *member;

	json_object_foreach((json_t *)object, key, member)
		keys[i++] = key;
	qsort(keys, count, sizeof *keys, by_key);
	for (i = 0; i < count; i++) {
		if (i)
			buf_addc(out, ',');
		dump_string(keys[i], strlen(keys[i]), out);
		buf_addc(out, ':');
		dump_value(json_object_get(object, keys[i]), true, out);
	}
	free(keys);
}

static void
dump_object(const json_t *object, bool canonical, struct buf *out)
{
	const char *key;
	json_t *member;
	bool first = true;

	buf_addc(out, '{');
	if (canonical) {
		dump_sorted(object, out);
	} else {
		json_object_foreach((json_t *)object, key, member) {
			if (!first)
				buf_addc(out, ',');
			first = false;
			dump_string(key, strlen(key), out);
			buf_addc(out, ':');
			dump_value(member, false, out);
		}
	}
	buf_addc(out, '}');
}

static void
dump_array(const json_t *array, bool canonical, struct buf *out)
{
	buf_addc(out, '[');
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i)
			buf_addc(out, ',');
		dump_value(json_array_get(array, i), canonical, out);
	}
	buf_addc(out, ']');
}

static void
dump_value(const json_t *value, bool canonical, struct buf *out)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT: dump_object(value, canonical, out); break;
	case JSON_ARRAY: dump_array(value, canonical, out); break;
	case JSON_STRING: dump_string(json_string_value(value), json_string_length(value), out); break;
	case JSON_INTEGER: buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
	case JSON_REAL: dump_real(json_real_value(value), canonical, out); break;
	case JSON_TRUE: buf_adds(out, "true"); break;
	case JSON_FALSE: buf_adds(out, "false"); break;
	case JSON_NULL: buf_adds(out, "null"); break;
	}
}

void
rec_json_dump(const json_t *value, struct buf *out)
{
	dump_value(value, false, out);
}

void
rec_json_canonical(const json_t *value, struct buf *out)
{
	dump_value(value, true, out);
}

json_t *
rec_json_text(const char *bytes, size_t length)
{
	struct buf text = BUF_INIT;
	json_t *value;

	for (size_t i = 0; i < length;) {
		size_t count = utf8_length((const unsigned char *)bytes + i, length - i);

		/* A NUL would be a value that our own loader refuses. */
		if (count && bytes[i]) {
			buf_add(&text, bytes + i, count);
			i += count;
		} else {
			buf_adds(&text, "\xEF\xBF\xBD");
			i++;
		}
	}
	value = json_stringn(buf_str(&text), text.len);
	buf_release(&text);
	if (!value)
		die(EX_TEMPFAIL, "out of memory");
	return value;
}

const char *
rec_json_string(const json_t *object, const char *key, const char *otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? json_string_value(value) : otherwise;
}

json_int_t
rec_json_integer(const json_t *object, const char *key, json_int_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double
rec_json_number(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

int
rec_json_boolean(const json_t *object, const char *key, int otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static double
round_to(double value, int digits)
{
	char text[40];

	if (!isfinite(value))
		return value;
	snprintf(text, sizeof text, "%.*g", digits, value);
	return strtod(text, NULL);
}

double
rec_json_round3(double value)
{
	return round_to(value, 3);
}

double
rec_json_round6(double value)
{
	return round_to(value, 6);
}
