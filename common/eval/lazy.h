/* Inputs that exist only where somebody looks: for an oracle that is asked for a few elements of large outputs. */
#ifndef EVAL_LAZY_H
#define EVAL_LAZY_H

#include "tensor/generate.h"
#include "tensor/tensor.h"

struct lazy;

/* What is done to each element: tolerance_changed, into tensors whose floats are all float64. */
struct lazy_change {
	double step;
	uint32_t draw;
};

/* Makes tensors[count] (names, dtypes, shapes given; data is set here and goes with the lazy) whose pages are generated
 * at the first touch, by jobs[i], and changed (NULL: not). NULL with a sentence where that cannot be had: this kernel has
 * no userfaultfd, or a distribution needs whole rows. Returned owned. */
struct lazy *lazy_open(struct tensor *tensors, const struct generate_job *jobs, int count,
	const struct lazy_change *change, struct buf *err);
/* How many bytes were made. */
uint64_t lazy_made_bytes(const struct lazy *lazy);
void lazy_close(struct lazy *lazy);

#endif
