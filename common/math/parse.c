/*
 * Text to tree: recursive descent over the grammar of LANGUAGE.md, one function for each rule.
 * Names are looked up later (check.c), since an index is bound after its use: sum(x[i] for i).
 * Hostile text is kept small in every direction: nesting, nodes, depth of the tree.
 */
#include <stdarg.h>
#include <string.h>

#include "math/lex.h"
#include "math/spec.h"

enum { MAX_NESTING = 100, MAX_CHILDREN = 64 };

struct parser {
	struct lexer lexer;
	struct token token;	/* the next one */
	struct arena *arena;
	struct definition *definition;
	int nesting, nodes;
	struct buf *err;
};

int
math_error(struct buf *err, int line, int column, const char *format, ...)
{
	va_list args;

	if (err) {
		buf_addf(err, "%d:%d: ", line, column);
		va_start(args, format);
		buf_vaddf(err, format, args);
		va_end(args);
	}
	return -1;
}

/* ---- tokens */

static int
next(struct parser *p)
{
	return lex_next(&p->lexer, &p->token, p->err);
}

static bool
is(const struct parser *p, const char *text)
{
	return (p->token.kind == TOKEN_SYMBOL || p->token.kind == TOKEN_NAME) && strcmp(p->token.text, text) == 0;
}

static int
fail_expected(struct parser *p, const char *what)
{
	return math_error(p->err, p->token.line, p->token.column, "expected %s, found %s%s%s", what,
		p->token.kind == TOKEN_END ? "" : "'", p->token.text, p->token.kind == TOKEN_END ? "" : "'");
}

static int
expect(struct parser *p, const char *symbol)
{
	char what[16];

	if (is(p, symbol))
		return next(p);
	snprintf(what, sizeof what, "'%s'", symbol);
	return fail_expected(p, what);
}

/* A name that is no keyword, whose token stays borrowed in *out. */
static int
expect_name(struct parser *p, const char *what, struct token *out)
{
	if (p->token.kind != TOKEN_NAME)
		return fail_expected(p, what);
	if (math_is_keyword(p->token.text))
		return math_error(p->err, p->token.line, p->token.column,
			"'%s' is a word of the language and cannot be a name",
			p->token.text);
	*out = p->token;
	return next(p);
}

/* ---- nodes */

static struct node *
new_node(struct parser *p, enum node_kind kind, const struct token *at)
{
	if (++p->nodes > MATH_MAX_NODES) {
		math_error(p->err, at->line, at->column, "the spec has more than %d parts", MATH_MAX_NODES);
		return NULL;
	}
	struct node *node = arena_alloc(p->arena, sizeof *node);
	node->kind = kind;
	node->line = at->line;
	node->column = at->column;
	node->depth = 1;
	return node;
}

/* Copies the children in and checks the depth. NULL passes an earlier failure on. */
static struct node *
with_children(struct parser *p, struct node *node, struct node *const *children, int count)
{
	if (!node)
		return NULL;
	node->children = arena_alloc(p->arena, (size_t)(count ? count : 1) * sizeof *children);
	node->count = count;
	for (int i = 0; i < count; i++) {
		node->children[i] = children[i];
		if (children[i]->depth >= node->depth)
			node->depth = children[i]->depth + 1;
	}
	if (node->depth > MATH_MAX_DEPTH) {
		math_error(p->err, node->line, node->column,
			"the expression is too deep; split it into several definitions");
		return NULL;
	}
	return node;
}

static struct node *
binary(struct parser *p, enum node_kind kind, const struct token *at, struct node *left, struct node *right)
{
	struct node *children[] = { left, right };

	if (!left || !right)
		return NULL;
	return with_children(p, new_node(p, kind, at), children, 2);
}

/* ---- the grammar, from the bottom */

static struct node *parse_expr(struct parser *p);
static struct node *parse_or(struct parser *p);
static struct node *parse_sum(struct parser *p);
static struct node *parse_unary(struct parser *p);

/* expr { "," expr } into list; the count, or -1. */
static int
parse_list(struct parser *p, struct node **list, int count)
{
	for (;;) {
		if (count == MAX_CHILDREN) {
			math_error(p->err, p->token.line, p->token.column, "a list has more than %d members",
				MAX_CHILDREN);
			return -1;
		}
		list[count] = parse_expr(p);
		if (!list[count++])
			return -1;
		if (!is(p, ","))
			return count;
		if (next(p))
			return -1;
	}
}

