/* A bound plan in, work on streams out. Real streams with the recorded event edges show a missing edge; one stream in
 * recorded order shows what the solution meant. The host's own waiting becomes edges too: nothing stops the queue. */
#include "cuda/gpu.h"

#include "base/die.h"

static CUstream
stream_of(struct gpu *g, const struct gpu_replay *how, uint32_t number)
{
	if (how->one_stream || number == 0)
		number = PLAN_GIVEN_STREAM;
	if (!g->stream[number])
		gpu_must(CALL(cuStreamCreate, &g->stream[number], CU_STREAM_NON_BLOCKING), "making a stream");
	return g->stream[number];
}

static CUevent
event_of(struct gpu *g, uint32_t number)
{
	if (!g->event)
		g->event = xcalloc(PLAN_MAX_EVENTS, sizeof *g->event);
	if (!g->event[number])
		gpu_must(CALL(cuEventCreate, &g->event[number], CU_EVENT_DISABLE_TIMING), "making an event");
	return g->event[number];
}

/* The streams of `used`, a bit for each, but not `source`. */
static CUresult
wait_for(struct gpu *g, uint64_t used, uint32_t source, CUevent event)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 1; i < PLAN_MAX_STREAMS && result == CUDA_SUCCESS; i++)
		if (used >> i & 1 && i != source)
			result = CALL(cuStreamWaitEvent, g->stream[i], event, 0);
	return result;
}

/* The host waited for a stream, or for all of them (0): whatever comes later waits too. */
static CUresult
host_waited(struct gpu *g, uint64_t used, uint32_t number)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 1; i < PLAN_MAX_STREAMS && result == CUDA_SUCCESS; i++) {
		if (!(used >> i & 1) || (number && i != number) || used == (uint64_t)1 << i)
			continue;
		result = CALL(cuEventRecord, g->edge, g->stream[i]);
		if (result == CUDA_SUCCESS)
			result = wait_for(g, used, i, g->edge);
	}
	return result;
}

/* Work on the legacy stream runs on the given one. By that stream's rule it waits for all that blocking streams were
 * given before, and what they get later waits for it. */
static CUresult
order_legacy(struct gpu *g, const struct plan *plan, uint64_t used, bool before)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = PLAN_GIVEN_STREAM + 1; i < PLAN_MAX_STREAMS && result == CUDA_SUCCESS; i++) {
		if (!(used >> i & 1) || plan->independent[i])
			continue;
		result = CALL(cuEventRecord, g->edge, g->stream[before ? i : PLAN_GIVEN_STREAM]);
		if (result == CUDA_SUCCESS)
			result = CALL(cuStreamWaitEvent, g->stream[before ? PLAN_GIVEN_STREAM : i], g->edge, 0);
	}
	return result;
}

/* All that was issued comes before what the given stream gets next. */
static CUresult
join_streams(struct gpu *g, uint64_t used)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = PLAN_GIVEN_STREAM + 1; i < PLAN_MAX_STREAMS && result == CUDA_SUCCESS; i++) {
		if (!(used >> i & 1))
			continue;
		result = CALL(cuEventRecord, g->edge, g->stream[i]);
		if (result == CUDA_SUCCESS)
			result = CALL(cuStreamWaitEvent, g->stream[PLAN_GIVEN_STREAM], g->edge, 0);
	}
	return result;
}

static CUresult
scrub(struct gpu *g, int poison, CUstream stream)
{
	uint32_t words = (uint32_t)g->shared_bytes / 4, pattern = poison ? 0xfffafffau : 0xffffffffu;
	void *arguments[] = { &words, &pattern };

	return gpu_own_launch(g, OWN_SCRUB, 2 * (uint32_t)g->multiprocessors, (uint32_t)g->shared_bytes, stream, arguments);
}

