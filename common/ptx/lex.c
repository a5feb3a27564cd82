/* In: bytes of PTX, hostile ones too. Out: tokens, one at a time, never reading past the end. Opcodes,
 * directives and special registers keep their dots inside one word, since PTX never puts white space
 * there; "::" belongs to a word, a single ":" ends a label. */
#include "ptx/lex.h"

#include <string.h>

bool
slice_is(struct slice slice, const char *text)
{
	return strlen(text) == slice.length && !memcmp(slice.at, text, slice.length);
}

static bool
slice_equal(struct slice a, struct slice b)
{
	return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$'
		|| c == '%' || c == '.';
}

static int
digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static void
skip_space(struct lexer *lx)
{
	while (lx->at < lx->end) {
		const char *p = lx->at;
		bool pair = lx->end - p > 1 && p[0] == '/';
		if (*p == '\n') {
			lx->line++;
			lx->at++;
		} else if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\f' || *p == '\v') {
			lx->at++;
		} else if (pair && p[1] == '/') {
			while (lx->at < lx->end && *lx->at != '\n')
				lx->at++;
		} else if (pair && p[1] == '*') {
			lx->at += 2;
			while (lx->at < lx->end && !(lx->end - lx->at > 1 && lx->at[0] == '*' && lx->at[1] == '/'))
				lx->line += *lx->at++ == '\n';
			lx->at = lx->end - lx->at > 1 ? lx->at + 2 : lx->end;
		} else {
			break;
		}
	}
}

/* Digits of one base; an overflow wraps, as no PTX number has more than 64 bits. */
static uint64_t
digits(struct lexer *lx, int base)
{
	uint64_t value = 0;
	while (lx->at < lx->end && digit_value(*lx->at) < base)
		value = value * (uint64_t)base + (uint64_t)digit_value(*lx->at++);
	return value;
}

static void
decimal_double(struct lexer *lx, struct token *token, const char *start)
{
	char text[64];
	size_t n = 0;
	while (lx->at < lx->end && ((*lx->at >= '0' && *lx->at <= '9') || *lx->at == '.' || *lx->at == 'e' || *lx->at == 'E'
		|| ((*lx->at == '-' || *lx->at == '+') && (lx->at[-1] == 'e' || lx->at[-1] == 'E'))))
		lx->at++;
	for (const char *p = start; p < lx->at && n < sizeof text - 1; p++)
		text[n++] = *p;
	text[n] = 0;
	double value = strtod(text, NULL);
	memcpy(&token->bits, &value, sizeof value);
	token->kind = TOKEN_DOUBLE;
}

static void
number(struct lexer *lx, struct token *token)
{
	const char *start = lx->at;
	char next = lx->end - start > 1 ? start[1] : 0;
	token->kind = TOKEN_INTEGER;
	if (start[0] == '0' && (next == 'f' || next == 'F' || next == 'd' || next == 'D')) {
		lx->at += 2;
		token->bits = digits(lx, 16);
		token->kind = next == 'f' || next == 'F' ? TOKEN_FLOAT : TOKEN_DOUBLE;
		return;
	}
	if (start[0] == '0' && (next == 'x' || next == 'X' || next == 'b' || next == 'B')) {
		lx->at += 2;
		token->bits = digits(lx, next == 'x' || next == 'X' ? 16 : 2);
	} else {
		const char *p = start;
		while (p < lx->end && *p >= '0' && *p <= '9')
			p++;
		if (p < lx->end && (*p == '.' || *p == 'e' || *p == 'E')) {
			decimal_double(lx, token, start);
			return;
		}
		token->bits = digits(lx, start[0] == '0' ? 8 : 10);
	}
	if (lx->at < lx->end && *lx->at == 'U')
		lx->at++;
}

struct token
lex(struct lexer *lx)
{
	skip_space(lx);
	struct token token = { TOKEN_END, { lx->at, 0 }, 0, lx->line, 0 };
	if (lx->at >= lx->end)
		return token;
	char c = *lx->at;
	if (c >= '0' && c <= '9') {
		number(lx, &token);
		token.text.length = (uint32_t)(lx->at - token.text.at);
	} else if (is_word(c)) {
		/* directives may touch: ".reg.b32" is two words */
		while (lx->at < lx->end && (is_word(*lx->at) || (lx->end - lx->at > 2 && lx->at[0] == ':' && lx->at[1] == ':'))
			&& !(c == '.' && *lx->at == '.' && lx->at > token.text.at))
			lx->at += *lx->at == ':' ? 2 : 1;
		token.kind = TOKEN_WORD;
		token.text.length = (uint32_t)(lx->at - token.text.at);
	} else if (c == '"') {
		token.text.at = ++lx->at;
		while (lx->at < lx->end && *lx->at != '"' && *lx->at != '\n')
			lx->at += *lx->at == '\\' && lx->end - lx->at > 1 ? 2 : 1;
		token.text.length = (uint32_t)(lx->at - token.text.at);
		token.kind = lx->at < lx->end && *lx->at == '"' ? TOKEN_STRING : TOKEN_BAD;
		lx->at += lx->at < lx->end;
	} else {
		token.kind = c > ' ' && c < 127 ? TOKEN_PUNCTUATION : TOKEN_BAD;
		token.punctuation = c;
		token.text.length = 1;
		lx->at++;
	}
	return token;
}

/* ---- names: open addressing, grown at half full */

struct name {
	struct slice text;
	void *thing;
};

struct names {
	struct name *slots;
	uint32_t capacity, count;
};

static uint32_t
name_hash(struct slice name)
{
	uint32_t hash = 2166136261u;
	for (uint32_t i = 0; i < name.length; i++)
		hash = (hash ^ (uint8_t)name.at[i]) * 16777619u;
	return hash ^ hash >> 15;
}

struct names *
names_new(struct arena *arena)
{
	struct names *names = arena_alloc(arena, sizeof *names);
	names->capacity = 16;
	names->slots = arena_alloc(arena, names->capacity * sizeof *names->slots);
	return names;
}

static struct name *
name_slot(const struct names *names, struct slice name)
{
	uint32_t at = name_hash(name) & (names->capacity - 1);
	while (names->slots[at].thing && !slice_equal(names->slots[at].text, name))
		at = (at + 1) & (names->capacity - 1);
	return &names->slots[at];
}

void
names_put(struct names *names, struct arena *arena, struct slice name, void *thing)
{
	if (names->count * 2 >= names->capacity) {
		struct names old = *names;
		names->capacity *= 2;
		names->slots = arena_alloc(arena, names->capacity * sizeof *names->slots);
		for (uint32_t i = 0; i < old.capacity; i++)
			if (old.slots[i].thing)
				*name_slot(names, old.slots[i].text) = old.slots[i];
	}
	struct name *slot = name_slot(names, name);
	names->count += !slot->thing;
	slot->text = name;
	slot->thing = thing;
}

void *
names_get(const struct names *names, struct slice name)
{
	return name_slot(names, name)->thing;
}
