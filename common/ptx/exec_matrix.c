/* Matrix instructions of a whole warp: fragments are gathered into matrices, multiplied as tensor_core.h says, and
 * scattered back. Which element a register of a lane holds follows the fragment layouts of the PTX manual. */
#include <string.h>

#include "ptx/access.h"
#include "ptx/half.h"
#include "ptx/table.h"
#include "ptx/tensor_core.h"

/* ---- ldmatrix, stmatrix: 8x8 matrices of 16-bit elements, the rows of matrix k at the addresses of lanes 8k.. */

static void
row_pointers(const struct insn *i, struct warp *w, uint32_t lanes, int access, char **rows)
{
	struct access acc;
	if (access_all(i, w, lanes, 16, access, &acc))
		EACH_IN(lanes, l)
			rows[l] = acc.base + acc.pattern->relative[l];
	else
		access_each(i, w, lanes, 16, access, rows);
}

HANDLER(ldmatrix)
{
	char *rows[LANES];
	u32 result[4][LANES];
	uint32_t lanes = i->n == 4 ? FULL : (1u << i->n * 8) - 1;
	UNUSED(wide);
	whole_warp(w, i, mask);
	row_pointers(i, w, lanes, ACCESS_READ, rows);
	for (int k = 0; k < i->n; k++)
		for (int l = 0; l < LANES; l++) {
			int g = l / 4, t = l % 4 * 2;
			const u16 *row = (const u16 *)(void *)rows[k * 8 + g];
			const u16 *column0 = (const u16 *)(void *)rows[k * 8 + t], *column1 = (const u16 *)(void *)rows[k * 8 + t + 1];
			result[k][l] = i->sub ? column0[g] | (u32)column1[g] << 16 : row[t] | (u32)row[t + 1] << 16;
		}
	for (int k = 0; k < i->n; k++)
		memcpy(REG(u32, i->list[k]), result[k], sizeof result[k]);
}

HANDLER(stmatrix)
{
	char *rows[LANES];
	uint32_t lanes = i->n == 4 ? FULL : (1u << i->n * 8) - 1;
	UNUSED(wide);
	whole_warp(w, i, mask);
	row_pointers(i, w, lanes, ACCESS_WRITE, rows);
	for (int k = 0; k < i->n; k++)
		for (int l = 0; l < LANES; l++) {
			int g = l / 4, t = l % 4 * 2;
			u32 v = REG(u32, i->list[k])[l];
			for (int half = 0; half < 2; half++) {
				int row = i->sub ? t + half : g, column = i->sub ? g : t + half;
				((u16 *)(void *)rows[k * 8 + row])[column] = (u16)(v >> 16 * half);
			}
		}
}

static bool
decode_matrix_access(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	unsigned n = mods->field[M_COUNT], base;
	bool stores_them = row->sub;
	if (s->n_operands != 2)
		return decode_fail(d, "with %u operands", s->n_operands);
	const struct operand *address = &s->operands[!stores_them], *data = &s->operands[stores_them];
	bool vector = data->kind == O_VECTOR;
	i->space = mods->field[M_SPACE];
	i->n = (uint8_t)n;
	i->sub = mods->field[M_TRANS];
	i->run = stores_them ? stmatrix : ldmatrix;
	if (!decode_address(d, address, F_A, &i->imm, &base))
		return false;
	i->mode = (uint8_t)base;
	if (vector ? data->n_items != n : n != 1)
		return decode_fail(d, "with another number of registers");
	decode_list(d, n);
	for (unsigned k = 0; k < n; k++) {
		const struct operand *r = vector ? &data->items[k] : data;
		if (r->kind != O_REGISTER)
			return decode_fail(d, "with an operand that is no register");
		if (!(stores_them ? decode_source(d, r, T_B32, true, F_LIST + (int)k)
			: decode_destination(d, r, 4, true, F_LIST + (int)k)))
			return false;
	}
	decode_pattern(d);
	return true;
}

