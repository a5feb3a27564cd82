/*
 * Premultiplied "over" for P pixels of four interleaved channels (red, green, blue, alpha):
 * the front pixel covers the back one by its own alpha. The alpha channel follows the same rule.
 */
#include <stdint.h>

void reference(const float *front, const float *back, float *y, int64_t P)
{
	for (int64_t p = 0; p < P; p++) {
		double through = 1.0 - (double)front[4 * p + 3];

		for (int64_t channel = 0; channel < 4; channel++)
			y[4 * p + channel] = (float)(front[4 * p + channel] + through * back[4 * p + channel]);
	}
}
