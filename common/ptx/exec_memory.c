/* Loads and stores. access.c checks a request as a whole; here the data moves, by the shape of the
 * addresses: contiguous and uniform requests are vector operations. */
#include "ptx/access.h"

#include <string.h>

#include "ptx/lanes.h"
#include "ptx/race.h"
#include "ptx/table.h"

/* ---- loads: M is the type in memory, D that of the register */

#define LOAD_ONE(M, D) \
	do { \
		D *d = REG(D, i->list[0]), result[LANES] __attribute__((aligned(64))); \
		const char *base = acc.base; \
		const int32_t *relative = acc.pattern->relative; \
		switch (acc.pattern->shape) { \
		case SHAPE_CONTIGUOUS: \
			EACH_LANE(l) \
				d[l] = (D)((const M *)(const void *)base)[l]; \
			break; \
		case SHAPE_UNIFORM: { \
			D v = (D)*(const M *)(const void *)base; \
			EACH_LANE(l) \
				d[l] = v; \
			break; \
		} \
		case SHAPE_CHUNKS: \
			for (int c = 0; c < 4; c++) { \
				const M *from = (const M *)(const void *)(base + relative[c * 8]); \
				D *to = d + c * 8, v = (D)*from; \
				if (acc.pattern->chunk_uniform >> c & 1) \
					for (int l = 0; l < 8; l++) \
						to[l] = v; \
				else \
					for (int l = 0; l < 8; l++) \
						to[l] = (D)from[l]; \
			} \
			break; \
		default: \
			if (mask == FULL) { \
				for (int l = 0; l < LANES; l++) \
					d[l] = (D)*(const M *)(const void *)(base + relative[l]); \
				break; \
			} \
			for (int l = 0; l < LANES; l++) \
				result[l] = (D)*(const M *)(const void *)(base + relative[l]); \
			MERGE_LANES(d, result, mask); \
		} \
	} while (0)

#define LOAD_MANY(M, D, n) \
	do { \
		const char *base = acc.base; \
		const int32_t *relative = acc.pattern->relative; \
		for (unsigned k = 0; k < (n); k++) { \
			if (i->list[k] == NO_REG) \
				continue; \
			D *d = REG(D, i->list[k]), result[LANES] __attribute__((aligned(64))); \
			D *to = mask == FULL ? d : result; \
			if (acc.pattern->shape == SHAPE_CONTIGUOUS) \
				EACH_LANE(l) \
					to[l] = (D)((const M *)(const void *)base)[(unsigned)l * (n) + k]; \
			else \
				for (int l = 0; l < LANES; l++) \
					to[l] = (D)((const M *)(const void *)(base + relative[l]))[k]; \
			if (to == result) \
				MERGE_LANES(d, result, mask); \
		} \
	} while (0)

#define LOAD(name, M, D) \
HANDLER(name) \
{ \
	struct access acc; \
	UNUSED(wide); \
	if (access_all(i, w, mask, (uint32_t)sizeof(M) * i->n, ACCESS_READ, &acc)) { \
		if (i->n == 1) \
			LOAD_ONE(M, D); \
		else if (i->n == 2) \
			LOAD_MANY(M, D, 2); \
		else if (i->n == 4) \
			LOAD_MANY(M, D, 4); \
		else \
			LOAD_MANY(M, D, 8); \
		return; \
	} \
	char *pointers[LANES]; \
	access_each(i, w, mask, (uint32_t)sizeof(M) * i->n, ACCESS_READ, pointers); \
	EACH_IN(mask, l) \
		for (int k = 0; k < i->n; k++) \
			if (i->list[k] != NO_REG) \
				REG(D, i->list[k])[l] = (D)((const M *)(const void *)pointers[l])[k]; \
}
LOAD(load_u8_16, u8, u16)
LOAD(load_u8_32, u8, u32)
LOAD(load_u8_64, u8, u64)
LOAD(load_s8_16, s8, s16)
LOAD(load_s8_32, s8, s32)
LOAD(load_s8_64, s8, s64)
LOAD(load_u16_16, u16, u16)
LOAD(load_u16_32, u16, u32)
LOAD(load_u16_64, u16, u64)
LOAD(load_s16_32, s16, s32)
LOAD(load_s16_64, s16, s64)
LOAD(load_u32_32, u32, u32)
LOAD(load_u32_64, u32, u64)
LOAD(load_s32_64, s32, s64)
LOAD(load_u64_64, u64, u64)

