/*
 * The function table: a row here makes a function known to the checker, the evaluator, LaTeX and C.
 * Functions of one kind share their typing and evaluation, so that a new one is usually one row.
 */
#include <math.h>
#include <string.h>

#include "math/spec.h"

static double
rsqrt(double x)
{
	return 1 / sqrt(x);
}

static double
sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double
is_nan(double x)
{
	return isnan(x) ? 1 : 0;
}

static double
is_inf(double x)
{
	return isinf(x) ? 1 : 0;
}

/* Shifts beyond the word push every bit out, as if done one by one. */
static int64_t
shift_left(int64_t x, int64_t by)
{
	return by < 0 || by > 63 ? 0 : (int64_t)((uint64_t)x << by);
}

static int64_t
shift_right(int64_t x, int64_t by)
{
	return by < 0 || by > 63 ? (x < 0 ? -1 : 0) : x >> by;
}

static int64_t
bit_and(int64_t x, int64_t y)
{
	return x & y;
}

static int64_t
bit_or(int64_t x, int64_t y)
{
	return x | y;
}

static int64_t
bit_xor(int64_t x, int64_t y)
{
	return x ^ y;
}

#define REAL1(text, tex, in_c, f) { .name = text, .kind = FUNCTION_REAL, .min_count = 1, .max_count = 1, .latex = tex, \
	.c = in_c, .one = f }
#define REAL2(text, tex, in_c, f) { .name = text, .kind = FUNCTION_REAL, .min_count = 2, .max_count = 2, .latex = tex, \
	.c = in_c, .two = f }
#define INTEGRAL(text, tex, in_c, f) { .name = text, .kind = FUNCTION_TO_INTEGER, .min_count = 1, .max_count = 1, \
	.latex = tex, .c = in_c, .one = f }
#define TEST(text, in_c, f) { .name = text, .kind = FUNCTION_TEST, .min_count = 1, .max_count = 1, .c = in_c, .one = f }
#define ROUND(text, to) { .name = text, .kind = FUNCTION_ROUND_TO, .min_count = 1, .max_count = 1, .dtype = to }
#define SATURATE(text, to) { .name = text, .kind = FUNCTION_SATURATE, .min_count = 1, .max_count = 1, .dtype = to }
#define BITS(text, tex, f) { .name = text, .kind = FUNCTION_BITS, .min_count = 2, .max_count = 2, .latex = tex, \
	.integers = f }
#define OTHER(text, which, min, max, tex) { .name = text, .kind = which, .min_count = min, .max_count = max, .latex = tex }

const struct function math_functions[] = {
	REAL1("exp", "\\exp\\left(#1\\right)", "exp", exp),
	REAL1("exp2", "2^{#1}", "exp2", exp2),
	REAL1("expm1", NULL, "expm1", expm1),
	REAL1("log", "\\log\\left(#1\\right)", "log", log),
	REAL1("log2", "\\log_2\\left(#1\\right)", "log2", log2),
	REAL1("log10", "\\log_{10}\\left(#1\\right)", "log10", log10),
	REAL1("log1p", NULL, "log1p", log1p),
	REAL1("sqrt", "\\sqrt{#1}", "sqrt", sqrt),
	REAL1("rsqrt", "\\frac{1}{\\sqrt{#1}}", "rsqrt", rsqrt),
	REAL1("sin", "\\sin\\left(#1\\right)", "sin", sin),
	REAL1("cos", "\\cos\\left(#1\\right)", "cos", cos),
	REAL1("tan", "\\tan\\left(#1\\right)", "tan", tan),
	REAL1("asin", "\\arcsin\\left(#1\\right)", "asin", asin),
	REAL1("acos", "\\arccos\\left(#1\\right)", "acos", acos),
	REAL1("atan", "\\arctan\\left(#1\\right)", "atan", atan),
	REAL1("sinh", "\\sinh\\left(#1\\right)", "sinh", sinh),
	REAL1("cosh", "\\cosh\\left(#1\\right)", "cosh", cosh),
	REAL1("tanh", "\\tanh\\left(#1\\right)", "tanh", tanh),
	REAL1("erf", NULL, "erf", erf),
	REAL1("erfc", NULL, "erfc", erfc),
	REAL1("sigmoid", "\\sigma\\left(#1\\right)", "sigmoid", sigmoid),
	REAL2("atan2", NULL, "atan2", atan2),
	REAL2("hypot", "\\sqrt{\\left(#1\\right)^2 + \\left(#2\\right)^2}", "hypot", hypot),
	OTHER("abs", FUNCTION_SAME, 1, 1, "\\left|#1\\right|"),
	OTHER("sign", FUNCTION_SAME, 1, 1, NULL),
	OTHER("min", FUNCTION_SAME, 2, FUNCTION_MAX_ARGUMENTS, NULL),
	OTHER("max", FUNCTION_SAME, 2, FUNCTION_MAX_ARGUMENTS, NULL),
	OTHER("clamp", FUNCTION_SAME, 3, 3, NULL),
	INTEGRAL("floor", "\\left\\lfloor #1 \\right\\rfloor", "floor", floor),
	INTEGRAL("ceil", "\\left\\lceil #1 \\right\\rceil", "ceil", ceil),
	INTEGRAL("round", NULL, "nearbyint", nearbyint),
	INTEGRAL("trunc", NULL, "trunc", trunc),
	ROUND("f32", DTYPE_FLOAT32),
	ROUND("f16", DTYPE_FLOAT16),
	ROUND("bf16", DTYPE_BFLOAT16),
	SATURATE("i8", DTYPE_COUNT),
	SATURATE("u8", DTYPE_UINT8),
	SATURATE("i32", DTYPE_INT32),
	TEST("isnan", "isnan", is_nan),
	TEST("isinf", "isinf", is_inf),
	BITS("bitand", "#1 \\mathbin{\\&} #2", bit_and),
	BITS("bitor", "#1 \\mathbin{|} #2", bit_or),
	BITS("bitxor", "#1 \\oplus #2", bit_xor),
	BITS("shl", "#1 \\ll #2", shift_left),
	BITS("shr", "#1 \\gg #2", shift_right),
	OTHER("int", FUNCTION_INT, 1, 1, NULL),
	OTHER("real", FUNCTION_TO_REAL, 1, 1, "#1"),
};
const int math_function_count = sizeof math_functions / sizeof *math_functions;

const char *const math_reduction_names[REDUCE_COUNT] = {
	"sum", "prod", "max", "min", "argmax", "argmin", "any", "all"
};

int
math_function_find(const char *name)
{
	for (int i = 0; i < math_function_count; i++)
		if (strcmp(math_functions[i].name, name) == 0)
			return i;
	return -1;
}

int
math_reduction_find(const char *name)
{
	for (int i = 0; i < REDUCE_COUNT; i++)
		if (strcmp(math_reduction_names[i], name) == 0)
			return i;
	return -1;
}

bool
math_is_keyword(const char *name)
{
	static const char *const words[] = { "if", "else", "for", "in", "and", "or", "not", "div", "mod", "inf",
		"pi", "true", "false" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false;
}
