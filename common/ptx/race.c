/* In: barriers, fences, atomics and collectives as warps pass them. Out: an answer to "was that access over before
 * this one?", from vector clocks of warps.
 *
 * Barriers of a whole block are by far the most frequent, and cost nothing but one stamp: everything older is known.
 * All else is kept for each pair of warps of a block. Knowledge of other blocks is a vector over all warps of the
 * grid, shared while it is the same and there only once a fence was followed by an atomic or a volatile store. A
 * release needs its fence; an acquire is believed without one, since hardware that this machine stands for keeps
 * loads behind a branch on an atomic's result, and the well-known patterns leave that fence out. */
#include "ptx/race.h"

#include <string.h>

#include "base/die.h"

enum { MAX_GRID_WARPS = 1 << 20, FIRST_SLOTS = 64 };
#define MAX_STAMP 0xf0000000u
#define MAX_MERGED ((uint64_t)8 << 30)

/* ---- knowledge */

static void
history_drop(struct history *h)
{
	if (h && !--h->references)
		free(h);
}

static struct history *
history_keep(struct history *h)
{
	if (h)
		h->references++;
	return h;
}

/* The history to write in: a copy of its own unless nobody else holds it. */
static struct history *
history_own(struct race *race, struct history *h)
{
	if (h && h->references == 1)
		return h;
	struct history *copy = xcalloc(1, sizeof *copy + race->n_warps * sizeof copy->stamp[0]);
	copy->references = 1;
	copy->count = race->n_warps;
	if (h)
		memcpy(copy->stamp, h->stamp, h->count * sizeof h->stamp[0]);
	race->merged_bytes += race->n_warps * sizeof h->stamp[0];
	history_drop(h);
	return copy;
}

static void
merge_own(uint32_t *to, const uint32_t *from)
{
	for (int k = 0; k < MAX_WARPS; k++)
		to[k] = from[k] > to[k] ? from[k] : to[k];
}

static void
merge_history(struct race *race, struct history **to, struct history *from)
{
	if (!from || *to == from)
		return;
	if (!*to) {
		*to = history_keep(from);
		return;
	}
	*to = history_own(race, *to);
	for (uint32_t k = 0; k < from->count; k++)
		(*to)->stamp[k] = from->stamp[k] > (*to)->stamp[k] ? from->stamp[k] : (*to)->stamp[k];
	race->merged_bytes += from->count * sizeof from->stamp[0];
	if (race->merged_bytes > MAX_MERGED)
		race->between_blocks = false;
}

static void
merge(struct race *race, struct clocks *to, const struct clocks *from)
{
	merge_own(to->own, from->own);
	merge_history(race, &to->others, from->others);
}

static void
forget(struct clocks *c)
{
	history_drop(c->others);
	memset(c, 0, sizeof *c);
}

/* What a warp knows by its own warp and by the last barrier, besides what it was told. */
static struct clocks
all_known(const struct race_block *b, const struct warp *w)
{
	struct clocks c = b->warp[w->number].known;
	for (uint32_t k = 0; k < b->n_warps; k++)
		c.own[k] = b->barrier > c.own[k] ? b->barrier : c.own[k];
	c.own[w->number] = b->warp[w->number].now;
	return c;
}

static uint32_t
next_time(struct race *race)
{
	if (race->time >= MAX_STAMP)
		race->off = true;
	else
		race->time++;
	return race->time;
}

/* ---- places that were released */

static uint32_t
hash_key(uint64_t key, uint32_t cap)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (cap - 1);
}

static struct sync_entry *
sync_find(const struct sync_table *t, uint64_t key)
{
	for (uint32_t at = t->cap ? hash_key(key, t->cap) : 0; t->cap && t->slot[at]; at = (at + 1) & (t->cap - 1))
		if (t->slot[at]->key == key)
			return t->slot[at];
	return NULL;
}

static void
sync_place(struct sync_table *t, struct sync_entry *entry)
{
	uint32_t at = hash_key(entry->key, t->cap);
	while (t->slot[at])
		at = (at + 1) & (t->cap - 1);
	t->slot[at] = entry;
}

