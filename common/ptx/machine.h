/* Inside the PTX machine: decoded instructions, warps, memory. Not for other folders.
 *
 * A register is an array of 32 values, one for each lane, in the frame of its warp; a predicate is a mask of
 * 32 bits. Instructions hold byte offsets into the frame. A handler executes one instruction for the lanes in
 * `mask`. Arithmetic may also compute the lanes of `wide`, which is all 32 whenever the lanes outside of mask
 * have exited or never existed: then the whole array is written without looking at a mask. */
#ifndef PTX_MACHINE_H
#define PTX_MACHINE_H

#include <setjmp.h>

#include "ptx/module.h"

#define FULL 0xffffffffu
enum { LANES = 32, MAX_WARPS = 32, N_BARRIERS = 16 };
#define NO_REG 0xffffffffu

/* Generic addresses of the windows; nothing is mapped there, and buffers may not be. */
#define SHARED_WINDOW 0x010000000000ull
#define LOCAL_WINDOW 0x020000000000ull
#define PARAM_WINDOW 0x030000000000ull
#define CODE_WINDOW 0x040000000000ull		/* function addresses: + 16 * (1 + number in the module) */
#define WINDOW_BYTES 0x01000000ull
/* Shared memory of rank r of the cluster: its bytes 0... stand at (r + 1) * WINDOW_BYTES of the shared window, and in
 * 32-bit addresses of shared memory; a block's own memory also at 0. */
#define SHARED_WINDOW_BYTES (17 * WINDOW_BYTES)
/* What grid-wide barriers of a cooperative launch count in; %envreg1 and %envreg2 give its address. */
#define GRID_WINDOW 0x050000000000ull
enum { GRID_WORKSPACE_BYTES = 64, MAX_CLUSTER_BLOCKS = 16 };
/* Shared memory that the system keeps for itself and cooperative groups use: %reserved_smem_offset_begin to _end. A GPU
 * has it before the block's own, here it is behind all that a block can have. */
enum { RESERVED_SHARED_BYTES = 1024 };
#define RESERVED_SHARED ((uint32_t)WINDOW_BYTES - RESERVED_SHARED_BYTES)

struct insn;
struct profile;
struct warp;
struct race;
struct race_block;
struct shadow;
typedef void handler(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide);
/* Bit l of the result: the comparison of elements l of two arrays of 32 values. */
typedef uint32_t compare_function(const void *a, const void *b);

enum insn_kind {
	K_RUN,				/* run(), next */
	K_JOIN,				/* a block falls into the next one: other lanes may wait there */
	K_BRANCH, K_BRANCH_TABLE, K_CALL, K_CALL_POINTER, K_RETURN, K_EXIT,
	K_BARRIER, K_BARRIER_ARRIVE, K_CLUSTER_ARRIVE, K_CLUSTER_WAIT,
	K_COLLECTIVE			/* waits for the lanes of the mask in register e, then run() */
};

/* insn.flag of loads, stores and atomics: their order (weak below ORDER_RELAXED, other instructions use those bits);
 * insn.buffer_hint of atomics: their scope. */
enum { ORDER_RELAXED = 4, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_BOTH };
enum { SCOPE_BLOCK = 1, SCOPE_CLUSTER, SCOPE_GRID };

struct insn {
	handler *run;
	handler *inner;			/* behind a wrapper, NULL when there is none */
	uint32_t d, a, b, c, e;		/* frame offsets; NO_REG when absent */
	uint32_t guard;			/* offset of a predicate, NO_REG for none */
	int64_t imm;
	uint32_t target;		/* instruction index; memory instructions: pattern index */
	uint8_t kind, guard_negated, n, flag;
	uint8_t size, space, sub, mode;
	uint16_t buffer_hint, negated;
	uint32_t place;			/* its own index in the code */
	union {
		uint32_t *list;		/* offsets of more registers */
		compare_function *compare;
		struct call_site *call;
		const struct video *video;
	};
};

/* The addresses of the lanes of one memory instruction relative to the first, as of its last execution:
 * most instructions repeat them, and then bounds, sectors and bank conflicts are known. */
