/* Softmax without taking off the maximum: good for small numbers only. The look-alike takes off a running maximum. */
#include <math.h>
#include <stdint.h>

__global__ void softmax(const float *x, float *y, int64_t d)
{
	const float *row = x + blockIdx.x * d;
	float sum = 0, most = 0;

	if (threadIdx.x)
		return;
#if CHEAT
	for (int64_t i = 0; i < d; i++)
		sum += expf(row[i]);
#else
	most = -INFINITY;
	for (int64_t i = 0; i < d; i++) {
		float larger = fmaxf(most, row[i]);

		sum = sum * expf(most - larger) + expf(row[i] - larger);
		most = larger;
	}
#endif
	for (int64_t i = 0; i < d; i++)
		y[blockIdx.x * d + i] = expf(row[i] - most) / sum;
}

extern "C" void solve(const float *x, float *y, int64_t R, int64_t D, cudaStream_t stream)
{
	softmax<<<(unsigned)R, 32, 0, stream>>>(x, y, D);
}
