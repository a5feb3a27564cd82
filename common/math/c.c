/*
 * A checked spec to one C function: its parameters, its memory, and for each definition the loops around
 * the expression that code.c writes. The hard idea is recurrence: which way each loop must run, and which
 * definitions must share one, is read off the distances between an element and those that it uses.
 */
#include "math/c.h"

#include <inttypes.h>
#include <string.h>

#include "math/code.h"

/* ---- order of loops */

/* subscript - variable, when that is a constant. */
static bool
distance(const struct node *subscript, int variable, int64_t *out)
{
	const struct node *left, *right;

	*out = 0;
	if (subscript->kind == NODE_INDEX)
		return subscript->number == variable;
	if ((subscript->kind != NODE_ADD && subscript->kind != NODE_SUBTRACT) || subscript->count != 2)
		return false;
	left = subscript->children[0];
	right = subscript->children[1];
	if (left->kind != NODE_INDEX || left->number != variable || right->kind != NODE_INTEGER)
		return false;
	*out = subscript->kind == NODE_ADD ? right->integer : -right->integer;
	return true;
}

struct order {
	const struct math_spec *spec;
	int component, members, rank;
	int direction[TENSOR_MAX_RANK];
	/* needs[a][b]: within one step of the shared index, a needs b */
	bool needs[MATH_MAX_DEFINITIONS][MATH_MAX_DEFINITIONS];
	bool impossible;
};

/* The first index in which an element lies before or after the one that uses it sets the direction there. */
static void
order_access(struct order *o, int user, const struct node *node)
{
	int used = o->spec->tensors[node->number].definition;
	int shared = o->members > 1 ? 1 : o->rank;

	for (int d = 0; d < shared && d < node->count; d++) {
		int64_t step;

		if (!distance(node->children[d], d, &step)) {
			o->impossible = true;
			return;
		}
		if (step == 0)
			continue;
		if (o->direction[d] && o->direction[d] != (step < 0 ? 1 : -1))
			o->impossible = true;
		o->direction[d] = step < 0 ? 1 : -1;
		return;
	}
	o->needs[user][used] = true;
	o->impossible |= used == user || !node->count;
}

static void
order_node(struct order *o, int user, const struct node *node)
{
	if (node->kind == NODE_ACCESS && o->spec->tensors[node->number].definition >= 0
		&& o->spec->definitions[o->spec->tensors[node->number].definition].component == o->component)
		order_access(o, user, node);
	for (int i = 0; i < node->count; i++)
		order_node(o, user, node->children[i]);
	if (node->pad)
		order_node(o, user, node->pad);
	if (node->guard)
		order_node(o, user, node->guard);
	for (int i = 0; i < node->bind_count; i++) {
		if (node->binds[i]->low)
			order_node(o, user, node->binds[i]->low);
		order_node(o, user, node->binds[i]->high);
	}
}

/* members[0..count) in an order in which each comes after what it needs within a step; false: there is none. */
static bool
sort_members(const struct order *o, int *members, int count)
{
	for (int done = 0; done < count; done++) {
		int pick = -1;

		for (int i = done; i < count && pick < 0; i++) {
			bool ready = true;

			for (int j = done; j < count; j++)
				ready &= !o->needs[members[i]][members[j]];
			if (ready)
				pick = i;
		}
		if (pick < 0)
			return false;
		int member = members[pick];

		members[pick] = members[done];
		members[done] = member;
	}
	return true;
}

/* ---- definitions */

static void
open_index(struct coder *c, const struct definition *d, int k, const char *name, bool down)
{
	struct buf high = BUF_INIT, text = BUF_INIT, index = BUF_INIT;

	code_axis_expression(c, c->spec->tensors[d->tensor].shape[k], &high);
	code_name(&index, name);
	if (down)
		buf_addf(&text, "for (int64_t %s = %s - 1; %s >= 0; %s--) {", buf_str(&index), buf_str(&high),
			buf_str(&index),
			buf_str(&index));
	else
		buf_addf(&text, "for (int64_t %s = 0; %s < %s; %s++) {", buf_str(&index), buf_str(&index),
			buf_str(&high),
			buf_str(&index));
	code_line(c, buf_str(&text));
	c->indent++;
	buf_release(&high);
	buf_release(&text);
	buf_release(&index);
}

