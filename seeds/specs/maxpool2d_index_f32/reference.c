/* 3x3 max pooling, stride 2, border 1; index is row * W + column of the first maximum in row-major order. */
#include <stdint.h>

void reference(const float *x, float *y, int32_t *index, int64_t N, int64_t C, int64_t H, int64_t W)
{
	int64_t HO = (H + 2 - 3) / 2 + 1, WO = (W + 2 - 3) / 2 + 1;

	for (int64_t plane = 0; plane < N * C; plane++) {
		for (int64_t p = 0; p < HO; p++) {
			for (int64_t q = 0; q < WO; q++) {
				int64_t best = -1;

				for (int64_t row = 2 * p - 1; row <= 2 * p + 1; row++) {
					for (int64_t column = 2 * q - 1; column <= 2 * q + 1; column++) {
						int64_t at = row * W + column;

						if (row < 0 || row >= H || column < 0 || column >= W)
							continue;
						if (best < 0 || x[plane * H * W + at] > x[plane * H * W + best])
							best = at;
					}
				}
				y[(plane * HO + p) * WO + q] = x[plane * H * W + best];
				index[(plane * HO + p) * WO + q] = (int32_t)best;
			}
		}
	}
}