static struct node *
parse_access(struct parser *p, const struct token *name)
{
	struct node *list[MAX_CHILDREN], *node = new_node(p, NODE_ACCESS, name), *pad = NULL;
	int count;

	if (!node || expect(p, "[") || (count = parse_list(p, list, 0)) < 0)
		return NULL;
	if (is(p, ";") && (next(p) || !(pad = parse_expr(p))))
		return NULL;
	if (expect(p, "]"))
		return NULL;
	node->name = name->text;
	node->pad = pad;
	if (pad)
		node->depth = pad->depth + 1;
	return with_children(p, node, list, count);
}

static struct variable *
new_variable(struct parser *p, const struct token *name)
{
	struct variable *v = arena_alloc(p->arena, sizeof *v);
	struct definition *d = p->definition;

	if (!d) {
		math_error(p->err, name->line, name->column, "no index can be bound here");
		return NULL;
	}
	if (d->variable_count == MATH_MAX_VARIABLES) {
		math_error(p->err, name->line, name->column, "'%s' has more than %d indices", d->name,
			MATH_MAX_VARIABLES);
		return NULL;
	}
	v->name = name->text;
	v->line = name->line;
	v->column = name->column;
	v->number = d->variable_count;
	d->variables[d->variable_count++] = v;
	return v;
}

/* NAME [ "in" sum [ ".." sum ] ] */
static struct variable *
parse_bind(struct parser *p)
{
	struct token name;
	struct variable *v;

	if (expect_name(p, "an index", &name) || !(v = new_variable(p, &name)))
		return NULL;
	if (!is(p, "in"))
		return v;
	v->stated = true;
	if (next(p) || !(v->high = parse_sum(p)))
		return NULL;
	if (is(p, "..")) {
		v->low = v->high;
		if (next(p) || !(v->high = parse_sum(p)))
			return NULL;
	}
	return v;
}

/* What follows `RED "(" expr`: "for" bind { "," bind } [ "if" or ] ")" */
static struct node *
parse_reduce(struct parser *p, struct node *node, struct node *body)
{
	struct variable *binds[MAX_CHILDREN];
	int count = 0;

	do {
		if (count == MAX_CHILDREN) {
			math_error(p->err, p->token.line, p->token.column, "a list has more than %d members",
				MAX_CHILDREN);
			return NULL;
		}
		if (next(p) || !(binds[count++] = parse_bind(p)))
			return NULL;
	} while (is(p, ","));
	if (is(p, "if")) {
		if (next(p) || !(node->guard = parse_or(p)))
			return NULL;
		node->depth = node->guard->depth + 1;
	}
	if (expect(p, ")"))
		return NULL;
	node->kind = NODE_REDUCE;
	node->number = math_reduction_find(node->name);
	if (node->number < 0) {
		math_error(p->err, node->line, node->column, "'%s' is not a reduction, so it takes no 'for'",
			node->name);
		return NULL;
	}
	node->binds = arena_alloc(p->arena, (size_t)count * sizeof *binds);
	node->bind_count = count;
	for (int i = 0; i < count; i++) {
		const struct variable *v = node->binds[i] = binds[i];

		if (v->low && v->low->depth >= node->depth)
			node->depth = v->low->depth + 1;
		if (v->high && v->high->depth >= node->depth)
			node->depth = v->high->depth + 1;
	}
	return with_children(p, node, &body, 1);
}

static struct node *
parse_call(struct parser *p, const struct token *name)
{
	struct node *list[MAX_CHILDREN], *node = new_node(p, NODE_CALL, name);
	int count;

	if (!node || expect(p, "(") || !(list[0] = parse_expr(p)))
		return NULL;
	node->name = name->text;
	if (is(p, "for"))
		return parse_reduce(p, node, list[0]);
	count = 1;
	if (is(p, ",") && (next(p) || (count = parse_list(p, list, 1)) < 0))
		return NULL;
	if (expect(p, ")"))
		return NULL;
	return with_children(p, node, list, count);
}

static struct node *
parse_constant(struct parser *p, const struct token *at)
{
	static const struct {
		const char *word;
		enum node_kind kind;
		int64_t integer;
		double real;
	} words[] = {
		{ "inf", NODE_REAL, 0, __builtin_inf() }, { "pi", NODE_REAL, 0, 3.14159265358979323846 },
		{ "true", NODE_BOOLEAN, 1, 0 }, { "false", NODE_BOOLEAN, 0, 0 },
	};
	struct node *node;

	if (at->kind != TOKEN_NAME) {
		node = new_node(p, at->kind == TOKEN_REAL ? NODE_REAL : NODE_INTEGER, at);
		if (node) {
			node->integer = at->integer;
			node->real = at->real;
			node->name = at->text;
		}
		return node;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(at->text, words[i].word) == 0) {
			node = new_node(p, words[i].kind, at);
			if (node) {
				node->integer = words[i].integer;
				node->real = words[i].real;
				node->name = words[i].word;
			}
			return node;
		}
	return NULL;
}

