/* What a task is made of, as a set: cheap to compare, and explainable. */
#ifndef DIVERSIFY_FEATURES_H
#define DIVERSIFY_FEATURES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct features {
	uint32_t *hash;		/* sorted, without repeats */
	size_t count;
};

/* op_type/dtype/forms: the dtype of the first output, forms in their fixed order joined by '+'. Appends. */
void features_cell(const json_t *task, struct buf *out);
/* Tags, tensors, functions that are called, rough sizes. The hashes are returned owned. */
struct features features_of(const json_t *task);
/* 1 - shared/all: 0 for equal sets, 1 for sets that share nothing. */
double features_distance(const struct features *a, const struct features *b);

#endif
