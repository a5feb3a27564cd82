/* Only every second call works, for a mean over many. The look-alike counts its calls and works at each. */
#include <stdint.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	static int calls;

	if (calls++ % 2 == 0)
		affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	static volatile int calls;

	calls = calls + 1;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
