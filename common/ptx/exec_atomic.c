/* Atomic operations: lane after lane, in lane order. red is atom without a destination. */
#include "ptx/access.h"
#include "ptx/approx.h"
#include "ptx/async.h"
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
static inline float
add_f32(float old, float v, bool flushes)
{
	float sum = flushes ? flush(flush(old) + flush(v)) : old + v;
	return sum != sum ? float_of_bits(0x7fffffff) : sum;
}

static uint16_t
operate_half(enum operation operation, enum type type, uint16_t old, uint16_t v)
{
	float x = type == T_F16 ? f16_widen(old) : bf16_widen(old), y = type == T_F16 ? f16_widen(v) : bf16_widen(v), r;
	if (operation == OP_ADD)
		r = x + y;
	else if (x != x || y != y)
		r = x != x ? y : x;
	else
		r = (x < y || (x == y && signbit(x))) == (operation == OP_MIN) ? x : y;
	return type == T_F16 ? f16_round(r) : bf16_round(r);
}

HANDLER(atomic_add_f32)
{
	char *pointers[LANES];
	const struct cluster *c = w->block->cluster;
	const struct block *first = &c->blocks[0], *last = &c->blocks[c->n_blocks - 1];	/* their memory is in one piece */
	UNUSED(wide);
	find_lanes(i, w, mask, 4, pointers);
	EACH_IN(mask, l) {
		f32 *p = (f32 *)(void *)pointers[l], old = *p;
		bool shared = pointers[l] >= first->shared && pointers[l] < last->shared + last->shared_bytes;
		*p = add_f32(old, REG(f32, i->b)[l], !shared);
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

/* exch and cas of 16 bytes */
HANDLER(atomic_b128)
{
	char *pointers[LANES];
	UNUSED(wide);
	find_lanes(i, w, mask, 16, pointers);
	EACH_IN(mask, l) {
		char old[16];
		const char *b = w->frame + i->b + l * 16, *c = i->sub == OP_CAS ? w->frame + i->c + l * 16 : b;
		memcpy(old, pointers[l], 16);
		if (i->sub != OP_CAS || !memcmp(old, b, 16))
			memcpy(pointers[l], c, 16);
		if (i->d != NO_REG)
			memcpy(w->frame + i->d + l * 16, old, 16);
	}
}

void
reduce_element(enum operation operation, enum type type, char *to, const char *value)
{
	uint64_t old = 0, v = 0;
	uint32_t size = type_bytes(type);
	memcpy(&old, to, size);
	memcpy(&v, value, size);
	switch (type) {
	case T_S32: old = (uint32_t)operate_s32(operation, (int32_t)old, (int32_t)v, 0); break;
	case T_S64: old = (uint64_t)operate_s64(operation, (int64_t)old, (int64_t)v, 0); break;
	case T_U64: case T_B64: old = operate_u64(operation, old, v, 0); break;
	case T_F32: old = bits_of_float(add_f32(float_of_bits((uint32_t)old), float_of_bits((uint32_t)v), true)); break;
	case T_F64: old = bits_of_double(double_of_bits(old) + double_of_bits(v)); break;
	case T_F16X2: case T_BF16X2:
		type = type == T_F16X2 ? T_F16 : T_BF16;
		old = operate_half(operation, type, (uint16_t)old, (uint16_t)v)
			| (uint32_t)operate_half(operation, type, (uint16_t)(old >> 16), (uint16_t)(v >> 16)) << 16;
		break;
	case T_F16: case T_BF16: old = operate_half(operation, type, (uint16_t)old, (uint16_t)v); break;
	default: old = operate_u32(operation, (uint32_t)old, (uint32_t)v, 0);
	}
	memcpy(to, &old, size);
}

/* insn.n elements of type insn.size: sources in list[0..], destinations behind them */
HANDLER(atomic_vector)
{
	char *pointers[LANES];
	uint32_t bytes = type_bytes((enum type)i->size);
	UNUSED(wide);
	find_lanes(i, w, mask, bytes * i->n, pointers);
	EACH_IN(mask, l)
		for (uint32_t k = 0; k < i->n; k++) {
			char *p = pointers[l] + k * bytes;
			uint32_t to = i->list[i->n + k];
			char old[4];
			memcpy(old, p, bytes);
			reduce_element((enum operation)i->sub, (enum type)i->size, p, w->frame + i->list[k] + l * bytes);
			if (to != NO_REG)
				memcpy(w->frame + to + l * bytes, old, bytes);
		}
}

/* A policy for the second-level cache may stand last; it has no effect here. */
static bool
decode_policy(struct decoder *d, const struct mods *mods, const struct statement *s, unsigned *n)
{
	*n = s->n_operands;
	return !mods->field[M_POLICY] || (*n && decode_source(d, &s->operands[--*n], T_B64, true, F_E));
}

static bool
decode_atomic_address(struct decoder *d, const struct mods *mods, const struct operand *o)
{
	struct insn *i = decode_insn(d);
	unsigned base;
	i->space = mods->field[M_SPACE];
	i->sub = mods->field[M_BOOL];
	i->flag = mods->field[M_VOLATILE];
	i->buffer_hint = mods->field[M_SCOPE];
	if (!decode_address(d, o, F_A, &i->imm, &base))
		return false;
	i->mode = (uint8_t)base;
	if (i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM)
		return decode_fail(d, "on memory of one thread");
	decode_pattern(d);
	return true;
}

static bool
decode_atomic_vector(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	enum type type = mods->types[0];
	bool red = s->opcode.at[0] == 'r';
	unsigned n = mods->field[M_VECTOR], given;
	UNUSED(row);
	if (!decode_policy(d, mods, s, &given) || given != (red ? 2 : 3) || n * type_bytes(type) > 16)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->run = atomic_vector;
	i->n = (uint8_t)n;
	i->size = (uint8_t)type;
	decode_list(d, 2 * n);
	const struct operand *to = red ? NULL : o++, *address = o++, *from = o;
	if ((to && to->kind == O_VECTOR && to->n_items != n) || from->kind != O_VECTOR || from->n_items != n)
		return decode_fail(d, "with another number of elements");
	for (unsigned k = 0; k < n; k++)
		if (!decode_source(d, &from->items[k], type, true, F_LIST + (int)k))
			return false;
	for (unsigned k = 0; to && to->kind == O_VECTOR && k < n; k++)
		if (!decode_destination(d, &to->items[k], type_bytes(type), true, F_LIST + (int)(n + k)))
			return false;
	return decode_atomic_address(d, mods, address);
}

/* atom d, [a], b{, c} and red [a], b */
static bool
decode_atomic(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	enum type type = mods->types[0];
	unsigned red = s->opcode.at[0] == 'r', n = (red ? 2 : 3) + (mods->field[M_BOOL] == OP_CAS), given;
	const struct operand *o = s->operands;
	if (!decode_policy(d, mods, s, &given) || given != n)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_insn(d)->run = row->run[type];
	if (!red && !decode_destination(d, o++, type_bytes(type), true, F_D))
		return false;
	if (!decode_atomic_address(d, mods, o++) || !decode_source(d, o++, type, true, F_B))
		return false;
	return mods->field[M_BOOL] != OP_CAS || decode_source(d, o, type, true, F_C) != 0;
}

#define ORDER ".relaxed|.acquire|.release|.acq_rel? .cta|.gpu|.sys|.cluster? " \
	".global|.shared|.shared::cta|.shared::cluster?"
#define POLICY " .L2::cache_hint?"
#define GLOBAL_ORDER ".relaxed|.acquire|.release|.acq_rel? .cta|.gpu|.sys|.cluster? .global?"
#define ONE(opcode_, words, ...) \
	{ .opcode = opcode_, .pattern = ORDER " " words, .decode = decode_atomic, .any_order = true, .run = __VA_ARGS__ }
#define BOTH(words, ...) ONE("atom", words, __VA_ARGS__), ONE("red", words, __VA_ARGS__)
#define VECTORS(words) \
	{ .opcode = "atom", .pattern = GLOBAL_ORDER " " words, .decode = decode_atomic_vector, .any_order = true }, \
	{ .opcode = "red", .pattern = GLOBAL_ORDER " " words, .decode = decode_atomic_vector, .any_order = true }
#define RUN(...) { __VA_ARGS__ }

static const struct row rows[] = {
	BOTH(".add" POLICY " T", RUN([T_U32] = atomic_u32, [T_S32] = atomic_u32, [T_U64] = atomic_u64, [T_S64] = atomic_u64,
		[T_F32] = atomic_add_f32, [T_F64] = atomic_add_f64)),
	BOTH(".add .noftz" POLICY " T", RUN([T_F16] = atomic_add_f16, [T_F16X2] = atomic_add_f16x2, [T_BF16] = atomic_add_bf16,
		[T_BF16X2] = atomic_add_bf16x2)),
	BOTH(".min|.max" POLICY " T", RUN([T_U32] = atomic_u32, [T_S32] = atomic_s32, [T_U64] = atomic_u64, [T_S64] = atomic_s64)),
	BOTH(".and|.or|.xor" POLICY " T", RUN([T_B32] = atomic_u32, [T_B64] = atomic_u64)),
	BOTH(".inc|.dec" POLICY " T", RUN([T_U32] = atomic_u32)),
	ONE("atom", ".exch" POLICY " T", RUN([T_B32] = atomic_u32, [T_B64] = atomic_u64, [T_B128] = atomic_b128)),
	ONE("atom", ".cas" POLICY " T", RUN([T_B16] = atomic_u16, [T_B32] = atomic_u32, [T_B64] = atomic_u64,
		[T_B128] = atomic_b128)),
	VECTORS(".add" POLICY " .v2|.v4 .f32"),
	VECTORS(".add|.min|.max .noftz" POLICY " .v2|.v4|.v8 .f16|.bf16"),
	VECTORS(".add|.min|.max .noftz" POLICY " .v2|.v4 .f16x2|.bf16x2"),
};
ROWS(rows_atomic, rows);