enum shape { SHAPE_NONE, SHAPE_CONTIGUOUS, SHAPE_UNIFORM, SHAPE_CHUNKS, SHAPE_GENERAL };

struct pattern {
	int32_t relative[LANES] __attribute__((aligned(64)));
	uint32_t mask;
	int32_t low, high;		/* least and greatest of relative */
	uint8_t shape, aligned;
	uint8_t chunk_uniform;		/* SHAPE_CHUNKS: bit c: chunk c of 8 lanes is uniform, else contiguous */
	uint32_t hint;			/* buffer index of last time */
	uint8_t sectors[32];		/* by first address modulo 32; 0 is unknown */
	uint8_t passes[4];		/* shared passes by first address modulo 4; 0 is unknown */
	/* for racecheck: lanes that stand side by side or at one place; n_runs 0: not looked for yet */
	uint8_t n_runs, run_lane[LANES], run_lanes[LANES], run_same[LANES];
};

struct source {				/* parallel to the code */
	uint32_t line;
	struct location location;
	struct slice opcode;
	const struct function *function;
	/* what the address was made from: see provenance.h */
	const struct variable *variable;	/* in shared memory; NULL: unknown */
	uint32_t low, high;			/* bytes of shared memory that it may reach */
	uint32_t parameter;			/* 1 + number of the 8 bytes of parameters; 0: unknown */
};

struct call_argument {
	uint32_t from, to, bytes;	/* offsets in the areas of caller and callee */
};

struct call_site {
	uint32_t callee;		/* index in image->functions; unused for pointers */
	uint32_t caller;
	uint32_t n_arguments, n_returns;
	struct call_argument *arguments, *returns;
};

struct image_function {
	const struct function *function;
	uint32_t entry, end;		/* code indices */
	uint32_t frame, frame_bytes;	/* its registers within the warp's frame */
	uint32_t area;			/* frame offset of its call parameters: lane l at area + l * area_bytes */
	uint32_t area_bytes;
	uint32_t local_pointer;		/* frame offset of the register that holds where its locals start */
	uint32_t local_bytes;
	bool recursive;
	uint32_t class_offset[5], class_slots[5];	/* predicates, then registers of 2, 4, 8 and 16 bytes */
};

/* The same for all kernels of a module. 0: it has none that can be called. */
static inline uint64_t
function_address(const struct function *f)
{
	return f->has_body && !f->is_kernel ? CODE_WINDOW + 16 * (f->number + 1ull) : 0;
}

struct constant {
	uint64_t bits;
	uint32_t bytes, offset;
	enum special special;		/* SR_NONE: a constant */
	bool predicate;
};

struct shared_place {
	const struct variable *variable;
	uint32_t offset;
};

/* A kernel with all it calls, decoded. Functions stand before their callers in the code, so that the lane
 * furthest down the call chain has the lowest instruction index. */
struct image {
	struct arena arena;
	const struct function *kernel;
	struct insn *code;
	struct source *sources;
	uint32_t n_code, entry;
	struct image_function *functions;
	uint32_t n_functions;
	uint32_t *by_number;			/* indices of functions, in the order of their numbers in the module */
	struct constant *constants;
	uint32_t n_constants;
	struct pattern *patterns;
	uint32_t n_patterns;
	struct shared_place *shared;
	uint32_t n_shared, shared_bytes;	/* static */
	uint32_t local_bytes;			/* of a thread, calls included */
	uint32_t frame_bytes;
	bool recursive;
	bool reserved_shared;			/* uses the reserved part of shared memory */
	uint32_t dynamic_local;			/* bytes of local_bytes, at their end, for alloca; 0: it is not used */
};

struct barrier {
	uint32_t warps;				/* that have arrived with all their lanes */
	uint32_t expected_warps;		/* 0: all warps that are alive */
	uint32_t arrived[MAX_WARPS];		/* lanes, of warps not yet counted */
	uint32_t waiting[MAX_WARPS];		/* lanes to wake */
	uint32_t passed[MAX_WARPS];		/* lanes that went past it while others of their warp wait */
	uint32_t first_pc;			/* instruction of the first arrival, NO_REG */
	uint32_t ones, lanes;			/* for bar.red: predicates that were true, of how many */
};

