/* In: a block with its warps. Out: the block run to its end.
 *
 * A warp is run as a group of lanes that stand at the same instruction; the other lanes wait, each with its
 * own key (depth of calls, instruction index). The group with the deepest call and the lowest index runs next
 * (layout.c orders the code so that this reconverges); lanes in a collective wait for all lanes it names. Which
 * group is first decides where lanes meet again, never whether they go on.
 *
 * Progress: a lane that can go on does, after finitely many instructions. A group that has run long while others of
 * its warp could is deferred, and deferred lanes run again only when all lanes that can run are: each deferral takes a
 * lane at least, so there are at most 32 before each had its turn. A warp hands over after its quantum, and each has
 * one in a round of its block; resident.c says the same of blocks. Left out is only a warp that spins: probe_warp saw
 * each group of its lanes come back to a state (places, masks, registers) it was in, while nothing in memory changed
 * and it came to no barrier. What lanes do depends on registers and memory alone, so they do it for ever while memory
 * stays as it is; core->stores counts what may have changed it, and then the warp is looked at again. So spin locks
 * end, between lanes as between warps and blocks, and who can never go on is known. */
#include "ptx/warp.h"
#include "ptx/profile.h"
#include "ptx/race.h"

enum {
	FAIR_INSTRUCTIONS = 16384,	/* a group's turn while other groups of its warp could run */
	LEAST_LANES = 16,		/* that an instruction counts against the budget */
	FAIR_SPINNING = 256,		/* the same for a group that used atomics: it may be waiting for the others */
	SUSPECT_SLICE = 16384		/* instructions of a block that seems to wait, before others get their turn */
};

static bool parked_can_run(struct warp *w);

static void
take(struct warp *w, struct group *g, uint32_t mask, uint32_t key, uint32_t next)
{
	g->mask = mask;
	g->pc = KEY_PC(key);
	g->depth = 255 - (key >> 24);
	g->next = next;
	g->wide = mask == w->alive ? FULL : mask;
}

bool
pick(struct warp *w, struct group *g)
{
	uint32_t ready = w->runnable & ~w->parked & ~w->deferred, least = NO_REG, next = NO_REG, mask = 0;
	if (!ready && (w->runnable & ~w->parked)) {
		w->deferred = 0;
		ready = w->runnable & ~w->parked;
	}
	if (!ready && (!w->parked || !parked_can_run(w)))
		return false;
	if (!ready)
		ready = w->runnable & ~w->parked;
	if (at_one_place(w, ready)) {
		take(w, g, ready, w->key[__builtin_ctz(ready)], NO_REG);
		return true;
	}
	for (int l = 0; l < LANES; l++) {
		uint32_t key = ready >> l & 1 ? w->key[l] : NO_REG;
		least = key < least ? key : least;
	}
	for (int l = 0; l < LANES; l++) {
		uint32_t key = ready >> l & 1 ? w->key[l] : NO_REG;
		mask |= (uint32_t)(key == least) << l;
		next = key != least && key < next ? key : next;
	}
	take(w, g, mask & ready, least, next);
	return true;
}

bool
split(struct warp *w, struct group *g, uint32_t mask, uint32_t key, uint32_t rest)
{
	set_keys(w, mask, key);
	set_keys(w, rest, KEY(g->depth, g->pc + 1));
	return pick(w, g);
}

/* ---- collectives */

/* Lanes of `here` whose mask names no living lane outside of `here`. */
static uint32_t
complete_lanes(const struct warp *w, const struct insn *i, uint32_t here)
{
	const u32 *members = (const u32 *)(w->frame + i->e);
	uint32_t done = 0;
	EACH_IN(here, l)
		done |= (uint32_t)!(members[l] & w->alive & ~here) << l;
	return done;
}

static uint32_t
parked_at(const struct warp *w, uint32_t key)
{
	uint32_t mask = 0;
	EACH_IN(w->parked, l)
		mask |= (uint32_t)(w->key[l] == key) << l;
	return mask;
}

