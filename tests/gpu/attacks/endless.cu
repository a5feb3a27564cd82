// expect: TIMEOUT kernel scale
// Never ends.
#include <stdint.h>
__global__ void scale(const float *x, float *y, int64_t n)
{
	while (clock64() >= 0)
		;
	y[0] = x[0];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	scale<<<1056, 256, 0, stream>>>(x, y, N);
}
