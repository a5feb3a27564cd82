// expect: INCORRECT_NUMERICAL
// Right only when shared memory still holds what an earlier launch left there.
#include <stdint.h>
__global__ void leave(const float *x)
{
	extern __shared__ float kept[];
	for (int i = threadIdx.x; i < 8192; i += blockDim.x)
		kept[i] = 2;
}
__global__ void scale(const float *x, float *y, int64_t n)
{
	extern __shared__ float kept[];
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = kept[i % 8192] * x[i] + 1;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	leave<<<132, 256, 32768, stream>>>(x);
	scale<<<132, 256, 32768, stream>>>(x, y, N);
}