static struct sync_entry *
sync_add(struct sync_table *t, uint64_t key)
{
	struct sync_entry *entry = sync_find(t, key);
	if (entry)
		return entry;
	if (t->count * 2 >= t->cap) {
		struct sync_table old = *t;
		t->cap = old.cap ? old.cap * 2 : FIRST_SLOTS;
		t->slot = xcalloc(t->cap, sizeof(struct sync_entry *));
		for (uint32_t k = 0; k < old.cap; k++)
			if (old.slot[k])
				sync_place(t, old.slot[k]);
		free(old.slot);
	}
	entry = xcalloc(1, sizeof *entry);
	entry->key = key;
	t->count++;
	sync_place(t, entry);
	return entry;
}

static void
sync_clear(struct sync_table *t)
{
	for (uint32_t k = 0; k < t->cap; k++)
		if (t->slot[k]) {
			history_drop(t->slot[k]->clocks.others);
			free(t->slot[k]);
		}
	free(t->slot);
	memset(t, 0, sizeof *t);
}

/* ---- life */

struct race *
race_new(struct machine_core *core)
{
	struct race *race = xcalloc(1, sizeof *race);
	race->core = core;
	return race;
}

void
race_free(struct race *race)
{
	if (!race)
		return;
	sync_clear(&race->flags);
	free(race->optimistic);
	free(race->read_before);
	free(race);
}

void
race_start_launch(struct race *race, uint64_t grid_blocks, uint32_t block_warps)
{
	sync_clear(&race->flags);
	race->launch = next_time(race);
	race->block_warps = block_warps;
	race->between_blocks = grid_blocks * block_warps <= MAX_GRID_WARPS;
	race->n_warps = race->between_blocks ? (uint32_t)grid_blocks * block_warps : 0;
	race->merged_bytes = 0;
	race->n_doubts = 0;
	free(race->optimistic);
	race->optimistic = xcalloc(race->core->image->n_code + 1, 1);
	free(race->read_before);
	race->read_before = xcalloc(race->core->image->n_code + 1, sizeof *race->read_before);
}

void
race_end_launch(struct race *race)
{
	for (uint32_t k = race->n_doubts; k-- > 0;)
		if (race->optimistic[race->doubt[k].read_place])
			findings_remove(race->core->findings, race->doubt[k].finding);
	race->n_doubts = 0;
	sync_clear(&race->flags);
}

struct race_block *
race_block_new(struct race *race, uint32_t shared_bytes)
{
	struct race_block *b = xcalloc(1, sizeof *b);
	b->shared = shadow_new(race, shared_bytes);
	return b;
}

static void
clear_block(struct race_block *b)
{
	for (uint32_t n = 0; n < MAX_WARPS; n++) {
		struct race_warp *r = &b->warp[n];
		forget(&r->known);
		for (int s = 0; s < RACE_SCOPES; s++)
			forget(&r->fenced[s]);
		free(r->lanes);
		memset(r, 0, sizeof *r);
	}
	for (int k = 0; k < N_BARRIERS; k++) {
		forget(&b->joining[k]);
		for (int s = 0; s < RACE_SCOPES; s++)
			forget(&b->joining_fenced[k][s]);
	}
	sync_clear(&b->flags);
}

void
race_block_free(struct race_block *b)
{
	if (!b)
		return;
	clear_block(b);
	shadow_free(b->shared);
	free(b);
}

void
race_start_block(struct race *race, struct race_block *b, uint64_t number, uint32_t n_warps)
{
	clear_block(b);
	b->first_warp = (uint32_t)(number * n_warps);
	b->n_warps = n_warps;
	b->started = b->barrier = race->time;
	uint32_t now = next_time(race);
	for (uint32_t n = 0; n < n_warps; n++) {
		b->warp[n].now = now;
		b->warp[n].converged = b->barrier;
	}
}

/* ---- barriers */

static void
share_fences(struct race *race, struct race_block *b)
{
	struct clocks all[RACE_SCOPES] = { 0 }, known = { 0 };
	bool fenced = false;
	for (uint32_t n = 0; n < b->n_warps; n++) {
		for (int s = 0; s < RACE_SCOPES; s++)
			merge(race, &all[s], &b->warp[n].fenced[s]);
		merge_history(race, &known.others, b->warp[n].known.others);
		fenced |= b->warp[n].has_fenced;
	}
	for (uint32_t n = 0; n < b->n_warps; n++) {
		for (int s = 0; s < RACE_SCOPES; s++)
			merge(race, &b->warp[n].fenced[s], &all[s]);
		merge_history(race, &b->warp[n].known.others, known.others);
		b->warp[n].has_fenced |= fenced;
	}
	forget(&all[RACE_BLOCK]);
	forget(&all[RACE_GRID]);
	forget(&known);
}

