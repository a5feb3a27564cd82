// Split-k product: every block walks through its slice of the inner dimension 32 steps at a time, with a 16 x 16
// tile of y in registers, and writes a partial y to scratch; a second kernel adds the partial results in order.
#include <stdint.h>

#define TILE 16
#define DEPTH 32
#define SLICE 512
#define THREADS 256

__global__ void partial_products(const float *a, const float *b, float *parts, int64_t M, int64_t N, int64_t K)
{
	__shared__ float left[TILE][DEPTH + 1], right[DEPTH][TILE];
	int64_t i0 = (int64_t)blockIdx.z * TILE, j0 = (int64_t)blockIdx.y * TILE;
	int64_t first = (int64_t)blockIdx.x * SLICE, end = first + SLICE < K ? first + SLICE : K;
	int row = threadIdx.x / TILE, column = threadIdx.x % TILE;
	float sum = 0;

	for (int64_t k0 = first; k0 < end; k0 += DEPTH) {
		for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
			int64_t i = i0 + e / DEPTH, ka = k0 + e % DEPTH;
			int64_t kb = k0 + e / TILE, j = j0 + e % TILE;

			left[e / DEPTH][e % DEPTH] = i < M && ka < end ? a[i * K + ka] : 0.0f;
			right[e / TILE][e % TILE] = kb < end && j < N ? b[kb * N + j] : 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < DEPTH; k++)
			sum += left[row][k] * right[k][column];
		__syncthreads();
	}
	if (i0 + row < M && j0 + column < N)
		parts[((int64_t)blockIdx.x * M + i0 + row) * N + j0 + column] = sum;
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
	dim3 grid((unsigned)slices, (unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));
	float *parts;

	cudaMallocAsync((void **)&parts, slices * size * sizeof *parts, stream);
	partial_products<<<grid, THREADS, 0, stream>>>(a, b, parts, M, N, K);
	add_parts<<<(unsigned)((size + THREADS - 1) / THREADS), THREADS, 0, stream>>>(parts, y, slices, size);
	cudaFreeAsync(parts, stream);
}