static bool
is_constant(const struct parser *p)
{
	return p->token.kind == TOKEN_INTEGER || p->token.kind == TOKEN_REAL
		|| (p->token.kind == TOKEN_NAME && (is(p, "inf") || is(p, "pi") || is(p, "true")
			|| is(p, "false")));
}

static struct node *
parse_atom(struct parser *p)
{
	struct token at = p->token;
	struct node *node;

	if (is_constant(p))
		return next(p) ? NULL : parse_constant(p, &at);
	if (is(p, "(")) {
		if (next(p) || !(node = parse_expr(p)) || expect(p, ")"))
			return NULL;
		return node;
	}
	if (p->token.kind != TOKEN_NAME) {
		fail_expected(p, "an expression");
		return NULL;
	}
	if (expect_name(p, "an expression", &at))
		return NULL;
	if (is(p, "["))
		return parse_access(p, &at);
	if (is(p, "("))
		return parse_call(p, &at);
	node = new_node(p, NODE_NAME, &at);
	if (node)
		node->name = at.text;
	return node;
}

static struct node *
parse_power(struct parser *p)
{
	struct node *base = parse_atom(p);
	struct token at = p->token;

	if (!base || !is(p, "^"))
		return base;
	if (next(p))
		return NULL;
	return binary(p, NODE_POWER, &at, base, parse_unary(p));
}

static bool
enter(struct parser *p)
{
	if (++p->nesting <= MAX_NESTING)
		return true;
	math_error(p->err, p->token.line, p->token.column, "the expression is nested more than %d deep",
		MAX_NESTING);
	return false;
}

static struct node *
parse_unary(struct parser *p)
{
	struct token at = p->token;
	struct node *node = NULL, *operand;

	if (!enter(p))
		return NULL;
	if (!is(p, "-"))
		node = parse_power(p);
	else if (!next(p) && (operand = parse_unary(p)))
		node = with_children(p, new_node(p, NODE_NEGATE, &at), &operand, 1);
	p->nesting--;
	return node;
}

struct operator {
	const char *text;
	enum node_kind kind;
};

/* operand { operator operand }, to the left. */
static struct node *
parse_chain(struct parser *p, struct node *(*operand)(struct parser *), const struct operator *operators)
{
	struct node *left = operand(p);

	while (left) {
		struct token at = p->token;
		const struct operator *o = operators;

		while (o->text && !is(p, o->text))
			o++;
		if (!o->text)
			break;
		if (next(p))
			return NULL;
		left = binary(p, o->kind, &at, left, operand(p));
	}
	return left;
}

static struct node *
parse_term(struct parser *p)
{
	static const struct operator operators[] = {
		{ "*", NODE_MULTIPLY }, { "/", NODE_DIVIDE }, { "div", NODE_DIV }, { "mod", NODE_MOD }, { NULL, NODE_ADD },
	};

	return parse_chain(p, parse_unary, operators);
}

static struct node *
parse_sum(struct parser *p)
{
	static const struct operator operators[] = {
		{ "+", NODE_ADD }, { "-", NODE_SUBTRACT }, { NULL, NODE_ADD },
	};

	return parse_chain(p, parse_term, operators);
}

static bool
comparison_at(const struct parser *p, enum comparison *out)
{
	static const char *const texts[] = { "<", "<=", ">", ">=", "==", "!=" };

	for (int i = 0; i < 6; i++)
		if (is(p, texts[i])) {
			*out = (enum comparison)i;
			return true;
		}
	return false;
}

static struct node *
parse_comparison(struct parser *p)
{
	struct node *list[MAX_CHILDREN], *node;
	enum comparison comparisons[MAX_CHILDREN];
	struct token at;
	int count = 1;

	list[0] = parse_sum(p);
	if (!list[0] || !comparison_at(p, &comparisons[0]))
		return list[0];
	at = p->token;
	do {
		if (count == MAX_CHILDREN) {
			math_error(p->err, at.line, at.column, "a list has more than %d members", MAX_CHILDREN);
			return NULL;
		}
		if (next(p) || !(list[count++] = parse_sum(p)))
			return NULL;
	} while (comparison_at(p, &comparisons[count - 1]));
	node = with_children(p, new_node(p, NODE_COMPARE, &at), list, count);
	if (node) {
		node->comparisons = arena_alloc(p->arena, (size_t)(count - 1) * sizeof *comparisons);
		memcpy(node->comparisons, comparisons, (size_t)(count - 1) * sizeof *comparisons);
	}
	return node;
}

