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
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"
#include "ptx/profile.h"
#include "ptx/race.h"

enum {
	FAIR_INSTRUCTIONS = 16384,	/* a group's turn while other groups of its warp could run */
	LEAST_LANES = 16,		/* that an instruction counts against the budget */
	FAIR_SPINNING = 256,		/* the same for a group that used atomics: it may be waiting for the others */
	PROBE_POLLS = 16,		/* stretches of code with atomics or volatile loads that make a turn look like waiting */
	PROBE_STEPS = 512,		/* instructions of a probe, at least */
	SUSPECT_SLICE = 16384,		/* instructions of a block that seems to wait, before others get their turn */
	PROBE_GAP_MAX = 65536		/* instructions of a warp between probes, at most */
};

#define KEY(depth, pc) ((uint32_t)(255 - (depth)) << 24 | (pc))
#define KEY_PC(key) ((key) & 0xffffff)

struct saved_frame {
	struct saved_frame *before[LANES];
	uint32_t callee, references;
	char bytes[];
};

/* The lanes being executed. */
struct group {
	uint32_t pc, mask, wide, depth;
	uint32_t next;			/* least key of the groups that could run instead; NO_REG: none */
};

static void
set_keys(struct warp *w, uint32_t mask, uint32_t key)
{
	EACH_LANE(l)
		w->key[l] = mask >> l & 1 ? key : w->key[l];
}

/* Do all lanes of mask stand at the place of its first? */
static bool
at_one_place(const struct warp *w, uint32_t mask)
{
	uint32_t key = w->key[__builtin_ctz(mask)], differ = 0;
	for (int l = 0; l < LANES; l++)
		differ |= mask >> l & 1 ? w->key[l] ^ key : 0;
	return !differ;
}

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

/* Chooses the lanes to run. False when none can. */
static bool
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

/* Lanes of mask go to one place, those of rest to another; then the choice is made anew. */
static bool
split(struct warp *w, struct group *g, uint32_t mask, uint32_t key, uint32_t rest)
{
	set_keys(w, mask, key);
	set_keys(w, rest, KEY(g->depth, g->pc + 1));
	return pick(w, g);
}

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

/* Lanes arrive; with `wait` they stay until the barrier completes. */
static void
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

static void
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

/* Lanes that have to wait stay at the instruction. Returns those that go on. */
static uint32_t
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

static void
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

/* ---- calls */

static void
copy_parameters(struct warp *w, uint32_t mask, const struct call_argument *list, uint32_t count,
	const struct image_function *from, const struct image_function *to)
{
	for (uint32_t k = 0; k < count; k++)
		EACH_IN(mask, l)
			memcpy(w->frame + to->area + (size_t)l * to->area_bytes + list[k].to,
				w->frame + from->area + (size_t)l * from->area_bytes + list[k].from, list[k].bytes);
}

static _Noreturn void
bad_call(struct warp *w, const struct insn *i, uint32_t mask, enum ptx_kind kind, const char *what)
{
	struct finding_place place = { .check = PTX_MEMCHECK, .kind = kind, .lane = (uint32_t)__builtin_ctz(mask),
		.space = PTX_SPACE_LOCAL };
	report(w, i, &place, "%s", what);
	longjmp(w->core->stop, PTX_FAULT);
}

/* A recursive function has one frame as all others; what it held for these lanes is kept aside. */
static void
save_frame(struct warp *w, const struct insn *i, uint32_t mask, uint32_t callee)
{
	const struct image_function *f = &w->core->image->functions[callee];
	size_t bytes = sizeof(struct saved_frame) + f->frame_bytes;
	if (w->core->memory_used + bytes > w->core->options.max_memory)
		bad_call(w, i, mask, PTX_STACK_OVERFLOW, "Recursion used up the memory that a launch may have");
	struct saved_frame *s = xmalloc(bytes);
	w->core->memory_used += bytes;
	s->callee = callee;
	s->references = (uint32_t)__builtin_popcount(mask);
	memcpy(s->bytes, w->frame + f->frame, f->frame_bytes);
	EACH_IN(mask, l) {
		s->before[l] = w->saved[l];
		w->saved[l] = s;
	}
}

static void
drop_saved(struct warp *w, uint32_t lane)
{
	struct saved_frame *s = w->saved[lane];
	w->saved[lane] = s->before[lane];
	if (--s->references)
		return;
	w->core->memory_used -= sizeof *s + w->core->image->functions[s->callee].frame_bytes;
	free(s);
}

