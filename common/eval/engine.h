/* The inside of the engine that eval.h opens: what the files behind that header share. */
#ifndef EVAL_ENGINE_H
#define EVAL_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/nvrtc.h"
#include "eval/counters.h"
#include "eval/eval.h"
#include "eval/gpu.h"
#include "eval/oracle.h"
#include "eval/torch_time.h"
#include "store/store.h"

struct eval {
	struct store *store;
	char *builds;		/* folder of the build cache */
	struct cuda_checker *checker;
	struct oracle *oracle;
	atomic_bool misses_something;
	uint64_t seed;
	int arch;		/* that solutions are compiled for */
	char target[16];	/* names device and architecture in the record: "ptx-sm_90" */
	const char *profile;	/* of the GPU that answers what host code asks */
	struct gpu_pool *gpus;	/* NULL: the PTX machine */
	struct torch_times *torch_times;	/* as gpus */
	struct counters *counters;	/* NULL: hardware counters are not asked for */
	atomic_uint_fast64_t run, stored;
};

#endif
