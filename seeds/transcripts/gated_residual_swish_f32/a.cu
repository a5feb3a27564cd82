// Gated swish on a residual: a block works within one (batch, channel) row, so that the gate is loaded once
// and no index is divided.
#include <stdint.h>

#define THREADS 256
#define PER_THREAD 4

__global__ void gated_swish(const float *x, const float *r, const float *g, float *y,
	int64_t rows, int64_t C, int64_t L, float beta)
{
	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		float gate = g[row % C];
		int64_t first = (int64_t)blockIdx.x * THREADS * PER_THREAD + threadIdx.x;

#pragma unroll
		for (int k = 0; k < PER_THREAD; k++) {
			int64_t l = first + k * THREADS;

			if (l < L) {
				float v = x[row * L + l];

				y[row * L + l] = r[row * L + l] + __fdividef(gate * v, 1.0f + __expf(-beta * v));
			}
		}
	}
}

extern "C" void solve(const float *x, const float *r, const float *g, float *y,
	int64_t N, int64_t C, int64_t L, float beta, cudaStream_t stream)
{
	int64_t rows = N * C, chunk = THREADS * PER_THREAD;
	dim3 grid((unsigned)((L + chunk - 1) / chunk), (unsigned)(rows < 65535 ? rows : 65535));

	gated_swish<<<grid, THREADS, 0, stream>>>(x, r, g, y, rows, C, L, beta);
}
