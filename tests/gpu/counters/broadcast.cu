// Each warp reads one word more, all lanes the same.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i] + 1 + 0 * x[i / 32 * 32];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
