// expect: TIMEOUT kernel scale
// Never ends.
#include <stdint.h>
__global__ void scale(const float *x, float *y, int64_t n)
{
	for (volatile int64_t i = n; i >= 0; i = n)
		;
	y[0] = x[0];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
}
