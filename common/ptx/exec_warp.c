/* Instructions in which the lanes of a warp take part together: exchanges are moves within an array. The
 * scheduler has gathered the lanes that the member mask names before a handler runs. */
#include <immintrin.h>
#include <string.h>

#include "ptx/table.h"

enum { SHFL_UP = 1, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static void
inactive_source(const struct insn *i, struct warp *w, uint32_t lane, uint32_t from)
{
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_EXITED_LANES_IN_MASK, .lane = lane };
	report(w, i, &place, "A shuffle reads from lane %u, which %s", from,
		w->alive >> from & 1 ? "does not take part" : w->started >> from & 1 ? "has exited" : "does not exist in this block");
}

/* Which lane each lane reads, and a bit for each lane whose source is in its segment. */
static uint32_t
shuffle_sources(const struct insn *i, const struct warp *w, int32_t *from)
{
	const u32 *b = (const u32 *)(w->frame + i->b), *c = (const u32 *)(w->frame + i->c);
	int32_t valid[LANES];
	for (int l = 0; l < LANES; l++) {
		int32_t amount = (int32_t)(b[l] & 31), clamp = (int32_t)(c[l] & 31), segment = (int32_t)(c[l] >> 8 & 31);
		int32_t least = l & segment, greatest = least | (clamp & ~segment), j, in;
		switch (i->sub) {
		case SHFL_UP: j = l - amount; in = j >= greatest; break;
		case SHFL_DOWN: j = l + amount; in = j <= greatest; break;
		case SHFL_BFLY: j = l ^ amount; in = j <= greatest; break;
		default: j = least | (amount & ~segment); in = j <= greatest; break;
		}
		from[l] = in ? j : l;
		valid[l] = in;
	}
	uint32_t bits = 0;
	for (int l = 0; l < LANES; l++)
		bits |= (uint32_t)valid[l] << l;
	return bits;
}

static bool
all_equal(const u32 *values, uint32_t value)
{
	uint32_t differ = 0;
	for (int l = 0; l < LANES; l++)
		differ |= values[l] ^ value;
	return !differ;
}

/* The exchange over one distance by a whole warp, which reductions are made of: permutations of vectors of 8. */
static void
exchange(const struct insn *i, struct warp *w, uint32_t distance)
{
	__m256i source[4], order = _mm256_xor_si256(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)distance & 7));
	memcpy(source, w->frame + i->a, sizeof source);
	for (uint32_t c = 0; c < 4; c++) {
		__m256i v = _mm256_permutevar8x32_epi32(source[c ^ distance >> 3], order);
		memcpy(w->frame + i->d + c * 32, &v, sizeof v);
	}
	if (i->list[0] != NO_REG)
		set_predicate(w, i->list[0], FULL, FULL);
}

HANDLER(shfl)
{
	int32_t from[LANES];
	u32 source[LANES];
	const u32 *b = REG(u32, i->b);
	UNUSED(wide);
	if (mask == FULL && i->sub == SHFL_BFLY && all_equal(REG(u32, i->c), 31) && all_equal(b, b[0])) {
		exchange(i, w, b[0] & 31);
		return;
	}
	uint32_t valid = shuffle_sources(i, w, from);
	memcpy(source, w->frame + i->a, sizeof source);
	if (mask == FULL) {
		u32 *d = REG(u32, i->d);
		for (int l = 0; l < LANES; l++)
			d[l] = source[from[l]];
	} else {
		EACH_IN(mask, l) {
			if (!(mask >> from[l] & 1))
				inactive_source(i, w, l, (uint32_t)from[l]);
			REG(u32, i->d)[l] = source[from[l]];
		}
	}
	if (i->list[0] != NO_REG)
		set_predicate(w, i->list[0], valid, mask);
}

static bool
decode_shfl(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	UNUSED(row);
	if (s->n_operands != 5)
		return decode_fail(d, "with %u operands", s->n_operands);
	decode_list(d, 1);
	const struct operand *to = o->kind == O_PAIR ? &o->items[0] : o;
	if (to->kind == O_SINK || !decode_destination(d, to, 4, true, F_D)
		|| (o->kind == O_PAIR && !decode_destination(d, &o->items[1], 1, true, F_LIST)))
		return decode_fail(d, "without a destination");
	for (int k = 0; k < 4; k++)
		if (!decode_source(d, &o[k + 1], T_B32, true, F_A + k))
			return false;
	i->kind = K_COLLECTIVE;
	i->run = shfl;
	i->sub = mods->field[M_DIRECTION];
	return true;
}

/* ---- votes: lanes with the same member mask vote together */

enum { VOTE_ANY = 1, VOTE_ALL, VOTE_UNI, VOTE_BALLOT };

