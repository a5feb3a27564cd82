/*
 * A checked spec to LaTeX. The hard idea is where brackets go: a \sum reaches as far right as it can, so
 * that it needs them whenever something follows it; fractions and roots need none at all.
 */
#include "math/latex.h"

#include <inttypes.h>
#include <string.h>

#include "math/spec.h"

/* How tightly an expression holds together; a looser one inside a tighter one gets brackets. */
enum level { LEVEL_IF, LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_SUM, LEVEL_TERM, LEVEL_UNARY,
	LEVEL_POWER,
	LEVEL_ATOM };

struct writer {
	const struct math_spec *spec;
	struct buf *out;
	const struct definition *definition;
	bool in_subscript;
	bool uses_pad;
	const struct node *pads[MATH_MAX_TENSORS + MATH_MAX_DEFINITIONS];	/* the one pad value of a tensor */
	bool many_pads[MATH_MAX_TENSORS + MATH_MAX_DEFINITIONS];
	bool functions[64];
	bool ties;
};

static void write_node(struct writer *w, const struct node *node, enum level level, bool followed);

static void
write_inside(struct writer *w, const struct node *node)
{
	write_node(w, node, LEVEL_IF, false);
}

/* x, \mathrm{mask}, \mathrm{row\_max} */
static void
write_name(struct buf *out, const char *name)
{
	if (!name[1]) {
		buf_adds(out, name);
		return;
	}
	buf_adds(out, "\\mathrm{");
	for (; *name; name++) {
		if (*name == '_')
			buf_addc(out, '\\');
		buf_addc(out, *name);
	}
	buf_addc(out, '}');
}

/* 0.5, 10^{-5}, 2.5 \cdot 10^{3} */
static void
write_real(struct buf *out, const char *text)
{
	size_t mantissa = strcspn(text, "eE");
	const char *exponent = text + mantissa;

	if (strcmp(text, "inf") == 0 || strcmp(text, "pi") == 0) {
		buf_adds(out, text[0] == 'i' ? "\\infty" : "\\pi");
		return;
	}
	if (!*exponent) {
		buf_adds(out, text);
		return;
	}
	if (mantissa != 1 || text[0] != '1') {
		buf_add(out, text, mantissa);
		buf_adds(out, " \\cdot ");
	}
	exponent++;
	buf_addf(out, "10^{%s%s}", *exponent == '-' ? "-" : "", exponent + strspn(exponent, "+-0"));
}

/* ---- operators */

static void
write_two(struct writer *w, const struct node *node, const char *operator, enum level left, enum level right,
	bool followed)
{
	write_node(w, node->children[0], left, true);
	buf_adds(w->out, operator);
	write_node(w, node->children[1], right, followed);
}

static void
write_pair(struct writer *w, const struct node *node, const char *before, const char *between, const char *after)
{
	buf_adds(w->out, before);
	write_inside(w, node->children[0]);
	buf_adds(w->out, between);
	write_inside(w, node->children[1]);
	buf_adds(w->out, after);
}

static void
write_compare(struct writer *w, const struct node *node, bool followed)
{
	static const char *const operators[] = { " < ", " \\le ", " > ", " \\ge ", " = ", " \\ne " };

	for (int i = 0; i < node->count; i++) {
		if (i)
			buf_adds(w->out, operators[node->comparisons[i - 1]]);
		write_node(w, node->children[i], LEVEL_SUM, followed || i + 1 < node->count);
	}
}

static void
write_if(struct writer *w, const struct node *node)
{
	buf_adds(w->out, "\\begin{cases} ");
	for (; node->kind == NODE_IF; node = node->children[2]) {
		write_inside(w, node->children[1]);
		buf_adds(w->out, " & \\text{if } ");
		write_inside(w, node->children[0]);
		buf_adds(w->out, " \\\\ ");
	}
	write_inside(w, node);
	buf_adds(w->out, " & \\text{otherwise} \\end{cases}");
}

static bool
is_constant(const struct node *node)
{
	return node->kind <= NODE_BOOLEAN || (node->kind == NODE_NEGATE
		&& node->children[0]->kind <= NODE_BOOLEAN);
}

