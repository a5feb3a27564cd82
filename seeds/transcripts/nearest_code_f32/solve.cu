// Nearest code by squared distance: one thread for each row of x tries every code. A strict comparison in
// ascending order keeps the smallest index of a tie.
#include <math.h>
#include <stdint.h>

__global__ void nearest(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D)
{
	int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	float best = INFINITY;
	int64_t at = 0;

	if (n >= N)
		return;
	for (int64_t v = 0; v < V; v++) {
		float distance = 0;

		for (int64_t d = 0; d < D; d++) {
			float difference = x[n * D + d] - code[v * D + d];

			distance += difference * difference;
		}
		if (distance < best) {
			best = distance;
			at = v;
		}
	}
	y[n] = at;
}

extern "C" void solve(const float *x, const float *code, int64_t *y, int64_t N, int64_t V, int64_t D,
	cudaStream_t stream)
{
	nearest<<<(unsigned)((N + 127) / 128), 128, 0, stream>>>(x, code, y, N, V, D);
}