/* ---- mma.sync: fragments to matrices by rows, and back. Lane l holds row l / 4 and, in element e of a register of E
 * elements, column l % 4 * E + e; further registers of A are 8 rows below and then 4 * E columns on. */

enum { D_REGS = 0, A_REGS = 8, B_REGS = 16, C_REGS = 24, MMA_REGS = 32 };

/* insn.size: type of A, sub: type of B, mode: type of C, buffer_hint: type of D; n: columns of A (k); imm: satfinite;
 * flag: rows; negated: operation of b1 */

static int
per_register(enum type type)
{
	switch (type) {
	case T_F16: case T_BF16: return 2;
	case T_S8: case T_U8: case T_E4M3: case T_E5M2: return 4;
	case T_S4: case T_U4: return 8;
	case T_B1: return 32;
	default: return 1;
	}
}

static void
gather(const struct insn *i, const struct warp *w, int first, int registers, bool halves, enum type type, uint32_t *out,
	int row_step, int column_step)
{
	int e = per_register(type), bits = 32 / e;
	uint32_t keep = bits == 32 ? FULL : (1u << bits) - 1;
	for (int q = 0; q < registers; q++) {
		const u32 *from = (const u32 *)(w->frame + i->list[first + q]);
		int down = halves ? (q & 1) * 8 : 0, on = (halves ? q >> 1 : q) * 4 * e;
		for (int l = 0; e == 2 && l < LANES; l++) {
			uint32_t *to = out + (l / 4 + down) * row_step + (l % 4 * 2 + on) * column_step;
			to[0] = from[l] & 0xffff;
			to[column_step] = from[l] >> 16;
		}
		for (int l = 0; e != 2 && l < LANES; l++)
			for (int k = 0; k < e; k++)
				out[(l / 4 + down) * row_step + (l % 4 * e + on + k) * column_step] = from[l] >> k * bits & keep;
	}
}

/* C and D: a pair of columns for each lane, and one 8 rows below */
static void
gather_c(const struct insn *i, const struct warp *w, uint32_t *c)
{
	bool half = i->mode == T_F16;
	for (int q = 0; q < i->flag / 4; q++) {
		const u32 *from = (const u32 *)(w->frame + i->list[C_REGS + (half ? q / 2 : q)]);
		uint32_t *to = c + q / 2 * 64 + (q & 1);
		for (int l = 0; l < LANES; l++)		/* row l / 4, column l % 4 * 2: two on for each lane */
			to[l * 2] = half ? from[l] >> 16 * (q & 1) & 0xffff : from[l];
	}
}

static void
scatter_d(const struct insn *i, struct warp *w, const uint32_t *c)
{
	for (int q = 0; q < i->flag / 4; q++) {
		const uint32_t *from = c + q / 2 * 64 + (q & 1);
		if (i->buffer_hint == T_F16)
			for (int l = 0; l < LANES; l++)
				REG(u16, i->list[D_REGS + q / 2])[l * 2 + (q & 1)] = (u16)from[l * 2];
		else
			for (int l = 0; l < LANES; l++)
				REG(u32, i->list[D_REGS + q])[l] = from[l * 2];
	}
}

static int32_t
integer_element(uint32_t v, enum type type)
{
	return type == T_S8 ? (int8_t)v : type == T_S4 ? (int32_t)(v << 28) >> 28 : (int32_t)v;
}

void
integer_product(enum type ta, enum type tb, int rows, int columns, int depth, const uint32_t *a, const uint32_t *b, bool saturate,
	uint32_t *c)
{
	int32_t right[TENSOR_MAX * 64];
	for (int k = 0; k < depth * columns; k++)
		right[k] = integer_element(b[k], tb);
	for (int r = 0; r < rows; r++) {
		int32_t sum[TENSOR_MAX] = { 0 };
		for (int k = 0; k < depth; k++) {
			int32_t v = integer_element(a[r * depth + k], ta);
			for (int n = 0; n < columns; n++)
				sum[n] += v * right[k * columns + n];
		}
		for (int n = 0; n < columns; n++) {
			int64_t v = (int64_t)(int32_t)c[r * columns + n] + sum[n];
			if (saturate)
				v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
			c[r * columns + n] = (uint32_t)(uint64_t)v;
		}
	}
}

