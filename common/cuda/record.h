/* A build in, a launch plan out: solve() runs in a sandboxed process against our own CUDA runtime. */
#ifndef CUDA_RECORD_H
#define CUDA_RECORD_H

#include "cuda/build.h"
#include "cuda/plan.h"

struct cuda_recording {
	enum cuda_verdict verdict;	/* OK, RUNTIME_ERROR, TIMEOUT, SUSPICIOUS, UNSUPPORTED */
	struct buf reason;		/* one line unless OK */
	struct plan *plan;		/* OK: one call of solve(); buffers lie at plan->buffer[i].address */
	struct ptxinfo *info;		/* OK: of the build's device code */
	struct buf output;		/* what the host code printed, head and tail, at most CUDA_LOG_BYTES */
	uint64_t wall_ns;
};
#define CUDA_RECORDING_INIT { CUDA_INFRASTRUCTURE, BUF_INIT, NULL, NULL, BUF_INIT, 0 }

/* Records solve() of the build in `folder` (cuda_build's) with these arguments: three processes, two calls each,
 * compared. profile: a name below common/cuda/profiles ("h200"), NULL for the default. limits may be NULL.
 * 0 with result filled (release it), or -1 with a sentence: infrastructure, try again. */
int cuda_record(const char *folder, const struct cuda_argument *arguments, int count, const char *profile,
	const struct cuda_limits *limits, struct cuda_recording *result, struct buf *err);
/* Does solve() do with these arguments what it does alone, when it is called with others in between? `alone` is the plan
 * of cuda_record for `arguments`; `others` are of the same task, with other sizes. One process calls with others,
 * arguments, others, arguments. result: no plan; OK, SUSPICIOUS (less work than alone), RUNTIME_ERROR (other work: it
 * keeps something that fits the other call), or as cuda_record. 0, or -1 with a sentence. */
int cuda_record_in_turn(const char *folder, const struct cuda_argument *arguments, const struct cuda_argument *others,
	int count, const char *profile, const struct cuda_limits *limits, const struct plan *alone,
	struct cuda_recording *result, struct buf *err);
void cuda_recording_release(struct cuda_recording *recording);

#endif
