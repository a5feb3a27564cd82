/* In: accesses to shared memory and to buffers that can be written, each already found good. Out: race findings.
 *
 * For each granule of memory (4 bytes, or as small as the smallest access to that buffer so far) stand the last write,
 * the last read with the warps of the block that have read since the last barrier, and a read by another block: arrays
 * side by side, so that a request of a warp is checked by a few vector loops. Only what these cannot excuse is looked
 * at lane by lane. Stamps grow for the life of the machine, so nothing has to be cleared between blocks or launches. */
#include <string.h>
#include <sys/mman.h>

#include "base/die.h"
#include "ptx/race.h"

enum plane { W_STAMP, W_WHO, W_WHAT, R_STAMP, R_WHO, R_WHAT, R_WARPS, O_STAMP, O_WHO, O_WHAT, N_PLANES };
/* what: the instruction's place, and how it accessed; SAME: a write that left memory as it was */
enum { STRONG = 1, MANY = 2, IN_BLOCK = 4, SAME = 8, ATOMIC = 16, WHAT_BITS = 5 };
#define MAX_SHADOW ((uint64_t)2 << 30)

struct shadow {
	uint32_t *plane[N_PLANES];
	uint64_t bytes, cells;
	uint32_t shift;			/* log2 of bytes of a granule */
	bool foreign;			/* some read stands in the O planes */
	struct race *race;
};

/* ---- memory */

static uint64_t
plane_bytes(uint64_t cells)
{
	return (cells * 4 + 4095) & ~(uint64_t)4095;
}

static bool
map_planes(struct shadow *s)
{
	uint64_t each = plane_bytes(s->cells);
	s->race->shadow_bytes += each * N_PLANES;
	char *at = s->race->shadow_bytes > MAX_SHADOW ? MAP_FAILED : mmap(NULL, each * N_PLANES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int k = 0; k < N_PLANES; k++)
		s->plane[k] = at == MAP_FAILED ? NULL : (uint32_t *)(void *)(at + each * (uint64_t)k);
	return s->plane[0];
}

static void
unmap_planes(struct shadow *s)
{
	if (s->plane[0])
		munmap(s->plane[0], plane_bytes(s->cells) * N_PLANES);
	s->race->shadow_bytes -= plane_bytes(s->cells) * N_PLANES;
}

struct shadow *
shadow_new(struct race *race, uint64_t bytes)
{
	struct shadow *s = xcalloc(1, sizeof *s);
	s->race = race;
	s->bytes = bytes;
	s->shift = 2;
	s->cells = (bytes + 4) >> 2;
	map_planes(s);
	return s;
}

void
shadow_free(struct shadow *s)
{
	if (!s)
		return;
	unmap_planes(s);
	free(s);
}

/* Smaller granules, each with the history of the one that it was a part of. */
static void
refine(struct shadow *s, uint32_t shift)
{
	struct shadow old = *s;
	uint32_t by = s->shift - shift;
	s->shift = shift;
	s->cells = old.cells << by;
	if (map_planes(s) && old.plane[0])
		for (uint64_t c = 0; c < s->cells; c++) {
			uint64_t from = c >> by;
			/* pages that nobody used stay untouched */
			if (!old.plane[W_STAMP][from] && !old.plane[R_STAMP][from])
				continue;
			for (int k = 0; k < N_PLANES; k++)
				s->plane[k][c] = old.plane[k][from];
		}
	unmap_planes(&old);
}

/* ---- one request */

struct request {
	const struct insn *i;
	struct warp *w;
	struct race *race;
	const struct race_block *block;
	const struct race_warp *warp;
	struct shadow *shadow;
	enum ptx_space space;
	uint64_t start;			/* address of the shadow's first granule */
	uint32_t size;
	int access;
	uint32_t what;			/* without MANY */
	uint32_t base;			/* what is older belongs to another launch, or to another block's shared memory */
	uint32_t first_who, n_who;	/* threads of the block */
	uint32_t warp_who, warp_bit;
};

