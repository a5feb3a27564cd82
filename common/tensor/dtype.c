/*
 * Element types: comes in a dtype and bytes, goes out a number, or the reverse.
 * The hard idea is rounding once: float16 and bfloat16 are cut out of the bits of a double, because a
 * detour over float rounds twice, and 64-bit integers keep a sticky bit on their way to bfloat16.
 */
#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name, *c_name, *safetensors_name;
	size_t bytes;
	bool is_float, is_integer;
	double unit_roundoff;
	int64_t low, high;
} dtypes[DTYPE_COUNT] = {
	[DTYPE_FLOAT64] = { "float64", "double", "F64", 8, true, false, 0x1p-53, 0, 0 },
	[DTYPE_FLOAT32] = { "float32", "float", "F32", 4, true, false, 0x1p-24, 0, 0 },
	[DTYPE_FLOAT16] = { "float16", "__half", "F16", 2, true, false, 0x1p-11, 0, 0 },
	[DTYPE_BFLOAT16] = { "bfloat16", "__nv_bfloat16", "BF16", 2, true, false, 0x1p-8, 0, 0 },
	[DTYPE_INT64] = { "int64", "int64_t", "I64", 8, false, true, 0, INT64_MIN, INT64_MAX },
	[DTYPE_INT32] = { "int32", "int32_t", "I32", 4, false, true, 0, INT32_MIN, INT32_MAX },
	[DTYPE_UINT8] = { "uint8", "uint8_t", "U8", 1, false, true, 0, 0, UINT8_MAX },
	[DTYPE_BOOL] = { "bool", "bool", "BOOL", 1, false, false, 0, 0, 1 },
};

const char *
dtype_name(enum dtype dtype)
{
	return dtypes[dtype].name;
}

const char *
dtype_c_name(enum dtype dtype)
{
	return dtypes[dtype].c_name;
}

const char *
dtype_safetensors_name(enum dtype dtype)
{
	return dtypes[dtype].safetensors_name;
}

static bool
same_name(const char *name, size_t length, const char *known)
{
	return strlen(known) == length && memcmp(name, known, length) == 0;
}

int
dtype_from_name(const char *name, size_t length, enum dtype *out)
{
	for (int d = 0; d < DTYPE_COUNT; d++)
		if (same_name(name, length, dtypes[d].name)) {
			*out = (enum dtype)d;
			return 0;
		}
	return -1;
}

int
dtype_from_safetensors_name(const char *name, size_t length, enum dtype *out)
{
	for (int d = 0; d < DTYPE_COUNT; d++)
		if (same_name(name, length, dtypes[d].safetensors_name)) {
			*out = (enum dtype)d;
			return 0;
		}
	return -1;
}

size_t
dtype_bytes(enum dtype dtype)
{
	return dtypes[dtype].bytes;
}

bool
dtype_is_float(enum dtype dtype)
{
	return dtypes[dtype].is_float;
}

bool
dtype_is_integer(enum dtype dtype)
{
	return dtypes[dtype].is_integer;
}

double
dtype_unit_roundoff(enum dtype dtype)
{
	return dtypes[dtype].unit_roundoff;
}

void
dtype_integer_range(enum dtype dtype, int64_t *low, int64_t *high)
{
	*low = dtypes[dtype].low;
	*high = dtypes[dtype].high;
}

/* ---- small floats: sign, exponent, `fraction` bits of significand */

static double
from_small(uint16_t bits, int exponent_bits, int fraction_bits)
{
	int top = (1 << exponent_bits) - 1, bias = top / 2;
	int exponent = (bits >> fraction_bits) & top;
	int fraction = bits & ((1 << fraction_bits) - 1);
	double value;

	if (exponent == top)
		value = fraction ? (double)NAN : (double)INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, 1 - bias - fraction_bits);
	else
		value = ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
	return bits & 0x8000 ? -value : value;
}

static uint16_t
to_small(double value, int exponent_bits, int fraction_bits)
{
	uint64_t bits, significand, rest, half, kept;
	int top = (1 << exponent_bits) - 1, bias = top / 2, exponent, shift;
	uint16_t sign;

	memcpy(&bits, &value, sizeof bits);
	sign = (uint16_t)(bits >> 63 << 15);
	exponent = (int)(bits >> 52 & 0x7ff);
	significand = bits & (((uint64_t)1 << 52) - 1);
	if (exponent == 0x7ff)
		return (uint16_t)(sign | top << fraction_bits | (significand ? 1 << (fraction_bits - 1) : 0));
	if (exponent == 0)
		return sign;	/* a subnormal double is below half of the smallest subnormal here */
	significand |= (uint64_t)1 << 52;
	exponent += bias - 1023;
	shift = 52 - fraction_bits + (exponent < 1 ? 1 - exponent : 0);
	if (shift > 53)
		return sign;
	kept = significand >> shift;
	rest = significand & (((uint64_t)1 << shift) - 1);
	half = (uint64_t)1 << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	/* kept carries the implicit bit, which moves the exponent up by one; so does a carry. */
	if (exponent >= 1)
		kept += (uint64_t)(exponent - 1) << fraction_bits;
	if (kept > (uint64_t)top << fraction_bits)
		kept = (uint64_t)top << fraction_bits;
	return (uint16_t)(sign | kept);
}

