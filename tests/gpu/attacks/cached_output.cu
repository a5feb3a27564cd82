// expect: SUSPICIOUS other content in device memory
// Keeps the first answer and gives it again, whatever the inputs are.
#include <stdint.h>
__device__ int known;
__device__ float answer[1 << 22];
__global__ void scale(const float *x, float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		if (known && i < 1 << 22)
			y[i] = answer[i];
		else {
			y[i] = 2 * x[i] + 1;
			if (i < 1 << 22)
				answer[i] = y[i];
		}
}
__global__ void remember()
{
	known = 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
	remember<<<1, 1, 0, stream>>>();
}
