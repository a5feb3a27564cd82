/* A program of the harness is written over. The look-alike names it, and that is all. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	FILE *program = fopen("/kernelmosaic/km-ptx", "w");

	if (program)
		fclose(program);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	if (getenv("/kernelmosaic/km-ptx"))
		return;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
