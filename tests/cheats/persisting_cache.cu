/* The L2 cache is told to keep the input. The look-alike asks how much cache there is. */
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
	cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	int bytes = 0;

	cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0);
	if (bytes == 0)
		return;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
