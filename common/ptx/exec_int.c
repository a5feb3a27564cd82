/* Integer and bit instructions. Each handler is a loop over 32 lanes that the compiler vectorises; the macros
 * below make one for each type from an expression of x, y and z. */
#include "ptx/lanes.h"
#include "ptx/table.h"

/* ---- arithmetic. Unsigned types throughout where the sign does not matter: no overflow is undefined. */
BINARY(add_16, u16, u16, u16, (u16)(x + y))
BINARY(add_32, u32, u32, u32, x + y)
BINARY(add_64, u64, u64, u64, x + y)
BINARY(sub_16, u16, u16, u16, (u16)(x - y))
BINARY(sub_32, u32, u32, u32, x - y)
BINARY(sub_64, u64, u64, u64, x - y)
BINARY(mul_lo_16, u16, u16, u16, (u16)((u32)x * y))
BINARY(mul_lo_32, u32, u32, u32, x * y)
BINARY(mul_lo_64, u64, u64, u64, x * y)
BINARY(mul_hi_u16, u16, u16, u16, (u16)((u32)x * y >> 16))
BINARY(mul_hi_s16, s16, s16, s16, (s16)((s32)x * y >> 16))
BINARY(mul_hi_u32, u32, u32, u32, (u32)((u64)x * y >> 32))
BINARY(mul_hi_s32, s32, s32, s32, (s32)((s64)x * y >> 32))
BINARY(mul_hi_u64, u64, u64, u64, (u64)((unsigned __int128)x * y >> 64))
BINARY(mul_hi_s64, s64, s64, s64, (s64)((__int128)x * y >> 64))
BINARY(mul_wide_u16, u32, u16, u16, (u32)x * y)
BINARY(mul_wide_s16, s32, s16, s16, (s32)x * y)
BINARY(mul_wide_u32, u64, u32, u32, (u64)x * y)
BINARY(mul_wide_s32, s64, s32, s32, (s64)x * y)
TERNARY(mad_lo_16, u16, u16, u16, u16, (u16)((u32)x * y + z))
TERNARY(mad_lo_32, u32, u32, u32, u32, x * y + z)
TERNARY(mad_lo_64, u64, u64, u64, u64, x * y + z)
TERNARY(mad_hi_u16, u16, u16, u16, u16, (u16)(((u32)x * y >> 16) + z))
TERNARY(mad_hi_s16, u16, s16, s16, u16, (u16)((u32)((s32)x * y >> 16) + z))
TERNARY(mad_hi_u32, u32, u32, u32, u32, (u32)((u64)x * y >> 32) + z)
TERNARY(mad_hi_s32, u32, s32, s32, u32, (u32)((s64)x * y >> 32) + z)
TERNARY(mad_hi_u64, u64, u64, u64, u64, (u64)((unsigned __int128)x * y >> 64) + z)
TERNARY(mad_hi_s64, u64, s64, s64, u64, (u64)((__int128)x * y >> 64) + z)
TERNARY(mad_wide_u16, u32, u16, u16, u32, (u32)x * y + z)
TERNARY(mad_wide_s16, u32, s16, s16, u32, (u32)((s32)x * y) + z)
TERNARY(mad_wide_u32, u64, u32, u32, u64, (u64)x * y + z)
TERNARY(mad_wide_s32, u64, s32, s32, u64, (u64)((s64)x * y) + z)

/* 24-bit products of the low 24 bits */
#define S24(v) ((s64)((s32)((u32)(v) << 8) >> 8))
#define U24(v) ((u64)((v) & 0xffffff))
BINARY(mul24_lo_u32, u32, u32, u32, (u32)(U24(x) * U24(y)))
BINARY(mul24_hi_u32, u32, u32, u32, (u32)(U24(x) * U24(y) >> 16))
BINARY(mul24_lo_s32, u32, u32, u32, (u32)(S24(x) * S24(y)))
BINARY(mul24_hi_s32, u32, u32, u32, (u32)(S24(x) * S24(y) >> 16))
TERNARY(mad24_lo_u32, u32, u32, u32, u32, (u32)(U24(x) * U24(y)) + z)
TERNARY(mad24_hi_u32, u32, u32, u32, u32, (u32)(U24(x) * U24(y) >> 16) + z)
TERNARY(mad24_lo_s32, u32, u32, u32, u32, (u32)(S24(x) * S24(y)) + z)
TERNARY(mad24_hi_s32, u32, u32, u32, u32, (u32)(S24(x) * S24(y) >> 16) + z)

static inline s32
clamp_s32(s64 v)
{
	return (s32)(v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v);
}
TERNARY(mad24_hi_sat_s32, s32, u32, u32, s32, clamp_s32((s64)(s32)(u32)(S24(x) * S24(y) >> 16) + z))
BINARY(add_sat_s32, s32, s32, s32, clamp_s32((s64)x + y))
BINARY(sub_sat_s32, s32, s32, s32, clamp_s32((s64)x - y))
TERNARY(mad_hi_sat_s32, s32, s32, s32, s32, clamp_s32(((s64)x * y >> 32) + z))

