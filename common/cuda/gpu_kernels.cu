/* The worker's own kernels. They fill, check, compare and flush; none holds anything that a candidate could use.
 * All counts are 64 bits wide: a tensor may have more than 2^32 elements. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "tensor/generate.cu"

static __device__ uint64_t
first(void)
{
	return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
}

static __device__ uint64_t
stride(void)
{
	return gridDim.x * (uint64_t)blockDim.x;
}

extern "C" __global__ void
km_empty(void)
{
}

/* The known-good kernel of the health probe: integer and float work, shared memory and a barrier. */
extern "C" __global__ void
km_probe(const uint32_t *in, uint32_t *out, uint32_t n)
{
	__shared__ uint32_t turned[256];
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	turned[threadIdx.x] = i < n ? in[i] * 2654435761u : 0;
	__syncthreads();
	if (i < n)
		out[i] = turned[blockDim.x - 1 - threadIdx.x] + (uint32_t)fmaf((float)threadIdx.x, 3.0f, 1.0f);
}

/* Counts bytes that are not `value`. */
extern "C" __global__ void
km_count_other(const uint8_t *bytes, uint64_t n, uint32_t value, unsigned long long *count)
{
	for (uint64_t i = first(); i < n; i += stride())
		if (bytes[i] != (uint8_t)value)
			atomicAdd(count, 1ull);
}

/* Fills the whole shared memory of the multiprocessor that runs the block; launched with all of it. */
extern "C" __global__ void
km_scrub(uint32_t words, uint32_t pattern)
{
	extern __shared__ uint32_t shared[];

	for (uint32_t i = threadIdx.x; i < words; i += blockDim.x)
		((volatile uint32_t *)shared)[i] = pattern;
}

extern "C" __global__ void
km_write(uint4 *memory, uint64_t n, uint32_t value)
{
	for (uint64_t i = first(); i < n; i += stride())
		memory[i] = make_uint4(value, value, value, value);
}

extern "C" __global__ void
km_read(const uint4 *memory, uint64_t n, uint32_t *out)
{
	uint32_t sum = 0;

	for (uint64_t i = first(); i < n; i += stride()) {
		uint4 v = memory[i];
		sum += v.x ^ v.y ^ v.z ^ v.w;
	}
	if (sum == 0x9e3779b9u)
		*out = sum;
}

extern "C" __global__ void
km_copy(const uint4 *from, uint4 *to, uint64_t n)
{
	for (uint64_t i = first(); i < n; i += stride())
		to[i] = from[i];
}

/* Keeps the stream busy while the host queues what comes next. */
extern "C" __global__ void
km_spin(uint64_t nanoseconds)
{
	uint64_t begin, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - begin < nanoseconds);
}

/* Ticks of the multiprocessor's clock, and the nanoseconds that they took. */
extern "C" __global__ void
km_rate(uint64_t nanoseconds, uint64_t *figures)
{
	uint64_t begin, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	int64_t ticks = clock64();
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - begin < nanoseconds);
	if (threadIdx.x == 0) {
		figures[0] = (uint64_t)(clock64() - ticks);
		figures[1] = now - begin;
	}
}

/* ---- comparison by the rules of tensor/compare.h, everything in double or in exact integers */

struct comparison {
	unsigned long long mismatched, first;	/* first: smallest element number */
	unsigned long long absolute_bits, relative_bits;	/* of doubles that are not negative: ordered as integers */
};

enum { FLOAT64, FLOAT32, FLOAT16, BFLOAT16, INT64, INT32, UINT8, BOOL };	/* as enum dtype */

static __device__ double
load_float(int dtype, const void *tensor, uint64_t i)
{
	switch (dtype) {
	case FLOAT64: return ((const double *)tensor)[i];
	case FLOAT32: return ((const float *)tensor)[i];
	case FLOAT16: return __half2float(((const __half *)tensor)[i]);
	default: return __bfloat162float(((const __nv_bfloat16 *)tensor)[i]);
	}
}

static __device__ int64_t
load_integer(int dtype, const void *tensor, uint64_t i)
{
	switch (dtype) {
	case INT64: return ((const int64_t *)tensor)[i];
	case INT32: return ((const int32_t *)tensor)[i];
	default: return ((const uint8_t *)tensor)[i];
	}
}

static __device__ bool
floats_differ(double got, double want, double rtol, double atol, double *absolute, double *relative)
{
	if (isnan(got) || isnan(want))
		return isnan(got) != isnan(want);
	if (isinf(got) || isinf(want))
		return got != want;
	double error = fabs(got - want);
	*absolute = fmax(*absolute, error);
	if (want != 0)
		*relative = fmax(*relative, error / fabs(want));
	return !(error <= atol + rtol * fabs(want));
}

extern "C" __global__ void
km_compare(const void *got, const void *want, uint64_t n, int dtype, double rtol, double atol, struct comparison *result)
{
	__shared__ struct comparison block;
	double absolute = 0, relative = 0;

	if (threadIdx.x == 0) {
		block.mismatched = block.absolute_bits = block.relative_bits = 0;
		block.first = ~0ull;
	}
	__syncthreads();
	for (uint64_t i = first(); i < n; i += stride()) {
		bool differ = dtype >= INT64 ? load_integer(dtype, got, i) != load_integer(dtype, want, i) :
			floats_differ(load_float(dtype, got, i), load_float(dtype, want, i), rtol, atol, &absolute,
				&relative);
		if (differ) {
			atomicAdd(&block.mismatched, 1ull);
			atomicMin(&block.first, (unsigned long long)i);
		}
	}
	atomicMax(&block.absolute_bits, (unsigned long long)__double_as_longlong(absolute));
	atomicMax(&block.relative_bits, (unsigned long long)__double_as_longlong(relative));
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(&result->mismatched, block.mismatched);
		atomicMin(&result->first, block.first);
		atomicMax(&result->absolute_bits, block.absolute_bits);
		atomicMax(&result->relative_bits, block.relative_bits);
	}
}

/* Elements by number, for the judge: element_bytes is 1, 2, 4 or 8. */
extern "C" __global__ void
km_gather(const uint8_t *tensor, const uint64_t *number, uint64_t n, uint32_t element_bytes, uint8_t *out)
{
	for (uint64_t i = first(); i < n; i += stride())
		for (uint32_t b = 0; b < element_bytes; b++)
			out[i * element_bytes + b] = tensor[number[i] * element_bytes + b];
}
