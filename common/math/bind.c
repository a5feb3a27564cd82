/*
 * Spec, axis values and inputs to a run: the tree is copied with axes and scalars as constants, subscripts
 * that are linear in the indices become coefficients, and every tensor gets its shape.
 */
#include <inttypes.h>

#include "base/die.h"
#include "math/plan.h"

enum { MAX_TERMS = 8 };

struct binder {
	struct math_run *run;
	const int64_t *axes;
};

static struct op *compile(struct binder *b, const struct node *node);

static struct op **
compile_all(struct binder *b, struct node *const *nodes, int count)
{
	struct op **ops = arena_alloc(&b->run->arena, (size_t)(count ? count : 1) * sizeof *ops);

	for (int i = 0; i < count; i++)
		ops[i] = compile(b, nodes[i]);
	return ops;
}

/* ---- subscripts */

static bool
add_term(struct subscript *s, int variable, int64_t coefficient)
{
	for (int i = 0; i < s->term_count; i++)
		if (s->terms[i].variable == variable)
			return !__builtin_add_overflow(s->terms[i].coefficient, coefficient,
				&s->terms[i].coefficient);
	if (s->term_count == MAX_TERMS)
		return false;
	s->terms[s->term_count++] = (struct term){ variable, coefficient };
	return true;
}

/* Adds scale * op to s; false where op is not linear, or the coefficients overflow. */
static bool
linear(struct subscript *s, const struct op *op, int64_t scale)
{
	const struct op *constant, *other;
	int64_t product;

	switch (op->kind) {
	case NODE_INTEGER:
		return !__builtin_mul_overflow(op->value.integer, scale, &product)
			&& !__builtin_add_overflow(s->constant, product, &s->constant);
	case NODE_INDEX:
		return add_term(s, op->number, scale);
	case NODE_ADD:
		return linear(s, op->children[0], scale) && linear(s, op->children[1], scale);
	case NODE_SUBTRACT:
		return scale != INT64_MIN && linear(s, op->children[0], scale) && linear(s, op->children[1],
			-scale);
	case NODE_NEGATE:
		return scale != INT64_MIN && linear(s, op->children[0], -scale);
	case NODE_MULTIPLY:
		constant = op->children[op->children[0]->kind != NODE_INTEGER];
		other = op->children[op->children[0]->kind == NODE_INTEGER];
		return constant->kind == NODE_INTEGER && !__builtin_mul_overflow(constant->value.integer, scale,
			&product)
			&& linear(s, other, product);
	default:
		return false;
	}
}

static void
compile_access(struct binder *b, const struct node *node, struct op *op)
{
	op->store = &b->run->stores[node->number];
	op->subscripts = arena_alloc(&b->run->arena, (size_t)(node->count ? node->count
		: 1) * sizeof *op->subscripts);
	op->affine = true;
	for (int d = 0; d < node->count; d++) {
		struct subscript *s = &op->subscripts[d];

		s->terms = arena_alloc(&b->run->arena, MAX_TERMS * sizeof *s->terms);
		if (!linear(s, op->children[d], 1)) {
			s->op = op->children[d];
			op->affine = false;
		}
	}
	op->pad = node->pad ? compile(b, node->pad) : NULL;
}

/* ---- other nodes */

static void
constant(struct op *op, enum node_kind kind, union lane value)
{
	op->kind = kind;
	op->value = value;
	op->count = 0;
}

static void
compile_scalar(struct binder *b, const struct node *node, struct op *op)
{
	const struct scalar_info *s = &b->run->spec->scalars[node->number];

	if (s->type == MATH_REAL)
		constant(op, NODE_REAL, (union lane){ .real = s->real });
	else
		constant(op, s->type == MATH_INTEGER ? NODE_INTEGER : NODE_BOOLEAN,
			(union lane){ .integer = s->integer });
}

