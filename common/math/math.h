/* The math language: index notation that is parsed, checked, evaluated in double, and rendered.
 * The language is specified in LANGUAGE.md, whose examples are tests.
 *
 *	struct math_spec *spec = math_parse(text, length, &task, err);
 *	struct math_run *run = math_bind(spec, axis_values, inputs, &limits, err);
 *	math_evaluate(run, outputs, err);  or  math_element(run, 0, subscripts, &value, err);
 *
 * Errors in a spec begin with "LINE:COLUMN: " (from 1; columns count bytes). */
#ifndef MATH_MATH_H
#define MATH_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tensor/tensor.h"

#define MATH_LANGUAGE "kernelmosaic-math/1"
#define MATH_MAX_TEXT_BYTES 65536
#define MATH_MAX_AXES 64
#define MATH_MAX_SCALARS 64
#define MATH_MAX_TENSORS 64

/* ---- what a spec is written against: the task's interface */

struct math_axis {
	const char *name;
	bool fixed;		/* `value` holds for every workload */
	int64_t value;
	const char *expression;	/* derived from other axes; NULL: fixed, or variable (given by the workload) */
};
struct math_scalar {
	const char *name;
	enum dtype dtype;
	double real;		/* float dtypes: rounded to the dtype before use, as solve() gets it */
	int64_t integer;	/* integer dtypes and bool */
};
struct math_tensor {
	const char *name;
	enum dtype dtype;
	int rank;
	const char *shape[TENSOR_MAX_RANK];	/* axis names, or axis expressions such as "3" or "2*N" */
};
/* All borrowed; math_parse copies what it needs. */
struct math_task {
	const struct math_axis *axes;
	size_t axis_count;
	const struct math_scalar *scalars;
	size_t scalar_count;
	const struct math_tensor *inputs;
	size_t input_count;
	const struct math_tensor *outputs;
	size_t output_count;
};

/* ---- axes */

/* An axis expression: integers, the given names, + - * div mod min() max() and parentheses.
 * 0, or -1 with "LINE:COLUMN: ..." (also for overflow and division by zero). */
int math_axis_expression(const char *text, const char *const *names, const int64_t *values, size_t count,
	int64_t *out, struct buf *err);
/* All axes of a workload: `given` holds the variable ones by name, in any order; fixed and derived ones
 * are computed (derived ones in any order of declaration). Refused: a variable axis that is not given, a
 * given name that is no variable axis, a cycle, a negative value. values[axis_count] in axis order. */
struct math_given {
	const char *name;
	int64_t value;
};
int math_resolve_axes(const struct math_axis *axes, size_t axis_count, const struct math_given *given,
	size_t given_count, int64_t *values, struct buf *err);
/* The shape of a tensor when the axes have these values. 0, or -1 with a sentence. */
int math_resolve_shape(const struct math_tensor *tensor, const struct math_axis *axes, size_t axis_count,
	const int64_t *values, int64_t shape[TENSOR_MAX_RANK], struct buf *err);

/* ---- specs */

struct math_spec;
/* Parses and checks everything that does not depend on axis values: names, types, ranks, index ranges.
 * Returned owned, immutable, usable from several threads at once; or NULL with one sentence in err. */
struct math_spec *math_parse(const char *text, size_t length, const struct math_task *task, struct buf *err);
void math_free(struct math_spec *spec);

/* ---- evaluation */

struct math_limits {
	uint64_t steps;		/* 0: 4e9, which is roughly ten seconds */
	uint64_t memory_bytes;	/* outputs, intermediates and their bookkeeping; 0: 1 GiB */
};

struct math_run;
/* Fixes the axis values (as math_resolve_axes gives them, in task order) and the inputs (in task order;
 * borrowed until math_run_free; dtype and shape must be the declared ones; all elements are read where
 * they lie). One thread at a time. NULL limits: the defaults. NULL with a sentence in err. */
struct math_run *math_bind(const struct math_spec *spec, const int64_t *axis_values,
	const struct tensor *const *inputs, const struct math_limits *limits, struct buf *err);
void math_run_free(struct math_run *run);

/* All outputs, in task order: outputs[i] is set up by tensor_init (owned by the caller, and released
 * by him) with dtype float64 for float outputs, int64 for integer outputs and for bool (0 or 1).
 * Values are not rounded to the output's dtype; integers that it cannot hold are an error.
 * 0, or -1 with a sentence ("3:9: subscript 5 is outside 0..4 ..."); outputs are then empty. */
int math_evaluate(struct math_run *run, struct tensor *outputs, struct buf *err);

/* One element of one output, computing only what it needs; equal to the last bit to what
 * math_evaluate gives. Intermediate values are kept for later calls while memory lasts; every call has
 * the whole step limit. subscripts: one for each dimension. */
struct math_value {
	bool is_integer;	/* integer or bool output: `integer` holds it, and `real` its nearest double */
	double real;
	int64_t integer;
};
int math_element(struct math_run *run, size_t output, const int64_t *subscripts, struct math_value *value,
	struct buf *err);

/* What the last math_evaluate or math_element took: the same on every machine, and about 1 to 4 for each ns. */
uint64_t math_run_steps(const struct math_run *run);

#endif
