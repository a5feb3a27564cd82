/* The quick check: does the device half compile? Tens of milliseconds instead of nvcc's seconds. */
#ifndef CUDA_NVRTC_H
#define CUDA_NVRTC_H

#include "cuda/build.h"

enum cuda_check {
	CUDA_CHECK_OK,		/* compiles as far as NVRTC can tell: the host half was not translated to machine code */
	CUDA_CHECK_ERROR,	/* nvcc would refuse it as well; log has the compiler's words */
	CUDA_CHECK_ASK_NVCC,	/* NVRTC cannot say (host code it does not know, no libnvrtc): log has the reason */
};

/* A warm NVRTC in a sandboxed process, started by the first check, for one architecture (90). Returned owned; safe from
 * threads. */
struct cuda_checker;
struct cuda_checker *cuda_checker_new(int arch);
void cuda_checker_free(struct cuda_checker *checker);

/* Compiles source (ends with a NUL besides) and prelude with NVRTC, in a process forked for it. 0 with *answer and log
 * set, or -1 with a sentence: infrastructure. limits may be NULL: 10 s, 4 GiB. */
int cuda_quick_check(struct cuda_checker *checker, const char *source, size_t source_bytes, const char *prelude,
	const struct cuda_limits *limits, enum cuda_check *answer, struct buf *log, struct buf *err);

#endif
