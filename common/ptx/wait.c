/* Who only waits. In: a warp whose turn looks like waiting; or the blocks of which none can go on. Out: whether all its
 * lanes come back to a state they were in before while nothing in memory changed; or the report of a deadlock. */
#include <string.h>

#include "ptx/warp.h"

enum {
	PROBE_POLLS = 16,		/* stretches of code with atomics or volatile loads that make a turn look like waiting */
	PROBE_STEPS = 512,		/* instructions of a probe, at least */
	PROBE_GAP_MAX = 65536		/* instructions of a warp between probes, at most */
};

/* ---- does a warp only wait for memory to change? */

struct snapshot {
	uint32_t pc, mask, alive, runnable, parked, at_barrier, carry;
	uint32_t key[LANES];
	uint8_t depth[LANES];
};

static void
take_snapshot(struct warp *w, const struct group *g, struct snapshot *s)
{
	struct buf *frame = &w->core->snapshot;
	*s = (struct snapshot){ g->pc, g->mask, w->alive, w->runnable, w->parked, w->at_barrier, w->carry, { 0 }, { 0 } };
	memcpy(s->key, w->key, sizeof s->key);
	memcpy(s->depth, w->depth, sizeof s->depth);
	buf_reset(frame);
	buf_add(frame, w->frame, w->core->image->frame_bytes);
	for (uint32_t d = 0; d < g->depth; d++)
		buf_add(frame, (const char *)w->returns[d], LANES * sizeof **w->returns);
}

static bool
same_as_snapshot(const struct warp *w, const struct group *g, const struct snapshot *s)
{
	const char *frame = w->core->snapshot.data;
	size_t bytes = w->core->image->frame_bytes, row = LANES * sizeof **w->returns;
	if (s->alive != w->alive || s->runnable != w->runnable || s->parked != w->parked || s->at_barrier != w->at_barrier
		|| s->carry != w->carry || memcmp(s->key, w->key, sizeof s->key) || memcmp(s->depth, w->depth, sizeof s->depth)
		|| memcmp(frame, w->frame, bytes))
		return false;
	for (uint32_t d = 0; d < g->depth; d++)
		if (memcmp(frame + bytes + d * row, w->returns[d], row))
			return false;
	return true;
}

/* Compares what stood in memory before the last stores with what stands there now. */
static bool
memory_changed(struct machine_core *core)
{
	struct stored_bytes s;
	bool changed = false;
	for (size_t at = 0; at < core->before.len && !changed; at += sizeof s + s.size) {
		memcpy(&s, core->before.data + at, sizeof s);
		changed = memcmp(s.at, core->before.data + at + sizeof s, s.size) != 0;
	}
	buf_reset(&core->before);
	core->stores += changed;
	return changed;
}

/* As straight_run, looking at memory after each instruction: what others could see in between counts. */
static const struct insn *
watched_run(struct warp *w, const struct group *g, const struct insn *i, bool *changed)
{
	for (; i->kind == K_RUN; i++) {
		uint32_t some = g->mask;
		if (i->guard != NO_REG)
			some &= PREDICATE(i->guard) ^ (i->guard_negated ? FULL : 0);
		if (some)
			i->run(i, w, some, some == w->alive ? FULL : some);
		*changed |= memory_changed(w->core);
	}
	return i;
}

enum probe { PROBE_IDLE, PROBE_GOES_ON, PROBE_UNKNOWN };

/* Runs one group of lanes until it comes to a state it was in before, with no store that changed memory and nothing
 * else done in between: then the lanes that ran, added to *idle, do the same for ever, as long as memory stays as it
 * is. Brent's way to find a cycle: compare with one state, and take a new one after 1, 2, 4... steps. */
static enum probe
probe_group(struct warp *w, uint32_t *idle, uint64_t limit, uint64_t *executed)
{
	struct machine_core *core = w->core;
	struct group g;
	struct snapshot s = { 0 };
	uint64_t barriers = core->counters.barriers, stores = core->stores, steps = 0, next = 0;
	size_t printed = core->output.len;
	uint32_t alive = w->alive, ran = 0;
	bool more = pick(w, &g), changed = false;	/* copies that were under way count in core->stores alone */
	while (more && !(g.mask & *idle)) {
		set_keys(w, g.mask, KEY(g.depth, g.pc));
		if (steps && g.pc == s.pc && g.mask == s.mask && same_as_snapshot(w, &g, &s)) {
			*idle |= ran;
			return PROBE_IDLE;
		}
		if (steps >= next) {
			take_snapshot(w, &g, &s);
			ran = 0;
			next = steps * 2 + 1;
		}
		const struct insn *start = core->code + g.pc, *i = watched_run(w, &g, start, &changed);
		charge(core, (uint64_t)(i - start) + !i->flag, (uint64_t)__builtin_popcount(g.mask));
		*executed += (uint64_t)(i - start) + 1;
		steps++;
		ran |= g.mask;
		g.pc = (uint32_t)(i - core->code);
		uint32_t mask = g.mask;
		if (i->guard != NO_REG)
			mask &= PREDICATE(i->guard) ^ (i->guard_negated ? FULL : 0);
		more = control(w, &g, i, mask);
		if (more && KEY(g.depth, g.pc) >= g.next && g.next != NO_REG) {
			set_keys(w, g.mask, KEY(g.depth, g.pc));
			more = pick(w, &g);
		}
		changed |= memory_changed(core);
		if (changed || stores != core->stores || barriers != core->counters.barriers || alive != w->alive
			|| printed != core->output.len || *executed > limit) {
			if (more)
				set_keys(w, g.mask, KEY(g.depth, g.pc));
			return *executed > limit && !changed ? PROBE_UNKNOWN : PROBE_GOES_ON;
		}
	}
	/* the lanes went to wait for others of the warp */
	if (more)
		set_keys(w, g.mask, KEY(g.depth, g.pc));
	return PROBE_IDLE;
}