static void
compile_reduce(struct binder *b, const struct node *node, struct op *op)
{
	op->binds = arena_alloc(&b->run->arena, (size_t)node->bind_count * sizeof *op->binds);
	op->bind_count = node->bind_count;
	for (int i = 0; i < node->bind_count; i++) {
		const struct variable *v = node->binds[i];
		struct bind_op *bind = &op->binds[i];

		bind->variable = v->number;
		if (v->low)
			bind->low = compile(b, v->low);
		else {
			bind->low = arena_alloc(&b->run->arena, sizeof *bind->low);
			bind->low->type = MATH_INTEGER;
			constant(bind->low, NODE_INTEGER, (union lane){ .integer = 0 });
		}
		bind->high = compile(b, v->high);
		op->range_variables |= bind->low->variables | bind->high->variables;
		op->last_extent = -1;
		if (bind->low->kind == NODE_INTEGER && bind->high->kind == NODE_INTEGER
			&& __builtin_sub_overflow(bind->high->value.integer, bind->low->value.integer,
				&op->last_extent))
			op->last_extent = -1;
	}
	op->guard = node->guard ? compile(b, node->guard) : NULL;
}

/* Integer arithmetic on constants, unless it would be an error: that is for the evaluation to report. */
static void
fold(struct op *op)
{
	int64_t a, c, value;
	bool wrong;

	if (op->type != MATH_INTEGER || op->count != 2 || op->children[0]->kind != NODE_INTEGER
		|| op->children[1]->kind != NODE_INTEGER)
		return;
	a = op->children[0]->value.integer;
	c = op->children[1]->value.integer;
	switch (op->kind) {
	case NODE_ADD: wrong = __builtin_add_overflow(a, c, &value); break;
	case NODE_SUBTRACT: wrong = __builtin_sub_overflow(a, c, &value); break;
	case NODE_MULTIPLY: wrong = __builtin_mul_overflow(a, c, &value); break;
	case NODE_DIV:
		wrong = c <= 0;
		value = wrong ? 0 : a / c - (a % c < 0);
		break;
	default: return;
	}
	if (!wrong)
		constant(op, NODE_INTEGER, (union lane){ .integer = value });
}

static struct op *
compile(struct binder *b, const struct node *node)
{
	struct op *op = arena_alloc(&b->run->arena, sizeof *op);

	op->kind = node->kind;
	op->type = node->type;
	op->variables = node->variables;
	op->line = node->line;
	op->column = node->column;
	op->number = node->number;
	op->count = node->count;
	op->children = compile_all(b, node->children, node->count);
	switch (node->kind) {
	case NODE_INTEGER: case NODE_BOOLEAN:
		op->value.integer = node->integer;
		break;
	case NODE_REAL:
		op->value.real = node->real;
		break;
	case NODE_AXIS:
		constant(op, NODE_INTEGER, (union lane){ .integer = b->axes[node->number] });
		break;
	case NODE_SCALAR:
		compile_scalar(b, node, op);
		break;
	case NODE_ACCESS:
		compile_access(b, node, op);
		break;
	case NODE_CALL:
		op->function = &math_functions[node->number];
		break;
	case NODE_COMPARE:
		op->comparisons = node->comparisons;
		for (int i = 0; i < op->count; i++)
			if (op->children[i]->type > op->compared)
				op->compared = op->children[i]->type;
		break;
	case NODE_REDUCE:
		compile_reduce(b, node, op);
		break;
	default:
		fold(op);
		break;
	}
	return op;
}

/* ---- stores */

