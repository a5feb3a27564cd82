/*
 * Axis expressions: integers, axes, + - * div mod min max. They give derived axes, shapes and bounds of
 * domains, and every index range of a spec is one in the end.
 * Values are int64 and every overflow is an error; derived axes may be declared in any order.
 */
#include <inttypes.h>
#include <string.h>

#include "math/spec.h"

int
math_axis_check(struct node *node, const char *const *names, size_t count, struct buf *err)
{
	switch (node->kind) {
	case NODE_NAME:
		for (size_t i = 0; i < count; i++)
			if (strcmp(names[i], node->name) == 0) {
				node->kind = NODE_AXIS;
				node->number = (int)i;
				node->type = MATH_INTEGER;
				return 0;
			}
		return math_error(err, node->line, node->column, "unknown axis '%s'", node->name);
	case NODE_AXIS: case NODE_INTEGER:
		node->type = MATH_INTEGER;
		return 0;
	case NODE_CALL:
		if ((strcmp(node->name, "min") && strcmp(node->name, "max")) || node->count < 2)
			return math_error(err, node->line, node->column,
				"an axis expression has no function '%s' of %d arguments", node->name,
					node->count);
		node->number = math_function_find(node->name);
		break;
	case NODE_NEGATE: case NODE_ADD: case NODE_SUBTRACT: case NODE_MULTIPLY: case NODE_DIV: case NODE_MOD:
		break;
	case NODE_DIVIDE:
		return math_error(err, node->line, node->column,
			"an axis expression divides with 'div', not with '/'");
	default:
		return math_error(err, node->line, node->column,
			"an axis expression has only integers, axes, + - * div mod min max");
	}
	node->type = MATH_INTEGER;
	for (int i = 0; i < node->count; i++)
		if (math_axis_check(node->children[i], names, count, err))
			return -1;
	return 0;
}

static int64_t
floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Rounds down, as the language's div and mod do; b is not 0. false: overflow. */
static bool
combine(enum node_kind kind, bool smaller, int64_t a, int64_t b, int64_t *out)
{
	switch (kind) {
	case NODE_ADD: return !__builtin_add_overflow(a, b, out);
	case NODE_SUBTRACT: return !__builtin_sub_overflow(a, b, out);
	case NODE_MULTIPLY: return !__builtin_mul_overflow(a, b, out);
	case NODE_DIV:
		if (a == INT64_MIN && b == -1)
			return false;
		*out = floor_div(a, b);
		return true;
	case NODE_MOD:
		*out = b == -1 ? 0 : a - floor_div(a, b) * b;
		return true;
	default:
		*out = (a < b) == smaller ? a : b;
		return true;
	}
}

int
math_axis_value(const struct node *node, const int64_t *values, int64_t *out, struct buf *err)
{
	int64_t result, operand;

	switch (node->kind) {
	case NODE_INTEGER:
		*out = node->integer;
		return 0;
	case NODE_AXIS:
		*out = values[node->number];
		return 0;
	case NODE_NEGATE:
		if (math_axis_value(node->children[0], values, &operand, err))
			return -1;
		if (operand == INT64_MIN)
			return math_error(err, node->line, node->column, "integer overflow");
		*out = -operand;
		return 0;
	default:
		break;
	}
	if (math_axis_value(node->children[0], values, &result, err))
		return -1;
	for (int i = 1; i < node->count; i++) {
		if (math_axis_value(node->children[i], values, &operand, err))
			return -1;
		if ((node->kind == NODE_DIV || node->kind == NODE_MOD) && operand == 0)
			return math_error(err, node->line, node->column, "division by zero");
		if (!combine(node->kind, node->kind == NODE_CALL && node->name[1] == 'i', result, operand,
			&result))
			return math_error(err, node->line, node->column, "integer overflow");
	}
	*out = result;
	return 0;
}

/* The value when it holds for every workload. */
static bool
fixed_value(const struct math_spec *spec, const struct node *node, int64_t *out)
{
	int64_t values[MATH_MAX_AXES] = { 0 };
	bool known = node->kind != NODE_AXIS || spec->axes[node->number].fixed;

	for (int i = 0; i < node->count && known; i++)
		known = fixed_value(spec, node->children[i], out);
	for (int i = 0; i < spec->axis_count; i++)
		values[i] = spec->axes[i].value;
	return known && !math_axis_value(node, values, out, NULL);
}

bool
math_axis_equal(const struct math_spec *spec, const struct node *a, const struct node *b)
{
	int64_t x, y;

	if (a == b)
		return true;
	if (fixed_value(spec, a, &x) && fixed_value(spec, b, &y))
		return x == y;
	if (a->kind != b->kind || a->count != b->count || a->number != b->number || a->integer != b->integer)
		return false;
	for (int i = 0; i < a->count; i++)
		if (!math_axis_equal(spec, a->children[i], b->children[i]))
			return false;
	return a->kind != NODE_INTEGER || a->integer == b->integer;
}

void
math_axis_format(struct buf *b, const struct math_spec *spec, const struct node *node)
{
	static const char *const operators[] = { [NODE_ADD] = " + ", [NODE_SUBTRACT] = " - ",
		[NODE_MULTIPLY] = "*",
		[NODE_DIV] = " div ", [NODE_MOD] = " mod ", [NODE_CALL] = ", " };

	if (node->kind == NODE_INTEGER)
		buf_addf(b, "%" PRId64, node->integer);
	else if (node->kind == NODE_AXIS)
		buf_adds(b, spec->axes[node->number].name);
	else {
		buf_adds(b, node->kind == NODE_CALL ? node->name : "");
		buf_adds(b, node->kind == NODE_NEGATE ? "-(" : "(");
		for (int i = 0; i < node->count; i++) {
			buf_adds(b, i ? operators[node->kind] : "");
			math_axis_format(b, spec, node->children[i]);
		}
		buf_addc(b, ')');
	}
}

