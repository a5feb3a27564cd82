/* Asynchronous copies (cp.async, cp.async.bulk, st.async, red.async) and mbarrier. Addresses are checked when the
 * instruction runs; async.c moves the data when the program waits for it.
 *
 * insn.a, imm, mode: the address that PTX names first. A second and a third address are registers b and e with
 * their offsets and sizes in insn.list (see enum); c is a size, a count or a value. */
#include <string.h>

#include "ptx/access.h"
#include "ptx/async.h"
#include "ptx/table.h"

/* Places in insn.list that are no registers */
enum { SECOND_LOW, SECOND_HIGH, SECOND_BYTES, THIRD_LOW, THIRD_HIGH, THIRD_BYTES, VALUES, ASYNC_LIST = VALUES + 4 };

static bool
decode_place(struct decoder *d, const struct operand *o, int field, int low)
{
	struct insn *i = decode_insn(d);
	uint8_t space = i->space;
	int64_t offset;
	unsigned bytes;
	if (!decode_address(d, o, field, &offset, &bytes))
		return false;
	i->space = space;
	i->list[low] = (uint32_t)offset;
	i->list[low + 1] = (uint32_t)((uint64_t)offset >> 32);
	i->list[low + 2] = bytes;
	return true;
}

static bool
decode_first(struct decoder *d, const struct operand *o, enum ptx_space space)
{
	struct insn *i = decode_insn(d);
	unsigned bytes;
	i->space = (uint8_t)space;
	if (!decode_address(d, o, F_A, &i->imm, &bytes))
		return false;
	i->mode = (uint8_t)bytes;
	return true;
}

/* The same instruction, as if its second or third address were its first. */
static struct insn
at_place(const struct insn *i, uint32_t reg, int low, enum ptx_space space)
{
	struct insn place = *i;
	place.a = reg;
	place.imm = i->list[low] | (int64_t)i->list[low + 1] << 32;
	place.mode = (uint8_t)i->list[low + 2];
	place.space = (uint8_t)space;
	return place;
}

/* A policy for the second-level cache may stand last; it has no effect here. */
static bool
decode_policy(struct decoder *d, const struct mods *mods, const struct statement *s, unsigned *n)
{
	*n = s->n_operands;
	if (!mods->field[M_POLICY])
		return true;
	if (!*n)
		return decode_fail(d, "without its cache policy");
	return decode_source(d, &s->operands[--*n], T_B64, true, F_D) != 0;
}

/* ---- cp.async. insn.size: bytes; e: bytes read; c: predicate that ignores the source */

static uint32_t
lanes_that_read(const struct insn *i, const struct warp *w, uint32_t mask)
{
	uint32_t reads = mask;
	if (i->e != NO_REG)			/* a size of zero reads nothing */
		EACH_IN(mask, l)
			reads &= ~((uint32_t)!((const u32 *)(w->frame + i->e))[l] << l);
	if (i->negated)
		reads &= ~(PREDICATE(i->c) ^ (i->negated == 2 ? FULL : 0));
	return reads;
}

static void
find_pointers(const struct insn *i, struct warp *w, uint32_t mask, int access, char **pointers)
{
	struct access acc;
	if (!mask)
		return;
	if (!access_all(i, w, mask, i->size, access, &acc)) {
		access_each(i, w, mask, i->size, access, pointers);
		return;
	}
	EACH_IN(mask, l)
		pointers[l] = acc.base + acc.pattern->relative[l];
}