/* PROBE_IDLE: whatever order its lanes run in, the warp does nothing until memory changes. */
static enum probe
probe_warp(struct warp *w, uint64_t limit, uint64_t *executed)
{
	struct machine_core *core = w->core;
	enum probe result = PROBE_IDLE;
	uint32_t idle = 0;
	uint64_t here = 0;
	if (core->image->recursive)
		return PROBE_UNKNOWN;
	core->probing = true;
	buf_reset(&core->before);
	while (result == PROBE_IDLE && (w->runnable & ~w->parked & ~idle)) {
		w->deferred = idle;
		result = probe_group(w, &idle, limit, &here);
	}
	*executed += here;
	core->probing = false;
	w->deferred = 0;
	w->turn = w->since_probe = w->polls = 0;
	w->atomic_seen = w->polling = false;
	w->spins = result == PROBE_IDLE && idle;
	w->idle_at = core->stores;
	return result;
}

void
look_closer(struct warp *w, uint64_t *executed)
{
	bool polls = w->polls >= PROBE_POLLS;
	if (w->since_probe < (polls ? w->probe_gap : PROBE_GAP_MAX))
		return;
	enum probe result = probe_warp(w, PROBE_STEPS + w->probe_gap / 8, executed);
	w->probe_gap = w->probe_gap * 2 + PROBE_STEPS < PROBE_GAP_MAX ? w->probe_gap * 2 + PROBE_STEPS : PROBE_GAP_MAX;
	w->block->suspect = result == PROBE_UNKNOWN && polls;
}

void
look_again(struct warp *w, uint64_t *executed)
{
	probe_warp(w, PROBE_STEPS, executed);
}

/* ---- deadlocks */

/* The last tells most of why. */
static const char *const wait_reasons[] = { "waiting at a barrier", "waiting at the barrier of the cluster",
	"waiting in a warp collective", "spinning in a loop that only a store by another thread can end" };

static uint32_t
wait_reason(const struct warp *w, uint32_t lane)
{
	return w->at_barrier >> lane & 1 ? 0 : w->cluster_waiting >> lane & 1 ? 1 : w->parked >> lane & 1 ? 2 : 3;
}

/* Threads that wait at one instruction for one reason. */
struct waiting_place {
	const struct warp *warp;
	uint32_t reason, lane, pc;
	uint64_t threads;
};
enum { MAX_WAITING_PLACES = 4 };

static uint32_t
waiting_places(struct block *const *blocks, uint32_t n_blocks, struct waiting_place *places, uint64_t *more)
{
	uint32_t n_places = 0;
	for (uint32_t b = 0; b < n_blocks; b++)
		for (uint32_t n = 0; n < blocks[b]->n_warps; n++) {
			const struct warp *w = &blocks[b]->warps[n];
			EACH_IN(w->alive, l) {
				uint32_t k = 0, pc = KEY_PC(w->key[l]), reason = wait_reason(w, l);
				while (k < n_places && (places[k].pc != pc || places[k].reason != reason))
					k++;
				if (k == MAX_WAITING_PLACES) {
					++*more;
					continue;
				}
				if (k == n_places)
					places[n_places++] = (struct waiting_place){ w, reason, l, pc, 0 };
				places[k].threads++;
			}
		}
	return n_places;
}

_Noreturn void
deadlock(struct machine_core *core, struct block *const *blocks, uint32_t n_blocks, uint64_t pending)
{
	struct waiting_place places[MAX_WAITING_PLACES];
	uint64_t more = 0;
	struct buf said = BUF_INIT;
	uint32_t n = waiting_places(blocks, n_blocks, places, &more), first = 0;
	for (uint32_t k = 0; k < n; k++) {
		const struct source *s = &core->image->sources[places[k].pc];
		if (places[k].reason > places[first].reason)
			first = k;
		buf_addf(&said, "%s%llu thread%s %s (source line %u, line %u of the PTX)", k ? "; " : "",
			(unsigned long long)places[k].threads, places[k].threads == 1 ? "" : "s", wait_reasons[places[k].reason],
			s->location.line, s->line);
	}
	if (more)
		buf_addf(&said, "; %llu wait elsewhere", (unsigned long long)more);
	if (pending)
		buf_addf(&said, "; %llu blocks wait for a place, of which the device has no more", (unsigned long long)pending);
	struct finding_place place = { .check = PTX_SYNCCHECK, .kind = PTX_STUCK, .lane = places[first].lane };
	report((struct warp *)places[first].warp, &core->code[places[first].pc], &place, "Deadlock, no thread can ever go on: %s",
		buf_str(&said));
	buf_release(&said);
	longjmp(core->stop, PTX_DEADLOCK);
}
