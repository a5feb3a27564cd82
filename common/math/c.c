/*
 * A checked spec to C. Comes in a tree, goes out one function of plain loops.
 * The hard idea is that the language is made of expressions and C's loops are statements: an expression is
 * written into a buffer while the statements that it needs first (the loop of a sum) go out before it. What
 * is lazy (if, and, or, a pad value) becomes ?: as long as it needs no statements, else an if statement.
 */
#include "math/c.h"

#include <inttypes.h>
#include <string.h>

#include "math/spec.h"

struct loop {
	const struct definition *definition;
	int direction[TENSOR_MAX_RANK];		/* 1 up, -1 down */
};

struct coder {
	const struct math_spec *spec;
	const struct definition *definition;
	struct buf *body;		/* statements go here */
	int indent;
	int temporaries;
	bool wide[MATH_MAX_TENSORS + MATH_MAX_DEFINITIONS];	/* an output kept in double until the end */
	bool saturates, rounds_half, rounds_bfloat16, divides, powers, picks, sigmoid, rsqrt, shifts;
};

/* ---- names */

/* A name of ours ends in '_', and a name of the spec that does so gets one more. */
static void
add_name(struct buf *b, const char *name)
{
	static const char *const reserved[] = {
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
		"enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
		"restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
		"union", "unsigned", "void", "volatile", "while", "bool", "true", "false", "exp", "exp2",
		"expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos",
		"atan", "sinh", "cosh", "tanh", "erf", "erfc", "atan2", "hypot", "fabs", "floor", "ceil",
		"nearbyint", "trunc", "isnan", "isinf", "pow", "ldexp", "frexp", "malloc", "free", "abort",
		"int64_t", "int32_t", "uint8_t", "uint32_t", "uint64_t", "INFINITY", "NAN", "INT64_MIN",
		"INT64_MAX", "NULL", "main", "memcpy", "j0", "j1", "jn", "y0", "y1", "yn", "gamma",
		"signgam", "asm", "typeof", "linux", "unix"
	};
	size_t length = strlen(name);
	bool taken = name[length - 1] == '_' || name[0] == '_';

	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		taken |= strcmp(reserved[i], name) == 0;
	buf_addf(b, "%s%s%s", name[0] == '_' ? "u" : "", name, taken ? "_" : "");
}

static const char *
c_type(enum math_type type)
{
	return type == MATH_REAL ? "double" : type == MATH_INTEGER ? "int64_t" : "bool";
}

/* The text without brackets around the whole of it. */
static void
add_stripped(struct buf *out, const struct buf *text)
{
	size_t end = text->len;
	int depth = 0;

	for (size_t i = 0; i < end; i++) {
		depth += (text->data[i] == '(') - (text->data[i] == ')');
		if (depth == 0 && i + 1 < end) {
			buf_add(out, text->data, end);
			return;
		}
	}
	if (end > 1)
		buf_add(out, text->data + 1, end - 2);
	else
		buf_add(out, text->data, end);
}

/* How a tensor of the task is passed. */
static const char *
passed_type(enum dtype dtype)
{
	return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 ? "float" : dtype_c_name(dtype);
}

static void
line(struct coder *c, const char *text)
{
	for (int i = 0; i < c->indent; i++)
		buf_addc(c->body, '\t');
	buf_addf(c->body, "%s\n", text);
}

static void
add_tensor_name(struct coder *c, struct buf *b, int tensor)
{
	add_name(b, c->spec->tensors[tensor].name);
	if (c->wide[tensor])
		buf_adds(b, "_wide_");
}

static int expression(struct coder *c, const struct node *node, enum math_type type, struct buf *out);

/* ---- axis expressions: extents and derived axes */

