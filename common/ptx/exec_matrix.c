/* Matrix instructions of a whole warp: fragments are gathered into plain matrices, multiplied in double and
 * rounded once (integers: exactly), and scattered back. Which element a register of a lane holds follows the
 * fragment layouts of the PTX manual, which are one formula for all of mma.m16n8: with e elements in a register,
 * register q of A holds row g + 8 * (q odd), columns t * e + 4 * e * (q / 2), where g = lane / 4, t = lane % 4. */
#include <string.h>

#include "ptx/access.h"
#include "ptx/half.h"
#include "ptx/table.h"

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

/* ---- mma.sync */

enum { D_REGS = 0, A_REGS = 8, B_REGS = 12, C_REGS = 16, MMA_REGS = 24 };

/* insn.size: type of A, sub: type of B, mode: type of C, buffer_hint: type of D; n: columns of A (k); imm: satfinite */
static double
element(uint32_t bits, enum type type, int k)
{
	switch (type) {
	case T_F16: return f16_widen((uint16_t)(bits >> 16 * k));
	case T_BF16: return bf16_widen((uint16_t)(bits >> 16 * k));
	case T_TF32: return float_of_bits(bits & 0xffffe000);
	case T_S8: return (int8_t)(bits >> 8 * k);
	default: return (uint8_t)(bits >> 8 * k);
	}
}

static int
per_register(enum type type)
{
	return type == T_TF32 ? 1 : type == T_F16 || type == T_BF16 ? 2 : 4;
}

static void
gather_a(const struct insn *i, const struct warp *w, double (*a)[32])
{
	int e = per_register((enum type)i->size), n = i->n / (2 * e);
	for (int q = 0; q < n; q++)
		for (int l = 0; l < LANES; l++)
			for (int k = 0; k < e; k++)
				a[l / 4 + (q & 1) * 8][l % 4 * e + (q >> 1) * 4 * e + k] =
					element(((const u32 *)(w->frame + i->list[A_REGS + q]))[l], (enum type)i->size, k);
}

static void
gather_b(const struct insn *i, const struct warp *w, double (*b)[8])
{
	int e = per_register((enum type)i->sub), n = i->n / (4 * e);
	for (int q = 0; q < n; q++)
		for (int l = 0; l < LANES; l++)
			for (int k = 0; k < e; k++)
				b[l % 4 * e + q * 4 * e + k][l / 4] =
					element(((const u32 *)(w->frame + i->list[B_REGS + q]))[l], (enum type)i->sub, k);
}

/* C and D: f16 pairs in two registers, or one element in each of four */
static void
gather_c(const struct insn *i, const struct warp *w, double (*c)[8])
{
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < 4; q++) {
			uint32_t word = ((const u32 *)(w->frame + i->list[C_REGS + (i->mode == T_F16 ? q / 2 : q)]))[l];
			double v = i->mode == T_F16 ? f16_widen((uint16_t)(word >> 16 * (q & 1)))
				: i->mode == T_S32 ? (double)(int32_t)word : (double)float_of_bits(word);
			c[l / 4 + q / 2 * 8][l % 4 * 2 + (q & 1)] = v;
		}
}

static uint32_t
integer_result(double v, bool saturate)
{
	if (saturate)
		v = v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
	return (uint32_t)(uint64_t)(int64_t)v;
}

static void
scatter_d(const struct insn *i, struct warp *w, double (*c)[8])
{
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < 4; q++) {
			double v = c[l / 4 + q / 2 * 8][l % 4 * 2 + (q & 1)];
			if (i->buffer_hint == T_F16)
				REG(u16, i->list[D_REGS + q / 2])[l * 2 + (q & 1)] = f16_round(float_odd(v));
			else if (i->buffer_hint == T_S32)
				REG(u32, i->list[D_REGS + q])[l] = integer_result(v, i->imm);
			else
				REG(u32, i->list[D_REGS + q])[l] = v != v ? 0x7fffffff : bits_of_float((float)v);
		}
}