HANDLER(mma)
{
	uint32_t a[16 * 64], b[64 * 8], c[16 * 8];
	enum type ta = (enum type)i->size, tb = (enum type)i->sub;
	int e = per_register(ta), rows = i->flag, depth = i->n, down = rows / 8;
	UNUSED(wide);
	whole_warp(w, i, mask);
	gather(i, w, A_REGS, depth / (4 * e) * down, down == 2, ta, a, depth, 1);
	gather(i, w, B_REGS, depth / (4 * e), false, tb, b, 1, 8);
	gather_c(i, w, c);
	if (i->mode == T_S32)
		integer_product(ta, tb, rows, 8, depth, a, b, i->imm, c);
	else
		tensor_product(ta, tb, (enum type)i->mode, (enum type)i->buffer_hint, rows, 8, depth, a, b, c);
	scatter_d(i, w, c);
}

/* Bits: the population of xor or and of 32 at a time; insn.n counts words here. */
HANDLER(mma_bits)
{
	uint32_t c[16 * 8];
	int rows = i->flag, down = rows / 8;
	UNUSED(wide);
	whole_warp(w, i, mask);
	gather_c(i, w, c);
	for (int r = 0; r < rows; r++)
		for (int n = 0; n < 8; n++)
			for (int k = 0; k < i->n; k++) {
				const u32 *a = REG(u32, i->list[A_REGS + k / 4 * down + r / 8]), *b = REG(u32, i->list[B_REGS + k / 4]);
				u32 x = a[r % 8 * 4 + k % 4], y = b[n * 4 + k % 4];
				c[r * 8 + n] += (uint32_t)__builtin_popcount(i->negated == OP_XOR ? x ^ y : x & y);
			}
	scatter_d(i, w, c);
}

/* fp64: one fma after the other, in the order of k */
HANDLER(mma_f64)
{
	f64 c[16][8];
	int rows = i->flag, down = rows / 8;
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int r = 0; r < rows; r++)
		for (int n = 0; n < 8; n++) {
			f64 sum = REG(f64, i->list[C_REGS + r / 8 * 2 + (n & 1)])[r % 8 * 4 + n / 2];
			for (int k = 0; k < i->n; k++)
				sum = __builtin_fma(REG(f64, i->list[A_REGS + k / 4 * down + r / 8])[r % 8 * 4 + k % 4],
					REG(f64, i->list[B_REGS + k / 4])[n * 4 + k % 4], sum);
			c[r][n] = sum;
		}
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < rows / 4; q++)
			REG(f64, i->list[D_REGS + q])[l] = c[l / 4 + q / 2 * 8][l % 4 * 2 + (q & 1)];
}

static bool
decode_fragment(struct decoder *d, const struct operand *o, unsigned n, enum type type, bool destination, int first)
{
	unsigned bytes = type_bytes(type);
	if (o->kind == O_VECTOR ? o->n_items != n : n != 1)
		return decode_fail(d, "with a fragment of another length");
	for (unsigned k = 0; k < n; k++) {
		const struct operand *r = o->kind == O_VECTOR ? &o->items[k] : o;
		int field = F_LIST + first + (int)k;
		if (r->kind != O_REGISTER)		/* a constant may stand in a source */
			if (destination || !decode_source(d, r, type, true, field))
				return decode_fail(d, "with a fragment that is no register");
		if (r->kind == O_REGISTER && (destination ? !decode_destination(d, r, bytes, true, field)
			: !decode_source(d, r, type, true, field)))
			return false;
	}
	return true;
}

