/* wmma: loads, stores and products of whole matrices. Which element a lane's register holds is not specified, so
 * it is our own choice: element e of the matrix, counted by rows, is in lane e / per, slot e % per, where per is
 * the number of elements for each lane. Where a fragment has twice the registers (fp16), the rest repeat them. */
#include <string.h>

#include "ptx/half.h"
#include "ptx/profile.h"
#include "ptx/table.h"

enum { MAX_ELEMENTS = 512, D_REGS = 0, A_REGS = 8, B_REGS = 16, C_REGS = 24, WMMA_REGS = 32 };

struct extent {
	int m, n, k;
};

static const struct extent extents[] = {
	[MAT_M16N16K16] = { 16, 16, 16 }, [MAT_M32N8K16] = { 32, 8, 16 }, [MAT_M8N32K16] = { 8, 32, 16 },
	[MAT_M16N16K8] = { 16, 16, 8 },
};

static unsigned
element_bytes(enum type type)
{
	return type == T_TF32 ? 4 : type_bytes(type);
}

/* Rows and columns of fragment 'a', 'b' or 'c' */
static void
fragment_extent(enum matrix_shape shape, char fragment, int *rows, int *columns)
{
	const struct extent *e = &extents[shape];
	*rows = fragment == 'b' ? e->k : e->m;
	*columns = fragment == 'a' ? e->k : e->n;
}

static unsigned
fragment_registers(enum matrix_shape shape, char fragment, enum type type)
{
	int rows, columns;
	fragment_extent(shape, fragment, &rows, &columns);
	if (type == T_F16 && fragment != 'c')
		return 8;
	return (unsigned)(rows * columns) / 32 * element_bytes(type) / 4;
}

static void
get_fragment(const struct warp *w, const uint32_t *registers, int count, enum type type, double *out)
{
	int per = count / LANES, size = (int)element_bytes(type);
	for (int e = 0; e < count; e++) {
		int lane = e / per, at = e % per * size;
		const char *from = w->frame + registers[at / 4] + lane * 4 + at % 4;
		uint32_t bits = 0;
		memcpy(&bits, from, (size_t)size);
		switch (type) {
		case T_F16: out[e] = f16_widen((uint16_t)bits); break;
		case T_BF16: out[e] = bf16_widen((uint16_t)bits); break;
		case T_TF32: out[e] = float_of_bits(bits & 0xffffe000); break;
		case T_F32: out[e] = float_of_bits(bits); break;
		case T_S8: out[e] = (int8_t)bits; break;
		case T_U8: out[e] = (uint8_t)bits; break;
		default: out[e] = (int32_t)bits;
		}
	}
}

static void
put_accumulator(struct warp *w, const uint32_t *registers, int count, enum type type, const double *in, bool saturate)
{
	int per = count / LANES;
	for (int e = 0; e < count; e++) {
		int lane = e / per, slot = e % per;
		double v = in[e];
		if (type == T_F16) {
			((u16 *)(w->frame + registers[slot / 2]))[lane * 2 + slot % 2] = f16_round(float_odd(v));
		} else if (type == T_S32) {
			v = saturate && v > INT32_MAX ? INT32_MAX : saturate && v < INT32_MIN ? INT32_MIN : v;
			((u32 *)(w->frame + registers[slot]))[lane] = (uint32_t)(uint64_t)(int64_t)v;
		} else {
			((u32 *)(w->frame + registers[slot]))[lane] = v != v ? 0x7fffffff : bits_of_float((float)v);
		}
	}
}

/* insn.sub: fragment letter, size: type, n: shape, flag: column major, b or negative: stride in elements */

