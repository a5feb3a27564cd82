// Odd lanes take a long way: half of the lanes are active on it.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float v = x[i], w = v;
	if (threadIdx.x % 2)
		for (int k = 0; k < 32; k++)
			w = w * 0.5f + 0.25f;
	y[i] = 2 * v + 1 + 0 * w;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
