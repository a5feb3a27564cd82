/* Mean over R rows of the label-smoothed cross entropy of V logits; loss has one element. */
#include <math.h>
#include <stdint.h>

void reference(const float *x, const int64_t *target, float *loss, int64_t R, int64_t V, float eps)
{
	double total = 0;

	for (int64_t i = 0; i < R; i++) {
		const float *row = x + i * V;
		double largest = row[0], sum = 0, plain = 0;

		for (int64_t j = 0; j < V; j++)
			largest = fmax(largest, row[j]);
		for (int64_t j = 0; j < V; j++) {
			sum += exp(row[j] - largest);
			plain += row[j];
		}
		total += largest + log(sum) - (1.0 - eps) * row[target[i]] - eps * plain / (double)V;
	}
	loss[0] = (float)(total / (double)R);
}