/* Sectors are counted by line of the matrix, as the memory sees them. */
static void
count_lines(const struct insn *i, struct warp *w, uint64_t start, uint64_t stride_bytes, int lines, uint32_t line_bytes,
	bool stores_them)
{
	struct machine_core *core = w->core;
	struct ptx_counters *c = &core->counters;
	uint64_t sectors = 0, addresses[LANES];
	if (start - SHARED_WINDOW < WINDOW_BYTES || start < WINDOW_BYTES) {
		core->counters.shared_requests += (uint64_t)lines * line_bytes / 128 + 1;
		if (core->profile)
			profile_shared(i, w, (uint32_t)lines * line_bytes / 128 + 1);
		return;
	}
	for (int k = 0; k < lines; k++) {
		addresses[k] = start + (uint64_t)k * stride_bytes;
		sectors += ((addresses[k] + line_bytes - 1) >> 5) - (addresses[k] >> 5) + 1;
	}
	if (core->profile)
		profile_global(i, w, 0, NULL, addresses, lines == LANES ? FULL : (1u << lines) - 1, line_bytes,
			stores_them ? ACCESS_WRITE : ACCESS_READ);
	*(stores_them ? &c->global_write_requests : &c->global_read_requests) += 1;
	*(stores_them ? &c->global_write_sectors : &c->global_read_sectors) += sectors;
	*(stores_them ? &c->global_write_bytes : &c->global_read_bytes) += (uint64_t)lines * line_bytes;
}

static void
move_matrix(const struct insn *i, struct warp *w, bool stores_them)
{
	int rows, columns;
	unsigned size = element_bytes((enum type)i->size), registers = fragment_registers(i->n, (char)i->sub, (enum type)i->size);
	fragment_extent(i->n, (char)i->sub, &rows, &columns);
	int count = rows * columns, per = count / LANES, used = per * (int)size / 4;
	uint64_t start = lane_address(i, w, 0);
	uint64_t stride = (uint64_t)(i->b == NO_REG ? (i->flag ? rows : columns) : (int)REG(u32, i->b)[0]) * size;
	for (int e = 0; e < count; e++) {
		int r = e / columns, c = e % columns, lane = e / per, at = e % per * (int)size;
		uint64_t address = start + (uint64_t)(i->flag ? c : r) * stride + (uint64_t)(i->flag ? r : c) * size;
		char *memory = lane_pointer(i, w, (uint32_t)lane, address, size, stores_them ? ACCESS_WRITE : ACCESS_READ,
			(enum ptx_space)i->space);
		char *reg = w->frame + i->list[at / 4] + lane * 4 + at % 4;
		memcpy(stores_them ? memory : reg, stores_them ? reg : memory, size);
	}
	if (!stores_them)
		for (unsigned k = (unsigned)used; used && k < registers; k++)
			memcpy(REG(u32, i->list[k]), REG(u32, i->list[k - (unsigned)used]), LANES * 4);
	count_lines(i, w, start, stride, i->flag ? columns : rows, (uint32_t)(i->flag ? rows : columns) * size, stores_them);
}

HANDLER(wmma_load)
{
	UNUSED(wide);
	whole_warp(w, i, mask);
	move_matrix(i, w, false);
}

HANDLER(wmma_store)
{
	UNUSED(wide);
	whole_warp(w, i, mask);
	move_matrix(i, w, true);
}

static bool
decode_registers(struct decoder *d, const struct operand *o, unsigned n, bool destination, int first)
{
	if (o->kind == O_VECTOR ? o->n_items != n : n != 1)
		return decode_fail(d, "with a fragment of another length");
	for (unsigned k = 0; k < n; k++) {
		const struct operand *r = o->kind == O_VECTOR ? &o->items[k] : o;
		if (r->kind == O_SINK || (destination && r->kind != O_REGISTER))
			return decode_fail(d, "with a fragment that is no register");
		if (destination ? !decode_destination(d, r, 4, true, F_LIST + first + (int)k)
			: !decode_source(d, r, T_B32, true, F_LIST + first + (int)k))
			return false;
	}
	return true;
}

/* wmma.load.X d, [p]{, stride} and wmma.store.d [p], d{, stride} */
static bool
decode_move(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	bool stores_them = row->sub == 'd';
	char fragment = stores_them ? 'c' : (char)row->sub;
	enum type type = mods->types[0];
	unsigned n = fragment_registers(mods->field[M_SHAPE], fragment, type), base;
	if (s->n_operands < 2 || s->n_operands > 3 || !n)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->run = stores_them ? wmma_store : wmma_load;
	i->sub = (uint8_t)fragment;
	i->size = (uint8_t)type;
	i->n = mods->field[M_SHAPE];
	i->space = mods->field[M_SPACE];
	i->flag = mods->field[M_LAYOUT_A] == 2;
	if (!decode_address(d, &s->operands[!stores_them], F_A, &i->imm, &base))
		return false;
	i->mode = (uint8_t)base;
	decode_list(d, n);
	return decode_registers(d, &s->operands[stores_them], n, !stores_them, 0)
		&& (s->n_operands == 2 || decode_source(d, &s->operands[2], T_U32, true, F_B));
}

