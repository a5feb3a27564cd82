/* The launch plan: what one call of solve() asked the GPU to do. PLAN.md documents the text form.
 *
 * The text was written in a process where a stranger's host code ran, so the parser is the judge: what it lets
 * through refers to kernels of the kept device code with parameters of the right size, to memory that is live,
 * writes no input, and stays within the limits below. */
#ifndef CUDA_PLAN_H
#define CUDA_PLAN_H

#include "cuda/cuda.h"
#include "cuda/ptxinfo.h"

enum { PLAN_MAX_OPERATIONS = 5000 /* of a call */, PLAN_MAX_STREAMS = 64, PLAN_MAX_EVENTS = 4096, PLAN_MAX_CALLS = 128,
	PLAN_MAX_CLUSTER = 16 };
#define PLAN_MAX_BYTES (16u << 20)
/* The legacy default stream, and the stream that solve() was given, which is a blocking one: each waits for what was
 * issued to the other before. */
enum { PLAN_LEGACY_STREAM, PLAN_GIVEN_STREAM };

enum plan_kind {
	PLAN_LAUNCH, PLAN_MEMSET, PLAN_COPY, PLAN_UPLOAD, PLAN_ALLOCATE, PLAN_FREE,
	PLAN_EVENT_RECORD, PLAN_EVENT_WAIT,
	PLAN_AWAIT,		/* the host waited for an event */
	PLAN_SYNCHRONISE,	/* the host waited for a stream, or for the device */
};

struct plan_launch {
	uint32_t kernel;	/* index in plan.kernel */
	uint32_t grid[3], block[3], cluster[3];	/* cluster 0,0,0: none */
	uint32_t dynamic_shared_bytes;
	bool cooperative;
	const uint8_t *arguments;	/* the whole parameter space, layout of the PTX; padding is zero */
	uint32_t argument_bytes;
	uint8_t *undefined;	/* a byte each: 1 where the host code left what was there; NULL: nowhere, or not known */
};

/* Rows of `width` bytes; height 1 and equal pitches for the plain forms. */
struct plan_memory {
	uint64_t address, source;	/* source: copies */
	uint64_t pitch, source_pitch, width, height;
	uint32_t value, value_bytes;	/* memset: 1, 2 or 4 bytes, the pattern low byte first */
	const uint8_t *data;		/* upload: width bytes */
	bool once;			/* upload: later calls do not repeat it */
};

struct plan_operation {
	enum plan_kind kind;
	uint16_t stream;
	bool whole_device;	/* SYNCHRONISE: not one stream but all */
	uint32_t event;		/* EVENT_RECORD, EVENT_WAIT, AWAIT */
	uint32_t line;		/* in the text, for messages */
	union {
		struct plan_launch launch;
		struct plan_memory memory;
		struct { uint64_t address, bytes; } scratch;	/* ALLOCATE, FREE */
	};
};

struct plan_buffer {
	const char *name;
	uint64_t address, bytes;
	bool output;
};

struct plan_kernel {
	const char *name;
	uint32_t parameters, parameter_bytes;
	const struct ptxinfo_parameter *parameter;
	uint32_t registers, static_shared;	/* from ptxas */
};

struct plan {
	struct arena arena;	/* owns all below */
	const char *profile;	/* name of the GPU profile that answered queries */
	uint32_t buffers, kernels, symbols, operations, calls, streams, events;
	struct plan_buffer *buffer;	/* in order of solve()'s arguments */
	struct plan_kernel *kernel;	/* those that are launched */
	struct ptxinfo_symbol *symbol;	/* all of the module */
	struct plan_operation *operation;
	uint32_t call_start[PLAN_MAX_CALLS + 1];	/* operations of call i are [start i, start i+1) */
	uint64_t scratch_bytes;		/* most that was live at once */
	uint64_t upload_bytes;		/* host-computed bytes, in all */
	bool independent[PLAN_MAX_STREAMS];	/* created with cudaStreamNonBlocking: the legacy stream does not wait for it */
	bool legacy_stream;		/* some work is on the legacy default stream */
	bool device_synchronised;	/* cudaDeviceSynchronize or cudaStreamSynchronize was called */
	bool host_address_words;	/* some argument depends on addresses, yet is no plain pointer */
};

/* Where a buffer of `bytes` bytes lies: *next is the arena's first free granule, moved past the buffer and its
 * guard; starts at CUDA_ARENA. 0, or -1 when the arena is full. The recorder places scratch by the same rule. */
int plan_place(uint64_t *next, uint64_t bytes, uint64_t *address);

/* Parses a plan of the device code `info`, whose buffers must be exactly those given (the recorder's job said
 * where they lie). NULL with a verdict (SUSPICIOUS for a text that our recorder never writes, UNSUPPORTED or
 * RUNTIME_ERROR for what it noted) and a sentence. Returned owned. */
struct plan *plan_parse(const char *text, size_t bytes, const struct ptxinfo *info,
	const struct plan_buffer *buffers, uint32_t count, enum cuda_verdict *verdict, struct buf *reason);
/* Another order of what a call does than the recorded one, as its streams and events allow it: `late`, a stream, does
 * nothing as long as another one can do something. For two operations that no event orders there is a stream whose
 * lateness makes the later one the earlier. order: room for all operations of the call and one more; gets the numbers of
 * launches, sets, copies, uploads and frees, + 1 each, and a 0 behind; memory is to be allocated before. False: the order
 * is as recorded, or so much memory at once is too much. */
bool plan_other_order(const struct plan *plan, uint32_t call, uint32_t late, uint32_t *order);

void plan_free(struct plan *plan);

/* Every operation of call `call` must be done when the given stream is: ordered by events or waited for by the
 * host. 0, or -1 with a sentence that names the first that is not. */
int plan_check_joined(const struct plan *plan, uint32_t call, struct buf *reason);

/* Memsets, copies and uploads of single rows that touch the same bytes, one of them writing, must be ordered. Kernels are
 * not looked at: what they touch is not in a plan. 0, or -1 with a sentence that names the first two that are not. */
int plan_check_order(const struct plan *plan, uint32_t call, struct buf *reason);

/* The text form again, of one call (canonical: parse and write give the same bytes). */
void plan_write(const struct plan *plan, struct buf *out);

#endif
