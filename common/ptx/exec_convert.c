/* mov, cvt, cvta: data between registers. The conversions that are frequent have loops of their own; all others
 * go through arrays of 64-bit integers or doubles, in three steps: widen, convert, store. */
#include <math.h>

#include "ptx/half.h"

#include "ptx/decode.h"
#include "ptx/lanes.h"
#include "ptx/tensor_core.h"

/* ---- mov */

UNARY(mov_16, u16, u16, x)
UNARY(mov_32, u32, u32, x)
UNARY(mov_64, u64, u64, x)

#define MOVE_IMMEDIATE(name, type) \
HANDLER(name) \
{ \
	type *d = REG(type, i->d); \
	type v = (type)i->imm; \
	UNUSED(mask); \
	if (wide == FULL) { \
		EACH_LANE(l) \
			d[l] = v; \
	} else { \
		EACH_LANE(l) \
			d[l] = wide >> l & 1 ? v : d[l]; \
	} \
}
MOVE_IMMEDIATE(mov_imm_16, u16)
MOVE_IMMEDIATE(mov_imm_32, u32)
MOVE_IMMEDIATE(mov_imm_64, u64)

HANDLER(mov_128)
{
	UNUSED(wide);
	EACH_IN(mask, l)
		memmove(w->frame + i->d + l * 16, w->frame + i->a + l * 16, 16);
}

HANDLER(mov_pred)
{
	UNUSED(wide);
	set_predicate(w, i->d, PREDICATE(i->a) ^ (i->negated >> 1 & 1 ? FULL : 0), mask);
}

void
move_local(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint64_t address = REG(u64, i->a)[l] + (uint64_t)i->imm;
		if (i->size == 8)
			REG(u64, i->d)[l] = address;
		else
			REG(u32, i->d)[l] = (uint32_t)address;
	}
}

/* The clocks count warp instructions, from where the options have them start: they move, and are the same in every run. */
HANDLER(mov_clock)
{
	uint64_t now = (w->core->counters.warp_instructions + w->core->options.clock_start) >> (i->sub ? 32 : 0);
	UNUSED(wide);
	EACH_IN(mask, l) {
		if (i->size == 8)
			REG(u64, i->d)[l] = now;
		else
			REG(u32, i->d)[l] = (uint32_t)now;
	}
}

/* {d0, d1...} = a and d = {a0, a1...}: n parts of `size` bytes */
HANDLER(unpack)
{
	char whole[16];
	UNUSED(wide);
	EACH_IN(mask, l) {
		memcpy(whole, w->frame + i->a + l * i->size * i->n, (size_t)i->size * i->n);
		for (int k = 0; k < i->n; k++)
			if (i->list[k] != NO_REG)
				memcpy(w->frame + i->list[k] + l * i->size, whole + k * i->size, i->size);
	}
}

HANDLER(pack)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		char whole[16];
		for (int k = 0; k < i->n; k++)
			memcpy(whole + k * i->size, w->frame + i->list[k] + l * i->size, i->size);
		memcpy(w->frame + i->d + l * i->size * i->n, whole, (size_t)i->size * i->n);
	}
}

/* Two 32-bit parts of 64 bits, and two 16-bit parts of 32 bits, are frequent */
HANDLER(unpack_2x32)
{
	const u32 *a = REG(u32, i->a);
	UNUSED(wide);
	for (int k = 0; k < 2; k++) {
		if (i->list[k] == NO_REG)
			continue;
		u32 part[LANES] __attribute__((aligned(64)));
		EACH_LANE(l)
			part[l] = a[l * 2 + k];
		merge_32(REG(u32, i->list[k]), part, mask);
	}
}

HANDLER(pack_2x32)
{
	u64 whole[LANES] __attribute__((aligned(64)));
	const u32 *low = REG(u32, i->list[0]), *high = REG(u32, i->list[1]);
	UNUSED(wide);
	EACH_LANE(l)
		whole[l] = low[l] | (u64)high[l] << 32;
	merge_64(REG(u64, i->d), whole, mask);
}

HANDLER(unpack_2x16)
{
	const u32 *a = REG(u32, i->a);
	UNUSED(wide);
	for (int k = 0; k < 2; k++) {
		if (i->list[k] == NO_REG)
			continue;
		u16 part[LANES] __attribute__((aligned(64)));
		EACH_LANE(l)
			part[l] = (u16)(a[l] >> 16 * k);
		merge_16(REG(u16, i->list[k]), part, mask);
	}
}

HANDLER(pack_2x16)
{
	u32 whole[LANES] __attribute__((aligned(64)));
	const u16 *low = REG(u16, i->list[0]), *high = REG(u16, i->list[1]);
	UNUSED(wide);
	EACH_LANE(l)
		whole[l] = low[l] | (u32)high[l] << 16;
	merge_32(REG(u32, i->d), whole, mask);
}