/* insn.size, sub: types of A and B; mode, buffer_hint: of C and D; n: shape; imm: saturate */
HANDLER(wmma_mma)
{
	double a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS];
	const struct extent *e = &extents[i->n];
	UNUSED(wide);
	whole_warp(w, i, mask);
	get_fragment(w, i->list + A_REGS, e->m * e->k, (enum type)i->size, a);
	get_fragment(w, i->list + B_REGS, e->k * e->n, (enum type)i->sub, b);
	get_fragment(w, i->list + C_REGS, e->m * e->n, (enum type)i->mode, c);
	for (int r = 0; r < e->m; r++)
		for (int k = 0; k < e->k; k++)
			for (int n = 0; n < e->n; n++)
				c[r * e->n + n] += a[r * e->k + k] * b[k * e->n + n];
	put_accumulator(w, i->list + D_REGS, e->m * e->n, (enum type)i->buffer_hint, c, i->imm);
}

static bool
decode_mma(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const enum type *t = mods->types;
	bool halves = mods->n_types == 2;	/* fp16 is not spelled: only the types of D and C are */
	enum type ta = halves ? T_F16 : t[1], tb = halves ? T_F16 : t[2], td = t[0], tc = halves ? t[1] : t[3];
	enum matrix_shape shape = mods->field[M_SHAPE];
	UNUSED(row);
	if (s->n_operands != 4)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_list(d, WMMA_REGS);
	i->run = wmma_mma;
	i->n = (uint8_t)shape;
	i->size = (uint8_t)ta;
	i->sub = (uint8_t)tb;
	i->mode = (uint8_t)tc;
	i->buffer_hint = (uint16_t)td;
	i->imm = mods->field[M_SATFINITE];
	return decode_registers(d, &s->operands[0], fragment_registers(shape, 'c', td), true, D_REGS)
		&& decode_registers(d, &s->operands[1], fragment_registers(shape, 'a', ta), false, A_REGS)
		&& decode_registers(d, &s->operands[2], fragment_registers(shape, 'b', tb), false, B_REGS)
		&& decode_registers(d, &s->operands[3], fragment_registers(shape, 'c', tc), false, C_REGS);
}

#define SHAPES ".m16n16k16|.m32n8k16|.m8n32k16"
#define PLACE ".global|.shared|.shared::cta?"
#define MOVE_ROW(words, type_words, shapes, letter) \
	{ .opcode = "wmma", .pattern = words " .sync .aligned .row|.col " shapes " " PLACE " " type_words, .decode = decode_move, \
		.sub = letter }

static const struct row rows[] = {
	MOVE_ROW(".load .a", ".f16|.bf16|.s8|.u8", SHAPES, 'a'),
	MOVE_ROW(".load .b", ".f16|.bf16|.s8|.u8", SHAPES, 'b'),
	MOVE_ROW(".load .c", ".f16|.f32|.s32", SHAPES, 'c'),
	MOVE_ROW(".store .d", ".f16|.f32|.s32", SHAPES, 'd'),
	MOVE_ROW(".load .a", ".tf32", ".m16n16k8", 'a'),
	MOVE_ROW(".load .b", ".tf32", ".m16n16k8", 'b'),
	MOVE_ROW(".load .c", ".f32", ".m16n16k8", 'c'),
	MOVE_ROW(".store .d", ".f32", ".m16n16k8", 'd'),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .f16|.f32 .f16|.f32 .satfinite?", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .f32 .bf16 .bf16 .f32", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .s32 .s8|.u8 .s8|.u8 .s32 .satfinite?", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col .m16n16k8 .f32 .tf32 .tf32 .f32", decode_mma),
};
ROWS(rows_wmma, rows);
