/* The code of a kernel is read as data. The look-alike calls a function by its pointer. */
#include <stdint.h>

#if CHEAT
__device__ float twice(float x)
{
	return 2 * x + 0.5f;
}
__device__ float (*volatile function)(float) = twice;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = ((const volatile float *)function)[i];
}
#else
__device__ float twice(float x)
{
	return 2 * x + 0.5f;
}
__device__ float (*volatile function)(float) = twice;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = function(x[i]);
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