static void
write_access(struct writer *w, const struct node *node)
{
	bool says_pad = node->pad && w->many_pads[node->number], outer = w->in_subscript;

	if (says_pad)
		buf_adds(w->out, "\\operatorname{pad}\\left(");
	write_name(w->out, w->spec->tensors[node->number].name);
	if (node->count) {
		w->in_subscript = true;
		buf_adds(w->out, "_{");
		for (int i = 0; i < node->count; i++) {
			buf_adds(w->out, i ? ", " : "");
			write_inside(w, node->children[i]);
		}
		buf_addc(w->out, '}');
		w->in_subscript = outer;
	}
	if (!says_pad)
		return;
	buf_adds(w->out, ",\\ ");
	write_inside(w, node->pad);
	buf_adds(w->out, "\\right)");
	w->uses_pad = true;
}

/* The template of a function with its arguments in the places of #1 and #2. */
static void
write_template(struct writer *w, const struct node *node, const char *text, enum level level)
{
	for (; *text; text++) {
		if (*text != '#')
			buf_addc(w->out, *text);
		else
			write_node(w, node->children[*++text - '1'], level, level > LEVEL_IF);
	}
}

static void
write_call(struct writer *w, const struct node *node)
{
	const struct function *f = &math_functions[node->number];

	w->functions[node->number] = true;
	if (f->latex) {
		write_template(w, node, f->latex, f->kind == FUNCTION_BITS ? LEVEL_UNARY
			: f->kind == FUNCTION_TO_REAL
			? LEVEL_ATOM : LEVEL_IF);
		return;
	}
	buf_addf(w->out, "\\operatorname{%s}\\left(", f->name);
	for (int i = 0; i < node->count; i++) {
		buf_adds(w->out, i ? ", " : "");
		write_inside(w, node->children[i]);
	}
	buf_adds(w->out, "\\right)");
}

/* ---- reductions */

/* D-1, 2, N+M-1 */
static void
write_last(struct writer *w, const struct node *high)
{
	if (high->kind == NODE_INTEGER && high->integer > 0)
		buf_addf(w->out, "%" PRId64, high->integer - 1);
	else {
		write_node(w, high, LEVEL_SUM, true);
		buf_adds(w->out, "-1");
	}
}

static void
write_range(struct writer *w, const struct variable *v)
{
	if (v->low)
		write_inside(w, v->low);
	else
		buf_addc(w->out, '0');
	buf_adds(w->out, " \\le ");
	write_name(w->out, v->name);
	buf_adds(w->out, " < ");
	write_node(w, v->high, LEVEL_SUM, false);
}

/* \sum_{j=0}^{D-1} for each index, or one sign over all conditions. */
static void
write_reduce(struct writer *w, const struct node *node)
{
	static const char *const signs[] = { "\\sum", "\\prod", "\\max", "\\min", "\\operatorname*{arg\\,max}",
		"\\operatorname*{arg\\,min}", "\\bigvee", "\\bigwedge" };
	bool limits = !node->guard && node->number != REDUCE_MAX && node->number != REDUCE_MIN
		&& node->number != REDUCE_ARGMAX && node->number != REDUCE_ARGMIN;

	w->ties |= node->number == REDUCE_ARGMAX || node->number == REDUCE_ARGMIN;
	for (int i = 0; i < node->bind_count && limits; i++) {
		const struct variable *v = node->binds[i];

		buf_addf(w->out, "%s_{", signs[node->number]);
		write_name(w->out, v->name);
		buf_addc(w->out, '=');
		if (v->low)
			write_inside(w, v->low);
		else
			buf_addc(w->out, '0');
		buf_adds(w->out, "}^{");
		write_last(w, v->high);
		buf_adds(w->out, "} ");
	}
	if (!limits) {
		bool stacked = node->bind_count > 1 || node->guard;

		buf_addf(w->out, "%s_{%s", signs[node->number], stacked ? "\\substack{" : "");
		for (int i = 0; i < node->bind_count; i++) {
			buf_adds(w->out, i ? " \\\\ " : "");
			write_range(w, node->binds[i]);
		}
		if (node->guard) {
			buf_adds(w->out, " \\\\ ");
			write_inside(w, node->guard);
		}
		buf_addf(w->out, "%s} ", stacked ? "}" : "");
	}
	write_node(w, node->children[0], LEVEL_TERM, false);
}

/* ---- any node */

