// More work than any budget.
#include <stdint.h>

__global__ void add(const float *x, const float *y, float *z, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		z[i] = x[i] + y[i];
}

extern "C" void solve(const float *x, const float *y, float *z, int64_t N, cudaStream_t stream)
{
	add<<<1000000000, 1024, 0, stream>>>(x, y, z, N);
}
