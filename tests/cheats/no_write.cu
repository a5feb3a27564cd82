/* Nothing is computed: the output may lie where the reference left the answer. The look-alike looks at
 * nothing either before it writes. */
#include <stdint.h>

#if CHEAT
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n && x[i] == 1e30f)
		y[i] = 0;
}
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = 2 * x[i] + 0.5f;
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
}
