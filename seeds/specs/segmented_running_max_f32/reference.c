/* Running maximum of each row that starts anew where start is true, and at time 0. */
#include <stdbool.h>
#include <stdint.h>

void reference(const float *x, const bool *start, float *y, int64_t R, int64_t T)
{
	for (int64_t row = 0; row < R; row++) {
		float largest = 0;

		for (int64_t t = 0; t < T; t++) {
			float value = x[row * T + t];

			if (t == 0 || start[row * T + t] || value > largest)
				largest = value;
			y[row * T + t] = largest;
		}
	}
}