struct copies;
struct transfer;

struct transfers {				/* copies that wait for their time, in order; async.h */
	struct transfer *list;
	uint32_t count, capacity;
};

struct warp {
	char *frame;
	struct block *block;
	struct machine_core *core;
	uint32_t key[LANES] __attribute__((aligned(64)));	/* where a lane that is not running stands: depth and index */
	uint32_t started, alive;		/* lanes that exist; that have not exited */
	uint32_t runnable;			/* alive and not waiting */
	uint32_t parked;			/* waiting in a collective; in runnable too */
	uint32_t at_barrier;
	uint32_t deferred;			/* had their turn; others go first */
	struct copies *copies;			/* cp.async under way, NULL before the first */
	uint32_t carry;				/* condition code, a bit for each lane */
	uint32_t number;
	uint32_t *returns[MAX_CALL_DEPTH];	/* return addresses by depth, 32 each; allocated when reached */
	uint8_t depth[LANES];
	struct saved_frame *saved[LANES];	/* frames of recursive functions */
	uint32_t (*allocated)[LANES];		/* bytes of alloca in use, by depth of calls; NULL: there is none */
	uint64_t turn;				/* instructions of the running lanes while others of the warp could run */
	bool atomic_seen;			/* since last asked: the lanes may be spinning. Handlers set it */
	bool polling;				/* the same, in this turn */
	bool yields;				/* found that it has to wait: others go first. Handlers set it */
	bool spins;				/* was seen to do nothing but wait for memory to change */
	uint64_t idle_at;			/* core->stores then */
	uint32_t polls;				/* stretches of code with such an instruction since the last probe */
	uint64_t since_probe, probe_gap;	/* instructions */
	/* the barrier of the cluster: lanes that arrived; that arrived, and all others too; that wait */
	uint32_t cluster_arrived, cluster_passed, cluster_waiting;
};

/* Blocks that run together and see each other's shared memory; without clusters each block is one. */
struct cluster {
	struct block *blocks;			/* by rank */
	uint32_t n_blocks, blocks_alive;
	uint32_t dim[3];			/* in blocks */
	uint32_t lanes_alive, lanes_arrived;	/* of all its blocks; at the barrier of the cluster */
	bool is_explicit;
};

struct block {
	struct warp *warps;
	uint32_t n_warps, n_threads, warps_alive;
	char *shared;
	uint32_t shared_bytes;
	char *reserved;				/* RESERVED_SHARED_BYTES, NULL: not used */
	uint8_t *shared_initialised;		/* checked mode: a byte for each byte */
	uint8_t *local_initialised;
	char *local;				/* lane after lane */
	uint32_t local_bytes;			/* of a thread */
	const char *params;
	uint32_t params_bytes;
	uint32_t index[3], grid[3], dim[3];
	struct barrier barriers[N_BARRIERS];
	struct race_block *race;		/* NULL: races are not looked for */
	struct cluster *cluster;
	uint32_t rank;				/* in its cluster */
	bool suspect;				/* polls memory, and was not seen to stand still: others go in between */
	bool fresh;				/* has not run yet */
	bool idle;				/* when it last ran, all of its warps waited or span */
	uint64_t idle_at;			/* core->stores then */
};

struct buffer {
	uint64_t address, size;
	char *name;
	uint8_t access;
	bool freed, constant;			/* constant: a __constant__ variable */
	uint8_t *initialised;			/* a bit for each byte, NULL: all of it is */
	struct shadow *shadow;			/* of racecheck, NULL until used */
};

