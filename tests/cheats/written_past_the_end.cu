/* What lies behind the output is overwritten. The look-alike writes to its last byte. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
	if (i == 0)
		y[n] = 1;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[n - 1 - i] = 2 * x[n - 1 - i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