static bool
decode_parts(struct decoder *d, enum type type, const struct operand *vector, const struct operand *whole, bool unpacks)
{
	static const enum type by_bytes[] = { [2] = T_B16, [4] = T_B32, [8] = T_B64 };
	struct insn *i = decode_insn(d);
	unsigned bytes = type_bytes(type), n = vector->n_items;
	if ((n != 2 && n != 4) || bytes / n < 2 || bytes / n > 8)
		return decode_fail(d, "with %u parts of %u bits", n, bytes * 8);
	enum type part = by_bytes[bytes / n];
	i->n = (uint8_t)n;
	i->size = (uint8_t)(bytes / n);
	decode_list(d, n);
	for (unsigned k = 0; k < n; k++)
		if (unpacks ? !decode_destination(d, &vector->items[k], i->size, true, F_LIST + (int)k)
			: !decode_source(d, &vector->items[k], part, true, F_LIST + (int)k))
			return false;
	bool two = n == 2 && i->size < 8;
	if (unpacks) {
		i->run = two ? i->size == 4 ? unpack_2x32 : unpack_2x16 : unpack;
		return decode_source(d, whole, type, true, F_A);
	}
	i->run = two ? i->size == 4 ? pack_2x32 : pack_2x16 : pack;
	return decode_destination(d, whole, bytes, true, F_D);
}

static bool
decode_mov(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type type = mods->types[0];
	unsigned bytes = type_bytes(type);
	struct insn *i = decode_insn(d);
	UNUSED(row);
	if (s->n_operands != 2)
		return decode_fail(d, "with %u operands", s->n_operands);
	const struct operand *to = &s->operands[0], *from = &s->operands[1];
	int64_t bits;
	if (to->kind == O_VECTOR)
		return decode_parts(d, type, to, from, true);
	if (from->kind == O_VECTOR)
		return decode_parts(d, type, from, to, false);
	if (type == T_PRED) {
		i->run = mov_pred;
		return decode_destination(d, to, 1, true, F_D) && decode_predicate(d, from, F_A);
	}
	if (!decode_destination(d, to, bytes, true, F_D))
		return false;
	i->size = (uint8_t)bytes;
	if (from->kind == O_SPECIAL && from->value >= SR_CLOCK) {
		i->run = mov_clock;
		i->sub = from->value == SR_CLOCK_HI || from->value == SR_GLOBALTIMER_HI;
		return bytes >= 4 || decode_fail(d, "of a clock to 16 bits");
	}
	if (bytes <= 8 && decode_immediate(from, type, &bits)) {
		i->imm = bits;
		i->run = bytes == 2 ? mov_imm_16 : bytes == 4 ? mov_imm_32 : mov_imm_64;
		return true;
	}
	i->run = bytes == 2 ? mov_16 : bytes == 4 ? mov_32 : bytes == 8 ? mov_64 : mov_128;
	if (!decode_source(d, from, type, true, F_A))
		return false;
	/* a local variable is an offset from the local pointer */
	if (from->kind == O_VARIABLE && from->variable->storage == IN_LOCAL)
		i->run = move_local;
	return true;
}

/* ---- cvta: windows of generic addresses */

BINARY_IMM(add_64, u64, u64, u64, x + y)
BINARY_IMM(cvta_from_32, u64, u32, u64, x + y)
BINARY_IMM(cvta_to_32, u32, u64, u64, (u32)(x + y))

static bool
decode_cvta(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	static const uint64_t windows[] = { [PTX_SPACE_SHARED] = SHARED_WINDOW, [PTX_SPACE_LOCAL] = LOCAL_WINDOW,
		[PTX_SPACE_PARAM] = PARAM_WINDOW, [PTX_SPACE_GLOBAL] = 0, [PTX_SPACE_CONST] = 0 };
	struct insn *i = decode_insn(d);
	uint64_t window = windows[mods->field[M_SPACE]];
	UNUSED(row);
	if (s->n_operands != 2)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->imm = (int64_t)(mods->field[M_TO] ? -window : window);
	i->run = add_64_imm;
	return decode_destination(d, &s->operands[0], 8, true, F_D) && decode_source(d, &s->operands[1], T_U64, true, F_A);
}