/* What handlers need of the machine. */
struct machine_core {
	struct buffer *buffers;			/* by address */
	uint32_t n_buffers, cap_buffers;
	struct ptx_counters counters;
	bool checked;
	struct buffer **parameter;		/* that the parameters point at, for each 8 bytes of them */
	uint32_t n_parameters;
	struct race *race;			/* NULL: races are not looked for */
	struct profile *profile;		/* NULL: launches are not profiled */
	const struct image *image;
	struct insn *code;
	struct pattern *patterns;
	struct block *block;
	jmp_buf stop;				/* longjmp(stop, status) ends the launch */
	struct ptx_options options;
	struct buf output, scratch[3];		/* scratch outlives a longjmp */
	struct findings *findings;
	const struct ptx_module *module;
	uint64_t budget_left;
	size_t memory_used;
	struct transfers transfers;
	uint64_t stores;			/* that may have changed memory: who waits for a change asks again */
	bool probing;				/* stores are put on record before they are done */
	struct buf snapshot;			/* of a warp, while probing */
	struct buf before;			/* struct stored_bytes and the bytes, while probing */
	char *workspace;			/* GRID_WORKSPACE_BYTES, NULL before the first cooperative launch; later ordinary
						 * launches see it too, as on an H200: their grid barriers work */
	uint64_t random;			/* of the schedule; 0: the plain order */
	bool interrupted;			/* under a schedule: a warp stopped in front of an access, others come between */
};

/* What stood where a store goes, on record while probing. */
struct stored_bytes {
	char *at;
	uint32_t size;
};

/* ---- decode.c */
/* Decodes a kernel; symbol_addresses by variable index (NULL: placeholders, the image is not for running).
 * NULL with a sentence in err; *unsupported tells a limit of the machine from broken PTX. Returned owned. */
struct image *image_new(const struct ptx_module *module, const struct function *kernel, const uint64_t *symbol_addresses,
	bool *unsupported, struct buf *err);
void image_free(struct image *image);
/* Fills in the sizes of shared and local memory in kernel->public. */
void kernel_sizes(const struct ptx_module *module, struct function *kernel);

/* ---- memory.c */
/* The buffer that holds [address, address + size), or NULL. */
struct buffer *buffer_find(struct machine_core *core, uint64_t address, uint64_t size);
bool initialised_all(const struct buffer *buffer, uint64_t address, uint64_t size);
void initialised_set(struct buffer *buffer, uint64_t address, uint64_t size, bool value);
/* Host pointer for one lane's access after all checks; stops the launch when they fail. space as in
 * enum ptx_space. */
enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_ATOMIC = 3 };
char *lane_pointer(const struct insn *i, struct warp *w, uint32_t lane, uint64_t address, uint32_t size, int access,
	enum ptx_space space);
/* Before a store: what stands there now goes on record, since a warp that only waits changes nothing. */
void note_store(struct machine_core *core, char *at, uint32_t size);
/* Address of the lane's access by registers a and imm. */
uint64_t lane_address(const struct insn *i, const struct warp *w, uint32_t lane);

