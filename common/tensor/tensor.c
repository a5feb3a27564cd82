/*
 * Tensors: comes in a dtype and a shape, goes out zeroed memory of the right size.
 * Shapes come from outside, so every product is checked before it is used.
 */
#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int
tensor_size(enum dtype dtype, int rank, const int64_t *shape, int64_t *elements, uint64_t *bytes,
	struct buf *err)
{
	int64_t count = 1;
	bool empty = false;

	if (rank < 0 || rank > TENSOR_MAX_RANK)
		return buf_err(err, "A tensor has %d dimensions, at most %d are supported.", rank,
			TENSOR_MAX_RANK);
	for (int d = 0; d < rank; d++) {
		if (shape[d] < 0)
			return buf_err(err, "Dimension %d of a tensor is negative: %" PRId64 ".", d, shape[d]);
		empty |= shape[d] == 0;
	}
	for (int d = 0; d < rank && !empty; d++)
		if (__builtin_mul_overflow(count, shape[d], &count) || count > TENSOR_MAX_ELEMENTS)
			return buf_err(err, "A tensor has more than %" PRId64 " elements.", TENSOR_MAX_ELEMENTS);
	if (empty)
		count = 0;
	if ((uint64_t)count > TENSOR_MAX_BYTES / dtype_bytes(dtype))
		return buf_err(err, "A tensor has more than %" PRIu64 " bytes.", TENSOR_MAX_BYTES);
	if (elements)
		*elements = count;
	if (bytes)
		*bytes = (uint64_t)count * dtype_bytes(dtype);
	return 0;
}

int
tensor_init(struct tensor *t, const char *name, enum dtype dtype, int rank, const int64_t *shape, struct buf *err)
{
	size_t length = strlen(name);

	memset(t, 0, sizeof *t);
	if (length >= TENSOR_MAX_NAME)
		return buf_err(err, "A tensor's name has %zu bytes, at most %d are supported.", length,
			TENSOR_MAX_NAME - 1);
	if (tensor_size(dtype, rank, shape, NULL, &t->bytes, err))
		goto fail;
	/* calloc, not xcalloc: a tensor that does not fit is the record's fault, not the end of the run. */
	t->data = calloc(1, t->bytes ? t->bytes : 1);
	if (!t->data) {
		buf_err(err, "There is no memory for the %" PRIu64 " bytes of tensor '%s'.", t->bytes, name);
		goto fail;
	}
	memcpy(t->name, name, length + 1);
	t->dtype = dtype;
	t->rank = rank;
	for (int d = 0; d < rank; d++)
		t->shape[d] = shape[d];
	return 0;
fail:
	memset(t, 0, sizeof *t);
	return -1;
}

void
tensor_release(struct tensor *t)
{
	free(t->data);
	memset(t, 0, sizeof *t);
}

int64_t
tensor_elements(const struct tensor *t)
{
	return (int64_t)(t->bytes / dtype_bytes(t->dtype));
}

bool
tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->rank == b->rank && memcmp(a->shape, b->shape, (size_t)a->rank * sizeof a->shape[0]) == 0;
}

static void *
at(const struct tensor *t, int64_t element)
{
	return (char *)t->data + (size_t)element * dtype_bytes(t->dtype);
}

double
tensor_get(const struct tensor *t, int64_t element)
{
	return dtype_load(t->dtype, at(t, element));
}

int64_t
tensor_get_integer(const struct tensor *t, int64_t element)
{
	return dtype_load_integer(t->dtype, at(t, element));
}

void
tensor_set(struct tensor *t, int64_t element, double value)
{
	dtype_store(t->dtype, at(t, element), value);
}

void
tensor_set_integer(struct tensor *t, int64_t element, int64_t value)
{
	dtype_store_integer(t->dtype, at(t, element), value);
}

void
tensor_subscripts(int rank, const int64_t *shape, int64_t element, int64_t *subscripts)
{
	for (int d = rank; d-- > 0;) {
		subscripts[d] = element % shape[d];
		element /= shape[d];
	}
}

int64_t
tensor_element(int rank, const int64_t *shape, const int64_t *subscripts)
{
	int64_t element = 0;

	for (int d = 0; d < rank; d++)
		element = element * shape[d] + subscripts[d];
	return element;
}

void
tensor_format_shape(struct buf *b, int rank, const int64_t *shape)
{
	buf_addc(b, '[');
	for (int d = 0; d < rank; d++)
		buf_addf(b, "%s%" PRId64, d ? ", " : "", shape[d]);
	buf_addc(b, ']');
}
