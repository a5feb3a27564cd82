/* Inside of evaluation: a spec bound to axis values and inputs, as bind.c makes it and eval.c runs it.
 *
 * The machine evaluates one expression for up to MATH_LANES values of one index at a time (the vector
 * index of a frame); an expression that does not depend on it is evaluated once. Where only some lanes
 * need a value (if, and, or, guards, pad values), the lanes are packed into a shorter frame, so that what
 * the language promises not to evaluate is not evaluated. */
#ifndef MATH_PLAN_H
#define MATH_PLAN_H

#include "math/spec.h"

#define MATH_LANES 256

/* A real, an integer, or a boolean as 0 or 1. */
union lane {
	double real;
	int64_t integer;
};

struct term {
	int variable;
	int64_t coefficient;
};

/* constant + sum of terms, or, when op is not NULL, that. */
struct subscript {
	struct op *op;
	int64_t constant;
	struct term *terms;
	int term_count;
};

struct bind_op {
	int variable;
	struct op *low, *high;
};

struct op {
	enum node_kind kind;		/* axes and scalars have become constants */
	enum math_type type;
	uint64_t variables;
	int line, column;
	union lane value;		/* constants */
	int number;			/* NODE_INDEX: the variable; NODE_REDUCE: the reduction */
	struct op **children;
	int count;
	enum comparison *comparisons;
	enum math_type compared;
	const struct function *function;
	struct store *store;		/* NODE_ACCESS */
	struct subscript *subscripts;
	bool affine;			/* all subscripts are */
	struct op *pad;
	struct bind_op *binds;		/* NODE_REDUCE */
	int bind_count;
	struct op *guard;
	uint64_t range_variables;	/* that the ranges depend on */
	int64_t last_extent;		/* of the last bind, -1 if it varies */
};

enum state { STATE_EMPTY, STATE_BUSY, STATE_PENDING, STATE_DONE };

/* Values of a definition computed one by one: offset to value, open addressing. */
struct memo {
	int64_t *keys;			/* -1: free */
	union lane *values;
	unsigned char *states;
	size_t count, capacity;
};

/* Where an input or a definition has its elements. */
struct store {
	const char *name;
	enum math_type type;
	enum dtype dtype;		/* of data */
	int rank;
	int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], elements;
	const void *data;		/* NULL: elements live in the memo */
	unsigned char *states;		/* a recurrence being evaluated as a whole: state of each element */
	struct memo memo;
	const struct definition *definition;	/* NULL: an input */
	struct op *body;
	int output;
};

struct request {
	struct store *store;
	int64_t offset;
};

struct math_run {
	const struct math_spec *spec;
	struct arena arena;
	struct store *stores;		/* by tensor number */
	uint64_t step_limit, memory_limit;
	uint64_t steps, memory;
	bool starved;			/* the memory limit was met */
	union lane *scratch;
	size_t scratch_used;
	int depth;
	struct request need;		/* why eval gave EVAL_NEEDS */
	struct request *pending;
	size_t pending_count, pending_capacity;
	struct buf *err;
};

struct frame {
	int64_t *env;			/* values of the definition's indices */
	int vector;			/* the index whose value differs by lane, -1: none, and one lane */
	int lanes;
	int64_t first;			/* lane i has first + i, unless `lane` lists the values */
	const int64_t *lane;
};

/* EVAL_NEEDS: run->need must be computed first, from an empty stack; then try again. */
enum { EVAL_OK = 0, EVAL_FAILED = -1, EVAL_NEEDS = 1 };
enum { EVAL_MAX_DEPTH = 1500, EVAL_SCRATCH_LANES = 4 << 20 };

/* ---- eval.c */
/* The op's value in every lane, in the op's own type, or as reals. */
int math_eval(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out);
int math_eval_as(struct math_run *run, const struct op *op, enum math_type type, const struct frame *frame,
	union lane *out);
int math_fail(struct math_run *run, const struct op *op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Adds what one op costs in so many lanes; past the limit it fails. */
int math_count_steps(struct math_run *run, const struct op *op, int lanes);
/* Room for lanes, given back when the calling op's math_eval returns; NULL fails the evaluation. */
union lane *math_take(struct math_run *run, size_t lanes);
int *math_take_numbers(struct math_run *run, size_t count);
/* frame with only the lanes of select[0..count), which ascend. */
int math_pack(struct math_run *run, const struct frame *frame, const int *select, int count, struct frame *out);

static inline int64_t
frame_lane(const struct frame *frame, int lane)
{
	return frame->lane ? frame->lane[lane] : frame->first + lane;
}

/* Is the op's value the same in all lanes? */
static inline bool
frame_uniform(const struct frame *frame, const struct op *op)
{
	return frame->vector < 0 || !(op->variables >> frame->vector & 1);
}

static inline struct frame
frame_one(const struct frame *frame)
{
	return (struct frame){ frame->env, -1, 1, 0, NULL };
}

/* ---- access.c, reduce.c: the two large operations */
int math_eval_access(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out);
int math_eval_reduce(struct math_run *run, const struct op *op, const struct frame *frame, union lane *out);

/* ---- store.c: elements of definitions, computed when they are needed */
/* The elements at these offsets, which are within the store. */
int math_fetch(struct math_run *run, struct store *store, const int64_t *offsets, int count, union lane *out);
/* The same for offset, offset + step, ...; data is there. */
void math_load(const struct store *store, int64_t offset, int64_t step, int count, union lane *out);
/* One element from an empty stack, however deep its dependencies are. */
int math_compute(struct math_run *run, struct store *store, int64_t offset, union lane *out);
/* Appends "LINE:COLUMN: name[1, 2]" of an element of a definition to the run's sentence, if it keeps one. */
void math_name_element(struct math_run *run, const struct store *store, int64_t offset);
void math_memo_release(struct math_run *run, struct memo *memo);
int math_take_memory(struct math_run *run, uint64_t bytes);

#endif
