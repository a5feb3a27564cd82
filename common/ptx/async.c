/* In: copies as they are started, and waits. Out: the copies, each as late as the program permits: cp.async
 * when a wait covers its group, all that signals an mbarrier when a thread looks at that barrier and its phase
 * has not ended. So a program that does not wait reads what stood there before, as it may on a GPU, and a
 * checked run calls the bytes uninitialised until the copy is done. */
#include <string.h>

#include "base/die.h"
#include "ptx/async.h"

enum { MAX_COPIES = 4096, MAX_TRANSFERS = 65536 };	/* that wait; the hardware may do any of them at any time */

void
mark_shared(struct warp *w, const char *to, uint32_t bytes, bool written)
{
	const struct cluster *c = w->block->cluster;
	for (uint32_t k = 0; w->core->checked && k < c->n_blocks; k++) {
		struct block *b = &c->blocks[k];
		if (to >= b->shared && to < b->shared + b->shared_bytes)
			memset(b->shared_initialised + (to - b->shared), written, bytes);
	}
}

/* ---- cp.async */

struct copies *
warp_copies(struct warp *w)
{
	if (!w->copies)
		w->copies = xcalloc(1, sizeof *w->copies);
	return w->copies;
}

static void
finish_copy(struct warp *w, struct copy *c, uint32_t lanes)
{
	EACH_IN(lanes, l) {
		char data[16] = { 0 };
		memcpy(data, c->from[l], c->read[l]);
		note_store(w->core, c->to[l], c->bytes);
		memcpy(c->to[l], data, c->bytes);
		if (w->block->shared_initialised)
			mark_shared(w, c->to[l], c->bytes, true);
	}
	c->lanes &= ~lanes;
}

static void
drop_finished(struct copies *copies)
{
	while (copies->head < copies->count && !copies->list[copies->head].lanes)
		copies->head++;
	if (copies->head < copies->count)
		return;
	copies->before += copies->count;
	copies->head = copies->count = 0;
}

struct copy *
copies_add(struct warp *w)
{
	struct copies *copies = warp_copies(w);
	if (copies->count == MAX_COPIES) {
		for (uint32_t k = copies->head; k < copies->count; k++)
			finish_copy(w, &copies->list[k], copies->list[k].lanes);
		drop_finished(copies);
	}
	if (copies->count == copies->capacity) {
		copies->capacity = copies->capacity ? copies->capacity * 2 : 16;
		copies->list = xrealloc(copies->list, copies->capacity * sizeof *copies->list);
	}
	return &copies->list[copies->count++];
}

void
copies_wait(struct warp *w, uint32_t lanes, uint32_t keep)
{
	struct copies *copies = warp_copies(w);
	for (uint32_t k = copies->head; k < copies->count; k++) {
		struct copy *c = &copies->list[k];
		uint32_t done = 0;
		for (int l = 0; l < LANES; l++)
			done |= (uint32_t)((uint64_t)c->group[l] + keep < copies->committed[l]) << l;
		finish_copy(w, c, c->lanes & lanes & done);
	}
	drop_finished(copies);
}

/* The first `count` copies that the warp ever started. */
static void
copies_finish(struct warp *w, uint32_t lanes, uint64_t count)
{
	struct copies *copies = warp_copies(w);
	for (uint32_t k = copies->head; k < copies->count && copies->before + k < count; k++)
		finish_copy(w, &copies->list[k], copies->list[k].lanes & lanes);
	drop_finished(copies);
}

/* ---- mbarrier */

bool
mbarrier_change(u64 *barrier, int32_t expected, int32_t pending, int32_t bytes)
{
	int64_t e = (int64_t)mbarrier_expected(*barrier) + expected, p = (int64_t)mbarrier_pending(*barrier) + pending;
	int64_t b = (int64_t)mbarrier_bytes(*barrier) + bytes;
	uint32_t phase = mbarrier_phase(*barrier);
	if (e < 0 || e > MBARRIER_MAX_COUNT || p < 0 || p > MBARRIER_MAX_COUNT || b < -MBARRIER_MAX_COUNT
		|| b > MBARRIER_MAX_COUNT)
		return false;
	if (!p && !b) {
		p = e;
		phase ^= 1;
	}
	*barrier = mbarrier_make((uint32_t)e, (uint32_t)p, (int32_t)b, phase);
	return true;
}

/* ---- transfers */

