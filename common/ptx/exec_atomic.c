/* Atomic operations: lane after lane, in lane order. red is atom without a destination. */
#include "ptx/access.h"
#include "ptx/approx.h"
#include "ptx/half.h"
#include "ptx/table.h"

/* Pointers of all lanes, by the fast path or the slow one. */
static void
find_lanes(const struct insn *i, struct warp *w, uint32_t mask, uint32_t size, char **pointers)
{
	struct access acc;
	w->atomic_seen = true;
	w->core->counters.atomics += (uint32_t)__builtin_popcount(mask);
	if (!access_all(i, w, mask, size, ACCESS_ATOMIC, &acc)) {
		access_each(i, w, mask, size, ACCESS_ATOMIC, pointers);
		return;
	}
	EACH_IN(mask, l)
		pointers[l] = acc.base + acc.pattern->relative[l];
}

#define INTEGER_OPERATION(name, type) \
static inline type \
name(enum operation operation, type old, type v, type swap) \
{ \
	switch (operation) { \
	case OP_ADD: return old + v; \
	case OP_MIN: return v < old ? v : old; \
	case OP_MAX: return v > old ? v : old; \
	case OP_AND: return old & v; \
	case OP_OR: return old | v; \
	case OP_XOR: return old ^ v; \
	case OP_EXCH: return v; \
	case OP_CAS: return old == v ? swap : old; \
	case OP_INC: return old >= v ? 0 : old + 1; \
	case OP_DEC: return old == 0 || old > v ? v : old - 1; \
	default: return old; \
	} \
}
INTEGER_OPERATION(operate_u32, uint32_t)
INTEGER_OPERATION(operate_u64, uint64_t)

static inline int32_t
operate_s32(enum operation operation, int32_t old, int32_t v, int32_t swap)
{
	if (operation == OP_MIN)
		return v < old ? v : old;
	if (operation == OP_MAX)
		return v > old ? v : old;
	return (int32_t)operate_u32(operation, (uint32_t)old, (uint32_t)v, (uint32_t)swap);
}

static inline int64_t
operate_s64(enum operation operation, int64_t old, int64_t v, int64_t swap)
{
	if (operation == OP_MIN)
		return v < old ? v : old;
	if (operation == OP_MAX)
		return v > old ? v : old;
	return (int64_t)operate_u64(operation, (uint64_t)old, (uint64_t)v, (uint64_t)swap);
}

static inline uint16_t
operate_u16(enum operation operation, uint16_t old, uint16_t v, uint16_t swap)
{
	return (uint16_t)operate_u32(operation, old, v, swap);
}

#define ATOMIC(name, type, operate) \
HANDLER(name) \
{ \
	char *pointers[LANES]; \
	const type *b = REG(type, i->b), *c = i->c == NO_REG ? b : REG(type, i->c); \
	UNUSED(wide); \
	find_lanes(i, w, mask, sizeof(type), pointers); \
	EACH_IN(mask, l) { \
		type *p = (type *)(void *)pointers[l], old = *p; \
		*p = operate((enum operation)i->sub, old, b[l], c[l]); \
		if (i->d != NO_REG) \
			REG(type, i->d)[l] = old; \
	} \
}
ATOMIC(atomic_u16, u16, operate_u16)
ATOMIC(atomic_u32, u32, operate_u32)
ATOMIC(atomic_s32, s32, operate_s32)
ATOMIC(atomic_u64, u64, operate_u64)
ATOMIC(atomic_s64, s64, operate_s64)

static inline float
flush(float v)
{
	uint32_t bits = bits_of_float(v);
	return bits & 0x7f800000 ? v : float_of_bits(bits & 0x80000000u);
}

/* The add of fp32 flushes denormals in global memory, but not in shared memory. */
HANDLER(atomic_add_f32)
{
	char *pointers[LANES];
	const struct block *block = w->block;
	UNUSED(wide);
	find_lanes(i, w, mask, 4, pointers);
	EACH_IN(mask, l) {
		f32 *p = (f32 *)(void *)pointers[l], old = *p, v = REG(f32, i->b)[l], sum;
		bool shared = pointers[l] >= block->shared && pointers[l] < block->shared + block->shared_bytes;
		sum = shared ? old + v : flush(flush(old) + flush(v));
		*p = sum != sum ? float_of_bits(0x7fffffff) : sum;
		if (i->d != NO_REG)
			REG(f32, i->d)[l] = old;
	}
}

