/*
 * Task and text to a checked spec: looks every name up, orders the definitions, and calls ranges.c and
 * types.c between. Nothing here knows axis values: a spec that passes holds for every workload, apart from
 * what only values can decide (subscripts, division by zero, size).
 */
#include <string.h>

#include "base/die.h"
#include "math/spec.h"
#include "math/types.h"

struct checker {
	struct math_spec *spec;
	struct definition *definition;
	struct variable *active[MATH_MAX_VARIABLES];
	int active_count;
	struct buf *err;
};

/* ---- what has the name already, or NULL */

static int
find_axis(const struct math_spec *spec, const char *name)
{
	for (int i = 0; i < spec->axis_count; i++)
		if (strcmp(spec->axes[i].name, name) == 0)
			return i;
	return -1;
}

static int
find_scalar(const struct math_spec *spec, const char *name)
{
	for (int i = 0; i < spec->scalar_count; i++)
		if (strcmp(spec->scalars[i].name, name) == 0)
			return i;
	return -1;
}

static int
find_tensor(const struct math_spec *spec, const char *name)
{
	for (int i = 0; i < spec->tensor_count; i++)
		if (strcmp(spec->tensors[i].name, name) == 0)
			return i;
	return -1;
}

static const char *
owner_of(const struct math_spec *spec, const char *name)
{
	int tensor = find_tensor(spec, name);

	if (find_axis(spec, name) >= 0)
		return "an axis";
	if (find_scalar(spec, name) >= 0)
		return "a scalar";
	if (tensor >= 0)
		return spec->tensors[tensor].definition < 0 ? "an input" : "a definition";
	return NULL;
}

/* ---- the task */

static bool
is_name(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n > 0 && n <= 64 && text[n] == 0 && !(text[0] >= '0' && text[0] <= '9') && !math_is_keyword(text);
}

static int
check_task_name(const struct math_spec *spec, const char *name, struct buf *err)
{
	const char *owner = is_name(name) ? owner_of(spec, name) : NULL;

	if (!is_name(name))
		return buf_err(err, "The task's name '%s' is not a name of the math language.", name);
	return owner ? buf_err(err, "The task's name '%s' is used twice.", name) : 0;
}

static int
copy_axes(struct math_spec *spec, const struct math_task *task, struct buf *err)
{
	const char *names[MATH_MAX_AXES];
	struct buf why = BUF_INIT;
	int result = 0;

	spec->axes = arena_alloc(&spec->arena, (task->axis_count + 1) * sizeof *spec->axes);
	for (size_t i = 0; i < task->axis_count; i++) {
		if (check_task_name(spec, task->axes[i].name, err))
			return -1;
		spec->axes[i].name = names[i] = arena_strdup(&spec->arena, task->axes[i].name);
		spec->axes[i].fixed = task->axes[i].fixed;
		spec->axes[i].value = task->axes[i].value;
		spec->axis_count++;
	}
	for (size_t i = 0; i < task->axis_count && !result; i++) {
		const char *text = task->axes[i].expression;
		struct node *node;

		if (!text)
			continue;
		node = math_parse_expression(text, strlen(text), &spec->arena, &why);
		if (!node || math_axis_check(node, names, task->axis_count, &why))
			result = buf_err(err, "Axis '%s' = %s: %s.", names[i], text, buf_str(&why));
		spec->axes[i].expression = node;
	}
	buf_release(&why);
	return result;
}

static enum math_type
type_of_dtype(enum dtype dtype)
{
	return dtype_is_float(dtype) ? MATH_REAL : dtype_is_integer(dtype) ? MATH_INTEGER : MATH_BOOLEAN;
}

static int
copy_scalars(struct math_spec *spec, const struct math_task *task, struct buf *err)
{
	spec->scalars = arena_alloc(&spec->arena, (task->scalar_count + 1) * sizeof *spec->scalars);
	for (size_t i = 0; i < task->scalar_count; i++) {
		const struct math_scalar *from = &task->scalars[i];
		struct scalar_info *to = &spec->scalars[i];

		if (check_task_name(spec, from->name, err))
			return -1;
		to->name = arena_strdup(&spec->arena, from->name);
		to->dtype = from->dtype;
		to->type = type_of_dtype(from->dtype);
		to->real = dtype_round(from->dtype, from->real);
		to->integer = to->type == MATH_BOOLEAN ? from->integer != 0 : from->integer;
		spec->scalar_count++;
	}
	return 0;
}

