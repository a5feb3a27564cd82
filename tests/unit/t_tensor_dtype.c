/*
 * Conversions of single elements. float16 and bfloat16 are tried at every value that they have: the value
 * itself, the point halfway to the next, and the doubles just below and above that point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "tensor/dtype.h"

struct small {
	double (*from)(uint16_t);
	uint16_t (*to)(double);
	uint16_t infinity;
	int fraction_bits, bias;
};
static const struct small half = { dtype_from_half, dtype_to_half, 0x7c00, 10, 15 };
static const struct small bfloat16 = { dtype_from_bfloat16, dtype_to_bfloat16, 0x7f80, 7, 127 };

/* The value by the definition of the format. */
static double
defined(const struct small *f, uint16_t bits)
{
	int exponent = (bits & 0x7fff) >> f->fraction_bits, one = 1 << f->fraction_bits;
	int fraction = bits & (one - 1);

	return exponent ? (1 + (double)fraction / one) * pow(2, exponent - f->bias)
		: (double)fraction / one * pow(2, 1 - f->bias);
}

static void
every_value(const struct small *f)
{
	for (uint16_t bits = 0; bits < f->infinity; bits++) {
		double value = defined(f, bits);
		double next = bits + 1 == f->infinity ? pow(2, f->bias + 1) : defined(f, (uint16_t)(bits + 1));
		double middle = (value + next) / 2;
		uint16_t even = bits & 1 ? (uint16_t)(bits + 1) : bits;

		assert_true(f->from(bits) == value);
		assert_true(f->from(bits | 0x8000) == -value);
		assert_int_equal(f->to(value), bits);
		assert_int_equal(f->to(middle), even);
		assert_int_equal(f->to(nextafter(middle, 0)), bits);
		assert_int_equal(f->to(nextafter(middle, INFINITY)), bits + 1);
		assert_int_equal(f->to(-nextafter(middle, 0)), bits | 0x8000);
		assert_int_equal(f->to(-middle), even | 0x8000);
	}
	assert_int_equal(f->to(INFINITY), f->infinity);
	assert_int_equal(f->to(-INFINITY), f->infinity | 0x8000);
	assert_int_equal(f->to(1e300), f->infinity);
	assert_int_equal(f->to(-0.0), 0x8000);
	assert_int_equal(f->to(5e-324), 0);
	assert_true(isinf(f->from(f->infinity)));
	for (uint32_t bits = f->infinity + 1u; bits < 0x8000; bits++) {
		assert_true(isnan(f->from((uint16_t)bits)));
		assert_true(isnan(f->from((uint16_t)(bits | 0x8000))));
	}
	assert_true(isnan(f->from(f->to(NAN))));
}

static void
float16(void **state)
{
	(void)state;
	every_value(&half);
}

static void
bfloat(void **state)
{
	(void)state;
	every_value(&bfloat16);
}

static void
rounds_once(void **state)
{
	(void)state;
	/* 1 + 2^-11 + 2^-40 is above the middle of two halves, but on it once it is a float. */
	assert_int_equal(dtype_to_half(1 + 0x1p-11 + 0x1p-40), 0x3c01);
	assert_int_equal(dtype_to_half((float)(1 + 0x1p-11 + 0x1p-40)), 0x3c00);
	/* 2^62 + 2^54 is the middle of two bfloat16; one more decides, and no double holds it. */
	uint16_t bits;
	dtype_store_integer(DTYPE_BFLOAT16, &bits, ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1);
	assert_true(dtype_from_bfloat16(bits) == 0x1p62 + 0x1p55);
	dtype_store_integer(DTYPE_BFLOAT16, &bits, ((int64_t)1 << 62) + ((int64_t)1 << 54));
	assert_true(dtype_from_bfloat16(bits) == 0x1p62);
}

static void
integers(void **state)
{
	unsigned char element[8];
	static const struct {
		enum dtype dtype;
		double in;
		int64_t out;
	} cases[] = {
		{ DTYPE_INT32, 0.5, 0 }, { DTYPE_INT32, 1.5, 2 }, { DTYPE_INT32, -2.5, -2 },
		{ DTYPE_INT32, 3e9, INT32_MAX }, { DTYPE_INT32, -3e9, INT32_MIN }, { DTYPE_INT32, NAN, 0 },
		{ DTYPE_INT64, 0x1p63, INT64_MAX }, { DTYPE_INT64, -0x1p63, INT64_MIN }, { DTYPE_INT64,
			INFINITY, INT64_MAX },
		{ DTYPE_INT64, 0x1p62, (int64_t)1 << 62 }, { DTYPE_UINT8, 255.5, 255 }, { DTYPE_UINT8, -1, 0 },
		{ DTYPE_UINT8, 254.5, 254 }, { DTYPE_BOOL, 0, 0 }, { DTYPE_BOOL, -0.25, 1 }, { DTYPE_BOOL, NAN,
			1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		dtype_store(cases[i].dtype, element, cases[i].in);
		assert_true(dtype_load_integer(cases[i].dtype, element) == cases[i].out);
		assert_true(dtype_load(cases[i].dtype, element) == (double)cases[i].out);
	}
	dtype_store_integer(DTYPE_UINT8, element, 300);
	assert_int_equal(element[0], 255);
	dtype_store_integer(DTYPE_INT32, element, INT64_MIN);
	assert_true(dtype_load_integer(DTYPE_INT32, element) == INT32_MIN);
	/* at an odd address */
	dtype_store_integer(DTYPE_INT32, element + 1, -7);
	assert_true(dtype_load_integer(DTYPE_INT32, element + 1) == -7);
	assert_true(dtype_round(DTYPE_FLOAT32, 0.1) == (double)0.1f);
	assert_true(isinf(dtype_round(DTYPE_FLOAT32, 1e39)));
}

static void
names(void **state)
{
	static const size_t bytes[] = { 8, 4, 2, 2, 8, 4, 1, 1 };
	enum dtype found;

	(void)state;
	for (int d = 0; d < DTYPE_COUNT; d++) {
		const char *name = dtype_name((enum dtype)d), *file_name = dtype_safetensors_name((enum dtype)d);

		assert_int_equal(dtype_from_name(name, strlen(name), &found), 0);
		assert_int_equal(found, d);
		assert_int_equal(dtype_from_name(name, strlen(name) - 1, &found), -1);
		assert_int_equal(dtype_from_safetensors_name(file_name, strlen(file_name), &found), 0);
		assert_int_equal(found, d);
		assert_int_equal(dtype_bytes((enum dtype)d), bytes[d]);
	}
	assert_string_equal(dtype_c_name(DTYPE_BFLOAT16), "__nv_bfloat16");
	assert_int_equal(dtype_from_name("float8", 6, &found), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(float16), cmocka_unit_test(bfloat), cmocka_unit_test(rounds_once),
		cmocka_unit_test(integers), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
