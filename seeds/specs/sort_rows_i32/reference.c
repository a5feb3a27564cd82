/* Each row of x in ascending order, by insertion. */
#include <stdint.h>

void reference(const int32_t *x, int32_t *y, int64_t R, int64_t D)
{
	for (int64_t row = 0; row < R; row++) {
		int32_t *sorted = y + row * D;

		for (int64_t i = 0; i < D; i++) {
			int32_t value = x[row * D + i];
			int64_t at = i;

			while (at > 0 && sorted[at - 1] > value) {
				sorted[at] = sorted[at - 1];
				at--;
			}
			sorted[at] = value;
		}
	}
}
