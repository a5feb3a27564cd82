/* In: what the machine does, launch by launch. Out: struct ptx_profile, and the work from which the roofline model
 * estimates a time.
 *
 * Blocks run one after another here and side by side on a GPU. So the L1 cache is modelled as a block's share of it,
 * empty when the block starts, and the L2 cache as one for all blocks in order. Time is not simulated: how long one
 * warp would take alone follows from each basic block's dependencies and from how often it ran. */
#include "ptx/profile.h"

#include <string.h>

#include "base/die.h"
#include "ptx/cost.h"

enum { LINE = 128, SECTOR = 32, L1_WAYS = 8, L2_WAYS = 16, WORDS_OF_TABLE = 4096 };
enum level { LEVEL_L1, LEVEL_L2, LEVEL_DRAM, LEVELS };

/* ---- a cache of lines of four sectors, least recently used first out */

struct line {
	uint64_t tag;				/* address / LINE + 1; 0: nothing */
	uint8_t valid, dirty;			/* a bit for each sector */
};

struct cache {
	struct line *lines;			/* sets of `ways`, the last used first */
	uint32_t sets, ways;
	uint64_t written_back;			/* dirty sectors that had to leave */
};

static void
cache_size(struct cache *c, uint64_t bytes, uint32_t ways)
{
	uint32_t sets = (uint32_t)(bytes / LINE / ways);
	sets = sets ? sets : 1;
	if (sets != c->sets) {
		free(c->lines);
		c->lines = xcalloc((size_t)sets * ways, sizeof *c->lines);
	}
	c->sets = sets;
	c->ways = ways;
}

static void
cache_clear(struct cache *c)
{
	memset(c->lines, 0, (size_t)c->sets * c->ways * sizeof *c->lines);
}

/* Makes the sectors present and returns those that were not. */
static uint8_t
cache_use(struct cache *c, uint64_t tag, uint8_t sectors, bool write)
{
	uint64_t hash = tag * 0x9e3779b97f4a7c15ull >> 32;
	struct line *set = c->lines + (size_t)(hash * c->sets >> 32) * c->ways, found;
	uint32_t at = 0;
	while (at < c->ways - 1 && set[at].tag != tag)
		at++;
	found = set[at];
	if (found.tag != tag) {
		c->written_back += (uint64_t)__builtin_popcount(found.dirty);
		found = (struct line){ .tag = tag };
	}
	memmove(set + 1, set, at * sizeof *set);
	uint8_t missed = sectors & (uint8_t)~found.valid;
	found.valid |= sectors;
	found.dirty |= write ? sectors : 0;
	set[0] = found;
	return missed;
}

/* ---- what is kept */

struct traffic {
	struct ptx_profile_buffer public;
	uint64_t address, end;
	uint8_t *touched;			/* bits: sectors seen */
};

/* of one instruction in one launch */
struct site {
	uint64_t requests[LEVELS];		/* by the furthest level that a sector came from */
	uint64_t passes;
	bool past_l1;
};

struct profile {
	const struct roofline_gpu *gpu;
	struct cache l1, l2;
	struct ptx_profile results;
	struct traffic traffic[PTX_PROFILE_BUFFERS];
	uint32_t last_traffic;
	/* of the launch */
	struct roofline_work work;
	int64_t *runs, *lanes;			/* differences: instruction k ran sum(0..k) times */
	struct site *sites;
	uint32_t n_code, registers;
	uint64_t serial[WORDS_OF_TABLE];	/* atomics by hash of their word */
	uint64_t blocks, dirty_before;
};

struct profile *
profile_new(const struct roofline_gpu *gpu)
{
	struct profile *p = xcalloc(1, sizeof *p);
	p->gpu = gpu;
	p->results.gpu = gpu->name;
	cache_size(&p->l2, gpu->l2_bytes, L2_WAYS);
	return p;
}

static void
free_launch(struct profile *p)
{
	free(p->runs);
	free(p->lanes);
	free(p->sites);
	p->runs = p->lanes = NULL;
	p->sites = NULL;
}

void
profile_free(struct profile *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; k < p->results.n_buffers; k++) {
		free((char *)(uintptr_t)p->traffic[k].public.name);
		free(p->traffic[k].touched);
	}
	free_launch(p);
	free(p->l1.lines);
	free(p->l2.lines);
	free(p);
}