void
transfer_add(struct warp *w, const struct transfer *transfer)
{
	struct transfers *all = &w->core->transfers;
	if (all->count == MAX_TRANSFERS) {
		struct finding_place place = { .check = PTX_MEMCHECK, .kind = PTX_BAD_CALL };
		report(w, w->core->code, &place, "More than %d asynchronous copies wait", MAX_TRANSFERS);
		longjmp(w->core->stop, PTX_FAULT);
	}
	if (all->count == all->capacity) {
		all->capacity = all->capacity ? all->capacity * 2 : 16;
		all->list = xrealloc(all->list, all->capacity * sizeof *all->list);
	}
	all->list[all->count++] = *transfer;
}

static void
reduce(const struct transfer *t, const char *from)
{
	uint32_t size = type_bytes((enum type)t->type);
	for (uint32_t at = 0; at < t->bytes; at += size)
		reduce_element((enum operation)t->operation, (enum type)t->type, t->to + at, from + at);
}

static void
run_transfer(struct transfer *t)
{
	const char *from = t->from ? t->from : t->data ? t->data : t->value;
	if (t->barrier)
		note_store(t->warp->core, (char *)t->barrier, sizeof *t->barrier);
	if (t->kind == TRANSFER_ARRIVE) {
		copies_finish(t->warp, t->lanes, t->copies);
		mbarrier_change(t->barrier, 0, -__builtin_popcount(t->lanes), 0);
		return;
	}
	note_store(t->warp->core, t->to, t->bytes);
	if (t->kind == TRANSFER_MOVE)
		memmove(t->to, from, t->bytes);
	else
		reduce(t, from);
	mark_shared(t->warp, t->to, t->bytes, true);
	if (t->barrier)
		mbarrier_change(t->barrier, 0, 0, -(int32_t)t->bytes);
}

static void
remove_transfer(struct transfers *all, uint32_t at)
{
	free(all->list[at].data);
	memmove(&all->list[at], &all->list[at + 1], (--all->count - at) * sizeof *all->list);
}

void
transfers_for(struct machine_core *core, u64 *barrier)
{
	struct transfers *all = &core->transfers;
	uint32_t phase = mbarrier_phase(*barrier);
	for (uint32_t k = 0; k < all->count && mbarrier_phase(*barrier) == phase;) {
		if (all->list[k].barrier != barrier) {
			k++;
			continue;
		}
		run_transfer(&all->list[k]);
		remove_transfer(all, k);
	}
}

static void
read_ahead(struct transfer *t)
{
	if (!t->from)
		return;
	t->data = xmalloc(t->bytes ? t->bytes : 1);
	memcpy(t->data, t->from, t->bytes);
	t->from = NULL;
}

void
transfers_wait(struct warp *w, uint32_t lanes, uint32_t keep, bool read_only)
{
	struct transfers *all = &w->core->transfers;
	const struct copies *copies = warp_copies(w);
	for (uint32_t k = 0; k < all->count;) {
		struct transfer *t = &all->list[k];
		bool mine = t->warp == w && !t->barrier && t->lanes & lanes;
		if (!mine || (uint64_t)t->group + keep >= copies->bulk_committed[__builtin_ctz(t->lanes)]) {
			k++;
		} else if (read_only) {
			read_ahead(t);
			k++;
		} else {
			run_transfer(t);
			remove_transfer(all, k);
		}
	}
}

/* ---- blocks. What is sent to a block that ended is lost; what it sends arrives. */

void
async_start(struct block *block)
{
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct copies *copies = block->warps[n].copies;
		if (!copies)
			continue;
		copies->head = copies->count = 0;
		copies->before = 0;
		memset(copies->committed, 0, sizeof copies->committed);
		memset(copies->bulk_committed, 0, sizeof copies->bulk_committed);
	}
}

void
async_end(struct machine_core *core, struct block *block)
{
	struct transfers *all = &core->transfers;
	for (uint32_t k = 0; k < all->count;) {
		struct transfer *t = &all->list[k];
		const char *at = (const char *)t->barrier;
		bool to_it = at >= block->shared && at < block->shared + block->shared_bytes;
		if (!to_it && t->warp->block != block) {
			k++;
			continue;
		}
		if (!to_it)
			run_transfer(t);
		remove_transfer(all, k);
	}
}

void
async_free(struct machine_core *core, struct block *block)
{
	for (uint32_t n = 0; n < block->n_warps; n++) {
		struct copies *copies = block->warps[n].copies;
		if (copies)
			free(copies->list);
		free(copies);
		block->warps[n].copies = NULL;
	}
	while (core->transfers.count)
		remove_transfer(&core->transfers, core->transfers.count - 1);
	free(core->transfers.list);
	core->transfers = (struct transfers){ 0 };
}
