/* Is an output right? Got against expected, element by element, in double or in exact integers. */
#ifndef TENSOR_COMPARE_H
#define TENSOR_COMPARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "tensor/tensor.h"

struct tolerance {
	double rtol, atol;	/* |got - expected| <= atol + rtol * |expected| */
};

struct compare_result {
	int64_t elements;		/* compared */
	int64_t mismatched;		/* 0: right */
	double max_absolute_error;	/* over elements that are finite on both sides; 0 if none */
	double max_relative_error;	/* of these, where expected is not 0 */
	int64_t first_mismatch;		/* row-major number, -1 if none */
	double expected, got;		/* at the first mismatch */
};

/* Rules, for a float `got`: NaN must meet NaN and nothing else; an infinity must meet the same
 * infinity; an expected value that `got`'s dtype can only store as infinity may also be met by that
 * infinity. Integers and bool: equal exactly, the tolerance is not used; a bool byte must be 0 or 1.
 *
 * `expected` has got's shape, and any dtype: normally float64 for floats, int64 for integers and bool
 * (what math_run gives). 0 and a filled result whatever it says, or -1: shapes differ, or an integer
 * `got` meets a float `expected`. */
int compare_tensors(const struct tensor *got, const struct tensor *expected, struct tolerance tolerance,
	struct compare_result *result, struct buf *err);
/* The same with slack: a float64 tensor of got's shape, added to the tolerance of each element of a float tensor. NULL,
 * or a tensor without data, is none. */
int compare_tensors_within(const struct tensor *got, const struct tensor *expected, struct tolerance tolerance,
	const struct tensor *slack, struct compare_result *result, struct buf *err);
/* Only `count` elements, by row-major number: expected[i] belongs to elements[i]. For integer dtypes the
 * expected values are in integers[i] instead; the other pointer may be NULL. */
int compare_elements(const struct tensor *got, const int64_t *elements, size_t count, const double *expected,
	const int64_t *integers, struct tolerance tolerance, struct compare_result *result, struct buf *err);

/* A tolerance that makes room for the rounding of a sum of `reduction` terms:
 *	rtol + u sqrt(n),  atol + u n
 * with u the unit roundoff of the accumulator (float32, or float64 for float64 tensors). Adding n terms
 * one by one rounds n - 1 partial sums. For independent roundings the relative error grows as u sqrt(n)
 * (Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput.
 * 41(5), 2019); for zero-mean terms of unit scale partial sum k is about sqrt(k), so the rounding errors
 * add up to about u sqrt(1 + 2 + ... + n) = u n / sqrt(2) in absolute terms, however small the sum is.
 * Integers and bool are returned unchanged; reduction < 1 counts as 1. */
struct tolerance compare_widen(struct tolerance tolerance, enum dtype dtype, int64_t reduction);

#endif
