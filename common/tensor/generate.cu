/* The generator on a GPU: the bytes that generate.c makes, made where they are needed. Compiled to PTX when the
 * programs are; a kernel of it serves any dtype and domain, since the job is an argument. */
#include "tensor/generate_core.h"

/* Elements first to first + count of any distribution but probability, at out (the place of element `first`).
 * Any grid: a thread takes every grid-th element. */
extern "C" __global__ void
km_generate(struct generate_job job, uint64_t first, uint64_t count, uint32_t element_bytes, unsigned char *out)
{
	uint64_t stride = gridDim.x * (uint64_t)blockDim.x;

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