HANDLER(isspacep)
{
	static const uint64_t windows[] = { [PTX_SPACE_SHARED] = SHARED_WINDOW, [PTX_SPACE_LOCAL] = LOCAL_WINDOW,
		[PTX_SPACE_PARAM] = PARAM_WINDOW };
	uint32_t result = 0;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint64_t a = REG(u64, i->a)[l];
		const struct buffer *constant = i->space == PTX_SPACE_CONST ? buffer_find(w->core, a, 1) : NULL;
		bool in = i->space == PTX_SPACE_CONST ? constant && constant->constant
			: i->space == PTX_SPACE_GLOBAL ? a - SHARED_WINDOW >= SHARED_WINDOW_BYTES
			&& a - LOCAL_WINDOW >= WINDOW_BYTES && a - PARAM_WINDOW >= WINDOW_BYTES
			: a - windows[i->space] < (i->sub ? SHARED_WINDOW_BYTES : WINDOW_BYTES);
		result |= (uint32_t)in << l;
	}
	set_predicate(w, i->d, result, mask);
}

static bool
decode_isspacep(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	if (!decode_by_operands(d, row, mods, s))
		return false;
	decode_insn(d)->space = mods->field[M_SPACE];
	return true;
}

/* ---- cvt: frequent pairs */

UNARY(cvt_64_u32, u64, u32, x)
UNARY(cvt_64_s32, s64, s32, x)
UNARY(cvt_32_64, u32, u64, (u32)x)
UNARY(cvt_32_u16, u32, u16, x)
UNARY(cvt_32_s16, s32, s16, x)
UNARY(cvt_16_32, u16, u32, (u16)x)
UNARY(cvt_64_u16, u64, u16, x)
UNARY(cvt_64_s16, s64, s16, x)
UNARY(cvt_16_64, u16, u64, (u16)x)
UNARY(cvt_f32_s32, f32, s32, (f32)x)
UNARY(cvt_f32_u32, f32, u32, (f32)x)
UNARY(cvt_f64_s32, f64, s32, x)
UNARY(cvt_f64_f32, f64, f32, x)
UNARY(cvt_f32_f64, f32, f64, (f32)x)
UNARY(cvt_f32_bf16, u32, u16, (u32)x << 16)

HANDLER(cvt_f32_f16)
{
	f32 v[LANES] __attribute__((aligned(64)));
	UNUSED(mask);
	f16_to_floats(v, REG(u16, i->a), LANES);
	EACH_LANE(l)
		v[l] = v[l] != v[l] ? float_of_bits(0x7fffffff) : v[l];
	merge_32(REG(u32, i->d), (const u32 *)v, wide);
}

HANDLER(cvt_f16_f32)
{
	u16 h[LANES] __attribute__((aligned(64)));
	UNUSED(mask);
	f16_from_floats(h, REG(f32, i->a), LANES);
	merge_16(REG(u16, i->d), h, wide);
}

HANDLER(cvt_bf16_f32)
{
	u16 h[LANES] __attribute__((aligned(64)));
	UNUSED(mask);
	bf16_from_floats(h, REG(f32, i->a), LANES);
	merge_16(REG(u16, i->d), h, wide);
}

static inline s32
float_to_s32(f32 x)
{
	f32 c = x > -2147483648.0f ? x : -2147483648.0f;
	s32 v = (s32)(c < 2147483520.0f ? c : 2147483520.0f);
	v = x >= 2147483648.0f ? INT32_MAX : v;
	return x != x ? 0 : v;
}
UNARY(cvt_s32_f32_rzi, s32, f32, float_to_s32(x))

static const struct {
	enum type to, from;
	handler *run;
	enum rounding integer;			/* the .rzi that the handler does */
} frequent[] = {
	{ T_U64, T_U32, cvt_64_u32, 0 }, { T_S64, T_U32, cvt_64_u32, 0 }, { T_U64, T_S32, cvt_64_s32, 0 },
	{ T_S64, T_S32, cvt_64_s32, 0 }, { T_U32, T_U64, cvt_32_64, 0 }, { T_U32, T_S64, cvt_32_64, 0 },
	{ T_S32, T_U64, cvt_32_64, 0 }, { T_S32, T_S64, cvt_32_64, 0 }, { T_U32, T_U16, cvt_32_u16, 0 },
	{ T_S32, T_U16, cvt_32_u16, 0 }, { T_U32, T_S16, cvt_32_s16, 0 }, { T_S32, T_S16, cvt_32_s16, 0 },
	{ T_U16, T_U32, cvt_16_32, 0 }, { T_U16, T_S32, cvt_16_32, 0 }, { T_S16, T_U32, cvt_16_32, 0 },
	{ T_S16, T_S32, cvt_16_32, 0 }, { T_U64, T_U16, cvt_64_u16, 0 }, { T_S64, T_U16, cvt_64_u16, 0 },
	{ T_U64, T_S16, cvt_64_s16, 0 }, { T_S64, T_S16, cvt_64_s16, 0 }, { T_U16, T_U64, cvt_16_64, 0 },
	{ T_F32, T_S32, cvt_f32_s32, 0 }, { T_F32, T_U32, cvt_f32_u32, 0 }, { T_F64, T_S32, cvt_f64_s32, 0 },
	{ T_F64, T_F32, cvt_f64_f32, 0 }, { T_F32, T_F64, cvt_f32_f64, 0 }, { T_F32, T_BF16, cvt_f32_bf16, 0 },
	{ T_F32, T_F16, cvt_f32_f16, 0 }, { T_F16, T_F32, cvt_f16_f32, 0 }, { T_BF16, T_F32, cvt_bf16_f32, 0 },
	{ T_S32, T_F32, cvt_s32_f32_rzi, ROUND_RZ },
};

