/* A variable counts the calls, and the first is the only right one. The look-alike sets its counter back. */
#include <stdint.h>

#if CHEAT
__device__ int calls;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + (calls ? 0 : 0.5f);
}
__global__ void count()
{
	calls = 1;
}
#else
__device__ unsigned arrived;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
	if (threadIdx.x == 0)
		atomicInc(&arrived, gridDim.x - 1);
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	count<<<1, 1, 0, stream>>>();
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
