// expect: RUNTIME_ERROR ILLEGAL_ADDRESS
// Looks for an answer where other buffers could lie: in the arena beyond its own.
#include <stdint.h>
__global__ void scale(const float *x, float *y, int64_t n)
{
	const float *elsewhere = (const float *)((((uint64_t)y >> 21) + 8) << 21);
	for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * (int64_t)blockDim.x)
		y[i] = elsewhere[i];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
}
