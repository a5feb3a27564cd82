/* Sum of the absolute Sobel responses, at most 255; the border of the image is repeated outwards. */
#include <stdint.h>
#include <stdlib.h>

static int pixel(const uint8_t *x, int64_t H, int64_t W, int64_t i, int64_t j)
{
	i = i < 0 ? 0 : i >= H ? H - 1 : i;
	j = j < 0 ? 0 : j >= W ? W - 1 : j;
	return x[i * W + j];
}

void reference(const uint8_t *x, uint8_t *y, int64_t H, int64_t W)
{
	for (int64_t i = 0; i < H; i++) {
		for (int64_t j = 0; j < W; j++) {
			int gx = 0, gy = 0, sum;

			for (int d = -1; d <= 1; d++) {
				int weight = d == 0 ? 2 : 1;

				gx += weight * (pixel(x, H, W, i + d, j + 1) - pixel(x, H, W, i + d, j - 1));
				gy += weight * (pixel(x, H, W, i + 1, j + d) - pixel(x, H, W, i - 1, j + d));
			}
			sum = abs(gx) + abs(gy);
			y[i * W + j] = (uint8_t)(sum > 255 ? 255 : sum);
		}
	}
}