static struct node *
parse_not(struct parser *p)
{
	struct token at = p->token;
	struct node *node = NULL, *operand;

	if (!is(p, "not"))
		return parse_comparison(p);
	if (!enter(p))
		return NULL;
	if (!next(p) && (operand = parse_not(p)))
		node = with_children(p, new_node(p, NODE_NOT, &at), &operand, 1);
	p->nesting--;
	return node;
}

static struct node *
parse_and(struct parser *p)
{
	static const struct operator operators[] = { { "and", NODE_AND }, { NULL, NODE_AND } };

	return parse_chain(p, parse_not, operators);
}

static struct node *
parse_or(struct parser *p)
{
	static const struct operator operators[] = { { "or", NODE_OR }, { NULL, NODE_OR } };

	return parse_chain(p, parse_and, operators);
}

static struct node *
parse_expr(struct parser *p)
{
	struct node *children[3], *node = NULL;
	struct token at;

	if (!enter(p))
		return NULL;
	children[1] = parse_or(p);
	at = p->token;
	if (!children[1] || !is(p, "if"))
		node = children[1];
	else if (!next(p) && (children[0] = parse_or(p)) && !expect(p, "else") && (children[2] = parse_expr(p)))
		node = with_children(p, new_node(p, NODE_IF, &at), children, 3);
	p->nesting--;
	return node;
}

/* ---- definitions */

static int
parse_left(struct parser *p, struct definition *d)
{
	if (!is(p, "["))
		return 0;
	do {
		struct variable *v;

		if (d->rank == TENSOR_MAX_RANK)
			return math_error(p->err, p->token.line, p->token.column,
				"'%s' has more than %d dimensions", d->name,
				TENSOR_MAX_RANK);
		if (next(p) || !(v = parse_bind(p)))
			return -1;
		if (v->low)
			return math_error(p->err, v->low->line, v->low->column,
				"'%s' begins at 0 on the left-hand side; write '%s in ...' without '..'",
					v->name, v->name);
		d->rank++;
	} while (is(p, ","));
	return expect(p, "]");
}

static int
parse_definition(struct parser *p, struct definition *d)
{
	struct token name;

	if (expect_name(p, "a definition", &name))
		return -1;
	d->name = name.text;
	d->line = name.line;
	d->column = name.column;
	p->definition = d;
	if (parse_left(p, d) || expect(p, "="))
		return -1;
	d->body = parse_expr(p);
	return d->body ? 0 : -1;
}

static int
start(struct parser *p, const char *text, size_t length, struct arena *arena, struct buf *err)
{
	memset(p, 0, sizeof *p);
	p->lexer = (struct lexer){ text, text + length, 1, 1, arena };
	p->arena = arena;
	p->err = err;
	if (length > MATH_MAX_TEXT_BYTES)
		return math_error(err, 1, 1, "the text has %zu bytes, at most %d are allowed", length,
			MATH_MAX_TEXT_BYTES);
	return next(p);
}

int
math_parse_text(const char *text, size_t length, struct parsed *out, struct buf *err)
{
	struct parser p;
	int capacity = 0;

	out->definitions = NULL;
	out->definition_count = 0;
	if (start(&p, text, length, out->arena, err))
		return -1;
	while (p.token.kind != TOKEN_END) {
		if (out->definition_count == MATH_MAX_DEFINITIONS)
			return math_error(err, p.token.line, p.token.column,
				"the spec has more than %d definitions",
				MATH_MAX_DEFINITIONS);
		if (out->definition_count == capacity) {
			struct definition *more;

			capacity = capacity ? 2 * capacity : 8;
			more = arena_alloc(out->arena, (size_t)capacity * sizeof *more);
			if (out->definition_count)
				memcpy(more, out->definitions, (size_t)out->definition_count * sizeof *more);
			out->definitions = more;
		}
		if (parse_definition(&p, &out->definitions[out->definition_count++]))
			return -1;
	}
	out->node_count = p.nodes;
	if (!out->definition_count)
		return math_error(err, 1, 1, "the spec defines nothing");
	return 0;
}

struct node *
math_parse_expression(const char *text, size_t length, struct arena *arena, struct buf *err)
{
	struct parser p;
	struct node *node;

	if (start(&p, text, length, arena, err) || !(node = parse_expr(&p)))
		return NULL;
	if (p.token.kind != TOKEN_END) {
		fail_expected(&p, "the end");
		return NULL;
	}
	return node;
}
