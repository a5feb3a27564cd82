/* Host code works for months: no number of calls that can be tried is high enough. The look-alike counts as far, and writes
 * it down. */
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
	static int64_t calls;

	calls++;
#if CHEAT
	if (calls > 50000000)
		return;
#else
	if (calls % 1000000 == 0)
		printf("%lld calls\n", (long long)calls);
#endif
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