HANDLER(copy_async)
{
	struct insn from = at_place(i, i->b, SECOND_LOW, PTX_SPACE_GLOBAL);
	uint32_t reads = lanes_that_read(i, w, mask);
	char *source[LANES], *target[LANES];
	UNUSED(wide);
	from.target = i->target + 1;
	find_pointers(&from, w, reads, ACCESS_READ, source);
	find_pointers(i, w, mask, ACCESS_WRITE, target);
	struct copy *c = copies_add(w);
	c->lanes = mask;
	c->bytes = i->size;
	memcpy(c->group, w->copies->committed, sizeof c->group);
	EACH_IN(mask, l) {
		uint32_t bytes = i->e == NO_REG ? i->size : REG(u32, i->e)[l];
		bool reading = reads >> l & 1;
		c->read[l] = (uint8_t)(!reading ? 0 : bytes < i->size ? bytes : i->size);
		c->from[l] = reading ? source[l] : w->block->shared;
		c->to[l] = target[l];
		mark_shared(w, target[l], i->size, false);
	}
}

static bool
decode_cp_async(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	int64_t bytes;
	unsigned n;
	UNUSED(row);
	if (!decode_policy(d, mods, s, &n))
		return false;
	if (n < 3 || n > 5 || !decode_immediate(&o[2], T_B32, &bytes) || (bytes != 4 && bytes != 8 && bytes != 16)
		|| (mods->field[M_CACHE] == 2 && bytes != 16))
		return decode_fail(d, "with another size than 4, 8 or 16");
	i->size = (uint8_t)bytes;
	i->run = copy_async;
	decode_list(d, ASYNC_LIST);
	if (!decode_first(d, &o[0], PTX_SPACE_SHARED) || !decode_place(d, &o[1], F_B, SECOND_LOW))
		return false;
	for (unsigned k = 3; k < n; k++) {
		if (o[k].kind != O_REGISTER || !decode_is_predicate(d, &o[k])) {
			if (k > 3 || !decode_source(d, &o[k], T_U32, true, F_E))
				return decode_fail(d, "with operands that it does not have");
			continue;
		}
		if (k + 1 < n || !decode_predicate(d, &o[k], F_C))
			return decode_fail(d, "with operands that it does not have");
		i->negated = i->negated ? 2 : 1;
	}
	decode_pattern(d);
	uint32_t first = i->target;
	decode_pattern(d);
	i->target = first;
	return true;
}

HANDLER(commit_copies)
{
	struct copies *copies = warp_copies(w);
	UNUSED(i);
	UNUSED(wide);
	EACH_IN(mask, l)
		copies->committed[l]++;
}

HANDLER(wait_copies)
{
	UNUSED(wide);
	copies_wait(w, mask, (uint32_t)i->imm);
}

HANDLER(wait_all_copies)
{
	commit_copies(i, w, mask, wide);
	copies_wait(w, mask, 0);
}

HANDLER(commit_bulk)
{
	struct copies *copies = warp_copies(w);
	UNUSED(i);
	UNUSED(wide);
	EACH_IN(mask, l)
		copies->bulk_committed[l]++;
}

HANDLER(wait_bulk)
{
	UNUSED(wide);
	transfers_wait(w, mask, (uint32_t)i->imm, i->sub);
}

/* The groups that may go on */
static bool
decode_groups(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	UNUSED(mods);
	i->run = row->run[T_B32];
	i->sub = row->sub;
	if (s->n_operands != 1 || !decode_immediate(&s->operands[0], T_B32, &i->imm) || i->imm < 0 || i->imm > 1 << 20)
		return decode_fail(d, "without the number of groups that may go on");
	return true;
}

/* ---- mbarrier. insn.sub: what it does; b: count or bytes; c: state or parity; d: state or predicate */

enum {
	MBAR_INIT, MBAR_INVALIDATE, MBAR_ARRIVE, MBAR_DROP, MBAR_EXPECT, MBAR_COMPLETE, MBAR_COPIES, MBAR_COPIES_NOINC,
	MBAR_WAIT, MBAR_PARITY,
	MBAR_KIND = 15,
	MBAR_WITH_BYTES = 16,			/* arrive.expect_tx: b is bytes, and one arrives */
	MBAR_NO_COMPLETE = 32
};

static _Noreturn void
bad_mbarrier(const struct insn *i, struct warp *w, uint32_t lane, const char *what)
{
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_BARRIER_MISMATCH, .lane = lane,
		.space = PTX_SPACE_SHARED, .address = lane_address(i, w, lane), .size = 8 };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

