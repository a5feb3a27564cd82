/* A spec as LaTeX, for prompts. */
#ifndef MATH_LATEX_H
#define MATH_LATEX_H

#include "math/math.h"

/* Appends an `aligned` environment with one equation for each definition (without $$ around it), ranges
 * spelled out as \sum_{j=0}^{D-1} and "for 0 <= i < N", choices as cases, followed by a note for each
 * tensor that is read outside its range. */
void math_latex(const struct math_spec *spec, struct buf *out);

#endif