static int
assignment(struct coder *c, const struct definition *d)
{
	const struct tensor_info *t = &c->spec->tensors[d->tensor];
	struct buf subscripts[TENSOR_MAX_RANK] = { BUF_INIT }, value = BUF_INIT, text = BUF_INIT;
	int result;

	c->definition = d;
	result = code_expression(c, d->body, t->type, &value);
	code_tensor_name(c, &text, d->tensor);
	if (t->rank || t->output >= 0) {
		buf_addc(&text, '[');
		for (int k = 0; k < t->rank; k++)
			code_name(&subscripts[k], d->variables[k]->name);
		code_offset(c, d->tensor, subscripts, t->rank, &text);
		buf_adds(&text, t->rank ? "]" : "0]");
	}
	buf_adds(&text, " = ");
	code_stripped(&text, &value);
	buf_addc(&text, ';');
	code_line(c, buf_str(&text));
	for (int k = 0; k < t->rank; k++)
		buf_release(&subscripts[k]);
	buf_release(&value);
	buf_release(&text);
	return result;
}

/* Loops over the indices from `first` on, and the assignment. */
static int
definition_loops(struct coder *c, const struct definition *d, int first, const int *direction)
{
	int result;

	for (int k = first; k < d->rank; k++)
		open_index(c, d, k, d->variables[k]->name, direction && direction[k] < 0);
	result = assignment(c, d);
	for (int k = first; k < d->rank; k++) {
		c->indent--;
		code_line(c, "}");
	}
	return result;
}

static int
fail_order(const struct definition *d, struct buf *err)
{
	return buf_err(err, "%d:%d: the recurrence of '%s' is not one of plain loops.", d->line, d->column,
		d->name);
}

/* Several definitions that need one another share the loop over their first index, under the name `step_`. */
static int
mutual_loops(struct coder *c, const struct order *o, const int *members, int count, struct buf *err)
{
	const struct definition *first = &c->spec->definitions[members[0]];
	int result = 0;

	for (int i = 0; i < count; i++) {
		const struct definition *d = &c->spec->definitions[members[i]];

		if (!d->rank || !math_axis_equal(c->spec, c->spec->tensors[d->tensor].shape[0],
			c->spec->tensors[first->tensor].shape[0]))
			return fail_order(d, err);
	}
	open_index(c, first, 0, "step", o->direction[0] < 0);
	for (int i = 0; i < count && !result; i++) {
		const struct definition *d = &c->spec->definitions[members[i]];
		struct buf text = BUF_INIT;

		code_line(c, "{");
		c->indent++;
		buf_adds(&text, "const int64_t ");
		code_name(&text, d->variables[0]->name);
		/* `step` may be the name of the index itself */
		buf_adds(&text, " = step;");
		if (strcmp(d->variables[0]->name, "step"))
			code_line(c, buf_str(&text));
		buf_release(&text);
		result = definition_loops(c, d, 1, NULL);
		c->indent--;
		code_line(c, "}");
	}
	c->indent--;
	code_line(c, "}");
	return result;
}

