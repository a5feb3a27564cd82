/* In: a launch that was checked. Out: all its blocks run.
 *
 * A GPU gives blocks their places in order and then runs all that have one at the same time; here a block runs until
 * it ends, or can only wait for others, or had its slice. The next is then, in this order: a block of a cluster that
 * has a place and never ran; one of the same cluster that may go on; the next of the grid, if a place is left; the
 * next in a ring of those that may go on. So the usual kernel needs one place, and its blocks run one after the
 * other, while blocks that wait for later ones (barriers over the grid, flags, locks) find these live.
 *
 * Every live block makes progress if it can: a turn is finite; the grid is finite, so that new blocks delay the
 * ring only so often; those of one cluster go before the ring at most CLUSTER_TURNS times in a row; and the ring
 * leaves out only those that wait, or spin on memory in which nothing was written since (warp.c proves it). When
 * the ring is empty none of them can ever go on, which is reported as a deadlock. */
#include <string.h>

#include "base/die.h"
#include "base/occupancy.h"
#include "ptx/async.h"
#include "ptx/machine.h"
#include "ptx/profile.h"
#include "ptx/provenance.h"
#include "ptx/race.h"

enum {
	SM_COUNT = 132, SM_WARPS = 64, SM_ARCH = 90,	/* of an H200 */
	RESERVED_USED_BYTES = 288,		/* of reserved shared memory, as an H200 says of it */
	SLICE = 1 << 20,			/* instructions of warps before other blocks get their turn */
	CLUSTER_TURNS = 64,
	SCHEDULE_WINDOW = 32			/* blocks that are live at once under a schedule of one's own */
};

/* Memory for the blocks of a cluster. */
struct slot {
	struct cluster cluster;			/* first: its address is the slot's */
	struct slot *next_free;
	struct warp *warps;
	char *frames, *shared, *local;
	char *reserved;				/* RESERVED_SHARED_BYTES each, NULL: not used */
	uint32_t (*allocated)[LANES];		/* of alloca, by warp and depth, NULL: not used */
	uint8_t *shared_initialised, *local_initialised;
};

struct grid_run {
	const struct ptx_launch *launch;
	const struct ptx_kernel *kernel;
	char *params;
	uint32_t clusters[3];			/* of the grid, by axis */
	uint64_t n_clusters, next_cluster;	/* in all; not yet started */
	struct slot **slots, *free;
	uint32_t n_slots, cap_slots;
	uint64_t max_slots;			/* clusters that the device holds at once */
	bool short_of_memory;
	struct block **live;
	uint32_t n_live, cap_live, turn;	/* turn: where the ring goes on */
	uint64_t turns_alike;			/* since a block started or ended, under a schedule */
	struct cluster *last;			/* of the block that ran last */
	uint32_t cluster_turns;
};

static void *
aligned(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
	if (!memory)
		die(EX_TEMPFAIL, "out of memory");
	return memory;
}

uint32_t
schedule_random(struct machine_core *core, uint32_t below)
{
	uint64_t z = core->random += 0x9e3779b97f4a7c15ull;	/* splitmix64 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) >> 32) % below;
}

/* ---- what the device holds */

static uint32_t
cluster_blocks(const struct ptx_launch *l)
{
	return l->cluster[0] ? l->cluster[0] * l->cluster[1] * l->cluster[2] : 1;
}

static uint64_t
resident_blocks(const struct machine_core *core, const struct ptx_launch *l)
{
	/* registers are not known here: as many as limit nothing */
	struct occupancy_kernel k = { .registers = LANES, .static_shared = core->image->shared_bytes + l->dynamic_shared,
		.max_threads = 1024, .carveout = -1, .gpu = occupancy_gpu(SM_ARCH) };
	uint32_t blocks = occupancy_blocks(&k, l->block[0] * l->block[1] * l->block[2], 0);
	if (l->max_resident)
		return l->max_resident;
	return (uint64_t)SM_COUNT * (blocks ? blocks : 1);
}

int
grid_check(const struct machine_core *core, const struct ptx_launch *l, struct buf *err)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], resident = resident_blocks(core, l);
	bool clustered = l->cluster[0] || l->cluster[1] || l->cluster[2];
	for (int k = 0; k < 3 && clustered; k++)
		if (!l->cluster[k] || l->cluster[k] > MAX_CLUSTER_BLOCKS || l->grid[k] % l->cluster[k])
			return buf_err(err, "Kernel %s cannot be launched in clusters of (%u,%u,%u) blocks.", l->kernel, l->cluster[0],
				l->cluster[1], l->cluster[2]);
	if (cluster_blocks(l) > MAX_CLUSTER_BLOCKS || cluster_blocks(l) > resident)
		return buf_err(err, "Kernel %s cannot be launched in clusters of %u blocks.", l->kernel, cluster_blocks(l));
	if (l->cooperative && blocks > resident)
		return buf_err(err, "Kernel %s has too many blocks for a cooperative launch: %llu, where %llu run at once.", l->kernel,
			(unsigned long long)blocks, (unsigned long long)resident);
	return 0;
}

