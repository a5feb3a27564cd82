/* A workload's jobs of the generator in, its inputs out, made on the device: those of the workload's own key for the
 * verdict, and others for each pair of launches. State that a candidate leaves behind (in shared or local memory, say) is of
 * no use to it on inputs that it has not seen. */
#include "cuda/gpu_time.h"

static CUresult
generate(struct timing *t, uint32_t number, const struct gpu_region *r, uint64_t launch)
{
	struct generate_job job = t->inputs[number];
	uint64_t first = 0, count = job.count, rows = job.extent ? job.count / job.extent : 0;
	uint32_t element_bytes = r->element_bytes;
	CUdeviceptr out = r->address - CUDA_ARENA + t->g->base;
	CUstream stream = t->g->stream[PLAN_GIVEN_STREAM];

	if (!r->bytes)
		return CUDA_SUCCESS;
	/* The first draw is that of the workload's key; others differ, and as much among themselves. */
	job.key[0] ^= (uint32_t)launch * 0x9E3779B9u;
	job.key[1] ^= (uint32_t)(launch >> 32);
	if (job.distribution == GENERATE_PROBABILITY) {
		void *arguments[] = { &job, &first, &rows, &element_bytes, &out };
		return gpu_own_launch(t->g, OWN_GENERATE_ROWS, rows < 65536 ? (uint32_t)rows : 65536, 0, stream, arguments);
	}
	void *arguments[] = { &job, &first, &count, &element_bytes, &out };
	return gpu_own_launch(t->g, OWN_GENERATE, (uint32_t)((count + 255) / 256 < 8192 ? (count + 255) / 256 : 8192), 0,
		stream, arguments);
}

CUresult
timing_generate(struct timing *t, uint64_t launch)
{
	CUresult result = CUDA_SUCCESS;
	uint32_t number = 0;

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
		struct gpu_region *r = &t->g->region[i];

		if (r->output || r->scratch)
			continue;
		gpu_allow_writes(t->g, r, true);
		result = generate(t, number++, r, launch);
	}
	if (result == CUDA_SUCCESS)
		result = CALL(cuStreamSynchronize, t->g->stream[PLAN_GIVEN_STREAM]);
	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++)
		if (!t->g->region[i].output && !t->g->region[i].scratch)
			gpu_allow_writes(t->g, &t->g->region[i], false);
	t->drawn = launch;
	return result;
}

CUresult
timing_renew_inputs(struct timing *t, uint64_t launch)
{
	return t->drawn == launch ? CUDA_SUCCESS : timing_generate(t, launch);
}
