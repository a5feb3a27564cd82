/* Races: two accesses to the same bytes by different threads, one of them at least a plain write or a plain read of
 * something written, with nothing that orders them. Not for other folders.
 *
 * Order is happens-before, kept as vector clocks of warps. race->time only grows; every access bears the `now` of its
 * warp, which moves on whenever others may come to know of what the warp did. A warp knows, for each warp of its block
 * (and for each of the grid, once fences and flags between blocks are used), up to which stamp its accesses are over.
 * race.c keeps the clocks; shadow.c remembers the last write and the last reads of each piece of memory, and asks.
 *
 * Not looked at: accesses to shared memory of another block of the cluster, the order between generic and asynchronous
 * accesses (a fence.proxy.async that lacks), and which lane of a warp it was that released: the whole warp counts. */
#ifndef PTX_RACE_H
#define PTX_RACE_H

#include "ptx/machine.h"

enum race_scope { RACE_BLOCK, RACE_GRID, RACE_SCOPES };

/* Stamps of all warps of a grid, shared by those who know the same. */
struct history {
	uint32_t references, count;
	uint32_t stamp[];
};

struct clocks {
	uint32_t own[MAX_WARPS];		/* of the warps of the block */
	struct history *others;			/* of all warps of the grid; NULL: nothing is known of other blocks */
};

struct race_warp {
	uint32_t now;				/* stamp of what the warp does */
	uint32_t converged;			/* what its lanes did up to this stamp is over for all of them */
	struct clocks known;
	struct clocks fenced[RACE_SCOPES];	/* what it knew at its last fence of (at least) the scope */
	uint32_t (*lanes)[LANES];		/* per lane: known of each lane; NULL until lanes synchronise in part */
	bool has_fenced;
};

struct sync_entry {
	uint64_t key;
	struct clocks clocks;
};

struct sync_table {
	struct sync_entry **slot;		/* open addressing, NULL: empty */
	uint32_t count, cap;
};

struct shadow;

struct race_block {
	uint32_t first_warp;			/* number in the grid of the block's first warp */
	uint32_t n_warps;
	uint32_t started;			/* stamp before its first access */
	uint32_t barrier;			/* what the block did up to this stamp is over for all of it */
	struct race_warp warp[MAX_WARPS];
	struct clocks joining[N_BARRIERS];	/* of barriers with a count: what those that arrived knew */
	struct clocks joining_fenced[N_BARRIERS][RACE_SCOPES];
	struct sync_table flags;		/* places that a warp of the block released for its block */
	struct shadow *shared;
};

/* A finding that goes away if the read turns out to be the first half of an atomic operation. */
struct doubt {
	uint32_t read_place;
	const char *finding;		/* its message */
};
enum { MAX_DOUBTS = 256 };

struct race {
	struct machine_core *core;
	uint32_t time;
	uint32_t launch;			/* stamp before the first access of the launch */
	uint32_t n_warps;			/* of the grid */
	uint32_t block_warps;
	bool off;				/* nothing more is judged in this launch: out of stamps */
	bool between_blocks;			/* false: too many warps to keep clocks for */
	uint64_t merged_bytes;
	struct sync_table flags;		/* places that were released for the grid */
	uint8_t *optimistic;			/* by instruction: a read whose thread then used an atomic there */
	uint32_t *read_before;			/* by instruction: see race_read_before; 0: not looked for yet */
	struct doubt doubt[MAX_DOUBTS];
	uint32_t n_doubts;
	uint64_t shadow_bytes;
};

/* ---- life */
struct race *race_new(struct machine_core *core);
void race_free(struct race *race);
void race_start_launch(struct race *race, uint64_t grid_blocks, uint32_t block_warps);
/* Takes findings back that turned out to be none. */
void race_end_launch(struct race *race);
struct race_block *race_block_new(struct race *race, uint32_t shared_bytes);
void race_block_free(struct race_block *block);
/* Before the block's first instruction; number: in the grid. */
void race_start_block(struct race *race, struct race_block *block, uint64_t number, uint32_t n_warps);

/* ---- what orders accesses */
/* A barrier of all warps of the block is complete. */
void race_barrier(struct block *block);
/* A warp arrives at barrier id, of which it need not be a waiter; then the barrier is complete for those in waiting. */
void race_arrive(struct warp *w, uint32_t id);
void race_barrier_some(struct block *block, uint32_t id, const uint32_t *waiting);
/* The lanes in mask have met. */
void race_warp_sync(struct warp *w, uint32_t mask);
void race_fence(struct warp *w, enum race_scope scope);
/* What the warp did so far (all: also what no fence stands after) is over for whoever acquires the same key. key: the
 * address as a generic one. */
void race_release(struct warp *w, uint64_t key, enum race_scope scope, bool all);
void race_acquire(struct warp *w, uint32_t lane, uint64_t key);

/* Was it before what lane `lane` of the warp does now? who: number of the warp in the grid * 32 + lane. */
bool race_ordered(const struct warp *w, uint32_t lane, uint32_t who, uint32_t stamp);

/* The volatile load that a volatile store takes its value from, changed on the way, and that has the same address: both
 * together are a read-modify-write. NULL: the store is no such thing. */
const struct insn *race_read_before(struct race *race, const struct insn *store);

/* ---- memory: shadow.c */
struct shadow *shadow_new(struct race *race, uint64_t bytes);
void shadow_free(struct shadow *shadow);
/* One request that was found good: lanes of mask at first + pattern->relative, in the space's own addresses. */
void race_request(const struct insn *i, struct warp *w, struct buffer *buffer, struct pattern *p, uint64_t first,
	uint32_t mask, uint32_t size, int access);
/* One lane of a request; buffer NULL: shared memory. */
void race_lane(const struct insn *i, struct warp *w, struct buffer *buffer, uint32_t lane, uint64_t address, uint32_t size,
	int access);
/* One lane's access to a place that only carries order: the words of a grid-wide barrier, or (space shared) what
 * cooperative groups keep in reserved shared memory. */
void race_flag(const struct insn *i, struct warp *w, uint32_t lane, enum ptx_space space, uint64_t address, int access);
/* Whether an access through this instruction can race: what is read-only cannot. */
static inline bool
race_watches(const struct machine_core *core, const struct buffer *buffer)
{
	return core->race && (!buffer || buffer->access & PTX_WRITE);
}

#endif
