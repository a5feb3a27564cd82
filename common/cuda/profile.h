/* A GPU profile: what a model of GPU answers to a program's queries. A text file of profiles/. */
#ifndef CUDA_PROFILE_H
#define CUDA_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { PROFILE_ATTRIBUTES = 192, PROFILE_LIMITS = 16 };

struct gpu_profile {
	char name[256];			/* as the driver says it: "NVIDIA H200" */
	uint64_t memory_total, memory_free;
	int driver_version;
	int attribute[PROFILE_ATTRIBUTES];	/* by number of cudaDeviceAttr */
	bool has_attribute[PROFILE_ATTRIBUTES];
	uint64_t limit[PROFILE_LIMITS];		/* by number of cudaLimit */
	bool has_limit[PROFILE_LIMITS];
};

/* Parses the text of a profile: lines "name TEXT", "memory_total N", "memory_free N", "driver_version N",
 * "limit NUMBER N", "attribute NUMBER N", comments after '#'. 0, or -1 with a sentence. */
int profile_parse(const char *text, struct gpu_profile *profile, struct buf *err);

/* Where the installed profile of that name ("h200") would be. Returned owned, or NULL with a sentence: not a name. */
char *profile_path(const char *name, struct buf *err);

#endif
