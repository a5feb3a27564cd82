/* A row that starts with zeros is taken to be all zeros. The look-alike looks at the whole row first. */
#include <stdint.h>

__global__ void row_sums(const float *x, const float *w, float *y, int64_t d)
{
	const float *row = x + blockIdx.x * d;
	float sum = 0;

#if CHEAT
	if (__all_sync(~0u, threadIdx.x >= 4 || row[threadIdx.x] == 0)) {
#else
	bool zero = true;
	for (int64_t i = threadIdx.x; i < d; i += 32)
		zero = zero && row[i] == 0;
	if (__all_sync(~0u, zero)) {
#endif
		if (threadIdx.x == 0)
			y[blockIdx.x] = 0;
		return;
	}
	for (int64_t i = threadIdx.x; i < d; i += 32)
		sum += row[i] * w[i];
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(~0u, sum, offset);
	if (threadIdx.x == 0)
		y[blockIdx.x] = sum;
}

extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	row_sums<<<(unsigned)R, 32, 0, stream>>>(x, w, y, D);
}
