/* The generator on a GPU: the bytes that generate.c makes, made where they are needed. Compiled to PTX when the
 * programs are; a kernel of it serves any dtype and domain, since the job is an argument. */
#include "tensor/generate_core.h"

enum { SUPERBLOCK = 1 << CORE_SUPERBLOCK_BITS, SHORTEST_SEGMENT = 7, MOST_SEGMENTS = SUPERBLOCK / SHORTEST_SEGMENT + 1 };

/* A block to a superblock: what all elements of a segment share is drawn once. */
static __device__ void
generate_segments(const struct generate_job *job, uint64_t first, uint64_t count, uint32_t element_bytes, unsigned char *out)
{
	__shared__ struct core_words words[MOST_SEGMENTS];
	uint64_t end = first + count;

	for (uint64_t s = (first >> CORE_SUPERBLOCK_BITS) + blockIdx.x; s << CORE_SUPERBLOCK_BITS < end; s += gridDim.x) {
		uint64_t start = s << CORE_SUPERBLOCK_BITS;
		uint32_t length = core_segment_length(job, s), segments = (SUPERBLOCK + length - 1) / length;
		uint32_t from = first > start ? (uint32_t)(first - start) : 0;
		uint32_t to = end - start < SUPERBLOCK ? (uint32_t)(end - start) : SUPERBLOCK;

		__syncthreads();
		for (uint32_t k = threadIdx.x; k < segments; k += blockDim.x)
			words[k] = core_block(job, start + k * length, DRAW_SEGMENT);
		__syncthreads();
		for (uint32_t k = from + threadIdx.x; k < to; k += blockDim.x) {
			struct core_place place = core_place_in_segment(job, start + k, k % length, length, words[k / length]);
			generate_core_placed(job, start + k, &place, out + (start + k - first) * element_bytes);
		}
	}
}

/* Elements first to first + count of any distribution but probability, at out (the place of element `first`).
 * Any grid: a block takes every grid-th superblock, or a thread every grid-th element. */
extern "C" __global__ void
km_generate(struct generate_job job, uint64_t first, uint64_t count, uint32_t element_bytes, unsigned char *out)
{
	uint64_t stride = gridDim.x * (uint64_t)blockDim.x;

	if (core_has_segments(&job)) {
		if (count)
			generate_segments(&job, first, count, element_bytes, out);
		return;
	}
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count; i += stride)
		generate_core_element(&job, first + i, 0, out + i * element_bytes);
}

/* Whole rows of probabilities from row `first` on, a block to a row: the sum is one of integers, so its order is
 * of no account. */
extern "C" __global__ void
km_generate_rows(struct generate_job job, uint64_t first, uint64_t rows, uint32_t element_bytes, unsigned char *out)
{
	__shared__ unsigned long long total;

	for (uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		uint64_t start = (first + row) * job.extent;
		unsigned long long mine = 0;

		__syncthreads();
		if (threadIdx.x == 0)
			total = 0;
		__syncthreads();
		for (uint64_t j = threadIdx.x; j < job.extent; j += blockDim.x)
			mine += core_weight(&job, start + j);
		atomicAdd(&total, mine);
		__syncthreads();
		for (uint64_t j = threadIdx.x; j < job.extent; j += blockDim.x)
			generate_core_element(&job, start + j, total, out + (row * job.extent + j) * element_bytes);
	}
}
