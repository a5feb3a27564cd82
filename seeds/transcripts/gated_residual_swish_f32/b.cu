// Gated swish on a residual: every thread takes eight consecutive elements of the flat array.
#include <stdint.h>

#define PER_THREAD 8

__global__ void gated_swish(const float *x, const float *r, const float *g, float *y,
	int64_t total, int64_t C, int64_t L, float beta)
{
	int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * PER_THREAD;

	for (int64_t i = first; i < first + PER_THREAD && i < total; i++) {
		float v = x[i];

		y[i] = r[i] + g[i / L % C] * v / (1.0f + expf(-beta * v));
	}
}

extern "C" void solve(const float *x, const float *r, const float *g, float *y,
	int64_t N, int64_t C, int64_t L, float beta, cudaStream_t stream)
{
	int64_t total = N * C * L, threads = (total + PER_THREAD - 1) / PER_THREAD;

	gated_swish<<<(unsigned)((threads + 255) / 256), 256, 0, stream>>>(x, r, g, y, total, C, L, beta);
}
