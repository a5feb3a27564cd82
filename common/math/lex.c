/*
 * Text to tokens with line and column. Blanks, newlines and comments separate tokens and mean nothing else.
 * The one catch is "1..N", where the dots do not belong to the number.
 */
#include "math/lex.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/spec.h"

enum { MAX_NAME_BYTES = 64, MAX_NUMBER_BYTES = 64 };

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void
advance(struct lexer *l, size_t bytes)
{
	while (bytes--) {
		if (*l->at++ == '\n') {
			l->line++;
			l->column = 1;
		} else
			l->column++;
	}
}

static void
skip_blanks(struct lexer *l)
{
	while (l->at < l->end) {
		if (*l->at == '#')
			while (l->at < l->end && *l->at != '\n')
				advance(l, 1);
		else if (*l->at == ' ' || *l->at == '\t' || *l->at == '\n' || *l->at == '\r')
			advance(l, 1);
		else
			break;
	}
}

static size_t
digits(const struct lexer *l, size_t from)
{
	size_t n = from;

	while (l->at + n < l->end && is_digit(l->at[n]))
		n++;
	return n - from;
}

static char
peek(const struct lexer *l, size_t n)
{
	return l->at + n < l->end ? l->at[n] : 0;
}

/* Length of the number at l->at; *real says whether it has a point or an exponent. */
static size_t
number_length(const struct lexer *l, bool *real)
{
	size_t n = digits(l, 0), exponent;

	*real = false;
	if (peek(l, n) == '.' && is_digit(peek(l, n + 1))) {
		n += 1 + digits(l, n + 1);
		*real = true;
	}
	if (peek(l, n) == 'e' || peek(l, n) == 'E') {
		exponent = n + 1 + (peek(l, n + 1) == '-' || peek(l, n + 1) == '+');
		if (is_digit(peek(l, exponent))) {
			n = exponent + digits(l, exponent);
			*real = true;
		}
	}
	return n;
}

static int
lex_number(struct lexer *l, struct token *token, struct buf *err)
{
	char text[MAX_NUMBER_BYTES + 1];
	bool real;
	size_t n = number_length(l, &real);

	if (n > MAX_NUMBER_BYTES)
		return math_error(err, token->line, token->column, "a number has more than %d characters",
			MAX_NUMBER_BYTES);
	memcpy(text, l->at, n);
	text[n] = 0;
	if (is_letter(peek(l, n)))
		return math_error(err, token->line, token->column, "a name cannot begin with a digit");
	token->kind = real ? TOKEN_REAL : TOKEN_INTEGER;
	token->text = arena_strdup(l->arena, text);
	if (real ? num_f64(text, -INFINITY, INFINITY, &token->real)
		: num_i64(text, 0, INT64_MAX, &token->integer))
		return math_error(err, token->line, token->column, "the number %s is out of range", text);
	advance(l, n);
	return 0;
}

static int
lex_name(struct lexer *l, struct token *token, struct buf *err)
{
	size_t n = 0;

	while (is_letter(peek(l, n)) || is_digit(peek(l, n)))
		n++;
	if (n > MAX_NAME_BYTES)
		return math_error(err, token->line, token->column, "a name has more than %d characters",
			MAX_NAME_BYTES);
	token->kind = TOKEN_NAME;
	token->text = arena_strndup(l->arena, l->at, n);
	advance(l, n);
	return 0;
}

static int
lex_symbol(struct lexer *l, struct token *token, struct buf *err)
{
	/* longer ones first */
	static const char *const symbols[] = { "..", "<=", ">=", "==", "!=", "+", "-", "*", "/", "^", "(", ")",
		"[", "]", ",", ";", "<", ">", "=" };
	unsigned char c = (unsigned char)*l->at;

	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		size_t n = strlen(symbols[i]);

		if ((size_t)(l->end - l->at) >= n && memcmp(l->at, symbols[i], n) == 0) {
			token->kind = TOKEN_SYMBOL;
			token->text = symbols[i];
			advance(l, n);
			return 0;
		}
	}
	if (c > ' ' && c < 127)
		return math_error(err, token->line, token->column, "the character '%c' has no meaning here", c);
	return math_error(err, token->line, token->column, "the byte 0x%02x has no meaning here", c);
}

int
lex_next(struct lexer *l, struct token *token, struct buf *err)
{
	skip_blanks(l);
	memset(token, 0, sizeof *token);
	token->line = l->line;
	token->column = l->column;
	if (l->at == l->end) {
		token->text = "the end";
		return 0;
	}
	if (is_digit(*l->at))
		return lex_number(l, token, err);
	if (is_letter(*l->at))
		return lex_name(l, token, err);
	return lex_symbol(l, token, err);
}