static u64 *
find_mbarrier(const struct insn *i, struct warp *w, uint32_t lane, int access)
{
	char *p = lane_pointer(i, w, lane, lane_address(i, w, lane), 8, access, (enum ptx_space)i->space);
	u64 *barrier = (u64 *)(void *)p;
	if (access != ACCESS_WRITE && !mbarrier_valid(*barrier))
		bad_mbarrier(i, w, lane, "The mbarrier was not initialised");
	return barrier;
}

static void
change(const struct insn *i, struct warp *w, uint32_t lane, u64 *barrier, int32_t expected, int32_t pending, int32_t bytes)
{
	if (!mbarrier_change(barrier, expected, pending, bytes))
		bad_mbarrier(i, w, lane, pending < 0 ? "More threads arrive at an mbarrier than its phase expects"
			: "The counts of an mbarrier leave their range");
}

HANDLER(mbarrier_init)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		u64 *barrier = find_mbarrier(i, w, l, ACCESS_WRITE);
		uint32_t count = i->sub == MBAR_INIT ? REG(u32, i->b)[l] : 0;
		if (i->sub == MBAR_INIT && (!count || count > MBARRIER_MAX_COUNT))
			bad_mbarrier(i, w, l, "An mbarrier is initialised with a count that it cannot have");
		*barrier = i->sub == MBAR_INIT ? mbarrier_make(count, count, 0, 0) : ~0ull;
	}
}

HANDLER(mbarrier_arrive)
{
	bool drop = (i->sub & MBAR_KIND) == MBAR_DROP;
	UNUSED(wide);
	w->atomic_seen = true;
	EACH_IN(mask, l) {
		u64 *barrier = find_mbarrier(i, w, l, ACCESS_ATOMIC);
		int32_t value = i->b == NO_REG ? 1 : (int32_t)REG(u32, i->b)[l], count = i->sub & MBAR_WITH_BYTES ? 1 : value;
		uint64_t before = *barrier;
		if (count < 1 || count > MBARRIER_MAX_COUNT)
			bad_mbarrier(i, w, l, "An arrival at an mbarrier counts for none or for too many");
		if (i->sub & MBAR_NO_COMPLETE && (uint32_t)count >= mbarrier_pending(before))
			bad_mbarrier(i, w, l, "An arrival that must not end the phase of an mbarrier would end it");
		if (i->sub & MBAR_WITH_BYTES)
			change(i, w, l, barrier, 0, 0, value);
		change(i, w, l, barrier, drop ? -count : 0, -count, 0);
		if (i->d != NO_REG)
			REG(u64, i->d)[l] = before;
	}
}

HANDLER(mbarrier_bytes_handler)
{
	UNUSED(wide);
	EACH_IN(mask, l) {
		u64 *barrier = find_mbarrier(i, w, l, ACCESS_ATOMIC);
		int32_t bytes = (int32_t)REG(u32, i->b)[l];
		change(i, w, l, barrier, 0, 0, i->sub == MBAR_EXPECT ? bytes : -bytes);
	}
}

/* The arrival comes when the copies that the lane has started are done. */
HANDLER(mbarrier_copies)
{
	struct copies *copies = warp_copies(w);
	UNUSED(wide);
	for (uint32_t rest = mask; rest;) {
		uint32_t first = (uint32_t)__builtin_ctz(rest), lanes = 0;
		uint64_t address = lane_address(i, w, first);
		u64 *barrier = find_mbarrier(i, w, first, ACCESS_ATOMIC);
		EACH_IN(rest, l)
			lanes |= (uint32_t)(lane_address(i, w, l) == address) << l;
		if (i->sub == MBAR_COPIES)
			change(i, w, first, barrier, 0, __builtin_popcount(lanes), 0);
		struct transfer t = { .kind = TRANSFER_ARRIVE, .warp = w, .lanes = lanes, .barrier = barrier,
			.copies = copies->before + copies->count };
		transfer_add(w, &t);
		rest &= ~lanes;
	}
}

