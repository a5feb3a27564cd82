/* Barriers of a block and of a cluster. In: lanes that come to one, or end. Out: lanes that wait, or go on. A barrier of
 * the block counts warps, whose lanes may come one by one; that of the cluster counts lanes, and arriving and waiting are
 * two instructions. Here synccheck looks at who waits where. */
#include <string.h>

#include "base/die.h"
#include "ptx/race.h"
#include "ptx/warp.h"

/* ---- barriers */

/* A lane goes on behind its barrier, with the result of a reduction. */
static void
wake(struct warp *w, const struct barrier *b, uint32_t lane)
{
	const struct insn *i = &w->core->code[KEY_PC(w->key[lane])];
	bool all = b->ones == b->lanes, any = b->ones != 0;
	if (i->sub == 3)
		((u32 *)(w->frame + i->d))[lane] = b->ones;
	else if (i->sub)
		set_predicate(w, i->d, (i->sub == 1 ? all : any) ? FULL : 0, 1u << lane);
	w->key[lane]++;
}

static void
release(struct block *block, struct barrier *b)
{
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct warp *w = &block->warps[n];
		uint32_t waiting = b->waiting[n];
		if (!waiting)
			continue;
		uint32_t key = w->key[__builtin_ctz(waiting)];
		if (!w->core->code[KEY_PC(key)].sub && at_one_place(w, waiting))
			set_keys(w, waiting, key + 1);
		else
			EACH_IN(waiting, l)
				wake(w, b, l);
		w->at_barrier &= ~waiting;
		w->runnable |= waiting;
		w->spins = false;
	}
	memset(b, 0, sizeof *b);
	b->first_pc = NO_REG;
}

/* All lanes that wait should stand at one instruction; a difference is reported once, at the later place. */
static void
check_places(struct block *block, const struct barrier *b)
{
	struct warp *first = NULL;
	uint32_t first_key = 0;
	if (b->expected_warps)			/* named, with a count: producers and consumers may differ */
		return;
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct warp *w = &block->warps[n];
		if (first && b->waiting[n] && w->key[__builtin_ctz(b->waiting[n])] == first_key && at_one_place(w, b->waiting[n]))
			continue;
		EACH_IN(b->waiting[n], l) {
			if (!first) {
				first = w;
				first_key = w->key[l];
			}
			if (w->key[l] == first_key)
				continue;
			const struct insn *i = &w->core->code[KEY_PC(w->key[l])];
			const struct source *s = &w->core->image->sources[KEY_PC(first_key)];
			bool same = w == first;
			struct finding_place place = { .check = PTX_SYNCCHECK, .lane = l,
				.kind = same ? PTX_DIVERGENT_BARRIER : PTX_BARRIER_MISMATCH };
			report(w, i, &place, "%s wait at different barriers: the others at source line %u (line %u of the PTX)",
				same ? "Lanes of one warp" : "Warps of one block", s->location.line, s->line);
			return;
		}
	}
}

static void
complete(struct block *block, uint32_t id)
{
	struct barrier *b = &block->barriers[id];
	uint32_t expected = b->expected_warps ? b->expected_warps : block->warps_alive;
	if (b->first_pc == NO_REG || b->warps < expected)
		return;
	check_places(block, b);
	if (block->race && b->expected_warps)
		race_barrier_some(block, id, b->waiting);
	else if (block->race)
		race_barrier(block);
	release(block, b);
}

static void
count_warp(struct warp *w, struct barrier *b)
{
	if (w->alive && b->arrived[w->number] == w->alive) {
		b->warps++;
		b->arrived[w->number] = 0;
	}
}

static _Noreturn void
bad_barrier(struct warp *w, const struct insn *i, uint32_t lane, uint32_t id, uint32_t threads)
{
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_BARRIER_MISMATCH, .lane = lane };
	report(w, i, &place, "Barrier %u for %u threads is not possible here", id, threads);
	longjmp(w->core->stop, PTX_FAULT);
}

