/* Video instructions on the halves or bytes of a register side by side, to which nvcc turns __vabsdiffu4 and its like.
 * In: a and b, whose elements may be picked in any order, and c. Out: one result for each element, cut or saturated, in
 * its place of c; or c plus the sum of them all, where none is cut.
 *
 * The scalar ones (vadd, vmad and so on) are refused: nvcc makes none of them from C++, and what NVIDIA's assembler
 * makes of them for sm_90 is not what the PTX ISA says (vadd.u32.u32.u32.sat does not saturate on an H200). */
#include <string.h>

#include "ptx/lanes.h"
#include "ptx/table.h"

enum video_operation { VIDEO_ADD, VIDEO_SUB, VIDEO_DIFFERENCE, VIDEO_MIN, VIDEO_MAX, VIDEO_AVERAGE, VIDEO_COMPARE };

struct video {
	enum video_operation operation;
	enum compare compare;
	bool signed_d, signed_a, signed_b, saturates, sums;
	uint8_t count, bits;			/* elements, and bits of each */
	uint8_t from_a[4], from_b[4];		/* their first bit in b : a */
	uint8_t chosen;				/* elements that are written, a bit each */
};

static int32_t
element(uint64_t from, unsigned bits, bool is_signed)
{
	int64_t v = (int64_t)(from << (64 - bits));
	return (int32_t)(is_signed ? v >> (64 - bits) : (int64_t)((uint64_t)v >> (64 - bits)));
}

static int32_t
limit(int32_t v, unsigned bits, bool is_signed)
{
	int32_t high = (1 << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
	return v < low ? low : v > high ? high : v;
}

static bool
holds(enum compare compare, int32_t x, int32_t y)
{
	switch (compare) {
	case CMP_EQ: return x == y;
	case CMP_NE: return x != y;
	case CMP_LT: return x < y;
	case CMP_LE: return x <= y;
	case CMP_GT: return x > y;
	default: return x >= y;
	}
}

static int32_t
combine(const struct video *v, int32_t x, int32_t y)
{
	switch (v->operation) {
	case VIDEO_ADD: return x + y;
	case VIDEO_SUB: return x - y;
	case VIDEO_DIFFERENCE: return x < y ? y - x : x - y;
	case VIDEO_MIN: return x < y ? x : y;
	case VIDEO_MAX: return x > y ? x : y;
	case VIDEO_AVERAGE: return (x + y + (x + y >= 0)) >> 1;
	case VIDEO_COMPARE: break;
	}
	return holds(v->compare, x, y);
}

static uint32_t
video_result(const struct video *v, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t both = (uint64_t)b << 32 | a;
	for (int k = 0; k < v->count; k++) {
		int32_t x = element(both >> v->from_a[k], v->bits, v->signed_a), y = element(both >> v->from_b[k], v->bits, v->signed_b);
		int32_t r = combine(v, x, y);
		uint32_t keep = ((1u << v->bits) - 1) << k * v->bits;
		if (!(v->chosen >> k & 1))
			continue;
		r = v->saturates ? limit(r, v->bits, v->signed_d) : r;
		c = v->sums ? c + (uint32_t)r : (c & ~keep) | ((uint32_t)r << k * v->bits & keep);
	}
	return c;
}

HANDLER(video)
{
	const u32 *a = REG(u32, i->a), *b = REG(u32, i->b), *c = REG(u32, i->c);
	UNUSED(wide);
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = video_result(i->video, a[l], b[l], c[l]);
}

/* ---- decoding */

/* How many parts are named, of the right kind; 0 after decode_fail. Without any: as many as there are elements. */
static unsigned
parts(struct decoder *d, const struct operand *o, const struct video *v)
{
	unsigned n = o->part ? o->part >> PART_COUNT & 255 : v->count;
	if (o->part && o->part >> PART_LETTER != (v->count == 2 ? 'h' : 'b'))
		return decode_fail(d, "with parts of another size than its elements");
	return n;
}

static bool
decode_elements(struct decoder *d, const struct operand *o, const struct video *v, unsigned first, int field, uint8_t *from)
{
	struct operand whole = *o;
	if (parts(d, o, v) != v->count)
		return decode_fail(d, "with another number of elements");
	for (unsigned k = 0; k < v->count; k++)
		from[k] = (uint8_t)(v->bits * (o->part ? o->part >> PART_DIGIT * k & 15 : first + k));
	whole.part = 0;
	return decode_source(d, &whole, T_U32, true, field) != 0;
}

static bool
decode_chosen(struct decoder *d, const struct operand *o, struct video *v)
{
	struct operand whole = *o;
	unsigned n = parts(d, o, v);
	for (unsigned k = 0; k < n; k++)
		v->chosen |= (uint8_t)(1u << (o->part ? o->part >> PART_DIGIT * k & 15 : k));
	whole.part = 0;
	if (!n || v->chosen >> v->count || o->kind != O_REGISTER)
		return decode_fail(d, "with a destination that does not have these elements");
	return decode_destination(d, &whole, 4, true, F_D) != 0;
}

/* row.sub: the operation, and the number of elements above bit 4 */
static bool
decode_video(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct video *v = decode_alloc(d, sizeof *v);
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	bool compares = (row->sub & 15) == VIDEO_COMPARE;
	const enum type *sources = mods->types + !compares;
	*v = (struct video){ .operation = (enum video_operation)(row->sub & 15), .compare = mods->field[M_COMPARE],
		.signed_d = !compares && mods->types[0] == T_S32, .signed_a = sources[0] == T_S32, .signed_b = sources[1] == T_S32,
		.saturates = mods->field[M_SAT], .sums = mods->field[M_BOOL] == OP_ADD, .count = row->sub >> 4 };
	v->bits = (uint8_t)(32 / v->count);
	i->run = video;
	i->video = v;
	if (s->n_operands != 4)
		return decode_fail(d, "with %u operands", s->n_operands);
	return decode_chosen(d, &o[0], v) && decode_elements(d, &o[1], v, 0, F_A, v->from_a)
		&& decode_elements(d, &o[2], v, v->count, F_B, v->from_b) && decode_source(d, &o[3], T_U32, true, F_C);
}

#define TYPE ".u32|.s32 "
#define VIDEO(name, elements, words, operation) \
	{ .opcode = name, .pattern = words, .decode = decode_video, .sub = (elements) << 4 | (operation) }
#define BOTH(name, words, operation) VIDEO(name "2", 2, words, operation), VIDEO(name "4", 4, words, operation)

static const struct row rows[] = {
	BOTH("vadd", TYPE TYPE TYPE ".sat|.add?", VIDEO_ADD),
	BOTH("vsub", TYPE TYPE TYPE ".sat|.add?", VIDEO_SUB),
	BOTH("vabsdiff", TYPE TYPE TYPE ".sat|.add?", VIDEO_DIFFERENCE),
	BOTH("vmin", TYPE TYPE TYPE ".sat|.add?", VIDEO_MIN),
	BOTH("vmax", TYPE TYPE TYPE ".sat|.add?", VIDEO_MAX),
	BOTH("vavrg", TYPE TYPE TYPE ".sat|.add?", VIDEO_AVERAGE),
	BOTH("vset", TYPE TYPE ".eq|.ne|.lt|.le|.gt|.ge .add?", VIDEO_COMPARE),
};
ROWS(rows_video, rows);
