/* The functions of the CUDA runtime and what the stand-in makes of each, for documentation and tests. */
#ifndef CUDA_FUNCTIONS_H
#define CUDA_FUNCTIONS_H

#include "base/buf.h"

struct cuda_function {
	const char *name;
	const char *in_solution;	/* "recorded", "answered", "accepted", "refused" */
	const char *in_program;		/* "done" in place of "recorded" */
	const char *reason;		/* of the refusal, NULL when there is none */
};

/* In the order of their names. Borrowed. */
const struct cuda_function *cuda_functions(size_t *count);
/* The text of RUNTIME.md. */
void cuda_functions_write(struct buf *out);

#endif
