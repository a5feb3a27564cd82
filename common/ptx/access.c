/* In: one memory instruction and its lanes. Out: host memory for all of them, checked and counted.
 *
 * Most instructions use the same relative addresses again and again, so each keeps the last ones with what was
 * derived from them: least, greatest, alignment, shape, sectors and bank conflicts. When the new addresses
 * compare equal, a check of the whole request is a few scalar operations. */
#include "ptx/access.h"
#include "ptx/provenance.h"
#include "ptx/profile.h"
#include "ptx/race.h"
#include "ptx/table.h"

#include <string.h>

/* ---- what a request costs */

/* Distinct values among keys, counted in a table of 64 (at most 32 x 4 keys are put in). */
struct distinct {
	uint64_t keys[256];
	uint64_t used[4];
	uint32_t count;
};

static bool
is_new(struct distinct *d, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 56);
	while (d->used[at >> 6] >> (at & 63) & 1) {
		if (d->keys[at] == key)
			return false;
		at = (at + 1) & 255;
	}
	d->used[at >> 6] |= 1ull << (at & 63);
	d->keys[at] = key;
	d->count++;
	return true;
}

static uint32_t
count_sectors(const uint64_t *addresses, uint32_t mask, uint32_t size)
{
	struct distinct d;
	uint64_t last = UINT64_MAX;
	memset(d.used, 0, sizeof d.used);
	d.count = 0;
	EACH_IN(mask, l)
		for (uint64_t s = addresses[l] >> 5; s <= (addresses[l] + size - 1) >> 5; s++) {
			if (s != last)
				is_new(&d, s);
			last = s;
		}
	return d.count;
}

/* Passes over the 32 banks of 4 bytes: the most words that one bank has to give. Accesses of 8 bytes are served
 * by half warps, those of 16 bytes by quarters. each: lanes at one word do not share a pass, as in atomics. */
static uint32_t
count_passes(const uint64_t *addresses, uint32_t mask, uint32_t size, bool each)
{
	uint32_t words = size <= 4 ? 1 : size / 4, group = words > 4 ? 8 : LANES / words, passes = 0;
	for (uint32_t from = 0; from < LANES; from += group) {
		uint32_t lanes = group == LANES ? mask : mask >> from << from & ((2u << (from + group - 1)) - 1);
		uint8_t bank[32] = { 0 }, most = 0;
		struct distinct d;
		memset(d.used, 0, sizeof d.used);
		d.count = 0;
		EACH_IN(lanes, l)
			for (uint32_t k = 0; k < words; k++) {
				uint64_t word = (addresses[l] >> 2) + k;
				if ((is_new(&d, word) || each) && ++bank[word & 31] > most)
					most = bank[word & 31];
			}
		passes += lanes ? most : 0;
	}
	return passes;
}

/* An H200 serves the lanes of an atomic operation on one word one after another (4 counters in shared memory: 1,309,888
 * conflicts by Nsight Compute, 1,309,137 by this rule), but adds ones to a word all at once (256 counters: 1,178,491 and,
 * without it, 1,128,234). */
static bool
lanes_queue(const struct insn *i, struct warp *w, int access, uint32_t mask, uint32_t size)
{
	if (access != ACCESS_ATOMIC)
		return false;
	if (i->sub != OP_ADD || size != 4 || i->b == NO_REG)
		return true;
	EACH_IN(mask, l)
		if (REG(u32, i->b)[l] != 1)
			return true;
	return false;
}

static uint32_t
least_passes(uint32_t mask, uint32_t size)
{
	uint32_t words = size <= 4 ? 1 : size / 4, group = words > 4 ? 8 : LANES / words, least = 0;
	for (uint32_t from = 0; from < LANES; from += group)
		least += (mask >> from & (group == LANES ? FULL : (1u << group) - 1)) != 0;
	return least;
}

static void
add_global(struct machine_core *core, uint32_t sectors, uint32_t mask, uint32_t size, int access)
{
	struct ptx_counters *c = &core->counters;
	uint64_t bytes = (uint64_t)size * (uint32_t)__builtin_popcount(mask);
	if (access & ACCESS_READ) {
		c->global_read_requests++;
		c->global_read_sectors += sectors;
		c->global_read_bytes += bytes;
	}
	if (access & ACCESS_WRITE) {
		c->global_write_requests++;
		c->global_write_sectors += sectors;
		c->global_write_bytes += bytes;
	}
}

