/* The compile cache: folders named by content, published whole by rename, shared by any number of processes. */
#ifndef CUDA_BUILD_CACHE_H
#define CUDA_BUILD_CACHE_H

#include "cuda/build.h"

struct build_key {
	const char *source, *prelude;
	size_t source_bytes;
	const char *settings;	/* flags, toolkit, architecture: one line */
};

/* 1 with result filled from the cache, 0 when it has no such entry, -1 with a sentence. */
int build_cache_find(const char *cache, const struct build_key *key, struct cuda_build *result, struct buf *err);
/* A folder to fill, locked (flock) while its process lives. */
struct build_folder {
	char *path;
	int lock;
};
/* A fresh one under CACHE/new, from which those of killed processes are removed. 0, or -1 with a sentence. */
int build_cache_begin(const char *cache, const struct build_key *key, struct build_folder *folder, struct buf *err);
/* Publishes the folder with result's verdict and log, and releases it; when another process was faster, its
 * entry stands and ours is removed. On success result->folder is set for CUDA_OK. 0, or -1 with a sentence. */
int build_cache_publish(const char *cache, const struct build_key *key, struct build_folder *folder,
	struct cuda_build *result, struct buf *err);
/* Removes the folder, if it is still there, and releases it. */
void build_cache_abandon(struct build_folder *folder);

#endif
