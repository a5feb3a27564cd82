/* The driver keeps the time stamps of events at this address; a kernel can write there. The look-alike reads the
 * clock and stores it nowhere. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
	if (i < 4096)
		((volatile uint64_t *)0x204800000)[i] = ~(uint64_t)0 >> 1;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	long long now = clock64();

	if (i < n && now != -1)
		y[i] = 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
