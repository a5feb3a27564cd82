/* What km-record and the stand-in runtime tell each other. The library is compiled alone: C library only. */
#ifndef CUDA_RECORDER_RECORDER_H
#define CUDA_RECORDER_RECORDER_H

#include "cuda/runtime/back.h"

/* Device memory that is live from the start. */
struct recorder_buffer {
	const char *name;
	uint64_t address, bytes;
	bool writable;
};

/* All borrowed, valid for the life of the process. Addresses are the plan's; the candidate sees them plus shift. */
struct recorder_job {
	const char *profile_name;
	const struct gpu_profile *profile;
	const struct runtime_kernel *kernel;
	uint32_t kernels;
	const struct runtime_symbol *symbol;
	uint32_t symbols;
	const struct recorder_buffer *buffer;
	uint32_t buffers;
	uint64_t next_address;		/* first free granule of the arena */
	uint64_t scratch_bytes;		/* most that may be live at once */
	uint64_t shift;			/* added to every device address, so that address-dependent values show */
	int plan_descriptor;		/* the plan is written here, once, at the end */
};

/* Once, before the candidate is loaded. -1: no memory, or the address range is taken. */
int kernelmosaic_recorder_start(const struct recorder_job *job);
/* The stream to hand to solve(). */
void *kernelmosaic_recorder_stream(void);
/* The candidate is loaded: from now on files, sockets, threads and processes end the recording. Idempotent; the
 * candidate's prelude calls it as well, before its own static initialisers. */
void kernelmosaic_loaded(void);
/* Around each call of solve(). The second may end the process with a verdict. */
void kernelmosaic_recorder_call(unsigned index);
void kernelmosaic_recorder_called(void);
/* Writes the plan and ends the process. */
_Noreturn void kernelmosaic_recorder_finish(void);
/* Many more calls with the same arguments, after the first two: from now on (false: those two wrote too much already);
 * before each; after each (true: enough of them). At the end the plans are written one after the other, each with the
 * first two calls and what is kept, and the process ends. */
bool kernelmosaic_recorder_repeat(void);
void kernelmosaic_recorder_again(void);
bool kernelmosaic_recorder_enough(void);
_Noreturn void kernelmosaic_recorder_finish_repeated(void);
/* Writes a refusal instead and ends the process. */
_Noreturn void kernelmosaic_recorder_refuse(const char *status, const char *reason);

#endif