static bool
begin(struct request *q, const struct insn *i, struct warp *w, struct buffer *buffer, uint32_t size, int access)
{
	struct race *race = w->core->race;
	struct race_block *b = w->block->race;
	if (race->off)
		return false;
	if (buffer && !buffer->shadow)
		buffer->shadow = shadow_new(race, buffer->size);
	struct shadow *s = buffer ? buffer->shadow : b->shared;
	uint32_t unit = size | (1u << s->shift);
	if (unit & ((1u << s->shift) - 1))
		refine(s, (uint32_t)__builtin_ctz(unit));
	if (!s->plane[0])
		return false;
	bool strong = access == ACCESS_ATOMIC || (i->flag >= ORDER_RELAXED);
	*q = (struct request){ i, w, race, b, &b->warp[w->number], s, buffer ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED,
		buffer ? buffer->address : 0, size, access, i->place << WHAT_BITS, buffer ? race->launch : b->started,
		b->first_warp * LANES, b->n_warps * LANES, (b->first_warp + w->number) * LANES, 1u << w->number };
	q->what |= (strong ? STRONG : 0) | (access == ACCESS_ATOMIC ? ATOMIC : 0)
		| (access == ACCESS_ATOMIC && i->buffer_hint == SCOPE_BLOCK ? IN_BLOCK : 0);
	return true;
}

/* ---- reports */

/* What lane of a store is about to write to `bytes` bytes from `at` on; false when that is not known. */
static bool
stored_value(const struct insn *i, const struct warp *w, uint32_t lane, uint32_t at, uint32_t bytes, char *out)
{
	const struct source *s = &w->core->image->sources[i->place];
	if (s->opcode.length < 3 || memcmp(s->opcode.at, "st.", 3))
		return false;
	for (uint32_t k = 0; k < bytes; k++) {
		uint32_t element = (at + k) / i->size, byte = (at + k) % i->size;
		out[k] = w->frame[i->list[element] + lane * i->buffer_hint + byte];
	}
	return true;
}

static const char *
memory_at(const struct request *q, uint64_t address)
{
	return q->space == PTX_SPACE_SHARED ? q->w->block->shared + address : (const char *)(uintptr_t)address;
}

/* Does the store leave memory as it is? */
static bool
leaves_memory(const struct request *q, uint32_t lane, uint64_t cell, uint64_t address)
{
	uint64_t from = (cell << q->shadow->shift) + q->start;
	uint32_t bytes = 1u << q->shadow->shift;
	char mine[4];
	return q->access == ACCESS_WRITE && stored_value(q->i, q->w, lane, (uint32_t)(from - address), bytes, mine)
		&& !memcmp(memory_at(q, from), mine, bytes);
}

/* Does the store leave memory as the other write left it? Then it does not matter which of both is the last. */
static bool
same_value(const struct request *q, uint32_t lane, uint64_t cell, uint64_t address, uint32_t other_what, uint32_t other_who)
{
	uint64_t from = (cell << q->shadow->shift) + q->start;
	uint32_t bytes = 1u << q->shadow->shift, at = (uint32_t)(from - address);
	char mine[4], theirs[4];
	if (leaves_memory(q, lane, cell, address))
		return true;
	if (q->access != ACCESS_WRITE || !stored_value(q->i, q->w, lane, at, bytes, mine))
		return false;
	/* two lanes of this very instruction: nothing is in memory yet */
	return other_what >> WHAT_BITS == q->i->place && other_who / LANES == q->warp_who / LANES
		&& stored_value(q->i, q->w, other_who % LANES, at, bytes, theirs) && !memcmp(mine, theirs, bytes);
}

struct conflict {
	enum ptx_kind kind;
	uint32_t who, what, stamp;
	bool scope;			/* both are atomic, one only within its block */
	bool unnamed;			/* who is of the other thread's warp, but may be another of its threads */
	bool harmless;			/* the write left memory as it was */
	bool lost;			/* both are volatile, and this one writes what it made of an older value */
};

