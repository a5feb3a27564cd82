/*
 * Expressions of a checked spec to C. Comes in a tree, go out an expression and the statements before it.
 * The hard idea is that the language is made of expressions and C's loops are statements: an expression is
 * written into a buffer while the statements that it needs first (the loop of a sum) go out before it. What
 * is lazy (if, and, or, a pad value) becomes ?: as long as it needs no statements, else an if statement.
 */
#include "math/code.h"

#include <inttypes.h>
#include <string.h>

/* ---- names */

/* A name of ours ends in '_', and a name of the spec that does so gets one more. */
void
code_name(struct buf *b, const char *name)
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
		"signgam", "asm", "typeof", "linux", "unix", "copysign", "size_t"
	};
	size_t length = strlen(name);
	bool taken = name[length - 1] == '_' || name[0] == '_';

	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		taken |= strcmp(reserved[i], name) == 0;
	buf_addf(b, "%s%s%s", name[0] == '_' ? "u" : "", name, taken ? "_" : "");
}

const char *
code_type(enum math_type type)
{
	return type == MATH_REAL ? "double" : type == MATH_INTEGER ? "int64_t" : "bool";
}

/* The text without brackets around the whole of it. */
void
code_stripped(struct buf *out, const struct buf *text)
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
const char *
code_passed_type(enum dtype dtype)
{
	return dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16 ? "float" : dtype_c_name(dtype);
}

void
code_line(struct coder *c, const char *text)
{
	for (int i = 0; i < c->indent; i++)
		buf_addc(c->body, '\t');
	buf_addf(c->body, "%s\n", text);
}

void
code_tensor_name(struct coder *c, struct buf *b, int tensor)
{
	code_name(b, c->spec->tensors[tensor].name);
	if (c->wide[tensor])
		buf_adds(b, "_wide_");
}

/* ---- axis expressions: extents and derived axes */

