// A sector for each lane: neighbours are 32 elements apart.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	int64_t k = i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32;
	if (i < n / 1024 * 1024)
		y[k] = 2 * x[k] + 1;
	else if (i < n)
		y[i] = 2 * x[i] + 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
