/* A task section comes in, keys that equal tasks share go out. The hard idea: a name is replaced by its
 * number only where a name is free. Tensors, scalars and axes are numbered in the task's order, so that a-b
 * and b-a stay apart; indices and variables by first use; library functions and keywords keep their names. */
#include "normalise.h"

#include <stdbool.h>

#include "base/arena.h"
#include "base/die.h"
#include "math/lex.h"
#include "rec/json.h"

/* ---- names and their numbers */

enum { MAX_NAMES = 4096 };

struct names {
	struct arena arena;
	int count, globals;
	const char *name[MAX_NAMES];
};

static int
find_name(const struct names *n, const char *name, size_t length)
{
	for (int i = 0; i < n->count; i++)
		if (!strncmp(n->name[i], name, length) && !n->name[i][length])
			return i;
	return -1;
}

/* The number of a name, a new one if need be. A text with more names than the table holds keeps the rest. */
static int
number_name(struct names *n, const char *name, size_t length)
{
	int known = find_name(n, name, length);

	if (known >= 0 || n->count == MAX_NAMES)
		return known;
	n->name[n->count] = arena_strndup(&n->arena, name, length);
	return n->count++;
}

static void
add_number(struct names *n, const char *name, size_t length, struct buf *out)
{
	int number = number_name(n, name, length);

	if (number < 0)
		buf_add(out, name, length);
	else
		buf_addf(out, "$%d", number);
	buf_addc(out, ' ');
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t
word_length(const char *text)
{
	size_t n = 0;

	while (is_letter(text[n]) || is_digit(text[n]))
		n++;
	return n;
}

static bool
is_one_of(const char *word, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (!strncmp(*words, word, length) && !(*words)[length])
			return true;
	return false;
}

/* ---- tensors */

/* An axis expression with its names numbered. */
static void
add_expression(struct names *n, const char *text, struct buf *out)
{
	static const char *const operators[] = { "div", "mod", "min", "max", NULL };

	while (*text) {
		size_t length = is_letter(*text) ? word_length(text) : 0;

		if (!length) {
			if (*text != ' ' && *text != '\t' && *text != '\n')
				buf_addc(out, *text);
			text++;
			continue;
		}
		if (is_one_of(text, length, operators))
			buf_add(out, text, length);
		else
			add_number(n, text, length, out);
		text += length;
	}
	buf_addc(out, ';');
}

static void
add_tensors(struct names *n, const json_t *tensors, struct buf *out)
{
	size_t i, k;
	const json_t *tensor, *size;

	json_array_foreach(tensors, i, tensor) {
		buf_addf(out, "%s[", rec_json_string(tensor, "dtype", ""));
		json_array_foreach(json_object_get(tensor, "shape"), k, size)
			add_expression(n, json_string_value(size), out);
		buf_adds(out, "]\n");
	}
}

/* Constant and derived axes by their definitions, in the order in which the shapes met them. */
static void
add_axes(struct names *n, const json_t *axes, struct buf *out)
{
	for (int i = 0; i < n->count; i++) {
		size_t k;
		const json_t *axis;

		json_array_foreach(axes, k, axis) {
			const char *expression = rec_json_string(axis, "expr", NULL);

			if (strcmp(rec_json_string(axis, "name", ""), n->name[i]))
				continue;
			if (json_is_integer(json_object_get(axis, "value")))
				buf_addf(out, "$%d=%lld\n", i, (long long)rec_json_integer(axis, "value", 0));
			else if (expression) {
				buf_addf(out, "$%d=", i);
				add_expression(n, expression, out);
			}
		}
	}
}

static void
number_each(struct names *n, const json_t *list)
{
	size_t i;
	const json_t *item;

	json_array_foreach(list, i, item) {
		const char *name = rec_json_string(item, "name", "");

		number_name(n, name, strlen(name));
	}
}

/* Numbers axes by use in the shapes, then tensors, scalars and left-over axes by position. */
static void
seed_names(struct names *n, const json_t *task, struct buf *out)
{
	size_t i;
	const json_t *scalar;

	memset(n, 0, sizeof *n);
	add_tensors(n, json_object_get(task, "inputs"), out);
	buf_adds(out, "->\n");
	add_tensors(n, json_object_get(task, "outputs"), out);
	add_axes(n, json_object_get(task, "axes"), out);
	json_array_foreach(json_object_get(task, "scalars"), i, scalar)
		buf_addf(out, "%s=%.17g\n", rec_json_string(scalar, "dtype", ""), rec_json_number(scalar,
			"value", 0));
	number_each(n, json_object_get(task, "inputs"));
	number_each(n, json_object_get(task, "outputs"));
	number_each(n, json_object_get(task, "scalars"));
	number_each(n, json_object_get(task, "axes"));
	n->globals = n->count;
}

static void
normalise_tensors(const json_t *task, struct buf *out)
{
	struct names n;

	seed_names(&n, task, out);
	arena_release(&n.arena);
}

/* ---- English: words and numbers in lower case, operators kept, all other punctuation is a blank */

static void
normalise_prompt(const char *text, struct buf *out)
{
	bool blank = false;
	size_t start = out->len;

	for (const char *p = text; *p; p++) {
		bool inside_number = *p == '.' && p > text && is_digit(p[-1]) && is_digit(p[1]);
		char c = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c & 0x80) && !strchr("+-*/^<>=%&", c) &&
			!inside_number) {
			blank = true;
			continue;
		}
		if (blank && out->len > start)
			buf_addc(out, ' ');
		blank = false;
		buf_addc(out, c);
	}
}