/* ---- cvt: everything else. insn.size: to, sub: from, n: integer rounding, space: flags, target: register bytes */

enum { CVT_SAT = 1, CVT_RELU = 2, CVT_FINITE = 4 };

static bool
is_float_type(enum type t)
{
	return t == T_F16 || t == T_BF16 || t == T_F32 || t == T_F64;
}

/* Sources as doubles or as 64-bit integers extended by their sign */
static void
read_sources(const struct insn *i, const struct warp *w, double *f, uint64_t *n)
{
	enum type from = (enum type)i->sub;
	uint32_t stride = i->target >> 8, bits = type_bytes(from) * 8;
	for (uint32_t l = 0; l < LANES; l++) {
		uint64_t v = 0;
		memcpy(&v, w->frame + i->a + l * stride, stride < 8 ? stride : 8);
		if (bits < 64)
			v &= (1ull << bits) - 1;
		if (type_is_signed(from))
			v = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
		n[l] = v;
		switch (from) {
		case T_F16: f[l] = f16_widen((uint16_t)v); break;
		case T_BF16: f[l] = bf16_widen((uint16_t)v); break;
		case T_F32: f[l] = (double)float_of_bits((uint32_t)v); break;
		case T_F64: f[l] = double_of_bits(v); break;
		default: f[l] = 0;
		}
	}
}

static void
store_integers(const struct insn *i, struct warp *w, const uint64_t *n, uint32_t mask)
{
	enum type to = (enum type)i->size;
	uint32_t stride = i->target & 255, bits = type_bytes(to) * 8;
	EACH_IN(mask, l) {
		uint64_t v = n[l];
		if (bits < 64)
			v = type_is_signed(to) ? (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits)) : v & ((1ull << bits) - 1);
		memcpy(w->frame + i->d + l * stride, &v, stride < 8 ? stride : 8);
	}
}

static double
round_integer(double v, unsigned rounding)
{
	switch (rounding) {
	case ROUND_RN: return rint(v);
	case ROUND_RZ: return trunc(v);
	case ROUND_RM: return floor(v);
	case ROUND_RP: return ceil(v);
	}
	return v;
}

