/* Products of small matrices as the tensor cores of an H200 compute them, bit for bit: measured over 2048 and more
 * results of each shape and type, with exponents near and far, denormals, infinities and NaN among them. */
#ifndef PTX_TENSOR_CORE_H
#define PTX_TENSOR_CORE_H

#include "ptx/table.h"

enum { TENSOR_MAX = 32 };			/* rows, columns, depth */

/* c += a * b. a is rows x depth, b depth x columns, c rows x columns, all by rows and as bits of their types; c is of
 * type in before and out after. ta and tb: f16, bf16, tf32 (both the same) or e4m3 and e5m2, named by T_E4M3 and
 * T_E5M2; in and out: f16 or f32. depth is a multiple of 4 and at most 32, columns a multiple of 8.
 *
 * Products are exact. They and c are brought to the greatest exponent among them, cut (toward zero) 25 bits below it,
 * added exactly, and the sum is cut to fp32 or rounded to nearest even fp16. Products of 8-bit floats are made as
 * those of fp16, in two halves (columns 0, 1, 4, 5... first) from zero, and c is added last, in fp32 or fp16. */
void tensor_product(enum type ta, enum type tb, enum type in, enum type out, int rows, int columns, int depth,
	const uint32_t *a, const uint32_t *b, uint32_t *c);

/* The same for integers: s8, u8, s4 or u4 as unsigned bits, sums of 32 bits that wrap, or stay within their range.
 * depth is at most 64. */
void integer_product(enum type ta, enum type tb, int rows, int columns, int depth, const uint32_t *a, const uint32_t *b,
	bool saturate, uint32_t *c);

/* The value of an 8-bit float. */
float fp8_widen(uint8_t v, int exponent_bits);

#endif
