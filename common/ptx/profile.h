/* Counts beyond struct ptx_counters, for launches that are profiled: how often each instruction ran, what each request
 * found in the caches of a named GPU, which buffers moved how many bytes. Not for other folders. */
#ifndef PTX_PROFILE_H
#define PTX_PROFILE_H

#include "ptx/machine.h"
#include "ptx/roofline.h"

/* Starts a profile with cold caches. Returned owned. */
struct profile *profile_new(const struct roofline_gpu *gpu);
void profile_free(struct profile *profile);
/* Before a launch of `image`; its registers decide how many blocks share an L1 cache. */
void profile_start(struct profile *profile, const struct machine_core *core, const struct ptx_launch *launch);
/* After it: adds to the profile's results. */
void profile_end(struct profile *profile, const struct machine_core *core);
const struct ptx_profile *profile_results(const struct profile *profile);

/* ---- hooks of the machine; core->profile is not NULL */
/* A block starts: its L1 cache is empty. */
void profile_block(struct profile *profile);
/* Lanes ran the instructions [from, to). */
void profile_run(struct profile *profile, uint32_t from, uint32_t to, uint32_t lanes);
/* A request to global memory of `size` bytes at `first + relative[l]` for each lane of mask (relative NULL: at
 * addresses[l]). */
void profile_global(const struct insn *i, struct warp *w, uint64_t first, const int32_t *relative, const uint64_t *addresses,
	uint32_t mask, uint32_t size, int access);
/* A request to shared memory that took so many passes. */
void profile_shared(const struct insn *i, struct warp *w, uint32_t passes);
/* A request to local memory; addresses are those of the lanes in their own local memory. */
void profile_local(const struct insn *i, struct warp *w, const uint64_t *addresses, uint32_t mask, uint32_t size, int access);

#endif