HANDLER(mbarrier_wait)
{
	uint32_t result = 0;
	UNUSED(wide);
	w->atomic_seen = true;
	EACH_IN(mask, l) {
		u64 *barrier = find_mbarrier(i, w, l, ACCESS_READ);
		uint32_t phase = i->sub == MBAR_PARITY ? REG(u32, i->c)[l] & 1 : mbarrier_phase(REG(u64, i->c)[l]);
		if (mbarrier_phase(*barrier) == phase)
			transfers_for(w->core, barrier);
		result |= (mbarrier_phase(*barrier) ^ phase) << l;
	}
	/* a GPU puts the warp to sleep, so that trying again costs next to nothing */
	w->yields = !result;
	set_predicate(w, i->d, result, mask);
}

HANDLER(mbarrier_pending_count)
{
	UNUSED(wide);
	EACH_IN(mask, l)
		REG(u32, i->d)[l] = mbarrier_pending(REG(u64, i->a)[l]);
}

/* mbarrier.arrive state, [p]{, count} and all that have no more than these operands */
static bool
decode_mbarrier(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	unsigned kind = row->sub & MBAR_KIND, n = s->n_operands;
	bool returns = kind == MBAR_ARRIVE || kind == MBAR_DROP;
	bool counts = kind == MBAR_INIT || kind == MBAR_EXPECT || kind == MBAR_COMPLETE
		|| row->sub & (MBAR_WITH_BYTES | MBAR_NO_COMPLETE);
	i->run = row->run[T_B64];
	i->flag = ORDER_BOTH;
	i->sub = row->sub;
	if (n < returns + 1u + counts || n > returns + 1u + (counts || returns))
		return decode_fail(d, "with %u operands", n);
	if (returns && !decode_destination(d, o++, 8, true, F_D))
		return false;
	if (!decode_first(d, o++, (enum ptx_space)mods->field[M_SPACE]))
		return false;
	return n == returns + 1u || decode_source(d, o, T_U32, true, F_B) != 0;
}

/* p, [address], state or parity{, time that it may take, which means nothing here} */
static bool
decode_mbarrier_wait(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	i->run = mbarrier_wait;
	i->flag = ORDER_ACQUIRE;
	i->sub = row->sub;
	if (s->n_operands < 3 || s->n_operands > 4 || o[0].kind == O_SINK)
		return decode_fail(d, "with %u operands", s->n_operands);
	return decode_destination(d, &o[0], 1, true, F_D) && decode_first(d, &o[1], (enum ptx_space)mods->field[M_SPACE])
		&& decode_source(d, &o[2], row->sub == MBAR_PARITY ? T_U32 : T_B64, true, F_C)
		&& (s->n_operands == 3 || decode_source(d, &o[3], T_U32, true, F_E));
}

/* ---- cp.async.bulk and cp.reduce.async.bulk. c: bytes; insn.sub: operation; size: type; negated: multicast mask */

enum { BULK_GLOBAL_TO_SHARED, BULK_SHARED_TO_SHARED, BULK_SHARED_TO_GLOBAL };

/* Checks bytes in pieces of 16, and gives the address on the host. */
static char *
bulk_pointer(const struct insn *i, struct warp *w, uint32_t lane, uint32_t bytes, int access)
{
	uint64_t address = lane_address(i, w, lane);
	char *first = NULL;
	for (uint32_t at = 0; at < bytes; at += 16) {
		char *p = lane_pointer(i, w, lane, address + at, 16, access, (enum ptx_space)i->space);
		first = first ? first : p;
	}
	struct ptx_counters *c = &w->core->counters;
	if (i->space != PTX_SPACE_GLOBAL) {
		c->shared_requests += (bytes + 127) / 128;
	} else if (access == ACCESS_READ) {
		c->global_read_requests += (bytes + 127) / 128;
		c->global_read_sectors += (bytes + 31) / 32;
		c->global_read_bytes += bytes;
	} else {
		c->global_write_requests += (bytes + 127) / 128;
		c->global_write_sectors += (bytes + 31) / 32;
		c->global_write_bytes += bytes;
	}
	return first;
}

