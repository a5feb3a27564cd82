/* Makes handlers from expressions: one loop over the lanes for each type. x, y, z are a lane's sources. */
#ifndef PTX_LANES_H
#define PTX_LANES_H

#include "ptx/machine.h"

#define UNARY(name, td, ta, expression) \
HANDLER(name) \
{ \
	td result[LANES] __attribute__((aligned(64))), *d = wide == FULL ? REG(td, i->d) : result; \
	const ta *a = REG(ta, i->a); \
	UNUSED(mask); \
	EACH_LANE(l) { \
		const ta x = a[l]; \
		d[l] = (td)(expression); \
	} \
	if (wide != FULL) \
		MERGE_LANES(REG(td, i->d), result, wide); \
}

/* The second handler takes the last source from insn.imm. */
#define BINARY_ONE(name, td, ta, tb, expression) \
HANDLER(name) \
{ \
	td result[LANES] __attribute__((aligned(64))), *d = wide == FULL ? REG(td, i->d) : result; \
	const ta *a = REG(ta, i->a); \
	const tb *b = REG(tb, i->b); \
	UNUSED(mask); \
	EACH_LANE(l) { \
		const ta x = a[l]; \
		const tb y = b[l]; \
		d[l] = (td)(expression); \
	} \
	if (wide != FULL) \
		MERGE_LANES(REG(td, i->d), result, wide); \
}

#define BINARY_IMM(name, td, ta, tb, expression) \
HANDLER(name##_imm) \
{ \
	td result[LANES] __attribute__((aligned(64))), *d = wide == FULL ? REG(td, i->d) : result; \
	const ta *a = REG(ta, i->a); \
	tb y; \
	__builtin_memcpy(&y, &i->imm, sizeof y); \
	UNUSED(mask); \
	EACH_LANE(l) { \
		const ta x = a[l]; \
		d[l] = (td)(expression); \
	} \
	if (wide != FULL) \
		MERGE_LANES(REG(td, i->d), result, wide); \
}

#define BINARY(name, td, ta, tb, expression) \
	BINARY_ONE(name, td, ta, tb, expression) \
	BINARY_IMM(name, td, ta, tb, expression)

#define TERNARY(name, td, ta, tb, tc, expression) \
HANDLER(name) \
{ \
	td result[LANES] __attribute__((aligned(64))), *d = wide == FULL ? REG(td, i->d) : result; \
	const ta *a = REG(ta, i->a); \
	const tb *b = REG(tb, i->b); \
	const tc *c = REG(tc, i->c); \
	UNUSED(mask); \
	EACH_LANE(l) { \
		const ta x = a[l]; \
		const tb y = b[l]; \
		const tc z = c[l]; \
		d[l] = (td)(expression); \
	} \
	if (wide != FULL) \
		MERGE_LANES(REG(td, i->d), result, wide); \
}

#endif
