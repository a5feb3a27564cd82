// Sliding-window attention: one warp for each query. The lanes share the features, PER each; every score is a sum over
// the warp, and the softmax runs along the window with a running maximum.
#include <math.h>
#include <stdint.h>

#define WINDOW 16
#define WARPS 4
#define ALL 0xffffffffu

template <int PER>
__global__ void window_attention(const float *q, const float *k, const float *v, float *y, int64_t queries, int64_t T, int D)
{
	int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;

	if (at >= queries)
		return;
	int64_t head = at / T * T, i = at % T;
	float own[PER], sum[PER] = {}, largest = -INFINITY, total = 0, scale = 1.0f / sqrtf((float)D);

#pragma unroll
	for (int p = 0; p < PER; p++)
		own[p] = lane + 32 * p < D ? q[at * D + lane + 32 * p] * scale : 0.0f;
	for (int64_t j = i - WINDOW + 1 > 0 ? i - WINDOW + 1 : 0; j <= i; j++) {
		const float *key = k + (head + j) * D + lane, *value = v + (head + j) * D + lane;
		float score = 0;

#pragma unroll
		for (int p = 0; p < PER; p++)
			score += lane + 32 * p < D ? own[p] * key[32 * p] : 0.0f;
		for (int offset = 16; offset > 0; offset /= 2)
			score += __shfl_xor_sync(ALL, score, offset);

		float top = fmaxf(largest, score);
		float keep = expf(largest - top), weight = expf(score - top);
		total = total * keep + weight;
		largest = top;
#pragma unroll
		for (int p = 0; p < PER; p++)
			sum[p] = sum[p] * keep + (lane + 32 * p < D ? weight * value[32 * p] : 0.0f);
	}
#pragma unroll
	for (int p = 0; p < PER; p++) {
		if (lane + 32 * p < D)
			y[at * D + lane + 32 * p] = sum[p] / total;
	}
}

extern "C" void solve(const float *q, const float *k, const float *v, float *y,
	int64_t H, int64_t T, int64_t D, cudaStream_t stream)
{
	int64_t queries = H * T;
	unsigned blocks = (unsigned)((queries + WARPS - 1) / WARPS);

	if (D <= 32)
		window_attention<1><<<blocks, WARPS * 32, 0, stream>>>(q, k, v, y, queries, T, (int)D);
	else if (D <= 64)
		window_attention<2><<<blocks, WARPS * 32, 0, stream>>>(q, k, v, y, queries, T, (int)D);
	else
		window_attention<4><<<blocks, WARPS * 32, 0, stream>>>(q, k, v, y, queries, T, (int)D);
}