HANDLER(mma)
{
	double a[16][32], b[32][8], c[16][8];
	UNUSED(wide);
	whole_warp(w, i, mask);
	gather_a(i, w, a);
	gather_b(i, w, b);
	gather_c(i, w, c);
	for (int r = 0; r < 16; r++) {
		double sum[8];
		for (int n = 0; n < 8; n++)
			sum[n] = c[r][n];
		for (int k = 0; k < i->n; k++)
			for (int n = 0; n < 8; n++)
				sum[n] += a[r][k] * b[k][n];
		memcpy(c[r], sum, sizeof sum);
	}
	scatter_d(i, w, c);
}

/* m8n8k4 of fp64: one element of A and B, two of C in a lane */
HANDLER(mma_f64)
{
	f64 c[8][8];
	UNUSED(wide);
	whole_warp(w, i, mask);
	for (int r = 0; r < 8; r++)
		for (int n = 0; n < 8; n++) {
			f64 sum = REG(f64, i->list[C_REGS + (n & 1)])[r * 4 + n / 2];
			for (int k = 0; k < 4; k++)
				sum = __builtin_fma(REG(f64, i->list[A_REGS])[r * 4 + k], REG(f64, i->list[B_REGS])[n * 4 + k], sum);
			c[r][n] = sum;
		}
	for (int l = 0; l < LANES; l++)
		for (int q = 0; q < 2; q++)
			REG(f64, i->list[D_REGS + q])[l] = c[l / 4][l % 4 * 2 + q];
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
	static const uint8_t columns[] = { [MAT_M16N8K4] = 4, [MAT_M16N8K8] = 8, [MAT_M16N8K16] = 16, [MAT_M16N8K32] = 32,
		[MAT_M8N8K4] = 4 };
	const enum type *t = mods->types;		/* D A B C */
	struct insn *i = decode_insn(d);
	UNUSED(row);
	if (s->n_operands != 4)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_list(d, MMA_REGS);
	i->n = columns[mods->field[M_SHAPE]];
	i->buffer_hint = (uint16_t)t[0];
	i->size = (uint8_t)t[1];
	i->sub = (uint8_t)t[2];
	i->mode = (uint8_t)t[3];
	i->imm = mods->field[M_SATFINITE];
	const struct operand *o = s->operands;
	if (t[1] == T_F64) {
		i->run = mma_f64;
		return decode_fragment(d, &o[0], 2, T_F64, true, D_REGS) && decode_fragment(d, &o[1], 1, T_F64, false, A_REGS)
			&& decode_fragment(d, &o[2], 1, T_F64, false, B_REGS) && decode_fragment(d, &o[3], 2, T_F64, false, C_REGS);
	}
	unsigned e = (unsigned)per_register(t[1]), b = i->n / (4 * e);
	if (per_register(t[2]) != (int)e || !b)
		return decode_fail(d, "with operands of different width");
	i->run = mma;
	return decode_fragment(d, &o[0], t[0] == T_F16 ? 2 : 4, T_B32, true, D_REGS)
		&& decode_fragment(d, &o[1], 2 * b, T_B32, false, A_REGS) && decode_fragment(d, &o[2], b, T_B32, false, B_REGS)
		&& decode_fragment(d, &o[3], t[3] == T_F16 ? 2 : 4, T_B32, false, C_REGS);
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

static const struct row rows[] = {
	DECODED("ldmatrix", ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16", decode_matrix_access),
	{ .opcode = "stmatrix", .pattern = ".sync .aligned .m8n8 .x1|.x2|.x4 .trans? .shared|.shared::cta? .b16",
		.decode = decode_matrix_access, .sub = 1 },
	{ "movmatrix", ".sync .aligned .m8n8 .trans .b16", "db32 ab32", .run = { [T_B16] = movmatrix } },
	DECODED("mma", ".sync .aligned .m16n8k8|.m16n8k16" ROW_COL ".f16|.f32 .f16 .f16 .f16|.f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k8|.m16n8k16" ROW_COL ".f32 .bf16 .bf16 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k4|.m16n8k8" ROW_COL ".f32 .tf32 .tf32 .f32", decode_mma),
	DECODED("mma", ".sync .aligned .m16n8k16|.m16n8k32" ROW_COL ".satfinite? .s32 .s8|.u8 .s8|.u8 .s32", decode_mma),
	DECODED("mma", ".sync .aligned .m8n8k4" ROW_COL ".f64 .f64 .f64 .f64", decode_mma),
};
ROWS(rows_matrix, rows);
