/* The second call with the same pointers launches nothing. The look-alike remembers that it has set an attribute. */
#include <stdint.h>

__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	static const float *seen;

	if (seen == x)
		return;
	seen = x;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#else
	static bool ready;

	if (!ready)
		cudaFuncSetAttribute(affine, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
	ready = true;
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