/* After lanes exited, those that waited for them may be complete. */
static bool
parked_can_run(struct warp *w)
{
	uint32_t rest = w->parked;
	while (rest) {
		uint32_t key = w->key[__builtin_ctz(rest)], here = parked_at(w, key);
		uint32_t done = complete_lanes(w, &w->core->code[KEY_PC(key)], here);
		if (done) {
			w->parked &= ~done;
			return true;
		}
		rest &= ~here;
	}
	return false;
}

static void
check_members(struct warp *w, const struct insn *i, uint32_t mask)
{
	const u32 *members = (const u32 *)(w->frame + i->e);
	EACH_IN(mask, l)
		if (!(members[l] >> l & 1)) {
			struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_LANE_NOT_IN_MASK, .lane = l };
			report(w, i, &place, "The lane mask 0x%08x does not name the lane that uses it", members[l]);
			return;
		}
}

/* False when the warp has nothing left to run. */
static bool
collective(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	uint32_t key = KEY(g->depth, g->pc), here = mask;
	const u32 *members = (const u32 *)(w->frame + i->e);
	uint32_t named = 0, lacking = 0;
	for (int l = 0; l < LANES; l++) {
		uint32_t in = mask >> l & 1 ? FULL : 0;
		named |= members[l] & in;
		lacking |= ~members[l] & in & 1u << l;
	}
	if (lacking)
		check_members(w, i, mask);
	if (named & w->alive & ~mask) {
		here |= parked_at(w, key);
		uint32_t done = complete_lanes(w, i, here), rest = here & ~done;
		w->parked = (w->parked & ~done) | rest;
		set_keys(w, rest, key);
		if (!done)
			return split(w, g, 0, 0, g->mask & ~mask);
		i->run(i, w, done, done);
		if (w->block->race)
			race_warp_sync(w, done);
		set_keys(w, done, KEY(g->depth, g->pc + 1));
		return split(w, g, 0, 0, g->mask & ~mask);
	}
	i->run(i, w, mask, mask == w->alive ? FULL : mask);
	if (w->block->race)
		race_warp_sync(w, mask);
	g->pc++;
	return true;
}

/* ---- the loop */

static bool
branch_table(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	EACH_IN(mask, l) {
		uint32_t index = REG(u32, i->a)[l];
		if (index >= (uint64_t)i->imm)
			bad_call(w, i, 1u << l, PTX_BAD_CALL, "A branch table indexed past its end");
		w->key[l] = KEY(g->depth, i->list[index]);
	}
	uint32_t before = g->mask;
	bool more = split(w, g, 0, 0, g->mask & ~mask);
	w->core->counters.divergent_branches += before != g->mask;
	return more;
}

static bool
branch(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	if (mask == g->mask) {
		g->pc = i->target;
	} else if (!mask) {
		g->pc++;
	} else {
		w->core->counters.divergent_branches++;
		return split(w, g, mask, KEY(g->depth, i->target), g->mask & ~mask);
	}
	return true;
}

bool
control(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	if (!mask || i->kind == K_JOIN) {
		g->pc++;
		return true;
	}
	switch ((enum insn_kind)i->kind) {
	case K_BRANCH:
		return branch(w, g, i, mask);
	case K_BRANCH_TABLE:
		return branch_table(w, g, i, mask);
	case K_COLLECTIVE:
		return collective(w, g, i, mask);
	case K_CALL:
	case K_CALL_POINTER:
		return call(w, g, i, mask);
	case K_RETURN:
		return leave(w, g, mask);
	case K_EXIT:
		set_keys(w, g->mask & ~mask, KEY(g->depth, g->pc + 1));
		exit_lanes(w, mask);
		return pick(w, g);
	case K_BARRIER:
		set_keys(w, mask, KEY(g->depth, g->pc));
		set_keys(w, g->mask & ~mask, KEY(g->depth, g->pc + 1));
		arrive(w, i, mask, g->pc, true);
		return pick(w, g);
	case K_BARRIER_ARRIVE:
		arrive(w, i, mask, g->pc, false);
		g->pc++;
		return true;
	case K_CLUSTER_ARRIVE:
		cluster_arrive(w, i, mask);
		g->pc++;
		return true;
	case K_CLUSTER_WAIT:
		set_keys(w, mask, KEY(g->depth, g->pc));
		set_keys(w, cluster_wait(w, i, mask) | (g->mask & ~mask), KEY(g->depth, g->pc + 1));
		return pick(w, g);
	case K_RUN:
	case K_JOIN:
		break;
	}
	return true;
}

