/* A kernel launches another one, which ends when nobody looks. The look-alike calls a function. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
__global__ void outer(const float *x, float *y, int64_t n)
{
	affine<<<(unsigned)((n + 255) / 256), 256>>>(x, y, n);
}
#else
__device__ __noinline__ float inner(float x)
{
	return 2 * x + 0.5f;
}
__global__ void outer(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = inner(x[i]);
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	outer<<<1, 1, 0, stream>>>(x, y, N);
#else
	outer<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