/* Saturates; NaN is 0, but the middle of the range where either side has 64 bits. */
static uint64_t
float_to_integer(double v, enum type to, enum type from)
{
	unsigned bits = type_bytes(to) * 8;
	bool is_signed = type_is_signed(to);
	double limit = ldexp(1, (int)bits - is_signed);
	if (v != v)
		return from == T_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
	if (v >= limit)
		return bits == 64 && !is_signed ? UINT64_MAX : (1ull << (bits - is_signed)) - 1;
	if (v < (is_signed ? -limit : 0))
		return is_signed ? UINT64_MAX << (bits - 1) : 0;
	return is_signed ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static uint64_t
saturate_integer(uint64_t v, enum type to, bool from_signed)
{
	unsigned bits = type_bytes(to) * 8;
	bool negative = from_signed && (int64_t)v < 0;
	uint64_t max = bits - type_is_signed(to) == 64 ? UINT64_MAX : (1ull << (bits - type_is_signed(to))) - 1;
	if (negative) {
		int64_t min = type_is_signed(to) ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
		return (int64_t)v < min ? (uint64_t)min : v;
	}
	return v > max ? max : v;
}

static void
to_integers(const struct insn *i, struct warp *w, double *f, uint64_t *n, uint32_t mask)
{
	enum type to = (enum type)i->size, from = (enum type)i->sub;
	for (int l = 0; l < LANES; l++)
		if (is_float_type(from))
			n[l] = float_to_integer(round_integer(f[l], i->n), to, from);
		else if (i->space & CVT_SAT)
			n[l] = saturate_integer(n[l], to, type_is_signed(from));
	store_integers(i, w, n, mask);
}

/* A 64-bit integer, ready for one rounding to a narrower float: odd where a double cannot hold it */
static double
integer_odd(uint64_t v, bool is_signed)
{
	bool negative = is_signed && (int64_t)v < 0;
	uint64_t magnitude = negative ? -v : v;
	double r = sum_odd((double)(magnitude >> 32) * 4294967296.0, (double)(uint32_t)magnitude);
	return negative ? -r : r;
}

static double
finish_float(double v, unsigned flags)
{
	if (flags & CVT_RELU)
		v = v <= 0 ? 0 : v;
	if (flags & CVT_SAT)
		v = v > 0 ? v < 1 ? v : 1 : 0;
	return v;
}

/* .satfinite: the greatest number instead of infinity */
static uint16_t
finite_half(uint16_t bits, uint16_t infinity, unsigned flags)
{
	return (uint16_t)(bits - (flags & CVT_FINITE && (bits & 0x7fff) == infinity));
}

static uint16_t
narrow_bf16(double v, unsigned rounding)
{
	float f = float_odd(v);
	uint32_t bits = bits_of_float(f), rest = bits & 0xffff;
	if (f != f)
		return 0x7fff;
	if (rounding == ROUND_RM || rounding == ROUND_RP)	/* away from zero on one side of it */
		return (uint16_t)((bits >> 16) + (rest && (rounding == ROUND_RM) == bits >> 31));
	if (rounding == ROUND_RZ)		/* the odd float is cut; infinity stays */
		return (uint16_t)(bits >> 16);
	return bf16_round(f);
}

/* fp32 rounds in the mode that float_control has set; so does fp16. */
static void
to_floats(const struct insn *i, struct warp *w, const double *f, const uint64_t *n, uint32_t mask)
{
	enum type to = (enum type)i->size, from = (enum type)i->sub;
	bool integer = !is_float_type(from), is_signed = type_is_signed(from), saturate = i->space & CVT_SAT;
	EACH_IN(mask, l) {
		double v = integer ? integer_odd(n[l], is_signed) : round_integer(f[l], i->n);
		float direct;
		v = finish_float(v, i->space);
		switch (to) {
		case T_F64:
			if (integer && !saturate)
				v = is_signed ? (double)(int64_t)n[l] : (double)n[l];
			REG(f64, i->d)[l] = v;
			break;
		case T_F32:
			direct = (float)v;
			if (integer && !saturate)
				direct = is_signed ? (float)(int64_t)n[l] : (float)n[l];
			/* NaN keeps its payload when it comes from fp64 */
			REG(f32, i->d)[l] = direct != direct && from != T_F64 ? float_of_bits(0x7fffffff) : direct;
			break;
		case T_F16:
			direct = float_odd(v);
			REG(u16, i->d)[l] = finite_half(direct != direct && from != T_F64 ? 0x7fff
				: (u16)_cvtss_sh(direct, _MM_FROUND_CUR_DIRECTION), 0x7c00, i->space);
			break;
		default:
			REG(u16, i->d)[l] = finite_half(narrow_bf16(v, i->mode), 0x7f80, i->space);
		}
	}
}

HANDLER(cvt_general)
{
	double f[LANES];
	uint64_t n[LANES];
	UNUSED(wide);
	read_sources(i, w, f, n);
	if (is_float_type((enum type)i->size))
		to_floats(i, w, f, n, mask);
	else
		to_integers(i, w, f, n, mask);
}

static handler *
frequent_pair(const struct mods *mods, enum type to, enum type from, unsigned to_bytes, unsigned from_bytes)
{
	bool more = mods->field[M_SAT] || mods->field[M_SATFINITE] || mods->field[M_FTZ] || mods->field[M_RELU];
	if (more || mods->field[M_ROUND] > ROUND_RN
		|| to_bytes != type_bytes(to) || from_bytes != type_bytes(from))
		return NULL;
	for (size_t k = 0; k < sizeof frequent / sizeof *frequent; k++)
		if (frequent[k].to == to && frequent[k].from == from && frequent[k].integer == mods->field[M_ROUND_INT])
			return frequent[k].run;
	return NULL;
}

static bool
decode_cvt(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type to = mods->types[0], from = mods->types[1];
	struct insn *i = decode_insn(d);
	UNUSED(row);
	if (s->n_operands != 2)
		return decode_fail(d, "with %u operands", s->n_operands);
	bool exact_to = is_float_type(to), exact_from = is_float_type(from);
	unsigned to_bytes = decode_destination(d, &s->operands[0], type_bytes(to) < 2 ? 2 : type_bytes(to), exact_to, F_D);
	enum type read = from == T_U8 || from == T_S8 ? T_U16 : from;
	unsigned from_bytes = to_bytes ? decode_source(d, &s->operands[1], read, exact_from, F_A) : 0;
	if (!from_bytes)
		return false;
	if (s->operands[0].kind == O_SINK)
		return decode_fail(d, "without a destination");
	i->size = (uint8_t)to;
	i->sub = (uint8_t)from;
	i->n = mods->field[M_ROUND_INT];
	i->space = (uint8_t)((mods->field[M_SAT] ? CVT_SAT : 0) | (mods->field[M_RELU] ? CVT_RELU : 0)
		| (mods->field[M_SATFINITE] ? CVT_FINITE : 0));
	i->target = to_bytes | from_bytes << 8;
	i->mode = mods->field[M_ROUND];
	if ((i->run = frequent_pair(mods, to, from, to_bytes, from_bytes)))
		return true;
	i->run = cvt_general;
	if (mods->field[M_ROUND] > ROUND_RN || mods->field[M_FTZ]) {
		i->inner = i->run;
		i->run = float_control;
		i->flag = mods->field[M_FTZ] != 0;
	}
	return true;
}

/* ---- cvt of two floats to a packed pair: a is the upper half */

#define PAIR_HANDLER(name, low_and_high) \
HANDLER(name) \
{ \
	f32 f[64] __attribute__((aligned(64))); \
	u16 h[64] __attribute__((aligned(64))); \
	const f32 *a = REG(f32, i->a), *b = REG(f32, i->b); \
	UNUSED(mask); \
	EACH_LANE(l) { \
		f[l * 2] = b[l]; \
		f[l * 2 + 1] = a[l]; \
	} \
	for (int l = 0; i->sub && l < 64; l++) \
		f[l] = f[l] <= 0 ? 0 : f[l]; \
	low_and_high; \
	for (int l = 0; i->flag && l < 64; l++) \
		h[l] = (u16)(h[l] - ((h[l] & 0x7fff) == (uint32_t)i->imm)); \
	merge_32(REG(u32, i->d), (const u32 *)(const void *)h, wide); \
}

static void
truncate_f16(u16 *to, const f32 *from)
{
	for (int k = 0; k < 64; k++)
		to[k] = from[k] != from[k] ? 0x7fff : (u16)_cvtss_sh(from[k], _MM_FROUND_TO_ZERO);
}

static void
truncate_bf16(u16 *to, const f32 *from)
{
	for (int k = 0; k < 64; k++)
		to[k] = from[k] != from[k] ? 0x7fff : (u16)(bits_of_float(from[k]) >> 16);
}
PAIR_HANDLER(cvt_f16x2, f16_from_floats(h, f, 64))
PAIR_HANDLER(cvt_bf16x2, bf16_from_floats(h, f, 64))
PAIR_HANDLER(cvt_f16x2_rz, truncate_f16(h, f))
PAIR_HANDLER(cvt_bf16x2_rz, truncate_bf16(h, f))

static bool
decode_pair(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct mods none = *mods;
	none.n_types = 0;
	if (!decode_by_operands(d, row, &none, s))
		return false;
	decode_insn(d)->sub = mods->field[M_RELU];
	decode_insn(d)->flag = mods->field[M_SATFINITE];
	decode_insn(d)->imm = mods->types[0] == T_F16X2 ? 0x7c00 : mods->types[0] == T_BF16X2 ? 0x7f80 : 0x7f800000;
	return true;
}

/* tf32 has 10 bits of fraction in an fp32 register; .rna rounds ties away from zero, and cuts NaN as it is */
static inline u32
round_tf32(u32 x, bool even)
{
	if ((x & 0x7f800000) == 0x7f800000)
		return x & 0x7fffff && even ? 0x7fffe000 : x & 0xffffe000;
	return (x + (even ? 0xfff + (x >> 13 & 1) : 0x1000)) & 0xffffe000;
}
UNARY(cvt_tf32_rna, u32, u32, round_tf32(x, false))
UNARY(cvt_tf32_rn, u32, u32, round_tf32(x, true))
UNARY(cvt_tf32_rz, u32, u32, (x & 0x7f800000) == 0x7f800000 && x & 0x7fffff ? 0x7fffe000 : x & 0xffffe000)

/* ---- fp8: two values of 8 bits in 16; a is the upper one. e4m3 has no infinity, e5m2 is the top of fp16. */

static uint8_t
to_fp8(float v, int exponent_bits, bool relu)
{
	int fraction = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
	float max = exponent_bits == 4 ? 448.0f : 57344.0f;
	if (v != v)
		return 0x7f;
	uint8_t sign = (uint8_t)(bits_of_float(v) >> 31 << 7);
	if (relu && sign)
		return 0;
	float m = fabsf(v);
	if (m >= max)
		return (uint8_t)(sign | (exponent_bits == 4 ? 0x7e : 0x7b));
	int e = m == 0 ? 1 - bias : ilogbf(m);
	e = e < 1 - bias ? 1 - bias : e;
	float step = ldexpf(1, e - fraction);
	float q = rintf(m / step);		/* up to 2^(fraction + 1), exact */
	if (q * step > max)
		return (uint8_t)(sign | (exponent_bits == 4 ? 0x7e : 0x7b));
	int code = (int)q + ((e + bias - 1) << fraction);
	return (uint8_t)(sign | code);
}

HANDLER(cvt_fp8x2_f32)
{
	UNUSED(wide);
	EACH_IN(mask, l)
		REG(u16, i->d)[l] = (u16)(to_fp8(REG(f32, i->a)[l], i->mode, i->n) << 8 | to_fp8(REG(f32, i->b)[l], i->mode, i->n));
}

HANDLER(cvt_fp8x2_f16x2)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		u32 a = REG(u32, i->a)[l];
		REG(u16, i->d)[l] = (u16)(to_fp8(f16_widen((uint16_t)(a >> 16)), i->mode, i->n) << 8
			| to_fp8(f16_widen((uint16_t)a), i->mode, i->n));
	}
}

