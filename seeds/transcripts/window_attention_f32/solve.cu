// Sliding-window attention: one warp for each query. The lanes share the features (up to four each); every score is
// a sum over the warp, and the softmax runs along the window with a running maximum.
#include <math.h>
#include <stdint.h>

#define WINDOW 16
#define WARPS 4
#define MAX_PER_LANE 4
#define ALL 0xffffffffu

__global__ void window_attention(const float *q, const float *k, const float *v, float *y, int64_t queries, int64_t T, int D)
{
	int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;

	if (at >= queries)
		return;
	int64_t head = at / T * T, i = at % T;
	float own[MAX_PER_LANE], sum[MAX_PER_LANE] = {}, largest = -INFINITY, total = 0;

#pragma unroll
	for (int p = 0; p < MAX_PER_LANE; p++)
		own[p] = lane + 32 * p < D ? q[at * D + lane + 32 * p] : 0.0f;
	for (int64_t j = i - WINDOW + 1 > 0 ? i - WINDOW + 1 : 0; j <= i; j++) {
		const float *key = k + (head + j) * D, *value = v + (head + j) * D;
		float score = 0;

#pragma unroll
		for (int p = 0; p < MAX_PER_LANE; p++)
			score += lane + 32 * p < D ? own[p] * key[lane + 32 * p] : 0.0f;
		for (int offset = 16; offset > 0; offset /= 2)
			score += __shfl_xor_sync(ALL, score, offset);
		score /= sqrtf((float)D);

		float top = fmaxf(largest, score);
		float keep = expf(largest - top), weight = expf(score - top);
		total = total * keep + weight;
		largest = top;
#pragma unroll
		for (int p = 0; p < MAX_PER_LANE; p++)
			sum[p] = sum[p] * keep + (lane + 32 * p < D ? weight * value[lane + 32 * p] : 0.0f);
	}
#pragma unroll
	for (int p = 0; p < MAX_PER_LANE; p++) {
		if (lane + 32 * p < D)
			y[at * D + lane + 32 * p] = sum[p] / total;
	}
}

extern "C" void solve(const float *q, const float *k, const float *v, float *y,
	int64_t H, int64_t T, int64_t D, cudaStream_t stream)
{
	int64_t queries = H * T;

	window_attention<<<(unsigned)((queries + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(q, k, v, y, queries, T, (int)D);
}