int
math_axis_expression(const char *text, const char *const *names, const int64_t *values, size_t count,
	int64_t *out,
	struct buf *err)
{
	struct arena arena = ARENA_INIT;
	struct node *node = math_parse_expression(text, strlen(text), &arena, err);
	int result = -1;

	if (node && !math_axis_check(node, names, count, err))
		result = math_axis_value(node, values, out, err);
	arena_release(&arena);
	return result;
}

/* ---- the axes of a workload */

struct resolver {
	const struct math_axis *axes;
	size_t count;
	const char *names[MATH_MAX_AXES];
	int64_t *values;
	bool known[MATH_MAX_AXES];
};

static int
take_given(struct resolver *r, const struct math_given *given, size_t given_count, struct buf *err)
{
	for (size_t g = 0; g < given_count; g++) {
		size_t i = 0;

		while (i < r->count && strcmp(r->names[i], given[g].name))
			i++;
		if (i == r->count || r->axes[i].fixed || r->axes[i].expression)
			return buf_err(err, "'%s' is not a variable axis of the task.", given[g].name);
		if (r->known[i])
			return buf_err(err, "Axis '%s' is given twice.", given[g].name);
		r->values[i] = given[g].value;
		r->known[i] = true;
	}
	for (size_t i = 0; i < r->count; i++) {
		if (r->axes[i].fixed) {
			r->values[i] = r->axes[i].value;
			r->known[i] = true;
		} else if (!r->axes[i].expression && !r->known[i])
			return buf_err(err, "Axis '%s' has no value.", r->names[i]);
	}
	return 0;
}

static bool
all_known(const struct resolver *r, const struct node *node)
{
	if (node->kind == NODE_AXIS && !r->known[node->number])
		return false;
	for (int i = 0; i < node->count; i++)
		if (!all_known(r, node->children[i]))
			return false;
	return true;
}

/* Computes the axes whose operands are known, round by round. */
static int
derive(struct resolver *r, struct node **expressions, struct buf *err)
{
	size_t left = 0, before;
	struct buf why = BUF_INIT;

	for (size_t i = 0; i < r->count; i++)
		left += !r->known[i];
	do {
		before = left;
		for (size_t i = 0; i < r->count; i++) {
			if (r->known[i] || !all_known(r, expressions[i]))
				continue;
			if (math_axis_value(expressions[i], r->values, &r->values[i], &why)) {
				buf_err(err, "Axis '%s' = %s: %s.", r->names[i], r->axes[i].expression,
					buf_str(&why));
				buf_release(&why);
				return -1;
			}
			r->known[i] = true;
			left--;
		}
	} while (left && left < before);
	for (size_t i = 0; i < r->count; i++)
		if (!r->known[i])
			return buf_err(err, "Axis '%s' depends on itself.", r->names[i]);
	return 0;
}

int
math_resolve_axes(const struct math_axis *axes, size_t axis_count, const struct math_given *given,
	size_t given_count,
	int64_t *values, struct buf *err)
{
	struct resolver r = { .axes = axes, .count = axis_count, .values = values };
	struct node *expressions[MATH_MAX_AXES] = { NULL };
	struct arena arena = ARENA_INIT;
	struct buf why = BUF_INIT;
	int result = -1;

	if (axis_count > MATH_MAX_AXES)
		return buf_err(err, "The task has %zu axes, at most %d are allowed.", axis_count, MATH_MAX_AXES);
	for (size_t i = 0; i < axis_count; i++)
		r.names[i] = axes[i].name;
	for (size_t i = 0; i < axis_count; i++) {
		if (!axes[i].expression)
			continue;
		expressions[i] = math_parse_expression(axes[i].expression, strlen(axes[i].expression), &arena,
			&why);
		if (!expressions[i] || math_axis_check(expressions[i], r.names, axis_count, &why)) {
			buf_err(err, "Axis '%s' = %s: %s.", axes[i].name, axes[i].expression, buf_str(&why));
			goto out;
		}
	}
	if (take_given(&r, given, given_count, err) || derive(&r, expressions, err))
		goto out;
	result = 0;
	for (size_t i = 0; i < axis_count && !result; i++)
		if (values[i] < 0)
			result = buf_err(err, "Axis '%s' is negative: %" PRId64 ".", axes[i].name, values[i]);
out:
	buf_release(&why);
	arena_release(&arena);
	return result;
}

int
math_resolve_shape(const struct math_tensor *tensor, const struct math_axis *axes, size_t axis_count,
	const int64_t *values, int64_t shape[TENSOR_MAX_RANK], struct buf *err)
{
	const char *names[MATH_MAX_AXES];
	struct buf why = BUF_INIT;
	int result = 0;

	if (axis_count > MATH_MAX_AXES || tensor->rank < 0 || tensor->rank > TENSOR_MAX_RANK)
		return buf_err(err, "Tensor '%s' has %d dimensions over %zu axes, at most %d over %d are allowed.",
			tensor->name, tensor->rank, axis_count, TENSOR_MAX_RANK, MATH_MAX_AXES);
	for (size_t i = 0; i < axis_count; i++)
		names[i] = axes[i].name;
	for (int d = 0; d < tensor->rank && !result; d++) {
		if (math_axis_expression(tensor->shape[d], names, values, axis_count, &shape[d], &why))
			result = buf_err(err, "Dimension %d of '%s', %s: %s.", d, tensor->name,
				tensor->shape[d], buf_str(&why));
		else if (shape[d] < 0)
			result = buf_err(err, "Dimension %d of '%s' is negative: %" PRId64 ".", d, tensor->name,
				shape[d]);
	}
	buf_release(&why);
	return result;
}
