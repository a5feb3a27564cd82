/* In: an address that a lane uses. Out: the host memory behind it, or a finding and the end of the launch.
 * Device addresses of buffers are host addresses; shared and local memory are reached through windows of
 * generic addresses. This is the slow, exact path: exec_memory.c comes here when its fast path has a doubt. */
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"
#include "ptx/provenance.h"
#include "ptx/race.h"

/* ---- buffers, sorted by address */

/* Index of the first buffer that ends beyond the address. */
static uint32_t
buffer_after(const struct machine_core *core, uint64_t address)
{
	uint32_t low = 0, high = core->n_buffers;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		const struct buffer *b = &core->buffers[middle];
		if (b->address + b->size <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct buffer *
buffer_find(struct machine_core *core, uint64_t address, uint64_t size)
{
	uint32_t k = buffer_after(core, address);
	struct buffer *b = k < core->n_buffers ? &core->buffers[k] : NULL;
	return b && address >= b->address && size <= b->size - (address - b->address) ? b : NULL;
}

/* ---- initialisation, a bit for each byte */

bool
initialised_all(const struct buffer *b, uint64_t address, uint64_t size)
{
	uint64_t at = address - b->address, end = at + size;
	if (!b->initialised)
		return true;
	for (; at < end && (at & 7); at++)
		if (!(b->initialised[at >> 3] >> (at & 7) & 1))
			return false;
	for (; end - at >= 8 && at < end; at += 8)
		if (b->initialised[at >> 3] != 0xff)
			return false;
	for (; at < end; at++)
		if (!(b->initialised[at >> 3] >> (at & 7) & 1))
			return false;
	return true;
}

void
initialised_set(struct buffer *b, uint64_t address, uint64_t size, bool value)
{
	uint64_t at = address - b->address, end = at + size;
	if (!b->initialised && value)
		return;
	if (!b->initialised) {
		b->initialised = xmalloc(b->size / 8 + 1);
		memset(b->initialised, 0xff, b->size / 8 + 1);
	}
	for (; at < end && ((at & 7) || end - at < 8); at++) {
		uint8_t bit = (uint8_t)(1 << (at & 7)), *byte = &b->initialised[at >> 3];
		*byte = (uint8_t)(value ? *byte | bit : *byte & ~bit);
	}
	if (at >= end)
		return;
	memset(b->initialised + (at >> 3), value ? 0xff : 0, (end - at) >> 3);
	at += (end - at) & ~7ull;
	if (at < end)
		initialised_set(b, b->address + at, end - at, value);
}

/* ---- one lane's access */

uint64_t
lane_address(const struct insn *i, const struct warp *w, uint32_t lane)
{
	if (i->a == NO_REG)
		return (uint64_t)i->imm;
	if (i->mode == 4)
		return (uint32_t)(((const u32 *)(w->frame + i->a))[lane] + (uint32_t)i->imm);
	return ((const u64 *)(w->frame + i->a))[lane] + (uint64_t)i->imm;
}

static _Noreturn void
stop(struct warp *w)
{
	longjmp(w->core->stop, PTX_FAULT);
}

static const char *
verb(int access)
{
	return access == ACCESS_READ ? "read" : access == ACCESS_WRITE ? "write" : "atomic access";
}

static _Noreturn void
misaligned(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	place->kind = PTX_MISALIGNED;
	report(w, i, place, "Misaligned %s of %u bytes in %s memory at address 0x%llx", verb(access), place->size,
		ptx_space_name(place->space), (unsigned long long)place->address);
	stop(w);
}

static _Noreturn void
global_fault(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct machine_core *core = w->core;
	uint32_t k = buffer_after(core, place->address);
	const struct buffer *b = k < core->n_buffers && core->buffers[k].address <= place->address ? &core->buffers[k] : NULL;
	bool near = false;
	for (uint32_t n = 0; n < core->n_buffers; n++) {
		uint64_t from = core->buffers[n].address, to = from + core->buffers[n].size, slack = 1 << 30;
		near |= place->address + slack >= from && place->address < to + slack;
	}
	if (b && b->freed) {
		place->kind = PTX_USE_AFTER_FREE;
		report(w, i, place, "Freed memory: %s of %u bytes", verb(access), place->size);
	} else if (near) {
		place->kind = PTX_OUT_OF_BOUNDS;
		report(w, i, place, "Out of bounds: %s of %u bytes in global memory", verb(access), place->size);
	} else {
		place->kind = PTX_NO_MEMORY;
		report(w, i, place, "No memory there: %s of %u bytes at address 0x%llx", verb(access), place->size,
			(unsigned long long)place->address);
	}
	stop(w);
}

static void
uninitialised(const struct insn *i, struct warp *w, struct finding_place *place)
{
	place->check = PTX_INITCHECK;
	place->kind = PTX_UNINITIALISED_READ;
	report(w, i, place, "Read of %u bytes of %s memory that nothing has written", place->size, ptx_space_name(place->space));
	place->check = PTX_MEMCHECK;
}

static char *
global_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct machine_core *core = w->core;
	if (core->workspace && place->address - GRID_WINDOW <= GRID_WORKSPACE_BYTES - place->size) {
		if (core->race)
			race_flag(i, w, place->lane, PTX_SPACE_GLOBAL, place->address, access);
		return core->workspace + (place->address - GRID_WINDOW);
	}
	struct buffer *b = buffer_find(core, place->address, place->size);
	if (!b || b->freed)
		global_fault(i, w, place, access);
	const struct buffer *object = provenance_buffer(core, provenance_source(core, i));
	if (object && object != b && i->space != PTX_SPACE_CONST) {
		place->kind = PTX_OUT_OF_BOUNDS;
		place->object = object;
		report(w, i, place, "Out of bounds: %s of %u bytes in %s, at an address made from another buffer's", verb(access),
			place->size, b->name);
		stop(w);
	}
	if (access != ACCESS_READ && !(b->access & PTX_WRITE)) {
		place->kind = PTX_READ_ONLY_WRITE;
		report(w, i, place, "Read-only memory: %s of %u bytes", verb(access), place->size);
		stop(w);
	}
	if (access != ACCESS_WRITE && !(b->access & PTX_READ))
		global_fault(i, w, place, access);
	if (core->checked) {
		if (access != ACCESS_WRITE && !initialised_all(b, place->address, place->size))
			uninitialised(i, w, place);
		if (access != ACCESS_READ)
			initialised_set(b, place->address, place->size, true);
	}
	if (race_watches(core, b))
		race_lane(i, w, b, place->lane, place->address, place->size, access);
	return (char *)(uintptr_t)place->address;
}

/* The block of the cluster whose shared memory an address means; place->address becomes the place in it. */
static struct block *
block_of_cluster(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct cluster *c = w->block->cluster;
	uint64_t rank = place->address / WINDOW_BYTES - 1;
	if (rank >= c->n_blocks) {
		place->kind = PTX_OUT_OF_BOUNDS;
		if (!c->is_explicit) {
			place->address = (uint64_t)(int64_t)(int32_t)place->address;
			report(w, i, place, "Out of bounds: %s of %u bytes at byte %lld of shared memory, of which the block has %u",
				verb(access), place->size, (long long)place->address, w->block->shared_bytes);
			stop(w);
		}
		report(w, i, place, "Out of bounds: %s of %u bytes in shared memory of block %llu of the cluster, which has %u blocks",
			verb(access), place->size, (unsigned long long)rank, c->n_blocks);
		stop(w);
	}
	place->address %= WINDOW_BYTES;
	if (!c->blocks[rank].warps_alive) {
		place->kind = PTX_USE_AFTER_FREE;
		report(w, i, place, "Freed memory: %s of %u bytes in shared memory of block %llu of the cluster, which has ended",
			verb(access), place->size, (unsigned long long)rank);
		stop(w);
	}
	return &c->blocks[rank];
}

/* Not looked at by initcheck and racecheck: it is the libraries' own. What they order by it counts. */
static char *
reserved_pointer(const struct insn *i, struct warp *w, struct block *block, const struct finding_place *place, int access)
{
	bool strong = access == ACCESS_ATOMIC || i->flag >= ORDER_RELAXED;
	if (w->core->race && strong && block == w->block)
		race_flag(i, w, place->lane, PTX_SPACE_SHARED, place->address, access);
	return block->reserved + (place->address - RESERVED_SHARED);
}

static char *
shared_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct block *block = w->block;
	if (place->address >= WINDOW_BYTES)
		block = block_of_cluster(i, w, place, access);
	uint64_t at = place->address;
	if (block->reserved && at - RESERVED_SHARED <= RESERVED_SHARED_BYTES - place->size)
		return reserved_pointer(i, w, block, place, access);
	if (at > block->shared_bytes || place->size > block->shared_bytes - at) {
		place->kind = PTX_OUT_OF_BOUNDS;
		report(w, i, place, "Out of bounds: %s of %u bytes at byte %lld of shared memory, of which the block has %u",
			verb(access), place->size, (long long)at, block->shared_bytes);
		stop(w);
	}
	const struct source *s = provenance_source(w->core, i);
	if (block == w->block && (at < s->low || at + place->size > s->high)) {
		place->kind = PTX_OUT_OF_BOUNDS;
		report(w, i, place, "Out of bounds: %s of %u bytes beyond the shared variable that the address was made from",
			verb(access), place->size);
		stop(w);
	}
	if (block->shared_initialised) {
		uint8_t *mark = block->shared_initialised + at;
		if (access != ACCESS_WRITE && memchr(mark, 0, place->size))
			uninitialised(i, w, place);
		if (access != ACCESS_READ)
			memset(mark, 1, place->size);
	}
	if (block == w->block && race_watches(w->core, NULL))
		race_lane(i, w, NULL, place->lane, at, place->size, access);
	return block->shared + at;
}

