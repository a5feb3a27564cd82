/* Text to numbers, with range; never atoi. All return 0, or -1 and leave *out alone. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdint.h>

int num_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
int num_i64(const char *text, int64_t min, int64_t max, int64_t *out);
/* Finite values only. */
int num_f64(const char *text, double min, double max, double *out);
/* Bytes with an optional K, M, G or T (powers of 1024). */
int num_bytes(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif
