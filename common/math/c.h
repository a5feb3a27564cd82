/* A spec as one plain C function, for people who would rather read loops. */
#ifndef MATH_C_H
#define MATH_C_H

#include "math/math.h"

/* Appends a C11 file with
 *	void NAME(inputs, outputs, variable axes as int64_t)
 * in task order; float tensors are double, integer tensors int64_t, bool uint8_t, row-major; scalars are
 * constants. 0, or -1 with a sentence: a recurrence whose order is not that of its first index. */
int math_c(const struct math_spec *spec, const char *name, struct buf *out, struct buf *err);

#endif
