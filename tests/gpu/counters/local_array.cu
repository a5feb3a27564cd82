// An array that is indexed at run time lies in local memory.
#include <stdint.h>
__global__ void kernel(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
	float a[16];
	if (i >= n)
		return;
	for (int k = 0; k < 16; k++)
		a[k] = x[i] + k;
	for (int k = 0; k < 16; k++)
		a[(i * 7 + k) % 16] += 0 * a[(i + k * k) % 16];
	y[i] = 2 * x[i] + 1 + 0 * a[i * 3 % 16];
}
extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	kernel<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
