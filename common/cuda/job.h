/* The job of one recording, as text: cuda_record writes it, km-record reads it. */
#ifndef CUDA_JOB_H
#define CUDA_JOB_H

#include "base/arena.h"
#include "cuda/cuda.h"
#include "cuda/plan.h"
#include "cuda/recorder/recorder.h"

enum { JOB_SETS = 2 };

struct job_argument {
	bool is_pointer;
	uint64_t value;		/* an address as in the plan, or the bits of a scalar */
};

struct job_text {
	struct arena arena;	/* owns all below */
	struct recorder_job job;	/* all but profile, shift and plan_descriptor */
	uint32_t sets, arguments[JOB_SETS];	/* solve() is called with the first; with two, with the second and the first in turn */
	struct job_argument argument[JOB_SETS][CUDA_MAX_ARGUMENTS];
	uint64_t cpu_seconds, wall_seconds;	/* of each of the recordings */
};

/* What km-record needs of the device code and of the call; buffers in order of the pointer arguments. */
struct job_facts {
	const struct ptxinfo *info;
	const struct cuda_argument *arguments, *others;	/* others: the second set, or NULL */
	int count;				/* of each */
	const struct plan_buffer *buffers;
	uint32_t buffer_count;
	uint64_t next_address, scratch_bytes, cpu_seconds, wall_seconds;
	const char *profile_name;
};

void job_write(const struct job_facts *facts, struct buf *out);
/* 0, or -1 with a sentence. */
int job_parse(const char *text, struct job_text *job, struct buf *err);

#endif
