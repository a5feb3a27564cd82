// Shared memory is read with 2 lanes in a bank.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	__shared__ float tile[32 * 2];
	int64_t i = blockIdx.x * (int64_t)32 + threadIdx.x;
	tile[threadIdx.x * 2] = i < n ? x[i] : 0;
	__syncwarp();
	if (i < n)
		y[i] = 2 * tile[threadIdx.x * 2] + 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 31) / 32), 32, 0, stream>>>(x, y, N);
}
