/* A workload's jobs of the generator in, its inputs out: those of the workload's own key for the verdict, and several sets
 * with other keys for the clock. Making a set takes longer than most kernels that read it, so the sets are made once, in
 * memory of their own; a pair of launches finds one of them mapped at the inputs' addresses, read-only, and the others
 * mapped nowhere. */
#include "cuda/gpu_time.h"

static CUresult
generate(struct timing *t, uint32_t number, const struct gpu_region *r, uint64_t launch)
{
	struct generate_job job = t->inputs[number];
	uint64_t first = 0, count = job.count, rows = job.extent ? job.count / job.extent : 0;
	uint32_t element_bytes = r->element_bytes;
	CUdeviceptr out = r->address - CUDA_ARENA + t->g->base;

	if (!r->bytes)
		return CUDA_SUCCESS;
	/* The first draw is that of the workload's key; others differ, and as much among themselves. */
	job.key[0] ^= (uint32_t)launch * 0x9E3779B9u;
	job.key[1] ^= (uint32_t)(launch >> 32);
	if (job.distribution == GENERATE_PROBABILITY) {
		void *arguments[] = { &job, &first, &rows, &element_bytes, &out };
		return gpu_own_launch(t->g, OWN_GENERATE_ROWS, rows < 65536 ? (uint32_t)rows : 65536, 0, t->g->stream[PLAN_GIVEN_STREAM], arguments);
	}
	void *arguments[] = { &job, &first, &count, &element_bytes, &out };
	return gpu_own_launch(t->g, OWN_GENERATE, (uint32_t)((count + 255) / 256 < 8192 ? (count + 255) / 256 : 8192), 0,
		t->g->stream[PLAN_GIVEN_STREAM], arguments);
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
	return result;
}

/* ---- sets */

static bool
is_input(const struct gpu_region *r)
{
	return !r->output && !r->scratch;
}

/* As many sets as a quarter of the free memory holds, besides the first, which is there. */
static uint32_t
sets_that_fit(struct timing *t)
{
	size_t left = 0, all;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < t->g->regions; i++)
		bytes += is_input(&t->g->region[i]) ? t->g->region[i].mapped : 0;
	if (!bytes || CALL(cuMemGetInfo, &left, &all) != CUDA_SUCCESS)
		return 1;
	uint64_t sets = 1 + left / 4 / bytes;
	return sets < TIMING_INPUT_SETS ? (uint32_t)sets : TIMING_INPUT_SETS;
}

/* Maps a set at the inputs' addresses. Nothing runs. */
static CUresult
show(struct timing *t, uint32_t set, bool writes)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
		struct gpu_region *r = &t->g->region[i];

		if (!is_input(r))
			continue;
		result = CALL(cuMemUnmap, r->start - CUDA_ARENA + t->g->base, r->mapped);
		if (result == CUDA_SUCCESS)
			result = CALL(cuMemMap, r->start - CUDA_ARENA + t->g->base, r->mapped, 0, t->set[set][i], 0);
		r->memory = t->set[set][i];
		if (result == CUDA_SUCCESS)
			gpu_allow_writes(t->g, r, writes);
	}
	t->shown = set;
	return result;
}

CUresult
timing_make_inputs(struct timing *t)
{
	CUmemAllocationProp property = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = t->g->device } };
	CUresult result = CUDA_SUCCESS;

	t->sets = sets_that_fit(t);
	t->shown = 0;
	for (uint32_t set = 0; set < t->sets && result == CUDA_SUCCESS; set++) {
		for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS; i++) {
			const struct gpu_region *r = &t->g->region[i];

			if (is_input(r) && set)
				result = CALL(cuMemCreate, &t->set[set][i], r->mapped, &property, 0);
			else if (is_input(r))
				t->set[set][i] = r->memory;
		}
		if (result == CUDA_SUCCESS && set)
			result = show(t, set, true);
		for (uint32_t i = 0; i < t->g->regions && result == CUDA_SUCCESS && set; i++)
			if (is_input(&t->g->region[i]))
				result = gpu_set_canaries(t->g, &t->g->region[i], t->g->stream[PLAN_GIVEN_STREAM]);
		if (result == CUDA_SUCCESS && set)
			result = timing_generate(t, set);
	}
	return result;
}

CUresult
timing_show_inputs(struct timing *t, uint64_t launch)
{
	uint32_t set = (uint32_t)(launch % t->sets);

	if (t->sets == 1)
		return timing_generate(t, launch);
	return set == t->shown ? CUDA_SUCCESS : show(t, set, false);
}
