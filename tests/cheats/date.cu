/* Host code stops working some day. The look-alike notes the time. */
#include <stdint.h>
#include <time.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	static time_t last;

	last = time(NULL);
#if CHEAT
	if (last > 2000000000)
		return;
#endif
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