static int
copy_shape(struct math_spec *spec, const struct math_tensor *from, struct tensor_info *to, struct buf *err)
{
	const char *names[MATH_MAX_AXES];
	struct buf why = BUF_INIT;
	int result = 0;

	if (from->rank < 0 || from->rank > TENSOR_MAX_RANK)
		return buf_err(err, "Tensor '%s' has %d dimensions, at most %d are supported.", from->name,
			from->rank,
			TENSOR_MAX_RANK);
	for (int i = 0; i < spec->axis_count; i++)
		names[i] = spec->axes[i].name;
	to->rank = from->rank;
	for (int d = 0; d < from->rank && !result; d++) {
		to->shape[d] = math_parse_expression(from->shape[d], strlen(from->shape[d]), &spec->arena, &why);
		if (!to->shape[d] || math_axis_check(to->shape[d], names, (size_t)spec->axis_count, &why))
			result = buf_err(err, "Dimension %d of '%s', %s: %s.", d, from->name, from->shape[d],
				buf_str(&why));
	}
	buf_release(&why);
	return result;
}

static int
add_tensor(struct math_spec *spec, const struct math_tensor *from, int definition, int output, struct buf *err)
{
	struct tensor_info *to = &spec->tensors[spec->tensor_count];

	to->name = arena_strdup(&spec->arena, from->name);
	to->dtype = from->dtype;
	to->type = type_of_dtype(from->dtype);
	to->definition = definition;
	to->output = output;
	spec->tensor_count++;
	return copy_shape(spec, from, to, err);
}

static int
copy_task(struct math_spec *spec, const struct math_task *task, struct buf *err)
{
	if (task->axis_count > MATH_MAX_AXES || task->scalar_count > MATH_MAX_SCALARS
		|| task->input_count > MATH_MAX_TENSORS || task->output_count > MATH_MAX_TENSORS)
		return buf_err(err, "The task has more than %d axes, %d scalars, %d inputs or %d outputs.",
			MATH_MAX_AXES,
			MATH_MAX_SCALARS, MATH_MAX_TENSORS, MATH_MAX_TENSORS);
	spec->tensors = arena_alloc(&spec->arena, (MATH_MAX_TENSORS
		+ MATH_MAX_DEFINITIONS) * sizeof *spec->tensors);
	if (copy_axes(spec, task, err) || copy_scalars(spec, task, err))
		return -1;
	for (size_t i = 0; i < task->input_count; i++)
		if (check_task_name(spec, task->inputs[i].name, err) || add_tensor(spec, &task->inputs[i], -1,
			-1, err))
			return -1;
	spec->input_count = spec->tensor_count;
	return 0;
}

/* ---- definitions as tensors */

static const struct math_tensor *
find_output(const struct math_task *task, const char *name, int *number)
{
	for (size_t i = 0; i < task->output_count; i++)
		if (strcmp(task->outputs[i].name, name) == 0) {
			*number = (int)i;
			return &task->outputs[i];
		}
	return NULL;
}

static int
register_definition(struct math_spec *spec, const struct math_task *task, int number, struct buf *err)
{
	struct definition *d = &spec->definitions[number];
	struct tensor_info *t = &spec->tensors[spec->tensor_count];
	const char *owner = owner_of(spec, d->name);
	const struct math_tensor *output;
	int output_number = -1;

	if (owner)
		return math_error(err, d->line, d->column, "'%s' is %s already", d->name, owner);
	d->tensor = spec->tensor_count;
	output = find_output(task, d->name, &output_number);
	if (output) {
		if (output->rank != d->rank)
			return math_error(err, d->line, d->column,
				"output '%s' has %d dimensions, here it has %d", d->name,
				output->rank, d->rank);
		spec->output_tensors[output_number] = d->tensor;
		return add_tensor(spec, output, number, output_number, err);
	}
	t->name = d->name;
	t->rank = d->rank;
	t->definition = number;
	t->output = -1;
	spec->tensor_count++;
	return 0;
}

static int
register_definitions(struct math_spec *spec, const struct math_task *task, struct buf *err)
{
	spec->output_count = (int)task->output_count;
	spec->output_tensors = arena_alloc(&spec->arena, (task->output_count + 1) * sizeof *spec->output_tensors);
	for (size_t i = 0; i < task->output_count; i++) {
		spec->output_tensors[i] = -1;
		if (check_task_name(spec, task->outputs[i].name, err))
			return -1;
		for (size_t j = 0; j < i; j++)
			if (strcmp(task->outputs[i].name, task->outputs[j].name) == 0)
				return buf_err(err, "The task's name '%s' is used twice.", task->outputs[i].name);
	}
	for (int i = 0; i < spec->definition_count; i++)
		if (register_definition(spec, task, i, err))
			return -1;
	for (int i = 0; i < spec->output_count; i++)
		if (spec->output_tensors[i] < 0)
			return math_error(err, 1, 1, "output '%s' is not defined", task->outputs[i].name);
	return 0;
}