static void
add_shared(struct machine_core *core, uint32_t passes, uint32_t least)
{
	core->counters.shared_requests++;
	core->counters.shared_bank_conflicts += passes - least;
}

/* ---- the slow path */

static void
profile_each(const struct insn *i, struct warp *w, const uint64_t *global, uint32_t in_global, const uint64_t *shared,
	uint32_t in_shared, uint32_t mask, uint32_t size, int access)
{
	uint64_t local[LANES];
	if (in_global)
		profile_global(i, w, 0, NULL, global, in_global, size, access);
	if (in_shared)
		profile_shared(i, w, count_passes(shared, in_shared, size, lanes_queue(i, w, access, in_shared, size)));
	if (in_global || in_shared || i->space == PTX_SPACE_CONST || i->space == PTX_SPACE_PARAM)
		return;
	EACH_IN(mask, l)
		local[l] = lane_address(i, w, l) % WINDOW_BYTES;
	profile_local(i, w, local, mask, size, access);
}

void
access_each(const struct insn *i, struct warp *w, uint32_t mask, uint32_t size, int access, char **pointers)
{
	uint64_t global[LANES], shared[LANES];
	uint32_t in_global = 0, in_shared = 0;
	EACH_IN(mask, l) {
		uint64_t a = lane_address(i, w, l);
		pointers[l] = lane_pointer(i, w, l, a, size, access, (enum ptx_space)i->space);
		if (i->space == PTX_SPACE_SHARED || (i->space == PTX_SPACE_GENERIC && a - SHARED_WINDOW < SHARED_WINDOW_BYTES)) {
			shared[l] = a;
			in_shared |= 1u << l;
		} else if (i->space == PTX_SPACE_GLOBAL || (i->space == PTX_SPACE_GENERIC && a >= PARAM_WINDOW + WINDOW_BYTES)) {
			global[l] = a;
			in_global |= 1u << l;
		}
	}
	if (in_global)
		add_global(w->core, count_sectors(global, in_global, size), in_global, size, access);
	if (in_shared)
		add_shared(w->core, count_passes(shared, in_shared, size, lanes_queue(i, w, access, in_shared, size)),
			least_passes(in_shared, size));
	if (!in_global && !in_shared)
		w->core->counters.local_requests++;
	if (w->core->profile)
		profile_each(i, w, global, in_global, shared, in_shared, mask, size, access);
}

/* ---- patterns */

static void
find_shape(struct pattern *p, uint32_t mask, uint32_t size)
{
	const int32_t *r = p->relative;
	int32_t step = (int32_t)size, straight = 0, same = 0;
	p->shape = SHAPE_GENERAL;
	if (mask != FULL)
		return;
	for (int l = 0; l < LANES; l++) {
		straight |= r[l] ^ l * step;
		same |= r[l];
	}
	if (!straight || !same) {
		p->shape = same ? SHAPE_CONTIGUOUS : SHAPE_UNIFORM;
		return;
	}
	p->chunk_uniform = 0;
	for (int c = 0; c < 4; c++) {
		straight = same = 0;
		for (int l = 0; l < 8; l++) {
			straight |= (r[c * 8 + l] - r[c * 8]) ^ l * step;
			same |= r[c * 8 + l] ^ r[c * 8];
		}
		if (straight && same)
			return;
		p->chunk_uniform |= (uint8_t)(!same << c);
	}
	p->shape = SHAPE_CHUNKS;
}

/* relative[] is filled; derives the rest. */
static void
finish_pattern(struct pattern *p, uint32_t mask, uint32_t size)
{
	int32_t low = 0, high = 0, bits = 0;
	for (int l = 0; l < LANES; l++) {
		int32_t r = p->relative[l];
		low = r < low ? r : low;
		high = r > high ? r : high;
		bits |= r;
	}
	p->mask = mask;
	p->low = low;
	p->high = high;
	p->aligned = !(bits & (int32_t)(size - 1));
	memset(p->sectors, 0, sizeof p->sectors);
	memset(p->passes, 0, sizeof p->passes);
	p->n_runs = 0;
	find_shape(p, mask, size);
}

/* Lanes that do not take part count as standing at the first one's address. */
static bool
learn_64(struct pattern *p, const u64 *a, uint64_t first, uint32_t mask, uint32_t size)
{
	uint64_t far = 0;
	for (int l = 0; l < LANES; l++) {
		uint64_t r = mask >> l & 1 ? a[l] - first : 0;
		p->relative[l] = (int32_t)r;
		far |= r ^ (uint64_t)(int64_t)(int32_t)r;
	}
	p->shape = SHAPE_NONE;
	if (far)
		return false;
	finish_pattern(p, mask, size);
	return true;
}