static void
report_conflict(const struct request *q, uint32_t lane, uint64_t address, const struct conflict *c)
{
	static const char *const mine[] = {
		[ACCESS_READ] = "a read", [ACCESS_WRITE] = "a write", [ACCESS_ATOMIC] = "an atomic access"
	};
	struct finding_place place = { .check = PTX_RACECHECK, .kind = c->kind, .lane = lane, .space = q->space,
		.address = address, .size = q->size, .write = q->access != ACCESS_READ, .pair = !c->unnamed,
		.other_place = c->what >> WHAT_BITS, .other_who = c->who };
	bool same_warp = c->who / LANES == q->warp_who / LANES, same_block = c->who - q->first_who < q->n_who;
	bool plain_read = c->kind == PTX_READ_WRITE_RACE ? !(c->what & STRONG) : q->access == ACCESS_READ && !(q->what & STRONG);
	bool atomic = c->kind == PTX_READ_WRITE_RACE ? q->access == ACCESS_ATOMIC : (c->what & ATOMIC) != 0;
	/* A plain look at what others change by atomic operations in global memory, to spare one's own, is common and finds one
	 * value or another: whether that does harm, the outputs tell. In shared memory it is a barrier that lacks. */
	place.warning = same_warp || c->harmless || (plain_read && atomic && q->space == PTX_SPACE_GLOBAL);
	const char *other = c->what & ATOMIC ? "an atomic access" : c->kind == PTX_READ_WRITE_RACE ? "a read" : "a write";
	const char *lacks = c->lost ? "what that one wrote after this one had read is lost: volatile is not atomic"
		: c->scope ? "an atomic access of block scope orders nothing between blocks"
		: same_warp ? "nothing orders the lanes of a warp, such as __syncwarp()"
		: same_block ? "no barrier is between" : "no fence and flag is between these blocks";
	const char *finding = report(q->w, q->i, &place, "Race in %s memory: %s of %u bytes and %s by %s, and %s",
		ptx_space_name(q->space), mine[q->access], q->size, other,
		c->unnamed ? "one of several other threads" : "another thread", lacks);
	if (finding && plain_read && atomic && q->race->n_doubts < MAX_DOUBTS)
		q->race->doubt[q->race->n_doubts++] = (struct doubt){
			q->access == ACCESS_READ ? q->i->place : c->what >> WHAT_BITS, finding };
}

/* ---- one granule, exactly */

static bool
excused(const struct request *q, uint32_t who, uint32_t what, bool *scope)
{
	if (!(q->what & STRONG) || !(what & STRONG))
		return false;
	*scope = ((q->what | what) & IN_BLOCK) && who - q->first_who >= q->n_who;
	return !*scope;
}

/* Is what the volatile store writes made of a value that another warp has replaced since the thread read it? */
static bool
loses_update(const struct request *q, uint32_t lane, uint64_t address, const struct conflict *c)
{
	char read[16];
	if (q->access != ACCESS_WRITE || !(q->what & STRONG) || c->stamp <= q->base || c->who / LANES == q->warp_who / LANES)
		return false;
	const struct insn *load = race_read_before(q->race, q->i);
	if (!load || load->n != 1 || load->size != q->size || load->size > sizeof read)
		return false;
	memcpy(read, q->w->frame + load->list[0] + lane * load->buffer_hint, load->size);
	return memcmp(read, memory_at(q, address), load->size) != 0;
}

static bool
against_write(const struct request *q, uint32_t lane, uint64_t cell, uint64_t address, struct conflict *c)
{
	uint32_t *const *p = q->shadow->plane;
	c->who = p[W_WHO][cell];
	c->what = p[W_WHAT][cell];
	c->stamp = p[W_STAMP][cell];
	c->kind = q->access == ACCESS_READ ? PTX_WRITE_READ_RACE : PTX_WRITE_WRITE_RACE;
	c->harmless = q->access == ACCESS_READ && c->what & SAME;
	c->lost = loses_update(q, lane, address, c);
	if (c->lost)
		return true;
	if (c->stamp <= q->base || race_ordered(q->w, lane, c->who, c->stamp) || excused(q, c->who, c->what, &c->scope))
		return false;
	return !same_value(q, lane, cell, address, c->what, c->who);
}

/* Have all warps of the block that read since the barrier told this one? Of all but the last reader it is only known
 * that they told something. If not, c->who becomes one that did not. */
static bool
readers_ordered(const struct request *q, uint32_t warps, uint32_t stamp, struct conflict *c)
{
	uint32_t last = c->who / LANES - q->block->first_warp;
	EACH_IN(warps & ~q->warp_bit, n)
		if (q->warp->known.own[n] < (n == last ? stamp : q->block->barrier + 1)) {
			c->unnamed = n != last;
			if (c->unnamed)
				c->who = (q->block->first_warp + n) * LANES;
			return false;
		}
	return true;
}