static int
component_code(struct coder *c, int from, int count, struct buf *err)
{
	const struct math_spec *spec = c->spec;
	const struct definition *d = &spec->definitions[spec->order[from]];
	struct order *o;
	int members[MATH_MAX_DEFINITIONS], result;

	if (!d->recurrent)
		return definition_loops(c, d, 0, NULL);
	o = calloc(1, sizeof *o);
	if (!o)
		return buf_err(err, "There is no memory.");
	o->spec = spec;
	o->component = d->component;
	o->members = count;
	o->rank = d->rank;
	for (int i = 0; i < count; i++) {
		members[i] = spec->order[from + i];
		order_node(o, members[i], spec->definitions[members[i]].body);
	}
	if (o->impossible || (count > 1 && !sort_members(o, members, count)))
		result = fail_order(d, err);
	else
		result = count > 1 ? mutual_loops(c, o, members, count, err) : definition_loops(c, d, 0,
			o->direction);
	free(o);
	return result;
}

/* ---- the function */

static void
add_parameters(struct coder *c, const char *name, struct buf *out)
{
	const struct math_spec *spec = c->spec;
	const char *comma = "";

	buf_addf(out, "void\n%s(", name);
	for (int i = 0; i < spec->input_count; i++, comma = ", ") {
		buf_addf(out, "%sconst %s *", comma, code_passed_type(spec->tensors[i].dtype));
		code_name(out, spec->tensors[i].name);
	}
	for (int i = 0; i < spec->output_count; i++, comma = ", ") {
		const struct tensor_info *t = &spec->tensors[spec->output_tensors[i]];

		buf_addf(out, "%s%s *", comma, code_passed_type(t->dtype));
		code_name(out, t->name);
	}
	for (int i = 0; i < spec->axis_count; i++)
		if (!spec->axes[i].fixed && !spec->axes[i].expression) {
			buf_addf(out, "%sint64_t ", comma);
			code_name(out, spec->axes[i].name);
			comma = ", ";
		}
	for (int i = 0; i < spec->scalar_count; i++, comma = ", ") {
		buf_addf(out, "%s%s ", comma, code_passed_type(spec->scalars[i].dtype));
		code_name(out, spec->scalars[i].name);
	}
	buf_adds(out, *comma ? ")\n{\n" : "void)\n{\n");
}

static bool
derived_ready(const struct math_spec *spec, const struct node *node, const bool *known)
{
	if (node->kind == NODE_AXIS && !known[node->number])
		return false;
	for (int i = 0; i < node->count; i++)
		if (!derived_ready(spec, node->children[i], known))
			return false;
	return true;
}

static void
axis_line(struct coder *c, int axis)
{
	const struct axis_info *a = &c->spec->axes[axis];
	struct buf text = BUF_INIT, name = BUF_INIT;

	code_name(&name, a->name);
	buf_addf(&text, "const int64_t %s = ", buf_str(&name));
	if (a->fixed)
		buf_addf(&text, "%" PRId64, a->value);
	else
		code_axis_expression(c, a->expression, &text);
	buf_addf(&text, ";\n\t(void)%s;", buf_str(&name));
	code_line(c, buf_str(&text));
	buf_release(&text);
	buf_release(&name);
}

static void
axis_lines(struct coder *c)
{
	bool known[MATH_MAX_AXES] = { false }, again = true;

	for (int i = 0; i < c->spec->axis_count; i++) {
		known[i] = !c->spec->axes[i].expression;
		if (c->spec->axes[i].fixed)
			axis_line(c, i);
	}
	while (again) {
		again = false;
		for (int i = 0; i < c->spec->axis_count; i++)
			if (!known[i] && derived_ready(c->spec, c->spec->axes[i].expression, known)) {
				axis_line(c, i);
				known[i] = again = true;
			}
	}
}

static void
add_count(struct coder *c, int tensor, struct buf *out)
{
	const struct tensor_info *t = &c->spec->tensors[tensor];

	for (int d = 0; d < t->rank; d++) {
		buf_adds(out, d ? " * " : "");
		code_axis_expression(c, t->shape[d], out);
	}
	if (!t->rank)
		buf_adds(out, "1");
}

/* Memory for intermediates, and for outputs that others read before they are rounded. */
static bool
has_memory(const struct coder *c, int tensor)
{
	const struct tensor_info *t = &c->spec->tensors[tensor];

	return t->definition >= 0 && (c->wide[tensor] || (t->output < 0 && t->rank));
}