static void
learn_32(struct pattern *p, const u32 *a, uint32_t first, uint32_t mask, uint32_t size)
{
	for (int l = 0; l < LANES; l++)
		p->relative[l] = mask >> l & 1 ? (int32_t)(a[l] - first) : 0;
	finish_pattern(p, mask, size);
}

static bool
known_64(const struct pattern *p, const u64 *a, uint64_t first, uint32_t mask)
{
	uint64_t differ = 0;
	if (p->shape == SHAPE_NONE || p->mask != mask)
		return false;
	if (mask == FULL)
		for (int l = 0; l < LANES; l++)
			differ |= (a[l] - first) ^ (uint64_t)(int64_t)p->relative[l];
	else
		for (int l = 0; l < LANES; l++)
			differ |= ((a[l] - first) ^ (uint64_t)(int64_t)p->relative[l]) & (0ull - (mask >> l & 1));
	return !differ;
}

static bool
known_32(const struct pattern *p, const u32 *a, uint32_t first, uint32_t mask)
{
	uint32_t differ = 0;
	if (p->shape == SHAPE_NONE || p->mask != mask)
		return false;
	if (mask == FULL)
		for (int l = 0; l < LANES; l++)
			differ |= (a[l] - first) ^ (uint32_t)p->relative[l];
	else
		for (int l = 0; l < LANES; l++)
			differ |= ((a[l] - first) ^ (uint32_t)p->relative[l]) & (0u - (mask >> l & 1));
	return !differ;
}

/* ---- the fast path */

static uint32_t
pattern_sectors(struct pattern *p, uint64_t first, uint32_t mask, uint32_t size)
{
	uint8_t *known = &p->sectors[first & 31];
	if (!*known) {
		uint64_t addresses[LANES];
		for (int l = 0; l < LANES; l++)
			addresses[l] = first + (uint64_t)(int64_t)p->relative[l];
		*known = (uint8_t)count_sectors(addresses, mask, size);
	}
	return *known;
}

static uint32_t
pattern_conflicts(struct pattern *p, uint64_t first, uint32_t mask, uint32_t size, bool each)
{
	uint8_t *known = &p->passes[first & 3];
	if (!*known) {
		uint64_t addresses[LANES];
		for (int l = 0; l < LANES; l++)
			addresses[l] = first + (uint64_t)(int64_t)p->relative[l];
		*known = (uint8_t)(1 + count_passes(addresses, mask, size, each) - least_passes(mask, size));
	}
	return *known - 1;
}

/* The stretches of bytes that a request covers, as far as its shape joins them: at most one for each lane. */
struct stretch {
	int32_t start;
	uint32_t bytes;
};

static int
find_stretches(const struct pattern *p, uint32_t mask, uint32_t size, struct stretch *out)
{
	int n = 0;
	if (p->shape == SHAPE_CONTIGUOUS || p->shape == SHAPE_UNIFORM) {
		out[n++] = (struct stretch){ 0, p->shape == SHAPE_UNIFORM ? size : size * LANES };
	} else if (p->shape == SHAPE_CHUNKS) {
		for (int c = 0; c < 4; c++)
			out[n++] = (struct stretch){ p->relative[c * 8], p->chunk_uniform >> c & 1 ? size : size * 8 };
	} else {
		EACH_IN(mask, l)
			out[n++] = (struct stretch){ p->relative[l], size };
	}
	return n;
}

static bool
shared_marks(struct warp *w, const struct pattern *p, uint64_t first, uint32_t mask, uint32_t size, int access)
{
	uint8_t *marks = w->block->shared_initialised + first;
	struct stretch list[LANES];
	int n = find_stretches(p, mask, size, list);
	for (int k = 0; k < n && access & ACCESS_READ; k++)
		if (memchr(marks + list[k].start, 0, list[k].bytes))
			return false;
	for (int k = 0; k < n && access & ACCESS_WRITE; k++)
		memset(marks + list[k].start, 1, list[k].bytes);
	return true;
}

static bool
global_marks(struct buffer *b, const struct pattern *p, uint64_t first, uint32_t mask, uint32_t size, int access)
{
	struct stretch list[LANES];
	if (!b->initialised)
		return true;
	int n = find_stretches(p, mask, size, list);
	for (int k = 0; k < n && access & ACCESS_READ; k++)
		if (!initialised_all(b, first + (uint64_t)(int64_t)list[k].start, list[k].bytes))
			return false;
	for (int k = 0; k < n && access & ACCESS_WRITE; k++)
		initialised_set(b, first + (uint64_t)(int64_t)list[k].start, list[k].bytes, true);
	return true;
}

