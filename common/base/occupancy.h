/* How many blocks of a kernel fit on a multiprocessor: for the recorder's answers, the PTX machine and its estimates. */
#ifndef BASE_OCCUPANCY_H
#define BASE_OCCUPANCY_H

#include <stdint.h>

/* What a multiprocessor holds. */
struct occupancy_gpu {
	int arch;				/* 90: compute capability 9.0 */
	uint32_t warps, blocks;
	uint32_t shared_block_bytes;		/* most that one block may have */
	uint32_t shared_bytes;			/* of all blocks, with what is reserved for each */
	uint16_t configurations_kib[10];	/* of shared memory, ascending, zeros at the end; the first may be 0 */
};
/* Of that architecture, or of the nearest older one that has an entry (8.0 at least). Static. */
const struct occupancy_gpu *occupancy_gpu(int arch);

struct occupancy_kernel {
	uint32_t registers, static_shared;
	uint32_t max_threads;		/* of .maxntid, 1024 without */
	uint32_t dynamic_limit;		/* MaxDynamicSharedMemorySize: 49152 less the static size, unless set */
	int carveout;			/* PreferredSharedMemoryCarveout in percent, -1: not set */
	const struct occupancy_gpu *gpu;
};

/* Most threads a block may have for its registers and its launch bounds. */
uint32_t occupancy_max_threads(const struct occupancy_kernel *k);
/* Blocks on one multiprocessor, 0 when none can run. */
uint32_t occupancy_blocks(const struct occupancy_kernel *k, uint32_t threads, uint64_t dynamic_shared);
/* Dynamic shared memory a block may have with `blocks` blocks on a multiprocessor, 0 when they do not fit. */
uint64_t occupancy_dynamic_shared(const struct occupancy_kernel *k, uint32_t blocks, uint32_t threads);

#endif