/* [signed][log2 of bytes in memory][log2 of bytes of the register - 1] */
static handler *const loads[2][4][3] = {
	{ { load_u8_16, load_u8_32, load_u8_64 }, { load_u16_16, load_u16_32, load_u16_64 }, { NULL, load_u32_32, load_u32_64 },
		{ NULL, NULL, load_u64_64 } },
	{ { load_s8_16, load_s8_32, load_s8_64 }, { load_u16_16, load_s16_32, load_s16_64 }, { NULL, load_u32_32, load_s32_64 },
		{ NULL, NULL, load_u64_64 } },
};

/* ---- stores: the low bytes of the register */

#define STORE(name, M, S) \
HANDLER(name) \
{ \
	struct access acc; \
	UNUSED(wide); \
	if (!access_all(i, w, mask, (uint32_t)sizeof(M) * i->n, ACCESS_WRITE, &acc)) { \
		char *pointers[LANES]; \
		access_each(i, w, mask, (uint32_t)sizeof(M) * i->n, ACCESS_WRITE, pointers); \
		EACH_IN(mask, l) \
			for (int k = 0; k < i->n; k++) \
				((M *)(void *)pointers[l])[k] = (M)REG(S, i->list[k])[l]; \
		return; \
	} \
	const int32_t *relative = acc.pattern->relative; \
	if (acc.pattern->shape == SHAPE_CONTIGUOUS && i->n == 1) { \
		const S *s = REG(S, i->list[0]); \
		EACH_LANE(l) \
			((M *)(void *)acc.base)[l] = (M)s[l]; \
	} else if (acc.pattern->shape == SHAPE_CONTIGUOUS && i->n == 4) { \
		const S *s0 = REG(S, i->list[0]), *s1 = REG(S, i->list[1]), *s2 = REG(S, i->list[2]), *s3 = REG(S, i->list[3]); \
		M *to = (M *)(void *)acc.base; \
		for (int l = 0; l < LANES; l++) { \
			to[l * 4] = (M)s0[l]; \
			to[l * 4 + 1] = (M)s1[l]; \
			to[l * 4 + 2] = (M)s2[l]; \
			to[l * 4 + 3] = (M)s3[l]; \
		} \
	} else { \
		EACH_IN(mask, l) \
			for (int k = 0; k < i->n; k++) \
				((M *)(void *)(acc.base + relative[l]))[k] = (M)REG(S, i->list[k])[l]; \
	} \
}
STORE(store_8_16, u8, u16)
STORE(store_8_32, u8, u32)
STORE(store_8_64, u8, u64)
STORE(store_16_16, u16, u16)
STORE(store_16_32, u16, u32)
STORE(store_16_64, u16, u64)
STORE(store_32_32, u32, u32)
STORE(store_32_64, u32, u64)
STORE(store_64_64, u64, u64)

static handler *const stores[4][3] = {
	{ store_8_16, store_8_32, store_8_64 }, { store_16_16, store_16_32, store_16_64 }, { NULL, store_32_32, store_32_64 },
	{ NULL, NULL, store_64_64 },
};

/* ---- 16 bytes in one register */

static void
move_128(const struct insn *i, struct warp *w, uint32_t mask, int access)
{
	struct access acc;
	char *pointers[LANES];
	if (access_all(i, w, mask, 16, access, &acc))
		EACH_IN(mask, l)
			pointers[l] = acc.base + acc.pattern->relative[l];
	else
		access_each(i, w, mask, 16, access, pointers);
	EACH_IN(mask, l) {
		char *reg = w->frame + i->list[0] + l * 16;
		memcpy(access == ACCESS_WRITE ? pointers[l] : reg, access == ACCESS_WRITE ? reg : pointers[l], 16);
	}
}

HANDLER(load_128)
{
	UNUSED(wide);
	move_128(i, w, mask, ACCESS_READ);
}

HANDLER(store_128)
{
	UNUSED(wide);
	move_128(i, w, mask, ACCESS_WRITE);
}

/* ---- parameters */

