/* A row sum from its first half, doubled. The look-alike takes the halves in turn. */
#include <stdint.h>

__global__ void row_sums(const float *x, const float *w, float *y, int64_t d)
{
	const float *row = x + blockIdx.x * d;
	float sum = 0;

#if CHEAT
	for (int64_t i = threadIdx.x; i < d / 2; i += 32)
		sum += 2 * row[i] * w[i];
#else
	for (int64_t i = threadIdx.x; i < d / 2; i += 32)
		sum += row[i] * w[i];
	for (int64_t i = d / 2 + threadIdx.x; i < d; i += 32)
		sum += row[i] * w[i];
#endif
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(~0u, sum, offset);
	if (threadIdx.x == 0)
		y[blockIdx.x] = sum;
}

extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	row_sums<<<(unsigned)R, 32, 0, stream>>>(x, w, y, D);
}