/* Division by zero is no error on a GPU: quotient and remainder have all bits set, as an H200 gives. */
BINARY(div_u16, u16, u16, u16, y ? (u16)(x / y) : 0xffff)
BINARY(div_s16, s16, s16, s16, y ? (s16)(x / y) : (s16)-1)
BINARY(div_u32, u32, u32, u32, y ? x / y : 0xffffffffu)
BINARY(div_s32, s32, s32, s32, !y ? -1 : y == -1 ? (s32)(0u - (u32)x) : x / y)
BINARY(div_u64, u64, u64, u64, y ? x / y : UINT64_MAX)
BINARY(div_s64, s64, s64, s64, !y ? -1 : y == -1 ? (s64)(0ull - (u64)x) : x / y)
BINARY(rem_u16, u16, u16, u16, y ? (u16)(x % y) : 0xffff)
BINARY(rem_s16, s16, s16, s16, y ? (s16)(x % y) : (s16)-1)
BINARY(rem_u32, u32, u32, u32, y ? x % y : 0xffffffffu)
BINARY(rem_s32, s32, s32, s32, !y ? -1 : y == -1 ? 0 : x % y)
BINARY(rem_u64, u64, u64, u64, y ? x % y : UINT64_MAX)
BINARY(rem_s64, s64, s64, s64, !y ? -1 : y == -1 ? 0 : x % y)

