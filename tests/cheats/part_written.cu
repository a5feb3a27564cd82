/* Only the first block of each four is written; what is there already fills the rest. The look-alike has each
 * fourth block write the rest. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n && blockIdx.x % 4 == 0)
		y[i] = 2 * x[i] + 0.5f;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (blockIdx.x % 4 == 0)
		for (int k = 0; k < 4; k++)
			if (i + k * blockDim.x < n)
				y[i + k * blockDim.x] = 2 * x[i + k * blockDim.x] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
