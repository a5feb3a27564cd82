/* A spec as LaTeX, for prompts. */
#ifndef MATH_LATEX_H
#define MATH_LATEX_H

#include "math/math.h"

/* Appends an `aligned` environment with one equation for each definition (without $$ around it), ranges
 * spelled out as \sum_{j=0}^{D-1} and "for 0 <= i < N", choices as cases, followed by a note for each
 * tensor that is read outside its range. */
void math_latex(const struct math_spec *spec, struct buf *out);
/* What math_latex wrote, as Markdown: the equations between $$, the notes behind them as text of their own, since
 * they hold $ themselves. Appends; ends with an empty line. */
void math_latex_markdown(const char *latex, struct buf *out);

#endif