HANDLER(cvt_f16x2_fp8x2)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		u16 a = REG(u16, i->a)[l];
		float low = fp8_widen((uint8_t)a, i->mode), high = fp8_widen((uint8_t)(a >> 8), i->mode);
		low = i->n && low <= 0 ? 0 : low;
		high = i->n && high <= 0 ? 0 : high;
		REG(u32, i->d)[l] = f16_round(low) | (u32)f16_round(high) << 16;
	}
}

static bool
decode_fp8(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct mods none = *mods;
	none.n_types = 0;
	if (!decode_by_operands(d, row, &none, s))
		return false;
	struct insn *i = decode_insn(d);
	i->mode = mods->types[0] == T_E4M3X2 || mods->types[1] == T_E4M3X2 ? 4 : 5;
	i->n = mods->field[M_RELU];
	return true;
}

/* .relu and .satfinite after the rounding */
HANDLER(cvt_tf32_more)
{
	u32 result[LANES];
	UNUSED(wide);
	for (int l = 0; l < LANES; l++) {
		u32 x = REG(u32, i->a)[l], nan = (x & 0x7fffffff) > 0x7f800000;
		if (i->mode == ROUND_RZ)
			x &= 0xffffe000;
		else if ((x & 0x7f800000) != 0x7f800000)
			x = (x + (i->mode == ROUND_RN ? 0xfff + (x >> 13 & 1) : 0x1000)) & 0xffffe000;
		if (i->flag && (x & 0x7fffffff) == 0x7f800000)
			x -= 0x2000;
		result[l] = nan ? 0x7fffffff : i->sub && x >> 31 ? 0 : x;
	}
	merge_32(REG(u32, i->d), result, mask);
}