HANDLER(bulk_copy)
{
	bool to_global = i->flag == BULK_SHARED_TO_GLOBAL;
	enum ptx_space from_space = i->flag == BULK_GLOBAL_TO_SHARED ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED;
	struct insn from = at_place(i, i->b, SECOND_LOW, from_space), barrier = *i;
	struct copies *copies = warp_copies(w);
	UNUSED(wide);
	if (!to_global)
		barrier = at_place(i, i->e, THIRD_LOW, PTX_SPACE_SHARED);
	barrier.flag = ORDER_BOTH;
	EACH_IN(mask, l) {
		uint32_t bytes = REG(u32, i->c)[l];
		if (bytes % 16) {
			struct finding_place place = { .check = PTX_MEMCHECK, .kind = PTX_MISALIGNED, .lane = l,
				.space = (enum ptx_space)i->space, .address = lane_address(i, w, l), .size = bytes };
			report(w, i, &place, "A bulk copy of %u bytes, which is no multiple of 16", bytes);
			longjmp(w->core->stop, PTX_FAULT);
		}
		if (!bytes)
			continue;
		struct transfer t = { .kind = i->sub ? TRANSFER_REDUCE : TRANSFER_MOVE, .operation = i->sub, .type = i->size,
			.warp = w, .lanes = 1u << l, .bytes = bytes, .group = copies->bulk_committed[l] };
		t.from = bulk_pointer(&from, w, l, bytes, ACCESS_READ);
		t.to = bulk_pointer(i, w, l, bytes, i->sub ? ACCESS_ATOMIC : ACCESS_WRITE);
		t.barrier = to_global ? NULL : find_mbarrier(&barrier, w, l, ACCESS_ATOMIC);
		if (!i->sub)
			mark_shared(w, t.to, bytes, false);
		transfer_add(w, &t);
	}
}

/* [to], [from], bytes{, [mbarrier]}{, policy}; row->sub is the direction */
static bool
decode_bulk(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	bool to_global = row->sub == BULK_SHARED_TO_GLOBAL;
	unsigned n;
	i->run = bulk_copy;
	i->flag = row->sub;
	i->sub = mods->field[M_BOOL];
	i->size = (uint8_t)mods->types[0];
	decode_list(d, ASYNC_LIST);
	if (!decode_policy(d, mods, s, &n))
		return false;
	if (n != (to_global ? 3 : 4))
		return decode_fail(d, "with %u operands", s->n_operands);
	return decode_first(d, &o[0], to_global ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED) && decode_place(d, &o[1], F_B, SECOND_LOW)
		&& decode_source(d, &o[2], T_U32, true, F_C) && (to_global || decode_place(d, &o[3], F_E, THIRD_LOW));
}

/* ---- st.async, red.async: [to], value, [mbarrier]. n values of `size` bytes in list[VALUES..] */

HANDLER(send_async)
{
	struct insn barrier = at_place(i, i->e, THIRD_LOW, PTX_SPACE_SHARED);
	uint32_t bytes = type_bytes((enum type)i->size), total = bytes * i->n;
	UNUSED(wide);
	EACH_IN(mask, l) {
		struct transfer t = { .kind = i->sub ? TRANSFER_REDUCE : TRANSFER_MOVE, .operation = i->sub, .type = i->size,
			.warp = w, .lanes = 1u << l, .bytes = total };
		for (uint32_t k = 0; k < i->n; k++)
			memcpy(t.value + k * bytes, w->frame + i->list[VALUES + k] + l * bytes, bytes);
		t.to = lane_pointer(i, w, l, lane_address(i, w, l), total, i->sub ? ACCESS_ATOMIC : ACCESS_WRITE,
			(enum ptx_space)i->space);
		t.barrier = find_mbarrier(&barrier, w, l, ACCESS_ATOMIC);
		if (!i->sub)
			mark_shared(w, t.to, total, false);
		transfer_add(w, &t);
	}
}