const struct ptx_profile *
profile_results(const struct profile *p)
{
	return &p->results;
}

/* ---- hooks */

void
profile_block(struct profile *p)
{
	cache_clear(&p->l1);
	p->blocks++;
}

void
profile_run(struct profile *p, uint32_t from, uint32_t to, uint32_t lanes)
{
	p->runs[from]++;
	p->runs[to]--;
	p->lanes[from] += lanes;
	p->lanes[to] -= lanes;
}

static struct traffic *
traffic_at(struct profile *p, const struct machine_core *core, uint64_t address)
{
	struct traffic *t = &p->traffic[p->last_traffic];
	if (address - t->address < t->public.size_bytes)
		return t;
	for (uint32_t k = 0; k < p->results.n_buffers; k++)
		if (address - p->traffic[k].address < p->traffic[k].public.size_bytes) {
			p->last_traffic = k;
			return &p->traffic[k];
		}
	const struct buffer *b = buffer_find((struct machine_core *)(uintptr_t)core, address, 1);
	if (!b || p->results.n_buffers == PTX_PROFILE_BUFFERS)
		return NULL;
	p->last_traffic = p->results.n_buffers++;
	t = &p->traffic[p->last_traffic];
	*t = (struct traffic){ { .name = xstrdup(b->name), .size_bytes = b->size }, b->address, b->address + b->size,
		xcalloc((size_t)((b->size + b->address % SECTOR) / SECTOR / 8 + 2), 1) };
	return t;
}

static void
touch(struct traffic *t, uint64_t line, uint8_t sectors)
{
	uint64_t first = t->address / SECTOR;
	for (uint32_t k = 0; k < 4; k++) {
		uint64_t s = line * 4 + k - first;
		if (!(sectors >> k & 1) || line * 4 + k < first)
			continue;
		uint8_t bit = (uint8_t)(1u << (s & 7)), *byte = &t->touched[s >> 3];
		t->public.footprint_bytes += *byte & bit ? 0 : SECTOR;
		*byte |= bit;
	}
}

/* A line's sectors go from L1 to L2 to memory; returns the furthest level. */
static enum level
use_line(struct profile *p, uint64_t line, uint8_t sectors, int access, bool past_l1)
{
	uint8_t missed = sectors;
	bool write = access != ACCESS_READ;
	if (access == ACCESS_READ && !past_l1)
		missed = cache_use(&p->l1, line + 1, sectors, false);
	p->results.l1_hit_sectors += (uint32_t)__builtin_popcount(sectors) - (uint32_t)__builtin_popcount(missed);
	if (!missed)
		return LEVEL_L1;
	p->work.l2_sectors += __builtin_popcount(missed);
	missed = cache_use(&p->l2, line + 1, missed, write);
	if (access == ACCESS_WRITE || !missed)
		return LEVEL_L2;
	p->work.dram_sectors += __builtin_popcount(missed);
	return LEVEL_DRAM;
}

static void
count_words(struct profile *p, const uint64_t *addresses, uint32_t mask)
{
	EACH_IN(mask, l)
		p->serial[(addresses[l] >> 2) * 0x9e3779b97f4a7c15ull >> 52]++;
}

/* Collects the lanes' sectors by line; lanes that follow each other mostly share one. */
static void
use_lanes(struct profile *p, struct site *site, const uint64_t *a, uint32_t mask, uint32_t size, int access, bool past_l1,
	struct traffic *t)
{
	uint64_t line = UINT64_MAX;
	uint32_t lines = 0;
	uint8_t sectors = 0;
	enum level furthest = LEVEL_L1;
	EACH_IN(mask, l)
		for (uint64_t s = a[l] / SECTOR; s <= (a[l] + size - 1) / SECTOR; s++) {
			if (s / 4 != line && sectors) {
				enum level level = use_line(p, line, sectors, access, past_l1);
				furthest = level > furthest ? level : furthest;
				if (t)
					touch(t, line, sectors);
				sectors = 0;
			}
			lines += s / 4 != line;
			line = s / 4;
			sectors |= (uint8_t)(1u << (s & 3));
		}
	enum level level = use_line(p, line, sectors, access, past_l1);
	furthest = level > furthest ? level : furthest;
	if (t)
		touch(t, line, sectors);
	site->requests[furthest]++;
	site->passes += lines;
	p->work.passes += lines;
}

