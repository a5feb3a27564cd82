/* A spec as one plain C function, for people who would rather read loops, and as a second opinion. */
#ifndef MATH_C_H
#define MATH_C_H

#include "math/math.h"

/* Appends a C11 file with
 *	void NAME(inputs, outputs, variable axes as int64_t, scalars)
 * in task order, row-major. Tensors and scalars of float16 and bfloat16 are float, all others their own C
 * type. Arithmetic is in double, as in math_evaluate; only outputs are rounded. Subscripts are not checked.
 * 0, or -1 with a sentence: a recurrence that is not the order of plain loops. */
int math_c(const struct math_spec *spec, const char *name, struct buf *out, struct buf *err);

#endif