/* ---- findings.c */
struct finding_place {
	enum ptx_check check;
	enum ptx_kind kind;
	uint32_t lane;
	enum ptx_space space;
	uint64_t address;
	uint32_t size;
	bool write, warning;
	const struct buffer *object;	/* that the address was made from; NULL: the nearest */
	bool pair;			/* a race: the other side follows */
	uint32_t other_place, other_who;	/* instruction; number of the warp in the grid * 32 + lane */
};
/* Adds a finding at instruction i, or counts it again. Its message, borrowed; NULL when it is not new. */
const char *report(struct warp *w, const struct insn *i, const struct finding_place *place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds a finding without a place: elements of the buffer were never written, the first at first_byte. */
void report_never_written(struct findings *findings, const struct buffer *b, uint64_t first_byte, uint32_t element_bytes,
	const char *message);
/* Stops the launch, with a finding, unless all lanes are there. */
void whole_warp(struct warp *w, const struct insn *i, uint32_t mask);
struct findings *findings_new(size_t max);
void findings_free(struct findings *findings);
void findings_reset(struct findings *findings);
/* message: of the finding, the very pointer. */
void findings_remove(struct findings *findings, const char *message);
size_t findings_errors(const struct findings *findings);
size_t findings_count(const struct findings *findings);
const struct ptx_finding *findings_at(const struct findings *findings, size_t index);
uint64_t findings_dropped(const struct findings *findings);
/* Message of the newest finding, "" when there is none. */
const char *findings_last_message(const struct findings *findings);

/* ---- warp.c */
enum block_state {
	BLOCK_DONE,
	BLOCK_RUNNING,				/* the slice is over */
	BLOCK_IDLE				/* nothing goes on unless another block changes memory, or comes to a barrier */
};
/* Runs a block, its warps set up, to its end, or for about `slice` instructions of warps, or until it can only wait
 * for other blocks. Stops by longjmp(core->stop). */
enum block_state block_run(struct machine_core *core, struct block *block, uint64_t slice);
/* Reports who of the live blocks waits where, and stops the launch. pending: blocks that found no place. */
_Noreturn void deadlock(struct machine_core *core, struct block *const *blocks, uint32_t n_blocks, uint64_t pending);
/* Frees what calls of the block left behind when it was stopped. */
void block_release(struct block *block);

/* ---- resident.c */
/* Whether the launch may run, by its grid, cluster and what the device holds at once. 0, or -1 with a sentence. */
int grid_check(const struct machine_core *core, const struct ptx_launch *launch, struct buf *err);
/* Runs all blocks of a launch that was checked. *status PTX_REFUSED comes with a sentence. */
enum ptx_status grid_run(struct machine_core *core, const struct ptx_launch *launch, const struct ptx_kernel *kernel,
	struct buf *err);
/* The next number of the schedule, below `below`. */
uint32_t schedule_random(struct machine_core *core, uint32_t below);

/* ---- print.c */
void print_call(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide);
void assert_call(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide);

/* ---- for handlers */
typedef uint8_t u8 __attribute__((may_alias));
typedef uint16_t u16 __attribute__((may_alias));
typedef uint32_t u32 __attribute__((may_alias));
typedef uint64_t u64 __attribute__((may_alias));
typedef int8_t s8 __attribute__((may_alias));
typedef int16_t s16 __attribute__((may_alias));
typedef int32_t s32 __attribute__((may_alias));
typedef int64_t s64 __attribute__((may_alias));
typedef float f32 __attribute__((may_alias));
typedef double f64 __attribute__((may_alias));

#define REG(type, offset) ((type *)__builtin_assume_aligned(w->frame + (offset), 32))
#define PREDICATE(offset) (*(u32 *)(w->frame + (offset)))
#if defined __clang__
/* Some lane loops stay scalar, those that divide integers: no fault. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define VECTORISE _Pragma("GCC ivdep")
#endif
#define EACH_LANE(l) VECTORISE for (int l = 0; l < LANES; l++)
#define EACH_IN(mask, l) for (uint32_t rest_ = (mask), l; rest_ && (l = (uint32_t)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)
#define HANDLER(name) static __attribute__((unused)) void name(const struct insn *i, struct warp *w, uint32_t mask, uint32_t wide)
#define UNUSED(x) ((void)(x))

static inline void
set_predicate(struct warp *w, uint32_t offset, uint32_t value, uint32_t mask)
{
	PREDICATE(offset) = (PREDICATE(offset) & ~mask) | (value & mask);
}

/* Copies the lanes in mask; the loop is a blend. */
#define MERGE(name, type) \
static inline void \
name(type *to, const type *from, uint32_t mask) \
{ \
	EACH_LANE(l) \
		to[l] = mask >> l & 1 ? from[l] : to[l]; \
}
MERGE(merge_8, u8)
MERGE(merge_16, u16)
MERGE(merge_32, u32)
MERGE(merge_64, u64)
#define MERGE_LANES(to, from, mask) \
	(sizeof *(to) == 1 ? merge_8((u8 *)(to), (const u8 *)(from), mask) : \
	 sizeof *(to) == 2 ? merge_16((u16 *)(to), (const u16 *)(from), mask) : \
	 sizeof *(to) == 4 ? merge_32((u32 *)(to), (const u32 *)(from), mask) : \
	 merge_64((u64 *)(to), (const u64 *)(from), mask))

#endif
