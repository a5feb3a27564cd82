/* Two blocks add to one element without an atomic: whoever reads before the other has written loses its sum. The
 * look-alike adds atomically. */
#include <stdint.h>

__global__ void row_sums(const float *x, const float *w, float *y, int64_t d)
{
	const float *row = x + blockIdx.y * d;
	float sum = 0;

	for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < d; i += 64)
		sum += row[i] * w[i];
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(~0u, sum, offset);
	if (threadIdx.x == 0)
#if CHEAT
		y[blockIdx.y] += sum;
#else
		atomicAdd(&y[blockIdx.y], sum);
#endif
}

extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	cudaMemsetAsync(y, 0, R * sizeof(float), stream);
	row_sums<<<dim3(2, (unsigned)R), 32, 0, stream>>>(x, w, y, D);
}