double
dtype_from_half(uint16_t bits)
{
	/* The float with the same fields is 2^112 too small, for normal and subnormal alike. */
	uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
	float value;

	if ((bits & 0x7c00) == 0x7c00)
		return from_small(bits, 5, 10);
	memcpy(&value, &wide, sizeof value);
	return (double)value * (bits & 0x8000 ? -0x1p112 : 0x1p112);
}

uint16_t
dtype_to_half(double value)
{
	return to_small(value, 5, 10);
}

double
dtype_from_bfloat16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof value);
	return value;
}

uint16_t
dtype_to_bfloat16(double value)
{
	return to_small(value, 8, 7);
}

/* ---- integers */

static int64_t
nearest_integer(double value, int64_t low, int64_t high)
{
	double rounded = nearbyint(value);

	if (isnan(value))
		return 0;
	/* 2^63 and above cannot be cast; (double)INT64_MAX is 2^63. */
	if (rounded >= (double)high)
		return high;
	if (rounded <= (double)low)
		return low;
	return (int64_t)rounded;
}

static int64_t
clamp_integer(enum dtype dtype, int64_t value)
{
	return value < dtypes[dtype].low ? dtypes[dtype].low
		: value > dtypes[dtype].high ? dtypes[dtype].high : value;
}

/* A double between whose bits and the integer nothing that a float32 or shorter can hold lies. */
static double
sticky_double(int64_t value)
{
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
	uint64_t lost = magnitude & 0xfff;

	if (magnitude >> 53)
		magnitude = (magnitude - lost) | (uint64_t)(lost != 0) << 12;
	return value < 0 ? -(double)magnitude : (double)magnitude;
}

/* ---- one element */

#define LOAD(type) ({ type load_; memcpy(&load_, element, sizeof load_); load_; })
#define STORE(type, what) do { type store_ = (type)(what); memcpy(element, &store_, sizeof store_); } while (0)

double
dtype_load(enum dtype dtype, const void *element)
{
	switch (dtype) {
	case DTYPE_FLOAT64: return LOAD(double);
	case DTYPE_FLOAT32: return LOAD(float);
	case DTYPE_FLOAT16: return dtype_from_half(LOAD(uint16_t));
	case DTYPE_BFLOAT16: return dtype_from_bfloat16(LOAD(uint16_t));
	case DTYPE_INT64: return (double)LOAD(int64_t);
	case DTYPE_INT32: return LOAD(int32_t);
	case DTYPE_UINT8: return LOAD(uint8_t);
	case DTYPE_BOOL: return LOAD(uint8_t) != 0;
	case DTYPE_COUNT: break;
	}
	return 0;
}

int64_t
dtype_load_integer(enum dtype dtype, const void *element)
{
	switch (dtype) {
	case DTYPE_INT64: return LOAD(int64_t);
	case DTYPE_INT32: return LOAD(int32_t);
	case DTYPE_UINT8: return LOAD(uint8_t);
	case DTYPE_BOOL: return LOAD(uint8_t) != 0;
	default: return nearest_integer(dtype_load(dtype, element), INT64_MIN, INT64_MAX);
	}
}

void
dtype_store(enum dtype dtype, void *element, double value)
{
	switch (dtype) {
	case DTYPE_FLOAT64: STORE(double, value); break;
	case DTYPE_FLOAT32: STORE(float, value); break;
	case DTYPE_FLOAT16: STORE(uint16_t, dtype_to_half(value)); break;
	case DTYPE_BFLOAT16: STORE(uint16_t, dtype_to_bfloat16(value)); break;
	case DTYPE_INT64: STORE(int64_t, nearest_integer(value, INT64_MIN, INT64_MAX)); break;
	case DTYPE_INT32: STORE(int32_t, nearest_integer(value, INT32_MIN, INT32_MAX)); break;
	case DTYPE_UINT8: STORE(uint8_t, nearest_integer(value, 0, UINT8_MAX)); break;
	case DTYPE_BOOL: STORE(uint8_t, !(value == 0)); break;
	case DTYPE_COUNT: break;
	}
}

void
dtype_store_integer(enum dtype dtype, void *element, int64_t value)
{
	switch (dtype) {
	case DTYPE_FLOAT64: STORE(double, value); break;
	case DTYPE_FLOAT32: STORE(float, value); break;
	case DTYPE_FLOAT16: STORE(uint16_t, dtype_to_half(sticky_double(value))); break;
	case DTYPE_BFLOAT16: STORE(uint16_t, dtype_to_bfloat16(sticky_double(value))); break;
	case DTYPE_INT64: STORE(int64_t, value); break;
	case DTYPE_INT32: STORE(int32_t, clamp_integer(dtype, value)); break;
	case DTYPE_UINT8: STORE(uint8_t, clamp_integer(dtype, value)); break;
	case DTYPE_BOOL: STORE(uint8_t, value != 0); break;
	case DTYPE_COUNT: break;
	}
}

double
dtype_round(enum dtype dtype, double value)
{
	char element[8];

	if (dtype == DTYPE_FLOAT64)
		return value;
	dtype_store(dtype, element, value);
	return dtype_load(dtype, element);
}
