// Sliding-window attention: one thread for each query, which walks through its window twice and through the
// features of every key and value one by one.
#include <math.h>
#include <stdint.h>

#define WINDOW 16

__global__ void window_attention(const float *q, const float *k, const float *v, float *y, int64_t queries, int64_t T, int D)
{
	int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (at >= queries)
		return;
	int64_t head = at / T * T, i = at % T;
	int64_t first = i - WINDOW + 1 > 0 ? i - WINDOW + 1 : 0;
	int count = (int)(i - first + 1);
	float weight[WINDOW], largest = -INFINITY, total = 0;

	for (int j = 0; j < count; j++) {
		float score = 0;

		for (int d = 0; d < D; d++)
			score += q[at * D + d] * k[(head + first + j) * D + d];
		weight[j] = score / sqrtf((float)D);
		largest = fmaxf(largest, weight[j]);
	}
	for (int j = 0; j < count; j++) {
		weight[j] = expf(weight[j] - largest);
		total += weight[j];
	}
	for (int d = 0; d < D; d++) {
		float sum = 0;

		for (int j = 0; j < count; j++)
			sum += weight[j] * v[(head + first + j) * D + d];
		y[at * D + d] = sum / total;
	}
}

extern "C" void solve(const float *q, const float *k, const float *v, float *y,
	int64_t H, int64_t T, int64_t D, cudaStream_t stream)
{
	int64_t queries = H * T;

	window_attention<<<(unsigned)((queries + 63) / 64), 64, 0, stream>>>(q, k, v, y, queries, T, (int)D);
}
