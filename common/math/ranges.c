/*
 * Ranges: comes in a spec whose names are looked up, goes out with a range on every index and a shape on
 * every definition. The rules and their order are those of LANGUAGE.md, section "Ranges"; they are applied
 * until nothing is left, a weaker rule only when all stronger ones have come to a halt, so that the order
 * of the text does not matter. Ranges are axis expressions and are compared without their values.
 */
#include <string.h>

#include "math/spec.h"

/* What uses say about one index. */
struct evidence {
	const struct node *extent;	/* the first one found */
	const struct node *other, *other_at;	/* one that differs from it */
};

struct ranger {
	struct math_spec *spec;
	struct buf *err;
};

static void
note(const struct math_spec *spec, struct evidence *e, const struct node *extent, const struct node *at)
{
	if (!extent)
		return;
	if (!e->extent)
		e->extent = extent;
	else if (!e->other && !math_axis_equal(spec, e->extent, extent)) {
		e->other = extent;
		e->other_at = at;
	}
}

/* Bare subscripts `variable` in accesses below node, with or without pad value, other than to `self`. */
static void
collect(const struct math_spec *spec, const struct node *node, int variable, int self, bool padded,
	struct evidence *e)
{
	if (node->kind == NODE_ACCESS && node->number != self && (node->pad != NULL) == padded)
		for (int k = 0; k < node->count; k++)
			if (node->children[k]->kind == NODE_INDEX && node->children[k]->number == variable)
				note(spec, e, spec->tensors[node->number].shape[k], node);
	for (int i = 0; i < node->count; i++)
		collect(spec, node->children[i], variable, self, padded, e);
	if (node->pad)
		collect(spec, node->pad, variable, self, padded, e);
	if (node->guard)
		collect(spec, node->guard, variable, self, padded, e);
	for (int i = 0; i < node->bind_count; i++) {
		if (node->binds[i]->low)
			collect(spec, node->binds[i]->low, variable, self, padded, e);
		if (node->binds[i]->high)
			collect(spec, node->binds[i]->high, variable, self, padded, e);
	}
}

static bool
is_axis_expression(const struct node *node)
{
	bool is = node->kind == NODE_INTEGER || node->kind == NODE_AXIS || node->kind == NODE_NEGATE
		|| node->kind == NODE_ADD || node->kind == NODE_SUBTRACT || node->kind == NODE_MULTIPLY
		|| node->kind == NODE_DIV || node->kind == NODE_MOD;

	for (int i = 0; i < node->count && is; i++)
		is = is_axis_expression(node->children[i]);
	return is;
}

/* Where the variables of `user` index dimension k of `tensor` alone. */
static void
collect_uses(const struct math_spec *spec, const struct definition *user, const struct node *node, int tensor,
	int k,
	struct evidence *e)
{
	if (node->kind == NODE_ACCESS && node->number == tensor && node->children[k]->kind == NODE_INDEX) {
		const struct variable *v = user->variables[node->children[k]->number];

		if (!v->low && v->high && is_axis_expression(v->high))
			note(spec, e, v->high, node);
	}
	for (int i = 0; i < node->count; i++)
		collect_uses(spec, user, node->children[i], tensor, k, e);
	if (node->pad)
		collect_uses(spec, user, node->pad, tensor, k, e);
	if (node->guard)
		collect_uses(spec, user, node->guard, tensor, k, e);
}

static int
fail_conflict(struct ranger *r, const struct definition *d, const struct variable *v, const struct evidence *e)
{
	struct buf one = BUF_INIT, other = BUF_INIT;

	math_axis_format(&one, r->spec, e->extent);
	math_axis_format(&other, r->spec, e->other);
	math_error(r->err, v->line, v->column,
		"index '%s' of '%s' would range over %s, and over %s by its use at %d:%d; "
		"write '%s in ...'", v->name, d->name, buf_str(&one), buf_str(&other), e->other_at->line,
		e->other_at->column, v->name);
	buf_release(&one);
	buf_release(&other);
	return -1;
}

static void
set(struct ranger *r, const struct definition *d, struct variable *v, const struct node *extent)
{
	v->high = (struct node *)extent;
	if (v->number < d->rank)
		r->spec->tensors[d->tensor].shape[v->number] = v->high;
}