void
code_axis_expression(struct coder *c, const struct node *node, struct buf *out)
{
	static const char *const operators[] = { [NODE_ADD] = " + ", [NODE_SUBTRACT] = " - ",
		[NODE_MULTIPLY] = " * " };

	switch (node->kind) {
	case NODE_INTEGER:
		buf_addf(out, "%" PRId64, node->integer);
		break;
	case NODE_AXIS:
		code_name(out, c->spec->axes[node->number].name);
		break;
	case NODE_NEGATE:
		buf_adds(out, "(-");
		code_axis_expression(c, node->children[0], out);
		buf_addc(out, ')');
		break;
	case NODE_ADD: case NODE_SUBTRACT: case NODE_MULTIPLY:
		buf_addc(out, '(');
		code_axis_expression(c, node->children[0], out);
		buf_adds(out, operators[node->kind]);
		code_axis_expression(c, node->children[1], out);
		buf_addc(out, ')');
		break;
	default:
		/* div, mod; min and max of several fold to the left */
		for (int i = 1; i < node->count; i++)
			buf_addf(out, "%s(", node->kind == NODE_DIV ? "div_" : node->kind == NODE_MOD ? "mod_"
				: node->name[1] == 'i' ? "min_integer_" : "max_integer_");
		code_axis_expression(c, node->children[0], out);
		for (int i = 1; i < node->count; i++) {
			buf_adds(out, ", ");
			code_axis_expression(c, node->children[i], out);
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
	result = code_expression(c, node, type, value);
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

	code_line(c, opening);
	buf_adds(c->body, buf_str(statements));
	c->indent++;
	buf_addf(&text, "%s = %s;", name, buf_str(value));
	code_line(c, buf_str(&text));
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
		buf_addf(&text, "%s %s;", code_type(type), name);
		code_line(c, buf_str(&text));
		buf_reset(&text);
		buf_addf(&text, "if (%s) {", condition);
		branch(c, buf_str(&text), name, &statements[0], &values[0]);
		branch(c, "} else {", name, &statements[1], &values[1]);
		code_line(c, "}");
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

void
code_offset(struct coder *c, int tensor, struct buf *subscripts, int rank, struct buf *out)
{
	const struct tensor_info *t = &c->spec->tensors[tensor];

	for (int d = 0; d < rank - 2; d++)
		buf_addc(out, '(');
	for (int d = 0; d < rank; d++) {
		if (d) {
			buf_adds(out, " * ");
			code_axis_expression(c, t->shape[d], out);
			buf_adds(out, " + ");
		}
		if (rank == 1)
			code_stripped(out, &subscripts[d]);
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
		result = code_expression(c, node->children[d], MATH_INTEGER, &subscripts[d]);
		if (!node->pad || node->children[d]->kind == NODE_INDEX
			|| node->children[d]->kind <= NODE_BOOLEAN)
			continue;
		/* used three times: give it a name */
		char name[32];

		new_temporary(c, name);
		buf_reset(&text);
		buf_addf(&text, "const int64_t %s = ", name);
		code_stripped(&text, &subscripts[d]);
		buf_addc(&text, ';');
		code_line(c, buf_str(&text));
		buf_reset(&subscripts[d]);
		buf_adds(&subscripts[d], name);
	}
	if (t->definition >= 0 && !t->rank && t->output < 0)
		code_tensor_name(c, &element, node->number);
	else {
		code_tensor_name(c, &element, node->number);
		buf_addc(&element, '[');
		code_offset(c, node->number, subscripts, node->count, &element);
		buf_adds(&element, node->count ? "]" : "0]");
	}
	if (!node->pad)
		buf_adds(out, buf_str(&element));
	else if (!result) {
		struct buf converted = BUF_INIT;

		for (int d = 0; d < node->count; d++) {
			buf_addf(&condition, "%s%s >= 0 && %s < ", d ? " && " : "", buf_str(&subscripts[d]),
				buf_str(&subscripts[d]));
			code_axis_expression(c, t->shape[d], &condition);
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
		result = code_expression(c, v->low, MATH_INTEGER, &low);
	else
		buf_addc(&low, '0');
	if (!result)
		result = code_expression(c, v->high, MATH_INTEGER, &high);
	code_name(&name, v->name);
	buf_addf(&text, "for (int64_t %s = %s; %s < %s; %s++) {", buf_str(&name), buf_str(&low), buf_str(&name),
		buf_str(&high),
		buf_str(&name));
	code_line(c, buf_str(&text));
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
		code_name(text, node->binds[0]->name);
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

	result = code_expression(c, body, body->type, &text);
	code_stripped(&term, &text);
	buf_reset(&text);
	/* what compares a term uses it more than once */
	if (node->number >= REDUCE_MAX && node->number <= REDUCE_ARGMIN) {
		new_temporary(c, name);
		buf_addf(&text, "const %s %s = %s;", code_type(body->type), name, buf_str(&term));
		code_line(c, buf_str(&text));
		buf_reset(&term);
		buf_adds(&term, name);
	}
	buf_reset(&text);
	combine(node, total, buf_str(&term), &text);
	code_line(c, buf_str(&text));
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
		buf_addf(&text, "%s %sbest = 0;", code_type(node->children[0]->type), total);
		code_line(c, buf_str(&text));
		buf_reset(&text);
	}
	buf_addf(&text, "%s %s = %s;", code_type(node->type), total, starting_value(node));
	code_line(c, buf_str(&text));
	for (int i = 0; i < node->bind_count && !result; i++)
		result = open_loop(c, node->binds[i]);
	if (node->guard && !result) {
		struct buf guard = BUF_INIT;

		result = code_expression(c, node->guard, MATH_BOOLEAN, &guard);
		buf_reset(&text);
		buf_adds(&text, "if (");
		code_stripped(&text, &guard);
		buf_adds(&text, ") {");
		code_line(c, buf_str(&text));
		c->indent++;
		braces++;
		buf_release(&guard);
	}
	if (!result)
		result = term_code(c, node, total);
	for (int i = 0; i < braces && !result; i++) {
		c->indent--;
		code_line(c, "}");
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
		result = code_expression(c, node->children[i], type, &argument);
		code_stripped(out, &argument);
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
	result = code_expression(c, node->children[0], node->type, out);
	for (int i = 1; i < 3 && !result; i++) {
		buf_adds(out, ", ");
		result = code_expression(c, node->children[i], node->type, out);
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
	result = code_expression(c, node->children[0], MATH_INTEGER, out);
	buf_adds(out, operator);
	if (!result)
		result = code_expression(c, node->children[1], MATH_INTEGER, out);
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
	result = code_expression(c, node->children[0], MATH_REAL, out);
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
			return code_expression(c, first, MATH_INTEGER, out);
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
	result = code_expression(c, node->children[0], MATH_REAL, &base);
	new_temporary(c, name);
	buf_addf(&text, "const double %s = ", name);
	code_stripped(&text, &base);
	buf_addc(&text, ';');
	code_line(c, buf_str(&text));
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
	int result = code_expression(c, node->children[0], MATH_BOOLEAN, &left);

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
		result = code_expression(c, node->children[i], type, &operands[i]);
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
		buf_addf(out, "(%s)", code_type(node->type));
	result = code_expression(c, node->children[0], node->type, out);
	buf_adds(out, operators[node->kind]);
	if (!result)
		result = code_expression(c, node->children[1], node->type, out);
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
		code_name(out, c->spec->axes[node->number].name);
		return 0;
	case NODE_SCALAR:
		code_name(out, c->spec->scalars[node->number].name);
		return 0;
	case NODE_INDEX:
		code_name(out, c->definition->variables[node->number]->name);
		return 0;
	case NODE_NAME: return -1;
	case NODE_ACCESS: return access_code(c, node, out);
	case NODE_CALL: return call_code(c, node, out);
	case NODE_REDUCE: return reduce_code(c, node, out);
	case NODE_IF:
		result = code_expression(c, node->children[0], MATH_BOOLEAN, &condition);
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

int
code_expression(struct coder *c, const struct node *node, enum math_type type, struct buf *out)
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
