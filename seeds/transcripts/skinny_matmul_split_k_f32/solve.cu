// Split-k product: every block stages a slice of SLICE columns of a and rows of b in dynamic shared memory and
// writes a partial y to scratch; a second kernel adds the partial results in order.
#include <stdint.h>

#define SLICE 1024
#define THREADS 256

__global__ void partial_products(const float *a, const float *b, float *parts, int64_t M, int64_t N, int64_t K)
{
	extern __shared__ float staged[];
	float *left = staged, *right = staged + M * SLICE;
	int64_t k0 = (int64_t)blockIdx.x * SLICE;
	int64_t depth = K - k0 < SLICE ? K - k0 : SLICE;

	for (int64_t e = threadIdx.x; e < M * depth; e += THREADS)
		left[e / depth * SLICE + e % depth] = a[e / depth * K + k0 + e % depth];
	for (int64_t e = threadIdx.x; e < depth * N; e += THREADS)
		right[e] = b[k0 * N + e];
	__syncthreads();
	for (int64_t at = threadIdx.x; at < M * N; at += THREADS) {
		int64_t i = at / N, j = at % N;
		float sum = 0;

		for (int64_t k = 0; k < depth; k++)
			sum += left[i * SLICE + k] * right[k * N + j];
		parts[blockIdx.x * M * N + at] = sum;
	}
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
	float *parts;

	cudaMallocAsync((void **)&parts, slices * size * sizeof *parts, stream);
	partial_products<<<(unsigned)slices, THREADS, (M + N) * SLICE * sizeof(float), stream>>>(a, b, parts, M, N, K);
	add_parts<<<(unsigned)((size + THREADS - 1) / THREADS), THREADS, 0, stream>>>(parts, y, slices, size);
	cudaFreeAsync(parts, stream);
}