/* ---- special registers */

static uint32_t
special_value(const struct machine_core *core, enum special special, const struct warp *w, uint32_t lane)
{
	const struct block *b = w->block;
	const struct cluster *c = b->cluster;
	uint32_t t = w->number * LANES + lane, bit = 1u << lane;
	switch (special) {
	case SR_TID_X: return t % b->dim[0];
	case SR_TID_Y: return t / b->dim[0] % b->dim[1];
	case SR_TID_Z: return t / b->dim[0] / b->dim[1];
	case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z: return b->dim[special - SR_NTID_X];
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z: return b->index[special - SR_CTAID_X];
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z: return b->grid[special - SR_NCTAID_X];
	case SR_LANEID: return lane;
	case SR_WARPID: return w->number;
	case SR_NWARPID: return SM_WARPS;
	case SR_LANEMASK_EQ: return bit;
	case SR_LANEMASK_LT: return bit - 1;
	case SR_LANEMASK_LE: return bit | (bit - 1);
	case SR_LANEMASK_GT: return ~(bit | (bit - 1));
	case SR_LANEMASK_GE: return ~(bit - 1);
	case SR_SMID: return 0;
	case SR_NSMID: return SM_COUNT;
	case SR_DYNAMIC_SMEM: return b->shared_bytes - core->image->shared_bytes;
	case SR_TOTAL_SMEM: return (b->shared_bytes + 127) & ~127u;
	case SR_WARP_SZ: return LANES;
	case SR_CLUSTER_CTARANK: return b->rank;
	case SR_CLUSTER_NCTARANK: return c->n_blocks;
	case SR_CLUSTER_CTAID_X: return b->rank % c->dim[0];
	case SR_CLUSTER_CTAID_Y: return b->rank / c->dim[0] % c->dim[1];
	case SR_CLUSTER_CTAID_Z: return b->rank / c->dim[0] / c->dim[1];
	case SR_CLUSTER_NCTAID_X: case SR_CLUSTER_NCTAID_Y: case SR_CLUSTER_NCTAID_Z: return c->dim[special - SR_CLUSTER_NCTAID_X];
	case SR_CLUSTERID_X: case SR_CLUSTERID_Y: case SR_CLUSTERID_Z:
		return b->index[special - SR_CLUSTERID_X] / c->dim[special - SR_CLUSTERID_X];
	case SR_NCLUSTERID_X: case SR_NCLUSTERID_Y: case SR_NCLUSTERID_Z:
		return b->grid[special - SR_NCLUSTERID_X] / c->dim[special - SR_NCLUSTERID_X];
	case SR_IS_EXPLICIT_CLUSTER: return c->is_explicit ? FULL : 0;
	case SR_AGGR_SMEM: return b->shared_bytes + RESERVED_SHARED_BYTES;
	case SR_RESERVED_BEGIN: case SR_RESERVED_0: case SR_RESERVED_1: return RESERVED_SHARED;
	case SR_RESERVED_END: return RESERVED_SHARED + RESERVED_USED_BYTES;
	case SR_RESERVED_CAP: return RESERVED_SHARED_BYTES;
	case SR_ENVREG1: return core->workspace ? (uint32_t)(GRID_WINDOW >> 32) : 0;
	case SR_ENVREG2: return core->workspace ? (uint32_t)GRID_WINDOW : 0;
	default: return 0;
	}
}