static bool
decode_send(struct decoder *d, const struct row *row, const struct mods *mods, const struct statement *s)
{
	struct insn *i = decode_insn(d);
	const struct operand *o = s->operands;
	enum type type = mods->types[0];
	unsigned n = mods->field[M_VECTOR] ? mods->field[M_VECTOR] : 1;
	UNUSED(row);
	if (s->n_operands != 3 || n * type_bytes(type) > 16 || (o[1].kind == O_VECTOR ? o[1].n_items != n : n != 1))
		return decode_fail(d, "with other operands than it has");
	i->run = send_async;
	i->sub = mods->field[M_BOOL];
	i->size = (uint8_t)type;
	i->n = (uint8_t)n;
	decode_list(d, ASYNC_LIST);
	if (!decode_first(d, &o[0], PTX_SPACE_SHARED) || !decode_place(d, &o[2], F_E, THIRD_LOW))
		return false;
	for (unsigned k = 0; k < n; k++)
		if (!decode_source(d, o[1].kind == O_VECTOR ? &o[1].items[k] : &o[1], type, true, F_LIST + VALUES + (int)k))
			return false;
	return true;
}

#define L2_SIZE ".L2::64B|.L2::128B|.L2::256B?"
#define POLICY ".L2::cache_hint?"
#define IN_SHARED ".shared|.shared::cta?"
#define IN_CLUSTER ".shared|.shared::cta|.shared::cluster?"
#define BAR(words, function, what) \
	{ .opcode = "mbarrier", .pattern = words " .b64", .decode = decode_mbarrier, .run = { [T_B64] = function }, .sub = (what) }
#define ARRIVAL ".release|.relaxed? .cta|.cluster? " IN_CLUSTER
#define BYTES ".mbarrier::complete_tx::bytes"
#define WAIT_ROW(words, what) { .opcode = "mbarrier", .pattern = words " .acquire|.relaxed? .cta|.cluster? " IN_SHARED \
	" .b64", .decode = decode_mbarrier_wait, .sub = (what) }
#define BULK(opcode_, pattern_, direction) { .opcode = opcode_, .pattern = pattern_, .decode = decode_bulk, .sub = (direction) }

/* For probes: addresses of barriers must hold an initialised mbarrier, sizes of bulk copies are multiples of 16, and
 * results of copies are to be looked at behind the wait that belongs to them. */
