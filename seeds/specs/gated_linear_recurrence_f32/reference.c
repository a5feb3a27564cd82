/* h[t] = a[t] * h[t-1] + (1 - a[t]) * x[t] for every batch entry and channel, starting from h0. */
#include <stdint.h>

void reference(const float *x, const float *a, const float *h0, float *h, int64_t B, int64_t T, int64_t C)
{
	for (int64_t b = 0; b < B; b++) {
		for (int64_t c = 0; c < C; c++) {
			double state = h0[b * C + c];

			for (int64_t t = 0; t < T; t++) {
				int64_t at = (b * T + t) * C + c;

				state = a[at] * state + (1.0 - a[at]) * x[at];
				h[at] = (float)state;
			}
		}
	}
}
