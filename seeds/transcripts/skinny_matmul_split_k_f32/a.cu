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

__global__ void partial_products(const float *a, const float *b, float *parts, int M, int N, int64_t K)
{
	__shared__ __align__(16) float left[DEPTH][PITCH], right[DEPTH][PITCH];
	__shared__ float partial[GROUPS][TILE * TILE];
	int i0 = blockIdx.z * TILE, j0 = blockIdx.y * TILE, rows = min(TILE, M - i0);
	int64_t first = (int64_t)blockIdx.x * SLICE, end = first + SLICE < K ? first + SLICE : K;
	int group = threadIdx.x / 16, row = threadIdx.x % 16 / 4 * 4, column = threadIdx.x % 4 * 4;
	// while staging: one step and every second row of a, one column and every eighth step of b
	int step = threadIdx.x % DEPTH, half = threadIdx.x / DEPTH;
	int j = threadIdx.x % TILE, eighth = threadIdx.x / TILE;
	bool in_columns = j0 + j < N;
	float sum[4][4] = {};

	for (int64_t k0 = first; k0 < end; k0 += DEPTH) {
		int depth = end - k0 < DEPTH ? (int)(end - k0) : DEPTH;
		const float *from = a + (i0 + half) * K + k0 + step, *under = b + (k0 + eighth) * N + j0 + j;

#pragma unroll
		for (int i = 0; i < TILE; i += 2, from += 2 * K)
			left[step][i + half] = i + half < rows && step < depth ? *from : 0.0f;
#pragma unroll
		for (int k = 0; k < DEPTH; k += 8, under += 8 * N)
			right[k + eighth][j] = in_columns && k + eighth < depth ? *under : 0.0f;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < DEPTH; k += GROUPS) {
			float4 p = *(const float4 *)&left[k + group][row], q = *(const float4 *)&right[k + group][column];
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
		float total = 0;

#pragma unroll
		for (int g = 0; g < GROUPS; g++)
			total += partial[g][e];
		if (e / TILE < rows && j0 + e % TILE < N)
			parts[((int64_t)blockIdx.x * M + i0 + e / TILE) * N + j0 + e % TILE] = total;
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
	partial_products<<<grid, THREADS, 0, stream>>>(a, b, parts, (int)M, (int)N, K);
	add_parts<<<(unsigned)((size + THREADS - 1) / THREADS), THREADS, 0, stream>>>(parts, y, slices, size);
	cudaFreeAsync(parts, stream);
}
