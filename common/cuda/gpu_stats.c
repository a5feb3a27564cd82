/* Samples in, medians and trimmed means with intervals out. Launches that met an interrupt or a clock change are few
 * and far off; trimming leaves them out on both sides alike, and the interval pays for it. */
#include "cuda/gpu_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double *
sorted(const double *samples, size_t count)
{
	double *copy = xmalloc(count * sizeof *copy + 1);

	if (count)
		memcpy(copy, samples, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, by_value);
	return copy;
}

double
stats_quantile(const double *samples, size_t count, double p)
{
	if (!count)
		return NAN;
	double *s = sorted(samples, count), at = p * (double)(count - 1);
	size_t below = (size_t)at;
	double value = below + 1 < count ? s[below] + (at - (double)below) * (s[below + 1] - s[below]) : s[below];

	free(s);
	return value;
}

struct stats_ratio
stats_trimmed(const double *logs, size_t count)
{
	size_t cut = count / 10, kept = count - 2 * cut;
	double mean = 0, whole = 0, variance = 0;

	if (count < 10)
		return (struct stats_ratio){ NAN, NAN, NAN };
	double *s = sorted(logs, count);
	for (size_t i = cut; i < count - cut; i++)
		mean += s[i] / (double)kept;
	for (size_t i = 0; i < count; i++)	/* winsorised: what was cut counts as the value at the cut */
		s[i] = i < cut ? s[cut] : i >= count - cut ? s[count - cut - 1] : s[i];
	for (size_t i = 0; i < count; i++)
		whole += s[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		variance += (s[i] - whole) * (s[i] - whole) / (double)(count - 1);
	free(s);
	/* 1.96: with 100 pairs and more the t distribution is the normal one. */
	double half = 1.96 * sqrt(variance) / ((double)kept / (double)count * sqrt((double)count));
	return (struct stats_ratio){ exp(mean), exp(mean - half), exp(mean + half) };
}
