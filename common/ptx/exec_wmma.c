/* wmma: loads, stores and products of whole matrices, as tensor_core.h says. Which element a register of a lane holds
 * is not specified; it is here where an H200 has it, so that code that counts on it runs as there: like the fragments
 * of mma, in tiles of 8 rows or columns. Where a fragment has more registers than elements (fp16), the rest repeat
 * them. */
#include <string.h>

#include "ptx/half.h"
#include "ptx/profile.h"
#include "ptx/table.h"
#include "ptx/tensor_core.h"

enum { MAX_ELEMENTS = 1024, D_REGS = 0, A_REGS = 8, B_REGS = 16, C_REGS = 24, WMMA_REGS = 32 };

struct extent {
	int m, n, k;
};

static const struct extent extents[] = {
	[MAT_M16N16K16] = { 16, 16, 16 }, [MAT_M32N8K16] = { 32, 8, 16 }, [MAT_M8N32K16] = { 8, 32, 16 },
	[MAT_M16N16K8] = { 16, 16, 8 }, [MAT_M8N8K4] = { 8, 8, 4 }, [MAT_M8N8K32] = { 8, 8, 32 }, [MAT_M8N8K128] = { 8, 8, 128 },
};

static int
element_bits(enum type type)
{
	return type == T_TF32 ? 32 : type == T_S4 || type == T_U4 ? 4 : type == T_B1 ? 1 : (int)type_bytes(type) * 8;
}

/* Rows and columns of fragment 'a', 'b' or 'c' */
static void
fragment_extent(enum matrix_shape shape, char fragment, int *rows, int *columns)
{
	const struct extent *e = &extents[shape];
	*rows = fragment == 'b' ? e->k : e->m;
	*columns = fragment == 'a' ? e->k : e->n;
}

static int
register_bits(enum type type)
{
	return type == T_F64 ? 64 : 32;
}

/* Of a lane: those that hold elements once */
static int
used_registers(enum matrix_shape shape, char fragment, enum type type)
{
	int rows, columns;
	fragment_extent(shape, fragment, &rows, &columns);
	return rows * columns / LANES * element_bits(type) / register_bits(type);
}

static unsigned
fragment_registers(enum matrix_shape shape, char fragment, enum type type)
{
	return type == T_F16 && fragment != 'c' ? 8 : (unsigned)used_registers(shape, fragment, type);
}

/* Row and column of a lane's element, counted over its registers. per: elements of a register, or of two in C. */
static void
element_place(enum matrix_shape shape, char fragment, enum type type, int lane, int element, int *row, int *column)
{
	const struct extent *x = &extents[shape];
	int per = fragment == 'c' ? 2 : register_bits(type) / element_bits(type), tile = element / per;
	int g = lane / 4, t = lane % 4 * per + element % per, step = 4 * per;
	int twice = x->k / step;		/* tiles over the depth, for A and B: 1 or 2 */
	if (fragment == 'a') {			/* rows first, in pairs */
		int pairs = x->m > 8 ? 2 : 1;
		*row = g + tile % pairs * 8 + tile / (pairs * twice) * 16;
		*column = t + tile / pairs % twice * step;
	} else if (fragment == 'b' && x->n == 32) {
		*row = t + tile / 2 % twice * step;
		*column = g + tile % 2 * 8 + tile / (2 * twice) * 16;
		if (twice == 1)
			*column = g + tile * 8;
	} else if (fragment == 'b') {		/* the depth first */
		*row = t + tile % twice * step;
		*column = g + tile / twice * 8;
	} else if (x->n == 32) {		/* C turned: rows are where columns are else */
		*row = t;
		*column = g + tile * 8;
	} else {
		int down = x->m / 8;
		*row = g + tile % down * 8;
		*column = t + tile / down * 8;
	}
}

/* Where a lane's element stands in its registers: the address and, for those smaller than a byte, the bit */
static char *
element_address(const struct warp *w, const uint32_t *registers, enum type type, int lane, int element, int *bit)
{
	int bits = element_bits(type), whole = register_bits(type), at = element * bits;
	*bit = at % 8;
	return w->frame + registers[at / whole] + lane * whole / 8 + at % whole / 8;
}

static void
get_fragment(const struct warp *w, const uint32_t *registers, enum matrix_shape shape, char fragment, enum type type,
	uint32_t *out)
{
	int rows, columns, bits = element_bits(type), count;
	fragment_extent(shape, fragment, &rows, &columns);
	count = rows * columns / LANES;
	for (int l = 0; l < LANES; l++)
		for (int e = 0; e < count; e++) {
			int r, c, bit;
			const char *from = element_address(w, registers, type, l, e, &bit);
			uint32_t v = 0;
			memcpy(&v, from, bits < 8 ? 1 : (size_t)bits / 8);
			element_place(shape, fragment, type, l, e, &r, &c);
			out[r * columns + c] = bits < 8 ? v >> bit & ((1u << bits) - 1) : v;
		}
}

