// Nearest code by squared distance, tiled: 128 rows against 16 codes, 16 features at a time. The features of a
// code are read from shared memory four at a time, which quarters the shared loads of the inner loop.
#include <math.h>
#include <stdint.h>

#define ROWS 128
#define CODES 16
#define FEATURES 16

__global__ void nearest(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D)
{
	__shared__ float rows[ROWS][FEATURES + 1];
	__shared__ float4 codes[CODES][FEATURES / 4];
	int64_t first = (int64_t)blockIdx.x * ROWS;
	float best = INFINITY;
	int64_t at = 0;

	for (int64_t v0 = 0; v0 < V; v0 += CODES) {
		float distance[CODES] = {};

		for (int64_t d0 = 0; d0 < D; d0 += FEATURES) {
			if (v0 == 0 || D > FEATURES) {
				for (int i = threadIdx.x; i < ROWS * FEATURES; i += ROWS) {
					int64_t n = first + i / FEATURES, d = d0 + i % FEATURES;

					rows[i / FEATURES][i % FEATURES] = n < N && d < D ? x[n * D + d] : 0.0f;
				}
			}
			for (int i = threadIdx.x; i < CODES * FEATURES; i += ROWS) {
				int64_t v = v0 + i / FEATURES, d = d0 + i % FEATURES;

				((float *)codes)[i] = v < V && d < D ? code[v * D + d] : 0.0f;
			}
			__syncthreads();
#pragma unroll
			for (int d = 0; d < FEATURES / 4; d++) {
				const float *value = &rows[threadIdx.x][4 * d];
				float r0 = value[0], r1 = value[1], r2 = value[2], r3 = value[3];

#pragma unroll
				for (int v = 0; v < CODES; v++) {
					float4 c = codes[v][d];

					c.x -= r0;
					c.y -= r1;
					c.z -= r2;
					c.w -= r3;
					distance[v] = fmaf(c.x, c.x, fmaf(c.y, c.y, fmaf(c.z, c.z, fmaf(c.w, c.w, distance[v]))));
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