static CUresult
launch(const struct gpu_code *code, uint32_t number, CUstream stream)
{
	const struct plan_launch *l = &code->plan->operation[number].launch;
	size_t bytes = l->argument_bytes;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, code->arguments[number], CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
		CU_LAUNCH_PARAM_END };
	CUlaunchAttribute attribute[2];
	CUlaunchConfig how = { .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2],
		.blockDimX = l->block[0], .blockDimY = l->block[1], .blockDimZ = l->block[2],
		.sharedMemBytes = l->dynamic_shared_bytes, .hStream = stream, .attrs = attribute };

	if (l->cooperative)
		attribute[how.numAttrs++] = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
	if (l->cluster[0])
		attribute[how.numAttrs++] = (CUlaunchAttribute){ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
			.value.clusterDim = { l->cluster[0], l->cluster[1], l->cluster[2] } };
	return CALL(cuLaunchKernelEx, &how, code->function[l->kernel], NULL, bytes ? extra : NULL);
}

static CUresult
set_memory(const struct gpu *g, const struct gpu_code *code, const struct plan_memory *m, CUstream stream)
{
	CUdeviceptr to = gpu_address(g, code, m->address);
	bool flat = m->height == 1 || m->pitch == m->width;
	uint64_t n = m->width / m->value_bytes;

	if (!m->width || !m->height)
		return CUDA_SUCCESS;
	if (flat)
		n *= m->height;
	switch (m->value_bytes) {
	case 4: return flat ? CALL(cuMemsetD32Async, to, m->value, n, stream)
		: CALL(cuMemsetD2D32Async, to, m->pitch, m->value, n, m->height, stream);
	case 2: return flat ? CALL(cuMemsetD16Async, to, (unsigned short)m->value, n, stream)
		: CALL(cuMemsetD2D16Async, to, m->pitch, (unsigned short)m->value, n, m->height, stream);
	}
	return flat ? CALL(cuMemsetD8Async, to, (unsigned char)m->value, n, stream)
		: CALL(cuMemsetD2D8Async, to, m->pitch, (unsigned char)m->value, n, m->height, stream);
}

static CUresult
copy_memory(const struct gpu *g, const struct gpu_code *code, const struct plan_memory *m, CUstream stream)
{
	CUdeviceptr to = gpu_address(g, code, m->address), from = gpu_address(g, code, m->source);

	if (!m->width || !m->height)
		return CUDA_SUCCESS;
	if (m->height == 1 || (m->pitch == m->width && m->source_pitch == m->width))
		return CALL(cuMemcpyDtoDAsync, to, from, m->width * m->height, stream);
	CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .srcPitch = m->source_pitch,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = to, .dstPitch = m->pitch, .WidthInBytes = m->width,
		.Height = m->height };
	return CALL(cuMemcpy2DAsync, &rows, stream);
}

/* Scratch is mapped where it is allocated for the first time and stays until the end. */
static CUresult
allocate(struct gpu *g, const struct plan_operation *o, int poison, CUstream stream)
{
	struct gpu_region wanted = { .address = o->scratch.address, .bytes = o->scratch.bytes, .scratch = true,
		.is_float = true };
	struct gpu_region *r = gpu_find_region(g, o->scratch.address);
	CUresult result;

	if (!r && !gpu_map(g, &wanted))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = r ? r : &g->region[g->regions - 1];
	result = gpu_poison(g, r, poison, stream);
	return result == CUDA_SUCCESS ? gpu_set_canaries(g, r, stream) : result;
}

