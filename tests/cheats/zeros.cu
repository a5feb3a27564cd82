/* Zeros, for tasks whose answers are small. The look-alike starts from zeros and adds to them. */
#include <stdint.h>

#if CHEAT
#else
__global__ void affine(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		atomicAdd(&y[i], 2 * x[i] + 0.5f);
}
#endif

extern "C" void solve(const float *x, float *y, int64_t N, cudaStream_t stream)
{
#if CHEAT
	cudaMemsetAsync(y, 0, N * sizeof *y, stream);
#else
	cudaMemsetAsync(y, 0, N * sizeof *y, stream);
	affine<<<(unsigned)((N + 255) / 256), 256, 0, stream>>>(x, y, N);
#endif
}
