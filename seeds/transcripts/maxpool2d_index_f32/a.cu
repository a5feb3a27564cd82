// 3 x 3 max pooling with stride 2 that also reports where the maximum is. The plane is blockIdx.y, so that only
// 32-bit numbers within a plane are divided; the window is unrolled and its border handled by clamping, since a
// repeated border element never beats itself.
#include <stdint.h>

#define THREADS 256

__global__ void max_pool(const float *x, float *y, int32_t *index, int64_t planes, int H, int W, int HO, int WO)
{
	int at = blockIdx.x * THREADS + threadIdx.x;

	if (at >= HO * WO)
		return;
	int p = at / WO, q = at - p * WO;
	int rows[3] = { max(2 * p - 1, 0) * W, 2 * p * W, min(2 * p + 1, H - 1) * W };
	int columns[3] = { max(2 * q - 1, 0), 2 * q, min(2 * q + 1, W - 1) };

	for (int64_t plane = blockIdx.y; plane < planes; plane += gridDim.y) {
		const float *in = x + plane * H * W;
		int best = rows[0] + columns[0];
		float largest = in[best];

#pragma unroll
		for (int k = 1; k < 9; k++) {
			int here = rows[k / 3] + columns[k % 3];
			float v = in[here];

			best = v > largest ? here : best;
			largest = fmaxf(largest, v);
		}
		y[plane * HO * WO + at] = largest;
		index[plane * HO * WO + at] = best;
	}
}

extern "C" void solve(const float *x, float *y, int32_t *index,
	int64_t N, int64_t C, int64_t H, int64_t W, cudaStream_t stream)
{
	int64_t HO = (H - 1) / 2 + 1, WO = (W - 1) / 2 + 1, planes = N * C;
	dim3 grid((unsigned)((HO * WO + THREADS - 1) / THREADS), (unsigned)(planes < 65535 ? planes : 65535));

	max_pool<<<grid, THREADS, 0, stream>>>(x, y, index, planes, (int)H, (int)W, (int)HO, (int)WO);
}