/* ---- names */

static int
activate(struct checker *c, struct variable *v)
{
	const char *owner = owner_of(c->spec, v->name);

	if (owner)
		return math_error(c->err, v->line, v->column, "index '%s' has the name of %s", v->name, owner);
	for (int i = 0; i < c->active_count; i++)
		if (strcmp(c->active[i]->name, v->name) == 0)
			return math_error(c->err, v->line, v->column, "index '%s' is in use already", v->name);
	c->active[c->active_count++] = v;
	return 0;
}

static int resolve(struct checker *c, struct node *node);

static int
resolve_name(struct checker *c, struct node *node)
{
	int number;

	for (int i = 0; i < c->active_count; i++)
		if (strcmp(c->active[i]->name, node->name) == 0) {
			node->kind = NODE_INDEX;
			node->number = c->active[i]->number;
			node->variables = (uint64_t)1 << node->number;
			return 0;
		}
	if ((number = find_axis(c->spec, node->name)) >= 0)
		node->kind = NODE_AXIS;
	else if ((number = find_scalar(c->spec, node->name)) >= 0)
		node->kind = NODE_SCALAR;
	else if ((number = find_tensor(c->spec, node->name)) >= 0) {
		node->kind = NODE_ACCESS;
		if (c->spec->tensors[number].rank)
			return math_error(c->err, node->line, node->column,
				"'%s' has %d dimensions and needs subscripts",
				node->name, c->spec->tensors[number].rank);
	} else
		return math_error(c->err, node->line, node->column, "unknown name '%s'", node->name);
	node->number = number;
	return 0;
}

static int
resolve_access(struct checker *c, struct node *node)
{
	const char *owner = owner_of(c->spec, node->name);

	node->number = find_tensor(c->spec, node->name);
	if (node->number < 0 && owner)
		return math_error(c->err, node->line, node->column, "'%s' is %s and takes no subscripts",
			node->name, owner);
	if (node->number < 0)
		return math_error(c->err, node->line, node->column, "unknown name '%s'", node->name);
	if (c->spec->tensors[node->number].rank != node->count)
		return math_error(c->err, node->line, node->column, "'%s' has %d dimensions, not %d", node->name,
			c->spec->tensors[node->number].rank, node->count);
	return 0;
}

static int
resolve_call(struct checker *c, struct node *node)
{
	const struct function *f;

	node->number = math_function_find(node->name);
	if (node->number < 0 && math_reduction_find(node->name) >= 0)
		return math_error(c->err, node->line, node->column, "'%s' needs a 'for' that says over what",
			node->name);
	if (node->number < 0)
		return math_error(c->err, node->line, node->column, "unknown function '%s'", node->name);
	f = &math_functions[node->number];
	if (node->count < f->min_count || node->count > f->max_count)
		return math_error(c->err, node->line, node->column, "'%s' takes %d%s%s arguments, not %d",
			node->name,
			f->min_count, f->max_count > f->min_count ? " to " : "",
			f->max_count > f->min_count ? "8" : "", node->count);
	return 0;
}

/* The indices are known in the guard and the body, and each in the ranges after its own. */
static int
resolve_reduce(struct checker *c, struct node *node)
{
	int outer = c->active_count;
	uint64_t own = 0;

	if ((node->number == REDUCE_ARGMAX || node->number == REDUCE_ARGMIN) && node->bind_count != 1)
		return math_error(c->err, node->line, node->column, "'%s' runs over one index", node->name);
	for (int i = 0; i < node->bind_count; i++) {
		struct variable *v = node->binds[i];

		if ((v->low && resolve(c, v->low)) || (v->high && resolve(c, v->high)) || activate(c, v))
			return -1;
		node->variables |= (v->low ? v->low->variables : 0) | (v->high ? v->high->variables : 0);
		own |= (uint64_t)1 << v->number;
	}
	if ((node->guard && resolve(c, node->guard)) || resolve(c, node->children[0]))
		return -1;
	node->variables |= node->children[0]->variables | (node->guard ? node->guard->variables : 0);
	node->variables &= ~own;
	c->active_count = outer;
	return 0;
}

static int
resolve(struct checker *c, struct node *node)
{
	switch (node->kind) {
	case NODE_NAME:
		return resolve_name(c, node);
	case NODE_REDUCE:
		return resolve_reduce(c, node);
	case NODE_ACCESS:
		if (resolve_access(c, node))
			return -1;
		break;
	case NODE_CALL:
		if (resolve_call(c, node))
			return -1;
		break;
	default:
		break;
	}
	for (int i = 0; i < node->count; i++) {
		if (resolve(c, node->children[i]))
			return -1;
		node->variables |= node->children[i]->variables;
	}
	if (node->pad) {
		if (resolve(c, node->pad))
			return -1;
		node->variables |= node->pad->variables;
	}
	return 0;
}

