/*
 * Types: comes in a spec with names looked up, goes out with boolean, integer or real on every node.
 * The hard idea is recurrence: a definition's type depends on itself. Types start unknown and only go up
 * (integer to real), so passes are made until nothing changes.
 */
#include "math/types.h"

struct typer {
	struct math_spec *spec;
	struct definition *definition;
	struct buf *err;
	bool last;	/* the final pass: nothing may be unknown any more */
};

static const char *
type_name(enum math_type type)
{
	static const char *const names[] = { "unknown", "boolean", "integer", "real" };

	return names[type];
}

static int
wrong(struct typer *t, const struct node *at, const char *what, const char *wanted, enum math_type got)
{
	return math_error(t->err, at->line, at->column, "%s must be %s, not %s", what, wanted,
		type_name(got));
}

/* The type that holds both, into *out; unknown gives way. */
static int
join(struct typer *t, const struct node *at, enum math_type a, enum math_type b, enum math_type *out)
{
	if (a == MATH_NONE || b == MATH_NONE)
		*out = a > b ? a : b;
	else if ((a == MATH_BOOLEAN) != (b == MATH_BOOLEAN))
		return math_error(t->err, at->line, at->column,
			"a boolean and a number do not mix; write 'x if c else 0' or int(c)");
	else
		*out = a > b ? a : b;
	return 0;
}

static int infer(struct typer *t, struct node *node);

static int
need_number(struct typer *t, const struct node *node, const char *what)
{
	return node->type == MATH_BOOLEAN ? wrong(t, node, what, "a number", node->type) : 0;
}

static int
need_integer(struct typer *t, const struct node *node, const char *what)
{
	return node->type == MATH_BOOLEAN || node->type == MATH_REAL
		? wrong(t, node, what, "an integer", node->type) : 0;
}

static int
need_boolean(struct typer *t, const struct node *node, const char *what)
{
	return node->type == MATH_INTEGER || node->type == MATH_REAL
		? wrong(t, node, what, "a boolean", node->type) : 0;
}

static int
need_all(struct typer *t, const struct node *node, int (*need)(struct typer *, const struct node *, const char *),
	const char *what)
{
	for (int i = 0; i < node->count; i++)
		if (need(t, node->children[i], what))
			return -1;
	return 0;
}

/* Numbers of any kind to their join. */
static int
numeric(struct typer *t, struct node *node, const char *what)
{
	node->type = MATH_NONE;
	for (int i = 0; i < node->count; i++)
		if (need_number(t, node->children[i], what)
			|| join(t, node, node->type, node->children[i]->type, &node->type))
			return -1;
	return 0;
}

static int
infer_access(struct typer *t, struct node *node)
{
	if (need_all(t, node, need_integer, "a subscript"))
		return -1;
	node->type = t->spec->tensors[node->number].type;
	return node->pad ? join(t, node->pad, node->type, node->pad->type, &node->type) : 0;
}

static int
infer_call(struct typer *t, struct node *node)
{
	static const enum math_type results[] = { [FUNCTION_REAL] = MATH_REAL, [FUNCTION_SAME] = MATH_NONE,
		[FUNCTION_TO_INTEGER] = MATH_INTEGER, [FUNCTION_SATURATE] = MATH_INTEGER,
			[FUNCTION_ROUND_TO] = MATH_REAL,
		[FUNCTION_TEST] = MATH_BOOLEAN, [FUNCTION_BITS] = MATH_INTEGER, [FUNCTION_INT] = MATH_INTEGER,
		[FUNCTION_TO_REAL] = MATH_REAL };
	const struct function *f = &math_functions[node->number];
	char what[100];

	snprintf(what, sizeof what, "an argument of '%s'", f->name);
	node->type = results[f->kind];
	switch (f->kind) {
	case FUNCTION_SAME:
		return numeric(t, node, what);
	case FUNCTION_BITS:
		return need_all(t, node, need_integer, what);
	case FUNCTION_INT:
		return node->children[0]->type == MATH_REAL
			? math_error(t->err, node->line, node->column,
				"int takes a boolean; use floor, ceil, round or trunc") : 0;
	default:
		return need_all(t, node, need_number, what);
	}
}

