/* Element types of tensors: names, sizes, and conversion of single elements to and from double and int64.
 * Conversion to float16 and bfloat16 is done in integer arithmetic, so results do not depend on the machine. */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dtype {
	DTYPE_FLOAT64, DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16,
	DTYPE_INT64, DTYPE_INT32, DTYPE_UINT8, DTYPE_BOOL,
	DTYPE_COUNT
};

/* "float16" in tasks and messages; "__half" in solve(); "F16" in safetensors files. Borrowed, static. */
const char *dtype_name(enum dtype dtype);
const char *dtype_c_name(enum dtype dtype);
const char *dtype_safetensors_name(enum dtype dtype);
/* The reverse; -1 for an unknown name. `name` need not be NUL-terminated. */
int dtype_from_name(const char *name, size_t length, enum dtype *out);
int dtype_from_safetensors_name(const char *name, size_t length, enum dtype *out);

size_t dtype_bytes(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);		/* float64 float32 float16 bfloat16 */
bool dtype_is_integer(enum dtype dtype);	/* int64 int32 uint8; bool is neither */
/* Unit roundoff of a float dtype: 2^-53, 2^-24, 2^-11, 2^-8; 0 for the others. */
double dtype_unit_roundoff(enum dtype dtype);
/* Smallest and largest value of an integer dtype or bool; 0, 0 for floats. */
void dtype_integer_range(enum dtype dtype, int64_t *low, int64_t *high);

/* One element at any address, aligned or not. int64 beyond 2^53 rounds to the nearest double.
 * bool gives 1 for every byte that is not zero. */
double dtype_load(enum dtype dtype, const void *element);
/* Integers and bool exactly; floats are rounded to the nearest integer as dtype_store does for int64. */
int64_t dtype_load_integer(enum dtype dtype, const void *element);

/* Stores with one rounding, to nearest, ties to even. Floats: overflow gives infinity, subnormals are
 * kept, NaN stays NaN (the quiet one, with its sign). Integers: rounded to the nearest integer (ties
 * to even), saturated at the ends of the range, NaN gives 0. bool: 0 for zero, 1 for all else and NaN. */
void dtype_store(enum dtype dtype, void *element, double value);
/* Integers saturate; floats take the nearest value of their own (one rounding from the integer). */
void dtype_store_integer(enum dtype dtype, void *element, int64_t value);
/* What dtype_load gives after dtype_store. */
double dtype_round(enum dtype dtype, double value);

/* IEEE 754 binary16 and bfloat16 as bit patterns. */
double dtype_from_half(uint16_t bits);
uint16_t dtype_to_half(double value);
double dtype_from_bfloat16(uint16_t bits);
uint16_t dtype_to_bfloat16(double value);

#endif