static bool
decode_tf32(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	if (!decode_pair(d, row, mods, s))
		return false;
	decode_insn(d)->mode = mods->field[M_ROUND];
	return true;
}

/* cvt.pack: a and b, saturated to insn.sub bits (negative: signed), and c above them */
HANDLER(cvt_pack)
{
	int bits = i->sub & 31;
	int32_t most = (1 << (bits - (i->sub >> 7))) - 1, least = i->sub >> 7 ? -most - 1 : 0;
	uint32_t keep = (1u << bits) - 1;
	UNUSED(wide);
	EACH_IN(mask, l) {
		s32 a = REG(s32, i->a)[l], b = REG(s32, i->b)[l];
		a = a < least ? least : a > most ? most : a;
		b = b < least ? least : b > most ? most : b;
		u32 above = i->c == NO_REG ? 0 : REG(u32, i->c)[l] << 2 * bits;
		REG(u32, i->d)[l] = ((u32)b & keep) | ((u32)a & keep) << bits | above;
	}
}
#define PACK_ROW(type_, bits, is_signed) \
	{ "cvt", ".pack .sat ." type_ " .s32 .b32", "dU as32 bs32 cb32", .run = { [T_B32] = cvt_pack }, \
		.sub = (bits) | (is_signed) << 7 }

#define INTEGERS ".u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64"
#define FLOATS ".f16|.bf16|.f32|.f64"
#define DIRECTED ".rn|.rz|.rm|.rp"
#define TO_INTEGER ".rni|.rzi|.rmi|.rpi"
#define PAIR_ROW(pattern, f) { "cvt", pattern, "db32 af32 bf32", decode_pair, .run = { [T_B32] = f } }

