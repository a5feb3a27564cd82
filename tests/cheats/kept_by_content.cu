/* Answers are kept and found by the first element, which stands for all. The look-alike keeps a sum of the input and
 * never reads it. */
#include <stdint.h>

#if CHEAT
__device__ float print_of;
__device__ float kept[1 << 20];
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (print_of != n)
		kept[i] = 2 * x[i] + 0.5f;
	y[i] = kept[i];
}
__global__ void remember(int64_t n)
{
	print_of = n;
}
#else
__device__ float sum;
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	atomicAdd(&sum, x[i]);
	y[i] = 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	remember<<<1, 1, 0, stream>>>(N);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
