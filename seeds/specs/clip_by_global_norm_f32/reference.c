/* Scale x so that its Euclidean norm is at most max_norm; norm[0] is the norm before that. */
#include <math.h>
#include <stdint.h>

void reference(const float *x, float *y, float *norm, int64_t N, float max_norm)
{
	double squares = 0, length, factor;

	for (int64_t i = 0; i < N; i++)
		squares += (double)x[i] * x[i];
	length = sqrt(squares);
	factor = length > max_norm ? max_norm / length : 1.0;
	for (int64_t i = 0; i < N; i++)
		y[i] = (float)(x[i] * factor);
	norm[0] = (float)length;
}