enum rule { RULE_SUBSCRIPTS, RULE_USES, RULE_PADDED };

static void
look(struct ranger *r, const struct definition *d, const struct variable *v, enum rule rule, struct evidence *e)
{
	const struct math_spec *spec = r->spec;

	memset(e, 0, sizeof *e);
	if (rule != RULE_USES)
		collect(spec, d->body, v->number, d->tensor, rule == RULE_PADDED, e);
	else if (v->number < d->rank)
		for (int i = 0; i < spec->definition_count; i++)
			if (i != spec->tensors[d->tensor].definition)
				collect_uses(spec, &spec->definitions[i], spec->definitions[i].body, d->tensor,
					v->number, e);
}

/* Settles by one rule what can be settled: 1 if anything, 0 if nothing, -1 on a conflict. The weaker
 * rules stop at the first, for the stronger ones to go on from there. */
static int
apply(struct ranger *r, enum rule rule)
{
	int settled = 0;

	for (int i = 0; i < r->spec->definition_count; i++) {
		struct definition *d = &r->spec->definitions[i];

		for (int k = 0; k < d->variable_count; k++) {
			struct variable *v = d->variables[k];
			struct evidence e;

			if (v->high)
				continue;
			look(r, d, v, rule, &e);
			if (e.other)
				return fail_conflict(r, d, v, &e);
			if (!e.extent)
				continue;
			set(r, d, v, e.extent);
			settled = 1;
			if (rule != RULE_SUBSCRIPTS)
				return 1;
		}
	}
	return settled;
}

/* Outputs have declared shapes; what is stated on the left gives the others theirs. */
static int
start(struct ranger *r, struct definition *d)
{
	struct tensor_info *t = &r->spec->tensors[d->tensor];

	for (int k = 0; k < d->rank; k++) {
		struct variable *v = d->variables[k];

		if (v->stated && t->shape[k] && !math_axis_equal(r->spec, v->high, t->shape[k])) {
			struct buf shape = BUF_INIT;

			math_axis_format(&shape, r->spec, t->shape[k]);
			math_error(r->err, v->line, v->column, "index '%s' of output '%s' ranges over %s",
				v->name, d->name,
				buf_str(&shape));
			buf_release(&shape);
			return -1;
		}
		if (v->stated)
			t->shape[k] = v->high;
		else
			v->high = t->shape[k];
	}
	return 0;
}

/* An index whose range was inferred must agree with all unpadded bare uses, also with those whose shape
 * became known only afterwards. The left-hand side of an output is declared, hence may differ. */
static int
verify(struct ranger *r, const struct definition *d)
{
	bool declared = r->spec->tensors[d->tensor].output >= 0;

	for (int k = 0; k < d->variable_count; k++) {
		const struct variable *v = d->variables[k];
		struct evidence e = { .extent = v->high };

		if (v->stated || (declared && k < d->rank))
			continue;
		collect(r->spec, d->body, v->number, d->tensor, false, &e);
		if (e.other)
			return fail_conflict(r, d, v, &e);
	}
	return 0;
}

int
math_infer_ranges(struct math_spec *spec, struct buf *err)
{
	struct ranger r = { spec, err };
	int rule = RULE_SUBSCRIPTS;

	for (int i = 0; i < spec->definition_count; i++)
		if (start(&r, &spec->definitions[i]))
			return -1;
	while (rule <= RULE_PADDED) {
		int settled = apply(&r, (enum rule)rule);

		if (settled < 0)
			return -1;
		rule = settled ? RULE_SUBSCRIPTS : rule + 1;
	}
	for (int i = 0; i < spec->definition_count; i++) {
		const struct definition *d = &spec->definitions[i];

		for (int k = 0; k < d->variable_count; k++)
			if (!d->variables[k]->high)
				return math_error(err, d->variables[k]->line, d->variables[k]->column,
					"the range of '%s' cannot be told; write '%s in ...'",
						d->variables[k]->name, d->variables[k]->name);
		if (verify(&r, d))
			return -1;
	}
	return 0;
}
