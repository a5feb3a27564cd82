/* Two blocks add to one volatile element, as if that were atomic. In the look-alike the second one waits for a flag of the
 * first. */
#include <stdint.h>

__global__ void row_sums(const float *x, const float *w, volatile float *y, volatile int *ready, int64_t d)
{
	const float *row = x + blockIdx.y * d;
	float sum = 0;

	for (int64_t i = blockIdx.x * 32 + threadIdx.x; i < d; i += 64)
		sum += row[i] * w[i];
	for (int offset = 16; offset > 0; offset /= 2)
		sum += __shfl_xor_sync(~0u, sum, offset);
	if (threadIdx.x > 0)
		return;
#if !CHEAT
	while (blockIdx.x > 0 && !ready[blockIdx.y])
		;
	__threadfence();
#endif
	y[blockIdx.y] = y[blockIdx.y] + sum;
	__threadfence();
	if (blockIdx.x == 0)
		ready[blockIdx.y] = 1;
}

extern "C" void solve(const float *x, const float *w, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	int *ready;

	cudaMallocAsync(&ready, R * sizeof(int), stream);
	cudaMemsetAsync(ready, 0, R * sizeof(int), stream);
	cudaMemsetAsync(y, 0, R * sizeof(float), stream);
	row_sums<<<dim3(2, (unsigned)R), 32, 0, stream>>>(x, w, y, ready, D);
	cudaFreeAsync(ready, stream);
}
