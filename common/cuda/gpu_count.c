/* A candidate in, the same launches on a profiler's record. Everything of ours (inputs, poison, scratch, a first run
 * that loads the code) happens before the profiler is told to look. It may run each launch several times, and it puts
 * memory back in between, so all launches go one by one on one stream. */
#include "cuda/gpu_time.h"

static CUresult
prepare(struct timing *t)
{
	CUstream stream = t->g->stream[PLAN_GIVEN_STREAM];
	CUresult result = timing_generate(t, 0);

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++)
		if (t->g->region[i].output || t->g->region[i].scratch)
			result = gpu_poison(t->g, &t->g->region[i], 0, stream);
	/* The profiler puts back what it takes for written, and may write inputs for that. */
	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++)
		gpu_allow_writes(t->g, &t->g->region[i], true);
	if (result == CUDA_SUCCESS)
		result = gpu_code_restore(t->g, &t->candidate.code, stream);
	return result == CUDA_SUCCESS ? CALL(cuCtxSynchronize) : result;
}

CUresult
timing_count(struct timing *t, const char **kernel)
{
	static const struct gpu_replay how = { .one_stream = true, .careful = true };
	static const struct gpu_replay counted = { .one_stream = true, .careful = true, .timing = true };
	CUresult result = prepare(t);

	if (result == CUDA_SUCCESS)
		result = gpu_replay(t->g, &t->candidate.code, &how, kernel);	/* maps scratch */
	if (result == CUDA_SUCCESS)
		result = prepare(t);
	if (result == CUDA_SUCCESS)
		result = CALL(cuProfilerStart);
	if (result != CUDA_SUCCESS)
		return result;
	result = gpu_replay(t->g, &t->candidate.code, &counted, kernel);
	CUresult stopped = CALL(cuProfilerStop);
	return result == CUDA_SUCCESS ? stopped : result;
}
