/* What runs beside the threads: copies that are started now and done later, and the barriers in shared memory
 * (mbarrier) that tell of their end. Nothing here is done before the program waits for it. */
#ifndef PTX_ASYNC_H
#define PTX_ASYNC_H

#include "ptx/table.h"

/* One cp.async of a warp. */
struct copy {
	uint32_t lanes;				/* that have not been copied */
	uint8_t bytes;				/* written; what is not read is zero */
	uint8_t read[LANES];
	uint32_t group[LANES];
	char *to[LANES];
	const char *from[LANES];
};

/* The cp.async of a warp, in order. A lane's copies after its last commit belong to group `committed`. */
struct copies {
	struct copy *list;
	uint32_t head, count, capacity;		/* list[head .. count) */
	uint64_t before;			/* how many came before list[0] */
	uint32_t committed[LANES], bulk_committed[LANES];
};

enum transfer_kind {
	TRANSFER_ARRIVE,			/* an arrival once a warp's copies so far are done */
	TRANSFER_MOVE,				/* bytes */
	TRANSFER_REDUCE				/* elements of type, by operation */
};

struct transfer {
	uint8_t kind, operation, type;
	bool waits;				/* its source is read no more: data holds the bytes */
	struct warp *warp;
	uint32_t lanes;				/* one bit but for TRANSFER_ARRIVE */
	u64 *barrier;				/* NULL: of a bulk group */
	char *to;
	const char *from;			/* NULL: data */
	uint32_t bytes, group;
	uint64_t copies;			/* TRANSFER_ARRIVE: how many of the warp's copies it waits for */
	char value[16], *data;			/* data is owned, and may be NULL */
};

/* The warp's copies, made when first asked for. Borrowed. */
struct copies *warp_copies(struct warp *w);
/* Room for one more cp.async. Borrowed until the next. The oldest are done when there are too many. */
struct copy *copies_add(struct warp *w);
/* Does the copies of each lane in all groups but the last `keep`. */
void copies_wait(struct warp *w, uint32_t lanes, uint32_t keep);
/* Bytes of shared memory that a copy will write are as if never written until then; and then they are. */
void mark_shared(struct warp *w, const char *to, uint32_t bytes, bool written);

/* Takes the transfer. */
void transfer_add(struct warp *w, const struct transfer *transfer);
/* Does what is tied to a barrier, in order, until its phase ends. */
void transfers_for(struct machine_core *core, u64 *barrier);
/* The bulk groups of the lanes but the last `keep`: done, or just read. */
void transfers_wait(struct warp *w, uint32_t lanes, uint32_t keep, bool read_only);
/* A block starts, a block ended (what it sends to global memory arrives), a launch is over. */
void async_start(struct block *block);
void async_end(struct machine_core *core, struct block *block);
void async_free(struct machine_core *core, struct block *block);

/* ---- mbarrier: 64 bits. Expected arrivals in bits 0-19, arrivals still pending in 20-39, bytes still to come
 * in 40-60 (signed), parity of the phase in 61, and bit 62 set with 63 clear tells that it was initialised. */
#define MBARRIER_MAX_COUNT 0xfffff
static inline uint32_t mbarrier_expected(uint64_t v) { return (uint32_t)(v & 0xfffff); }
static inline uint32_t mbarrier_pending(uint64_t v) { return (uint32_t)(v >> 20 & 0xfffff); }
static inline int32_t mbarrier_bytes(uint64_t v) { return (int32_t)((int64_t)(v << 3) >> 43); }
static inline uint32_t mbarrier_phase(uint64_t v) { return (uint32_t)(v >> 61 & 1); }
static inline bool mbarrier_valid(uint64_t v) { return v >> 62 == 1; }
static inline uint64_t
mbarrier_make(uint32_t expected, uint32_t pending, int32_t bytes, uint32_t phase)
{
	return expected | (uint64_t)pending << 20 | ((uint64_t)bytes & 0x1fffff) << 40 | (uint64_t)phase << 61 | 1ull << 62;
}
/* Changes the counts; a phase in which nothing is pending ends, and the next begins. False: a count would leave
 * its range, and nothing is changed. */
bool mbarrier_change(u64 *barrier, int32_t expected, int32_t pending, int32_t bytes);

/* ---- exec_atomic.c: one element of a reduction */
void reduce_element(enum operation operation, enum type type, char *to, const char *value);

#endif
