// Gated swish on a residual, a row for each block in y, four neighbouring elements in one 16-byte access where
// the row length allows it.
#include <stdint.h>

#define THREADS 256

__device__ __forceinline__ float element(float v, float residual, float gate, float beta)
{
	return residual + __fdividef(gate * v, 1.0f + __expf(-beta * v));
}

// L is a multiple of 4, so every row begins at a 16-byte boundary. L4 is L / 4.
__global__ void gated_swish_by_four(const float4 *x, const float4 *r, const float *g, float4 *y,
	int64_t rows, int64_t C, int64_t L4, float beta)
{
	int64_t l = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (l >= L4)
		return;
	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		float gate = g[row % C];
		float4 v = x[row * L4 + l], s = r[row * L4 + l];

		s.x = element(v.x, s.x, gate, beta);
		s.y = element(v.y, s.y, gate, beta);
		s.z = element(v.z, s.z, gate, beta);
		s.w = element(v.w, s.w, gate, beta);
		y[row * L4 + l] = s;
	}
}

__global__ void gated_swish(const float *x, const float *r, const float *g, float *y,
	int64_t rows, int64_t C, int64_t L, float beta)
{
	int64_t l = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (l >= L)
		return;
	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
		y[row * L + l] = element(x[row * L + l], r[row * L + l], g[row % C], beta);
}

extern "C" void solve(const float *x, const float *r, const float *g, float *y,
	int64_t N, int64_t C, int64_t L, float beta, cudaStream_t stream)
{
	int64_t rows = N * C, width = L % 4 ? L : L / 4;
	dim3 grid((unsigned)((width + THREADS - 1) / THREADS), (unsigned)(rows < 65535 ? rows : 65535));

	if (L % 4)
		gated_swish<<<grid, THREADS, 0, stream>>>(x, r, g, y, rows, C, L, beta);
	else
		gated_swish_by_four<<<grid, THREADS, 0, stream>>>((const float4 *)x, (const float4 *)r, g,
			(float4 *)y, rows, C, width, beta);
}