HANDLER(vote)
{
	uint32_t ones = PREDICATE(i->a) ^ (i->negated >> 1 & 1 ? FULL : 0), result = 0;
	const u32 *members = REG(u32, i->e);
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint32_t group = members[l] & mask, yes = ones & group;
		bool outcome = i->sub == VOTE_ANY ? yes != 0 : i->sub == VOTE_ALL ? yes == group : yes == group || !yes;
		if (i->sub == VOTE_BALLOT)
			REG(u32, i->d)[l] = yes;
		result |= (uint32_t)outcome << l;
	}
	if (i->sub != VOTE_BALLOT)
		set_predicate(w, i->d, result, mask);
}

static bool
decode_vote(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	UNUSED(row);
	if (s->n_operands != 3 || s->operands[0].kind == O_SINK)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->kind = K_COLLECTIVE;
	i->run = vote;
	i->sub = mods->field[M_DIRECTION];
	return decode_destination(d, &s->operands[0], i->sub == VOTE_BALLOT ? 4 : 1, true, F_D)
		&& decode_predicate(d, &s->operands[1], F_A) && decode_source(d, &s->operands[2], T_B32, true, F_E);
}

/* ---- match: lanes with equal values; insn.size is the bytes of a value */

static uint64_t
lane_value(const struct insn *i, const struct warp *w, uint32_t l)
{
	return i->size == 8 ? ((const u64 *)(w->frame + i->a))[l] : ((const u32 *)(w->frame + i->a))[l];
}

HANDLER(match)
{
	const u32 *members = REG(u32, i->e);
	uint32_t found[LANES], all = 0;
	UNUSED(wide);
	for (uint32_t l = 0; l < LANES; l++) {
		uint32_t group = members[l] & mask, equal = 0;
		for (uint32_t k = 0; k < LANES; k++)
			equal |= (uint32_t)(group >> k & 1 && lane_value(i, w, k) == lane_value(i, w, l)) << k;
		bool complete = equal == group;
		found[l] = i->sub == 2 && !complete ? 0 : equal;
		all |= (uint32_t)complete << l;
	}
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = found[l];
	if (i->list[0] != NO_REG)
		set_predicate(w, i->list[0], all, mask);
}

static bool
decode_match(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	UNUSED(row);
	if (s->n_operands != 3)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->kind = K_COLLECTIVE;
	i->run = match;
	i->sub = mods->field[M_DIRECTION];
	i->size = (uint8_t)type_bytes(mods->types[0]);
	decode_list(d, 1);
	const struct operand *to = o->kind == O_PAIR ? &o->items[0] : o;
	if (to->kind == O_SINK || !decode_destination(d, to, 4, true, F_D)
		|| (o->kind == O_PAIR && !decode_destination(d, &o->items[1], 1, true, F_LIST)))
		return decode_fail(d, "without a destination");
	return decode_source(d, &o[1], mods->types[0], true, F_A) && decode_source(d, &o[2], T_B32, true, F_E);
}

/* ---- redux: insn.sub is the operation, mode says signed */

static uint32_t
reduce(const struct insn *i, uint32_t x, uint32_t y)
{
	bool less = i->mode ? (int32_t)x < (int32_t)y : x < y;
	switch (i->sub) {
	case OP_ADD: return x + y;
	case OP_MIN: return less ? x : y;
	case OP_MAX: return less ? y : x;
	case OP_AND: return x & y;
	case OP_OR: return x | y;
	default: return x ^ y;
	}
}

HANDLER(redux)
{
	const u32 *members = REG(u32, i->e), *a = REG(u32, i->a);
	u32 result[LANES];
	UNUSED(wide);
	for (uint32_t todo = mask; todo;) {
		uint32_t first = (uint32_t)__builtin_ctz(todo), group = members[first] & mask, same = 0;
		uint32_t value = 0, started = 0;
		EACH_IN(group, k) {
			value = started ? reduce(i, value, a[k]) : a[k];
			started = 1;
		}
		for (uint32_t l = first; l < LANES; l++)
			same |= (uint32_t)(todo >> l & 1 && members[l] == members[first]) << l;
		for (uint32_t l = 0; l < LANES; l++)
			if (same >> l & 1)
				result[l] = value;
		todo &= ~same;
	}
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = result[l];
}

static bool
decode_redux(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	UNUSED(row);
	if (s->n_operands != 3 || s->operands[0].kind == O_SINK)
		return decode_fail(d, "with %u operands", s->n_operands);
	i->kind = K_COLLECTIVE;
	i->run = redux;
	i->sub = mods->field[M_BOOL];
	i->mode = mods->types[0] == T_S32;
	return decode_destination(d, &s->operands[0], 4, true, F_D) && decode_source(d, &s->operands[1], T_B32, true, F_A)
		&& decode_source(d, &s->operands[2], T_B32, true, F_E);
}

/* ---- elect, activemask, bar.warp.sync */