static bool
decode_mma(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	static const struct {
		uint8_t rows;
		uint16_t depth;
	} shapes[] = { [MAT_M8N8K4] = { 8, 4 }, [MAT_M8N8K16] = { 8, 16 }, [MAT_M8N8K32] = { 8, 32 }, [MAT_M8N8K128] = { 8, 128 },
		[MAT_M16N8K4] = { 16, 4 }, [MAT_M16N8K8] = { 16, 8 }, [MAT_M16N8K16] = { 16, 16 }, [MAT_M16N8K32] = { 16, 32 },
		[MAT_M16N8K64] = { 16, 64 }, [MAT_M16N8K128] = { 16, 128 }, [MAT_M16N8K256] = { 16, 256 } };
	const enum type *t = mods->types;		/* D A B C */
	struct insn *i = decode_insn(d);
	unsigned rows = shapes[mods->field[M_SHAPE]].rows, depth = shapes[mods->field[M_SHAPE]].depth;
	unsigned e = (unsigned)per_register(t[1]), b = depth / (4 * e), down = rows / 8;
	enum type part = t[1] == T_F64 ? T_F64 : T_B32;
	UNUSED(row);
	if (s->n_operands != 4 || !b)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_list(d, MMA_REGS);
	i->run = part == T_F64 ? mma_f64 : t[1] == T_B1 ? mma_bits : mma;
	i->flag = (uint8_t)rows;
	i->n = (uint8_t)(t[1] == T_B1 ? depth / 32 : depth);
	i->buffer_hint = (uint16_t)t[0];
	i->size = (uint8_t)t[1];
	i->sub = (uint8_t)t[2];
	i->mode = (uint8_t)t[3];
	i->imm = mods->field[M_SATFINITE];
	i->negated = mods->field[M_BOOL];
	const struct operand *o = s->operands;
	return decode_fragment(d, &o[0], t[0] == T_F16 ? down : 2 * down, part, true, D_REGS)
		&& decode_fragment(d, &o[1], down * b, part, false, A_REGS) && decode_fragment(d, &o[2], b, part, false, B_REGS)
		&& decode_fragment(d, &o[3], t[3] == T_F16 ? down : 2 * down, part, false, C_REGS);
}

/* ---- m8n8k4 of fp16: four products at once, one for each four lanes of the lower half warp with those 16 above */

static int
quad_lane(int product, int half, int k)
{
	return product * 4 + half * 16 + k;
}

/* Row and column of element e of a lane; half: it is one of the upper 16 lanes, t: its number among four. */
static void
quad_place(bool by_lane_first, int half, int t, int e, int *first, int *second)
{
	*first = by_lane_first ? t + 4 * half : t;
	*second = by_lane_first ? e : e + 4 * half;
}

static void
gather_quad(const struct insn *i, const struct warp *w, int product, uint32_t *a, uint32_t *b)
{
	bool a_rows = i->n & 1, b_rows = i->n & 2;
	for (int half = 0; half < 2; half++)
		for (int t = 0; t < 4; t++)
			for (int e = 0; e < 4; e++) {
				int l = quad_lane(product, half, t), outer, inner;
				const u16 *ra = REG(u16, i->list[A_REGS + e / 2]), *rb = REG(u16, i->list[B_REGS + e / 2]);
				quad_place(a_rows, half, t, e, &outer, &inner);		/* rows: a lane has one row of A */
				a[a_rows ? outer * 4 + inner : inner * 4 + outer] = ra[l * 2 + e % 2];
				quad_place(!b_rows, half, t, e, &outer, &inner);	/* columns: one column of B */
				b[b_rows ? outer * 8 + inner : inner * 8 + outer] = rb[l * 2 + e % 2];
			}
}

/* Where element e of a lane's C or D stands. */
static int
quad_result(enum type type, int half, int t, int e)
{
	int row = type == T_F16 ? t : (t & 1) + (e & 2), column = type == T_F16 ? e : (e & 4) + (t & 2) + (e & 1);
	return (row + 4 * half) * 8 + column;
}

/* Not what tensor cores do: an H200 adds the products one after the other in fp32, from zero, and then c. */
static void
quad_product(enum type in, enum type out, const uint32_t *a, const uint32_t *b, uint32_t *c)
{
	for (int k = 0; k < 64; k++) {
		float sum = 0, last = in == T_F16 ? f16_widen((uint16_t)c[k]) : float_of_bits(c[k]);
		for (int n = 0; n < 4; n++)
			sum = __builtin_fmaf(f16_widen((uint16_t)a[k / 8 * 4 + n]), f16_widen((uint16_t)b[n * 8 + k % 8]), sum);
		sum += last;
		c[k] = out == T_F16 ? f16_round(sum) : sum != sum ? 0x7fffffff : bits_of_float(sum);
	}
}

