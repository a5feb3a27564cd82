/* The first call computes, and the later ones copy what it kept. The look-alike copies within one call. */
#include <stdint.h>

__device__ float kept[1 << 20];
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	static bool warm;
	void *cache;

	cudaGetSymbolAddress(&cache, kept);
	if (!warm)
		affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, (float *)cache, N);
	warm = true;
	cudaMemcpyAsync(y, cache, N * sizeof *y, cudaMemcpyDeviceToDevice, stream);
#else
	void *cache;

	cudaGetSymbolAddress(&cache, kept);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, (float *)cache, N);
	cudaMemcpyAsync(y, cache, N * sizeof *y, cudaMemcpyDeviceToDevice, stream);
#endif
}
