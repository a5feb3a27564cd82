// 3 x 3 max pooling with stride 2 that also reports where the maximum is: one thread for each output, positions
// visited in row-major order.
#include <stdint.h>

#define THREADS 256

__global__ void max_pool(const float *x, float *y, int32_t *index, int64_t total,
	int64_t H, int64_t W, int64_t HO, int64_t WO)
{
	int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;

	if (at >= total)
		return;
	int64_t q = at % WO, p = at / WO % HO;
	const float *plane = x + at / (HO * WO) * H * W;
	int64_t top = p > 0 ? 2 * p - 1 : 0, left = q > 0 ? 2 * q - 1 : 0;
	int64_t bottom = 2 * p + 1 < H ? 2 * p + 1 : H - 1, right = 2 * q + 1 < W ? 2 * q + 1 : W - 1;
	int64_t best = top * W + left;
	float largest = plane[best];

	for (int64_t row = top; row <= bottom; row++) {
		for (int64_t column = left; column <= right; column++) {
			float v = plane[row * W + column];

			if (v >= largest) {
				largest = v;
				best = row * W + column;
			}
		}
	}
	y[at] = largest;
	index[at] = (int32_t)best;
}

extern "C" void solve(const float *x, float *y, int32_t *index,
	int64_t N, int64_t C, int64_t H, int64_t W, cudaStream_t stream)
{
	int64_t HO = (H - 1) / 2 + 1, WO = (W - 1) / 2 + 1, total = N * C * HO * WO;

	max_pool<<<(unsigned)((total + THREADS - 1) / THREADS), THREADS, 0, stream>>>(x, y, index, total, H, W, HO, WO);
}
