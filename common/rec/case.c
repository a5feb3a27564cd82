/* A case line comes in, the places of its top-level sections go out, and splicing writes a new line.
 * The hard idea: nearly all bytes of a case lie inside strings (sources, logs, messages), so strings are
 * stepped over eight bytes at a time and only the structure between them is looked at byte by byte. */
#include "rec/case.h"

#include <stdbool.h>
#include <stdint.h>

#include "rec/json.h"
#include "rec/schema.h"
#include "rec/utf8.h"

enum { MAX_DEPTH = 64 };

struct scanner {
	const unsigned char *text;
	size_t length, at;
	struct buf *err;
};

static int
refuse(struct scanner *s, const char *what)
{
	return buf_err(s->err, "byte %zu: %s", s->at + 1, what);
}

static void
skip_blanks(struct scanner *s)
{
	while (s->at < s->length) {
		unsigned char c = s->text[s->at];

		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
		s->at++;
	}
}

static int
peek(const struct scanner *s)
{
	return s->at < s->length ? s->text[s->at] : -1;
}

/* How many of the next bytes are certainly plain: not a quote, backslash, control or non-ASCII byte. */
static size_t
plain_run(const unsigned char *text, size_t length)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t i = 0;

	for (; i + 8 <= length; i += 8) {
		uint64_t word, quote, slash, special;

		memcpy(&word, text + i, 8);
		quote = word ^ (ones * '"');
		slash = word ^ (ones * '\\');
		/* A byte's top bit is set here if the byte is zero after the xor, below 0x20, or has it itself.
		 * Borrows can only raise false alarms above a true one, so the lowest alarm is true. */
		special = (((quote - ones) | (slash - ones) | (word - ones * 0x20)) | word) & tops;
		if (special)
			return i + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				(size_t)__builtin_ctzll(special) / 8 : 0);
	}
	return i;
}