/* Instructions up to the next one that may change the flow. */
static const struct insn *
straight_run(struct warp *w, const struct group *g, const struct insn *i)
{
	uint32_t mask = g->mask, wide = g->wide;
	for (; i->kind == K_RUN; i++) {
		if (__builtin_expect(i->guard == NO_REG, 1)) {
			i->run(i, w, mask, wide);
		} else {
			uint32_t some = mask & (PREDICATE(i->guard) ^ (i->guard_negated ? FULL : 0));
			if (some)
				i->run(i, w, some, some == w->alive ? FULL : some);
		}
	}
	return i;
}

/* Under a schedule: does the warp stop in front of this instruction? In front of one access to memory in eight, so that
 * others come between a read and the write that follows from it; half the time before a volatile store, which may be the
 * end of a read-modify-write that takes itself for atomic. */
static bool
interrupts(struct machine_core *core, const struct insn *i)
{
	const struct slice *s = &core->image->sources[i->place].opcode;
	bool load = s->length > 4 && !memcmp(s->at, "ld.", 3) && s->at[3] != 'p', store = s->length > 4 && !memcmp(s->at, "st.", 3);
	if (!load && !store && !(s->length > 4 && (!memcmp(s->at, "atom", 4) || !memcmp(s->at, "red.", 4))))
		return false;
	return !schedule_random(core, store && i->flag >= ORDER_RELAXED ? 2 : 8);
}

/* As straight_run, under a schedule. At least one instruction is done. */
static const struct insn *
interrupted_run(struct warp *w, const struct group *g, const struct insn *i, bool *stopped)
{
	const struct insn *start = i;
	for (; i->kind == K_RUN; i++) {
		uint32_t some = g->mask;
		if (i > start && interrupts(w->core, i)) {
			*stopped = true;
			break;
		}
		if (i->guard != NO_REG)
			some &= PREDICATE(i->guard) ^ (i->guard_negated ? FULL : 0);
		if (some)
			i->run(i, w, some, some == w->alive ? FULL : some);
	}
	return i;
}

/* Other groups of the warp get their turn before this one goes on. */
static bool
defer(struct warp *w, struct group *g)
{
	set_keys(w, g->mask, KEY(g->depth, g->pc));
	w->deferred |= g->mask;
	w->turn = 0;
	w->polling = false;
	return pick(w, g);
}

/* An instruction of few lanes takes the machine about as long as one of many: the budget counts it as such. */
void
charge(struct machine_core *core, uint64_t instructions, uint64_t lanes)
{
	uint64_t work = instructions * (lanes > LEAST_LANES ? lanes : LEAST_LANES);
	core->counters.warp_instructions += instructions;
	core->counters.lane_instructions += instructions * lanes;
	if (work > core->budget_left)
		longjmp(core->stop, PTX_BUDGET);
	core->budget_left -= work;
}

