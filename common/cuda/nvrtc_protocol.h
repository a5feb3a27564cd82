/* What the quick check and its server, km-nvrtc, say to each other on a stream of sandbox/server.h. */
#ifndef CUDA_NVRTC_PROTOCOL_H
#define CUDA_NVRTC_PROTOCOL_H

#include <stdint.h>

#include "cuda/cuda.h"

enum { NVRTC_MAX_LOG_BYTES = 1 << 20, NVRTC_EXIT_UNAVAILABLE = 69 };

struct nvrtc_request {			/* then the source, then the prelude */
	uint32_t source_bytes, prelude_bytes;	/* each at most CUDA_MAX_SOURCE_BYTES */
	uint64_t wall_ms, memory_bytes;		/* of this compile; memory_bytes 0: no limit */
};

enum nvrtc_state { NVRTC_COMPILES, NVRTC_HAS_ERRORS, NVRTC_DIED };

struct nvrtc_answer {			/* then the log */
	uint32_t state;
	uint32_t signal;		/* that ended the compile: NVRTC_DIED; 0: it failed by itself */
	uint32_t log_bytes;		/* at most NVRTC_MAX_LOG_BYTES */
};

#endif