static void
axis_expression(struct coder *c, const struct node *node, struct buf *out)
{
	static const char *const operators[] = { [NODE_ADD] = " + ", [NODE_SUBTRACT] = " - ",
		[NODE_MULTIPLY] = " * " };

	switch (node->kind) {
	case NODE_INTEGER:
		buf_addf(out, "%" PRId64, node->integer);
		break;
	case NODE_AXIS:
		add_name(out, c->spec->axes[node->number].name);
		break;
	case NODE_NEGATE:
		buf_adds(out, "(-");
		axis_expression(c, node->children[0], out);
		buf_addc(out, ')');
		break;
	case NODE_ADD: case NODE_SUBTRACT: case NODE_MULTIPLY:
		buf_addc(out, '(');
		axis_expression(c, node->children[0], out);
		buf_adds(out, operators[node->kind]);
		axis_expression(c, node->children[1], out);
		buf_addc(out, ')');
		break;
	default:
		/* div, mod; min and max of several fold to the left */
		for (int i = 1; i < node->count; i++)
			buf_addf(out, "%s(", node->kind == NODE_DIV ? "div_" : node->kind == NODE_MOD ? "mod_"
				: node->name[1] == 'i' ? "min_integer_" : "max_integer_");
		axis_expression(c, node->children[0], out);
		for (int i = 1; i < node->count; i++) {
			buf_adds(out, ", ");
			axis_expression(c, node->children[i], out);
			buf_addc(out, ')');
		}
		c->divides |= node->kind != NODE_CALL;
		c->picks |= node->kind == NODE_CALL;
		break;
	}
}

/* ---- temporaries and laziness */

static void
new_temporary(struct coder *c, char name[32])
{
	snprintf(name, 32, "t%d_", c->temporaries++);
}

/* Writes the expression with its statements set apart. */
static int
apart(struct coder *c, const struct node *node, enum math_type type, struct buf *value, struct buf *statements)
{
	struct buf *outer = c->body;
	int result;

	c->body = statements;
	c->indent++;
	result = expression(c, node, type, value);
	c->indent--;
	c->body = outer;
	return result;
}

/* One branch of an if statement that sets `name`. */
static void
branch(struct coder *c, const char *opening, const char *name, const struct buf *statements,
	const struct buf *value)
{
	struct buf text = BUF_INIT;

	line(c, opening);
	buf_adds(c->body, buf_str(statements));
	c->indent++;
	buf_addf(&text, "%s = %s;", name, buf_str(value));
	line(c, buf_str(&text));
	c->indent--;
	buf_release(&text);
}

/* condition ? yes : no, either of which may need statements of its own. */
static int
choose(struct coder *c, const char *condition, enum math_type type, const struct node *yes, const char *yes_text,
	const struct node *no, const char *no_text, struct buf *out)
{
	struct buf values[2] = { BUF_INIT, BUF_INIT }, statements[2] = { BUF_INIT, BUF_INIT }, text = BUF_INIT;
	const struct node *nodes[2] = { yes, no };
	const char *texts[2] = { yes_text, no_text };
	char name[32];
	int result = 0;

	for (int i = 0; i < 2; i++) {
		if (!nodes[i])
			buf_adds(&values[i], texts[i]);
		else if (apart(c, nodes[i], type, &values[i], &statements[i]))
			result = -1;
	}
	if (!statements[0].len && !statements[1].len)
		buf_addf(out, "(%s ? %s : %s)", condition, buf_str(&values[0]), buf_str(&values[1]));
	else {
		new_temporary(c, name);
		buf_addf(&text, "%s %s;", c_type(type), name);
		line(c, buf_str(&text));
		buf_reset(&text);
		buf_addf(&text, "if (%s) {", condition);
		branch(c, buf_str(&text), name, &statements[0], &values[0]);
		branch(c, "} else {", name, &statements[1], &values[1]);
		line(c, "}");
		buf_adds(out, name);
	}
	for (int i = 0; i < 2; i++) {
		buf_release(&values[i]);
		buf_release(&statements[i]);
	}
	buf_release(&text);
	return result;
}

/* ---- accesses */

static void
add_offset(struct coder *c, int tensor, struct buf *subscripts, int rank, struct buf *out)
{
	const struct tensor_info *t = &c->spec->tensors[tensor];

	for (int d = 0; d < rank - 2; d++)
		buf_addc(out, '(');
	for (int d = 0; d < rank; d++) {
		if (d) {
			buf_adds(out, " * ");
			axis_expression(c, t->shape[d], out);
			buf_adds(out, " + ");
		}
		if (rank == 1)
			add_stripped(out, &subscripts[d]);
		else
			buf_adds(out, buf_str(&subscripts[d]));
		if (d && d + 1 < rank)
			buf_addc(out, ')');
	}
}

