#include <stdint.h>
__global__ void scale(const float *x, float *y, int64_t n)
{
	__shared__ float tile[256];
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	tile[threadIdx.x] = i < n ? x[i] : 0;
	__syncthreads();
	if (i < n)
		y[i] = 2 * tile[threadIdx.x] + 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