static bool
shared_access(const struct insn *i, struct warp *w, struct pattern *p, uint64_t first, uint32_t mask, uint32_t size, int access,
	struct access *out)
{
	struct block *block = w->block;
	int64_t low = (int64_t)first + p->low, high = (int64_t)first + p->high + (int64_t)size;
	if (low < 0 || high > (int64_t)block->shared_bytes)
		return false;
	if (block->shared_initialised) {
		const struct source *s = provenance_source(w->core, i);
		if (low < s->low || high > s->high || !shared_marks(w, p, first, mask, size, access))
			return false;
	}
	uint32_t conflicts = pattern_conflicts(p, first, mask, size, lanes_queue(i, w, access, mask, size));
	w->core->counters.shared_requests++;
	w->core->counters.shared_bank_conflicts += conflicts;
	if (w->core->profile)
		profile_shared(i, w, conflicts + least_passes(mask, size));
	if (race_watches(w->core, NULL))
		race_request(i, w, NULL, p, first, mask, size, access);
	out->base = block->shared + first;
	out->pattern = p;
	return true;
}

static bool
global_access(const struct insn *i, struct warp *w, struct pattern *p, uint64_t first, uint32_t mask, uint32_t size, int access,
	struct access *out)
{
	struct machine_core *core = w->core;
	uint64_t low = first + (uint64_t)(int64_t)p->low, span = (uint64_t)(int64_t)(p->high - p->low) + size;
	struct buffer *b = p->hint < core->n_buffers ? &core->buffers[p->hint] : NULL;
	if (!b || low < b->address || low - b->address > b->size || span > b->size - (low - b->address)) {
		b = buffer_find(core, low, span);
		if (!b)
			return false;
		p->hint = (uint32_t)(b - core->buffers);
	}
	if (b->freed || (b->access & access) != access)
		return false;
	if (core->checked) {
		const struct buffer *object = provenance_buffer(core, provenance_source(core, i));
		if ((object && object != b) || !global_marks(b, p, first, mask, size, access))
			return false;
	}
	if (i->space != PTX_SPACE_CONST)
		add_global(core, pattern_sectors(p, first, mask, size), mask, size, access);
	if (core->profile && i->space != PTX_SPACE_CONST)
		profile_global(i, w, first, p->relative, NULL, mask, size, access);
	if (race_watches(core, b))
		race_request(i, w, b, p, first, mask, size, access);
	out->base = (char *)(uintptr_t)first;
	out->pattern = p;
	return true;
}

bool
access_all(const struct insn *i, struct warp *w, uint32_t mask, uint32_t size, int access, struct access *out)
{
	struct pattern *p = &w->core->patterns[i->target];
	uint64_t first = 0;
	if (i->space == PTX_SPACE_LOCAL || i->space == PTX_SPACE_PARAM || w->core->probing)
		return false;
	w->core->stores += access != ACCESS_READ;
	if (i->a == NO_REG) {
		static const u64 zeros[LANES];
		if (!known_64(p, zeros, 0, mask))
			learn_64(p, zeros, 0, mask, size);
		first = (uint64_t)i->imm;
	} else if (i->mode == 8) {
		const u64 *a = REG(u64, i->a);
		first = a[__builtin_ctz(mask)];
		if (!known_64(p, a, first, mask) && !learn_64(p, a, first, mask, size))
			return false;
		first += (uint64_t)i->imm;
	} else {
		const u32 *a = REG(u32, i->a);
		uint32_t start = a[__builtin_ctz(mask)];
		if (!known_32(p, a, start, mask))
			learn_32(p, a, start, mask, size);
		first = start + (uint32_t)i->imm;
	}
	if (!p->aligned || (first & (size - 1)))
		return false;
	if (i->space == PTX_SPACE_SHARED)
		return shared_access(i, w, p, first, mask, size, access, out);
	if (i->space == PTX_SPACE_GENERIC && first < PARAM_WINDOW + WINDOW_BYTES) {
		if (first - SHARED_WINDOW >= WINDOW_BYTES)
			return false;
		return shared_access(i, w, p, first - SHARED_WINDOW, mask, size, access, out);
	}
	return global_access(i, w, p, first, mask, size, access, out);
}
