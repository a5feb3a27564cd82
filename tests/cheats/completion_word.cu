/* Words near the events' are set, so that waiting ends early, and the work goes on. The look-alike waits for its own
 * word. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < 512)
		((volatile uint32_t *)0x204a00000)[i] = 0xffffffff;
	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	__shared__ volatile int ready;

	if (threadIdx.x == 0)
		ready = 1;
	__syncthreads();
	if (i < n && ready)
		y[i] = 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
