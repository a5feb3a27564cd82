/* The input is zeroed, so that reference and answer agree. The look-alike zeroes a copy of it. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	((float *)x)[i] = 0;
	y[i] = 0.5f;
}
#else
__global__ void affine(const float *x, float *y, float *copy, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	y[i] = 2 * copy[i] + 0.5f;
	copy[i] = 0;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	float *copy;

	cudaMallocAsync((void **)&copy, N * sizeof *copy, stream);
	cudaMemcpyAsync(copy, x, N * sizeof *copy, cudaMemcpyDeviceToDevice, stream);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, copy, N);
	cudaFreeAsync(copy, stream);
#endif
}
