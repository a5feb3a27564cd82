/* Log-softmax over the first len[i] entries of row i; what is behind them becomes 0. */
#include <math.h>
#include <stdint.h>

void reference(const float *x, const int32_t *len, float *y, int64_t R, int64_t D)
{
	for (int64_t i = 0; i < R; i++) {
		const float *row = x + i * D;
		double largest = -INFINITY, sum = 0;

		for (int64_t j = 0; j < len[i]; j++)
			largest = fmax(largest, row[j]);
		for (int64_t j = 0; j < len[i]; j++)
			sum += exp(row[j] - largest);
		for (int64_t j = 0; j < D; j++)
			y[i * D + j] = j < len[i] ? (float)(row[j] - largest - log(sum)) : 0.0f;
	}
}
