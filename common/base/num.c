/* Text to numbers. In: a whole text. Out: a number within range, or -1.
 * Leading blanks, signs where none belong, and trailing characters are all refused. */
#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

int
num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return -1;
	*out = value;
	return 0;
}

int
num_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[text[0] == '-']))
		return -1;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || *end || value < min || value > max)
		return -1;
	*out = value;
	return 0;
}

int
num_f64(const char *text, double min, double max, double *out)
{
	char *end;

	if (!isdigit((unsigned char)text[text[0] == '-']))
		return -1;
	double value = strtod(text, &end);
	if (*end || !isfinite(value) || !(value >= min && value <= max))
		return -1;
	*out = value;
	return 0;
}

int
num_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned shift = 0;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	switch (*end) {
	case 'K': shift = 10; break;
	case 'M': shift = 20; break;
	case 'G': shift = 30; break;
	case 'T': shift = 40; break;
	default: break;
	}
	if (errno || end[shift != 0] || value > (UINT64_MAX >> shift))
		return -1;
	value <<= shift;
	if (value < min || value > max)
		return -1;
	*out = value;
	return 0;
}