static enum level
level_of(const struct node *node)
{
	switch (node->kind) {
	case NODE_IF: return LEVEL_UNARY;
	case NODE_OR: return LEVEL_OR;
	case NODE_AND: return LEVEL_AND;
	case NODE_NOT: return LEVEL_NOT;
	case NODE_COMPARE: return LEVEL_COMPARE;
	case NODE_ADD: case NODE_SUBTRACT: return LEVEL_SUM;
	case NODE_MULTIPLY: case NODE_MOD: return LEVEL_TERM;
	case NODE_NEGATE: return LEVEL_SUM;
	case NODE_POWER: return LEVEL_POWER;
	case NODE_REDUCE: return LEVEL_UNARY;
	case NODE_CALL: return math_functions[node->number].kind == FUNCTION_BITS ? LEVEL_COMPARE
		: strcmp(math_functions[node->number].name, "exp2") ? LEVEL_ATOM : LEVEL_POWER;
	case NODE_REAL: return strchr(node->name, 'e') || strchr(node->name, 'E') ? LEVEL_TERM : LEVEL_ATOM;
	default: return LEVEL_ATOM;
	}
}

static void
write_kind(struct writer *w, const struct node *node, bool followed)
{
	switch (node->kind) {
	case NODE_INTEGER: buf_addf(w->out, "%" PRId64, node->integer); break;
	case NODE_REAL: write_real(w->out, node->name); break;
	case NODE_BOOLEAN: buf_adds(w->out, node->integer ? "\\text{true}" : "\\text{false}"); break;
	case NODE_AXIS: write_name(w->out, w->spec->axes[node->number].name); break;
	case NODE_SCALAR: write_name(w->out, w->spec->scalars[node->number].name); break;
	case NODE_INDEX: write_name(w->out, w->definition->variables[node->number]->name); break;
	case NODE_NAME: break;
	case NODE_ACCESS: write_access(w, node); break;
	case NODE_CALL: write_call(w, node); break;
	case NODE_REDUCE: write_reduce(w, node); break;
	case NODE_IF: write_if(w, node); break;
	case NODE_OR: write_two(w, node, " \\lor ", LEVEL_OR, LEVEL_OR, followed); break;
	case NODE_AND: write_two(w, node, " \\land ", LEVEL_AND, LEVEL_AND, followed); break;
	case NODE_NOT:
		buf_adds(w->out, "\\lnot ");
		write_node(w, node->children[0], LEVEL_ATOM, followed);
		break;
	case NODE_COMPARE: write_compare(w, node, followed); break;
	case NODE_NEGATE:
		buf_addc(w->out, '-');
		write_node(w, node->children[0], LEVEL_TERM, followed);
		break;
	case NODE_ADD: write_two(w, node, " + ", LEVEL_SUM, LEVEL_TERM, followed); break;
	case NODE_SUBTRACT: write_two(w, node, " - ", LEVEL_SUM, LEVEL_TERM, followed); break;
	case NODE_MULTIPLY: write_two(w, node, w->in_subscript && node->children[1]->kind
			> NODE_BOOLEAN ? " " : " \\cdot ", LEVEL_TERM, LEVEL_UNARY, followed); break;
	case NODE_MOD: write_two(w, node, " \\bmod ", LEVEL_UNARY, LEVEL_UNARY, followed); break;
	case NODE_DIVIDE: write_pair(w, node, "\\frac{", "}{", "}"); break;
	case NODE_DIV: write_pair(w, node, "\\left\\lfloor \\frac{", "}{", "} \\right\\rfloor"); break;
	case NODE_POWER:
		write_node(w, node->children[0], LEVEL_ATOM, true);
		buf_adds(w->out, "^{");
		write_inside(w, node->children[1]);
		buf_addc(w->out, '}');
		break;
	}
}

static void
write_node(struct writer *w, const struct node *node, enum level level, bool followed)
{
	bool brackets = level_of(node) < level || (node->kind == NODE_REDUCE && followed)
		|| (node->kind == NODE_IF && followed);

	if (brackets)
		buf_adds(w->out, "\\left(");
	write_kind(w, node, followed && !brackets);
	if (brackets)
		buf_adds(w->out, "\\right)");
}

/* ---- definitions and notes */