static void
restore_frame(struct warp *w, uint32_t lane, const struct image_function *f)
{
	static const uint32_t bytes[] = { 4, 2, 4, 8, 16 };
	const char *saved = w->saved[lane]->bytes - f->frame;
	for (uint32_t k = 0; k < f->class_slots[0]; k++) {
		uint32_t at = f->class_offset[0] + k * 4, old;
		memcpy(&old, saved + at, 4);
		set_predicate(w, at, old, 1u << lane);
	}
	for (int c = 1; c < 5; c++)
		for (uint32_t k = 0; k < f->class_slots[c]; k++) {
			uint32_t at = f->class_offset[c] + (k * LANES + lane) * bytes[c];
			memcpy(w->frame + at, saved + at, bytes[c]);
		}
	memcpy(w->frame + f->local_pointer + lane * 8, saved + f->local_pointer + lane * 8, 8);
	memcpy(w->frame + f->area + (size_t)lane * f->area_bytes, saved + f->area + (size_t)lane * f->area_bytes, f->area_bytes);
	drop_saved(w, lane);
}

static void
enter(struct warp *w, struct group *g, const struct insn *i, uint32_t mask, uint32_t callee)
{
	const struct image *im = w->core->image;
	const struct image_function *from = &im->functions[i->call->caller], *to = &im->functions[callee];
	if (g->depth + 1 >= MAX_CALL_DEPTH)
		bad_call(w, i, mask, PTX_STACK_OVERFLOW, "Calls nested more than 200 deep");
	uint64_t locals[LANES];
	memcpy(locals, w->frame + from->local_pointer, sizeof locals);
	EACH_IN(mask, l) {
		locals[l] += from->local_bytes;
		if (locals[l] + to->local_bytes > w->block->local_bytes && to->local_bytes)
			bad_call(w, i, 1u << l, PTX_STACK_OVERFLOW, "Calls used up the local memory of the thread");
	}
	/* the arguments of a call to oneself stand in the frame that is kept aside, and stay readable there */
	if (to->recursive)
		save_frame(w, i, mask, callee);
	copy_parameters(w, mask, i->call->arguments, i->call->n_arguments, from, to);
	if (!w->returns[g->depth])
		w->returns[g->depth] = xcalloc(LANES, sizeof **w->returns);
	EACH_IN(mask, l) {
		((u64 *)(w->frame + to->local_pointer))[l] = locals[l];
		if (w->block->local_initialised)
			memset(w->block->local_initialised + (size_t)(w->number * LANES + l) * w->block->local_bytes
				+ locals[l], 0, to->local_bytes);
		w->returns[g->depth][l] = g->pc;
		w->depth[l]++;
	}
}

static bool
same_sizes(const struct variable *formal, uint32_t n_formal, const struct call_argument *list, uint32_t n)
{
	bool same = n == n_formal;
	for (uint32_t k = 0; same && k < n; k++, formal = formal->next)
		same = formal->bytes == list[k].bytes;
	return same;
}

/* The function of the image whose address this is. */
static bool
function_at(const struct image *im, uint64_t pointer, uint32_t *index)
{
	uint32_t low = 0, high = im->n_functions;
	uint64_t number = (pointer - CODE_WINDOW) / 16 - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (im->functions[im->by_number[middle]].function->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == im->n_functions)
		return false;
	*index = im->by_number[low];
	return function_address(im->functions[*index].function) == pointer && pointer;
}

static bool
call(struct warp *w, struct group *g, const struct insn *i, uint32_t mask)
{
	const struct image *im = w->core->image;
	uint32_t rest = g->mask & ~mask, todo = mask;
	while (todo) {
		uint32_t callee = i->call->callee, lanes = todo;
		if (i->kind == K_CALL_POINTER) {
			uint64_t pointer = REG(u64, i->a)[__builtin_ctz(todo)];
			lanes = 0;
			EACH_IN(todo, l)
				lanes |= (uint32_t)(REG(u64, i->a)[l] == pointer) << l;
			if (!function_at(im, pointer, &callee))
				bad_call(w, i, lanes, PTX_BAD_CALL, "A call through a pointer that is no function");
			const struct function *f = im->functions[callee].function;
			if (!same_sizes(f->params, f->n_params, i->call->arguments, i->call->n_arguments)
				|| !same_sizes(f->returns, f->n_returns, i->call->returns, i->call->n_returns))
				bad_call(w, i, lanes, PTX_BAD_CALL, "A call through a pointer to a function with other parameters");
			const struct variable *v = f->params;
			for (uint32_t k = 0; k < f->n_params; k++, v = v->next)
				i->call->arguments[k].to = v->offset;
		}
		enter(w, g, i, lanes, callee);
		set_keys(w, lanes, KEY(g->depth + 1, im->functions[callee].entry));
		todo &= ~lanes;
	}
	return split(w, g, 0, 0, rest);
}