static int
hex4(const unsigned char *text)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int c = text[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* \uXXXX at s->at; a high surrogate needs its low half, and U+0000 is refused as everywhere. */
static int
skip_unicode_escape(struct scanner *s)
{
	const unsigned char *t = s->text + s->at;
	size_t left = s->length - s->at;
	int code = left >= 6 ? hex4(t + 2) : -1, low;

	if (code < 0)
		return refuse(s, "\\u is not followed by four hexadecimal digits");
	if (code == 0)
		return refuse(s, "a string holds a NUL character");
	if (code >= 0xDC00 && code <= 0xDFFF)
		return refuse(s, "a low surrogate stands alone");
	s->at += 6;
	if (code < 0xD800 || code > 0xDBFF)
		return 0;
	low = left >= 12 && t[6] == '\\' && t[7] == 'u' ? hex4(t + 8) : -1;
	if (low < 0xDC00 || low > 0xDFFF)
		return refuse(s, "a high surrogate stands alone");
	s->at += 6;
	return 0;
}

/* Past the string that starts at s->at. *escaped (may be NULL) tells whether it has escapes. */
static int
skip_string(struct scanner *s, bool *escaped)
{
	s->at++;
	for (;;) {
		int c;
		size_t count;

		s->at += plain_run(s->text + s->at, s->length - s->at);
		c = peek(s);
		if (c == '"') {
			s->at++;
			return 0;
		}
		if (c < 0)
			return refuse(s, "a string does not end");
		if (c == '\\') {
			int next = s->at + 1 < s->length ? s->text[s->at + 1] : 0;

			if (escaped)
				*escaped = true;
			if (next == 'u') {
				if (skip_unicode_escape(s) < 0)
					return -1;
			} else if (next && strchr("\"\\/bfnrt", next)) {
				s->at += 2;
			} else {
				return refuse(s, "an escape that JSON does not have");
			}
			continue;
		}
		if (c < 0x20)
			return refuse(s, c ? "a control character inside a string" :
				"a NUL byte inside a string");
		count = utf8_length(s->text + s->at, s->length - s->at);
		if (!count)
			return refuse(s, "invalid UTF-8");
		s->at += count;
	}
}

static size_t
digits(const struct scanner *s, size_t at)
{
	size_t start = at;

	while (at < s->length && s->text[at] >= '0' && s->text[at] <= '9')
		at++;
	return at - start;
}

static int
skip_number(struct scanner *s)
{
	size_t at = s->at + (s->text[s->at] == '-'), count = digits(s, at);

	if (!count || (count > 1 && s->text[at] == '0'))
		return refuse(s, "a number is not written as in JSON");
	at += count;
	if (at < s->length && s->text[at] == '.') {
		count = digits(s, ++at);
		if (!count)
			return refuse(s, "a number has no digits after its point");
		at += count;
	}
	if (at < s->length && (s->text[at] | 32) == 'e') {
		at++;
		if (at < s->length && (s->text[at] == '+' || s->text[at] == '-'))
			at++;
		count = digits(s, at);
		if (!count)
			return refuse(s, "a number has no digits in its exponent");
		at += count;
	}
	s->at = at;
	return 0;
}

static int
skip_literal(struct scanner *s)
{
	static const char *const literals[] = { "true", "false", "null" };

	for (int i = 0; i < 3; i++) {
		size_t count = strlen(literals[i]);

		if (s->length - s->at >= count && !memcmp(s->text + s->at, literals[i], count)) {
			s->at += count;
			return 0;
		}
	}
	return refuse(s, s->at >= s->length ? "the text ends in the middle" :
		s->text[s->at] ? "this is not a JSON value" : "a NUL byte");
}

static int
skip_key(struct scanner *s)
{
	skip_blanks(s);
	if (peek(s) != '"')
		return refuse(s, peek(s) < 0 ? "the text ends in the middle" : "a key was expected");
	if (skip_string(s, NULL) < 0)
		return -1;
	skip_blanks(s);
	if (peek(s) != ':')
		return refuse(s, peek(s) < 0 ? "the text ends in the middle" : "a colon was expected");
	s->at++;
	return 0;
}

/* Past one whole value, checking its grammar; iterative, so that depth costs no stack. */
static int
skip_value(struct scanner *s)
{
	char closing[MAX_DEPTH];
	int depth = 0;

	for (;;) {
		int c;

		skip_blanks(s);
		c = peek(s);
		if (c == '{' || c == '[') {
			if (depth == MAX_DEPTH)
				return refuse(s, "brackets are nested more than 64 deep");
			closing[depth++] = c == '{' ? '}' : ']';
			s->at++;
			skip_blanks(s);
			if (peek(s) != closing[depth - 1]) {
				if (c == '{' && skip_key(s) < 0)
					return -1;
				continue;
			}
		} else if (c == '"' ? skip_string(s, NULL) < 0 :
		    c == '-' || (c >= '0' && c <= '9') ? skip_number(s) < 0 : skip_literal(s) < 0) {
			return -1;
		}
		for (;;) {
			if (depth == 0)
				return 0;
			skip_blanks(s);
			c = peek(s);
			if (c != closing[depth - 1])
				break;
			s->at++;
			depth--;
		}
		if (c != ',')
			return refuse(s, c < 0 ? "the text ends in the middle" :
				"a comma or closing bracket was expected");
		s->at++;
		if (closing[depth - 1] == '}' && skip_key(s) < 0)
			return -1;
	}
}

static bool
same_key(const struct rec_case *c, int i, const char *name, size_t length)
{
	return c->section[i].key_length == length && !memcmp(c->line + c->section[i].key_start, name, length);
}

/* One `"key": value` of the outermost object. */
static int
scan_section(struct scanner *s, struct rec_case *c)
{
	size_t start = s->at + 1, length;
	bool escaped = false;
	int n = c->sections;

	if (peek(s) != '"')
		return refuse(s, peek(s) < 0 ? "the text ends in the middle" : "a key was expected");
	if (skip_string(s, &escaped) < 0)
		return -1;
	length = s->at - 1 - start;
	if (escaped)
		return refuse(s, "a section's name is written with escapes");
	for (int i = 0; i < n; i++)
		if (same_key(c, i, c->line + start, length))
			return buf_err(s->err, "byte %zu: section \"%.*s\" stands twice", start,
				(int)(length > 80 ? 80 : length),
				c->line + start);
	if (n == REC_MAX_SECTIONS)
		return refuse(s, "more than 32 sections");
	skip_blanks(s);
	if (peek(s) != ':')
		return refuse(s, peek(s) < 0 ? "the text ends in the middle" : "a colon was expected");
	s->at++;
	skip_blanks(s);
	c->section[n].key_start = start;
	c->section[n].key_length = length;
	c->section[n].value_start = s->at;
	if (skip_value(s) < 0)
		return -1;
	c->section[n].value_length = s->at - c->section[n].value_start;
	c->sections++;
	return 0;
}

static int
scan_object(struct scanner *s, struct rec_case *c)
{
	skip_blanks(s);
	if (peek(s) != '{')
		return refuse(s, peek(s) < 0 ? "the line is empty" : "a case is a JSON object");
	s->at++;
	skip_blanks(s);
	if (peek(s) == '}') {
		s->at++;
	} else {
		for (;;) {
			int next;

			skip_blanks(s);
			if (scan_section(s, c) < 0)
				return -1;
			skip_blanks(s);
			next = peek(s);
			if (next != ',' && next != '}')
				return refuse(s, next < 0 ? "the text ends in the middle" :
					"a comma or closing bracket was expected");
			s->at++;
			if (next == '}')
				break;
		}
	}
	skip_blanks(s);
	return s->at == s->length ? 0 : refuse(s, "something follows the closing bracket");
}

static int
check_version(const struct rec_case *c, struct buf *err)
{
	size_t length;
	const char *raw = rec_case_raw(c, "schema_version", &length);

	if (!raw)
		return buf_err(err, "schema_version is missing");
	if (length < 5 || memcmp(raw, "\"1.", 3) || raw[3] < '0' || raw[3] > '9')
		return buf_err(err, "schema_version is %.*s, and this toolkit reads 1.x", (int)(length > 40 ?
			40 : length), raw);
	return 0;
}

int
rec_case_scan(struct rec_case *c, const char *line, size_t length, struct buf *err)
{
	struct scanner s = { (const unsigned char *)line, length, 0, err };

	c->line = line;
	c->length = length;
	c->sections = 0;
	if (length > REC_CASE_MAX_BYTES)
		return buf_err(err, "the case has %zu bytes, and %d are allowed", length, REC_CASE_MAX_BYTES);
	if (scan_object(&s, c) < 0)
		return -1;
	return check_version(c, err);
}

const char *
rec_case_raw(const struct rec_case *c, const char *name, size_t *length)
{
	size_t name_length = strlen(name);

	for (int i = 0; i < c->sections; i++) {
		if (same_key(c, i, name, name_length)) {
			*length = c->section[i].value_length;
			return c->line + c->section[i].value_start;
		}
	}
	return NULL;
}

int
rec_case_task_id(const struct rec_case *c, char id[HASH_ID_HEX], struct buf *err)
{
	size_t length;
	const char *raw = rec_case_raw(c, "task", &length);
	struct scanner s = { (const unsigned char *)raw, raw ? length : 0, 1, err };

	if (!raw || *raw != '{')
		return buf_err(err, "the case has no task");
	/* The grammar was checked by rec_case_scan: only the members' names are looked at. */
	for (skip_blanks(&s); peek(&s) == '"'; skip_blanks(&s)) {
		const char *key = raw + s.at;

		if (skip_key(&s) < 0)
			return -1;
		skip_blanks(&s);
		if (!memcmp(key, "\"id\"", 4)) {
			if (s.length - s.at < 34 || peek(&s) != '"' || raw[s.at + 33] != '"')
				break;
			memcpy(id, raw + s.at + 1, 32);
			id[32] = '\0';
			if (strspn(id, "0123456789abcdef") != 32)
				break;
			return 0;
		}
		if (skip_value(&s) < 0)
			return -1;
		skip_blanks(&s);
		if (peek(&s) == ',')
			s.at++;
	}
	return buf_err(err, "task.id: 32 lower-case hexadecimal digits were expected");
}

json_t *
rec_case_section(const struct rec_case *c, const char *name, struct buf *err)
{
	struct buf why = BUF_INIT;
	size_t length;
	const char *raw = rec_case_raw(c, name, &length);
	json_t *value;

	if (!raw) {
		buf_err(err, "the case has no section \"%s\"", name);
		return NULL;
	}
	value = rec_json_parse(raw, length, &why);
	if (!value)
		buf_err(err, "section \"%s\": %s", name, buf_str(&why));
	buf_release(&why);
	if (value && rec_schema_check_section(name, value, err) < 0) {
		json_decref(value);
		value = NULL;
	}
	return value;
}

json_t *
rec_case_section_or_empty(const struct rec_case *c, const char *name, struct buf *err)
{
	size_t length;

	if (rec_case_raw(c, name, &length))
		return rec_case_section(c, name, err);
	if (!strcmp(name, "solutions") || !strcmp(name, "evaluations") || !strcmp(name, "trajectories"))
		return json_array();
	return json_object();
}

static int
find_name(int count, const char *const *names, const struct rec_case *c, int section)
{
	for (int i = 0; i < count; i++)
		if (same_key(c, section, names[i], strlen(names[i])))
			return i;
	return -1;
}

static void
add_new_sections(const struct rec_case *c, int count, const char *const *names, json_t *const *values,
	struct buf *out)
{
	bool comma = c->sections > 0;

	for (int i = 0; i < count; i++) {
		size_t length;

		if (rec_case_raw(c, names[i], &length))
			continue;
		if (comma)
			buf_addc(out, ',');
		comma = true;
		buf_addf(out, "\"%s\":", names[i]);
		rec_json_dump(values[i], out);
	}
}

int
rec_case_splice(const struct rec_case *c, int count, const char *const *names, json_t *const *values,
	struct buf *out, struct buf *err)
{
	size_t start = out->len, copied = 0, end = c->length;

	for (int i = 0; i < count; i++)
		if (rec_schema_check_section(names[i], values[i], err) < 0)
			return -1;
	buf_reserve(out, c->length + 1);
	for (int i = 0; i < c->sections; i++) {
		int n = find_name(count, names, c, i);

		if (n < 0)
			continue;
		buf_add(out, c->line + copied, c->section[i].value_start - copied);
		rec_json_dump(values[n], out);
		copied = c->section[i].value_start + c->section[i].value_length;
	}
	while (end > copied && c->line[end - 1] != '}')
		end--;
	/* New sections go right behind the last one, so blanks before the closing bracket stay behind them. */
	buf_add(out, c->line + copied, end - 1 - copied);
	add_new_sections(c, count, names, values, out);
	buf_add(out, c->line + end - 1, c->length - (end - 1));
	if (out->len - start > REC_CASE_MAX_BYTES) {
		size_t bytes = out->len - start;

		out->len = start;
		return buf_err(err, "the case would grow to %zu bytes, and %d are allowed", bytes,
			REC_CASE_MAX_BYTES);
	}
	return 0;
}