/* A tensor whose pad values are all the same constant gets a note; others say it at each access. */
static void
note_pads(struct writer *w, const struct node *node)
{
	if (node->kind == NODE_ACCESS && node->pad) {
		const struct node *known = w->pads[node->number];
		bool same = !known || (known->kind == node->pad->kind && known->integer == node->pad->integer
			&& known->real == node->pad->real && known->count == node->pad->count && (!known->count
			|| (known->children[0]->real == node->pad->children[0]->real
			&& known->children[0]->integer == node->pad->children[0]->integer)));

		if (!is_constant(node->pad) || !same)
			w->many_pads[node->number] = true;
		w->pads[node->number] = node->pad;
	}
	for (int i = 0; i < node->count; i++)
		note_pads(w, node->children[i]);
	if (node->pad)
		note_pads(w, node->pad);
	if (node->guard)
		note_pads(w, node->guard);
}

static void
write_definition(struct writer *w, const struct definition *d)
{
	w->definition = d;
	write_name(w->out, d->name);
	for (int i = 0; i < d->rank; i++) {
		buf_adds(w->out, i ? ", " : "_{");
		write_name(w->out, d->variables[i]->name);
	}
	buf_adds(w->out, d->rank ? "} &= " : " &= ");
	write_inside(w, d->body);
	for (int i = 0; i < d->rank; i++) {
		buf_adds(w->out, i ? ",\\ " : " && ");
		write_range(w, d->variables[i]);
	}
}

static void
write_function_notes(struct writer *w)
{
	static const struct {
		const char *name, *note;
	} notes[] = {
		{ "f32", "is $a$ rounded to the nearest float32 (ties to even)" },
		{ "f16", "is $a$ rounded to the nearest float16 (ties to even, overflow to infinity)" },
		{ "bf16", "is $a$ rounded to the nearest bfloat16 (ties to even)" },
		{ "i8", "is $a$ rounded to the nearest integer (ties to even) and saturated to $-128..127$" },
		{ "u8", "is $a$ rounded to the nearest integer (ties to even) and saturated to $0..255$" },
		{ "i32", "is $a$ rounded to the nearest integer (ties to even) and saturated to 32 bits" },
		{ "round", "is $a$ rounded to the nearest integer (ties to even)" },
		{ "trunc", "is $a$ rounded toward zero" },
		{ "sigmoid", NULL },
		{ "rsqrt", NULL },
	};

	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		if (notes[i].note && w->functions[math_function_find(notes[i].name)])
			buf_addf(w->out, "\n$\\operatorname{%s}(a)$ %s.", notes[i].name, notes[i].note);
	if (w->functions[math_function_find("sigmoid")])
		buf_adds(w->out, "\n$\\sigma(a) = 1 / (1 + \\exp(-a))$.");
}

void
math_latex(const struct math_spec *spec, struct buf *out)
{
	struct writer w = { .spec = spec, .out = out };

	for (int i = 0; i < spec->definition_count; i++)
		note_pads(&w, spec->definitions[i].body);
	buf_adds(out, "\\begin{aligned}\n");
	for (int i = 0; i < spec->definition_count; i++) {
		write_definition(&w, &spec->definitions[i]);
		buf_adds(out, i + 1 < spec->definition_count ? " \\\\\n" : "\n");
	}
	buf_adds(out, "\\end{aligned}\n");
	for (int i = 0; i < spec->tensor_count; i++) {
		if (!w.pads[i] || w.many_pads[i])
			continue;
		buf_adds(out, "\nElements of $");
		write_name(out, spec->tensors[i].name);
		buf_adds(out, "$ outside its range count as $");
		write_inside(&w, w.pads[i]);
		buf_adds(out, "$.");
	}
	if (w.uses_pad)
		buf_adds(out, "\n$\\operatorname{pad}(a, b)$ is $a$ where its subscripts are in range, and $b$ elsewhere.");
	if (w.ties)
		buf_adds(out, "\nOn ties, $\\operatorname{arg\\,max}$ and $\\operatorname{arg\\,min}$ give the smallest index.");
	write_function_notes(&w);
	if (out->data[out->len - 1] != '\n')
		buf_addc(out, '\n');
}

void
math_latex_markdown(const char *latex, struct buf *out)
{
	static const char end[] = "\\end{aligned}\n";
	const char *found = strstr(latex, end), *notes = found ? found + sizeof end - 1 : latex + strlen(latex);
	size_t length = (size_t)(notes - latex);

	buf_addf(out, "$$\n%.*s%s$$\n\n", (int)length, latex, length && latex[length - 1] == '\n' ? "" : "\n");
	notes += strspn(notes, "\n");
	if (*notes)
		buf_addf(out, "%s%s\n", notes, notes[strlen(notes) - 1] == '\n' ? "" : "\n");
}