/* Does it differ between the blocks that use a slot one after the other? */
static bool
is_block_special(enum special s)
{
	return (s >= SR_CTAID_X && s <= SR_CTAID_Z) || (s >= SR_CLUSTERID_X && s <= SR_CLUSTERID_Z);
}

static void
fill_constant(const struct machine_core *core, const struct constant *c, struct warp *w)
{
	char *at = w->frame + c->offset;
	if (c->predicate) {
		uint32_t value = c->special ? special_value(core, c->special, w, 0) : (uint32_t)c->bits;
		memcpy(at, &value, 4);
		return;
	}
	for (uint32_t l = 0; l < LANES; l++) {
		uint64_t value[2] = { c->special ? special_value(core, c->special, w, l) : c->bits, 0 };
		memcpy(at + (size_t)l * c->bytes, value, c->bytes);
	}
}

/* ---- places */

static void
set_up_block(struct machine_core *core, const struct grid_run *g, struct slot *s, uint32_t rank)
{
	const struct image *im = core->image;
	const struct ptx_launch *l = g->launch;
	struct block *b = &s->cluster.blocks[rank];
	b->n_threads = l->block[0] * l->block[1] * l->block[2];
	b->n_warps = (b->n_threads + LANES - 1) / LANES;
	b->shared_bytes = im->shared_bytes + l->dynamic_shared;
	b->local_bytes = im->local_bytes;
	b->params_bytes = g->kernel->params_bytes;
	b->params = g->params;
	b->cluster = &s->cluster;
	b->rank = rank;
	b->race = core->race ? race_block_new(core->race, b->shared_bytes) : NULL;
	memcpy(b->grid, l->grid, sizeof b->grid);
	memcpy(b->dim, l->block, sizeof b->dim);
	b->warps = s->warps + (size_t)rank * b->n_warps;
	b->shared = s->shared + (size_t)rank * ((b->shared_bytes + 63) & ~63u);
	b->local = s->local + (size_t)rank * b->n_warps * LANES * b->local_bytes;
	b->reserved = s->reserved ? s->reserved + (size_t)rank * RESERVED_SHARED_BYTES : NULL;
	b->local_initialised = s->local_initialised ? s->local_initialised + (size_t)(b->local - s->local) : NULL;
	b->shared_initialised = s->shared_initialised ? s->shared_initialised + (size_t)rank * b->shared_bytes : NULL;
	for (uint32_t n = 0; n < b->n_warps; n++) {
		struct warp *w = &b->warps[n];
		uint32_t rest = b->n_threads - n * LANES;
		w->frame = s->frames + ((size_t)rank * b->n_warps + n) * im->frame_bytes;
		w->block = b;
		w->core = core;
		w->number = n;
		w->started = rest >= LANES ? FULL : (1u << rest) - 1;
		if (s->allocated)
			w->allocated = s->allocated + ((size_t)rank * b->n_warps + n) * MAX_CALL_DEPTH;
		for (uint32_t k = 0; k < im->n_constants; k++)
			fill_constant(core, &im->constants[k], w);
	}
}

static void
slot_free(struct machine_core *core, struct slot *s)
{
	for (uint32_t k = 0; k < s->cluster.n_blocks; k++) {
		block_release(&s->cluster.blocks[k]);
		async_free(core, &s->cluster.blocks[k]);
		race_block_free(s->cluster.blocks[k].race);
	}
	free(s->cluster.blocks);
	free(s->warps);
	free(s->frames);
	free(s->shared);
	free(s->reserved);
	free(s->allocated);
	free(s->local);
	free(s->shared_initialised);
	free(s->local_initialised);
	free(s);
}

