// Nearest code by squared distance: one warp for each row; its lanes share the features of a code and add up
// their parts by shuffles.
#include <math.h>
#include <stdint.h>

#define WARPS 4
#define ALL 0xffffffffu

__global__ void nearest(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D)
{
	int64_t n = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	float best = INFINITY;
	int64_t at = 0;

	if (n >= N)
		return;
	for (int64_t v = 0; v < V; v++) {
		float distance = 0;

		for (int64_t d = lane; d < D; d += 32) {
			float difference = x[n * D + d] - code[v * D + d];

			distance += difference * difference;
		}
		for (int offset = 16; offset > 0; offset /= 2)
			distance += __shfl_xor_sync(ALL, distance, offset);
		if (distance < best) {
			best = distance;
			at = v;
		}
	}
	if (lane == 0)
		y[n] = at;
}

extern "C" void solve(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D,
	cudaStream_t stream)
{
	nearest<<<(unsigned)((N + WARPS - 1) / WARPS), WARPS * 32, 0, stream>>>(x, code, y, N, V, D);
}