static uint64_t
extend_value(uint64_t v, const struct insn *i)
{
	unsigned shift = 64 - i->size * 8u;
	return i->sub ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

static void
put_lanes(struct warp *w, uint32_t offset, uint64_t v, unsigned bytes, uint32_t wide)
{
	if (bytes == 8) {
		u64 *d = REG(u64, offset);
		EACH_LANE(l)
			d[l] = wide >> l & 1 ? v : d[l];
	} else if (bytes == 4) {
		u32 *d = REG(u32, offset);
		EACH_LANE(l)
			d[l] = wide >> l & 1 ? (u32)v : d[l];
	} else {
		u16 *d = REG(u16, offset);
		EACH_LANE(l)
			d[l] = wide >> l & 1 ? (u16)v : d[l];
	}
}

/* A kernel parameter is the same for all lanes. insn.size: bytes in memory, mode: of the register */
HANDLER(load_kernel_param)
{
	UNUSED(mask);
	for (int k = 0; k < i->n; k++) {
		uint64_t v = 0;
		memcpy(&v, w->block->params + i->imm + k * i->size, i->size);
		if (i->list[k] != NO_REG)
			put_lanes(w, i->list[k], extend_value(v, i), i->buffer_hint, wide);
	}
}

static char *
call_area(const struct insn *i, struct warp *w, uint32_t lane)
{
	const struct image_function *f = &w->core->image->functions[i->target];
	uint64_t at = (uint64_t)i->imm;
	if (i->a != NO_REG)
		at += i->mode == 8 ? REG(u64, i->a)[lane] : REG(u32, i->a)[lane];
	uint32_t bytes = (uint32_t)i->size * i->n;
	if (at > f->area_bytes || bytes > f->area_bytes - at) {
		struct finding_place place = { PTX_MEMCHECK, PTX_OUT_OF_BOUNDS, lane, PTX_SPACE_PARAM, at, bytes, .write = false };
		report(w, i, &place, "Out of bounds: access of %u bytes to the parameters of a call", bytes);
		longjmp(w->core->stop, PTX_FAULT);
	}
	return w->frame + f->area + (size_t)lane * f->area_bytes + at;
}

HANDLER(load_call_param)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		const char *from = call_area(i, w, l);
		for (int k = 0; k < i->n; k++) {
			uint64_t v = 0;
			memcpy(&v, from + k * i->size, i->size);
			v = extend_value(v, i);
			if (i->list[k] != NO_REG)
				memcpy(w->frame + i->list[k] + l * i->buffer_hint, &v, i->buffer_hint);
		}
	}
}

HANDLER(store_call_param)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		char *to = call_area(i, w, l);
		for (int k = 0; k < i->n; k++)
			memcpy(to + k * i->size, w->frame + i->list[k] + l * i->buffer_hint, i->size);
	}
}

/* A loop over it may be waiting for another lane. */
HANDLER(volatile_access)
{
	w->atomic_seen = true;
	i->inner(i, w, mask, wide);
}

/* ---- decoding */

static unsigned
log2_of(unsigned v)
{
	return v == 1 ? 0 : v == 2 ? 1 : v == 4 ? 2 : 3;
}

/* The registers of a load or store, alone or in braces. All are of one size, which is returned; 0: failed. */
static unsigned
decode_registers(struct decoder *d, const struct operand *o, unsigned n, enum type type, bool stores_them)
{
	unsigned have = 0, bytes = type_bytes(type) < 2 ? 2 : type_bytes(type);
	static const enum type plain[] = { [2] = T_B16, [4] = T_B32, [8] = T_B64, [16] = T_B128 };
	bool vector = o->kind == O_VECTOR;
	if (vector ? o->n_items != n : n != 1) {
		decode_fail(d, "with a vector of another length");
		return 0;
	}
	decode_list(d, n);
	for (unsigned k = 0; k < n; k++) {
		const struct operand *r = vector ? &o->items[k] : o;
		bool sink = r->kind == O_SINK;
		bool is_float = type == T_F32 || type == T_F64;
		enum type read_as = is_float && r->kind != O_REGISTER ? type : plain[bytes];
		unsigned got = stores_them ? decode_source(d, r, read_as, false, F_LIST + (int)k)
			: decode_destination(d, r, bytes, false, F_LIST + (int)k);
		if (!got)
			return 0;
		if (!sink && have && have != got) {
			decode_fail(d, "with registers of different sizes");
			return 0;
		}
		have = sink ? have : got;
	}
	return have ? have : bytes;
}

