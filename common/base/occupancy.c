/* The occupancy calculation, as the driver answers it.
 *
 * In: a kernel's resources, a block and a GPU. Out: blocks per multiprocessor. Figures: CUDA C++ Programming Guide, table
 * of technical specifications per compute capability; 1 KiB of shared memory is reserved for each block. The answers of
 * an H200 are in tests/data/cuda; other GPUs were not asked. */
#include <stddef.h>

#include "base/occupancy.h"

enum {
	MAX_THREADS = 1024, REGISTERS = 65536, REGISTER_UNIT = 256, PARTITIONS = 4, SHARED_UNIT = 128, SHARED_RESERVED = 1024,
};

static const struct occupancy_gpu gpus[] = {
	{ 80, 64, 32, 163 << 10, 164 << 10, { 0, 8, 16, 32, 64, 100, 132, 164 } },
	{ 86, 48, 16, 99 << 10, 100 << 10, { 0, 8, 16, 32, 64, 100 } },
	{ 87, 48, 16, 163 << 10, 164 << 10, { 0, 8, 16, 32, 64, 100, 132, 164 } },
	{ 89, 48, 24, 99 << 10, 100 << 10, { 0, 8, 16, 32, 64, 100 } },
	{ 90, 64, 32, 227 << 10, 228 << 10, { 0, 8, 16, 32, 64, 100, 132, 164, 196, 228 } },
	{ 120, 48, 24, 99 << 10, 100 << 10, { 0, 8, 16, 32, 64, 100 } },
};

const struct occupancy_gpu *
occupancy_gpu(int arch)
{
	const struct occupancy_gpu *best = &gpus[0];

	for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
		if (gpus[i].arch <= arch)
			best = &gpus[i];
	return best;
}

static uint64_t
up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
warps_by_registers(uint32_t registers)
{
	uint64_t warp = up((uint64_t)(registers ? registers : 1) * 32, REGISTER_UNIT);

	return REGISTERS / PARTITIONS / warp * PARTITIONS;
}

uint32_t
occupancy_max_threads(const struct occupancy_kernel *k)
{
	uint64_t by_registers = warps_by_registers(k->registers) * 32;

	return (uint32_t)least(k->max_threads, by_registers);
}

/* A preferred carve-out picks the smallest configuration that holds it, and grows for a block that needs more. */
static uint64_t
shared_capacity(const struct occupancy_kernel *k, uint64_t block)
{
	const struct occupancy_gpu *gpu = k->gpu;
	uint64_t wanted = k->carveout < 0 ? gpu->shared_bytes : (uint64_t)k->carveout * gpu->shared_bytes / 100;

	for (size_t i = 0; i < sizeof gpu->configurations_kib / sizeof *gpu->configurations_kib; i++) {
		uint64_t bytes = (uint64_t)gpu->configurations_kib[i] << 10;

		if (bytes >= wanted && bytes >= block)
			return bytes;
	}
	return gpu->shared_bytes;
}

uint32_t
occupancy_blocks(const struct occupancy_kernel *k, uint32_t threads, uint64_t dynamic_shared)
{
	uint64_t warps = (threads + 31) / 32, shared;

	/* The driver does not ask for the launch bounds here, only for what the hardware holds. */
	if (!threads || threads > MAX_THREADS || dynamic_shared > k->dynamic_limit ||
	    dynamic_shared + k->static_shared > k->gpu->shared_block_bytes)
		return 0;
	shared = up(k->static_shared + dynamic_shared + SHARED_RESERVED, SHARED_UNIT);
	return (uint32_t)least(least(k->gpu->warps / warps, warps_by_registers(k->registers) / warps),
		least(k->gpu->blocks, shared_capacity(k, shared) / shared));
}

uint64_t
occupancy_dynamic_shared(const struct occupancy_kernel *k, uint32_t blocks, uint32_t threads)
{
	uint64_t each;

	if (!blocks || occupancy_blocks(k, threads, 0) < blocks)
		return 0;
	each = blocks == 1 ? k->gpu->shared_block_bytes : shared_capacity(k, 0) / blocks / SHARED_UNIT * SHARED_UNIT;
	each = each > k->static_shared ? each - k->static_shared : 0;
	return least(each, k->dynamic_limit);
}
