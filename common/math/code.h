/* Inside of the C renderer: expressions (code.c) for the function around them (c.c). */
#ifndef MATH_CODE_H
#define MATH_CODE_H

#include "math/spec.h"

struct coder {
	const struct math_spec *spec;
	const struct definition *definition;
	struct buf *body;		/* statements go here */
	int indent;
	int temporaries;
	bool wide[MATH_MAX_TENSORS + MATH_MAX_DEFINITIONS];	/* an output kept in double until the end */
	bool saturates, rounds_half, rounds_bfloat16, divides, powers, picks, sigmoid, rsqrt, shifts;
};

/* A name of the spec as one of C: a name of ours ends in '_', and one of the spec that does so gets one more. */
void code_name(struct buf *b, const char *name);
/* The tensor's array: its own name, or that of its copy in double. */
void code_tensor_name(struct coder *c, struct buf *b, int tensor);
const char *code_type(enum math_type type);
/* How a tensor of the task is passed. */
const char *code_passed_type(enum dtype dtype);
/* One statement, indented. */
void code_line(struct coder *c, const char *text);
/* The text without brackets around the whole of it. */
void code_stripped(struct buf *out, const struct buf *text);
void code_axis_expression(struct coder *c, const struct node *node, struct buf *out);
/* Row-major offset of the subscripts. */
void code_offset(struct coder *c, int tensor, struct buf *subscripts, int rank, struct buf *out);
/* The node's value as `type` into out, and into the body the statements that it needs first. 0 or -1. */
int code_expression(struct coder *c, const struct node *node, enum math_type type, struct buf *out);

#endif
