/* Types of a spec: boolean, integer, real. */
#ifndef MATH_TYPES_H
#define MATH_TYPES_H

#include "math/spec.h"

/* Gives every node and every definition its type. 0, or -1 with "LINE:COLUMN: ...". */
int math_infer_types(struct math_spec *spec, struct buf *err);

#endif
