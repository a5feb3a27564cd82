/* Source in, shared object and device code out: nvcc in the sandbox, behind a cache keyed by content. */
#ifndef CUDA_BUILD_H
#define CUDA_BUILD_H

#include "cuda/arch.h"
#include "cuda/cuda.h"

struct cuda_limits {
	uint64_t wall_ms;	/* of one compile or one recording; 0: 120,000 and 20,000 */
	uint64_t memory_bytes;	/* of one process; 0: 4 GiB */
};

/* AddressSanitizer reserves terabytes: programs of ours that are built with it run without a limit on memory. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CUDA_SANITIZED 1
#endif

struct cuda_build {
	enum cuda_verdict verdict;	/* OK, COMPILE_ERROR, UNSUPPORTED, SUSPICIOUS; TIMEOUT when nvcc is too slow */
	struct buf log;		/* COMPILE_ERROR: what nvcc said, file names shortened, at most CUDA_LOG_BYTES; else
				 * one sentence with the reason; OK: warnings */
	char *folder;		/* OK: absolute path of {solution.so, device.ptx, device.fatbin, ptxas.txt, source.cu,
				 * prelude.h}, read-only to all users of the cache, never changed once published.
				 * ptxas.txt is for people: a source's own messages can look like it */
	bool cached;		/* nothing was compiled */
	uint64_t wall_ns;	/* of nvcc, 0 when cached */
};
#define CUDA_BUILD_INIT { CUDA_INFRASTRUCTURE, BUF_INIT, NULL, false, 0 }

/* Builds source with the prelude of cuda_prelude for one architecture (90: machine code and PTX of sm_90). The cache
 * folder is made if missing; any number of processes may share it. Compile errors and refusals are cached as well,
 * time-outs are not. limits may be NULL.
 * 0 with result filled (release it), or -1 with a sentence: infrastructure, try again. */
int cuda_build(const char *source, size_t source_bytes, const char *prelude, int arch, const char *cache,
	const struct cuda_limits *limits, struct cuda_build *result, struct buf *err);
void cuda_build_release(struct cuda_build *build);

/* The toolkit's version line, "13.0.88"; part of the cache's key. NULL with a sentence when nvcc is missing
 * (exit 69). Borrowed, asked once per process. */
const char *cuda_toolkit_version(struct buf *err);

#endif