void
profile_global(const struct insn *i, struct warp *w, uint64_t first, const int32_t *relative, const uint64_t *addresses,
	uint32_t mask, uint32_t size, int access)
{
	struct profile *p = w->core->profile;
	uint64_t own[LANES];
	if (relative) {
		for (int l = 0; l < LANES; l++)
			own[l] = first + (uint64_t)(int64_t)relative[l];
		addresses = own;
	}
	uint64_t bytes = (uint64_t)size * (uint32_t)__builtin_popcount(mask);
	struct traffic *t = traffic_at(p, w->core, addresses[__builtin_ctz(mask)]);
	if (t && access & ACCESS_READ)
		t->public.read_bytes += bytes;
	if (t && access & ACCESS_WRITE)
		t->public.write_bytes += bytes;
	if (access == ACCESS_ATOMIC) {
		count_words(p, addresses, mask);
		p->work.l2_atomics += __builtin_popcount(mask);
	}
	use_lanes(p, &p->sites[i->place], addresses, mask, size, access,
		p->sites[i->place].past_l1, t);
}

void
profile_shared(const struct insn *i, struct warp *w, uint32_t passes)
{
	struct profile *p = w->core->profile;
	p->sites[i->place].passes += passes;
	p->work.passes += passes;
}

/* Local memory lies word by word, lane beside lane; each warp of a multiprocessor has a place of its own. */
void
profile_local(const struct insn *i, struct warp *w, const uint64_t *addresses, uint32_t mask, uint32_t size, int access)
{
	enum { WORD = 4 };
	struct profile *p = w->core->profile;
	uint64_t a[LANES], base = LOCAL_WINDOW << 8;
	uint64_t slot = p->blocks % (uint64_t)(p->gpu->multiprocessors * p->work.resident_blocks) * MAX_WARPS + w->number;
	base += slot * ((uint64_t)w->block->local_bytes + LINE) * LANES;
	EACH_IN(mask, l)
		a[l] = base + addresses[l] / WORD * LINE + l * WORD;
	use_lanes(p, &p->sites[i->place], a, mask, size < WORD ? size : WORD, access == ACCESS_WRITE ? ACCESS_READ : access, false, NULL);
}

/* ---- a launch */

static uint64_t
dirty_sectors(const struct cache *c)
{
	uint64_t count = 0;
	for (size_t k = 0; k < (size_t)c->sets * c->ways; k++)
		count += (uint32_t)__builtin_popcount(c->lines[k].dirty);
	return count;
}

void
profile_start(struct profile *p, const struct machine_core *core, const struct ptx_launch *l)
{
	uint32_t threads = l->block[0] * l->block[1] * l->block[2], shared = core->image->shared_bytes + l->dynamic_shared;
	uint32_t resident = roofline_resident(p->gpu, threads, l->registers, shared);
	double blocks = (double)l->grid[0] * l->grid[1] * l->grid[2], each = blocks / p->gpu->multiprocessors;
	uint32_t carved = resident * (shared + 1024), l1;
	free_launch(p);
	p->n_code = core->image->n_code;
	p->runs = xcalloc(p->n_code + 2, sizeof *p->runs);
	p->lanes = xcalloc(p->n_code + 2, sizeof *p->lanes);
	p->sites = xcalloc(p->n_code + 1, sizeof *p->sites);
	for (uint32_t k = 0; k < p->n_code; k++)
		p->sites[k].past_l1 = cost_past_l1(core, k);
	p->work = (struct roofline_work){ .blocks = blocks, .warps = blocks * ((threads + LANES - 1) / LANES),
		.resident_blocks = resident ? resident : 1 };
	memset(p->serial, 0, sizeof p->serial);
	p->l2.written_back = 0;
	p->dirty_before = dirty_sectors(&p->l2);
	l1 = p->gpu->l1_bytes > carved ? p->gpu->l1_bytes - carved : LINE * L1_WAYS;
	if (each < resident)
		resident = each > 1 ? (uint32_t)each : 1;
	cache_size(&p->l1, l1 / (resident ? resident : 1), L1_WAYS);
}

