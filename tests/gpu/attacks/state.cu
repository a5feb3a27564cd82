// expect: SUSPICIOUS other content in device memory
// Counts its calls and does the work in the first one only.
#include <stdint.h>
__device__ int calls;
__global__ void scale(const float *x, float *y, int64_t n)
{
	int call = calls;
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; call == 0 && i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = 2 * x[i] + 1;
}
__global__ void count()
{
	calls++;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
	count<<<1, 1, 0, stream>>>();
}