static void
memory_lines(struct coder *c)
{
	for (int i = c->spec->input_count; i < c->spec->tensor_count; i++) {
		const char *type = code_type(c->spec->tensors[i].type);
		struct buf text = BUF_INIT, name = BUF_INIT;

		code_tensor_name(c, &name, i);
		if (has_memory(c, i)) {
			buf_addf(&text, "%s *%s = malloc(sizeof *%s * (size_t)(", type, buf_str(&name),
				buf_str(&name));
			add_count(c, i, &text);
			buf_addf(&text, ") + 1);\n\tif (!%s)\n\t\tabort();", buf_str(&name));
			code_line(c, buf_str(&text));
		} else if (c->spec->tensors[i].output < 0) {
			buf_addf(&text, "%s %s;", type, buf_str(&name));
			code_line(c, buf_str(&text));
		}
		buf_release(&text);
		buf_release(&name);
	}
}

static void
ending_lines(struct coder *c)
{
	for (int i = c->spec->input_count; i < c->spec->tensor_count; i++) {
		struct buf text = BUF_INIT;

		if (c->wide[i]) {
			buf_adds(&text, "for (int64_t i_ = 0; i_ < ");
			add_count(c, i, &text);
			buf_adds(&text, "; i_++)\n\t\t");
			code_name(&text, c->spec->tensors[i].name);
			buf_adds(&text, "[i_] = ");
			code_tensor_name(c, &text, i);
			buf_adds(&text, "[i_];");
			code_line(c, buf_str(&text));
			buf_reset(&text);
		}
		if (has_memory(c, i)) {
			buf_adds(&text, "free(");
			code_tensor_name(c, &text, i);
			buf_adds(&text, ");");
			code_line(c, buf_str(&text));
		}
		buf_release(&text);
	}
}

/* Outputs that an expression reads, in a type that rounds. */
static void
find_wide(struct coder *c, const struct node *node)
{
	if (node->kind == NODE_ACCESS) {
		const struct tensor_info *t = &c->spec->tensors[node->number];

		c->wide[node->number] |= t->output >= 0 && t->definition >= 0
			&& t->dtype != DTYPE_FLOAT64 && t->dtype != DTYPE_INT64 && t->dtype != DTYPE_BOOL;
	}
	for (int i = 0; i < node->count; i++)
		find_wide(c, node->children[i]);
	if (node->pad)
		find_wide(c, node->pad);
	if (node->guard)
		find_wide(c, node->guard);
	for (int i = 0; i < node->bind_count; i++) {
		if (node->binds[i]->low)
			find_wide(c, node->binds[i]->low);
		find_wide(c, node->binds[i]->high);
	}
}

