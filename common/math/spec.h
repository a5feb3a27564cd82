/* Inside of the math language: the checked tree that parse.c and check.c make, and that eval, latex and c
 * read. Everything lives in the spec's arena. */
#ifndef MATH_SPEC_H
#define MATH_SPEC_H

#include "base/arena.h"
#include "math/math.h"

#define MATH_MAX_DEPTH 200		/* of a tree: the evaluator recurses */
#define MATH_MAX_NODES 20000
#define MATH_MAX_VARIABLES 64		/* indices of one definition: a set of them is a uint64_t */
#define MATH_MAX_DEFINITIONS 256

enum math_type { MATH_NONE, MATH_BOOLEAN, MATH_INTEGER, MATH_REAL };

enum node_kind {
	NODE_INTEGER, NODE_REAL, NODE_BOOLEAN,	/* constants: `integer`, `real`, `integer` */
	NODE_NAME,				/* only until check.c has looked it up */
	NODE_AXIS, NODE_SCALAR, NODE_INDEX,	/* `number` */
	NODE_ACCESS,				/* tensor `number` at children; `pad` may be NULL */
	NODE_CALL,				/* function `number` of children */
	NODE_REDUCE,				/* reduction `number` of children[0] over `binds` where `guard` */
	NODE_IF,				/* children: condition, then, else */
	NODE_AND, NODE_OR, NODE_NOT,
	NODE_COMPARE,				/* children[i] comparisons[i] children[i + 1] for all i */
	NODE_NEGATE, NODE_ADD, NODE_SUBTRACT, NODE_MULTIPLY, NODE_DIVIDE,
	NODE_DIV, NODE_MOD, NODE_POWER,
};
enum comparison { COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_EQ, COMPARE_NE };
enum reduction { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ARGMAX, REDUCE_ARGMIN, REDUCE_ANY,
	REDUCE_ALL, REDUCE_COUNT };

struct variable {
	const char *name;
	int line, column;
	int number;			/* in its definition */
	bool stated;			/* the spec says the range */
	struct node *low, *high;	/* low NULL: 0; high NULL: not known yet */
};

struct node {
	enum node_kind kind;
	enum math_type type;
	int line, column;
	int depth;			/* 1 for a leaf */
	int number;
	uint64_t variables;		/* indices that the value depends on */
	const char *name;
	int64_t integer;
	double real;
	struct node **children;
	int count;
	enum comparison *comparisons;
	struct node *pad, *guard;
	struct variable **binds;
	int bind_count;
};

struct definition {
	const char *name;
	int line, column;
	int tensor;			/* its number */
	int rank;			/* the first `rank` variables are the left-hand side's */
	struct variable *variables[MATH_MAX_VARIABLES];
	int variable_count;
	struct node *body;
	bool recurrent;			/* depends on itself, perhaps through others */
	int component;			/* equal for definitions that depend on one another */
};

/* Inputs, then definitions in the order of the text. */
struct tensor_info {
	const char *name;
	enum math_type type;
	enum dtype dtype;		/* inputs and outputs */
	int rank;
	struct node *shape[TENSOR_MAX_RANK];	/* axis expressions; NULL while not known */
	int definition;			/* -1: input */
	int output;			/* -1: none */
};

struct axis_info {
	const char *name;
	bool fixed;
	int64_t value;
	struct node *expression;
};

struct scalar_info {
	const char *name;
	enum dtype dtype;
	enum math_type type;
	double real;
	int64_t integer;
};

struct math_spec {
	struct arena arena;
	struct axis_info *axes;
	int axis_count;
	struct scalar_info *scalars;
	int scalar_count;
	struct tensor_info *tensors;
	int tensor_count, input_count, output_count;
	int *output_tensors;		/* tensor number of each output */
	struct definition *definitions;
	int definition_count;
	int *order;			/* definitions, each component after those it needs */
};

/* ---- text to tree (parse.c) */
struct parsed {
	struct arena *arena;
	struct definition *definitions;
	int definition_count;
	int node_count;
};
/* Definitions without names looked up. 0 or -1 with "LINE:COLUMN: ...". */
int math_parse_text(const char *text, size_t length, struct parsed *out, struct buf *err);
/* One expression that fills the text. */
struct node *math_parse_expression(const char *text, size_t length, struct arena *arena, struct buf *err);

/* ---- names, ranges, types (check.c; ranges.c) */
/* "LINE:COLUMN: " and the sentence; -1. */
int math_error(struct buf *err, int line, int column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Gives every index its range and every definition its shape. */
int math_infer_ranges(struct math_spec *spec, struct buf *err);

/* ---- axis expressions (axis.c) */
/* Looks the names up and refuses what is not an axis expression. */
int math_axis_check(struct node *node, const char *const *names, size_t count, struct buf *err);
/* The value; overflow and division by zero are errors. */
int math_axis_value(const struct node *node, const int64_t *values, int64_t *out, struct buf *err);
/* Surely equal, for all values of the axes? */
bool math_axis_equal(const struct math_spec *spec, const struct node *a, const struct node *b);
/* "2*H - 1" */
void math_axis_format(struct buf *b, const struct math_spec *spec, const struct node *node);

/* ---- the function table (functions.c) */
enum function_kind {
	FUNCTION_REAL,		/* reals to a real: `one` or `two` */
	FUNCTION_SAME,		/* numbers to a number: integer if all are: abs sign min max clamp */
	FUNCTION_TO_INTEGER,	/* a real to an integer: `one` gives the integral value */
	FUNCTION_SATURATE,	/* a real to an integer within low..high */
	FUNCTION_ROUND_TO,	/* a real to the nearest value of `dtype` */
	FUNCTION_TEST,		/* a real to a boolean */
	FUNCTION_BITS,		/* two integers to an integer: `integers` */
	FUNCTION_INT,		/* a boolean or an integer to an integer */
	FUNCTION_TO_REAL,	/* a number to a real */
};
struct function {
	const char *name;
	enum function_kind kind;
	int min_count, max_count;
	const char *latex;	/* with #1, #2 for the arguments; NULL: \operatorname{name}(...) */
	const char *c;		/* the name in C */
	double (*one)(double);
	double (*two)(double, double);
	int64_t (*integers)(int64_t, int64_t);
	enum dtype dtype;
};
extern const struct function math_functions[];
extern const int math_function_count;
enum { FUNCTION_MAX_ARGUMENTS = 8 };
/* Number in the table, or -1. */
int math_function_find(const char *name);
int math_reduction_find(const char *name);
extern const char *const math_reduction_names[];
/* if else for in and or not div mod inf pi true false */
bool math_is_keyword(const char *name);

#endif