static void
multiply_quad(const struct insn *i, struct warp *w, int product)
{
	uint32_t a[8 * 4], b[4 * 8], c[8 * 8];
	enum type in = (enum type)i->mode, out = (enum type)i->buffer_hint;
	gather_quad(i, w, product, a, b);
	for (int k = 0; k < 64; k++) {
		int half = k / 32, t = k / 8 % 4, e = k % 8, l = quad_lane(product, half, t);
		c[quad_result(in, half, t, e)] = in == T_F16 ? REG(u16, i->list[C_REGS + e / 2])[l * 2 + e % 2]
			: REG(u32, i->list[C_REGS + e])[l];
	}
	quad_product(in, out, a, b, c);
	for (int k = 0; k < 64; k++) {
		int half = k / 32, t = k / 8 % 4, e = k % 8, l = quad_lane(product, half, t);
		uint32_t v = c[quad_result(out, half, t, e)];
		if (out == T_F16)
			REG(u16, i->list[D_REGS + e / 2])[l * 2 + e % 2] = (u16)v;
		else
			REG(u32, i->list[D_REGS + e])[l] = v;
	}
}

/* insn.n: bit 0: A is by rows, bit 1: B is */
HANDLER(mma_quads)
{
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int product = 0; product < 4; product++)
		multiply_quad(i, w, product);
}

static bool
decode_mma_quads(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	const enum type *t = mods->types;		/* D A B C */
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	UNUSED(row);
	if (s->n_operands != 4)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_list(d, MMA_REGS);
	i->run = mma_quads;
	i->n = (uint8_t)((mods->field[M_LAYOUT_A] == 1) | (mods->field[M_LAYOUT_B] == 1) << 1);
	i->buffer_hint = (uint16_t)t[0];
	i->mode = (uint8_t)t[3];
	return decode_fragment(d, &o[0], t[0] == T_F16 ? 4 : 8, t[0] == T_F16 ? T_B32 : T_F32, true, D_REGS)
		&& decode_fragment(d, &o[1], 2, T_B32, false, A_REGS) && decode_fragment(d, &o[2], 2, T_B32, false, B_REGS)
		&& decode_fragment(d, &o[3], t[3] == T_F16 ? 4 : 8, t[3] == T_F16 ? T_B32 : T_F32, false, C_REGS);
}

/* ---- mma.sp: of each group of columns of A only half is there, and the metadata say which. insn.target: selector */

/* Bits of the metadata that stand for a row, and whether rows 8 apart share a register (16 bits each) or have one each. */
struct sparsity {
	int group, kept, index_bits;		/* columns of A in a group, those that are there, bits for each of them */
	bool shares;
};

static struct sparsity
sparsity_of(enum type type)
{
	if (type == T_TF32)			/* 0b0100 or 0b1110: the halves of one of two elements */
		return (struct sparsity){ 2, 1, 4, true };
	if (type == T_S4 || type == T_U4)	/* pairs of elements are kept */
		return (struct sparsity){ 8, 4, 1, false };
	return (struct sparsity){ 4, 2, 2, type == T_F16 || type == T_BF16 };
}

/* Metadata of a row, the lowest columns in the lowest bits. */
static uint64_t
row_metadata(const struct insn *i, const struct warp *w, const struct sparsity *s, int row, int bits)
{
	const u32 *e = REG(u32, i->a);
	int g = row % 8, below = row / 8, lanes = bits * 16 / 8 / 32, from = (int)i->target * lanes;
	uint64_t v = 0;
	for (int k = 0; k * (s->shares ? 16 : 32) < bits; k++) {
		if (s->shares)
			v |= (uint64_t)(e[g * 4 + from + k] >> 16 * below & 0xffff) << 16 * k;
		else
			v |= (uint64_t)e[g * 4 + from + k * 2 + below] << 32 * k;
	}
	return v;
}