/* The lane goes back behind its call, with the values that the function returns. */
static void
return_lane(struct warp *w, uint32_t lane, uint32_t depth, const struct image_function *from)
{
	const struct image *im = w->core->image;
	uint32_t pc = w->returns[depth - 1][lane];
	const struct insn *i = &w->core->code[pc];
	const struct image_function *to = &im->functions[i->call->caller];
	char values[256], *kept = NULL;
	uint32_t total = 0;
	for (uint32_t k = 0; k < i->call->n_returns; k++)
		total += i->call->returns[k].bytes;
	char *at = total <= sizeof values ? values : (kept = xmalloc(total));
	const struct variable *v = from->function->returns;
	for (uint32_t k = 0, n = 0; k < i->call->n_returns; n += i->call->returns[k++].bytes, v = v->next)
		memcpy(at + n, w->frame + from->area + (size_t)lane * from->area_bytes + v->offset, i->call->returns[k].bytes);
	if (from->recursive)
		restore_frame(w, lane, from);
	for (uint32_t k = 0, n = 0; k < i->call->n_returns; n += i->call->returns[k++].bytes)
		memcpy(w->frame + to->area + (size_t)lane * to->area_bytes + i->call->returns[k].to, at + n,
			i->call->returns[k].bytes);
	free(kept);
	w->depth[lane]--;
	w->key[lane] = KEY(depth - 1, pc + 1);
}

static bool
leave(struct warp *w, struct group *g, uint32_t mask)
{
	const struct image *im = w->core->image;
	uint32_t f = 0;
	while (g->pc < im->functions[f].entry || g->pc >= im->functions[f].end)
		f++;
	EACH_IN(mask, l)
		return_lane(w, l, g->depth, &im->functions[f]);
	return split(w, g, 0, 0, g->mask & ~mask);
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

/* The instruction that ends a straight run, for the lanes in mask of the group. False: nothing left to run. */
static bool
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
static void
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
		} else if ((w->turn += executed) > (w->polling ? FAIR_SPINNING : FAIR_INSTRUCTIONS)) {
			more = defer(w, &g);
		} else if (key >= g.next && g.next != NO_REG) {
			set_keys(w, g.mask, key);
			more = pick(w, &g);
		}
		if (total > quantum) {
			if (more)
				set_keys(w, g.mask, KEY(g.depth, g.pc));
			break;
		}
	}
	return total;
}

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

/* After a turn that looks like waiting, and once in a while: does the warp do anything else? */
static void
look_closer(struct warp *w, uint64_t *executed)
{
	bool polls = w->polls >= PROBE_POLLS;
	if (w->since_probe < (polls ? w->probe_gap : PROBE_GAP_MAX))
		return;
	enum probe result = probe_warp(w, PROBE_STEPS + w->probe_gap / 8, executed);
	w->probe_gap = w->probe_gap * 2 + PROBE_STEPS < PROBE_GAP_MAX ? w->probe_gap * 2 + PROBE_STEPS : PROBE_GAP_MAX;
	w->block->suspect = result == PROBE_UNKNOWN && polls;
}

/* ---- the block */

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

/* A warp's turn. False when the warp can but wait; *executed counts instructions. */
static bool
warp_turn(struct machine_core *core, struct warp *w, uint64_t *executed)
{
	if (w->spins) {
		if (w->idle_at != core->stores)
			probe_warp(w, PROBE_STEPS, executed);
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

void
block_release(struct block *block)
{
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct warp *w = &block->warps[n];
		for (uint32_t l = 0; l < LANES; l++)
			while (w->saved[l])
				drop_saved(w, l);
		for (int d = 0; d < MAX_CALL_DEPTH; d++)
			free(w->returns[d]);
		memset(w->returns, 0, sizeof w->returns);
	}
}