/* ---- C: tokens with comments and blanks gone */

static const char *const c_words[] = {
	"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
		"extern", "float",
	"for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
	"sizeof",
	"static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "_Bool",
	"bool", "true",
	"false", "size_t", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",
	"uint64_t",
	"include", "define", "ifdef", "ifndef", "endif", "undef", "pragma", NULL
};

/* Past blanks and comments. */
static const char *
skip_c_blanks(const char *p)
{
	for (;;) {
		const char *end;

		if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') {
			p++;
		} else if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else {
			return p;
		}
	}
}

static size_t
literal_length(const char *p)
{
	size_t n = 1;

	while (p[n] && p[n] != *p && p[n] != '\n')
		n += p[n] == '\\' && p[n + 1] ? 2 : 1;
	return p[n] == *p ? n + 1 : n;
}

static size_t
number_length(const char *p)
{
	size_t n = 1;

	while (is_letter(p[n]) || is_digit(p[n]) || p[n] == '.' || ((p[n] == '+' || p[n] == '-') &&
		strchr("eEpP", p[n - 1])))
		n++;
	return n;
}

static bool
is_capital(const char *word, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (word[i] >= 'a' && word[i] <= 'z')
			return false;
	return true;
}

/* Names that are the author's: neither keywords, nor calls of what is not defined here, nor macros of the
 * library (INFINITY, INT_MAX). `previous_ends_word` tells a definition "double f(" from a call "= f(". */
static bool
is_free_name(const struct names *n, const char *p, size_t length, bool previous_is_word)
{
	if (is_one_of(p, length, c_words))
		return false;
	if (find_name(n, p, length) >= 0)
		return true;
	if (*skip_c_blanks(p + length) == '(')
		return previous_is_word && strncmp(p, "reference", length);
	return !is_capital(p, length);
}

static void
normalise_c(const json_t *task, const char *text, struct buf *out)
{
	struct buf ignored = BUF_INIT;
	struct names n;
	bool previous_is_word = false;
	const char *p;

	seed_names(&n, task, &ignored);
	for (p = skip_c_blanks(text); *p; p = skip_c_blanks(p)) {
		size_t length = is_letter(*p) ? word_length(p) : is_digit(*p) || (*p == '.' && is_digit(p[1])) ?
			number_length(p) : *p == '"' || *p == '\'' ? literal_length(p) : 1;
		bool word = is_letter(*p), is_return = length == 6 && !strncmp(p, "return", 6);

		/* Headers are taken whole: <math.h> has no names of the author's. */
		if (*p == '#' && !strncmp(skip_c_blanks(p + 1), "include", 7)) {
			length = strcspn(p, "\n");
			word = false;
		}
		if (word && is_free_name(&n, p, length, previous_is_word)) {
			add_number(&n, p, length, out);
		} else {
			buf_add(out, p, length);
			buf_addc(out, ' ');
		}
		previous_is_word = (word && !is_return) || (*p == '*' && previous_is_word);
		p += length;
	}
	arena_release(&n.arena);
	buf_release(&ignored);
}