/* Can control that stands at `from` come to `to` without going back? The code is in an order of flow. */
static bool
reaches(const struct insn *code, uint32_t from, uint32_t to)
{
	uint8_t *reached = xcalloc(to - from + 1, 1);
	reached[0] = 1;
	for (uint32_t pc = from; pc < to; pc++) {
		const struct insn *i = &code[pc];
		bool always = i->guard == NO_REG;
		if (!reached[pc - from])
			continue;
		if (i->kind == K_BRANCH && i->target > pc && i->target <= to)
			reached[i->target - from] = 1;
		for (int64_t k = 0; i->kind == K_BRANCH_TABLE && k < i->imm; k++)
			if (i->list[k] > pc && i->list[k] <= to)
				reached[i->list[k] - from] = 1;
		if (!always || (i->kind != K_BRANCH && i->kind != K_BRANCH_TABLE && i->kind != K_EXIT && i->kind != K_RETURN))
			reached[pc + 1 - from] = 1;
	}
	bool result = reached[to - from];
	free(reached);
	return result;
}

/* Lanes of a warp that wait at pc, while others stand further on where both come together: on a GPU these would
 * wait for those. Lanes on a way of their own to the end do not count, they may leave a barrier to the rest. */
static uint32_t
lanes_past(const struct warp *w, uint32_t arrived, uint32_t pc)
{
	const struct insn *code = w->core->code;
	uint32_t past = 0, depth = w->depth[__builtin_ctz(arrived)];
	for (uint32_t rest = w->runnable & ~arrived; rest;) {
		uint32_t lane = (uint32_t)__builtin_ctz(rest), key = w->key[lane], at = KEY_PC(key), here = 0;
		EACH_IN(rest, l)
			here |= (uint32_t)(w->key[l] == key) << l;
		if (w->depth[lane] == depth && at > pc && code[at].kind != K_EXIT && reaches(code, pc + 1, at))
			past |= here;
		rest &= ~here;
	}
	return past;
}

static void
report_passed(struct warp *w, const struct barrier *b, uint32_t ended)
{
	const struct insn *i = &w->core->code[b->first_pc];
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_DIVERGENT_BARRIER,
		.lane = (uint32_t)__builtin_ctz(b->waiting[w->number]) };
	report(w, i, &place, "%d lanes of the warp wait at the barrier while lane %d went past it and ended",
		__builtin_popcount(b->waiting[w->number]), __builtin_ctz(ended));
}

void
arrive(struct warp *w, const struct insn *i, uint32_t mask, uint32_t pc, bool wait)
{
	struct block *block = w->block;
	uint32_t lane = (uint32_t)__builtin_ctz(mask);
	uint32_t id = i->a == NO_REG ? (uint32_t)i->imm : REG(u32, i->a)[lane];
	uint32_t threads = i->b == NO_REG ? 0 : REG(u32, i->b)[lane];
	if (id >= N_BARRIERS || threads % LANES || (i->b != NO_REG && !threads) || threads > MAX_WARPS * LANES)
		bad_barrier(w, i, lane, id, threads);
	struct barrier *b = &block->barriers[id];
	if (b->first_pc != NO_REG && b->expected_warps != threads / LANES)
		bad_barrier(w, i, lane, id, threads);
	w->core->counters.barriers++;
	b->expected_warps = threads / LANES;
	if (b->first_pc == NO_REG)
		b->first_pc = pc;
	if (i->sub) {
		uint32_t ones = PREDICATE(i->c) ^ (i->negated >> 3 & 1 ? FULL : 0);
		b->ones += (uint32_t)__builtin_popcount(ones & mask);
		b->lanes += (uint32_t)__builtin_popcount(mask);
	}
	b->arrived[w->number] |= mask;
	if (block->race && threads)
		race_arrive(w, id);
	if (wait) {
		b->waiting[w->number] |= mask;
		w->at_barrier |= mask;
		w->runnable &= ~mask;
		b->passed[w->number] &= ~mask;
		if (!threads && b->arrived[w->number] != w->alive)
			b->passed[w->number] |= lanes_past(w, b->arrived[w->number], pc);
	}
	count_warp(w, b);
	complete(block, id);
}

/* ---- the barrier of the cluster: arrive and wait are two instructions */