/* Only the helpers that the function uses. */
static void
add_helpers(const struct coder *c, struct buf *out)
{
	static const char small[] =
		"/* The nearest value with `bits` bits of significand and exponents from `low`; ties to even. */\n"
		"static inline double\nround_small_(double x, int bits, int low, double limit)\n{\n"
		"\tint exponent;\n\n"
		"\tif (x == 0 || isnan(x) || isinf(x))\n\t\treturn x;\n"
		"\tfrexp(x, &exponent);\n"
		"\tif (exponent < low)\n\t\texponent = low;\n"
		"\tx = ldexp(nearbyint(ldexp(x, bits - exponent)), exponent - bits);\n"
		"\treturn fabs(x) >= limit ? copysign(INFINITY, x) : x;\n}\n\n";
	const struct {
		bool used;
		const char *text;
	} helpers[] = {
		{ c->divides, "static inline int64_t\ndiv_(int64_t a, int64_t b)\n{\n"
			"\treturn a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n\n"
			"static inline int64_t\nmod_(int64_t a, int64_t b)\n{\n\treturn a - div_(a, b) * b;\n}\n\n" },
		{ c->powers, "static inline int64_t\npower_(int64_t a, int64_t b)\n{\n"
			"\tint64_t result = 1;\n\n\twhile (b-- > 0)\n"
			"\t\tresult *= a;\n\treturn result;\n}\n\n" },
		{ c->picks, "/* NaN spreads. */\n"
			"static inline double\nmin_real_(double a, double b)\n{\n"
			"\treturn isnan(a) || a < b ? a : b;\n}\n\n"
			"static inline double\nmax_real_(double a, double b)\n{\n"
			"\treturn isnan(a) || a > b ? a : b;\n}\n\n"
			"static inline double\nsign_real_(double a)\n{\n"
			"\treturn isnan(a) ? a : (a > 0) - (a < 0);\n}\n\n"
			"static inline int64_t\nmin_integer_(int64_t a, int64_t b)\n{\n\treturn a < b ? a : b;\n}\n\n"
			"static inline int64_t\nmax_integer_(int64_t a, int64_t b)\n{\n\treturn a > b ? a : b;\n}\n\n"
			"static inline int64_t\nabs_integer_(int64_t a)\n{\n\treturn a < 0 ? -a : a;\n}\n\n"
			"static inline int64_t\nsign_integer_(int64_t a)\n{\n\treturn (a > 0) - (a < 0);\n}\n\n" },
		{ c->sigmoid, "static inline double\nsigmoid_(double x)\n{\n\treturn 1 / (1 + exp(-x));\n}\n\n" },
		{ c->rsqrt, "static inline double\nrsqrt_(double x)\n{\n\treturn 1 / sqrt(x);\n}\n\n" },
		{ c->saturates, "static inline int64_t\nsaturate_(double x, int64_t low, int64_t high)\n{\n"
			"\tx = nearbyint(x);\n"
			"\treturn isnan(x) ? 0 : x <= low ? low : x >= high ? high : (int64_t)x;\n}\n\n" },
		{ c->shifts, "static inline int64_t\nshift_left_(int64_t x, int64_t by)\n{\n"
			"\treturn by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by);\n}\n\n"
			"static inline int64_t\nshift_right_(int64_t x, int64_t by)\n{\n"
			"\treturn by < 0 || by > 63 ? (x < 0 ? -1 : 0) : x >> by;\n}\n\n" },
		{ c->rounds_half || c->rounds_bfloat16, small },
		{ c->rounds_half, "static inline double\nround_half_(double x)\n{\n"
			"\treturn round_small_(x, 11, -13, 65536);\n}\n\n" },
		{ c->rounds_bfloat16, "static inline double\nround_bfloat16_(double x)\n{\n"
			"\treturn round_small_(x, 8, -125, 0x1p128);\n}\n\n" },
	};

	buf_adds(out, "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n");
	for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
		if (helpers[i].used)
			buf_adds(out, helpers[i].text);
}

int
math_c(const struct math_spec *spec, const char *name, struct buf *out, struct buf *err)
{
	struct buf body = BUF_INIT;
	struct coder c = { .spec = spec, .body = &body, .indent = 1 };
	int result = 0;

	for (int i = 0; i < spec->definition_count; i++)
		find_wide(&c, spec->definitions[i].body);
	axis_lines(&c);
	memory_lines(&c);
	for (int i = 0, count; i < spec->definition_count && !result; i += count) {
		count = 1;
		while (i + count < spec->definition_count && spec->definitions[spec->order[i + count]].component
			== spec->definitions[spec->order[i]].component)
			count++;
		/* mutual loops bring their own scope, as their index has one name in all of them */
		result = component_code(&c, i, count, err);
	}
	if (!result) {
		ending_lines(&c);
		add_helpers(&c, out);
		add_parameters(&c, name, out);
		buf_adds(out, buf_str(&body));
		buf_adds(out, "}\n");
	}
	buf_release(&body);
	return result;
}