static int
resolve_definition(struct checker *c, struct definition *d)
{
	const char *names[MATH_MAX_AXES];

	for (int i = 0; i < c->spec->axis_count; i++)
		names[i] = c->spec->axes[i].name;
	c->definition = d;
	c->active_count = 0;
	for (int i = 0; i < d->rank; i++) {
		struct node *high = d->variables[i]->high;

		if ((high && math_axis_check(high, names, (size_t)c->spec->axis_count, c->err))
			|| activate(c, d->variables[i]))
			return -1;
	}
	return resolve(c, d->body);
}

/* ---- order: Tarjan's strongly connected components come out with dependencies first */

struct tarjan {
	struct math_spec *spec;
	int index[MATH_MAX_DEFINITIONS], low[MATH_MAX_DEFINITIONS], stack[MATH_MAX_DEFINITIONS];
	bool on_stack[MATH_MAX_DEFINITIONS];
	int next, stacked, ordered, components;
};

static void visit(struct tarjan *t, int number);

static void
visit_uses(struct tarjan *t, int from, const struct node *node)
{
	if (node->kind == NODE_ACCESS && t->spec->tensors[node->number].definition >= 0) {
		int to = t->spec->tensors[node->number].definition;

		if (to == from)
			t->spec->definitions[from].recurrent = true;
		if (!t->index[to])
			visit(t, to);
		if (t->on_stack[to] && t->low[to] < t->low[from])
			t->low[from] = t->low[to];
	}
	for (int i = 0; i < node->count; i++)
		visit_uses(t, from, node->children[i]);
	if (node->pad)
		visit_uses(t, from, node->pad);
	if (node->guard)
		visit_uses(t, from, node->guard);
	for (int i = 0; i < node->bind_count; i++) {
		if (node->binds[i]->low)
			visit_uses(t, from, node->binds[i]->low);
		visit_uses(t, from, node->binds[i]->high);
	}
}

static void
visit(struct tarjan *t, int number)
{
	int first, member;

	t->index[number] = t->low[number] = ++t->next;
	t->stack[t->stacked++] = number;
	t->on_stack[number] = true;
	visit_uses(t, number, t->spec->definitions[number].body);
	if (t->low[number] != t->index[number])
		return;
	first = t->ordered;
	do {
		member = t->stack[--t->stacked];
		t->on_stack[member] = false;
		t->spec->definitions[member].component = t->components;
		t->spec->order[t->ordered++] = member;
	} while (member != number);
	for (int i = first; i < t->ordered && t->ordered - first > 1; i++)
		t->spec->definitions[t->spec->order[i]].recurrent = true;
	t->components++;
}

static int
order_definitions(struct math_spec *spec, struct buf *err)
{
	struct tarjan *t = xcalloc(1, sizeof *t);
	int result = 0;

	t->spec = spec;
	spec->order = arena_alloc(&spec->arena, (size_t)spec->definition_count * sizeof *spec->order);
	for (int i = 0; i < spec->output_count; i++) {
		int number = spec->tensors[spec->output_tensors[i]].definition;

		if (!t->index[number])
			visit(t, number);
	}
	for (int i = 0; i < spec->definition_count && !result; i++)
		if (!t->index[i])
			result = math_error(err, spec->definitions[i].line, spec->definitions[i].column,
				"'%s' is defined but no output needs it", spec->definitions[i].name);
	free(t);
	return result;
}

/* ---- all of it */

static int
check(struct math_spec *spec, const char *text, size_t length, const struct math_task *task, struct buf *err)
{
	struct parsed parsed = { .arena = &spec->arena };
	struct checker checker = { .spec = spec, .err = err };

	if (copy_task(spec, task, err) || math_parse_text(text, length, &parsed, err))
		return -1;
	spec->definitions = parsed.definitions;
	spec->definition_count = parsed.definition_count;
	if (register_definitions(spec, task, err))
		return -1;
	for (int i = 0; i < spec->definition_count; i++)
		if (resolve_definition(&checker, &spec->definitions[i]))
			return -1;
	if (math_infer_ranges(spec, err) || math_infer_types(spec, err))
		return -1;
	return order_definitions(spec, err);
}

struct math_spec *
math_parse(const char *text, size_t length, const struct math_task *task, struct buf *err)
{
	struct math_spec *spec = xcalloc(1, sizeof *spec);

	if (check(spec, text, length, task, err)) {
		math_free(spec);
		return NULL;
	}
	return spec;
}

void
math_free(struct math_spec *spec)
{
	if (!spec)
		return;
	arena_release(&spec->arena);
	free(spec);
}
