/* How many blocks of a kernel fit on a multiprocessor of compute capability 9.0. Used in the recorder as well. */
#ifndef CUDA_OCCUPANCY_H
#define CUDA_OCCUPANCY_H

#include <stdint.h>

struct occupancy_kernel {
	uint32_t registers, static_shared;
	uint32_t max_threads;		/* of .maxntid, 1024 without */
	uint32_t dynamic_limit;		/* MaxDynamicSharedMemorySize: 49152 less the static size, unless set */
	int carveout;			/* PreferredSharedMemoryCarveout in percent, -1: not set */
};

/* Most threads a block may have for its registers and its launch bounds. */
uint32_t occupancy_max_threads(const struct occupancy_kernel *k);
/* Blocks on one multiprocessor, 0 when none can run. */
uint32_t occupancy_blocks(const struct occupancy_kernel *k, uint32_t threads, uint64_t dynamic_shared);
/* Dynamic shared memory a block may have with `blocks` blocks on a multiprocessor, 0 when they do not fit. */
uint64_t occupancy_dynamic_shared(const struct occupancy_kernel *k, uint32_t blocks, uint32_t threads);

#endif
