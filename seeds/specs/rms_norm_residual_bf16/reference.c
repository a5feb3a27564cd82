/* h = x + r, and y = h normalised by its root mean square and scaled by g; row by row. */
#include <math.h>
#include <stdint.h>

void reference(const float *x, const float *r, const float *g, float *h, float *y,
	int64_t R, int64_t D, float eps)
{
	for (int64_t i = 0; i < R; i++) {
		double squares = 0;

		for (int64_t j = 0; j < D; j++) {
			double s = (double)x[i * D + j] + r[i * D + j];

			squares += s * s;
		}
		for (int64_t j = 0; j < D; j++) {
			double s = (double)x[i * D + j] + r[i * D + j];

			h[i * D + j] = (float)s;
			y[i * D + j] = (float)(s / sqrt(squares / (double)D + eps) * g[j]);
		}
	}
}
