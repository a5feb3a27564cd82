/* The stand-in runtime in two halves. In front (this folder): the functions that programs call, which error they give,
 * what queries answer. Behind: what becomes of the work. One back end writes a launch plan (recorder/), the other does
 * the work at once on the PTX machine (common/eval/machine/). C library only, and no header of CUDA: errors are the
 * numbers of cudaError_t, addresses are those that the program sees. */
#ifndef CUDA_RUNTIME_BACK_H
#define CUDA_RUNTIME_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/profile.h"

/* ---- device code */
struct runtime_parameter {
	uint32_t offset, bytes;
};

struct runtime_kernel {
	const char *name;
	uint32_t parameters, parameter_bytes;
	const struct runtime_parameter *parameter;
	uint32_t registers, static_shared, local_bytes, constant_bytes, max_threads;
	uint32_t required_block[3], required_cluster[3];
	int image;
};

struct runtime_symbol {
	const char *name;
	uint64_t address, bytes;
};

/* ---- work */
struct back_launch {
	const struct runtime_kernel *kernel;
	int stream;
	uint32_t grid[3], block[3], cluster[3];	/* cluster 0,0,0: none */
	uint32_t dynamic_shared;
	bool cooperative;
	const uint8_t *parameters;	/* kernel->parameter_bytes of them, in the layout of the PTX */
};

struct back_rows {
	uint64_t pitch, source_pitch, width, height;	/* source_pitch: copies */
};

/* REGISTERED: the program's own pages, which kernels may use from now on. */
enum back_memory { MEMORY_DEVICE, MEMORY_MANAGED, MEMORY_PINNED, MEMORY_REGISTERED };

/* The numbers of streams: 0 is the legacy default stream, 1 the one given to solve(). */
enum { STREAM_LEGACY, STREAM_GIVEN, STREAM_FIRST_OWN };
/* For back_synchronise: all of the device. */
enum { WHOLE_DEVICE = -1 };

/* True: a program of one's own, executed. False: a stranger's solve(), recorded. */
extern const bool back_executes;
extern const struct gpu_profile *back_profile(void);

/* A device image is registered by nvcc's code: its number from 0, or does not return. */
int back_register(const void *wrapper);
/* NULL when the image has none of this name. Borrowed for ever. */
const struct runtime_kernel *back_kernel(int image, const char *name);
const struct runtime_symbol *back_symbol(int image, const char *name);

/* A new address for `bytes` bytes of memory that never had another, or -1: there is no room. */
int back_place(uint64_t bytes, enum back_memory kind, uint64_t *address);
/* Bytes that may be allocated at once. */
uint64_t back_memory_bytes(void);
/* Does the address lie where only kernels may go? */
bool back_is_device(const void *pointer);

/* Each gives 0 or an error. Ranges were checked; a stream or event is a number. */
int back_launch(const struct back_launch *launch);
int back_set(int stream, uint64_t address, const struct back_rows *rows, uint32_t value);
int back_copy(int stream, uint64_t to, uint64_t from, const struct back_rows *rows);
int back_upload(const char *call, int stream, uint64_t to, const void *from, uint64_t bytes);
int back_download(const char *call, int stream, void *to, uint64_t from, uint64_t bytes);
int back_allocate(int stream, uint64_t address, uint64_t bytes, enum back_memory kind);
int back_free(int stream, uint64_t address, uint64_t bytes, enum back_memory kind);
int back_new_stream(int stream, bool blocking);
int back_event_record(int event, int stream);
int back_event_wait(int stream, int event);
int back_await(int event);
int back_synchronise(int stream);
/* Milliseconds between two records; only where work is executed. */
int back_elapsed(int first, int last, float *ms);
/* The error that a kernel left behind, which every later call returns; 0: none. */
int back_sticky(void);
/* Forgets everything, as at the program's start. */
int back_reset(void);

/* A sentence about a call that failed, without a full stop. */
void back_failed(const char *words);
/* A call that is not supported: ends the recording, or gives an error after a message. */
int back_refused(const char *function, const char *reason);
/* Ends the recording or the program. One clause without a full stop. */
_Noreturn void refuse(const char *status, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define UNSUPPORTED "UNSUPPORTED"
#define RUNTIME_ERROR "RUNTIME_ERROR"
#define SUSPICIOUS "SUSPICIOUS"

/* ---- what the front tells the back */
/* "x + 16 bytes" for messages, into a static buffer. */
const char *runtime_describe(const void *pointer);
/* Memory that is there from the start, or a module's variable. */
void runtime_add_memory(const char *name, uint64_t address, uint64_t bytes, enum back_memory kind, bool writable);
/* Words of the first failure since the last reset, "" when there is none; does it stand at the end: was the last
 * launch a failed one, or is there an error that nobody has asked for? */
const char *runtime_failure(bool *stands);
void runtime_reset_failure(void);
/* The stream that solve() is given. */
void *runtime_given_stream(void);
/* How many streams and events were given out. */
void runtime_count_handles(int *streams, int *events);
/* From now on it is noted when memory below this address is given back. */
void runtime_watch(uint64_t address);
/* Forgets memory at and above the address, and streams and events from these numbers on, so that they can be given out
 * again. False, and nothing is done: some are live, or memory was given back that is watched. */
bool runtime_rewind(uint64_t address, int streams, int events);
/* Is less than half of the memory left? */
bool runtime_memory_is_short(void);
/* Refuses a function that is there for whole programs only, by back_refused with the reason of functions.h. */
int runtime_refused(const char *function);
/* Words for an error, or NULL. */
const char *runtime_error_text(int error);

#endif
