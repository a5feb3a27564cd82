/* The occupancy calculation of compute capability 9.0, as the driver answers it.
 *
 * In: a kernel's resources and a block. Out: blocks per multiprocessor. Figures: CUDA C++ Programming Guide, table of
 * technical specifications per compute capability; 1 KiB of shared memory is reserved for each block. The answers of
 * an H200 are in tests/data/cuda. */
#include <stddef.h>

#include "cuda/occupancy.h"

enum {
	MAX_THREADS = 1024, WARPS = 64, BLOCKS = 32, REGISTERS = 65536, REGISTER_UNIT = 256, PARTITIONS = 4, SHARED_UNIT = 128,
	SHARED_RESERVED = 1024, SHARED_MAX = 232448, SHARED_ALL = 233472,
};
/* KiB of shared memory that a multiprocessor can be configured for. */
static const uint32_t configurations[] = { 0, 8, 16, 32, 64, 100, 132, 164, 196, 228 };

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
shared_capacity(int carveout, uint64_t block)
{
	uint64_t wanted = carveout < 0 ? SHARED_ALL : (uint64_t)carveout * SHARED_ALL / 100;

	for (size_t i = 0; i < sizeof configurations / sizeof *configurations; i++) {
		uint64_t bytes = (uint64_t)configurations[i] << 10;

		if (bytes >= wanted && bytes >= block)
			return bytes;
	}
	return SHARED_ALL;
}

uint32_t
occupancy_blocks(const struct occupancy_kernel *k, uint32_t threads, uint64_t dynamic_shared)
{
	uint64_t warps = (threads + 31) / 32, shared;

	/* The driver does not ask for the launch bounds here, only for what the hardware holds. */
	if (!threads || threads > MAX_THREADS || dynamic_shared > k->dynamic_limit ||
	    dynamic_shared + k->static_shared > SHARED_MAX)
		return 0;
	shared = up(k->static_shared + dynamic_shared + SHARED_RESERVED, SHARED_UNIT);
	return (uint32_t)least(least(WARPS / warps, warps_by_registers(k->registers) / warps),
		least(BLOCKS, shared_capacity(k->carveout, shared) / shared));
}

uint64_t
occupancy_dynamic_shared(const struct occupancy_kernel *k, uint32_t blocks, uint32_t threads)
{
	uint64_t each;

	if (!blocks || occupancy_blocks(k, threads, 0) < blocks)
		return 0;
	each = blocks == 1 ? SHARED_MAX : shared_capacity(k->carveout, 0) / blocks / SHARED_UNIT * SHARED_UNIT;
	each = each > k->static_shared ? each - k->static_shared : 0;
	return least(each, k->dynamic_limit);
}