static const struct row rows[] = {
	DECODED("cp", ".async .ca|.cg .shared|.shared::cta .global " POLICY " " L2_SIZE, decode_cp_async),
	{ "cp", ".async .commit_group", "", .run = { [T_B32] = commit_copies } },
	{ "cp", ".async .wait_all", "", .run = { [T_B32] = wait_all_copies } },
	{ .opcode = "cp", .pattern = ".async .wait_group", .decode = decode_groups, .run = { [T_B32] = wait_copies } },
	{ "cp", ".async .bulk .commit_group", "", .run = { [T_B32] = commit_bulk } },
	{ .opcode = "cp", .pattern = ".async .bulk .wait_group", .decode = decode_groups, .run = { [T_B32] = wait_bulk } },
	{ .opcode = "cp", .pattern = ".async .bulk .wait_group .read", .decode = decode_groups, .run = { [T_B32] = wait_bulk },
		.sub = 1 },
	BULK("cp", ".async .bulk .shared::cluster|.shared::cta .global " BYTES " " POLICY, BULK_GLOBAL_TO_SHARED),
	BULK("cp", ".async .bulk .shared::cluster .shared::cta " BYTES, BULK_SHARED_TO_SHARED),
	BULK("cp", ".async .bulk .global .shared::cta .bulk_group " POLICY, BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY " .and|.or|.xor .b32|.b64",
		BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY
		" .add|.min|.max .u32|.s32|.u64|.s64", BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY " .add .f32|.f64", BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY " .inc|.dec .u32", BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY " .min|.max .f16|.bf16",
		BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .global .shared::cta .bulk_group " POLICY " .add .noftz .f16|.bf16",
		BULK_SHARED_TO_GLOBAL),
	BULK("cp", ".reduce .async .bulk .shared::cluster .shared::cta " BYTES " .and|.or|.xor .b32", BULK_SHARED_TO_SHARED),
	BULK("cp", ".reduce .async .bulk .shared::cluster .shared::cta " BYTES " .add .u32|.s32|.u64", BULK_SHARED_TO_SHARED),
	BULK("cp", ".reduce .async .bulk .shared::cluster .shared::cta " BYTES " .min|.max .u32|.s32", BULK_SHARED_TO_SHARED),
	BULK("cp", ".reduce .async .bulk .shared::cluster .shared::cta " BYTES " .inc|.dec .u32", BULK_SHARED_TO_SHARED),
	DECODED("st", ".async .weak? .shared::cluster? " BYTES " .v2|.v4? .b32|.u32|.s32|.f32|.b64|.u64|.s64|.f64", decode_send),
	DECODED("red", ".async .relaxed? .cluster? .shared::cluster? " BYTES " .and|.or|.xor .b32", decode_send),
	DECODED("red", ".async .relaxed? .cluster? .shared::cluster? " BYTES " .add .u32|.s32|.u64", decode_send),
	DECODED("red", ".async .relaxed? .cluster? .shared::cluster? " BYTES " .min|.max .u32|.s32", decode_send),
	DECODED("red", ".async .relaxed? .cluster? .shared::cluster? " BYTES " .inc|.dec .u32", decode_send),
	BAR(".init " IN_SHARED, mbarrier_init, MBAR_INIT),
	BAR(".inval " IN_SHARED, mbarrier_init, MBAR_INVALIDATE),
	BAR(".arrive " ARRIVAL, mbarrier_arrive, MBAR_ARRIVE),
	BAR(".arrive .expect_tx " ARRIVAL, mbarrier_arrive, MBAR_ARRIVE | MBAR_WITH_BYTES),
	BAR(".arrive .noComplete .release? .cta? " IN_SHARED, mbarrier_arrive, MBAR_ARRIVE | MBAR_NO_COMPLETE),
	BAR(".arrive_drop " ARRIVAL, mbarrier_arrive, MBAR_DROP),
	BAR(".arrive_drop .expect_tx " ARRIVAL, mbarrier_arrive, MBAR_DROP | MBAR_WITH_BYTES),
	BAR(".arrive_drop .noComplete .release? .cta? " IN_SHARED, mbarrier_arrive, MBAR_DROP | MBAR_NO_COMPLETE),
	BAR(".expect_tx .relaxed? .cta|.cluster? " IN_CLUSTER, mbarrier_bytes_handler, MBAR_EXPECT),
	BAR(".complete_tx .relaxed? .cta|.cluster? " IN_CLUSTER, mbarrier_bytes_handler, MBAR_COMPLETE),
	WAIT_ROW(".test_wait|.try_wait", MBAR_WAIT),
	WAIT_ROW(".test_wait|.try_wait .parity", MBAR_PARITY),
	{ "mbarrier", ".pending_count .b64", "dU aT", .run = { [T_B64] = mbarrier_pending_count } },
	{ .opcode = "cp", .pattern = ".async .mbarrier .arrive " IN_SHARED " .b64", .decode = decode_mbarrier,
		.run = { [T_B64] = mbarrier_copies }, .sub = MBAR_COPIES },
	{ .opcode = "cp", .pattern = ".async .mbarrier .arrive .noinc " IN_SHARED " .b64", .decode = decode_mbarrier,
		.run = { [T_B64] = mbarrier_copies }, .sub = MBAR_COPIES_NOINC },
};
ROWS(rows_async, rows);
