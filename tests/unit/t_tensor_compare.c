/* The judge's comparison: what passes, what fails, and above all that NaN never passes for a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tensor/compare.h"

/* One element of `dtype` holding `got` against `expected`: does it match? */
static bool
matches(enum dtype dtype, double got, double expected, double rtol, double atol)
{
	struct tensor a, b;
	struct compare_result result;
	struct tolerance tolerance = { rtol, atol };
	static const int64_t zero = 0;
	bool one, other;

	assert_int_equal(tensor_init(&a, "y", dtype, 0, NULL, NULL), 0);
	assert_int_equal(tensor_init(&b, "y", DTYPE_FLOAT64, 0, NULL, NULL), 0);
	tensor_set(&a, 0, got);
	tensor_set(&b, 0, expected);
	assert_int_equal(compare_tensors(&a, &b, tolerance, &result, NULL), 0);
	assert_int_equal(result.elements, 1);
	one = result.mismatched == 0;
	assert_int_equal(result.first_mismatch, one ? -1 : 0);
	assert_int_equal(compare_elements(&a, &zero, 1, &expected, NULL, tolerance, &result, NULL), 0);
	other = result.mismatched == 0;
	assert_int_equal(one, other);
	tensor_release(&a);
	tensor_release(&b);
	return one;
}

static void
floats(void **state)
{
	(void)state;
	assert_true(matches(DTYPE_FLOAT32, 1, 1, 0, 0));
	assert_true(matches(DTYPE_FLOAT64, 101, 100, 0.01, 0));
	assert_false(matches(DTYPE_FLOAT64, 101.1, 100, 0.01, 0));
	assert_true(matches(DTYPE_FLOAT64, 101.1, 100, 0.01, 0.2));
	assert_true(matches(DTYPE_FLOAT64, -101, -100, 0.01, 0));
	assert_false(matches(DTYPE_FLOAT64, 100, -100, 0.01, 0));
	/* relative to the expected value, not to the one got */
	assert_false(matches(DTYPE_FLOAT64, 1e9, 0, 1, 0));
	assert_true(matches(DTYPE_FLOAT64, -0.0, 0.0, 0, 0));
}

static void
special_values(void **state)
{
	(void)state;
	for (int dtype = DTYPE_FLOAT64; dtype <= DTYPE_BFLOAT16; dtype++) {
		enum dtype d = (enum dtype)dtype;

		assert_true(matches(d, NAN, NAN, 0, 0));
		assert_false(matches(d, NAN, 1, 1e30, 1e30));
		assert_false(matches(d, 1, NAN, 1e30, 1e30));
		assert_false(matches(d, NAN, INFINITY, 1e30, 1e30));
		assert_false(matches(d, INFINITY, NAN, 1e30, 1e30));
		assert_true(matches(d, INFINITY, INFINITY, 0, 0));
		assert_true(matches(d, -INFINITY, -INFINITY, 0, 0));
		assert_false(matches(d, INFINITY, -INFINITY, 1e30, 1e30));
		assert_false(matches(d, INFINITY, 1, 1e30, 1e30));
		assert_false(matches(d, 1, INFINITY, 1e30, 1e30));
	}
	assert_false(matches(DTYPE_FLOAT32, 1, 1.5, NAN, NAN));
}

static void
overflow_of_the_dtype(void **state)
{
	(void)state;
	assert_true(matches(DTYPE_FLOAT16, INFINITY, 70000, 1e-3, 0));
	assert_false(matches(DTYPE_FLOAT16, -INFINITY, 70000, 1e-3, 0));
	assert_false(matches(DTYPE_FLOAT16, INFINITY, 65504, 1, 1));
	assert_false(matches(DTYPE_FLOAT32, INFINITY, 70000, 1e-3, 0));
	assert_true(matches(DTYPE_FLOAT16, 65504, 65530, 1e-3, 0));
	assert_false(matches(DTYPE_FLOAT16, 65504, 70000, 1e-3, 0));
}