static int
shape_store(struct binder *b, const struct tensor_info *t, struct store *s, struct buf *err)
{
	struct buf why = BUF_INIT;
	int result = 0;

	s->name = t->name;
	s->type = t->type;
	s->dtype = t->type == MATH_REAL ? DTYPE_FLOAT64 : DTYPE_INT64;
	s->rank = t->rank;
	s->output = t->output;
	for (int d = 0; d < t->rank && !result; d++) {
		if (math_axis_value(t->shape[d], b->axes, &s->shape[d], &why))
			result = buf_err(err, "Dimension %d of '%s': %s.", d, t->name, buf_str(&why));
		else if (s->shape[d] < 0)
			result = buf_err(err, "Dimension %d of '%s' is negative: %" PRId64 ".", d, t->name,
				s->shape[d]);
	}
	buf_release(&why);
	if (result || tensor_size(s->dtype, s->rank, s->shape, &s->elements, NULL, err))
		return -1;
	for (int d = s->rank; d-- > 0;)
		s->stride[d] = d + 1 == s->rank ? 1 : s->stride[d + 1] * (s->shape[d + 1] ? s->shape[d + 1] : 1);
	return 0;
}

static int
bind_input(const struct tensor_info *info, struct store *s, const struct tensor *t, struct buf *err)
{
	bool same = t->rank == s->rank && t->dtype == info->dtype;

	for (int d = 0; d < s->rank && same; d++)
		same = t->shape[d] == s->shape[d];
	if (!same) {
		struct buf shapes = BUF_INIT;

		buf_addf(&shapes, "%s ", dtype_name(t->dtype));
		tensor_format_shape(&shapes, t->rank, t->shape);
		buf_addf(&shapes, ", the task says %s ", dtype_name(info->dtype));
		tensor_format_shape(&shapes, s->rank, s->shape);
		buf_err(err, "Input '%s' is %s.", info->name, buf_str(&shapes));
		buf_release(&shapes);
		return -1;
	}
	s->dtype = t->dtype;
	s->data = t->data;
	return 0;
}

static int
bind_all(struct binder *b, const struct tensor *const *inputs, struct buf *err)
{
	const struct math_spec *spec = b->run->spec;

	for (int i = 0; i < spec->axis_count; i++)
		if (b->axes[i] < 0)
			return buf_err(err, "Axis '%s' is negative: %" PRId64 ".", spec->axes[i].name,
				b->axes[i]);
	for (int i = 0; i < spec->tensor_count; i++) {
		struct store *s = &b->run->stores[i];

		if (shape_store(b, &spec->tensors[i], s, err)
			|| (i < spec->input_count && bind_input(&spec->tensors[i], s, inputs[i], err)))
			return -1;
	}
	for (int i = 0; i < spec->definition_count; i++) {
		struct store *s = &b->run->stores[spec->definitions[i].tensor];

		s->definition = &spec->definitions[i];
		s->body = compile(b, spec->definitions[i].body);
	}
	return 0;
}

struct math_run *
math_bind(const struct math_spec *spec, const int64_t *axis_values, const struct tensor *const *inputs,
	const struct math_limits *limits, struct buf *err)
{
	struct math_run *run = xcalloc(1, sizeof *run);
	struct binder binder = { run, axis_values };

	run->spec = spec;
	run->step_limit = limits && limits->steps ? limits->steps : UINT64_C(4000000000);
	run->memory_limit = limits && limits->memory_bytes ? limits->memory_bytes : UINT64_C(1) << 30;
	run->stores = arena_alloc(&run->arena, (size_t)spec->tensor_count * sizeof *run->stores);
	/* Touched only as deep as an expression goes. */
	run->scratch = xmalloc(EVAL_SCRATCH_LANES * sizeof *run->scratch);
	if (bind_all(&binder, inputs, err)) {
		math_run_free(run);
		return NULL;
	}
	return run;
}

void
math_run_free(struct math_run *run)
{
	if (!run)
		return;
	for (int i = 0; run->stores && i < run->spec->tensor_count; i++)
		math_memo_release(run, &run->stores[i].memo);
	free(run->pending);
	free(run->scratch);
	arena_release(&run->arena);
	free(run);
}

uint64_t
math_run_steps(const struct math_run *run)
{
	return run->steps;
}
