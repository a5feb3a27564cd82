/* Figures from timing samples. */
#ifndef CUDA_GPU_STATS_H
#define CUDA_GPU_STATS_H

#include <stddef.h>

/* The value at fraction p (0 to 1) of the sorted samples; NAN of none. */
double stats_quantile(const double *samples, size_t count, double p);

struct stats_ratio {
	double ratio;		/* exp of the trimmed mean of the logarithms */
	double low, high;	/* its 95% interval */
};
/* Of log ratios: a tenth is trimmed at each end; the interval is that of a trimmed mean, from the winsorised variance
 * (Tukey and McLaughlin, "Less vulnerable confidence and significance procedures for location based on a single
 * sample: trimming/winsorization 1", Sankhya A 25, 1963). Fewer than 10 samples: NAN. */
struct stats_ratio stats_trimmed(const double *logs, size_t count);

#endif
