// expect: PASSED
// Keeps a table between calls, but one that does not depend on the inputs.
#include <stdint.h>
__device__ int known;
__device__ float table[256];
__global__ void fill()
{
	if (!known)
		table[threadIdx.x] = 2;
	__syncthreads();
	if (threadIdx.x == 0)
		known = 1;
}
__global__ void scale(const float *x, float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = table[i % 256] * x[i] + 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	fill<<<1, 256, 0, stream>>>();
	scale<<<1056, 256, 0, stream>>>(x, y, N);
}
