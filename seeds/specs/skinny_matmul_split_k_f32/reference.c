/* y = a * b with a small result (M, N up to 64) and a very long inner dimension K. */
#include <stdint.h>

void reference(const float *a, const float *b, float *y, int64_t M, int64_t N, int64_t K)
{
	for (int64_t i = 0; i < M; i++) {
		for (int64_t j = 0; j < N; j++) {
			double sum = 0;

			for (int64_t k = 0; k < K; k++)
				sum += (double)a[i * K + k] * b[k * N + j];
			y[i * N + j] = (float)sum;
		}
	}
}
