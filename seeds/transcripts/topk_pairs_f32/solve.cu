// The four largest entries of each row: one warp for a row. Every lane keeps the best four of its own entries in
// order; then the warp agrees four times on the best head of all lists, and its owner moves on to its next entry.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define K 4
#define ALL 0xffffffffu

// Larger values first, equal values by column.
__device__ __forceinline__ bool before(float v, int64_t at, float other, int64_t other_at)
{
	return v > other || (v == other && at < other_at);
}

__global__ void top_four(const float *x, float *value, int64_t *index, int64_t R, int64_t D)
{
	int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float best[K];
	int64_t where[K];

	if (row >= R)
		return;
#pragma unroll
	for (int r = 0; r < K; r++) {
		best[r] = -INFINITY;
		where[r] = INT64_MAX;
	}
	for (int64_t j = lane; j < D; j += 32) {
		float v = x[row * D + j];
		int64_t at = j;

#pragma unroll
		for (int r = 0; r < K; r++) {
			if (before(v, at, best[r], where[r])) {
				float old = best[r];
				int64_t old_at = where[r];

				best[r] = v;
				where[r] = at;
				v = old;
				at = old_at;
			}
		}
	}
	for (int r = 0; r < K; r++) {
		float v = best[0];
		int64_t at = where[0];

		for (int offset = 16; offset > 0; offset /= 2) {
			float other = __shfl_xor_sync(ALL, v, offset);
			int64_t other_at = __shfl_xor_sync(ALL, at, offset);

			if (before(other, other_at, v, at)) {
				v = other;
				at = other_at;
			}
		}
		if (where[0] == at) {
#pragma unroll
			for (int s = 0; s + 1 < K; s++) {
				best[s] = best[s + 1];
				where[s] = where[s + 1];
			}
			best[K - 1] = -INFINITY;
			where[K - 1] = INT64_MAX;
		}
		if (lane == 0) {
			value[row * K + r] = v;
			index[row * K + r] = at;
		}
	}
}

extern "C" void solve(const float *x, float *value, int64_t *index, int64_t R, int64_t D, cudaStream_t stream)
{
	top_four<<<(unsigned)((R + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, value, index, R, D);
}