/* The column of the full A that element k of a row stands for. */
static int
full_column(enum type type, const struct sparsity *s, uint64_t metadata, int k)
{
	int at = k / s->kept * s->group, n = k % s->kept;
	if (type == T_TF32)
		return at + (int)(metadata >> k * 4 & 3) / 2;
	if (s->index_bits == 1)
		return at + (int)(metadata >> (k / 2) * 2 & 3) * 2 + n % 2;
	return at + (int)(metadata >> k * 2 & 3);
}

HANDLER(mma_sparse)
{
	uint32_t a[16 * 64], b[128 * 8], c[16 * 8], chosen[64 * 8];
	enum type ta = (enum type)i->size, tb = (enum type)i->sub;
	int e = per_register(ta), depth = i->n, there = depth / 2;
	struct sparsity s = sparsity_of(ta);
	UNUSED(wide);
	whole_warp(w, i, mask);
	gather(i, w, A_REGS, there / (4 * e) * 2, true, ta, a, there, 1);
	gather(i, w, B_REGS, depth / (4 * e), false, tb, b, 1, 8);
	gather_c(i, w, c);
	for (int r = 0; r < 16; r++) {
		uint64_t metadata = row_metadata(i, w, &s, r, depth / s.group * 4);
		for (int k = 0; k < there; k++)
			memcpy(chosen + k * 8, b + full_column(ta, &s, metadata, k) * 8, 8 * sizeof *b);
		if (i->mode == T_S32)
			integer_product(ta, tb, 1, 8, there, a + r * there, chosen, i->imm, c + r * 8);
		else
			tensor_product(ta, tb, (enum type)i->mode, (enum type)i->buffer_hint, 1, 8, there, a + r * there, chosen, c + r * 8);
	}
	scatter_d(i, w, c);
}

static bool
decode_mma_sparse(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	static const uint8_t depths[] = { [MAT_M16N8K8] = 8, [MAT_M16N8K16] = 16, [MAT_M16N8K32] = 32, [MAT_M16N8K64] = 64,
		[MAT_M16N8K128] = 128 };
	const enum type *t = mods->types;		/* D A B C */
	struct insn *i = decode_insn(d);
	unsigned depth = depths[mods->field[M_SHAPE]], b = depth / (4 * (unsigned)per_register(t[1]));
	struct sparsity sparsity = sparsity_of(t[1]);
	unsigned lanes = depth / (unsigned)sparsity.group * 4 * 16 / 8 / 32;	/* of four, that hold metadata */
	const struct operand *o = s->operands;
	int64_t selector;
	UNUSED(row);
	if (s->n_operands != 6 || !decode_immediate(&o[5], T_U32, &selector) || selector < 0 || selector >= 4 / (int)lanes)
		return decode_fail(d, "without metadata and a selector of its shape");
	decode_list(d, MMA_REGS);
	i->run = mma_sparse;
	i->target = (uint32_t)selector;
	i->flag = 16;
	i->n = (uint8_t)depth;
	i->buffer_hint = (uint16_t)t[0];
	i->size = (uint8_t)t[1];
	i->sub = (uint8_t)t[2];
	i->mode = (uint8_t)t[3];
	i->imm = mods->field[M_SATFINITE];
	return decode_fragment(d, &o[0], t[0] == T_F16 ? 2 : 4, T_B32, true, D_REGS)
		&& decode_fragment(d, &o[1], b, T_B32, false, A_REGS) && decode_fragment(d, &o[2], b, T_B32, false, B_REGS)
		&& decode_fragment(d, &o[3], t[3] == T_F16 ? 2 : 4, T_B32, false, C_REGS)
		&& decode_source(d, &o[4], T_B32, true, F_A);
}

/* .popc is no operation of its own here */
static bool
decode_mma_bits(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct mods operation = *mods;
	operation.field[M_BOOL] = memmem(s->opcode.at, s->opcode.length, ".xor", 4) ? OP_XOR : OP_AND;
	return decode_mma(d, row, &operation, s);
}