static void
put_accumulator(struct warp *w, const uint32_t *registers, enum matrix_shape shape, enum type type, const uint32_t *in)
{
	int columns = extents[shape].n, count = extents[shape].m * columns / LANES, bytes = element_bits(type) / 8;
	for (int l = 0; l < LANES; l++)
		for (int e = 0; e < count; e++) {
			int r, c, bit;
			char *to = element_address(w, registers, type, l, e, &bit);
			element_place(shape, 'c', type, l, e, &r, &c);
			memcpy(to, &in[r * columns + c], (size_t)bytes);
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

/* Elements smaller than a byte move in pairs or eights, as they lie side by side in memory and in registers. */
static void
move_matrix(const struct insn *i, struct warp *w, bool stores_them)
{
	int rows, columns, bit;
	enum type type = (enum type)i->size;
	int bits = element_bits(type), together = bits < 8 ? 8 / bits : 1, bytes = bits < 8 ? 1 : bits / 8;
	int used = used_registers(i->n, (char)i->sub, type), registers = (int)fragment_registers(i->n, (char)i->sub, type);
	fragment_extent(i->n, (char)i->sub, &rows, &columns);
	uint64_t start = lane_address(i, w, 0);
	uint64_t stride = (uint64_t)(i->b == NO_REG ? (i->flag ? rows : columns) : (int)REG(u32, i->b)[0]) * (uint64_t)bits / 8;
	for (int l = 0; l < LANES; l++)
		for (int e = 0; e < rows * columns / LANES; e += together) {
			int r, c;
			element_place(i->n, (char)i->sub, type, l, e, &r, &c);
			uint64_t address = start + (uint64_t)(i->flag ? c : r) * stride + (uint64_t)((i->flag ? r : c) * bits / 8);
			char *memory = lane_pointer(i, w, (uint32_t)l, address, (uint32_t)bytes, stores_them ? ACCESS_WRITE : ACCESS_READ,
				(enum ptx_space)i->space);
			char *reg = element_address(w, i->list, type, l, e, &bit);
			memcpy(stores_them ? memory : reg, stores_them ? reg : memory, (size_t)bytes);
		}
	for (int k = used; !stores_them && k < registers; k++)
		memcpy(REG(u32, i->list[k]), REG(u32, i->list[k - used]), LANES * 4);
	uint32_t line_bytes = (uint32_t)((i->flag ? rows : columns) * bits) / 8;
	count_lines(i, w, start, stride, i->flag ? columns : rows, line_bytes, stores_them);
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
decode_registers(struct decoder *d, const struct operand *o, unsigned n, enum type type, bool destination, int first)
{
	enum type part = type == T_F64 ? T_F64 : T_B32;
	if (o->kind == O_VECTOR ? o->n_items != n : n != 1)
		return decode_fail(d, "with a fragment of another length");
	for (unsigned k = 0; k < n; k++) {
		const struct operand *r = o->kind == O_VECTOR ? &o->items[k] : o;
		if (r->kind == O_SINK || (destination && r->kind != O_REGISTER))
			return decode_fail(d, "with a fragment that is no register");
		if (destination ? !decode_destination(d, r, type_bytes(part), true, F_LIST + first + (int)k)
			: !decode_source(d, r, part, true, F_LIST + first + (int)k))
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
	return decode_registers(d, &s->operands[stores_them], n, type, !stores_them, 0)
		&& (s->n_operands == 2 || decode_source(d, &s->operands[2], T_U32, true, F_B));
}

/* insn.size, sub: types of A and B; mode, buffer_hint: of C and D; n: shape; imm: saturate */
HANDLER(wmma_mma)
{
	uint32_t a[MAX_ELEMENTS], b[MAX_ELEMENTS], c[MAX_ELEMENTS];
	const struct extent *e = &extents[i->n];
	enum type ta = (enum type)i->size, tb = (enum type)i->sub, in = (enum type)i->mode, out = (enum type)i->buffer_hint;
	UNUSED(wide);
	whole_warp(w, i, mask);
	get_fragment(w, i->list + A_REGS, i->n, 'a', ta, a);
	get_fragment(w, i->list + B_REGS, i->n, 'b', tb, b);
	get_fragment(w, i->list + C_REGS, i->n, 'c', in, c);
	if (in == T_S32)
		integer_product(ta, tb, e->m, e->n, e->k, a, b, i->imm, c);
	else
		tensor_product(ta, tb, in, out, e->m, e->n, e->k, a, b, c);
	put_accumulator(w, i->list + D_REGS, i->n, out, c);
}

/* m8n8k4: one fma after the other */
HANDLER(wmma_f64)
{
	f64 c[8][8];
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int r = 0; r < 8; r++)
		for (int n = 0; n < 8; n++) {
			c[r][n] = REG(f64, i->list[C_REGS + (n & 1)])[r * 4 + n / 2];
			for (int k = 0; k < 4; k++)
				c[r][n] = __builtin_fma(REG(f64, i->list[A_REGS])[r * 4 + k], REG(f64, i->list[B_REGS])[n * 4 + k], c[r][n]);
		}
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < 2; q++)
			REG(f64, i->list[D_REGS + q])[l] = c[l / 4][l % 4 * 2 + q];
}

/* m8n8k128 of bits */
HANDLER(wmma_bits)
{
	uint32_t c[8][8];
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int r = 0; r < 8; r++)
		for (int n = 0; n < 8; n++) {
			c[r][n] = REG(u32, i->list[C_REGS + (n & 1)])[r * 4 + n / 2];
			for (int k = 0; k < 4; k++) {
				u32 x = REG(u32, i->list[A_REGS])[r * 4 + k], y = REG(u32, i->list[B_REGS])[n * 4 + k];
				c[r][n] += (uint32_t)__builtin_popcount(i->imm == OP_XOR ? x ^ y : x & y);
			}
		}
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < 2; q++)
			REG(u32, i->list[D_REGS + q])[l] = c[l / 4][l % 4 * 2 + q];
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
	i->run = ta == T_F64 ? wmma_f64 : ta == T_B1 ? wmma_bits : wmma_mma;
	i->n = (uint8_t)shape;
	i->size = (uint8_t)ta;
	i->sub = (uint8_t)tb;
	i->mode = (uint8_t)tc;
	i->buffer_hint = (uint16_t)td;
	i->imm = mods->field[M_SATFINITE];
	if (ta == T_B1)
		i->imm = memmem(s->opcode.at, s->opcode.length, ".xor", 4) ? OP_XOR : OP_AND;
	return decode_registers(d, &s->operands[0], fragment_registers(shape, 'c', td), td, true, D_REGS)
		&& decode_registers(d, &s->operands[1], fragment_registers(shape, 'a', ta), ta, false, A_REGS)
		&& decode_registers(d, &s->operands[2], fragment_registers(shape, 'b', tb), tb, false, B_REGS)
		&& decode_registers(d, &s->operands[3], fragment_registers(shape, 'c', tc), tc, false, C_REGS);
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
	MOVE_ROW(".load .a", ".f64", ".m8n8k4", 'a'),
	MOVE_ROW(".load .b", ".f64", ".m8n8k4", 'b'),
	MOVE_ROW(".load .c", ".f64", ".m8n8k4", 'c'),
	MOVE_ROW(".store .d", ".f64", ".m8n8k4", 'd'),
	{ .opcode = "wmma", .pattern = ".load .a .sync .aligned .row .m8n8k32 " PLACE " .s4|.u4", .decode = decode_move, .sub = 'a' },
	{ .opcode = "wmma", .pattern = ".load .b .sync .aligned .col .m8n8k32 " PLACE " .s4|.u4", .decode = decode_move, .sub = 'b' },
	{ .opcode = "wmma", .pattern = ".load .a .sync .aligned .row .m8n8k128 " PLACE " .b1", .decode = decode_move, .sub = 'a' },
	{ .opcode = "wmma", .pattern = ".load .b .sync .aligned .col .m8n8k128 " PLACE " .b1", .decode = decode_move, .sub = 'b' },
	MOVE_ROW(".load .c", ".s32", ".m8n8k32|.m8n8k128", 'c'),
	MOVE_ROW(".store .d", ".s32", ".m8n8k32|.m8n8k128", 'd'),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .f16|.f32 .f16|.f32 .satfinite?", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .f16|.f32 .f16 .f16 .f16|.f32", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .rn? .f32 .bf16 .bf16 .f32", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col " SHAPES " .s32 .s8|.u8 .s8|.u8 .s32 .satfinite?", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col .m16n16k8 .f32 .tf32 .tf32 .f32", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row|.col .row|.col .m8n8k4 .rn? .f64 .f64 .f64 .f64 .rn?", decode_mma),
	DECODED("wmma", ".mma .sync .aligned .row .col .m8n8k32 .s32 .s4|.u4 .s4|.u4 .s32 .satfinite?", decode_mma),
	DECODED("wmma", ".mma .xor|.and .popc .sync .aligned .row .col .m8n8k128 .s32 .b1 .b1 .s32", decode_mma),
};
ROWS(rows_wmma, rows);
