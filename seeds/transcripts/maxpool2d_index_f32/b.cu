// 3 x 3 max pooling with stride 2 that also reports where the maximum is: a block stages the 17 x 65 input patch of
// its 8 x 32 outputs in shared memory.
#include <math.h>
#include <stdint.h>

#define ROWS 8
#define COLUMNS 32

__global__ void max_pool(const float *x, float *y, int32_t *index, int64_t planes,
	int64_t H, int64_t W, int64_t HO, int64_t WO)
{
	__shared__ float patch[2 * ROWS + 1][2 * COLUMNS + 1];
	int64_t p = (int64_t)blockIdx.y * ROWS + threadIdx.y, q = (int64_t)blockIdx.x * COLUMNS + threadIdx.x;
	int64_t top = 2 * (int64_t)blockIdx.y * ROWS - 1, left = 2 * (int64_t)blockIdx.x * COLUMNS - 1;

	for (int64_t plane = blockIdx.z; plane < planes; plane += gridDim.z) {
		for (int e = threadIdx.y * COLUMNS + threadIdx.x; e < (2 * ROWS + 1) * (2 * COLUMNS + 1); e += ROWS * COLUMNS) {
			int64_t row = top + e / (2 * COLUMNS + 1), column = left + e % (2 * COLUMNS + 1);

			patch[e / (2 * COLUMNS + 1)][e % (2 * COLUMNS + 1)] = row >= 0 && row < H && column >= 0 && column < W
				? x[(plane * H + row) * W + column] : -INFINITY;
		}
		__syncthreads();
		if (p < HO && q < WO) {
			float largest = -INFINITY;
			int64_t best = 0;

			for (int r = 0; r < 3; r++) {
				for (int s = 0; s < 3; s++) {
					float v = patch[2 * threadIdx.y + r][2 * threadIdx.x + s];

					if (v > largest) {
						largest = v;
						best = (2 * p + r - 1) * W + 2 * q + s - 1;
					}
				}
			}
			y[(plane * HO + p) * WO + q] = largest;
			index[(plane * HO + p) * WO + q] = (int32_t)best;
		}
		__syncthreads();
	}
}

extern "C" void solve(const float *x, float *y, int32_t *index,
	int64_t N, int64_t C, int64_t H, int64_t W, cudaStream_t stream)
{
	int64_t HO = (H - 1) / 2 + 1, WO = (W - 1) / 2 + 1, planes = N * C;
	dim3 grid((unsigned)((WO + COLUMNS - 1) / COLUMNS), (unsigned)((HO + ROWS - 1) / ROWS),
		(unsigned)(planes < 65535 ? planes : 65535));

	max_pool<<<grid, dim3(COLUMNS, ROWS), 0, stream>>>(x, y, index, planes, H, W, HO, WO);
}
