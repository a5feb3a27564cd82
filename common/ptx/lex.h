/* PTX text to tokens, and a table of names. */
#ifndef PTX_LEX_H
#define PTX_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Bytes of a text that lives elsewhere; not NUL-terminated. */
struct slice {
	const char *at;
	uint32_t length;
};
#define SLICE(literal) ((struct slice){ (literal), sizeof(literal) - 1 })
bool slice_is(struct slice slice, const char *text);

enum token_kind {
	TOKEN_END, TOKEN_WORD,			/* names, directives and opcodes with their dots: "ld.global.f32", "%tid.x" */
	TOKEN_INTEGER, TOKEN_FLOAT, TOKEN_DOUBLE, TOKEN_STRING,
	TOKEN_PUNCTUATION,			/* one character */
	TOKEN_BAD
};

struct token {
	enum token_kind kind;
	struct slice text;			/* of a string: without the quotes */
	uint64_t bits;				/* integer value, or the bits of a float or double */
	uint32_t line;
	char punctuation;			/* 0 unless TOKEN_PUNCTUATION */
};

struct lexer {
	const char *at, *end;
	uint32_t line;
};

/* The next token; TOKEN_END for ever at the end, TOKEN_BAD for a byte that begins nothing. */
struct token lex(struct lexer *lexer);

/* Names to things. A name may be put again: the newest wins. */
struct names;
struct names *names_new(struct arena *arena);
void names_put(struct names *names, struct arena *arena, struct slice name, void *thing);
void *names_get(const struct names *names, struct slice name);

#endif