static int
access_code(struct coder *c, const struct node *node, struct buf *out)
{
	struct buf subscripts[TENSOR_MAX_RANK] = { BUF_INIT }, condition = BUF_INIT, element = BUF_INIT,
		text = BUF_INIT;
	const struct tensor_info *t = &c->spec->tensors[node->number];
	int result = 0;

	for (int d = 0; d < node->count && !result; d++) {
		result = expression(c, node->children[d], MATH_INTEGER, &subscripts[d]);
		if (!node->pad || node->children[d]->kind == NODE_INDEX
			|| node->children[d]->kind <= NODE_BOOLEAN)
			continue;
		/* used three times: give it a name */
		char name[32];

		new_temporary(c, name);
		buf_reset(&text);
		buf_addf(&text, "const int64_t %s = ", name);
		add_stripped(&text, &subscripts[d]);
		buf_addc(&text, ';');
		line(c, buf_str(&text));
		buf_reset(&subscripts[d]);
		buf_adds(&subscripts[d], name);
	}
	if (t->definition >= 0 && !t->rank && t->output < 0)
		add_tensor_name(c, &element, node->number);
	else {
		add_tensor_name(c, &element, node->number);
		buf_addc(&element, '[');
		add_offset(c, node->number, subscripts, node->count, &element);
		buf_adds(&element, node->count ? "]" : "0]");
	}
	if (!node->pad)
		buf_adds(out, buf_str(&element));
	else if (!result) {
		struct buf converted = BUF_INIT;

		for (int d = 0; d < node->count; d++) {
			buf_addf(&condition, "%s%s >= 0 && %s < ", d ? " && " : "", buf_str(&subscripts[d]),
				buf_str(&subscripts[d]));
			axis_expression(c, t->shape[d], &condition);
		}
		buf_addf(&converted, "%s%s", node->type != t->type ? "(double)" : "", buf_str(&element));
		result = choose(c, buf_str(&condition), node->type, NULL, buf_str(&converted), node->pad, NULL,
			out);
		buf_release(&converted);
	}
	for (int d = 0; d < node->count; d++)
		buf_release(&subscripts[d]);
	buf_release(&condition);
	buf_release(&element);
	buf_release(&text);
	return result;
}

/* ---- reductions */

static int
open_loop(struct coder *c, const struct variable *v)
{
	struct buf low = BUF_INIT, high = BUF_INIT, name = BUF_INIT, text = BUF_INIT;
	int result = 0;

	if (v->low)
		result = expression(c, v->low, MATH_INTEGER, &low);
	else
		buf_addc(&low, '0');
	if (!result)
		result = expression(c, v->high, MATH_INTEGER, &high);
	add_name(&name, v->name);
	buf_addf(&text, "for (int64_t %s = %s; %s < %s; %s++) {", buf_str(&name), buf_str(&low), buf_str(&name),
		buf_str(&high),
		buf_str(&name));
	line(c, buf_str(&text));
	c->indent++;
	buf_release(&low);
	buf_release(&high);
	buf_release(&name);
	buf_release(&text);
	return result;
}

/* The statement that takes one term, and the value that the total starts from. */
static void
combine(const struct node *node, const char *total, const char *term, struct buf *text)
{
	const char *compare = node->number == REDUCE_MAX || node->number == REDUCE_ARGMAX ? ">" : "<";
	bool real = node->children[0]->type == MATH_REAL;

	switch (node->number) {
	case REDUCE_SUM: buf_addf(text, "%s += %s;", total, term); break;
	case REDUCE_PROD: buf_addf(text, "%s *= %s;", total, term); break;
	case REDUCE_ANY: buf_addf(text, "%s |= %s;", total, term); break;
	case REDUCE_ALL: buf_addf(text, "%s &= %s;", total, term); break;
	case REDUCE_MAX: case REDUCE_MIN:
		buf_addf(text, real ? "if (%1$s %2$s %3$s || isnan(%1$s)) %3$s = %1$s;"
			: "if (%1$s %2$s %3$s) %3$s = %1$s;", term,
			compare, total);
		break;
	default:
		buf_addf(text, "if (%1$s < 0 || %2$s %3$s %1$sbest", total, term, compare);
		buf_addf(text, real ? " || (isnan(%1$s) && !isnan(%2$sbest))) { " : ") { ", term, total);
		buf_addf(text, "%1$sbest = %2$s; %1$s = ", total, term);
		add_name(text, node->binds[0]->name);
		buf_adds(text, "; }");
		break;
	}
}