static bool
read_ordered(const struct request *q, uint32_t lane, uint64_t cell, struct conflict *c)
{
	uint32_t *const *p = q->shadow->plane;
	uint32_t who = p[R_WHO][cell], stamp = p[R_STAMP][cell], warps = p[R_WARPS][cell], what = p[R_WHAT][cell];
	if (stamp <= q->base)
		return true;
	if (who - q->first_who >= q->n_who)
		return race_ordered(q->w, lane, who, stamp);
	if (stamp <= q->block->barrier)
		return true;
	if (!readers_ordered(q, warps, stamp, c))
		return false;
	if (!(warps & q->warp_bit) || who / LANES != q->warp_who / LANES || stamp <= q->warp->converged)
		return true;
	c->unnamed = who == q->warp_who + lane;		/* it read too, and last */
	return what & MANY ? q->warp->lanes != NULL : race_ordered(q->w, lane, who, stamp);
}

static bool
against_reads(const struct request *q, uint32_t lane, uint64_t cell, struct conflict *c)
{
	uint32_t *const *p = q->shadow->plane;
	c->kind = PTX_READ_WRITE_RACE;
	c->who = p[R_WHO][cell];
	c->what = p[R_WHAT][cell];
	c->stamp = p[R_STAMP][cell];
	if (q->access == ACCESS_ATOMIC && c->stamp > q->base && c->who / LANES == q->warp_who / LANES)
		q->race->optimistic[c->what >> WHAT_BITS] = 1;
	c->harmless = q->what & SAME;
	if (!read_ordered(q, lane, cell, c) && !excused(q, c->who, c->what, &c->scope))
		return true;
	c->unnamed = false;
	if (!q->shadow->foreign || p[O_STAMP][cell] <= q->base)
		return false;
	c->who = p[O_WHO][cell];
	c->what = p[O_WHAT][cell];
	return !race_ordered(q->w, lane, c->who, p[O_STAMP][cell]) && !excused(q, c->who, c->what, &c->scope);
}

static void
note_read(const struct request *q, uint64_t cell, uint32_t who, bool many)
{
	uint32_t *const *p = q->shadow->plane;
	uint32_t before = p[R_WHO][cell], stamp = p[R_STAMP][cell];
	bool in_block = before - q->first_who < q->n_who, open = in_block && stamp > q->block->barrier;
	if (!in_block && stamp > q->base) {
		p[O_STAMP][cell] = stamp;
		p[O_WHO][cell] = before;
		p[O_WHAT][cell] = p[R_WHAT][cell];
		q->shadow->foreign = true;
	}
	many |= open && before / LANES == who / LANES && stamp > q->warp->converged
		&& (before != who || p[R_WHAT][cell] & MANY);
	p[R_WARPS][cell] = (open ? p[R_WARPS][cell] : 0) | q->warp_bit;
	p[R_STAMP][cell] = q->warp->now;
	p[R_WHO][cell] = who;
	p[R_WHAT][cell] = q->what | (many ? MANY : 0);
}

static void
note_write(const struct request *q, uint64_t cell, uint32_t who)
{
	uint32_t *const *p = q->shadow->plane;
	p[W_STAMP][cell] = q->warp->now;
	p[W_WHO][cell] = who;
	p[W_WHAT][cell] = q->what;
}

/* A lane's access to the granules of its bytes. */
static void
touch(struct request *q, uint32_t lane, uint64_t address, bool many)
{
	uint64_t first = (address - q->start) >> q->shadow->shift, end = first + (q->size >> q->shadow->shift);
	bool reported = false;
	for (uint64_t cell = first; cell < end; cell++) {
		struct conflict c = { 0 };
		q->what = (q->what & ~(uint32_t)SAME) | (leaves_memory(q, lane, cell, address) ? SAME : 0);
		if (!reported && (against_write(q, lane, cell, address, &c)
			|| (q->access != ACCESS_READ && against_reads(q, lane, cell, &c)))) {
			report_conflict(q, lane, address, &c);
			reported = true;
		}
		if (q->access == ACCESS_READ)
			note_read(q, cell, q->warp_who + lane, many);
		else
			note_write(q, cell, q->warp_who + lane);
	}
}

/* ---- many granules at once: granule j belongs to thread who + (j >> step) */

struct span {
	uint64_t cell;
	uint32_t count, who, step;
	bool many;
};

