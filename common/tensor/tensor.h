/* A named, dense, row-major tensor in memory of its own. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tensor/dtype.h"

#define TENSOR_MAX_RANK 8
#define TENSOR_MAX_NAME 128
#define TENSOR_MAX_ELEMENTS ((int64_t)1 << 36)
#define TENSOR_MAX_BYTES ((uint64_t)64 << 30)

struct tensor {
	char name[TENSOR_MAX_NAME];	/* NUL-terminated */
	enum dtype dtype;
	int rank;			/* 0: one element */
	int64_t shape[TENSOR_MAX_RANK];	/* elements; 0 is allowed and makes the tensor empty */
	void *data;			/* owned, row-major; never NULL after tensor_init, even when empty */
	uint64_t bytes;			/* elements times dtype_bytes */
};
#define TENSOR_INIT { .data = NULL }

/* Elements and bytes of a shape, without overflow. 0, or -1: rank over 8, a negative extent, or more
 * than TENSOR_MAX_ELEMENTS or TENSOR_MAX_BYTES. Either result may be NULL. */
int tensor_size(enum dtype dtype, int rank, const int64_t *shape, int64_t *elements, uint64_t *bytes,
	struct buf *err);

/* A new tensor of zeros. `name` and `shape` are borrowed. 0, or -1 with a sentence (tensor_size's
 * reasons, a name that is too long, no memory); *t is then empty and safe to release. */
int tensor_init(struct tensor *t, const char *name, enum dtype dtype, int rank, const int64_t *shape,
	struct buf *err);
/* Frees data and leaves an empty tensor. */
void tensor_release(struct tensor *t);

int64_t tensor_elements(const struct tensor *t);
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);

/* Element by row-major number, which must be below tensor_elements. */
double tensor_get(const struct tensor *t, int64_t element);
int64_t tensor_get_integer(const struct tensor *t, int64_t element);
void tensor_set(struct tensor *t, int64_t element, double value);
void tensor_set_integer(struct tensor *t, int64_t element, int64_t value);

/* Row-major number to one subscript for each dimension, and back. */
void tensor_subscripts(int rank, const int64_t *shape, int64_t element, int64_t *subscripts);
int64_t tensor_element(int rank, const int64_t *shape, const int64_t *subscripts);
/* Appends "[2, 3]". */
void tensor_format_shape(struct buf *b, int rank, const int64_t *shape);

#endif