static const char *
starting_value(const struct node *node)
{
	bool real = node->type == MATH_REAL;

	switch (node->number) {
	case REDUCE_SUM: return "0";
	case REDUCE_PROD: return "1";
	case REDUCE_MAX: return real ? "-INFINITY" : "INT64_MIN";
	case REDUCE_MIN: return real ? "INFINITY" : "INT64_MAX";
	case REDUCE_ANY: return "false";
	case REDUCE_ALL: return "true";
	default: return "-1";
	}
}

static int
term_code(struct coder *c, const struct node *node, const char *total)
{
	struct buf term = BUF_INIT, text = BUF_INIT;
	const struct node *body = node->children[0];
	char name[32];
	int result;

	result = expression(c, body, body->type, &text);
	add_stripped(&term, &text);
	buf_reset(&text);
	/* what compares a term uses it more than once */
	if (node->number >= REDUCE_MAX && node->number <= REDUCE_ARGMIN) {
		new_temporary(c, name);
		buf_addf(&text, "const %s %s = %s;", c_type(body->type), name, buf_str(&term));
		line(c, buf_str(&text));
		buf_reset(&term);
		buf_adds(&term, name);
	}
	buf_reset(&text);
	combine(node, total, buf_str(&term), &text);
	line(c, buf_str(&text));
	buf_release(&term);
	buf_release(&text);
	return result;
}

static int
reduce_code(struct coder *c, const struct node *node, struct buf *out)
{
	struct buf text = BUF_INIT;
	bool index = node->number == REDUCE_ARGMAX || node->number == REDUCE_ARGMIN;
	char total[32];
	int result = 0, braces = node->bind_count;

	new_temporary(c, total);
	if (index) {
		buf_addf(&text, "%s %sbest = 0;", c_type(node->children[0]->type), total);
		line(c, buf_str(&text));
		buf_reset(&text);
	}
	buf_addf(&text, "%s %s = %s;", c_type(node->type), total, starting_value(node));
	line(c, buf_str(&text));
	for (int i = 0; i < node->bind_count && !result; i++)
		result = open_loop(c, node->binds[i]);
	if (node->guard && !result) {
		struct buf guard = BUF_INIT;

		result = expression(c, node->guard, MATH_BOOLEAN, &guard);
		buf_reset(&text);
		buf_adds(&text, "if (");
		add_stripped(&text, &guard);
		buf_adds(&text, ") {");
		line(c, buf_str(&text));
		c->indent++;
		braces++;
		buf_release(&guard);
	}
	if (!result)
		result = term_code(c, node, total);
	for (int i = 0; i < braces && !result; i++) {
		c->indent--;
		line(c, "}");
	}
	buf_adds(out, total);
	buf_release(&text);
	return result;
}

/* ---- other expressions */

/* name(child, child...), each as `type`. */
static int
call(struct coder *c, const char *name, const struct node *node, enum math_type type, struct buf *out)
{
	int result = 0;

	/* two at a time, folded to the left */
	for (int i = 1; i < node->count - 1; i++)
		buf_addf(out, "%s(", name);
	buf_addf(out, "%s(", name);
	for (int i = 0; i < node->count && !result; i++) {
		struct buf argument = BUF_INIT;

		buf_adds(out, i ? ", " : "");
		result = expression(c, node->children[i], type, &argument);
		add_stripped(out, &argument);
		if (i > 0 && i + 1 < node->count)
			buf_addc(out, ')');
		buf_release(&argument);
	}
	buf_addc(out, ')');
	return result;
}

static int
same_call(struct coder *c, const struct node *node, struct buf *out)
{
	const char *name = math_functions[node->number].name;
	bool real = node->type == MATH_REAL;
	char full[40];
	int result;

	if (real && strcmp(name, "abs") == 0)
		return call(c, "fabs", node, MATH_REAL, out);
	c->picks = true;
	if (strcmp(name, "clamp")) {
		snprintf(full, sizeof full, "%s_%s_", name, real ? "real" : "integer");
		return call(c, full, node, node->type, out);
	}
	buf_addf(out, "min_%s_(max_%s_(", real ? "real" : "integer", real ? "real" : "integer");
	result = expression(c, node->children[0], node->type, out);
	for (int i = 1; i < 3 && !result; i++) {
		buf_adds(out, ", ");
		result = expression(c, node->children[i], node->type, out);
		buf_addc(out, ')');
	}
	return result;
}

