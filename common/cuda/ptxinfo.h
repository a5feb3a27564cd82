/* What the recorder and the plan's parser need to know of the device code: entries, parameters, variables.
 * Read from the PTX and the fatbin that nvcc kept; bounded, for their content is a stranger's. */
#ifndef CUDA_PTXINFO_H
#define CUDA_PTXINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum {
	PTXINFO_MAX_KERNELS = 4096, PTXINFO_MAX_PARAMETERS = 1024, PTXINFO_MAX_SYMBOLS = 4096,
	PTXINFO_MAX_NAME = 4000, PTXINFO_MAX_BYTES = 64 << 20,
};

struct ptxinfo_parameter {
	uint32_t offset, bytes;
	bool aggregate;		/* declared as an array of bytes: may hold padding */
};

struct ptxinfo_kernel {
	const char *name;
	uint32_t parameters, parameter_bytes;
	struct ptxinfo_parameter *parameter;
	uint32_t max_threads;		/* product of .maxntid or .reqntid, 1024 without */
	uint32_t required_block[3];	/* .reqntid, or zeros */
	uint32_t required_cluster[3];	/* .reqnctapercluster, or zeros */
	uint32_t registers, static_shared, local_bytes;	/* from the machine code; registers 0: not known */
	uint32_t constant_bytes;	/* of the module's constant variables */
};

/* A `__device__` or `__constant__` variable, with the address it gets in every plan of this code. */
struct ptxinfo_symbol {
	const char *name;
	uint64_t address, bytes;
	uint32_t alignment;
	bool constant, managed;
};

struct ptxinfo {
	struct arena arena;
	uint32_t kernels, symbols;
	struct ptxinfo_kernel *kernel;	/* sorted by name */
	struct ptxinfo_symbol *symbol;	/* in the order of the PTX */
};

/* Reads PTX text and nvcc's fatbin (NULL: resources stay 0). NULL with a sentence. Returned owned. */
struct ptxinfo *ptxinfo_read(const char *ptx, size_t ptx_bytes, const void *fatbin, size_t fatbin_bytes,
	struct buf *err);
void ptxinfo_free(struct ptxinfo *info);
/* NULL when there is none. Borrowed. */
const struct ptxinfo_kernel *ptxinfo_kernel(const struct ptxinfo *info, const char *name);
const struct ptxinfo_symbol *ptxinfo_symbol(const struct ptxinfo *info, const char *name);

#endif
