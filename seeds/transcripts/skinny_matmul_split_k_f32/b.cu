// Split-k product without shared memory: every thread makes one output of one slice, straight from global
// memory; a second kernel adds the partial results in order.
#include <stdint.h>

#define SLICE 256
#define THREADS 256

__global__ void partial_products(const float *a, const float *b, float *parts, int64_t M, int64_t N, int64_t K)
{
	int64_t at = (int64_t)blockIdx.y * THREADS + threadIdx.x;
	int64_t first = (int64_t)blockIdx.x * SLICE, end = first + SLICE < K ? first + SLICE : K;
	float sum = 0;

	if (at >= M * N)
		return;
	for (int64_t k = first; k < end; k++)
		sum += a[at / N * K + k] * b[k * N + at % N];
	parts[(int64_t)blockIdx.x * M * N + at] = sum;
}

__global__ void add_parts(const float *parts, float *y, int64_t slices, int64_t size)
{
	int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	float sum = 0;

	if (at >= size)
		return;
	for (int64_t s = 0; s < slices; s++)
		sum += parts[s * size + at];
	y[at] = sum;
}

extern "C" void solve(const float *a, const float *b, float *y, int64_t M, int64_t N, int64_t K, cudaStream_t stream)
{
	int64_t slices = (K + SLICE - 1) / SLICE, size = M * N;
	unsigned blocks = (unsigned)((size + THREADS - 1) / THREADS);
	float *parts;

	cudaMallocAsync((void **)&parts, slices * size * sizeof *parts, stream);
	partial_products<<<dim3((unsigned)slices, blocks), THREADS, 0, stream>>>(a, b, parts, M, N, K);
	add_parts<<<blocks, THREADS, 0, stream>>>(parts, y, slices, size);
	cudaFreeAsync(parts, stream);
}
