/* Device code that nvcc never saw is registered by hand. The look-alike registers nothing itself. */
#include <stdint.h>
#if CHEAT
extern "C" void **__cudaRegisterFatBinary(void *);
#endif

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	static const uint32_t image[64] = { 0x466243b1, 1 };

	__cudaRegisterFatBinary((void *)image);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