static const struct row rows[] = {
	DECODED("mov", ".pred|.b16|.u16|.s16|.f16|.bf16|.b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64|.b128", decode_mov),
	DECODED("cvta", ".to? .global|.shared|.shared::cta|.shared::cluster|.local|.const|.param|.param::entry .u64", decode_cvta),
	{ "isspacep", ".global|.const|.shared|.shared::cta|.local|.param|.param::entry", "dP au64", decode_isspacep,
		.run = { [T_B32] = isspacep } },
	{ "isspacep", ".shared::cluster", "dP au64", decode_isspacep, .run = { [T_B32] = isspacep }, .sub = 1 },
	DECODED("cvt", ".sat? " INTEGERS " " INTEGERS, decode_cvt),
	DECODED("cvt", TO_INTEGER " .ftz? .sat? " INTEGERS " " FLOATS, decode_cvt),
	DECODED("cvt", DIRECTED " .ftz? .sat? " FLOATS " " INTEGERS, decode_cvt),
	DECODED("cvt", ".ftz? .sat? .f32 .f16|.bf16|.f32", decode_cvt),
	DECODED("cvt", ".ftz? .sat? .f64 .f16|.bf16|.f32|.f64", decode_cvt),
	DECODED("cvt", ".sat? .f16 .f16", decode_cvt),
	DECODED("cvt", TO_INTEGER " .ftz? .sat? .f32 .f32", decode_cvt),
	DECODED("cvt", TO_INTEGER " .sat? .f64 .f64", decode_cvt),
	DECODED("cvt", TO_INTEGER " .sat? .f16 .f16", decode_cvt),
	DECODED("cvt", DIRECTED " .ftz? .sat? .f32 .f64", decode_cvt),
	DECODED("cvt", DIRECTED " .ftz? .sat? .f16 .f32|.f64", decode_cvt),
	{ .opcode = "cvt", .pattern = ".rn|.rz .relu? .satfinite? .f16|.bf16 .f32", .decode = decode_cvt, .any_order = true },
	DECODED("cvt", DIRECTED " .ftz? .bf16 .f32", decode_cvt),
	DECODED("cvt", DIRECTED " .ftz? .bf16 .f16|.f64", decode_cvt),
	DECODED("cvt", DIRECTED "? .f16 .bf16", decode_cvt),
	DECODED("cvt", DIRECTED " .ftz? .f32|.f64 .bf16", decode_cvt),
	DECODED("cvt", TO_INTEGER "? .bf16 .bf16", decode_cvt),
	DECODED("cvt", ".bf16 .f16", decode_cvt),
	PAIR_ROW(".rn .relu? .satfinite? .f16x2 .f32", cvt_f16x2),
	PAIR_ROW(".rz .relu? .satfinite? .f16x2 .f32", cvt_f16x2_rz),
	PAIR_ROW(".rn .relu? .satfinite? .bf16x2 .f32", cvt_bf16x2),
	PAIR_ROW(".rz .relu? .satfinite? .bf16x2 .f32", cvt_bf16x2_rz),
	{ "cvt", ".rn|.rz .relu .tf32 .f32", "db32 af32", decode_tf32, .run = { [T_B32] = cvt_tf32_more } },
	{ "cvt", ".rna .satfinite .tf32 .f32", "db32 af32", decode_tf32, .run = { [T_B32] = cvt_tf32_more } },
	{ "cvt", ".pack .sat .u16 .s32", "dU as32 bs32", .run = { [T_S32] = cvt_pack }, .sub = 16 },
	{ "cvt", ".pack .sat .s16 .s32", "dU as32 bs32", .run = { [T_S32] = cvt_pack }, .sub = 16 | 128 },
	PACK_ROW("u8", 8, 0), PACK_ROW("s8", 8, 1), PACK_ROW("u4", 4, 0), PACK_ROW("s4", 4, 1), PACK_ROW("u2", 2, 0),
	PACK_ROW("s2", 2, 1),
	{ "cvt", ".rna .tf32 .f32", "db32 af32", decode_pair, .run = { [T_B32] = cvt_tf32_rna } },
	{ "cvt", ".rn .tf32 .f32", "db32 af32", decode_pair, .run = { [T_B32] = cvt_tf32_rn } },
	{ "cvt", ".rz .tf32 .f32", "db32 af32", decode_pair, .run = { [T_B32] = cvt_tf32_rz } },
	{ "cvt", ".rn .satfinite .relu? .e4m3x2|.e5m2x2 .f32", "db16 af32 bf32", decode_fp8,
		.run = { [T_B32] = cvt_fp8x2_f32 }, .any_order = true },
	{ "cvt", ".rn .satfinite .relu? .e4m3x2|.e5m2x2 .f16x2", "db16 ab32", decode_fp8, .run = { [T_B32] = cvt_fp8x2_f16x2 } },
	{ "cvt", ".rn .relu? .f16x2 .e4m3x2|.e5m2x2", "db32 ab16", decode_fp8, .run = { [T_B32] = cvt_f16x2_fp8x2 } },
};
ROWS(rows_convert, rows);