/* Runs a warp until its quantum is used or all its lanes wait. Returns the instructions executed. */
static uint64_t
run_warp(struct warp *w, uint64_t quantum)
{
	struct machine_core *core = w->core;
	struct group g;
	uint64_t total = 0;
	bool more = pick(w, &g);
	while (more) {
		bool stopped = false;
		const struct insn *start = core->code + g.pc;
		const struct insn *i = core->random ? interrupted_run(w, &g, start, &stopped) : straight_run(w, &g, start);
		uint64_t executed = (uint64_t)(i - start) + (!stopped && !i->flag);
		charge(core, executed, (uint64_t)__builtin_popcount(g.mask));
		if (core->profile)
			profile_run(core->profile, g.pc, (uint32_t)(i - core->code) + !stopped, (uint32_t)__builtin_popcount(g.mask));
		total += executed + 1;
		g.pc = (uint32_t)(i - core->code);
		if (stopped) {
			core->interrupted = true;
			set_keys(w, g.mask, KEY(g.depth, g.pc));
			break;
		}
		uint32_t mask = g.mask;
		if (i->guard != NO_REG)
			mask &= PREDICATE(i->guard) ^ (i->guard_negated ? FULL : 0);
		more = control(w, &g, i, mask);
		if (!more)
			break;
		uint32_t key = KEY(g.depth, g.pc);
		if (w->atomic_seen) {
			w->atomic_seen = false;
			w->polling = true;
			w->polls++;
		}
		if (!(w->runnable & ~w->parked & ~g.mask)) {
			w->turn = 0;
			w->polling = false;
		} else if ((w->turn += executed) > (w->polling ? FAIR_SPINNING : FAIR_INSTRUCTIONS) || w->yields) {
			w->yields = false;
			more = defer(w, &g);
		} else if (key >= g.next && g.next != NO_REG) {
			set_keys(w, g.mask, key);
			more = pick(w, &g);
		}
		if (total > quantum || w->yields) {
			w->yields = false;
			if (more)
				set_keys(w, g.mask, KEY(g.depth, g.pc));
			break;
		}
	}
	return total;
}

/* ---- the block */

/* A warp's turn. False when the warp can but wait; *executed counts instructions. */
static bool
warp_turn(struct machine_core *core, struct warp *w, uint64_t *executed)
{
	if (w->spins) {
		if (w->idle_at != core->stores)
			look_again(w, executed);
		return !w->spins;
	}
	uint64_t quantum = core->random ? 1u << schedule_random(core, 10) : core->options.quantum;
	uint64_t done = run_warp(w, quantum);
	*executed += done;
	w->since_probe += done;
	if (done && w->alive)
		look_closer(w, executed);
	return done;
}

/* The warps in the order of a round: as they stand, or by the schedule. */
static void
order_warps(struct machine_core *core, uint32_t n, uint8_t *order)
{
	for (uint32_t k = 0; k < n; k++)
		order[k] = (uint8_t)k;
	for (uint32_t k = n; core->random && k > 1; k--) {
		uint32_t other = schedule_random(core, k);
		uint8_t kept = order[k - 1];
		order[k - 1] = order[other];
		order[other] = kept;
	}
}

enum block_state
block_run(struct machine_core *core, struct block *block, uint64_t slice)
{
	uint64_t executed = 0;
	uint8_t order[MAX_WARPS];
	core->interrupted = false;
	order_warps(core, block->n_warps, order);
	while (block->warps_alive) {
		bool went_on = false, waits = false;
		for (uint32_t n = 0; n < block->n_warps; n++) {
			struct warp *w = &block->warps[order[n]];
			if (w->runnable && warp_turn(core, w, &executed))
				went_on = true;
			if (core->interrupted && !schedule_random(core, 2))
				return BLOCK_RUNNING;
			core->interrupted = false;
			waits |= w->spins || w->cluster_waiting;
		}
		if (!went_on && !waits)
			deadlock(core, &block, 1, 0);
		if (!went_on)
			return BLOCK_IDLE;
		if (executed > (block->suspect && slice > SUSPECT_SLICE ? SUSPECT_SLICE : slice) && block->warps_alive)
			return BLOCK_RUNNING;
		if (core->random)
			order_warps(core, block->n_warps, order);
	}
	return BLOCK_DONE;
}
