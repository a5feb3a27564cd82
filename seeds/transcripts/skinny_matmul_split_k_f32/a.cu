// Split-k product with 4 x 4 outputs for each thread: 16 threads cover a 16 x 16 tile of y, and the 8 groups of
// 16 in a block take every eighth step of the inner dimension; they are added up through shared memory at the
// end. A second kernel adds the partial results of the slices in order.
#include <stdint.h>

#define TILE 16
#define DEPTH 64
#define SLICE 512
#define GROUPS 8
#define THREADS 128
#define PITCH (TILE + 4)

__global__ void partial_products(const float *a, const float *b, float *parts, int64_t M, int64_t N, int64_t K)
{
	__shared__ __align__(16) float left[DEPTH][PITCH], right[DEPTH][PITCH];
	__shared__ float partial[GROUPS][TILE * TILE];
	int64_t i0 = (int64_t)blockIdx.z * TILE, j0 = (int64_t)blockIdx.y * TILE;
	int64_t first = (int64_t)blockIdx.x * SLICE, end = first + SLICE < K ? first + SLICE : K;
	int group = threadIdx.x / 16, row = threadIdx.x % 16 / 4 * 4, column = threadIdx.x % 4 * 4;
	float sum[4][4] = {};

	for (int64_t k0 = first; k0 < end; k0 += DEPTH) {
		for (int e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
			int64_t i = i0 + e / DEPTH, ka = k0 + e % DEPTH;
			int64_t kb = k0 + e / TILE, j = j0 + e % TILE;

			left[e % DEPTH][e / DEPTH] = i < M && ka < end ? a[i * K + ka] : 0.0f;
			right[e / TILE][e % TILE] = kb < end && j < N ? b[kb * N + j] : 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int k = group; k < DEPTH; k += GROUPS) {
			float4 p = *(const float4 *)&left[k][row], q = *(const float4 *)&right[k][column];
			float pa[4] = { p.x, p.y, p.z, p.w }, qa[4] = { q.x, q.y, q.z, q.w };

#pragma unroll
			for (int r = 0; r < 4; r++) {
#pragma unroll
				for (int c = 0; c < 4; c++)
					sum[r][c] = fmaf(pa[r], qa[c], sum[r][c]);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int r = 0; r < 4; r++) {
#pragma unroll
		for (int c = 0; c < 4; c++)
			partial[group][(row + r) * TILE + column + c] = sum[r][c];
	}
	__syncthreads();
	for (int e = threadIdx.x; e < TILE * TILE; e += THREADS) {
		int64_t i = i0 + e / TILE, j = j0 + e % TILE;
		float total = 0;

		for (int g = 0; g < GROUPS; g++)
			total += partial[g][e];
		if (i < M && j < N)
			parts[((int64_t)blockIdx.x * M + i) * N + j] = total;
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
	dim3 grid((unsigned)slices, (unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));
	float *parts;

	cudaMallocAsync((void **)&parts, slices * size * sizeof *parts, stream);
	partial_products<<<grid, THREADS, 0, stream>>>(a, b, parts, M, N, K);
	add_parts<<<(unsigned)((size + THREADS - 1) / THREADS), THREADS, 0, stream>>>(parts, y, slices, size);
	cudaFreeAsync(parts, stream);
}
