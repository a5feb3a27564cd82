/* The clock that only goes forward. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Since a moment that is the same for all processes. */
static inline uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t
clock_ms(void)
{
	return clock_ns() / 1000000u;
}

static inline double
clock_seconds(void)
{
	return (double)clock_ns() * 1e-9;
}

#endif
