// Dilated 3 x 3 convolution with bias and ReLU6: one block for each tile of 16 x 16 output pixels of one output
// channel; the 20 x 20 input tile of every input channel is staged in shared memory.
#include <stdint.h>

#define TAPS 3
#define SPREAD 2
#define TILE 16
#define EDGE (TILE + 2 * SPREAD)

__global__ void conv(const float *x, const float *w, const float *b, float *y,
	int64_t planes, int64_t C, int64_t H, int64_t W, int64_t K)
{
	__shared__ float tile[EDGE][EDGE];
	int64_t p0 = (int64_t)blockIdx.y * TILE, q0 = (int64_t)blockIdx.x * TILE;
	int64_t p = p0 + threadIdx.y, q = q0 + threadIdx.x;

	for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
		int64_t n = plane / K, k = plane % K;
		float z = b[k];

		for (int64_t c = 0; c < C; c++) {
			const float *in = x + (n * C + c) * H * W, *tap = w + (k * C + c) * TAPS * TAPS;

			for (int e = threadIdx.y * TILE + threadIdx.x; e < EDGE * EDGE; e += TILE * TILE) {
				int64_t row = p0 + e / EDGE - SPREAD, column = q0 + e % EDGE - SPREAD;

				tile[e / EDGE][e % EDGE] = row >= 0 && row < H && column >= 0 && column < W
					? in[row * W + column] : 0.0f;
			}
			__syncthreads();
			for (int r = 0; r < TAPS; r++) {
				for (int s = 0; s < TAPS; s++)
					z += tile[threadIdx.y + SPREAD * r][threadIdx.x + SPREAD * s] * tap[r * TAPS + s];
			}
			__syncthreads();
		}
		if (p < H && q < W)
			y[(plane * H + p) * W + q] = fminf(fmaxf(z, 0.0f), 6.0f);
	}
}

extern "C" void solve(const float *x, const float *w, const float *b, float *y,
	int64_t N, int64_t C, int64_t H, int64_t W, int64_t K, cudaStream_t stream)
{
	int64_t planes = N * K;
	dim3 grid((unsigned)((W + TILE - 1) / TILE), (unsigned)((H + TILE - 1) / TILE),
		(unsigned)(planes < 65535 ? planes : 65535));

	conv<<<grid, dim3(TILE, TILE), 0, stream>>>(x, w, b, y, planes, C, H, W, K);
}