/* Is it certain that the reads are no race, and no reader of another block has to be remembered? */
static bool
reads_clear(const struct request *q, const struct span *s)
{
	const uint32_t *ws = q->shadow->plane[W_STAMP] + s->cell, *ww = q->shadow->plane[W_WHO] + s->cell;
	const uint32_t *rs = q->shadow->plane[R_STAMP] + s->cell, *rw = q->shadow->plane[R_WHO] + s->cell;
	const uint32_t converged = q->warp->converged, barrier = q->block->barrier, base = q->base;
	const uint32_t first_who = q->first_who, n_who = q->n_who, warp = q->warp_who / LANES, who = s->who, step = s->step;
	uint32_t bad = 0;
	for (uint32_t j = 0; j < s->count; j++) {
		uint32_t limit = ww[j] - first_who < n_who ? barrier : base;
		limit = ww[j] / LANES == warp ? converged : limit;
		bad |= (uint32_t)(ws[j] > limit) & (uint32_t)(ww[j] != who + (j >> step));
		bad |= (uint32_t)(rs[j] > base) & (uint32_t)(rw[j] - first_who >= n_who);
	}
	return !bad;
}

static void
note_reads(const struct request *q, const struct span *s)
{
	uint32_t *restrict rs = q->shadow->plane[R_STAMP] + s->cell, *restrict rw = q->shadow->plane[R_WHO] + s->cell;
	uint32_t *restrict rt = q->shadow->plane[R_WHAT] + s->cell, *restrict rm = q->shadow->plane[R_WARPS] + s->cell;
	const uint32_t converged = q->warp->converged, barrier = q->block->barrier, now = q->warp->now;
	const uint32_t first_who = q->first_who, n_who = q->n_who, warp = q->warp_who / LANES, who = s->who, step = s->step;
	const uint32_t what = q->what, many = s->many ? MANY : 0, bit = q->warp_bit;
	for (uint32_t j = 0; j < s->count; j++) {
		uint32_t me = who + (j >> step), before = rw[j];
		uint32_t open = (uint32_t)(rs[j] > barrier) & (uint32_t)(before - first_who < n_who);
		uint32_t again = open & (uint32_t)(before / LANES == warp) & (uint32_t)(rs[j] > converged);
		uint32_t others = again & ((uint32_t)(before != me) | (rt[j] & MANY) / MANY);
		rm[j] = (rm[j] & (0u - open)) | bit;
		rt[j] = what | many | others * MANY;
		rw[j] = me;
		rs[j] = now;
	}
}

static bool
writes_clear(const struct request *q, const struct span *s)
{
	uint32_t *const *p = q->shadow->plane;
	const uint32_t *ws = p[W_STAMP] + s->cell, *ww = p[W_WHO] + s->cell;
	const uint32_t *rs = p[R_STAMP] + s->cell, *rw = p[R_WHO] + s->cell, *rt = p[R_WHAT] + s->cell, *rm = p[R_WARPS] + s->cell;
	const uint32_t converged = q->warp->converged, barrier = q->block->barrier, base = q->base, bit = q->warp_bit;
	const uint32_t first_who = q->first_who, n_who = q->n_who, warp = q->warp_who / LANES, who = s->who, step = s->step;
	uint32_t bad = 0;
	for (uint32_t j = 0; j < s->count; j++) {
		uint32_t me = who + (j >> step);
		uint32_t limit = ww[j] - first_who < n_who ? barrier : base;
		limit = ww[j] / LANES == warp ? converged : limit;
		bad |= (uint32_t)(ws[j] > limit) & (uint32_t)(ww[j] != me);
		uint32_t read_limit = rw[j] - first_who < n_who ? barrier : base;
		uint32_t mine = (uint32_t)(rm[j] == bit) & (uint32_t)(rw[j] / LANES == warp)
			& ((uint32_t)(rs[j] <= converged) | ((uint32_t)(rw[j] == me) & (uint32_t)!(rt[j] & MANY)));
		bad |= (uint32_t)(rs[j] > read_limit) & (mine ^ 1);
	}
	return !bad && !q->shadow->foreign;
}

