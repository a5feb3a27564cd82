/* Right for ten calls, wrong afterwards. The look-alike counts its calls and does not look. */
#include <stdint.h>

#if CHEAT
__device__ int calls;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = calls < 10 ? 2 * x[i] + 0.5f : 0;
}
__global__ void count()
{
	calls++;
}
#else
__device__ int calls;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
__global__ void count()
{
	calls++;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	count<<<1, 1, 0, stream>>>();
}