void
race_barrier(struct block *block)
{
	struct race_block *b = block->race;
	struct race *race = block->warps->core->race;
	bool more = false;
	b->barrier = race->time;
	uint32_t now = next_time(race);
	for (uint32_t n = 0; n < b->n_warps; n++) {
		struct race_warp *r = &b->warp[n];
		r->now = now;
		r->converged = b->barrier;
		more |= r->has_fenced || r->known.others;
	}
	if (more)
		share_fences(race, b);
}

void
race_arrive(struct warp *w, uint32_t id)
{
	struct race_block *b = w->block->race;
	struct race *race = w->core->race;
	struct race_warp *r = &b->warp[w->number];
	struct clocks mine = all_known(b, w);
	merge(race, &b->joining[id], &mine);
	for (int s = 0; s < RACE_SCOPES; s++)
		merge(race, &b->joining_fenced[id][s], &r->fenced[s]);
	r->now = next_time(race);
	r->converged = r->now - 1;
}

void
race_barrier_some(struct block *block, uint32_t id, const uint32_t *waiting)
{
	struct race_block *b = block->race;
	struct race *race = block->warps->core->race;
	for (uint32_t n = 0; n < b->n_warps; n++) {
		if (!waiting[n])
			continue;
		merge(race, &b->warp[n].known, &b->joining[id]);
		for (int s = 0; s < RACE_SCOPES; s++) {
			merge(race, &b->warp[n].fenced[s], &b->joining_fenced[id][s]);
			b->warp[n].has_fenced |= b->joining_fenced[id][s].own[0] != 0;
		}
	}
	forget(&b->joining[id]);
	for (int s = 0; s < RACE_SCOPES; s++)
		forget(&b->joining_fenced[id][s]);
}

/* ---- within a warp */

static void
meet_in_part(struct race_warp *r, uint32_t mask)
{
	uint32_t joined[LANES] = { 0 };
	if (!r->lanes)
		r->lanes = xcalloc(LANES, sizeof *r->lanes);
	EACH_IN(mask, l)
		merge_own(joined, r->lanes[l]);
	EACH_IN(mask, l)
		joined[l] = r->now;
	EACH_IN(mask, l)
		memcpy(r->lanes[l], joined, sizeof joined);
}

void
race_warp_sync(struct warp *w, uint32_t mask)
{
	struct race_warp *r = &w->block->race->warp[w->number];
	if ((mask & w->alive) == w->alive)
		r->converged = r->now;
	else
		meet_in_part(r, mask);
	r->now = next_time(w->core->race);
}

/* ---- fences and flags */

void
race_fence(struct warp *w, enum race_scope scope)
{
	struct race_block *b = w->block->race;
	struct race *race = w->core->race;
	struct race_warp *r = &b->warp[w->number];
	struct clocks mine = all_known(b, w);
	for (int s = 0; s <= (int)scope; s++)
		merge(race, &r->fenced[s], &mine);
	r->has_fenced = true;
	r->now = next_time(race);
}

static void
release_to_grid(struct race *race, const struct race_block *b, uint64_t key, const struct clocks *what)
{
	struct sync_entry *entry = sync_add(&race->flags, key);
	merge_history(race, &entry->clocks.others, what->others);
	struct history *h = entry->clocks.others = history_own(race, entry->clocks.others);
	uint32_t *own = h->stamp + b->first_warp;
	for (uint32_t k = 0; k < b->n_warps; k++)
		own[k] = what->own[k] > own[k] ? what->own[k] : own[k];
}

void
race_release(struct warp *w, uint64_t key, enum race_scope scope, bool all)
{
	struct race_block *b = w->block->race;
	struct race *race = w->core->race;
	struct race_warp *r = &b->warp[w->number];
	struct clocks mine;
	if (!all && !r->has_fenced)
		return;
	if (all)
		mine = all_known(b, w);
	struct sync_entry *entry = sync_add(&b->flags, key);
	merge(race, &entry->clocks, all ? &mine : &r->fenced[RACE_BLOCK]);
	if (scope == RACE_GRID && race->between_blocks)
		release_to_grid(race, b, key, all ? &mine : &r->fenced[RACE_GRID]);
	if (all)
		r->now = next_time(race);
}

