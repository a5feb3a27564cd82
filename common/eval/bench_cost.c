/* A measured time in, one number out by which solutions are compared: smaller is better. */
#include <math.h>

#include "eval/bench.h"
#include "rec/json.h"

double
bench_cost(const json_t *timing)
{
	const json_t *baseline = json_object_get(timing, "baseline");
	double ratio = rec_json_number(baseline, "ratio", NAN);

	/* The baseline against itself is 1 by definition. */
	if (timing && isnan(ratio) && !json_object_get(baseline, "median_us"))
		ratio = rec_json_number(timing, "median_us", 0) >= BENCH_LEAST_RATIO_US ? 1 : NAN;
	return ratio;
}