static bool
decode_kernel_param(struct decoder *d, const struct operand *o, bool *is_kernel)
{
	const struct operand *base = o->kind == O_ADDRESS ? o->items : o;
	*is_kernel = base->kind == O_VARIABLE && base->variable->storage == IN_KERNEL_PARAM;
	if (!*is_kernel)
		return true;
	struct insn *i = decode_insn(d);
	int64_t end = i->imm + (int64_t)i->size * i->n;
	return (i->imm >= 0 && end <= decode_param_bytes(d)) || decode_fail(d, "beyond the parameters");
}

/* ld and st of the parameters of kernels and calls */
static bool
decode_param_access(struct decoder *d, const struct operand *address, bool stores_them, unsigned have)
{
	struct insn *i = decode_insn(d);
	bool kernel_param;
	if (!decode_kernel_param(d, address, &kernel_param))
		return false;
	i->buffer_hint = (uint16_t)have;
	if (kernel_param) {
		i->run = load_kernel_param;
		return !stores_them || decode_fail(d, "to a kernel parameter");
	}
	if (address->items->kind == O_REGISTER && decode_in_kernel(d) && !stores_them) {
		/* a computed address of a kernel parameter: as generic memory, through the window */
		i->space = PTX_SPACE_PARAM;
		return true;
	}
	i->run = stores_them ? store_call_param : load_call_param;
	i->target = decode_current_function(d);
	return true;
}

static bool
decode_access(struct decoder *d, const struct mods *mods, const struct statement *s, bool stores_them)
{
	enum type type = mods->types[0];
	struct insn *i = decode_insn(d);
	unsigned n = mods->field[M_VECTOR] ? mods->field[M_VECTOR] : 1, bytes = type_bytes(type), base;
	unsigned operands = mods->field[M_POLICY] ? 3 : 2;
	if (s->n_operands != operands || n * bytes > 16)
		return decode_fail(d, "with %u operands or more than 16 bytes", s->n_operands);
	const struct operand *address = &s->operands[stores_them ? 0 : 1], *data = &s->operands[stores_them ? 1 : 0];
	i->space = mods->field[M_SPACE];
	i->n = (uint8_t)n;
	i->size = (uint8_t)bytes;
	i->sub = type_is_signed(type);
	if (!decode_address(d, address, F_A, &i->imm, &base))
		return false;
	if (operands == 3 && !decode_source(d, &s->operands[2], T_B64, true, F_D))
		return false;
	unsigned have = decode_registers(d, data, n, type, stores_them);
	if (!have)
		return false;
	i->mode = (uint8_t)base;
	i->buffer_hint = (uint16_t)have;
	if (bytes == 16 && i->space == PTX_SPACE_PARAM)
		return decode_fail(d, "from parameters");
	if (bytes == 16)
		i->run = stores_them ? store_128 : load_128;
	else if (stores_them)
		i->run = stores[log2_of(bytes)][log2_of(have) - 1];
	else
		i->run = loads[i->sub][log2_of(bytes)][log2_of(have) - 1];
	i->flag = mods->field[M_VOLATILE];
	if (i->space == PTX_SPACE_PARAM && !decode_param_access(d, address, stores_them, have))
		return false;
	if (i->run == load_kernel_param || i->run == load_call_param || i->run == store_call_param)
		return true;
	if (i->flag) {
		i->inner = i->run;
		i->run = stores_them ? i->inner : volatile_access;
	}
	decode_pattern(d);
	return true;
}

static bool
decode_ld(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	return decode_access(d, mods, s, false);
}

static bool
decode_st(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	return decode_access(d, mods, s, true);
}

HANDLER(nothing)
{
	UNUSED(i);
	UNUSED(w);
	UNUSED(mask);
	UNUSED(wide);
}

/* Any operands: hints and ordering mean nothing here, where memory is always in order. */
static bool
decode_nothing(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	UNUSED(mods);
	UNUSED(s);
	decode_insn(d)->run = nothing;
	return true;
}

/* Whoever sleeps waits for something: others get their turn sooner. */
HANDLER(nap)
{
	UNUSED(i);
	UNUSED(mask);
	UNUSED(wide);
	w->atomic_seen = true;
}

static bool
decode_nanosleep(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	decode_nothing(d, row, mods, s);
	decode_insn(d)->run = nap;
	return s->n_operands == 1 || decode_fail(d, "with %u operands", s->n_operands);
}

/* Memory is always in order here; fences matter to racecheck alone. */
HANDLER(fence)
{
	UNUSED(mask);
	UNUSED(wide);
	if (w->block->race)
		race_fence(w, i->sub == SCOPE_BLOCK ? RACE_BLOCK : RACE_GRID);
}

