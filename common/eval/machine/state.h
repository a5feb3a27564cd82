/* Shared by the files of the back end that executes; nothing here is exported. */
#ifndef EVAL_MACHINE_STATE_H
#define EVAL_MACHINE_STATE_H

#include "base/buf.h"
#include "cuda/runtime/back.h"
#include "ptx/ptx.h"

enum { MAX_IMAGES = 256 };

/* One device image of the program: a translation unit's kernels and variables, on a machine of their own. */
struct image {
	struct ptx_module *module;
	struct ptx_machine *machine;
	struct runtime_kernel *kernel;
	struct runtime_symbol *symbol;
	uint32_t kernels, symbols;
	size_t findings;		/* of the machine that were told */
};

extern struct image *images[MAX_IMAGES];
extern int image_count;

/* ---- options.c: reads the environment, once */
struct options {
	struct gpu_profile profile;
	struct ptx_options ptx;
	bool trace, quiet;
	int error_exit;			/* 0: as the program says */
};
const struct options *options(void);
/* A line on standard error that starts with km-run. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- memory.c */
/* Everything that is live, for a machine that comes later. */
void memory_map_all(struct ptx_machine *machine);
/* Address space for a variable of the module; host: the program may touch it too. */
uint64_t memory_for_symbol(uint64_t bytes, bool host);
/* Between these, kernels and copies may touch the device's memory; outside them whoever does faults. */
void memory_open(void);
void memory_close(void);
void memory_forget(void);

/* ---- launch.c */
/* The error that stays, as the number of a cudaError_t; 0: none. */
int sticky(void);
/* Writes what kernels printed. */
void flush_output(void);

#endif