HANDLER(atomic_add_f64)
{
	char *pointers[LANES];
	UNUSED(wide);
	find_lanes(i, w, mask, 8, pointers);
	EACH_IN(mask, l) {
		f64 *p = (f64 *)(void *)pointers[l], old = *p;
		*p = old + REG(f64, i->b)[l];
		if (i->d != NO_REG)
			REG(f64, i->d)[l] = old;
	}
}

#define HALF_ADD(name, widen, round, n) \
HANDLER(name) \
{ \
	char *pointers[LANES]; \
	UNUSED(wide); \
	find_lanes(i, w, mask, 2 * n, pointers); \
	EACH_IN(mask, l) \
		for (uint32_t k = 0; k < n; k++) { \
			u16 *p = (u16 *)(void *)pointers[l] + k, old = *p; \
			*p = round(widen(old) + widen(REG(u16, i->b)[l * n + k])); \
			if (i->d != NO_REG) \
				REG(u16, i->d)[l * n + k] = old; \
		} \
}
HALF_ADD(atomic_add_f16, f16_widen, f16_round, 1)
HALF_ADD(atomic_add_f16x2, f16_widen, f16_round, 2)
HALF_ADD(atomic_add_bf16, bf16_widen, bf16_round, 1)
HALF_ADD(atomic_add_bf16x2, bf16_widen, bf16_round, 2)

/* atom d, [a], b{, c} and red [a], b */
static bool
decode_atomic(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type type = mods->types[0];
	struct insn *i = decode_insn(d);
	unsigned red = s->opcode.at[0] == 'r', n = (red ? 2 : 3) + (mods->field[M_BOOL] == OP_CAS), base;
	const struct operand *o = s->operands;
	if (s->n_operands != n)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->space = mods->field[M_SPACE];
	i->sub = mods->field[M_BOOL];
	i->flag = mods->field[M_VOLATILE];
	i->buffer_hint = mods->field[M_SCOPE];
	i->run = row->run[type];
	if (!red && !decode_destination(d, o++, type_bytes(type), true, F_D))
		return false;
	if (!decode_address(d, o++, F_A, &i->imm, &base) || !decode_source(d, o++, type, true, F_B))
		return false;
	if (mods->field[M_BOOL] == OP_CAS && !decode_source(d, o, type, true, F_C))
		return false;
	i->mode = (uint8_t)base;
	if (i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM)
		return decode_fail(d, "on memory of one thread");
	decode_pattern(d);
	return true;
}

#define ORDER ".relaxed|.acquire|.release|.acq_rel? .cta|.gpu|.sys|.cluster? .global|.shared|.shared::cta|.shared::cluster?"
/* ptxas takes order and scope behind the operation too, and cooperative groups are written so. */
#define LATE_ORDER " .relaxed|.acquire|.release|.acq_rel? .cta|.gpu|.sys|.cluster? T"
#define BOTH(operations, ...) \
	{ .opcode = "atom", .pattern = ORDER " " operations LATE_ORDER, .decode = decode_atomic, .run = __VA_ARGS__ }, \
	{ .opcode = "red", .pattern = ORDER " " operations LATE_ORDER, .decode = decode_atomic, .run = __VA_ARGS__ }
#define RUN(...) { __VA_ARGS__ }

static const struct row rows[] = {
	BOTH(".add", RUN([T_U32] = atomic_u32, [T_S32] = atomic_u32, [T_U64] = atomic_u64, [T_S64] = atomic_u64,
		[T_F32] = atomic_add_f32, [T_F64] = atomic_add_f64)),
	BOTH(".add .noftz", RUN([T_F16] = atomic_add_f16, [T_F16X2] = atomic_add_f16x2, [T_BF16] = atomic_add_bf16,
		[T_BF16X2] = atomic_add_bf16x2)),
	BOTH(".min|.max", RUN([T_U32] = atomic_u32, [T_S32] = atomic_s32, [T_U64] = atomic_u64, [T_S64] = atomic_s64)),
	BOTH(".and|.or|.xor", RUN([T_B32] = atomic_u32, [T_B64] = atomic_u64)),
	BOTH(".inc|.dec", RUN([T_U32] = atomic_u32)),
	{ .opcode = "atom", .pattern = ORDER " .exch" LATE_ORDER, .decode = decode_atomic,
		.run = { [T_B32] = atomic_u32, [T_B64] = atomic_u64 } },
	{ .opcode = "atom", .pattern = ORDER " .cas" LATE_ORDER, .decode = decode_atomic,
		.run = { [T_B16] = atomic_u16, [T_B32] = atomic_u32, [T_B64] = atomic_u64 } },
};
ROWS(rows_atomic, rows);