/* ---- PyTorch modules */

/* Of a string that begins here, in single or triple quotes; one that is not ended goes to the end of its line or text. */
static size_t
python_string_length(const char *p)
{
	bool triple = p[1] == *p && p[2] == *p;
	size_t n = triple ? 3 : 1;

	for (; p[n] && (triple || p[n] != '\n'); n += p[n] == '\\' && p[n + 1] ? 2 : 1)
		if (p[n] == *p && (!triple || (p[n + 1] == *p && p[n + 2] == *p)))
			return n + (triple ? 3 : 1);
	return n;
}

/* What stands before a line's end that is in no string; returns what comes after it. */
static const char *
add_python_line(const char *p, struct buf *out)
{
	size_t length;

	for (; *p && *p != '\n'; p += length) {
		size_t blanks = strspn(p, " \t\r");

		length = blanks ? blanks : *p == '#' ? strcspn(p, "\n") : *p == '"' || *p == '\'' ? python_string_length(p) : 1;
		if (!blanks && *p != '#')
			buf_add(out, p, length);
		else if (blanks && is_letter(p[-1]) && is_letter(p[blanks]))
			buf_addc(out, ' ');
	}
	return *p ? p + 1 : p;
}

/* Lines without comments, blank lines, and blanks but those that Python counts. Names and strings stay: most names are
 * PyTorch's. */
static void
normalise_python(const char *text, struct buf *out)
{
	while (*text) {
		size_t indentation = strspn(text, " \t");

		text += indentation;
		if (strchr("\r\n#", *text)) {
			text += strcspn(text, "\n");
			text += *text == '\n';
			continue;
		}
		buf_addf(out, "%zu:", indentation);
		text = add_python_line(text, out);
		buf_addc(out, '\n');
	}
}

/* ---- the math language */

static const char *const math_words[] = {
	"for", "in", "if", "else", "and", "or", "not", "div", "mod", "inf", "true", "false", NULL
};

struct math_tokens {
	struct arena arena;
	struct token *token;
	size_t count, size;
};

static int
read_tokens(struct math_tokens *t, const char *text, struct buf *err)
{
	struct lexer lexer = { text, text + strlen(text), 1, 1, &t->arena };

	do {
		if (t->count == t->size) {
			t->size = t->size ? 2 * t->size : 256;
			t->token = xrealloc(t->token, t->size * sizeof *t->token);
		}
		if (lex_next(&lexer, &t->token[t->count], err) < 0)
			return -1;
	} while (t->token[t->count++].kind != TOKEN_END);
	return 0;
}

static bool
is_symbol(const struct token *t, const char *symbol)
{
	return t->kind == TOKEN_SYMBOL && !strcmp(t->text, symbol);
}

static int
depth_change(const struct token *t)
{
	return is_symbol(t, "(") || is_symbol(t, "[") ? 1 : is_symbol(t, ")") || is_symbol(t, "]") ? -1 : 0;
}

/* Index of the name that heads the definition whose "=" is at `equals`: NAME = or NAME [ ... ] =. */
static size_t
definition_head(const struct math_tokens *t, size_t equals)
{
	size_t i = equals;
	int depth = 0;

	while (i > 0) {
		i--;
		depth += depth_change(&t->token[i]);
		if (depth == 0 && t->token[i].kind == TOKEN_NAME)
			return i;
	}
	return 0;
}

/* Marks where definitions begin, and numbers what they define: these names hold for the whole text. */
static bool *
find_definitions(const struct math_tokens *t, struct names *n)
{
	bool *begins = xcalloc(t->count, sizeof *begins);
	int depth = 0;

	for (size_t i = 0; i < t->count; i++) {
		depth += depth_change(&t->token[i]);
		if (depth == 0 && is_symbol(&t->token[i], "=")) {
			size_t head = definition_head(t, i);

			begins[head] = true;
			number_name(n, t->token[head].text, strlen(t->token[head].text));
		}
	}
	n->globals = n->count;
	return begins;
}