HANDLER(elect)
{
	const u32 *members = REG(u32, i->e);
	uint32_t leaders = 0;
	UNUSED(wide);
	EACH_IN(mask, l) {
		uint32_t group = members[l] & mask, leader = group ? (uint32_t)__builtin_ctz(group) : l;
		leaders |= (uint32_t)(leader == l) << l;
		if (i->d != NO_REG)
			REG(u32, i->d)[l] = leader;
	}
	set_predicate(w, i->list[0], leaders, mask);
}

static bool
decode_elect(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	UNUSED(row);
	UNUSED(mods);
	if (s->n_operands != 2 || s->operands[0].kind != O_PAIR || s->operands[0].items[1].kind != O_REGISTER)
		return decode_fail(d, "without a predicate");
	i->kind = K_COLLECTIVE;
	i->run = elect;
	decode_list(d, 1);
	return decode_destination(d, &s->operands[0].items[0], 4, true, F_D)
		&& decode_destination(d, &s->operands[0].items[1], 1, true, F_LIST)
		&& decode_source(d, &s->operands[1], T_B32, true, F_E);
}

HANDLER(activemask)
{
	UNUSED(wide);
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = mask;
}

HANDLER(nothing)
{
	UNUSED(i);
	UNUSED(w);
	UNUSED(mask);
	UNUSED(wide);
}

static bool
decode_warp_barrier(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	UNUSED(row);
	UNUSED(mods);
	i->kind = K_COLLECTIVE;
	i->run = nothing;
	return s->n_operands == 1 ? decode_source(d, &s->operands[0], T_B32, true, F_E) != 0
		: decode_fail(d, "with %u operands", s->n_operands);
}

/* ---- barriers of the block. insn.sub: 0 none, 1 and, 2 or, 3 popc; a or imm: number, b: threads, c: predicate */

static bool
barrier_operands(struct decoder *d, const struct statement *s, unsigned from, unsigned to)
{
	struct insn *i = decode_insn(d);
	if (from >= to || to - from > 2)
		return decode_fail(d, "with %u operands", s->n_operands);
	if (!decode_immediate(&s->operands[from], T_B32, &i->imm) && !decode_source(d, &s->operands[from], T_B32, true, F_A))
		return false;
	return to - from == 1 || decode_source(d, &s->operands[from + 1], T_B32, true, F_B);
}

static bool
decode_barrier(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	UNUSED(mods);
	decode_insn(d)->kind = row->sub ? K_BARRIER_ARRIVE : K_BARRIER;
	return barrier_operands(d, s, 0, s->n_operands);
}

static bool
decode_barrier_reduction(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	uint8_t operation = mods->field[M_BOOL];
	UNUSED(row);
	i->kind = K_BARRIER;
	i->sub = operation == OP_AND ? 1 : operation == OP_OR ? 2 : 3;
	if (s->n_operands < 3 || s->operands[0].kind == O_SINK)
		return decode_fail(d, "with %u operands", s->n_operands);
	return decode_destination(d, &s->operands[0], i->sub == 3 ? 4 : 1, true, F_D)
		&& decode_predicate(d, &s->operands[s->n_operands - 1], F_C) && barrier_operands(d, s, 1, s->n_operands - 1u);
}

static const struct row rows[] = {
	DECODED("shfl", ".sync .up|.down|.bfly|.idx .b32", decode_shfl),
	DECODED("vote", ".sync .any|.all|.uni .pred", decode_vote),
	DECODED("vote", ".sync .ballot .b32", decode_vote),
	DECODED("vote", ".any|.all|.uni .sync .pred", decode_vote),
	DECODED("vote", ".ballot .sync .b32", decode_vote),
	DECODED("match", ".any .sync .b32|.b64", decode_match),
	DECODED("match", ".all .sync .b32|.b64", decode_match),
	DECODED("redux", ".sync .add|.min|.max .u32|.s32", decode_redux),
	DECODED("redux", ".sync .and|.or|.xor .b32", decode_redux),
	DECODED("elect", ".sync", decode_elect),
	{ "activemask", ".b32", "dU", .run = { [T_B32] = activemask } },
	DECODED("bar", ".warp .sync", decode_warp_barrier),
	DECODED("bar", ".cta? .sync", decode_barrier),
	DECODED("barrier", ".cta? .sync .aligned?", decode_barrier),
	{ .opcode = "bar", .pattern = ".cta? .arrive", .decode = decode_barrier, .sub = 1 },
	{ .opcode = "barrier", .pattern = ".cta? .arrive .aligned?", .decode = decode_barrier, .sub = 1 },
	DECODED("bar", ".cta? .red .popc .u32", decode_barrier_reduction),
	DECODED("bar", ".cta? .red .and|.or .pred", decode_barrier_reduction),
	DECODED("barrier", ".cta? .red .popc .aligned? .u32", decode_barrier_reduction),
	DECODED("barrier", ".cta? .red .and|.or .aligned? .pred", decode_barrier_reduction),
};
ROWS(rows_warp, rows);