/* For racecheck the barrier is a flag between blocks: whoever arrives releases it, whoever goes on acquires it. */
static uint64_t
cluster_flag(const struct cluster *c)
{
	const struct block *b = c->blocks;
	return GRID_WINDOW + WINDOW_BYTES + 16 * (b->index[0] + b->grid[0] * (b->index[1] + (uint64_t)b->grid[1] * b->index[2]));
}

static void
cluster_goes_on(struct warp *w, uint32_t lanes)
{
	if (!w->block->race || !lanes)
		return;
	race_warp_sync(w, lanes);
	race_acquire(w, (uint32_t)__builtin_ctz(lanes), cluster_flag(w->block->cluster));
}

static void
cluster_complete(struct cluster *c)
{
	if (!c->lanes_arrived || c->lanes_arrived < c->lanes_alive)
		return;
	c->lanes_arrived = 0;
	for (uint32_t r = 0; r < c->n_blocks; r++)
		for (uint32_t n = 0; n < c->blocks[r].n_warps; n++) {
			struct warp *w = &c->blocks[r].warps[n];
			uint32_t waiting = w->cluster_waiting;
			w->cluster_passed = w->cluster_arrived & ~waiting;
			w->cluster_arrived = w->cluster_waiting = 0;
			EACH_IN(waiting, l)
				w->key[l]++;
			w->runnable |= waiting;
			cluster_goes_on(w, waiting);
			if (waiting)
				w->spins = c->blocks[r].idle = false;
		}
}

static _Noreturn void
bad_cluster_barrier(struct warp *w, const struct insn *i, uint32_t lanes, const char *what)
{
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_BARRIER_MISMATCH, .lane = (uint32_t)__builtin_ctz(lanes) };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

void
cluster_arrive(struct warp *w, const struct insn *i, uint32_t mask)
{
	if (mask & (w->cluster_arrived | w->cluster_passed))
		bad_cluster_barrier(w, i, mask & (w->cluster_arrived | w->cluster_passed),
			"The thread arrives at the barrier of the cluster twice, with no wait in between");
	w->core->counters.barriers++;
	w->cluster_arrived |= mask;
	if (w->block->race)
		race_release(w, cluster_flag(w->block->cluster), RACE_GRID, true);
	w->block->cluster->lanes_arrived += (uint32_t)__builtin_popcount(mask);
	cluster_complete(w->block->cluster);
}

uint32_t
cluster_wait(struct warp *w, const struct insn *i, uint32_t mask)
{
	uint32_t wait = mask & w->cluster_arrived, lost = mask & ~w->cluster_arrived & ~w->cluster_passed;
	if (lost)
		bad_cluster_barrier(w, i, lost, "The thread waits at the barrier of the cluster without having arrived");
	cluster_goes_on(w, mask & w->cluster_passed);
	w->cluster_passed &= ~mask;
	w->cluster_waiting |= wait;
	w->runnable &= ~wait;
	return mask & ~wait;
}

/* Threads that have ended are not waited for. */
static void
cluster_leave(struct warp *w, uint32_t mask)
{
	struct cluster *c = w->block->cluster;
	c->lanes_alive -= (uint32_t)__builtin_popcount(mask);
	c->lanes_arrived -= (uint32_t)__builtin_popcount(mask & w->cluster_arrived);
	w->cluster_arrived &= ~mask;
	w->cluster_passed &= ~mask;
	cluster_complete(c);
}

void
exit_lanes(struct warp *w, uint32_t mask)
{
	struct block *block = w->block;
	w->alive &= ~mask;
	w->runnable &= ~mask;
	w->deferred &= ~mask;
	if (!w->alive)
		block->warps_alive--;
	cluster_leave(w, mask);
	for (uint32_t id = 0; id < N_BARRIERS; id++) {
		struct barrier *b = &block->barriers[id];
		if (b->first_pc == NO_REG)
			continue;
		if (b->waiting[w->number] && (b->passed[w->number] & mask))
			report_passed(w, b, b->passed[w->number] & mask);
		count_warp(w, b);
		complete(block, id);
	}
}
