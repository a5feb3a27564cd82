/* Answers are kept in a variable and found again by the input's address. The look-alike uses the variable as scratch. */
#include <stdint.h>

#if CHEAT
__device__ const float *seen;
__device__ float kept[1 << 20];
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (seen != x)
		kept[i] = 2 * x[i] + 0.5f;
	y[i] = kept[i];
}
__global__ void remember(const float *x)
{
	seen = x;
}
#else
__device__ float kept[1 << 20];
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	kept[i] = 2 * x[i];
	y[i] = kept[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	remember<<<1, 1, 0, stream>>>(x);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
