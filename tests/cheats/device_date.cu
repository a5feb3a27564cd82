/* Device code stops working some day. The look-alike looks at the clock, and waits for a moment. */
#include <stdint.h>

__device__ uint64_t now()
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

#if CHEAT
	if (now() > 2000000000000000000ull)
		return;
#else
	uint64_t start = now();

	while (now() - start < 10)
		;
#endif
	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
