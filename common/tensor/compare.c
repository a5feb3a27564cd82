/*
 * Comparison: come in what a kernel left and what is right, goes out a verdict with its figures.
 * The hard idea is what fails: every test is written so that NaN fails it, and an overflow of the
 * output's own dtype is the one case where an infinity may stand for a finite number.
 */
#include "tensor/compare.h"

#include <math.h>
#include <string.h>

static bool
float_matches(double got, double expected, enum dtype dtype, struct tolerance tolerance, double slack)
{
	if (isnan(expected))
		return isnan(got);
	if (isinf(got))
		return got == dtype_round(dtype, expected);
	if (isinf(expected))
		return false;
	return fabs(got - expected) <= tolerance.atol + tolerance.rtol * fabs(expected) + slack;
}

static void
note_errors(struct compare_result *result, double got, double expected)
{
	double error = fabs(got - expected);

	if (!isfinite(got) || !isfinite(expected))
		return;
	if (error > result->max_absolute_error)
		result->max_absolute_error = error;
	if (expected != 0 && error / fabs(expected) > result->max_relative_error)
		result->max_relative_error = error / fabs(expected);
}

static void
note_element(struct compare_result *result, int64_t element, bool matches, double got, double expected)
{
	result->elements++;
	note_errors(result, got, expected);
	if (matches)
		return;
	result->mismatched++;
	if (result->first_mismatch < 0 || element < result->first_mismatch) {
		result->first_mismatch = element;
		result->got = got;
		result->expected = expected;
	}
}

/* The byte itself for bool: a 2 is no truth value that a bool may hold. */
static int64_t
exact_value(const struct tensor *t, int64_t element)
{
	return t->dtype == DTYPE_BOOL ? ((const uint8_t *)t->data)[element] : tensor_get_integer(t, element);
}

static void
clear(struct compare_result *result)
{
	memset(result, 0, sizeof *result);
	result->first_mismatch = -1;
}

int
compare_elements(const struct tensor *got, const int64_t *elements, size_t count, const double *expected,
	const int64_t *integers, struct tolerance tolerance, struct compare_result *result, struct buf *err)
{
	bool is_float = dtype_is_float(got->dtype);
	int64_t total = tensor_elements(got);

	clear(result);
	if (is_float ? !expected : !integers)
		return buf_err(err, "Tensor '%s' is %s, and was given expected values of the other kind.",
			got->name,
			dtype_name(got->dtype));
	for (size_t i = 0; i < count; i++) {
		int64_t element = elements[i];

		if (element < 0 || element >= total)
			return buf_err(err, "Tensor '%s' has no element %lld.", got->name, (long long)element);
		if (is_float) {
			double value = tensor_get(got, element);

			note_element(result, element, float_matches(value, expected[i], got->dtype, tolerance, 0),
				value, expected[i]);
		} else {
			int64_t value = exact_value(got, element);

			note_element(result, element, value == integers[i], (double)value, (double)integers[i]);
		}
	}
	return 0;
}

int
compare_tensors(const struct tensor *got, const struct tensor *expected, struct tolerance tolerance,
	struct compare_result *result, struct buf *err)
{
	return compare_tensors_within(got, expected, tolerance, NULL, result, err);
}

int
compare_tensors_within(const struct tensor *got, const struct tensor *expected, struct tolerance tolerance,
	const struct tensor *slack, struct compare_result *result, struct buf *err)
{
	int64_t count = tensor_elements(got);

	clear(result);
	if (!tensor_same_shape(got, expected)) {
		struct buf shapes = BUF_INIT;

		tensor_format_shape(&shapes, got->rank, got->shape);
		buf_adds(&shapes, ", expected ");
		tensor_format_shape(&shapes, expected->rank, expected->shape);
		buf_err(err, "Tensor '%s' has shape %s.", got->name, buf_str(&shapes));
		buf_release(&shapes);
		return -1;
	}
	if (!dtype_is_float(got->dtype) && dtype_is_float(expected->dtype))
		return buf_err(err, "Tensor '%s' is %s, and is expected to be %s.", got->name,
			dtype_name(got->dtype), dtype_name(expected->dtype));
	for (int64_t i = 0; i < count; i++) {
		if (dtype_is_float(got->dtype)) {
			double value = tensor_get(got, i), wanted = tensor_get(expected, i);

			note_element(result, i, float_matches(value, wanted, got->dtype, tolerance,
				slack && slack->data ? tensor_get(slack, i) : 0), value, wanted);
		} else {
			int64_t value = exact_value(got, i), wanted = tensor_get_integer(expected, i);

			note_element(result, i, value == wanted, (double)value, (double)wanted);
		}
	}
	return 0;
}

struct tolerance
compare_widen(struct tolerance tolerance, enum dtype dtype, int64_t reduction)
{
	double terms = reduction < 1 ? 1 : (double)reduction;
	double roundoff = dtype_unit_roundoff(dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32);

	if (!dtype_is_float(dtype))
		return tolerance;
	tolerance.rtol += roundoff * sqrt(terms);
	tolerance.atol += roundoff * terms;
	return tolerance;
}