static int
bits_call(struct coder *c, const struct node *node, struct buf *out)
{
	const char *name = math_functions[node->number].name;
	const char *operator = strcmp(name, "bitand") == 0 ? " & " : strcmp(name, "bitor") == 0 ? " | " : " ^ ";
	int result;

	if (name[0] == 's') {
		c->shifts = true;
		return call(c, name[2] == 'l' ? "shift_left_" : "shift_right_", node, MATH_INTEGER, out);
	}
	buf_addc(out, '(');
	result = expression(c, node->children[0], MATH_INTEGER, out);
	buf_adds(out, operator);
	if (!result)
		result = expression(c, node->children[1], MATH_INTEGER, out);
	buf_addc(out, ')');
	return result;
}

static int
saturate_call(struct coder *c, const struct node *node, struct buf *out)
{
	const struct function *f = &math_functions[node->number];
	int64_t low = -128, high = 127;
	int result;

	if (f->dtype != DTYPE_COUNT)
		dtype_integer_range(f->dtype, &low, &high);
	c->saturates = true;
	buf_adds(out, "saturate_(");
	result = expression(c, node->children[0], MATH_REAL, out);
	buf_addf(out, ", %" PRId64 ", %" PRId64 ")", low, high);
	return result;
}

static int
call_code(struct coder *c, const struct node *node, struct buf *out)
{
	const struct function *f = &math_functions[node->number];
	const struct node *first = node->children[0];

	switch (f->kind) {
	case FUNCTION_REAL:
		c->sigmoid |= strcmp(f->name, "sigmoid") == 0;
		c->rsqrt |= strcmp(f->name, "rsqrt") == 0;
		return call(c, strcmp(f->name, "sigmoid") == 0 ? "sigmoid_" : strcmp(f->name, "rsqrt") == 0
			? "rsqrt_" : f->c, node,
			MATH_REAL, out);
	case FUNCTION_SAME:
		return same_call(c, node, out);
	case FUNCTION_TO_INTEGER:
		if (first->type == MATH_INTEGER)
			return expression(c, first, MATH_INTEGER, out);
		buf_adds(out, "(int64_t)");
		return call(c, f->c, node, MATH_REAL, out);
	case FUNCTION_SATURATE:
		return saturate_call(c, node, out);
	case FUNCTION_ROUND_TO:
		c->rounds_half |= f->dtype == DTYPE_FLOAT16;
		c->rounds_bfloat16 |= f->dtype == DTYPE_BFLOAT16;
		if (f->dtype == DTYPE_FLOAT32)
			buf_adds(out, "(double)(float)");
		return call(c, f->dtype == DTYPE_FLOAT16 ? "round_half_" : f->dtype == DTYPE_BFLOAT16
			? "round_bfloat16_" : "", node,
			MATH_REAL, out);
	case FUNCTION_TEST:
		buf_addc(out, '!');
		buf_addc(out, '!');
		return call(c, f->c, node, MATH_REAL, out);
	case FUNCTION_BITS:
		return bits_call(c, node, out);
	case FUNCTION_INT:
		return call(c, "(int64_t)", node, first->type, out);
	case FUNCTION_TO_REAL:
		return call(c, "", node, MATH_REAL, out);
	}
	return -1;
}

static int
power_code(struct coder *c, const struct node *node, struct buf *out)
{
	const struct node *exponent = node->children[1];
	struct buf base = BUF_INIT, text = BUF_INIT;
	char name[32];
	int result;

	if (node->type == MATH_INTEGER) {
		c->powers = true;
		return call(c, "power_", node, MATH_INTEGER, out);
	}
	if (exponent->kind != NODE_INTEGER || exponent->integer != 2)
		return call(c, "pow", node, MATH_REAL, out);
	result = expression(c, node->children[0], MATH_REAL, &base);
	new_temporary(c, name);
	buf_addf(&text, "const double %s = ", name);
	add_stripped(&text, &base);
	buf_addc(&text, ';');
	line(c, buf_str(&text));
	buf_addf(out, "%s * %s", name, name);
	buf_release(&base);
	buf_release(&text);
	return result;
}

