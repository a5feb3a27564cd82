/* y[i] = x[0] + ... + x[i-1], in int64. */
#include <stdint.h>

void reference(const int32_t *x, int64_t *y, int64_t N)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < N; i++) {
		y[i] = sum;
		sum += x[i];
	}
}