/* A lane learns from another lane of its own warp. Which of them released is not kept: it counts for all. */
static void
learn_of_lanes(struct race_warp *r, uint32_t lane, uint32_t stamp)
{
	if (stamp <= r->converged)
		return;
	if (!r->lanes)
		r->lanes = xcalloc(LANES, sizeof *r->lanes);
	for (int l = 0; l < LANES; l++)
		r->lanes[lane][l] = stamp > r->lanes[lane][l] ? stamp : r->lanes[lane][l];
}

void
race_acquire(struct warp *w, uint32_t lane, uint64_t key)
{
	struct race_block *b = w->block->race;
	struct race *race = w->core->race;
	struct race_warp *r = &b->warp[w->number];
	const struct sync_entry *mine = sync_find(&b->flags, key), *grid = sync_find(&race->flags, key);
	if (mine) {
		merge(race, &r->known, &mine->clocks);
		learn_of_lanes(r, lane, mine->clocks.own[w->number]);
	}
	if (!grid)
		return;
	merge_history(race, &r->known.others, grid->clocks.others);
	const uint32_t *own = grid->clocks.others->stamp + b->first_warp;
	for (uint32_t k = 0; k < b->n_warps; k++)
		r->known.own[k] = own[k] > r->known.own[k] ? own[k] : r->known.own[k];
}

/* ---- read-modify-writes that are not atomic */

enum { MAX_WANTED = 16, LOOK_BACK = 256, NO_READ = 1 };

struct wanted {				/* registers that the value of a store was made of */
	uint32_t offset[MAX_WANTED], count;
};

static bool
take_wanted(struct wanted *w, uint32_t offset)
{
	for (uint32_t k = 0; k < w->count; k++)
		if (w->offset[k] == offset) {
			w->offset[k] = w->offset[--w->count];
			return true;
		}
	return false;
}

static void
add_wanted(struct wanted *w, uint32_t offset)
{
	if (offset != NO_REG && w->count < MAX_WANTED)
		w->offset[w->count++] = offset;
}

/* Against the order of the code; what branches do in between may be missed, and then nothing is said. */
static uint32_t
find_read(const struct race *race, const struct insn *store)
{
	const struct image *im = race->core->image;
	struct wanted wanted = { { 0 }, 0 };
	if (im->sources[store->place].opcode.length < 4 || memcmp(im->sources[store->place].opcode.at, "st.", 3))
		return NO_READ;
	add_wanted(&wanted, store->list[0]);
	for (uint32_t pc = store->place; wanted.count && pc > 0 && store->place - pc < LOOK_BACK;) {
		const struct insn *i = &im->code[--pc];
		const struct slice *opcode = &im->sources[pc].opcode;
		if (opcode->length > 3 && !memcmp(opcode->at, "ld.", 3)) {
			for (uint32_t k = 0; k < i->n; k++)
				if (take_wanted(&wanted, i->list[k]) && i->flag >= ORDER_RELAXED && i->a == store->a
					&& i->imm == store->imm && i->space == store->space)
					return pc + NO_READ + 1;
		} else if (i->kind == K_RUN && i->d != NO_REG && take_wanted(&wanted, i->d)) {
			add_wanted(&wanted, i->a);
			add_wanted(&wanted, i->b);
			add_wanted(&wanted, i->c);
		}
	}
	return NO_READ;
}

const struct insn *
race_read_before(struct race *race, const struct insn *store)
{
	uint32_t *known = &race->read_before[store->place];
	if (!*known)
		*known = store->n == 1 ? find_read(race, store) : NO_READ;
	return *known == NO_READ ? NULL : &race->core->image->code[*known - NO_READ - 1];
}

/* ---- the question */

bool
race_ordered(const struct warp *w, uint32_t lane, uint32_t who, uint32_t stamp)
{
	const struct race *race = w->core->race;
	const struct race_block *b = w->block->race;
	const struct race_warp *r = &b->warp[w->number];
	uint32_t other = who / LANES - b->first_warp;
	if (stamp <= race->launch)
		return true;
	if (other >= b->n_warps) {
		const struct history *h = r->known.others;
		return !race->between_blocks || (h && h->stamp[who / LANES] >= stamp);
	}
	if (other != w->number)
		return stamp <= b->barrier || stamp <= r->known.own[other];
	return who % LANES == lane || stamp <= r->converged || (r->lanes && r->lanes[lane][who % LANES] >= stamp);
}