/* a && b, or an if statement where b needs statements. */
static int
logic_code(struct coder *c, const struct node *node, struct buf *out)
{
	struct buf left = BUF_INIT, right = BUF_INIT, statements = BUF_INIT;
	bool and = node->kind == NODE_AND;
	int result = expression(c, node->children[0], MATH_BOOLEAN, &left);

	if (!result)
		result = apart(c, node->children[1], MATH_BOOLEAN, &right, &statements);
	if (!result && !statements.len)
		buf_addf(out, "(%s %s %s)", buf_str(&left), and ? "&&" : "||", buf_str(&right));
	else if (!result && and)
		result = choose(c, buf_str(&left), MATH_BOOLEAN, node->children[1], NULL, NULL, "false", out);
	else if (!result)
		result = choose(c, buf_str(&left), MATH_BOOLEAN, NULL, "true", node->children[1], NULL, out);
	buf_release(&left);
	buf_release(&right);
	buf_release(&statements);
	return result;
}

static int
compare_code(struct coder *c, const struct node *node, struct buf *out)
{
	static const char *const operators[] = { "<", "<=", ">", ">=", "==", "!=" };
	enum math_type type = MATH_NONE;
	struct buf operands[64] = { BUF_INIT };
	int result = 0;

	for (int i = 0; i < node->count; i++)
		if (node->children[i]->type > type)
			type = node->children[i]->type;
	for (int i = 0; i < node->count && !result; i++)
		result = expression(c, node->children[i], type, &operands[i]);
	buf_addc(out, '(');
	for (int i = 0; i + 1 < node->count; i++)
		buf_addf(out, "%s%s %s %s", i ? " && " : "", buf_str(&operands[i]),
			operators[node->comparisons[i]],
			buf_str(&operands[i + 1]));
	buf_addc(out, ')');
	for (int i = 0; i < node->count; i++)
		buf_release(&operands[i]);
	return result;
}

/* Would C compute with this operand in less than the language's double or 64 bits? */
static bool
is_narrow(const struct coder *c, const struct node *node)
{
	const struct tensor_info *t = node->kind == NODE_ACCESS ? &c->spec->tensors[node->number] : NULL;
	enum dtype dtype = t && t->definition < 0 ? t->dtype : node->kind == NODE_SCALAR
		? c->spec->scalars[node->number].dtype : DTYPE_FLOAT64;

	switch (node->kind) {
	case NODE_INTEGER:
		return node->integer <= INT32_MAX;
	case NODE_IF:
		return is_narrow(c, node->children[1]) && is_narrow(c, node->children[2]);
	case NODE_ACCESS: case NODE_SCALAR:
		if (node->pad && !is_narrow(c, node->pad))
			return false;
		return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16
			|| dtype == DTYPE_INT32
			|| dtype == DTYPE_UINT8;
	default:
		return false;
	}
}

static int
binary_code(struct coder *c, const struct node *node, struct buf *out)
{
	static const char *const operators[] = { [NODE_ADD] = " + ", [NODE_SUBTRACT] = " - ",
		[NODE_MULTIPLY] = " * ",
		[NODE_DIVIDE] = " / " };
	int result;

	if (node->kind == NODE_DIV || node->kind == NODE_MOD) {
		c->divides = true;
		return call(c, node->kind == NODE_DIV ? "div_" : "mod_", node, MATH_INTEGER, out);
	}
	buf_addc(out, '(');
	if (is_narrow(c, node->children[0]) && is_narrow(c, node->children[1])
		&& node->children[0]->type == node->type && node->children[1]->type == node->type)
		buf_addf(out, "(%s)", c_type(node->type));
	result = expression(c, node->children[0], node->type, out);
	buf_adds(out, operators[node->kind]);
	if (!result)
		result = expression(c, node->children[1], node->type, out);
	buf_addc(out, ')');
	return result;
}