#define MINMAX(suffix, type) \
	BINARY(min_##suffix, type, type, type, x < y ? x : y) \
	BINARY(max_##suffix, type, type, type, x > y ? x : y)
MINMAX(u16, u16)
MINMAX(s16, s16)
MINMAX(u32, u32)
MINMAX(s32, s32)
MINMAX(u64, u64)
MINMAX(s64, s64)
BINARY(min_relu_s32, s32, s32, s32, (x < y ? x : y) < 0 ? 0 : x < y ? x : y)
BINARY(max_relu_s32, s32, s32, s32, (x > y ? x : y) < 0 ? 0 : x > y ? x : y)

/* Two 16-bit integers in one register */
#define HALVES(type, low, high) ((u32)(u16)(low) | (u32)(u16)(high) << 16)
#define X2(name, type, operator) \
	BINARY(name, u32, u32, u32, HALVES(type, (type)x operator (type)y ? (type)x : (type)y, \
		(type)(x >> 16) operator (type)(y >> 16) ? (type)(x >> 16) : (type)(y >> 16)))
X2(min_u16x2, u16, <)
X2(max_u16x2, u16, >)
X2(min_s16x2, s16, <)
X2(max_s16x2, s16, >)
#define RELU16(v) ((s16)(v) < 0 ? 0 : (s16)(v))
#define X2_RELU(name, operator) \
	BINARY(name, u32, u32, u32, HALVES(s16, RELU16((s16)x operator (s16)y ? x : y), \
		RELU16((s16)(x >> 16) operator (s16)(y >> 16) ? x >> 16 : y >> 16)))
X2_RELU(min_relu_s16x2, <)
X2_RELU(max_relu_s16x2, >)
BINARY(add_16x2, u32, u32, u32, HALVES(u16, x + y, (x >> 16) + (y >> 16)))

UNARY(abs_s16, s16, s16, (s16)(x < 0 ? -x : x))
UNARY(abs_s32, s32, s32, x < 0 ? (s32)(0u - (u32)x) : x)
UNARY(abs_s64, s64, s64, x < 0 ? (s64)(0ull - (u64)x) : x)
UNARY(neg_16, u16, u16, (u16)-x)
UNARY(neg_32, u32, u32, 0u - x)
UNARY(neg_64, u64, u64, 0ull - x)

#define DIFFERENCE(x, y) ((x) < (y) ? (u64)(y) - (u64)(x) : (u64)(x) - (u64)(y))
TERNARY(sad_u16, u16, u16, u16, u16, (u16)(DIFFERENCE(x, y) + z))
TERNARY(sad_s16, u16, s16, s16, u16, (u16)(DIFFERENCE(x, y) + z))
TERNARY(sad_u32, u32, u32, u32, u32, (u32)DIFFERENCE(x, y) + z)
TERNARY(sad_s32, u32, s32, s32, u32, (u32)DIFFERENCE(x, y) + z)
TERNARY(sad_u64, u64, u64, u64, u64, DIFFERENCE(x, y) + z)
TERNARY(sad_s64, u64, s64, s64, u64, DIFFERENCE(x, y) + z)

/* ---- carry chains: the condition code is a bit for each lane in warp.carry */

enum { CARRY_OUT = 1, CARRY_IN = 2, CARRY_SUBTRACT = 4, CARRY_LO = 8, CARRY_HI = 16, CARRY_SIGNED = 32 };

#define CARRY(name, type, stype, wide_type, wide_stype) \
HANDLER(name) \
{ \
	UNUSED(wide); \
	enum { BITS = 8 * sizeof(type) }; \
	uint32_t carry = 0; \
	EACH_IN(mask, l) { \
		type x = REG(type, i->a)[l], y = REG(type, i->b)[l]; \
		wide_type in = i->sub & CARRY_IN ? w->carry >> l & 1 : 0, sum; \
		if (i->sub & (CARRY_LO | CARRY_HI)) { \
			wide_type product = i->sub & CARRY_SIGNED ? (wide_type)((wide_stype)(stype)x * (stype)y) : (wide_type)x * y; \
			x = (type)(i->sub & CARRY_HI ? product >> BITS : product); \
			y = REG(type, i->c)[l]; \
		} \
		sum = i->sub & CARRY_SUBTRACT ? (wide_type)x - y - in : (wide_type)x + y + in; \
		carry |= (uint32_t)(sum >> BITS & 1) << l; \
		REG(type, i->d)[l] = (type)sum; \
	} \
	if (i->sub & CARRY_OUT) \
		w->carry = (w->carry & ~mask) | carry; \
}
CARRY(carry_32, u32, s32, uint64_t, int64_t)
CARRY(carry_64, u64, s64, unsigned __int128, __int128)

/* ---- logic and shifts */

#define LOGIC(name, operator) \
	BINARY(name##_16, u16, u16, u16, (u16)(x operator y)) \
	BINARY(name##_32, u32, u32, u32, x operator y) \
	BINARY(name##_64, u64, u64, u64, x operator y)
LOGIC(and, &)
LOGIC(or, |)
LOGIC(xor, ^)
UNARY(not_16, u16, u16, (u16)~x)
UNARY(not_32, u32, u32, ~x)
UNARY(not_64, u64, u64, ~x)
UNARY(cnot_16, u16, u16, (u16)!x)
UNARY(cnot_32, u32, u32, !x)
UNARY(cnot_64, u64, u64, !x)

BINARY(shl_16, u16, u16, u32, y > 15 ? 0 : (u16)(x << (y & 15)))
BINARY(shl_32, u32, u32, u32, y > 31 ? 0 : x << (y & 31))
BINARY(shl_64, u64, u64, u32, y > 63 ? 0 : x << (y & 63))
BINARY(shr_u16, u16, u16, u32, y > 15 ? 0 : (u16)(x >> (y & 15)))
BINARY(shr_u32, u32, u32, u32, y > 31 ? 0 : x >> (y & 31))
BINARY(shr_u64, u64, u64, u32, y > 63 ? 0 : x >> (y & 63))
BINARY(shr_s16, s16, s16, u32, (s16)(x >> (y > 15 ? 15 : y)))
BINARY(shr_s32, s32, s32, u32, x >> (y > 31 ? 31 : y))
BINARY(shr_s64, s64, s64, u32, x >> (y > 63 ? 63 : y))

/* shf: bits of y:x; the amount is cut to 32 or taken modulo 32 */
#define PAIR(x, y) ((u64)(y) << 32 | (x))
#define CLAMP32(z) ((z) > 32 ? 32 : (z))
TERNARY(shf_l_wrap, u32, u32, u32, u32, (u32)(PAIR(x, y) << (z & 31) >> 32))
TERNARY(shf_l_clamp, u32, u32, u32, u32, CLAMP32(z) == 32 ? x : (u32)(PAIR(x, y) << (z & 31) >> 32))
TERNARY(shf_r_wrap, u32, u32, u32, u32, (u32)(PAIR(x, y) >> (z & 31)))
TERNARY(shf_r_clamp, u32, u32, u32, u32, (u32)(PAIR(x, y) >> CLAMP32(z)))

/* The manual takes position and length modulo 256; an H200 does so for 32 bits, but not for 64. */
static inline uint32_t
field_amount(uint32_t v, uint32_t bits)
{
	return bits == 64 ? v < 255 ? v : 255 : v & 255;
}

static inline uint64_t
extract(uint64_t value, uint32_t at, uint32_t count, uint32_t bits, bool is_signed)
{
	at = field_amount(at, bits);
	count = field_amount(count, bits);
	uint32_t top = at + count - 1 < bits - 1 ? at + count - 1 : bits - 1;
	uint64_t sign = is_signed && count ? value >> top & 1 : 0;
	uint64_t field = at >= bits ? 0 : value >> at;
	uint32_t have = at >= bits ? 0 : bits - at;
	uint32_t keep = count < have ? count : have;
	uint64_t low = keep >= 64 ? UINT64_MAX : (1ull << keep) - 1;
	return (field & low) | (sign && keep < 64 ? ~low : 0);
}
TERNARY(bfe_u32, u32, u32, u32, u32, (u32)extract(x, y, z, 32, false))
TERNARY(bfe_s32, u32, u32, u32, u32, (u32)extract(x, y, z, 32, true))
TERNARY(bfe_u64, u64, u64, u32, u32, extract(x, y, z, 64, false))
TERNARY(bfe_s64, u64, u64, u32, u32, extract(x, y, z, 64, true))

static inline uint64_t
insert(uint64_t field, uint64_t into, uint32_t at, uint32_t count, uint32_t bits)
{
	at = field_amount(at, bits);
	count = field_amount(count, bits);
	if (at >= bits || !count)
		return into;
	uint64_t low = count >= 64 ? UINT64_MAX : (1ull << count) - 1, keep = low << at;
	return (into & ~keep) | ((field << at) & keep);
}
#define BFI(name, type, bits) \
HANDLER(name) \
{ \
	type result[LANES]; \
	const type *a = REG(type, i->a), *b = REG(type, i->b); \
	const u32 *c = REG(u32, i->c), *e = REG(u32, i->e); \
	UNUSED(wide); \
	for (int l = 0; l < LANES; l++) \
		result[l] = (type)insert(a[l], b[l], c[l], e[l], bits); \
	MERGE_LANES(REG(type, i->d), result, mask); \
}
BFI(bfi_32, u32, 32)
BFI(bfi_64, u64, 64)

#define HIGHEST_32(v) ((v) ? 31u - (u32)__builtin_clz(v) : FULL)
#define HIGHEST_64(v) ((v) ? 63u - (u32)__builtin_clzll(v) : FULL)
#define SHIFT_AMOUNT(found, bits) ((found) == FULL ? FULL : (bits) - 1 - (found))
UNARY(bfind_u32, u32, u32, HIGHEST_32(x))
UNARY(bfind_s32, u32, s32, HIGHEST_32((u32)(x < 0 ? ~x : x)))
UNARY(bfind_u64, u32, u64, HIGHEST_64(x))
UNARY(bfind_s64, u32, s64, HIGHEST_64((u64)(x < 0 ? ~x : x)))
UNARY(bfind_shift_u32, u32, u32, SHIFT_AMOUNT(HIGHEST_32(x), 32))
UNARY(bfind_shift_s32, u32, s32, SHIFT_AMOUNT(HIGHEST_32((u32)(x < 0 ? ~x : x)), 32))
UNARY(bfind_shift_u64, u32, u64, SHIFT_AMOUNT(HIGHEST_64(x), 64))
UNARY(bfind_shift_s64, u32, s64, SHIFT_AMOUNT(HIGHEST_64((u64)(x < 0 ? ~x : x)), 64))

static inline uint64_t
reverse(uint64_t v)
{
	v = (v >> 1 & 0x5555555555555555ull) | (v & 0x5555555555555555ull) << 1;
	v = (v >> 2 & 0x3333333333333333ull) | (v & 0x3333333333333333ull) << 2;
	v = (v >> 4 & 0x0f0f0f0f0f0f0f0full) | (v & 0x0f0f0f0f0f0f0f0full) << 4;
	return __builtin_bswap64(v);
}
UNARY(brev_32, u32, u32, (u32)(reverse(x) >> 32))
UNARY(brev_64, u64, u64, reverse(x))
UNARY(popc_32, u32, u32, (u32)__builtin_popcount(x))
UNARY(popc_64, u32, u64, (u32)__builtin_popcountll(x))
UNARY(clz_32, u32, u32, x ? (u32)__builtin_clz(x) : 32)
UNARY(clz_64, u32, u64, x ? (u32)__builtin_clzll(x) : 64)
BINARY(bmsk_clamp, u32, u32, u32, (u32)insert(UINT64_MAX, 0, x > 255 ? 255 : x, y > 255 ? 255 : y, 32))
BINARY(bmsk_wrap, u32, u32, u32, (u32)insert(UINT64_MAX, 0, x & 31, y & 31, 32))
BINARY(szext_u32, u32, u32, u32, y > 31 ? x : x & ((1u << (y & 31)) - 1))
BINARY(szext_s32, u32, u32, u32, y > 31 ? x : y == 0 ? 0 : (u32)((s32)(x << ((32 - y) & 31)) >> ((32 - y) & 31)))

BINARY(szext_wrap_u32, u32, u32, u32, x & ((1u << (y & 31)) - 1))
BINARY(szext_wrap_s32, u32, u32, u32, (y & 31) == 0 ? 0 : (u32)((s32)(x << (32 - (y & 31))) >> (32 - (y & 31))))

/* lop3: bit k of the table is the result where a, b, c have the bits of k */
HANDLER(lop3)
{
	u32 result[LANES], *d = wide == FULL ? REG(u32, i->d) : result;
	const u32 *a = REG(u32, i->a), *b = REG(u32, i->b), *c = REG(u32, i->c);
	u32 bit[8];
	for (int k = 0; k < 8; k++)
		bit[k] = i->imm >> k & 1 ? FULL : 0;
	UNUSED(mask);
	EACH_LANE(l) {
		u32 x = a[l], y = b[l], z = c[l];
		u32 low = (~y & ((~z & bit[0]) | (z & bit[1]))) | (y & ((~z & bit[2]) | (z & bit[3])));
		u32 high = (~y & ((~z & bit[4]) | (z & bit[5]))) | (y & ((~z & bit[6]) | (z & bit[7])));
		d[l] = (~x & low) | (x & high);
	}
	if (d == result)
		MERGE_LANES(REG(u32, i->d), result, wide);
}

static bool
decode_lop3(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct statement three = *s;
	int64_t table;
	if (s->n_operands != 5 || !decode_immediate(&s->operands[4], T_B32, &table) || table < 0 || table > 255)
		return decode_fail(d, "without its table");
	three.n_operands = 4;
	if (!decode_by_operands(d, row, mods, &three))
		return false;
	decode_insn(d)->imm = table;
	return true;
}

/* lop3.and and lop3.or: a predicate as well, whether the result is not 0 and (or) another predicate holds */
HANDLER(lop3_predicate)
{
	u32 result[LANES] __attribute__((aligned(64)));
	const u32 *a = REG(u32, i->a), *b = REG(u32, i->b), *c = REG(u32, i->c);
	uint32_t some = 0, other = PREDICATE(i->list[0]) ^ (i->negated >> F_LIST & 1 ? FULL : 0);
	UNUSED(wide);
	for (int l = 0; l < LANES; l++) {
		u32 r = 0;
		for (int k = 0; k < 8; k++)
			if (i->imm >> k & 1)
				r |= (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
		result[l] = r;
		some |= (uint32_t)(r != 0) << l;
	}
	if (i->d != NO_REG)
		merge_32(REG(u32, i->d), result, mask);
	set_predicate(w, i->e, i->sub == OP_AND ? some & other : some | other, mask);
}

static bool
decode_lop3_predicate(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	UNUSED(row);
	if (s->n_operands != 6 || o->kind != O_PAIR || !decode_immediate(&o[4], T_B32, &i->imm) || i->imm < 0 || i->imm > 255)
		return decode_fail(d, "without its table and its predicates");
	i->run = lop3_predicate;
	i->sub = mods->field[M_BOOL];
	decode_list(d, 1);
	return decode_destination(d, &o->items[0], 4, true, F_D) && decode_destination(d, &o->items[1], 1, true, F_E)
		&& decode_source(d, &o[1], T_B32, true, F_A) && decode_source(d, &o[2], T_B32, true, F_B)
		&& decode_source(d, &o[3], T_B32, true, F_C) && decode_predicate(d, &o[5], F_LIST);
}

/* fns: the n-th bit that is set, from bit `base` on, upward or downward; n 0: only bit `base` itself */
static inline uint32_t
find_nth(uint32_t bits, uint32_t base, int32_t n)
{
	int64_t count = n < 0 ? -(int64_t)n : n;
	if (!n)
		return base < 32 && bits >> base & 1 ? base : FULL;
	for (int64_t at = base; at >= 0 && at < 32; at += n > 0 ? 1 : -1)
		if (bits >> at & 1 && !--count)
			return (uint32_t)at;
	return FULL;
}
TERNARY(fns, u32, u32, u32, s32, find_nth(x, y, z))

/* prmt: four selectors of 4 bits pick bytes of y:x; bit 3 replicates the sign */
static inline uint32_t
permute(uint32_t x, uint32_t y, uint32_t selectors)
{
	uint64_t bytes = PAIR(x, y);
	uint32_t result = 0;
	for (int k = 0; k < 4; k++) {
		uint32_t s = selectors >> 4 * k & 15, byte = (uint32_t)(bytes >> 8 * (s & 7)) & 255;
		if (s & 8)
			byte = byte & 128 ? 255 : 0;
		result |= byte << 8 * k;
	}
	return result;
}
TERNARY(prmt, u32, u32, u32, u32, permute(x, y, z))

static inline uint32_t
mode_selectors(uint32_t mode, uint32_t z)
{
	uint32_t s = z & 3, out = 0;
	for (uint32_t k = 0; k < 4; k++) {
		uint32_t pick;
		switch (mode) {
		case 1: pick = s + k; break;						/* f4e */
		case 2: pick = (s - k) & 7; break;					/* b4e */
		case 3: pick = s; break;						/* rc8 */
		case 4: pick = k > s ? k : s; break;					/* ecl */
		case 5: pick = k < s ? k : s; break;					/* ecr */
		default: pick = (k & 1) + (s & 1) * 2; break;				/* rc16 */
		}
		out |= pick << 4 * k;
	}
	return out;
}
TERNARY(prmt_mode, u32, u32, u32, u32, permute(x, y, mode_selectors(i->sub, z)))

static bool
decode_prmt_mode(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	if (!decode_by_operands(d, row, mods, s))
		return false;
	decode_insn(d)->sub = mods->field[M_WRAP];
	return true;
}

/* dp4a, dp2a: sums of products of bytes; the second type is that of b */
#define BYTE(type, v, k) ((s32)(type)((v) >> 8 * (k)))
#define DP4A(name, ta, tb) \
	TERNARY(name, u32, u32, u32, u32, z + (u32)(BYTE(ta, x, 0) * BYTE(tb, y, 0) + BYTE(ta, x, 1) * BYTE(tb, y, 1) \
		+ BYTE(ta, x, 2) * BYTE(tb, y, 2) + BYTE(ta, x, 3) * BYTE(tb, y, 3)))
DP4A(dp4a_uu, u8, u8)
DP4A(dp4a_us, u8, s8)
DP4A(dp4a_su, s8, u8)
DP4A(dp4a_ss, s8, s8)
#define DP2A(name, ta, tb, first) \
	TERNARY(name, u32, u32, u32, u32, z + (u32)(s32)((s64)(s32)(ta)x * BYTE(tb, y, first) \
		+ (s64)(s32)(ta)(x >> 16) * BYTE(tb, y, (first) + 1)))
DP2A(dp2a_lo_uu, u16, u8, 0)
DP2A(dp2a_lo_us, u16, s8, 0)
DP2A(dp2a_lo_su, s16, u8, 0)
DP2A(dp2a_lo_ss, s16, s8, 0)
DP2A(dp2a_hi_uu, u16, u8, 2)
DP2A(dp2a_hi_us, u16, s8, 2)
DP2A(dp2a_hi_su, s16, u8, 2)
DP2A(dp2a_hi_ss, s16, s8, 2)

/* ---- predicates are masks */
#define PREDICATES(name, expression) \
HANDLER(name) \
{ \
	uint32_t x = PREDICATE(i->a) ^ (i->negated >> 1 & 1 ? FULL : 0); \
	uint32_t y = i->b == NO_REG ? 0 : PREDICATE(i->b) ^ (i->negated >> 2 & 1 ? FULL : 0); \
	UNUSED(wide); \
	UNUSED(y); \
	set_predicate(w, i->d, expression, mask); \
}
PREDICATES(and_pred, x & y)
PREDICATES(or_pred, x | y)
PREDICATES(xor_pred, x ^ y)
PREDICATES(not_pred, ~x)

/* ---- rows */

#define RUN3(f16, f32_, f64_) { [T_U16] = f16, [T_S16] = f16, [T_U32] = f32_, [T_S32] = f32_, [T_U64] = f64_, [T_S64] = f64_ }
#define RUN6(f) { [T_U16] = f##_u16, [T_S16] = f##_s16, [T_U32] = f##_u32, [T_S32] = f##_s32, \
	[T_U64] = f##_u64, [T_S64] = f##_s64 }
#define RUN6_IMM(f) { [T_U16] = f##_u16_imm, [T_S16] = f##_s16_imm, [T_U32] = f##_u32_imm, [T_S32] = f##_s32_imm, \
	[T_U64] = f##_u64_imm, [T_S64] = f##_s64_imm }
#define RUN_WIDE(f) { [T_U16] = f##_u16, [T_S16] = f##_s16, [T_U32] = f##_u32, [T_S32] = f##_s32 }
#define RUN_WIDE_IMM(f) { [T_U16] = f##_u16_imm, [T_S16] = f##_s16_imm, [T_U32] = f##_u32_imm, [T_S32] = f##_s32_imm }
#define RUN_BITS(f) { [T_B16] = f##_16, [T_B32] = f##_32, [T_B64] = f##_64 }
#define RUN_BITS_IMM(f) { [T_B16] = f##_16_imm, [T_B32] = f##_32_imm, [T_B64] = f##_64_imm }
#define RUN_24(f) { [T_U32] = f##_u32, [T_S32] = f##_s32 }
#define D_A_B "dT aT bT"
#define D_A_B_C "dT aT bT cT"

#define CARRY_ROWS(name, pattern, operands, flags) \
	{ name, pattern " .u32|.s32|.b32", operands, \
		.run = { [T_U32] = carry_32, [T_S32] = carry_32, [T_B32] = carry_32 }, .sub = (flags) }, \
	{ name, pattern " .u64|.s64|.b64", operands, \
		.run = { [T_U64] = carry_64, [T_S64] = carry_64, [T_B64] = carry_64 }, .sub = (flags) }
#define MAD_CARRY_ROWS(name, half, flag, more) \
	{ name, half more " .u32", D_A_B_C, .run = { [T_U32] = carry_32 }, .sub = (flag) }, \
	{ name, half more " .s32", D_A_B_C, .run = { [T_S32] = carry_32 }, .sub = (flag) | CARRY_SIGNED }, \
	{ name, half more " .u64", D_A_B_C, .run = { [T_U64] = carry_64 }, .sub = (flag) }, \
	{ name, half more " .s64", D_A_B_C, .run = { [T_S64] = carry_64 }, .sub = (flag) | CARRY_SIGNED }

static const struct row rows[] = {
	{ "add", "T", D_A_B, .run = RUN3(add_16, add_32, add_64), .run_imm = RUN3(add_16_imm, add_32_imm, add_64_imm) },
	{ "add", ".sat .s32", D_A_B, .run = { [T_S32] = add_sat_s32 } },
	{ "add", ".u16x2|.s16x2", "db32 ab32 bb32", .run = { [T_B32] = add_16x2 } },
	{ "sub", "T", D_A_B, .run = RUN3(sub_16, sub_32, sub_64), .run_imm = RUN3(sub_16_imm, sub_32_imm, sub_64_imm) },
	{ "sub", ".sat .s32", D_A_B, .run = { [T_S32] = sub_sat_s32 } },
	{ "mul", ".lo T", D_A_B, .run = RUN3(mul_lo_16, mul_lo_32, mul_lo_64),
		.run_imm = RUN3(mul_lo_16_imm, mul_lo_32_imm, mul_lo_64_imm) },
	{ "mul", ".hi T", D_A_B, .run = RUN6(mul_hi), .run_imm = RUN6_IMM(mul_hi) },
	{ "mul", ".wide T", "dW aT bT", .run = RUN_WIDE(mul_wide), .run_imm = RUN_WIDE_IMM(mul_wide) },
	{ "mad", ".lo T", D_A_B_C, .run = RUN3(mad_lo_16, mad_lo_32, mad_lo_64) },
	{ "mad", ".hi T", D_A_B_C, .run = RUN6(mad_hi) },
	{ "mad", ".hi .sat .s32", D_A_B_C, .run = { [T_S32] = mad_hi_sat_s32 } },
	{ "mad", ".wide T", "dW aT bT cW", .run = RUN_WIDE(mad_wide) },
	{ "mul24", ".lo T", D_A_B, .run = RUN_24(mul24_lo) },
	{ "mul24", ".hi T", D_A_B, .run = RUN_24(mul24_hi) },
	{ "mad24", ".lo T", D_A_B_C, .run = RUN_24(mad24_lo) },
	{ "mad24", ".hi T", D_A_B_C, .run = RUN_24(mad24_hi) },
	{ "mad24", ".hi .sat .s32", D_A_B_C, .run = { [T_S32] = mad24_hi_sat_s32 } },
	{ "div", "T", D_A_B, .run = RUN6(div), .run_imm = RUN6_IMM(div) },
	{ "rem", "T", D_A_B, .run = RUN6(rem), .run_imm = RUN6_IMM(rem) },
	{ "min", "T", D_A_B, .run = RUN6(min), .run_imm = RUN6_IMM(min) },
	{ "max", "T", D_A_B, .run = RUN6(max), .run_imm = RUN6_IMM(max) },
	{ "min", ".relu .s32", D_A_B, .run = { [T_S32] = min_relu_s32 } },
	{ "max", ".relu .s32", D_A_B, .run = { [T_S32] = max_relu_s32 } },
	{ "min", ".u16x2", "db32 ab32 bb32", .run = { [T_B32] = min_u16x2 } },
	{ "min", ".s16x2", "db32 ab32 bb32", .run = { [T_B32] = min_s16x2 } },
	{ "max", ".u16x2", "db32 ab32 bb32", .run = { [T_B32] = max_u16x2 } },
	{ "max", ".s16x2", "db32 ab32 bb32", .run = { [T_B32] = max_s16x2 } },
	{ "min", ".relu .s16x2", "db32 ab32 bb32", .run = { [T_B32] = min_relu_s16x2 } },
	{ "max", ".relu .s16x2", "db32 ab32 bb32", .run = { [T_B32] = max_relu_s16x2 } },
	{ "abs", "T", "dT aT", .run = { [T_S16] = abs_s16, [T_S32] = abs_s32, [T_S64] = abs_s64 } },
	{ "neg", "T", "dT aT", .run = { [T_S16] = neg_16, [T_S32] = neg_32, [T_S64] = neg_64 } },
	{ "sad", "T", D_A_B_C, .run = RUN6(sad) },
	CARRY_ROWS("add", ".cc", D_A_B, CARRY_OUT),
	CARRY_ROWS("addc", ".cc", D_A_B, CARRY_OUT | CARRY_IN),
	CARRY_ROWS("addc", "", D_A_B, CARRY_IN),
	CARRY_ROWS("sub", ".cc", D_A_B, CARRY_SUBTRACT | CARRY_OUT),
	CARRY_ROWS("subc", ".cc", D_A_B, CARRY_SUBTRACT | CARRY_OUT | CARRY_IN),
	CARRY_ROWS("subc", "", D_A_B, CARRY_SUBTRACT | CARRY_IN),
	MAD_CARRY_ROWS("mad", ".lo", CARRY_LO | CARRY_OUT, " .cc"),
	MAD_CARRY_ROWS("mad", ".hi", CARRY_HI | CARRY_OUT, " .cc"),
	MAD_CARRY_ROWS("madc", ".lo", CARRY_LO | CARRY_OUT | CARRY_IN, " .cc"),
	MAD_CARRY_ROWS("madc", ".hi", CARRY_HI | CARRY_OUT | CARRY_IN, " .cc"),
	MAD_CARRY_ROWS("madc", ".lo", CARRY_LO | CARRY_IN, ""),
	MAD_CARRY_ROWS("madc", ".hi", CARRY_HI | CARRY_IN, ""),
	{ "and", "T", D_A_B, .run = RUN_BITS(and), .run_imm = RUN_BITS_IMM(and) },
	{ "or", "T", D_A_B, .run = RUN_BITS(or), .run_imm = RUN_BITS_IMM(or) },
	{ "xor", "T", D_A_B, .run = RUN_BITS(xor), .run_imm = RUN_BITS_IMM(xor) },
	{ "not", "T", "dT aT", .run = RUN_BITS(not) },
	{ "cnot", "T", "dT aT", .run = RUN_BITS(cnot) },
	{ "and", ".pred", "dP aP bP", .run = { [T_PRED] = and_pred } },
	{ "or", ".pred", "dP aP bP", .run = { [T_PRED] = or_pred } },
	{ "xor", ".pred", "dP aP bP", .run = { [T_PRED] = xor_pred } },
	{ "not", ".pred", "dP aP", .run = { [T_PRED] = not_pred } },
	{ "shl", "T", "dT aT bU", .run = RUN_BITS(shl), .run_imm = RUN_BITS_IMM(shl) },
	{ "shr", "T", "dT aT bU",
		.run = { [T_B16] = shr_u16, [T_B32] = shr_u32, [T_B64] = shr_u64, [T_U16] = shr_u16, [T_U32] = shr_u32,
			[T_U64] = shr_u64, [T_S16] = shr_s16, [T_S32] = shr_s32, [T_S64] = shr_s64 },
		.run_imm = { [T_B16] = shr_u16_imm, [T_B32] = shr_u32_imm, [T_B64] = shr_u64_imm, [T_U16] = shr_u16_imm,
			[T_U32] = shr_u32_imm, [T_U64] = shr_u64_imm, [T_S16] = shr_s16_imm, [T_S32] = shr_s32_imm,
			[T_S64] = shr_s64_imm } },
	{ "shf", ".l .wrap .b32", "dT aT bT cU", .run = { [T_B32] = shf_l_wrap } },
	{ "shf", ".l .clamp .b32", "dT aT bT cU", .run = { [T_B32] = shf_l_clamp } },
	{ "shf", ".r .wrap .b32", "dT aT bT cU", .run = { [T_B32] = shf_r_wrap } },
	{ "shf", ".r .clamp .b32", "dT aT bT cU", .run = { [T_B32] = shf_r_clamp } },
	{ "bfe", "T", "dT aT bU cU", .run = { [T_U32] = bfe_u32, [T_S32] = bfe_s32, [T_U64] = bfe_u64, [T_S64] = bfe_s64 } },
	{ "bfi", "T", "dT aT bT cU eU", .run = { [T_B32] = bfi_32, [T_B64] = bfi_64 } },
	{ "bfind", "T", "dU aT", .run = { [T_U32] = bfind_u32, [T_S32] = bfind_s32, [T_U64] = bfind_u64, [T_S64] = bfind_s64 } },
	{ "bfind", ".shiftamt T", "dU aT", .run = { [T_U32] = bfind_shift_u32, [T_S32] = bfind_shift_s32,
		[T_U64] = bfind_shift_u64, [T_S64] = bfind_shift_s64 } },
	{ "brev", "T", "dT aT", .run = { [T_B32] = brev_32, [T_B64] = brev_64 } },
	{ "popc", "T", "dU aT", .run = { [T_B32] = popc_32, [T_B64] = popc_64 } },
	{ "clz", "T", "dU aT", .run = { [T_B32] = clz_32, [T_B64] = clz_64 } },
	{ "bmsk", ".clamp .b32", D_A_B, .run = { [T_B32] = bmsk_clamp } },
	{ "bmsk", ".wrap .b32", D_A_B, .run = { [T_B32] = bmsk_wrap } },
	{ "szext", ".clamp T", D_A_B, .run = { [T_U32] = szext_u32, [T_S32] = szext_s32 } },
	{ "szext", ".wrap T", D_A_B, .run = { [T_U32] = szext_wrap_u32, [T_S32] = szext_wrap_s32 } },
	{ "lop3", ".b32", "dT aT bT cT", decode_lop3, .run = { [T_B32] = lop3 } },
	DECODED("lop3", ".and|.or .b32", decode_lop3_predicate),
	{ "fns", ".b32", "dT aT bT cT", .run = { [T_B32] = fns } },
	{ "prmt", ".b32", "dT aT bT cT", .run = { [T_B32] = prmt } },
	{ "prmt", ".b32 .f4e|.b4e|.rc8|.ecl|.ecr|.rc16", "dT aT bT cT", decode_prmt_mode, .run = { [T_B32] = prmt_mode } },
	{ "dp4a", ".u32 .u32", D_A_B_C, .run = { [T_U32] = dp4a_uu } },
	{ "dp4a", ".u32 .s32", D_A_B_C, .run = { [T_S32] = dp4a_us } },
	{ "dp4a", ".s32 .u32", D_A_B_C, .run = { [T_U32] = dp4a_su } },
	{ "dp4a", ".s32 .s32", D_A_B_C, .run = { [T_S32] = dp4a_ss } },
	{ "dp2a", ".lo .u32 .u32", D_A_B_C, .run = { [T_U32] = dp2a_lo_uu } },
	{ "dp2a", ".lo .u32 .s32", D_A_B_C, .run = { [T_S32] = dp2a_lo_us } },
	{ "dp2a", ".lo .s32 .u32", D_A_B_C, .run = { [T_U32] = dp2a_lo_su } },
	{ "dp2a", ".lo .s32 .s32", D_A_B_C, .run = { [T_S32] = dp2a_lo_ss } },
	{ "dp2a", ".hi .u32 .u32", D_A_B_C, .run = { [T_U32] = dp2a_hi_uu } },
	{ "dp2a", ".hi .u32 .s32", D_A_B_C, .run = { [T_S32] = dp2a_hi_us } },
	{ "dp2a", ".hi .s32 .u32", D_A_B_C, .run = { [T_U32] = dp2a_hi_su } },
	{ "dp2a", ".hi .s32 .s32", D_A_B_C, .run = { [T_S32] = dp2a_hi_ss } },
};
ROWS(rows_int, rows);