static void
add_math_token(struct names *n, const struct token *t, struct buf *out)
{
	size_t length = t->kind == TOKEN_NAME ? strlen(t->text) : 0;

	switch (t->kind) {
	case TOKEN_END: break;
	case TOKEN_INTEGER: buf_addf(out, "%lld ", (long long)t->integer); break;
	case TOKEN_REAL: buf_addf(out, "%.17g ", t->real); break;
	case TOKEN_SYMBOL: buf_addf(out, "%s ", t->text); break;
	case TOKEN_NAME:
		/* A call names a function of the language; everything else is an index, a tensor or an axis. */
		if (is_one_of(t->text, length, math_words) || is_symbol(t + 1, "("))
			buf_addf(out, "%s ", t->text);
		else
			add_number(n, t->text, length, out);
	}
}

static int
normalise_math(const json_t *task, const char *text, struct buf *out, struct buf *err)
{
	struct math_tokens t = { ARENA_INIT, NULL, 0, 0 };
	struct buf ignored = BUF_INIT;
	struct names n;
	bool *begins;
	int status = read_tokens(&t, text, err);

	if (status == 0) {
		seed_names(&n, task, &ignored);
		begins = find_definitions(&t, &n);
		for (size_t i = 0; i < t.count; i++) {
			/* Indices live in one definition each, so i here and r there are the same. */
			if (begins[i])
				n.count = n.globals;
			add_math_token(&n, &t.token[i], out);
		}
		free(begins);
		arena_release(&n.arena);
	}
	free(t.token);
	arena_release(&t.arena);
	buf_release(&ignored);
	return status;
}

/* ---- keys */

static void
hash_exact(const json_t *task, char out[HASH_ID_HEX])
{
	json_t *copy = json_copy((json_t *)task);
	struct buf text = BUF_INIT;

	json_object_del(copy, "id");
	json_object_del(copy, "name");
	rec_json_canonical(copy, &text);
	hash_id(text.data, text.len, out);
	json_decref(copy);
	buf_release(&text);
}

static void
hash_form(const char *form, const struct buf *tensors, const struct buf *text, char out[HASH_ID_HEX])
{
	struct hash_id_state *state = hash_id_start();

	hash_id_text(state, form);
	hash_id_part(state, buf_str(tensors), tensors->len);
	hash_id_part(state, buf_str(text), text->len);
	hash_id_end(state, out);
}

static bool
shows_english_alone(const json_t *task)
{
	const json_t *forms = json_object_get(task, "forms");

	return json_array_size(forms) == 1 && !strcmp(json_string_value(json_array_get(forms, 0)),
		"natural_language");
}

int
normalise_task(const json_t *task, struct task_keys *keys, struct buf *err)
{
	const char *prompt = rec_json_string(task, "prompt", NULL);
	const json_t *program = json_object_get(task, "reference");
	const char *reference = rec_json_string(program, "source", NULL);
	const char *math = rec_json_string(json_object_get(task, "math_spec"), "text", NULL);
	struct buf tensors = BUF_INIT, text = BUF_INIT;
	int status = 0;

	memset(keys, 0, sizeof *keys);
	hash_exact(task, keys->exact);
	normalise_tensors(task, &tensors);
	if (prompt && shows_english_alone(task)) {
		normalise_prompt(prompt, &text);
		hash_form("prompt", &tensors, &text, keys->prompt);
	}
	if (reference) {
		buf_reset(&text);
		if (!strcmp(rec_json_string(program, "language", ""), "pytorch"))
			normalise_python(reference, &text);
		else
			normalise_c(task, reference, &text);
		hash_form("reference", &tensors, &text, keys->reference);
	}
	if (math) {
		buf_reset(&text);
		status = normalise_math(task, math, &text, err);
		hash_form("math", &tensors, &text, keys->math);
	}
	buf_reset(&text);
	buf_addf(&text, "%s %s %s", keys->prompt, keys->reference, keys->math);
	hash_form("all", &tensors, &text, keys->all);
	buf_release(&tensors);
	buf_release(&text);
	return status;
}