static int
kind_code(struct coder *c, const struct node *node, struct buf *out)
{
	struct buf condition = BUF_INIT;
	int result;

	switch (node->kind) {
	case NODE_INTEGER:
		buf_addf(out, "%" PRId64 "%s", node->integer, node->integer > INT32_MAX ? "LL" : "");
		return 0;
	case NODE_REAL:
		buf_adds(out, strcmp(node->name, "inf") == 0 ? "INFINITY" : strcmp(node->name, "pi") == 0
			? "3.14159265358979323846"
			: node->name);
		return 0;
	case NODE_BOOLEAN:
		buf_adds(out, node->integer ? "true" : "false");
		return 0;
	case NODE_AXIS:
		add_name(out, c->spec->axes[node->number].name);
		return 0;
	case NODE_SCALAR:
		add_name(out, c->spec->scalars[node->number].name);
		return 0;
	case NODE_INDEX:
		add_name(out, c->definition->variables[node->number]->name);
		return 0;
	case NODE_NAME: return -1;
	case NODE_ACCESS: return access_code(c, node, out);
	case NODE_CALL: return call_code(c, node, out);
	case NODE_REDUCE: return reduce_code(c, node, out);
	case NODE_IF:
		result = expression(c, node->children[0], MATH_BOOLEAN, &condition);
		if (!result)
			result = choose(c, buf_str(&condition), node->type, node->children[1], NULL,
				node->children[2], NULL, out);
		buf_release(&condition);
		return result;
	case NODE_AND: case NODE_OR: return logic_code(c, node, out);
	case NODE_NOT:
		return call(c, "!", node, MATH_BOOLEAN, out);
	case NODE_COMPARE: return compare_code(c, node, out);
	case NODE_NEGATE: return call(c, node->type == MATH_INTEGER && is_narrow(c, node->children[0])
			&& node->children[0]->kind != NODE_INTEGER ? "-(int64_t)" : "-", node, node->type, out);
	case NODE_POWER: return power_code(c, node, out);
	default: return binary_code(c, node, out);
	}
}

