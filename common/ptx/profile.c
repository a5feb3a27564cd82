/* In: what the machine does, launch by launch. Out: struct ptx_profile, and the work from which the roofline model
 * estimates a time.
 *
 * Blocks run one after another here and side by side on a GPU. So each multiprocessor's L1 cache is modelled as the share
 * that one of its blocks has, kept from block to block, and the L2 cache as one for all blocks in order. Time is not
 * simulated: how long one warp would take alone follows from each basic block's dependencies and from how often it ran. */
#include "ptx/profile.h"

#include <string.h>

#include "base/die.h"
#include "ptx/cost.h"

enum { LINE = 128, SECTOR = 32, L1_WAYS = 8, L2_WAYS = 16, WORDS_OF_TABLE = 4096 };
enum level { LEVEL_L1, LEVEL_L2, LEVEL_DRAM, LEVELS };

/* ---- a cache of lines of four sectors, least recently used first out */

struct line {
	uint64_t tag;				/* address / LINE + 1; 0: nothing */
	uint8_t valid, dirty;			/* a bit for each sector; what was only written need not be valid */
	uint32_t written;			/* a bit for each word */
};

struct cache {
	struct line *lines;			/* sets of `ways`, the last used first */
	uint32_t sets, ways;
	uint64_t written_back, filled;		/* dirty sectors that had to leave, and those read first, to complete them */
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

static uint8_t
whole_sectors(uint32_t words)
{
	uint8_t whole = 0;
	for (int k = 0; k < 4; k++)
		whole |= (uint8_t)((words >> 8 * k & 0xff) == 0xff) << k;
	return whole;
}

static void
evict(struct cache *c, const struct line *line)
{
	c->written_back += (uint64_t)__builtin_popcount(line->dirty);
	c->filled += (uint64_t)__builtin_popcount(line->dirty & ~line->valid & ~whole_sectors(line->written));
}

/* Brings the line to the front of its set. */
static struct line *
cache_line(struct cache *c, uint64_t tag)
{
	uint64_t hash = tag * 0x9e3779b97f4a7c15ull >> 32;
	struct line *set = c->lines + (size_t)(hash * c->sets >> 32) * c->ways, found;
	uint32_t at = 0;
	while (at < c->ways - 1 && set[at].tag != tag)
		at++;
	found = set[at];
	if (found.tag != tag) {
		evict(c, &found);
		found = (struct line){ .tag = tag };
	}
	memmove(set + 1, set, at * sizeof *set);
	set[0] = found;
	return set;
}

/* Makes sectors valid and returns those that were not there. */
static uint8_t
cache_read(struct cache *c, uint64_t tag, uint8_t sectors)
{
	struct line *line = cache_line(c, tag);
	uint8_t missed = sectors & (uint8_t)~(line->valid | whole_sectors(line->written));
	line->valid |= sectors;
	return missed;
}

static void
cache_write(struct cache *c, uint64_t tag, uint8_t sectors, uint32_t words)
{
	struct line *line = cache_line(c, tag);
	line->dirty |= sectors;
	line->written |= words;
}

/* Memory is read by pairs of sectors: the other one comes along. */
static uint8_t
with_pairs(uint8_t sectors)
{
	return (uint8_t)(sectors | (sectors & 5) << 1 | (sectors & 10) >> 1);
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
	struct cache *l1, l2;			/* l1: one for each multiprocessor */
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
	p->l1 = xcalloc(gpu->multiprocessors, sizeof *p->l1);
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
	for (uint32_t k = 0; k < p->gpu->multiprocessors; k++)
		free(p->l1[k].lines);
	free(p->l1);
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
	uint64_t first = t->address / SECTOR, last = (t->end - 1) / SECTOR;
	for (uint32_t k = 0; k < 4; k++) {
		uint64_t s = line * 4 + k - first;
		if (!(sectors >> k & 1) || line * 4 + k < first || line * 4 + k > last)
			continue;
		uint8_t bit = (uint8_t)(1u << (s & 7)), *byte = &t->touched[s >> 3];
		t->public.footprint_bytes += *byte & bit ? 0 : SECTOR;
		*byte |= bit;
	}
}

/* A line's sectors go from L1 to L2 to memory; returns the furthest level. Stores write through L1. */
static enum level
use_line(struct profile *p, uint64_t line, uint8_t sectors, uint32_t words, int access, bool past_l1)
{
	uint8_t missed = sectors;
	if (access == ACCESS_READ && !past_l1)
		missed = cache_read(&p->l1[p->blocks % p->gpu->multiprocessors], line + 1, sectors);
	p->results.l1_hit_sectors += (uint32_t)__builtin_popcount(sectors) - (uint32_t)__builtin_popcount(missed);
	if (!missed)
		return LEVEL_L1;
	p->work.l2_sectors += __builtin_popcount(missed);
	if (access & ACCESS_READ)
		missed = cache_read(&p->l2, line + 1, missed);
	if (access & ACCESS_WRITE)
		cache_write(&p->l2, line + 1, sectors, words);
	if (access == ACCESS_WRITE || !missed)
		return LEVEL_L2;
	p->work.dram_sectors += __builtin_popcount(missed | cache_read(&p->l2, line + 1, with_pairs(missed)));
	return LEVEL_DRAM;
}

static void
count_words(struct profile *p, const uint64_t *addresses, uint32_t mask)
{
	EACH_IN(mask, l)
		p->serial[(addresses[l] >> 2) * 0x9e3779b97f4a7c15ull >> 52]++;
}

/* Collects the lanes' sectors by line; lanes that follow each other mostly share one. */
struct request {
	const struct machine_core *core;	/* NULL: no traffic of a buffer */
	struct traffic *traffic;		/* of the line: lanes may go to different buffers */
	uint64_t line;
	uint32_t lines, words;			/* words: touched in the line */
	uint8_t sectors;
	int access;
	bool past_l1;
	enum level furthest;
};

static void
end_line(struct profile *p, struct request *r)
{
	if (!r->sectors)
		return;
	enum level level = use_line(p, r->line, r->sectors, r->words, r->access, r->past_l1);
	r->furthest = level > r->furthest ? level : r->furthest;
	if (r->traffic)
		touch(r->traffic, r->line, r->sectors);
	r->lines++;
	r->words = r->sectors = 0;
}

static void
use_lanes(struct profile *p, struct site *site, const uint64_t *a, uint32_t mask, uint32_t size, struct request *r)
{
	EACH_IN(mask, l)
		for (uint64_t word = a[l] / 4; word <= (a[l] + size - 1) / 4; word++) {
			if (word / 32 != r->line) {
				end_line(p, r);
				r->line = word / 32;
				r->traffic = r->core ? traffic_at(p, r->core, a[l]) : NULL;
			}
			r->words |= 1u << word % 32;
			r->sectors |= (uint8_t)(1u << word / 8 % 4);
		}
	end_line(p, r);
	site->requests[r->furthest]++;
	site->passes += r->lines;
	p->work.passes += r->lines;
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
	struct request r = { .core = w->core, .line = UINT64_MAX, .access = access, .past_l1 = p->sites[i->place].past_l1 };
	use_lanes(p, &p->sites[i->place], addresses, mask, size, &r);
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
	uint64_t a[LANES] = { 0 }, base = LOCAL_WINDOW << 8;
	uint64_t slot = p->blocks % (uint64_t)(p->gpu->multiprocessors * p->work.resident_blocks) * MAX_WARPS + w->number;
	base += slot * ((uint64_t)w->block->local_bytes + LINE) * LANES;
	EACH_IN(mask, l)
		a[l] = base + addresses[l] / WORD * LINE + l * WORD;
	struct request r = { .line = UINT64_MAX, .access = access };
	use_lanes(p, &p->sites[i->place], a, mask, size < WORD ? size : WORD, &r);
	if (access == ACCESS_WRITE)		/* kept for the loads that follow */
		EACH_IN(mask, l)
			cache_read(&p->l1[p->blocks % p->gpu->multiprocessors], a[l] / LINE + 1, (uint8_t)(1u << a[l] / SECTOR % 4));
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
	p->l2.written_back = p->l2.filled = 0;
	p->dirty_before = dirty_sectors(&p->l2);
	l1 = p->gpu->l1_bytes > carved ? p->gpu->l1_bytes - carved : LINE * L1_WAYS;
	if (each < resident)
		resident = each > 1 ? (uint32_t)each : 1;
	for (uint32_t k = 0; k < p->gpu->multiprocessors; k++) {
		cache_size(&p->l1[k], l1 / (resident ? resident : 1), L1_WAYS);
		memset(p->l1[k].lines, 0, (size_t)p->l1[k].sets * L1_WAYS * sizeof *p->l1[k].lines);
	}
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

/* Cycles that a warp, alone, takes for instructions [from, to): the compiler of machine code orders them, so each starts
 * when its operands are there, but none before a barrier that stands in front of it, and one is issued in a cycle. A
 * block that loops back to itself is counted in its second round, with what the first left under way. */
static double
path_of(const struct profile *p, const struct machine_core *core, struct cost_ready *ready, uint32_t from, uint32_t to,
	bool loops)
{
	double fence = 0, start = 0, end = 0, done = 0;
	cost_ready_reset(ready);
	for (int round = 0; round <= loops; round++) {
		double slots = 0;
		start = fence = end;
		for (uint32_t k = from; k < to; k++) {
			struct cost c = cost_of(core, k);
			double at = cost_ready_at(ready, core, k);
			at = at > fence ? at : fence;
			slots += c.slots;
			end = at > end ? at : end;
			if (c.mix == MIX_BARRIER)
				fence = end = (end > start + slots ? end : start + slots) + c.latency;
			at += latency_of(p, &p->sites[k], &c);
			cost_ready_set(ready, core, k, at);
			done = at > done ? at : done;
		}
		end = end > start + slots ? end : start + slots;
	}
	return loops ? end - start : done > end ? done : end;
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
	p->work.dram_sectors += (double)(p->l2.written_back + p->l2.filled);
	uint64_t dirty = dirty_sectors(&p->l2);
	p->work.dirty_sectors = dirty > p->dirty_before ? (double)(dirty - p->dirty_before) : 0;
	struct roofline_estimate estimate;
	roofline_time(&p->work, p->gpu, &roofline_fitted, &estimate);
	r->last_work = p->work;
	r->time_us += estimate.time_us;
	if (!r->kernel || estimate.time_us > r->longest.time_us) {
		r->longest = estimate;
		r->longest_work = p->work;
		r->kernel = core->image->kernel->public.name;
	}
	r->l2_sectors += (uint64_t)p->work.l2_sectors;
	r->dram_sectors += (uint64_t)p->work.dram_sectors;
	for (uint32_t k = 0; k < r->n_buffers; k++)
		r->buffers[k] = &p->traffic[k].public;
	free_launch(p);
}
