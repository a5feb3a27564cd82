/*
 * Mean Huber loss of N pairs in double precision: quadratic up to delta, linear beyond it. loss has one
 * element. The same inputs have to give the same bits on every run, so there is no room for atomics on double.
 */
#include <math.h>
#include <stdint.h>

void reference(const double *prediction, const double *truth, double *loss, int64_t N, double delta)
{
	double total = 0;

	for (int64_t i = 0; i < N; i++) {
		double distance = fabs(prediction[i] - truth[i]);

		if (distance <= delta)
			total += 0.5 * distance * distance;
		else
			total += delta * (distance - 0.5 * delta);
	}
	loss[0] = total / (double)N;
}