static bool
decode_fence(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	decode_insn(d)->run = fence;
	decode_insn(d)->sub = mods->field[M_SCOPE];
	return s->n_operands == 0 || decode_fail(d, "with %u operands", s->n_operands);
}

/* A policy for caches is a number that nothing looks at. */
HANDLER(make_policy)
{
	UNUSED(wide);
	EACH_IN(mask, l)
		REG(u64, i->d)[l] = 0;
}

static bool
decode_policy_of(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(row);
	UNUSED(mods);
	decode_insn(d)->run = make_policy;
	return s->n_operands > 0 && s->operands[0].kind == O_REGISTER
		? decode_destination(d, &s->operands[0], 8, true, F_D) != 0 : decode_fail(d, "without a destination");
}

#define SPACES ".global|.shared|.shared::cta|.shared::cluster|.local|.const|.param|.param::entry|.param::func?"
#define ORDER ".weak|.volatile|.relaxed|.acquire?"
#define ORDER_ST ".weak|.volatile|.relaxed|.release?"
#define SCOPE ".cta|.gpu|.sys|.cluster?"
#define L1_HINT ".L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|.L1::evict_last|.L1::no_allocate?"
#define L2_HINT ".L2::evict_first|.L2::evict_last|.L2::evict_normal? .L2::cache_hint?"
#define HINTS ".nc? .ca|.cg|.cs|.lu|.cv? " L1_HINT " " L2_HINT " .L2::64B|.L2::128B|.L2::256B?"
#define HINTS_ST ".wb|.cg|.cs|.wt? " L1_HINT " " L2_HINT
#define MEMORY_TYPES ".b8|.u8|.s8|.b16|.u16|.s16|.b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64|.b128"
#define RESTRICTED ".sync_restrict::shared::cluster|.sync_restrict::shared::cta .cluster"
#define PRIMARY_POLICY " .L2::evict_last|.L2::evict_normal|.L2::evict_first|.L2::evict_unchanged" \
	" .L2::evict_unchanged|.L2::evict_first?"

static const struct row rows[] = {
	{ .opcode = "ld", .pattern = ".mmio? " ORDER " " SCOPE " " SPACES " " HINTS " .v2|.v4|.v8? " MEMORY_TYPES,
		.decode = decode_ld, .any_order = true },
	DECODED("ldu", ".global? .v2|.v4|.v8? " MEMORY_TYPES, decode_ld),
	{ .opcode = "st", .pattern = ".mmio? " ORDER_ST " " SCOPE " " SPACES " " HINTS_ST " .v2|.v4|.v8? " MEMORY_TYPES,
		.decode = decode_st, .any_order = true },
	DECODED("membar", ".cta|.gl|.sys", decode_fence),
	DECODED("fence", ".sc|.acq_rel|.acquire|.release? .cta|.gpu|.sys|.cluster", decode_fence),
	DECODED("fence", ".acquire|.release " RESTRICTED, decode_fence),
	DECODED("fence", ".mbarrier_init .release .cluster", decode_fence),
	DECODED("fence", ".proxy .alias", decode_nothing),
	DECODED("fence", ".proxy .async .global|.shared::cta|.shared::cluster?", decode_nothing),
	DECODED("fence", ".proxy .async::generic .acquire|.release " RESTRICTED, decode_nothing),
	DECODED("createpolicy", ".fractional" PRIMARY_POLICY " .b64", decode_policy_of),
	DECODED("createpolicy", ".range .global?" PRIMARY_POLICY " .b64", decode_policy_of),
	DECODED("createpolicy", ".cvt .L2 .b64", decode_policy_of),
	DECODED("cp", ".async .bulk .prefetch .L2 .global .L2::cache_hint?", decode_nothing),
	DECODED("prefetch", ".global|.local? .L1|.L2|.L2::evict_last|.L2::evict_normal", decode_nothing),
	DECODED("prefetchu", ".L1", decode_nothing),
	DECODED("discard", ".global? .L2", decode_nothing),
	DECODED("applypriority", ".global? .L2::evict_normal", decode_nothing),
	DECODED("nanosleep", ".u32", decode_nanosleep),
	DECODED("pmevent", ".mask?", decode_nothing),
	DECODED("griddepcontrol", ".wait|.launch_dependents", decode_nothing),
};
ROWS(rows_memory, rows);
