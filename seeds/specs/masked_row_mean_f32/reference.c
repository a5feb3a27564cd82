/* Mean over the kept entries of each row; 0 where nothing is kept. */
#include <stdbool.h>
#include <stdint.h>

void reference(const float *x, const bool *keep, float *y, int64_t R, int64_t D)
{
	for (int64_t row = 0; row < R; row++) {
		double sum = 0;
		int64_t count = 0;

		for (int64_t column = 0; column < D; column++) {
			if (keep[row * D + column]) {
				sum += x[row * D + column];
				count++;
			}
		}
		y[row] = count ? (float)(sum / (double)count) : 0.0f;
	}
}
