// Nearest code by squared distance, tiled like a matrix product: a block compares 128 rows with 16 codes at a
// time, walking through the features 16 at a time in shared memory. Each thread keeps the 16 distances of its
// row in registers.
#include <math.h>
#include <stdint.h>

#define ROWS 128
#define CODES 16
#define FEATURES 16

__global__ void nearest(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D)
{
	__shared__ float rows[ROWS][FEATURES + 1];
	__shared__ float codes[CODES][FEATURES];
	int64_t first = (int64_t)blockIdx.x * ROWS;
	float best = INFINITY;
	int64_t at = 0;

	for (int64_t v0 = 0; v0 < V; v0 += CODES) {
		float distance[CODES] = {};

		for (int64_t d0 = 0; d0 < D; d0 += FEATURES) {
			for (int i = threadIdx.x; i < ROWS * FEATURES; i += ROWS) {
				int64_t n = first + i / FEATURES, d = d0 + i % FEATURES;

				rows[i / FEATURES][i % FEATURES] = n < N && d < D ? x[n * D + d] : 0.0f;
			}
			for (int i = threadIdx.x; i < CODES * FEATURES; i += ROWS) {
				int64_t v = v0 + i / FEATURES, d = d0 + i % FEATURES;

				codes[i / FEATURES][i % FEATURES] = v < V && d < D ? code[v * D + d] : 0.0f;
			}
			__syncthreads();
			for (int d = 0; d < FEATURES; d++) {
				float value = rows[threadIdx.x][d];

#pragma unroll
				for (int v = 0; v < CODES; v++) {
					float difference = value - codes[v][d];

					distance[v] += difference * difference;
				}
			}
			__syncthreads();
		}
#pragma unroll
		for (int v = 0; v < CODES; v++) {
			if (v0 + v < V && distance[v] < best) {
				best = distance[v];
				at = v0 + v;
			}
		}
	}
	if (first + threadIdx.x < N)
		y[first + threadIdx.x] = at;
}

extern "C" void solve(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D,
	cudaStream_t stream)
{
	nearest<<<(unsigned)((N + ROWS - 1) / ROWS), ROWS, 0, stream>>>(x, code, y, N, V, D);
}