/* movmatrix: the transpose of an 8x8 matrix whose rows lie four lanes each */
HANDLER(movmatrix)
{
	u32 result[LANES];
	const u16 *a = REG(u16, i->a);
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int l = 0; l < LANES; l++) {
		int g = l / 4, t = l % 4 * 2;
		result[l] = a[(t * 4 + g / 2) * 2 + (g & 1)] | (u32)a[((t + 1) * 4 + g / 2) * 2 + (g & 1)] << 16;
	}
	memcpy(REG(u32, i->d), result, sizeof result);
}

#define ROW_COL " .row .col "
#define QUADS ".sync .aligned .m8n8k4 .row|.col .row|.col "
#define SPARSE ".sp|.sp::ordered_metadata .sync .aligned "

static const struct row rows[] = {
	{ .opcode = "ldmatrix", .pattern = ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16",
		.decode = decode_matrix_access, .any_order = true },
	{ .opcode = "stmatrix", .pattern = ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16",
		.decode = decode_matrix_access, .sub = 1, .any_order = true },
	{ "movmatrix", ".sync .aligned .m8n8 .trans .b16", "db32 ab32", .run = { [T_B16] = movmatrix } },
	/* The numbers of tensor_core.h; integers and fp64 are exact and fused, one after the other. */
	DECODED("mma", ".sync .aligned .m16n8k8|.m16n8k16" ROW_COL ".f16 .f16 .f16 .f16", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k8|.m16n8k16" ROW_COL ".f32 .f16 .f16 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k8|.m16n8k16" ROW_COL ".f32 .bf16 .bf16 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k4|.m16n8k8" ROW_COL ".f32 .tf32 .tf32 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k16|.m16n8k32" ROW_COL ".f32 .e4m3|.e5m2 .e4m3|.e5m2 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k16|.m16n8k32" ROW_COL ".f16 .e4m3|.e5m2 .e4m3|.e5m2 .f16", decode_mma),
	DECODED("mma", ".sync .aligned .m8n8k16|.m16n8k16|.m16n8k32" ROW_COL ".satfinite? .s32 .s8|.u8 .s8|.u8 .s32", decode_mma),
	DECODED("mma", ".sync .aligned .m8n8k32|.m16n8k32|.m16n8k64" ROW_COL ".satfinite? .s32 .s4|.u4 .s4|.u4 .s32", decode_mma),
	DECODED("mma", ".sync .aligned .m8n8k128|.m16n8k128|.m16n8k256" ROW_COL ".s32 .b1 .b1 .s32 .xor|.and .popc", decode_mma_bits),
	DECODED("mma", ".sync .aligned .m8n8k4|.m16n8k4|.m16n8k8|.m16n8k16" ROW_COL ".rn? .f64 .f64 .f64 .f64", decode_mma),
	DECODED("mma", QUADS ".f16 .f16 .f16 .f16", decode_mma_quads),
	DECODED("mma", QUADS ".f32 .f16 .f16 .f16|.f32", decode_mma_quads),
	DECODED("mma", SPARSE ".m16n8k16|.m16n8k32" ROW_COL ".f16 .f16 .f16 .f16", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k16|.m16n8k32" ROW_COL ".f32 .f16 .f16 .f32", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k16|.m16n8k32" ROW_COL ".f32 .bf16 .bf16 .f32", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k8|.m16n8k16" ROW_COL ".f32 .tf32 .tf32 .f32", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k32|.m16n8k64" ROW_COL ".satfinite? .s32 .s8|.u8 .s8|.u8 .s32", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k64|.m16n8k128" ROW_COL ".satfinite? .s32 .s4|.u4 .s4|.u4 .s32", decode_mma_sparse),
	DECODED("mma", SPARSE ".m16n8k64" ROW_COL ".f32 .e4m3|.e5m2 .e4m3|.e5m2 .f32", decode_mma_sparse),
};
ROWS(rows_matrix, rows);
