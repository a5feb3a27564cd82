// The second launch finishes what the first began.
#include <stdint.h>
__global__ void first(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
__global__ void second(float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] += 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	first<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
	second<<<132, 512, 0, stream>>>(y, N);
}