static char *
local_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct block *block = w->block;
	if (place->address > block->local_bytes || place->size > block->local_bytes - place->address) {
		place->kind = PTX_OUT_OF_BOUNDS;
		report(w, i, place, "Out of bounds: %s of %u bytes at byte %lld of local memory, of which the thread has %u",
			verb(access), place->size, (long long)place->address, block->local_bytes);
		stop(w);
	}
	size_t at = (size_t)(w->number * LANES + place->lane) * block->local_bytes + place->address;
	if (block->local_initialised) {
		/* padding is copied along with a struct: only what holds nothing at all is worth a word */
		uint8_t *mark = block->local_initialised + at;
		if (access != ACCESS_WRITE && !memchr(mark, 1, place->size))
			uninitialised(i, w, place);
		if (access != ACCESS_READ)
			memset(mark, 1, place->size);
	}
	return block->local + at;
}

static char *
param_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	struct block *block = w->block;
	if (access != ACCESS_READ || place->address > block->params_bytes
		|| place->size > block->params_bytes - place->address) {
		place->kind = access == ACCESS_READ ? PTX_OUT_OF_BOUNDS : PTX_READ_ONLY_WRITE;
		report(w, i, place, "Kernel parameters: %s of %u bytes at byte %lld, of which there are %u", verb(access),
			place->size, (long long)place->address, block->params_bytes);
		stop(w);
	}
	return (char *)(uintptr_t)(block->params + place->address);
}