static void
figures(void **state)
{
	static const int64_t shape[] = { 2, 3 };
	static const double got_values[] = { 1, 2.5, 0, -4, NAN, 6 }, expected_values[] = { 1, 2, 0.125, -4, 5,
		7 };
	struct tensor got, expected;
	struct compare_result r;

	(void)state;
	assert_int_equal(tensor_init(&got, "y", DTYPE_FLOAT32, 2, shape, NULL), 0);
	assert_int_equal(tensor_init(&expected, "y", DTYPE_FLOAT64, 2, shape, NULL), 0);
	for (int i = 0; i < 6; i++) {
		tensor_set(&got, i, got_values[i]);
		tensor_set(&expected, i, expected_values[i]);
	}
	assert_int_equal(compare_tensors(&got, &expected, (struct tolerance){ 0, 0.2 }, &r, NULL), 0);
	assert_int_equal(r.elements, 6);
	assert_int_equal(r.mismatched, 3);
	assert_int_equal(r.first_mismatch, 1);
	assert_true(r.expected == 2 && r.got == 2.5);
	assert_true(r.max_absolute_error == 1);
	assert_true(r.max_relative_error == 1);
	/* elements in any order: the first mismatch is the smallest number */
	static const int64_t some[] = { 5, 4, 0 };
	static const double some_expected[] = { 7, 5, 1 };
	assert_int_equal(compare_elements(&got, some, 3, some_expected, NULL, (struct tolerance){ 0, 0.2 }, &r,
		NULL), 0);
	assert_int_equal(r.mismatched, 2);
	assert_int_equal(r.first_mismatch, 4);
	static const int64_t outside[] = { 6 };
	assert_int_equal(compare_elements(&got, outside, 1, some_expected, NULL, (struct tolerance){ 0, 0 }, &r,
		NULL), -1);
	expected.shape[0] = 3;
	expected.shape[1] = 2;
	struct buf err = BUF_INIT;
	assert_int_equal(compare_tensors(&got, &expected, (struct tolerance){ 0, 0 }, &r, &err), -1);
	assert_non_null(strstr(err.data, "[2, 3], expected [3, 2]"));
	buf_release(&err);
	tensor_release(&got);
	tensor_release(&expected);
}

static void
exact(void **state)
{
	static const int64_t shape[] = { 1 };
	struct tensor got, expected;
	struct compare_result r;
	struct tolerance loose = { 1, 1e9 };
	int64_t big = ((int64_t)1 << 53) + 1;

	(void)state;
	assert_int_equal(tensor_init(&got, "y", DTYPE_INT64, 1, shape, NULL), 0);
	assert_int_equal(tensor_init(&expected, "y", DTYPE_INT64, 1, shape, NULL), 0);
	tensor_set_integer(&got, 0, big - 1);
	tensor_set_integer(&expected, 0, big);
	assert_int_equal(compare_tensors(&got, &expected, loose, &r, NULL), 0);
	assert_int_equal(r.mismatched, 1);
	tensor_set_integer(&got, 0, big);
	assert_int_equal(compare_tensors(&got, &expected, loose, &r, NULL), 0);
	assert_int_equal(r.mismatched, 0);
	int64_t zero = 0, wanted = big - 1;
	assert_int_equal(compare_elements(&got, &zero, 1, NULL, &wanted, loose, &r, NULL), 0);
	assert_int_equal(r.mismatched, 1);
	double real = 1;
	assert_int_equal(compare_elements(&got, &zero, 1, &real, NULL, loose, &r, NULL), -1);
	tensor_release(&got);
	/* a truth value of 2 is none */
	assert_int_equal(tensor_init(&got, "y", DTYPE_BOOL, 1, shape, NULL), 0);
	tensor_set_integer(&expected, 0, 1);
	*(unsigned char *)got.data = 2;
	assert_int_equal(compare_tensors(&got, &expected, loose, &r, NULL), 0);
	assert_int_equal(r.mismatched, 1);
	*(unsigned char *)got.data = 1;
	assert_int_equal(compare_tensors(&got, &expected, loose, &r, NULL), 0);
	assert_int_equal(r.mismatched, 0);
	tensor_release(&expected);
	assert_int_equal(tensor_init(&expected, "y", DTYPE_FLOAT64, 1, shape, NULL), 0);
	assert_int_equal(compare_tensors(&got, &expected, loose, &r, NULL), -1);
	tensor_release(&expected);
	tensor_release(&got);
}

static void
widening(void **state)
{
	struct tolerance base = { 1e-3, 1e-4 }, wide;

	(void)state;
	wide = compare_widen(base, DTYPE_FLOAT16, 1 << 20);
	assert_true(fabs(wide.rtol - (1e-3 + 0x1p-14)) < 1e-15);
	assert_true(fabs(wide.atol - (1e-4 + 0x1p-4)) < 1e-15);
	wide = compare_widen(base, DTYPE_FLOAT64, 1 << 20);
	assert_true(fabs(wide.atol - (1e-4 + 0x1p-33)) < 1e-15);
	wide = compare_widen(base, DTYPE_INT32, 1 << 20);
	assert_true(wide.rtol == 1e-3 && wide.atol == 1e-4);
	/* the formula covers what it is for: ten thousand unit normals added one by one in float */
	float sum = 0;
	double exact_sum = 0;
	for (int i = 0; i < 10000; i++) {
		float term = (float)sin(i * 12.9898) * 1.4142f;

		sum += term;
		exact_sum += term;
	}
	wide = compare_widen((struct tolerance){ 0, 0 }, DTYPE_FLOAT32, 10000);
	assert_true(fabs(sum - exact_sum) <= wide.atol + wide.rtol * fabs(exact_sum));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats), cmocka_unit_test(special_values),
			cmocka_unit_test(overflow_of_the_dtype),
		cmocka_unit_test(figures), cmocka_unit_test(exact), cmocka_unit_test(widening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
