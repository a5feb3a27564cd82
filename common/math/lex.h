/* Tokens of the math language. */
#ifndef MATH_LEX_H
#define MATH_LEX_H

#include "base/arena.h"
#include "base/buf.h"
#include <stdint.h>

enum token_kind { TOKEN_END, TOKEN_INTEGER, TOKEN_REAL, TOKEN_NAME, TOKEN_SYMBOL };
struct token {
	enum token_kind kind;
	int line, column;
	const char *text;	/* names and symbols: NUL-terminated, in the arena; END: "the end" */
	int64_t integer;
	double real;
};

struct lexer {
	const char *at, *end;
	int line, column;
	struct arena *arena;
};
/* The next token, or -1 with "LINE:COLUMN: ...". After the end it gives TOKEN_END for ever. */
int lex_next(struct lexer *lexer, struct token *token, struct buf *err);

#endif
