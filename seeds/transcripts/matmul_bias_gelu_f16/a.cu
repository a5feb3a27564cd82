// Half-precision matrix product with bias and GELU: a block of 16 x 16 threads makes a 64 x 64 tile, 4 x 4
// outputs for each thread in registers. The tiles are widened to float32 when they are staged, and the left one
// is stored transposed, so that four operands are one 16-byte shared load.
#include <cuda_fp16.h>
#include <stdint.h>

#define TILE 64
#define DEPTH 16
#define PER 4

__device__ __forceinline__ float gelu(float z)
{
	return 0.5f * z * (1.0f + tanhf(0.7978845608f * (z + 0.044715f * z * z * z)));
}

__global__ void product(const __half *a, const __half *b, const float *bias, __half *y,
	int64_t M, int64_t N, int64_t K)
{
	__shared__ float4 left[DEPTH][TILE / 4 + 1], right[DEPTH][TILE / 4 + 1];
	int64_t i0 = (int64_t)blockIdx.y * TILE, j0 = (int64_t)blockIdx.x * TILE;
	int thread = threadIdx.y * 16 + threadIdx.x;
	float sum[PER][PER] = {};

	for (int64_t k0 = 0; k0 < K; k0 += DEPTH) {
#pragma unroll
		for (int e = thread; e < TILE * DEPTH; e += 256) {
			int64_t i = i0 + e / DEPTH, ka = k0 + e % DEPTH;
			int64_t kb = k0 + e / TILE, j = j0 + e % TILE;

			((float *)left[e % DEPTH])[e / DEPTH] = i < M && ka < K ? __half2float(a[i * K + ka]) : 0.0f;
			((float *)right[e / TILE])[e % TILE] = kb < K && j < N ? __half2float(b[kb * N + j]) : 0.0f;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < DEPTH; k++) {
			float4 p = left[k][threadIdx.y], q = right[k][threadIdx.x];
			float pa[PER] = { p.x, p.y, p.z, p.w }, qa[PER] = { q.x, q.y, q.z, q.w };

#pragma unroll
			for (int r = 0; r < PER; r++) {
#pragma unroll
				for (int c = 0; c < PER; c++)
					sum[r][c] = fmaf(pa[r], qa[c], sum[r][c]);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int r = 0; r < PER; r++) {
		int64_t i = i0 + threadIdx.y * PER + r;

#pragma unroll
		for (int c = 0; c < PER; c++) {
			int64_t j = j0 + threadIdx.x * PER + c;

			if (i < M && j < N)
				y[i * N + j] = __float2half(gelu(sum[r][c] + bias[j]));
		}
	}
}

extern "C" void solve(const __half *a, const __half *b, const float *bias, __half *y,
	int64_t M, int64_t N, int64_t K, cudaStream_t stream)
{
	dim3 grid((unsigned)((N + TILE - 1) / TILE), (unsigned)((M + TILE - 1) / TILE));

	product<<<grid, dim3(16, 16), 0, stream>>>(a, b, bias, y, M, N, K);
}
