/* The inside of km-gpu: one process, one context, one candidate. Memory at the recorded addresses, code from nvcc's
 * fatbin, and launch plans replayed on it. Nothing here runs a candidate's host code.
 *
 * Every function gives CUDA_SUCCESS or the driver's error; what the worker itself cannot do ends it by die(), which
 * the supervisor takes for a failure of ours. */
#ifndef CUDA_GPU_H
#define CUDA_GPU_H

#include <jansson.h>

#include "cuda/driver.h"
#include "cuda/message.h"
#include "cuda/plan.h"

/* What memory holds before it is written. Every float dtype reads both as NaN, and they differ in every byte pair,
 * so that an output element that nobody wrote differs between two runs. */
enum { GPU_POISONS = 2, GPU_CANARY = 0xc5 };

/* The worker's own kernels. */
enum gpu_own { OWN_EMPTY, OWN_PROBE, OWN_COUNT_OTHER, OWN_SCRUB, OWN_WRITE, OWN_READ, OWN_COPY, OWN_COMPARE, OWN_GATHER,
	OWN_SPIN, OWN_RATE, OWN_GENERATE, OWN_GENERATE_ROWS, OWN_COUNT };

/* One mapping at a recorded address: granules that hold `bytes` bytes at `address`, canaries around them. */
struct gpu_region {
	uint64_t start, mapped;		/* of the granules */
	uint64_t address, bytes;
	CUmemGenericAllocationHandle memory;
	bool output;			/* may be written */
	bool scratch;
	uint32_t element_bytes;		/* of outputs: poison of floats needs whole elements */
	bool is_float;
};
enum { GPU_MAX_REGIONS = 4096 };


/* Device code with a plan of it, bound to the context. */
struct gpu_code {
	struct ptxinfo *info;
	struct plan *plan;
	struct buf fatbin;
	CUmodule module;
	CUfunction *function;		/* of plan->kernel */
	uint64_t *symbol_address;	/* of plan->symbol: where the driver put it */
	uint8_t **arguments;		/* of plan->operation: relocated bytes of launches and uploads, else NULL */
	struct buf initial;		/* content of all symbols when loaded */
};

struct gpu {
	int socket;
	int device_number;
	CUdevice device;
	CUcontext context;
	int multiprocessors, shared_bytes, l2_bytes, clock_khz;
	CUmodule own_module;
	CUfunction own[OWN_COUNT];
	CUstream stream[PLAN_MAX_STREAMS];	/* made when needed; [PLAN_GIVEN_STREAM] is always there */
	CUevent *event;				/* of plan events, made when needed */
	CUevent edge;				/* for the host's waiting, which becomes an edge */
	CUdeviceptr figures;			/* a page for results of our own kernels */
	uint64_t base;				/* where the arena lies: CUDA_ARENA when the driver honours the hint */
	struct gpu_region region[GPU_MAX_REGIONS];
	uint32_t regions;
	int printed;				/* descriptor of the memory file that is standard output */
};

/* ---- gpu_context.c: from nothing to ready */
void gpu_list(void);	/* prints the GPUs as a JSON array on the socket's place: standard output */
void gpu_start(struct gpu *g, int device_number, int socket);
/* Runs the known-good kernel. True when it gives what it must. */
bool gpu_probe(struct gpu *g);
/* Starts one of our own kernels; threads are 256 a block. arguments: pointers as the driver takes them. */
CUresult gpu_own_launch(struct gpu *g, enum gpu_own kernel, uint32_t blocks, uint32_t shared_bytes, CUstream stream,
	void **arguments);
/* Dies with a sentence unless the driver succeeded: for what is never a candidate's fault. */
void gpu_must(CUresult result, const char *what);

