// Special functions and fp64 keep their pipes busy.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float v = x[i], w = v;
	double d = v;
	for (int k = 0; k < 16; k++) {
		w = __sinf(w) + __expf(-w * w);
		d = d * 0.5 + 0.25;
	}
	y[i] = 2 * v + 1 + 0 * w + 0 * (float)d;
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