static int
expression(struct coder *c, const struct node *node, enum math_type type, struct buf *out)
{
	if (type == MATH_REAL && node->type == MATH_INTEGER) {
		if (node->kind == NODE_INTEGER) {
			buf_addf(out, "%" PRId64 ".0", node->integer);
			return 0;
		}
		buf_adds(out, "(double)");
		/* the call's own brackets would bind later than the cast */
		if (node->kind == NODE_CALL || node->kind == NODE_NEGATE) {
			buf_addc(out, '(');
			int result = kind_code(c, node, out);
			buf_addc(out, ')');
			return result;
		}
	}
	return kind_code(c, node, out);
}

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

	axis_expression(c, c->spec->tensors[d->tensor].shape[k], &high);
	add_name(&index, name);
	if (down)
		buf_addf(&text, "for (int64_t %s = %s - 1; %s >= 0; %s--) {", buf_str(&index), buf_str(&high),
			buf_str(&index),
			buf_str(&index));
	else
		buf_addf(&text, "for (int64_t %s = 0; %s < %s; %s++) {", buf_str(&index), buf_str(&index),
			buf_str(&high),
			buf_str(&index));
	line(c, buf_str(&text));
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
	result = expression(c, d->body, t->type, &value);
	add_tensor_name(c, &text, d->tensor);
	if (t->rank || t->output >= 0) {
		buf_addc(&text, '[');
		for (int k = 0; k < t->rank; k++)
			add_name(&subscripts[k], d->variables[k]->name);
		add_offset(c, d->tensor, subscripts, t->rank, &text);
		buf_adds(&text, t->rank ? "]" : "0]");
	}
	buf_adds(&text, " = ");
	add_stripped(&text, &value);
	buf_addc(&text, ';');
	line(c, buf_str(&text));
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
		line(c, "}");
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

		line(c, "{");
		c->indent++;
		buf_adds(&text, "const int64_t ");
		add_name(&text, d->variables[0]->name);
		/* `step` may be the name of the index itself */
		buf_adds(&text, " = step;");
		if (strcmp(d->variables[0]->name, "step"))
			line(c, buf_str(&text));
		buf_release(&text);
		result = definition_loops(c, d, 1, NULL);
		c->indent--;
		line(c, "}");
	}
	c->indent--;
	line(c, "}");
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
		buf_addf(out, "%sconst %s *", comma, passed_type(spec->tensors[i].dtype));
		add_name(out, spec->tensors[i].name);
	}
	for (int i = 0; i < spec->output_count; i++, comma = ", ") {
		const struct tensor_info *t = &spec->tensors[spec->output_tensors[i]];

		buf_addf(out, "%s%s *", comma, passed_type(t->dtype));
		add_name(out, t->name);
	}
	for (int i = 0; i < spec->axis_count; i++)
		if (!spec->axes[i].fixed && !spec->axes[i].expression) {
			buf_addf(out, "%sint64_t ", comma);
			add_name(out, spec->axes[i].name);
			comma = ", ";
		}
	for (int i = 0; i < spec->scalar_count; i++, comma = ", ") {
		buf_addf(out, "%s%s ", comma, passed_type(spec->scalars[i].dtype));
		add_name(out, spec->scalars[i].name);
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

	add_name(&name, a->name);
	buf_addf(&text, "const int64_t %s = ", buf_str(&name));
	if (a->fixed)
		buf_addf(&text, "%" PRId64, a->value);
	else
		axis_expression(c, a->expression, &text);
	buf_addf(&text, ";\n\t(void)%s;", buf_str(&name));
	line(c, buf_str(&text));
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
		axis_expression(c, t->shape[d], out);
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
		const char *type = c_type(c->spec->tensors[i].type);
		struct buf text = BUF_INIT, name = BUF_INIT;

		add_tensor_name(c, &name, i);
		if (has_memory(c, i)) {
			buf_addf(&text, "%s *%s = malloc(sizeof *%s * (size_t)(", type, buf_str(&name),
				buf_str(&name));
			add_count(c, i, &text);
			buf_addf(&text, ") + 1);\n\tif (!%s)\n\t\tabort();", buf_str(&name));
			line(c, buf_str(&text));
		} else if (c->spec->tensors[i].output < 0) {
			buf_addf(&text, "%s %s;", type, buf_str(&name));
			line(c, buf_str(&text));
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
			add_name(&text, c->spec->tensors[i].name);
			buf_adds(&text, "[i_] = ");
			add_tensor_name(c, &text, i);
			buf_adds(&text, "[i_];");
			line(c, buf_str(&text));
			buf_reset(&text);
		}
		if (has_memory(c, i)) {
			buf_adds(&text, "free(");
			add_tensor_name(c, &text, i);
			buf_adds(&text, ");");
			line(c, buf_str(&text));
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
		{ c->divides, "static inline int64_t\ndiv_(int64_t a, int64_t b)\n{\n\treturn a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n\n"
			"static inline int64_t\nmod_(int64_t a, int64_t b)\n{\n\treturn a - div_(a, b) * b;\n}\n\n" },
		{ c->powers, "static inline int64_t\npower_(int64_t a, int64_t b)\n{\n\tint64_t result = 1;\n\n\twhile (b-- > 0)\n"
			"\t\tresult *= a;\n\treturn result;\n}\n\n" },
		{ c->picks, "/* NaN spreads. */\n"
			"static inline double\nmin_real_(double a, double b)\n{\n\treturn isnan(a) || a < b ? a : b;\n}\n\n"
			"static inline double\nmax_real_(double a, double b)\n{\n\treturn isnan(a) || a > b ? a : b;\n}\n\n"
			"static inline double\nsign_real_(double a)\n{\n\treturn isnan(a) ? a : (a > 0) - (a < 0);\n}\n\n"
			"static inline int64_t\nmin_integer_(int64_t a, int64_t b)\n{\n\treturn a < b ? a : b;\n}\n\n"
			"static inline int64_t\nmax_integer_(int64_t a, int64_t b)\n{\n\treturn a > b ? a : b;\n}\n\n"
			"static inline int64_t\nabs_integer_(int64_t a)\n{\n\treturn a < 0 ? -a : a;\n}\n\n"
			"static inline int64_t\nsign_integer_(int64_t a)\n{\n\treturn (a > 0) - (a < 0);\n}\n\n" },
		{ c->sigmoid, "static inline double\nsigmoid_(double x)\n{\n\treturn 1 / (1 + exp(-x));\n}\n\n" },
		{ c->rsqrt, "static inline double\nrsqrt_(double x)\n{\n\treturn 1 / sqrt(x);\n}\n\n" },
		{ c->saturates, "static inline int64_t\nsaturate_(double x, int64_t low, int64_t high)\n{\n\tx = nearbyint(x);\n"
			"\treturn isnan(x) ? 0 : x <= low ? low : x >= high ? high : (int64_t)x;\n}\n\n" },
		{ c->shifts, "static inline int64_t\nshift_left_(int64_t x, int64_t by)\n{\n"
			"\treturn by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by);\n}\n\n"
			"static inline int64_t\nshift_right_(int64_t x, int64_t by)\n{\n"
			"\treturn by < 0 || by > 63 ? (x < 0 ? -1 : 0) : x >> by;\n}\n\n" },
		{ c->rounds_half || c->rounds_bfloat16, small },
		{ c->rounds_half, "static inline double\nround_half_(double x)\n{\n\treturn round_small_(x, 11, -13, 65536);\n}\n\n" },
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