static int
infer_reduce(struct typer *t, struct node *node)
{
	struct node *body = node->children[0];

	for (int i = 0; i < node->bind_count; i++) {
		struct variable *v = node->binds[i];

		if ((v->low && (infer(t, v->low) || need_integer(t, v->low, "a range")))
			|| infer(t, v->high) || need_integer(t, v->high, "a range"))
			return -1;
	}
	if (node->guard && (infer(t, node->guard) || need_boolean(t, node->guard, "what follows 'if'")))
		return -1;
	if (node->number == REDUCE_ANY || node->number == REDUCE_ALL) {
		node->type = MATH_BOOLEAN;
		return need_boolean(t, body, "what 'any' and 'all' combine");
	}
	node->type = node->number == REDUCE_ARGMAX || node->number == REDUCE_ARGMIN ? MATH_INTEGER : body->type;
	return need_number(t, body, "what is reduced");
}

static int
infer_comparison(struct typer *t, struct node *node)
{
	enum math_type joined = MATH_NONE;

	for (int i = 0; i < node->count; i++)
		if (join(t, node, joined, node->children[i]->type, &joined))
			return -1;
	for (int i = 0; i + 1 < node->count; i++)
		if (joined == MATH_BOOLEAN && node->comparisons[i] != COMPARE_EQ
			&& node->comparisons[i] != COMPARE_NE)
			return math_error(t->err, node->line, node->column,
				"booleans have no order; only == and != compare them");
	node->type = MATH_BOOLEAN;
	return 0;
}

static int
infer_kind(struct typer *t, struct node *node)
{
	switch (node->kind) {
	case NODE_INTEGER: case NODE_AXIS: case NODE_INDEX: case NODE_NAME:
		node->type = MATH_INTEGER;
		return 0;
	case NODE_REAL:
		node->type = MATH_REAL;
		return 0;
	case NODE_BOOLEAN:
		node->type = MATH_BOOLEAN;
		return 0;
	case NODE_SCALAR:
		node->type = t->spec->scalars[node->number].type;
		return 0;
	case NODE_ACCESS:
		return infer_access(t, node);
	case NODE_CALL:
		return infer_call(t, node);
	case NODE_REDUCE:
		return infer_reduce(t, node);
	case NODE_IF:
		return need_boolean(t, node->children[0], "what follows 'if'")
			|| join(t, node, node->children[1]->type, node->children[2]->type, &node->type) ? -1 : 0;
	case NODE_AND: case NODE_OR: case NODE_NOT:
		node->type = MATH_BOOLEAN;
		return need_all(t, node, need_boolean, "an operand of and, or, not");
	case NODE_COMPARE:
		return infer_comparison(t, node);
	case NODE_NEGATE: case NODE_ADD: case NODE_SUBTRACT: case NODE_MULTIPLY: case NODE_POWER:
		return numeric(t, node, "an operand");
	case NODE_DIVIDE:
		node->type = MATH_REAL;
		return need_all(t, node, need_number, "an operand");
	case NODE_DIV: case NODE_MOD:
		node->type = MATH_INTEGER;
		return need_all(t, node, need_integer, node->kind == NODE_DIV ? "an operand of div"
			: "an operand of mod");
	}
	return 0;
}

static int
infer(struct typer *t, struct node *node)
{
	for (int i = 0; i < node->count; i++)
		if (infer(t, node->children[i]))
			return -1;
	if (node->pad && infer(t, node->pad))
		return -1;
	if (infer_kind(t, node))
		return -1;
	if (t->last && node->type == MATH_NONE)
		return math_error(t->err, node->line, node->column,
			"the type cannot be told: '%s' is defined by nothing but itself", t->definition->name);
	return 0;
}

/* A definition's own type from its body's. */
static int
settle(struct typer *t, struct definition *d, bool *changed)
{
	struct tensor_info *tensor = &t->spec->tensors[d->tensor];
	enum math_type type = d->body->type;

	if (tensor->output < 0) {
		*changed |= tensor->type != type;
		tensor->type = type;
		return 0;
	}
	if (type != MATH_NONE && ((tensor->type == MATH_BOOLEAN) != (type == MATH_BOOLEAN)
		|| type > tensor->type))
		return math_error(t->err, d->line, d->column, "output '%s' is %s, but its definition is %s%s",
			d->name,
			dtype_name(tensor->dtype), type_name(type),
			tensor->type == MATH_INTEGER && type == MATH_REAL ? "; use floor, ceil, round or trunc"
				: "");
	return 0;
}

int
math_infer_types(struct math_spec *spec, struct buf *err)
{
	struct typer t = { .spec = spec, .err = err };
	bool changed = true;

	while (changed || !t.last) {
		t.last = !changed;
		changed = false;
		for (int i = 0; i < spec->definition_count; i++) {
			t.definition = &spec->definitions[i];
			if (infer(&t, t.definition->body) || settle(&t, t.definition, &changed))
				return -1;
		}
	}
	return 0;
}