void
note_store(struct machine_core *core, char *at, uint32_t size)
{
	struct stored_bytes before = { at, size };
	if (!core->probing) {
		core->stores++;
		return;
	}
	buf_add(&core->before, (const char *)&before, sizeof before);
	buf_add(&core->before, at, size);
}

static char *checked_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access);

char *
lane_pointer(const struct insn *i, struct warp *w, uint32_t lane, uint64_t address, uint32_t size, int access,
	enum ptx_space space)
{
	static const struct {
		uint64_t base, bytes;
		enum ptx_space space;
	} windows[] = { { SHARED_WINDOW, SHARED_WINDOW_BYTES, PTX_SPACE_SHARED }, { LOCAL_WINDOW, WINDOW_BYTES, PTX_SPACE_LOCAL },
		{ PARAM_WINDOW, WINDOW_BYTES, PTX_SPACE_PARAM } };
	struct finding_place place = { .check = PTX_MEMCHECK, .lane = lane, .space = space, .address = address, .size = size,
		.write = access != ACCESS_READ };
	for (int k = 0; space == PTX_SPACE_GENERIC && k < 3; k++)
		if (address - windows[k].base < windows[k].bytes) {
			place.space = windows[k].space;
			place.address = address - windows[k].base;
		}
	if (place.space == PTX_SPACE_GENERIC)
		place.space = PTX_SPACE_GLOBAL;
	char *at = checked_pointer(i, w, &place, access);
	if (access != ACCESS_READ)
		note_store(w->core, at, size);
	return at;
}

static char *
checked_pointer(const struct insn *i, struct warp *w, struct finding_place *place, int access)
{
	if (place->size > 1 && (place->address & (place->size - 1)))
		misaligned(i, w, place, access);
	switch (place->space) {
	case PTX_SPACE_SHARED:
		return shared_pointer(i, w, place, access);
	case PTX_SPACE_LOCAL:
		return local_pointer(i, w, place, access);
	case PTX_SPACE_PARAM:
		return param_pointer(i, w, place, access);
	default:
		return global_pointer(i, w, place, access);
	}
}
