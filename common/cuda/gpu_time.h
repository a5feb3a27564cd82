/* The parts of timing: launches, pairs, judged outputs, the report. Inside km-gpu only. */
#ifndef CUDA_GPU_TIME_H
#define CUDA_GPU_TIME_H

#include "cuda/gpu.h"
#include "cuda/gpu_stats.h"
#include "tensor/generate.h"

enum { TIMING_MAX_PAIRS = 1000 };

struct timing_sample {
	double event_us, gap_us, host_us;	/* start to end; P to start; start to end by the host, NAN: not seen in time */
	uint32_t extra;		/* empty launches before the start stamp */
};

struct timing_side {
	struct gpu_code code;
	CUgraphExec graph;	/* NULL: launched one by one */
	uint32_t operations;
	struct timing_sample sample[TIMING_MAX_PAIRS];
	uint32_t samples;
};

struct timing_ratio {
	double log_ratio[TIMING_MAX_PAIRS];
	uint32_t pairs;
	struct stats_ratio figures;
};

/* Outputs of the candidate against those of the trusted solution. */
struct timing_compared {
	uint64_t elements, mismatched, first;
	int output;		/* of the first mismatch */
	double absolute, relative;
	uint32_t launches;
};

struct timing {
	struct gpu *g;
	struct generate_job *inputs;	/* of the inputs in order */
	uint64_t drawn;			/* launch that the inputs were made for */
	const json_t *job;
	struct timing_side candidate, baseline, empty;
	bool has_baseline;
	CUdeviceptr flush;
	CUevent p, start, end;
	uint64_t random, launches;
	double half_interval, copy_bytes_us;
	struct timing_ratio against_baseline, against_itself;
	struct timing_compared first, timed;
	CUmemGenericAllocationHandle kept;	/* memory of kept outputs: mapped only while they are compared */
	uint64_t kept_bytes;
	const char *status;
	struct buf reason;
	json_t *report;
};

uint32_t timing_draw(struct timing *t, uint32_t below);

/* ---- gpu_time.c */
CUresult timing_start(struct timing *t);
CUresult timing_launch(struct timing *t, struct timing_side *side, struct timing_sample *s);
CUresult timing_prepared_launch(struct timing *t, struct timing_side *side, uint64_t launch, struct timing_sample *s);
/* Pairs of a against b until the interval is narrow. A side against itself gives the noise. */
CUresult timing_run(struct timing *t, struct timing_side *a, struct timing_side *b, uint32_t least, uint32_t most,
	struct timing_ratio *out);
double timing_median_us(const struct timing_side *side);
void timing_check_clock(struct timing *t, struct timing_side *side, const char *name);

/* ---- gpu_inputs.c */
/* Makes the inputs where they are mapped, for a launch: 0 is the workload's own draw. */
CUresult timing_generate(struct timing *t, uint64_t launch);
/* Makes them, unless they are those of this launch. */
CUresult timing_renew_inputs(struct timing *t, uint64_t launch);

/* ---- gpu_judge.c */
/* Copies the outputs away, to memory that is not mapped while anything runs. */
CUresult timing_keep_outputs(struct timing *t);
/* Compares them with those of now: either may be the candidate's. Adds to c. */
CUresult timing_compare_outputs(struct timing *t, bool kept_is_candidate, struct timing_compared *c);

/* ---- gpu_count.c */
/* Runs the candidate once more, its launches alone between the marks that a profiler around this process waits for. */
CUresult timing_count(struct timing *t, const char **kernel);

#endif
