/* More shared memory than there is, and whatever a failed launch leaves. The look-alike asks for a lot, and may. */
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
	cudaFuncSetAttribute(affine, cudaFuncAttributeMaxDynamicSharedMemorySize, 300 << 10);
	affine<<<(unsigned)((N + 255) / 256), 256, 300 << 10, stream>>>(x, y, N);
#else
	cudaFuncSetAttribute(affine, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
	affine<<<(unsigned)((N + 255) / 256), 256, 100 << 10, stream>>>(x, y, N);
#endif
}
