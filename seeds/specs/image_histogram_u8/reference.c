/* count[n, v] is the number of pixels of image n that have the value v. */
#include <stdint.h>

void reference(const uint8_t *x, int32_t *count, int64_t N, int64_t H, int64_t W)
{
	for (int64_t i = 0; i < N * 256; i++)
		count[i] = 0;
	for (int64_t n = 0; n < N; n++) {
		for (int64_t i = 0; i < H * W; i++)
			count[n * 256 + x[n * H * W + i]]++;
	}
}