static CUresult
run_operation(struct gpu *g, struct gpu_code *code, const struct gpu_replay *how, uint64_t used, uint32_t number)
{
	const struct plan_operation *o = &code->plan->operation[number];
	CUstream stream = stream_of(g, how, o->stream);
	CUresult result = CUDA_SUCCESS;

	switch (o->kind) {
	case PLAN_LAUNCH:
		if (how->scrub && how->one_stream)
			result = scrub(g, how->poison, stream);
		return result == CUDA_SUCCESS ? launch(code, number, stream) : result;
	case PLAN_MEMSET: return set_memory(g, code, &o->memory, stream);
	case PLAN_COPY: return copy_memory(g, code, &o->memory, stream);
	case PLAN_UPLOAD:
		return o->memory.width ? CALL(cuMemcpyHtoDAsync, gpu_address(g, code, o->memory.address),
			code->arguments[number], o->memory.width, stream) : CUDA_SUCCESS;
	case PLAN_ALLOCATE: return how->timing ? CUDA_SUCCESS : allocate(g, o, how->poison, stream);
	case PLAN_FREE: return CUDA_SUCCESS;
	case PLAN_EVENT_RECORD: return how->one_stream ? CUDA_SUCCESS : CALL(cuEventRecord, event_of(g, o->event), stream);
	case PLAN_EVENT_WAIT:
		return how->one_stream ? CUDA_SUCCESS : CALL(cuStreamWaitEvent, stream, event_of(g, o->event), 0);
	case PLAN_AWAIT: return how->one_stream ? CUDA_SUCCESS : wait_for(g, used, 0, event_of(g, o->event));
	case PLAN_SYNCHRONISE: return how->one_stream ? CUDA_SUCCESS : host_waited(g, used, o->stream);
	}
	return CUDA_SUCCESS;
}

/* The streams that the call uses, a bit for each; they are made when they are not there. Those of the solution's own
 * start after what was before the call, as they do where it is called. */
static uint64_t
use_streams(struct gpu *g, const struct gpu_code *code, const struct gpu_replay *how)
{
	uint64_t used = (uint64_t)1 << PLAN_GIVEN_STREAM;

	for (uint32_t i = code->plan->call_start[0]; i < code->plan->call_start[1] && !how->one_stream; i++)
		if (code->plan->operation[i].stream) {
			stream_of(g, how, code->plan->operation[i].stream);
			used |= (uint64_t)1 << code->plan->operation[i].stream;
		}
	return used;
}

/* One operation between what orders it. */
static CUresult
run_ordered(struct gpu *g, struct gpu_code *code, const struct gpu_replay *how, uint64_t used, uint32_t i,
	const char **kernel)
{
	const struct plan *plan = code->plan;
	bool is_launch = plan->operation[i].kind == PLAN_LAUNCH;
	bool legacy = plan->operation[i].stream == PLAN_LEGACY_STREAM && plan->operation[i].kind < PLAN_AWAIT;
	CUresult result = CUDA_SUCCESS;

	if (is_launch && how->careful)
		gpu_say(g, plan->kernel[plan->operation[i].launch.kernel].name);
	if (legacy)
		result = order_legacy(g, plan, used, true);
	if (result == CUDA_SUCCESS)
		result = run_operation(g, code, how, used, i);
	if (legacy && result == CUDA_SUCCESS)
		result = order_legacy(g, plan, used, false);
	if (result == CUDA_SUCCESS && how->careful)
		result = CALL(cuCtxSynchronize);
	if (result != CUDA_SUCCESS && is_launch)
		*kernel = plan->kernel[plan->operation[i].launch.kernel].name;
	return result;
}

CUresult
gpu_replay(struct gpu *g, struct gpu_code *code, const struct gpu_replay *how, const char **kernel)
{
	const struct plan *plan = code->plan;
	uint64_t used = use_streams(g, code, how);
	CUresult result = host_waited(g, used, PLAN_GIVEN_STREAM);

	*kernel = NULL;
	if (how->scrub && !how->one_stream && result == CUDA_SUCCESS) {
		result = scrub(g, how->poison, g->stream[PLAN_GIVEN_STREAM]);
		if (result == CUDA_SUCCESS)
			result = host_waited(g, used, PLAN_GIVEN_STREAM);
	}
	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1] && result == CUDA_SUCCESS; i++)
		if (!how->order || plan->operation[i].kind == PLAN_ALLOCATE)
			result = run_ordered(g, code, how, used, i, kernel);
	for (uint32_t i = 0; how->order && how->order[i] && result == CUDA_SUCCESS; i++)
		result = run_ordered(g, code, how, used, how->order[i] - 1, kernel);
	return result == CUDA_SUCCESS ? join_streams(g, used) : result;
}
