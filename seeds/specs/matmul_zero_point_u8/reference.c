/*
 * Product of two quantised matrices, exact in int32. a is [M, K], b is [N, K] (each output column is a
 * row of b); za and zb are the zero points that are taken off before multiplying.
 */
#include <stdint.h>

void reference(const uint8_t *a, const uint8_t *b, int32_t *y, int64_t M, int64_t N, int64_t K,
	int32_t za, int32_t zb)
{
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
			int32_t sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (a[i * K + k] - za) * (b[j * K + k] - zb);
			y[i * N + j] = sum;
		}
	}
}