static double
latency_of(const struct profile *p, const struct site *s, const struct cost *c)
{
	const struct roofline_gpu *g = p->gpu;
	double n = (double)(s->requests[0] + s->requests[1] + s->requests[2]);
	if (c->mix == MIX_SHARED)
		return g->shared_cycles;
	if (!c->waits_for_memory || n <= 0)
		return c->latency;
	return ((double)s->requests[LEVEL_L1] * g->l1_cycles + (double)s->requests[LEVEL_L2] * g->l2_cycles
		+ (double)s->requests[LEVEL_DRAM] * g->dram_cycles) / n;
}

/* Cycles that a warp, alone, takes for instructions [from, to): it issues in order, one a cycle, when the operands are
 * there. A block that loops back to itself is counted in its second round, with what the first left under way. */
static double
path_of(const struct profile *p, const struct machine_core *core, struct cost_ready *ready, uint32_t from, uint32_t to, bool loops)
{
	double now = 0, start = 0, last = 0;
	cost_ready_reset(ready);
	for (int round = 0; round <= loops; round++) {
		start = now;
		for (uint32_t k = from; k < to; k++) {
			struct cost c = cost_of(core, k);
			double at = cost_ready_at(ready, core, k);
			now = at > now ? at : now;
			double done = now + latency_of(p, &p->sites[k], &c);
			cost_ready_set(ready, core, k, done);
			last = done > last ? done : last;
			now += c.slots;
			if (c.mix == MIX_BARRIER)
				now += c.latency;
		}
	}
	return loops ? now - start : last > now ? last : now;
}

static bool
ends_block(const struct insn *i)
{
	return i->kind == K_BRANCH || i->kind == K_BRANCH_TABLE || i->kind == K_RETURN || i->kind == K_EXIT || i->kind == K_CALL
		|| i->kind == K_CALL_POINTER || i->kind == K_JOIN;
}

/* Weighs each instruction by how often it ran. */
static void
weigh(struct profile *p, const struct machine_core *core)
{
	struct cost_ready *ready = cost_ready_new(core);
	int64_t runs = 0, lanes = 0;
	uint32_t from = 0;
	for (uint32_t k = 0; k < p->n_code; k++) {
		struct cost c = cost_of(core, k);
		double n = (double)(runs += p->runs[k]);
		lanes += p->lanes[k];
		p->results.mix[c.mix] += (uint64_t)runs;
		p->results.lanes += (uint64_t)lanes;
		p->work.issue_slots += n * c.slots;
		if (c.pipe < PIPE_N)
			p->work.pipe[c.pipe] += n * c.units;
		if (c.tensor < TENSOR_N)
			p->work.tensor[c.tensor] += n * c.multiply_adds;
		if (!ends_block(&core->code[k]) && k + 1 < p->n_code && !p->runs[k + 1])
			continue;
		bool loops = core->code[k].kind == K_BRANCH && core->code[k].target == from;
		if (runs > 0)
			p->work.path_cycles += n * path_of(p, core, ready, from, k + 1, loops);
		from = k + 1;
	}
	cost_ready_free(ready);
}

void
profile_end(struct profile *p, const struct machine_core *core)
{
	struct ptx_profile *r = &p->results;
	weigh(p, core);
	for (int k = 0; k < WORDS_OF_TABLE; k++)
		p->work.serial_atomics = (double)p->serial[k] > p->work.serial_atomics ? (double)p->serial[k] : p->work.serial_atomics;
	p->work.dram_sectors += (double)p->l2.written_back;
	uint64_t dirty = dirty_sectors(&p->l2);
	p->work.dirty_sectors = dirty > p->dirty_before ? (double)(dirty - p->dirty_before) : 0;
	roofline_time(&p->work, p->gpu, &roofline_fitted, &r->last);
	r->last_work = p->work;
	r->time_us += r->last.time_us;
	if (r->last.time_us > r->longest_us) {
		r->longest_us = r->last.time_us;
		r->limiter = r->last.limiter;
	}
	r->l2_sectors += (uint64_t)p->work.l2_sectors;
	r->dram_sectors += (uint64_t)p->work.dram_sectors;
	for (uint32_t k = 0; k < r->n_buffers; k++)
		r->buffers[k] = &p->traffic[k].public;
	free_launch(p);
}
