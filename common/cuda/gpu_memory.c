/* Recorded addresses in, mapped memory out. Each buffer has granules of its own with unmapped ones around them; it
 * ends near the end of its last, and what is left of them holds canaries. */
#include "cuda/gpu.h"

#include <string.h>

#include "base/die.h"

static CUmemAccessDesc
access_to(const struct gpu *g, bool writes)
{
	return (CUmemAccessDesc){ .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = g->device },
		.flags = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ };
}

uint64_t
gpu_address(const struct gpu *g, const struct gpu_code *code, uint64_t recorded)
{
	if (recorded - CUDA_ARENA < CUDA_REGION_BYTES)
		return recorded - CUDA_ARENA + g->base;
	if (!code || recorded - CUDA_SYMBOLS >= CUDA_REGION_BYTES)
		return recorded;
	for (uint32_t i = 0; i < code->plan->symbols; i++) {
		const struct ptxinfo_symbol *s = &code->plan->symbol[i];

		/* One past the end too: host code may compute it. */
		if (recorded >= s->address && recorded - s->address <= s->bytes)
			return recorded - s->address + code->symbol_address[i];
	}
	return recorded;
}

void
gpu_allow_writes(struct gpu *g, const struct gpu_region *r, bool writes)
{
	CUmemAccessDesc access = access_to(g, writes);

	gpu_must(CALL(cuMemSetAccess, r->start - CUDA_ARENA + g->base, r->mapped, &access, 1), "setting the access of memory");
}

bool
gpu_map(struct gpu *g, const struct gpu_region *what)
{
	CUmemAllocationProp property = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = g->device } };
	uint64_t bytes = what->bytes ? what->bytes : 1;

	if (g->regions == GPU_MAX_REGIONS)
		return false;
	struct gpu_region *r = &g->region[g->regions];
	*r = *what;
	r->start = what->address & ~(CUDA_GRANULE - 1);
	r->mapped = ((what->address + bytes + CUDA_GRANULE - 1) & ~(CUDA_GRANULE - 1)) - r->start;
	if (CALL(cuMemCreate, &r->memory, r->mapped, &property, 0) != CUDA_SUCCESS)
		return false;
	gpu_must(CALL(cuMemMap, r->start - CUDA_ARENA + g->base, r->mapped, 0, r->memory, 0), "mapping memory");
	gpu_allow_writes(g, r, true);
	g->regions++;
	return true;
}

static void
unmap_last(struct gpu *g)
{
	struct gpu_region *r = &g->region[--g->regions];

	gpu_must(CALL(cuMemUnmap, r->start - CUDA_ARENA + g->base, r->mapped), "unmapping memory");
	gpu_must(CALL(cuMemRelease, r->memory), "releasing memory");
}

/* Scratch is mapped after the buffers. */
void
gpu_unmap_scratch(struct gpu *g)
{
	while (g->regions && g->region[g->regions - 1].scratch)
		unmap_last(g);
}

void
gpu_unmap_all(struct gpu *g)
{
	while (g->regions)
		unmap_last(g);
}

struct gpu_region *
gpu_find_region(struct gpu *g, uint64_t address)
{
	for (uint32_t i = 0; i < g->regions; i++)
		if (g->region[i].address == address)
			return &g->region[i];
	return NULL;
}

CUresult
gpu_poison(struct gpu *g, const struct gpu_region *r, int which, CUstream stream)
{
	CUdeviceptr at = r->address - CUDA_ARENA + g->base;

	if (!r->bytes)
		return CUDA_SUCCESS;
	if (r->is_float && which && r->bytes % 2 == 0)
		return CALL(cuMemsetD16Async, at, 0xfffa, r->bytes / 2, stream);
	return CALL(cuMemsetD8Async, at, r->is_float ? 0xff : which ? 0x5a : 0xa5, r->bytes, stream);
}

/* The bytes of the granules before and after the buffer. */
static void
slack(const struct gpu *g, const struct gpu_region *r, CUdeviceptr at[2], uint64_t bytes[2])
{
	at[0] = r->start - CUDA_ARENA + g->base;
	bytes[0] = r->address - r->start;
	at[1] = r->address + r->bytes - CUDA_ARENA + g->base;
	bytes[1] = r->start + r->mapped - (r->address + r->bytes);
}

CUresult
gpu_set_canaries(struct gpu *g, const struct gpu_region *r, CUstream stream)
{
	CUdeviceptr at[2];
	uint64_t bytes[2];
	CUresult result = CUDA_SUCCESS;

	slack(g, r, at, bytes);
	for (int i = 0; i < 2 && result == CUDA_SUCCESS; i++)
		if (bytes[i])
			result = CALL(cuMemsetD8Async, at[i], GPU_CANARY, bytes[i], stream);
	return result;
}

CUresult
gpu_lost_canaries(struct gpu *g, uint64_t *lost, const struct gpu_region **where)
{
	CUstream stream = g->stream[PLAN_GIVEN_STREAM];
	uint32_t value = GPU_CANARY;

	*lost = 0;
	for (uint32_t i = 0; i < g->regions; i++) {
		uint64_t before = *lost, bytes[2];
		CUdeviceptr at[2];
		unsigned long long count = 0;
		CUresult result = CALL(cuMemsetD8Async, g->figures, 0, sizeof count, stream);

		if (!g->region[i].output && !g->region[i].scratch)
			continue;
		slack(g, &g->region[i], at, bytes);
		for (int k = 0; k < 2 && result == CUDA_SUCCESS; k++) {
			void *arguments[] = { &at[k], &bytes[k], &value, &g->figures };
			if (bytes[k])
				result = gpu_own_launch(g, OWN_COUNT_OTHER, (uint32_t)((bytes[k] + 4095) / 4096), 0, stream, arguments);
		}
		if (result == CUDA_SUCCESS)
			result = CALL(cuMemcpyDtoHAsync, &count, g->figures, sizeof count, stream);
		if (result == CUDA_SUCCESS)
			result = CALL(cuStreamSynchronize, stream);
		if (result != CUDA_SUCCESS)
			return result;
		*lost += count;
		if (*lost != before)
			*where = &g->region[i];
	}
	return CUDA_SUCCESS;
}