/* ---- gpu_memory.c */
/* Maps granules for the bytes at a recorded address. False: no memory left. */
bool gpu_map(struct gpu *g, const struct gpu_region *what);
void gpu_unmap_scratch(struct gpu *g);
void gpu_unmap_all(struct gpu *g);
void gpu_allow_writes(struct gpu *g, const struct gpu_region *r, bool writes);
/* The device address of a recorded one; symbols by the code's own. */
uint64_t gpu_address(const struct gpu *g, const struct gpu_code *code, uint64_t recorded);
CUresult gpu_poison(struct gpu *g, const struct gpu_region *r, int which, CUstream stream);
CUresult gpu_set_canaries(struct gpu *g, const struct gpu_region *r, CUstream stream);
/* How many canary bytes of all writable regions were overwritten. *where gets a region that lost some. */
CUresult gpu_lost_canaries(struct gpu *g, uint64_t *lost, const struct gpu_region **where);
struct gpu_region *gpu_find_region(struct gpu *g, uint64_t address);

/* ---- gpu_code.c */
/* Reads PTX, fatbin and plan (trusted parser) and binds them. 0, or -1 with a sentence: the plan is not one. */
int gpu_code_open(struct gpu *g, struct gpu_code *code, const struct buf *ptx, const struct buf *fatbin,
	const struct buf *plan, const struct plan_buffer *buffers, uint32_t count, struct buf *err);
/* Loads the module anew, so that all its variables are as at the start. */
CUresult gpu_code_load(struct gpu *g, struct gpu_code *code, struct buf *err);
/* Puts the variables' first content back, in stream order. */
CUresult gpu_code_restore(struct gpu *g, struct gpu_code *code, CUstream stream);
/* The content of all variables, one after the other, into an emptied buffer. */
CUresult gpu_code_variables(const struct gpu_code *code, struct buf *out);
/* Puts variables where so many more calls would have them, if each adds to each word what was added since `before`.
 * *changed: something was. */
CUresult gpu_code_extrapolate(struct gpu_code *code, const struct buf *before, uint32_t calls, bool *changed,
	CUstream stream);
void gpu_code_close(struct gpu *g, struct gpu_code *code);

/* ---- gpu_replay.c */
struct gpu_replay {
	bool one_stream;	/* all operations on solve's stream, in recorded order */
	bool careful;		/* waits after each operation, so that a fault has a name */
	bool scrub;		/* shared memory is filled before each launch of one stream, before the first else */
	int poison;		/* of scratch */
	bool timing;		/* scratch is mapped already and poisoned by the caller */
	const uint32_t *order;	/* of plan_other_order, with one_stream; NULL: as recorded */
};
/* Runs the call of the plan; returns when it was issued (careful: done). *kernel names the launch that failed. */
CUresult gpu_replay(struct gpu *g, struct gpu_code *code, const struct gpu_replay *how, const char **kernel);

/* ---- gpu_check.c, also for timing */
enum { GPU_MAX_BUFFERS = 64 };
uint32_t gpu_read_buffers(const json_t *job, struct gpu_region *regions, struct plan_buffer *buffers);
/* Maps all; inputs are uploaded and lose the right to be written, or with NULL are left alone. False: no memory. */
bool gpu_place_buffers(struct gpu *g, const struct gpu_region *regions, uint32_t count, const struct buf *inputs);
/* Empties the file that is standard output, appending to `printed` (may be NULL). */
void gpu_take_printed(struct gpu *g, struct buf *printed);

/* ---- the commands: each answers one message */
void gpu_check(struct gpu *g, const json_t *job, struct message *m);
void gpu_time(struct gpu *g, const json_t *job, struct message *m);
void gpu_answer(struct gpu *g, json_t *report, struct buf *parts, uint32_t count);
/* A word to the supervisor's watchdog: what is running. */
void gpu_say(struct gpu *g, const char *kernel);

/* "RUNTIME_ERROR" with a finding, or NULL when the error is ours (out of memory, a broken GPU). */
json_t *gpu_fault(CUresult result, const char *kernel);

#endif