/* NULL when it would take more memory than a launch may have. */
static struct slot *
slot_new(struct machine_core *core, struct grid_run *g)
{
	const struct image *im = core->image;
	const struct ptx_launch *l = g->launch;
	uint32_t blocks = cluster_blocks(l), warps = (l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES;
	size_t frames = (size_t)im->frame_bytes * warps * blocks, local = (size_t)im->local_bytes * warps * LANES * blocks;
	size_t shared = (((size_t)im->shared_bytes + l->dynamic_shared + 63) & ~63ull) * blocks;
	size_t reserved = im->reserved_shared ? (size_t)RESERVED_SHARED_BYTES * blocks : 0;
	size_t depths = im->dynamic_local ? (size_t)MAX_CALL_DEPTH * warps * blocks : 0;
	size_t bytes = frames + local + shared + reserved + depths * LANES * sizeof(uint32_t)
		+ blocks * (sizeof(struct block) + warps * sizeof(struct warp));
	if (bytes > core->options.max_memory - core->memory_used)
		return NULL;
	core->memory_used += bytes;
	struct slot *s = xcalloc(1, sizeof *s);
	s->frames = aligned(frames);
	memset(s->frames, 0, frames);
	s->local = aligned(local);
	s->shared = aligned(shared);
	s->reserved = reserved ? aligned(reserved) : NULL;
	s->allocated = depths ? xcalloc(depths, sizeof *s->allocated) : NULL;
	s->shared_initialised = core->checked ? xmalloc(shared + 1) : NULL;
	s->local_initialised = core->checked && local ? xmalloc(local) : NULL;
	s->warps = aligned(blocks * warps * sizeof *s->warps);
	memset(s->warps, 0, blocks * warps * sizeof *s->warps);
	s->cluster.blocks = xcalloc(blocks, sizeof *s->cluster.blocks);
	s->cluster.n_blocks = blocks;
	s->cluster.is_explicit = l->cluster[0] != 0;
	for (int k = 0; k < 3; k++)
		s->cluster.dim[k] = l->cluster[0] ? l->cluster[k] : 1;
	for (uint32_t k = 0; k < blocks; k++)
		set_up_block(core, g, s, k);
	return s;
}

/* A place for the next cluster, NULL when there is none. */
static struct slot *
free_slot(struct machine_core *core, struct grid_run *g)
{
	struct slot *s = g->free;
	if (s) {
		g->free = s->next_free;
		return s;
	}
	if (g->n_slots >= g->max_slots || g->short_of_memory)
		return NULL;
	if (!(s = slot_new(core, g))) {
		g->short_of_memory = true;
		return NULL;
	}
	if (g->n_slots == g->cap_slots) {
		g->cap_slots = g->cap_slots ? g->cap_slots * 2 : 4;
		g->slots = xrealloc(g->slots, g->cap_slots * sizeof *g->slots);
		g->cap_live = g->cap_slots * s->cluster.n_blocks;
		g->live = xrealloc(g->live, g->cap_live * sizeof *g->live);
	}
	return g->slots[g->n_slots++] = s;
}

/* ---- blocks start and end */

static void
start_warp(struct machine_core *core, struct warp *w)
{
	const struct image *im = core->image;
	uint32_t key = 255u << 24 | im->entry;
	w->alive = w->runnable = w->started;
	w->parked = w->at_barrier = w->deferred = w->carry = 0;
	w->cluster_arrived = w->cluster_passed = w->cluster_waiting = 0;
	w->turn = w->since_probe = w->probe_gap = 0;
	w->polls = 0;
	w->atomic_seen = w->polling = w->spins = false;
	memset(w->depth, 0, sizeof w->depth);
	if (w->allocated)
		memset(w->allocated[0], 0, sizeof w->allocated[0]);
	for (int l = 0; l < LANES; l++)
		w->key[l] = key;
	for (uint32_t k = 0; k < im->n_constants; k++)
		if (is_block_special(im->constants[k].special)) {
			uint32_t value = special_value(core, im->constants[k].special, w, 0);
			EACH_LANE(l)
				((u32 *)(w->frame + im->constants[k].offset))[l] = value;
		}
}

static void
start_block(struct machine_core *core, struct block *b)
{
	memset(b->shared, 0xff, b->shared_bytes);
	if (b->reserved)
		memset(b->reserved, 0, RESERVED_SHARED_BYTES);
	if (b->shared_initialised)
		memset(b->shared_initialised, 0, b->shared_bytes);
	memset(b->local, 0xff, (size_t)b->local_bytes * b->n_warps * LANES);
	if (b->local_initialised)
		memset(b->local_initialised, 0, (size_t)b->local_bytes * b->n_warps * LANES);
	memset(b->barriers, 0, sizeof b->barriers);
	for (int k = 0; k < N_BARRIERS; k++)
		b->barriers[k].first_pc = NO_REG;
	b->warps_alive = b->n_warps;
	b->fresh = true;
	b->suspect = b->idle = false;
	for (uint32_t n = 0; n < b->n_warps; n++)
		start_warp(core, &b->warps[n]);
	async_start(b);
	if (b->race) {
		uint64_t number = b->index[0] + (uint64_t)b->grid[0] * (b->index[1] + (uint64_t)b->grid[1] * b->index[2]);
		race_start_block(core->race, b->race, number, b->n_warps);
	}
	core->counters.blocks++;
	if (core->profile)
		profile_block(core->profile);
}

/* The next cluster of the grid gets a place. False when there is none, or no cluster is left. */
static bool
start_cluster(struct machine_core *core, struct grid_run *g)
{
	struct slot *s = g->next_cluster < g->n_clusters ? free_slot(core, g) : NULL;
	if (!s)
		return false;
	struct cluster *c = &s->cluster;
	uint64_t number = g->next_cluster++;
	uint32_t at[3] = { (uint32_t)(number % g->clusters[0]), (uint32_t)(number / g->clusters[0] % g->clusters[1]),
		(uint32_t)(number / g->clusters[0] / g->clusters[1]) };
	g->turns_alike = 0;
	c->blocks_alive = c->n_blocks;
	c->lanes_arrived = 0;
	c->lanes_alive = c->n_blocks * c->blocks[0].n_threads;
	for (uint32_t r = 0; r < c->n_blocks; r++) {
		struct block *b = &c->blocks[r];
		b->index[0] = at[0] * c->dim[0] + r % c->dim[0];
		b->index[1] = at[1] * c->dim[1] + r / c->dim[0] % c->dim[1];
		b->index[2] = at[2] * c->dim[2] + r / c->dim[0] / c->dim[1];
		start_block(core, b);
		g->live[g->n_live++] = b;
	}
	return true;
}

static void
end_block(struct grid_run *g, struct block *b)
{
	uint32_t k = 0;
	g->turns_alike = 0;
	while (g->live[k] != b)
		k++;
	g->n_live--;
	memmove(g->live + k, g->live + k + 1, (g->n_live - k) * sizeof *g->live);
	if (k < g->turn)
		g->turn--;
	if (!--b->cluster->blocks_alive) {
		struct slot *s = (struct slot *)b->cluster;
		s->next_free = g->free;
		g->free = s;
	}
}

/* ---- whose turn it is */

static bool
may_go_on(const struct machine_core *core, const struct block *b)
{
	return !b->idle || b->idle_at != core->stores;
}

/* Only the cluster that started last can have such. */
static struct block *
fresh_block(const struct grid_run *g)
{
	struct block *first = NULL;
	for (uint32_t k = g->n_live; k-- > 0 && g->live[k]->cluster == g->live[g->n_live - 1]->cluster;)
		if (g->live[k]->fresh)
			first = g->live[k];
	return first;
}

static struct block *
block_of_same_cluster(const struct machine_core *core, struct grid_run *g)
{
	if (!g->last || g->last->n_blocks == 1 || !g->last->blocks_alive || g->cluster_turns++ >= CLUSTER_TURNS)
		return NULL;
	for (uint32_t r = 0; r < g->last->n_blocks; r++)
		if (g->last->blocks[r].warps_alive && may_go_on(core, &g->last->blocks[r]))
			return &g->last->blocks[r];
	return NULL;
}

static struct block *
next_in_ring(const struct machine_core *core, struct grid_run *g)
{
	for (uint32_t n = 0; n < g->n_live; n++) {
		uint32_t k = (g->turn + n) % g->n_live;
		if (may_go_on(core, g->live[k])) {
			g->turn = k + 1;
			return g->live[k];
		}
	}
	return NULL;
}

static struct block *
random_block(struct machine_core *core, struct grid_run *g)
{
	bool again = core->interrupted;		/* others come between two accesses of the block that ran last */
	bool one_more = !again && ++g->turns_alike > 4ull * g->n_live;	/* they may wait for one that has not started */
	while ((g->n_live < SCHEDULE_WINDOW || one_more) && start_cluster(core, g))
		one_more = false;
	g->turn = g->n_live ? schedule_random(core, g->n_live) : 0;
	if (again && g->live[g->turn] == core->block)
		g->turn = (g->turn + 1) % g->n_live;
	struct block *b = next_in_ring(core, g);
	return b || !start_cluster(core, g) ? b : g->live[g->n_live - 1];
}

static struct block *
next_block(struct machine_core *core, struct grid_run *g)
{
	struct block *b;
	if (core->random)
		return random_block(core, g);
	if ((b = fresh_block(g)) || (b = block_of_same_cluster(core, g)))
		return b;
	g->cluster_turns = 0;
	if (start_cluster(core, g))
		return fresh_block(g);
	return next_in_ring(core, g);
}

/* PTX_OK when all blocks came to their end; else stopped by longjmp, or for want of memory. */
static enum ptx_status
run_blocks(struct machine_core *core, struct grid_run *g, struct buf *err)
{
	struct block *b;
	while ((b = next_block(core, g))) {
		core->block = b;
		b->fresh = false;
		enum block_state state = block_run(core, b, core->random ? 1ull << (4 + schedule_random(core, 14)) : SLICE);
		b->idle = state == BLOCK_IDLE;
		b->idle_at = core->stores;
		g->last = state == BLOCK_RUNNING ? NULL : b->cluster;
		if (state == BLOCK_DONE) {
			async_end(core, b);
			end_block(g, b);
		}
	}
	if (!g->n_live && g->next_cluster == g->n_clusters)
		return PTX_OK;
	if (g->short_of_memory) {
		buf_err(err, "Kernel %s needs more blocks at once than fit in %zu bytes of memory.", g->launch->kernel,
			core->options.max_memory);
		return PTX_REFUSED;
	}
	deadlock(core, g->live, g->n_live, (g->n_clusters - g->next_cluster) * cluster_blocks(g->launch));
}

static void
grid_free(struct machine_core *core, struct grid_run *g)
{
	for (uint32_t k = 0; k < g->n_slots; k++)
		slot_free(core, g->slots[k]);
	free(g->slots);
	free(g->live);
	free(g->params);
	core->block = NULL;
	core->probing = false;
}

static enum ptx_status
run_guarded(struct machine_core *core, struct grid_run *g, struct buf *err)
{
	int status = setjmp(core->stop);
	if (status)
		return (enum ptx_status)status;
	if (start_cluster(core, g))
		return run_blocks(core, g, err);
	buf_err(err, "Kernel %s needs more than %zu bytes for registers and memory of a block.", g->launch->kernel,
		core->options.max_memory);
	return PTX_REFUSED;
}

enum ptx_status
grid_run(struct machine_core *core, const struct ptx_launch *l, const struct ptx_kernel *k, struct buf *err)
{
	struct grid_run g = { .launch = l, .kernel = k, .n_clusters = 1,
		.max_slots = resident_blocks(core, l) / cluster_blocks(l) };
	for (int i = 0; i < 3; i++) {
		g.clusters[i] = l->grid[i] / (l->cluster[0] ? l->cluster[i] : 1);
		g.n_clusters *= g.clusters[i];
	}
	core->memory_used = 0;
	core->stores = 1;
	core->random = core->options.schedule;
	core->interrupted = false;
	if (l->cooperative) {
		static const uint32_t words[GRID_WORKSPACE_BYTES / 4] = { 0x10, 0, 1 };	/* as on an H200; the barrier is word 1 */
		if (!core->workspace)
			core->workspace = xmalloc(sizeof words);
		memcpy(core->workspace, words, sizeof words);
	}
	g.params = aligned(k->params_bytes + 16);
	memset(g.params, 0, k->params_bytes + 16);
	if (k->params_bytes)
		memcpy(g.params, l->params, k->params_bytes);
	provenance_launch(core, g.params, k->params_bytes);
	if (core->race)
		race_start_launch(core->race, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
			(l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES);
	enum ptx_status status = run_guarded(core, &g, err);
	if (core->race)
		race_end_launch(core->race);
	grid_free(core, &g);
	return status;
}
