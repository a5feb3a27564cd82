/* Tensors as files in the safetensors format: 8 bytes of header length (little-endian), a JSON header
 * {"name": {"dtype", "shape", "data_offsets"}}, then the data. Source of the format:
 * https://huggingface.co/docs/safetensors (its limit of 100 MB for the header is narrowed here). */
#ifndef TENSOR_SAFETENSORS_H
#define TENSOR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tensor/tensor.h"

#define SAFETENSORS_MAX_HEADER_BYTES ((uint64_t)1 << 20)
#define SAFETENSORS_MAX_TENSORS 1024

struct safetensors {
	struct tensor *tensors;	/* owned, sorted by name in byte order */
	size_t count;
};
#define SAFETENSORS_INIT { NULL, 0 }

/* Reads hostile bytes. Refused: anything that is not exactly the format (unknown dtypes, offsets that
 * overlap, leave gaps, pass the end or disagree with the shape, duplicate names). "__metadata__" is
 * checked and dropped. 0 and *out owned by the caller, or -1 with a sentence and *out empty. */
int safetensors_parse(const void *bytes, size_t size, struct safetensors *out, struct buf *err);
/* The same from a file of at most max_bytes. */
int safetensors_read(const char *path, uint64_t max_bytes, struct safetensors *out, struct buf *err);

/* The bytes depend on the tensors alone: data sorted by descending alignment, then by name, header
 * padded with spaces to 8 bytes. Names must be distinct. Tensors are borrowed. 0 or -1 with a sentence. */
int safetensors_format(const struct tensor *tensors, size_t count, struct buf *out, struct buf *err);
/* The same into a file, whole or not at all. */
int safetensors_write(const char *path, const struct tensor *tensors, size_t count, struct buf *err);

/* Borrowed, or NULL. */
const struct tensor *safetensors_find(const struct safetensors *s, const char *name);
void safetensors_release(struct safetensors *s);

#endif
