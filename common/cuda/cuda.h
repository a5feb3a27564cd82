/* What the folder's parts share: the arguments of solve(), and how a step can end. */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Device addresses. Buffers and scratch lie in the arena, `__device__` and `__constant__` variables in the
 * symbol region; each region is CUDA_REGION_BYTES long and starts at a fixed address. */
#define CUDA_ARENA 0x300000000000ull
#define CUDA_SYMBOLS 0x310000000000ull
#define CUDA_REGION_BYTES (64ull << 30)
/* Every buffer has regions of its own of this many bytes (the mapping granularity of a GPU) with an unmapped
 * one after it. It starts on a multiple of CUDA_ALIGNMENT as near to the end of its regions as that allows. */
#define CUDA_GRANULE (2ull << 20)
#define CUDA_ALIGNMENT 256

enum {
	CUDA_MAX_ARGUMENTS = 96,
	CUDA_MAX_PARAMETER_BYTES = 32764,	/* of one kernel: the limit of sm_70 and later since CUDA 12.1 */
	CUDA_MAX_SOURCE_BYTES = 1 << 20,
	CUDA_LOG_BYTES = 4096,
};

/* How a build or a recording ended. The first is success; the last is our failure, never the candidate's. */
enum cuda_verdict {
	CUDA_OK,
	CUDA_COMPILE_ERROR,
	CUDA_RUNTIME_ERROR,
	CUDA_TIMEOUT,
	CUDA_UNSUPPORTED,
	CUDA_SUSPICIOUS,
	CUDA_INFRASTRUCTURE,
};
/* "PASSED" for CUDA_OK, else the status of the record ("COMPILE_ERROR", ...) or "INFRASTRUCTURE". Static. */
const char *cuda_verdict_name(enum cuda_verdict verdict);

enum cuda_argument_kind {
	CUDA_INPUT,	/* const T *: device memory that must not be written */
	CUDA_OUTPUT,	/* T *: device memory */
	CUDA_SCALAR,	/* T by value; a variable axis is one of dtype int64 */
};

/* One argument of solve(), in order; the stream, always last, is not listed. */
struct cuda_argument {
	enum cuda_argument_kind kind;
	const char *name;	/* borrowed */
	const char *dtype;	/* float64 float32 float16 bfloat16 int64 int32 uint8 bool; borrowed */
	uint64_t bytes;		/* inputs and outputs: size of the buffer, 0 allowed; unused by the prototype */
	uint64_t bits;		/* scalars: the value as its C type lies in memory, low bytes first */
};

/* "extern \"C\" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)".
 * 0, or -1 with a sentence (unknown dtype, a name that is no identifier, too many arguments). */
int cuda_prototype(const struct cuda_argument *arguments, int count, struct buf *out, struct buf *err);
/* The header that every solution is compiled with: includes, the prototype, and the entry through which the
 * recorder calls it: void kernelmosaic_call(void **arguments). Same errors. */
int cuda_prelude(const struct cuda_argument *arguments, int count, struct buf *out, struct buf *err);

#endif
