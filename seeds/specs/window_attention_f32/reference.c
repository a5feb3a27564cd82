/*
 * Attention in which each position sees itself and the 15 positions before it (a window of 16), for H heads
 * of T positions and D features. q, k, v and y are [H, T, D]; D is at most 128.
 */
#include <math.h>
#include <stdint.h>

void reference(const float *q, const float *k, const float *v, float *y, int64_t H, int64_t T, int64_t D)
{
	for (int64_t h = 0; h < H; h++) {
		for (int64_t i = 0; i < T; i++) {
			int64_t first = i - 15 > 0 ? i - 15 : 0;
			double weight[16], largest = -INFINITY, total = 0;

			for (int64_t j = first; j <= i; j++) {
				double score = 0;

				for (int64_t d = 0; d < D; d++)
					score += (double)q[(h * T + i) * D + d] * k[(h * T + j) * D + d];
				weight[j - first] = score / sqrt((double)D);
				largest = fmax(largest, weight[j - first]);
			}
			for (int64_t j = first; j <= i; j++) {
				weight[j - first] = exp(weight[j - first] - largest);
				total += weight[j - first];
			}
			for (int64_t d = 0; d < D; d++) {
				double sum = 0;

				for (int64_t j = first; j <= i; j++)
					sum += weight[j - first] * v[(h * T + j) * D + d];
				y[(h * T + i) * D + d] = (float)(sum / total);
			}
		}
	}
}