static void
note_writes(const struct request *q, const struct span *s)
{
	uint32_t *restrict ws = q->shadow->plane[W_STAMP] + s->cell, *restrict ww = q->shadow->plane[W_WHO] + s->cell;
	uint32_t *restrict wt = q->shadow->plane[W_WHAT] + s->cell;
	const uint32_t now = q->warp->now, what = q->what, who = s->who, step = s->step;
	for (uint32_t j = 0; j < s->count; j++) {
		ws[j] = now;
		ww[j] = who + (j >> step);
		wt[j] = what;
	}
}

static bool
span_done(const struct request *q, const struct span *s)
{
	bool reads = q->access == ACCESS_READ;
	if (reads ? !reads_clear(q, s) : !writes_clear(q, s))
		return false;
	if (reads)
		note_reads(q, s);
	else
		note_writes(q, s);
	return true;
}

/* ---- requests */

/* Lanes that stand side by side, or read one place, are looked at together. */
static void
find_runs(struct pattern *p, uint32_t mask, uint32_t size)
{
	p->n_runs = 0;
	for (uint32_t l = 0; l < LANES;) {
		if (!(mask >> l & 1)) {
			l++;
			continue;
		}
		uint32_t end = l + 1;
		bool same = end < LANES && mask >> end & 1 && p->relative[end] == p->relative[l];
		int32_t step = same ? 0 : (int32_t)size;
		while (end < LANES && mask >> end & 1 && p->relative[end] == p->relative[end - 1] + step)
			end++;
		p->run_lane[p->n_runs] = (uint8_t)l;
		p->run_lanes[p->n_runs] = (uint8_t)(end - l);
		p->run_same[p->n_runs++] = same;
		l = end;
	}
}

/* Atomics and volatile accesses carry the order that fences make from warp to warp. */
static void
carry_order(const struct request *q, uint32_t lane, uint64_t address)
{
	uint64_t key = q->space == PTX_SPACE_SHARED ? SHARED_WINDOW + address : address;
	bool within = q->space == PTX_SPACE_SHARED || q->what & IN_BLOCK;
	uint8_t order = q->i->flag;
	if (q->access == ACCESS_READ || (q->access == ACCESS_ATOMIC && (q->i->d != NO_REG || order >= ORDER_ACQUIRE)))
		race_acquire(q->w, lane, key);
	if (q->access != ACCESS_READ)
		race_release(q->w, key, within ? RACE_BLOCK : RACE_GRID, order == ORDER_RELEASE || order == ORDER_BOTH);
}

void
race_flag(const struct insn *i, struct warp *w, uint32_t lane, enum ptx_space space, uint64_t address, int access)
{
	struct request q = { .i = i, .w = w, .space = space, .access = access };
	carry_order(&q, lane, address);
}

void
race_lane(const struct insn *i, struct warp *w, struct buffer *buffer, uint32_t lane, uint64_t address, uint32_t size,
	int access)
{
	struct request q;
	if (!begin(&q, i, w, buffer, size, access))
		return;
	if (q.what & STRONG)
		carry_order(&q, lane, address);
	touch(&q, lane, address, false);
}

void
race_request(const struct insn *i, struct warp *w, struct buffer *buffer, struct pattern *p, uint64_t first, uint32_t mask,
	uint32_t size, int access)
{
	struct request q;
	if (!begin(&q, i, w, buffer, size, access))
		return;
	if (q.what & STRONG) {
		EACH_IN(mask, l) {
			carry_order(&q, l, first + (uint64_t)(int64_t)p->relative[l]);
			touch(&q, l, first + (uint64_t)(int64_t)p->relative[l], false);
		}
		return;
	}
	if (!p->n_runs)
		find_runs(p, mask, size);
	uint32_t each = size >> q.shadow->shift, step = (uint32_t)__builtin_ctz(each);
	for (uint32_t k = 0; k < p->n_runs; k++) {
		uint32_t lane = p->run_lane[k], lanes = p->run_lanes[k];
		bool same = p->run_same[k];
		uint64_t at = first + (uint64_t)(int64_t)p->relative[lane];
		struct span s = { (at - q.start) >> q.shadow->shift, same ? each : each * lanes, q.warp_who + lane, step, same };
		if ((!same || access == ACCESS_READ) && span_done(&q, &s))
			continue;
		for (uint32_t l = lane; l < lane + lanes; l++)
			touch(&q, l, first + (uint64_t)(int64_t)p->relative[l], same && access == ACCESS_READ);
	}
}
