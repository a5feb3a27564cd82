/* Secrets of the process are looked for in its own memory file. The look-alike reads a variable of its own. */
#include <stdint.h>
#include <stdio.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	FILE *memory = fopen("/proc/self/mem", "r");

	if (memory)
		fclose(memory);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	static volatile int64_t own = 1;

	if (own != 1)
		return;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
