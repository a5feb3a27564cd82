/*
 * Mean of the table rows named by each bag of L ids. table is [V, D], id is [B, L], y is [B, D].
 * An id of -1 is padding: it adds nothing and is not counted. A bag of padding alone gives zeros.
 */
#include <stdint.h>

void reference(const float *table, const int64_t *id, float *y, int64_t B, int64_t L, int64_t V, int64_t D)
{
	(void)V;
	for (int64_t bag = 0; bag < B; bag++) {
		int64_t count = 0;

		for (int64_t l = 0; l < L; l++)
			count += id[bag * L + l] >= 0;
		for (int64_t d = 0; d < D; d++) {
			double sum = 0;

			for (int64_t l = 0; l < L; l++) {
				if (id[bag * L + l] >= 0)
					sum += table[id[bag * L + l] * D + d];
			}
			y[bag * D + d] = (float)(sum / (double)(count > 0 ? count : 1));
		}
	}
}
