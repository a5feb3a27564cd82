/* A roofline model of named GPUs: the work that the PTX machine counted in a launch becomes an estimated time with the
 * resource that limits it. An estimate is not a measurement. How far it may be trusted is measured by `make roofline`:
 * the model's few free parameters were fitted to times of an H200 over one half of the kernels of tests/bench/roofline
 * and judged on the other half. For other GPUs the published figures are exchanged and the parameters kept. */
#ifndef PTX_ROOFLINE_H
#define PTX_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What instructions do; the order of the names in roofline.c. */
enum roofline_mix {
	MIX_FP32, MIX_FP64, MIX_FP16, MIX_INTEGER, MIX_SPECIAL, MIX_CONVERT, MIX_MOVE, MIX_TENSOR, MIX_GLOBAL, MIX_SHARED,
	MIX_LOCAL, MIX_CONSTANT, MIX_ATOMIC, MIX_WARP, MIX_CONTROL, MIX_BARRIER, MIX_OTHER,
	MIX_N
};
/* Execution units; the rates are results per clock and multiprocessor. */
enum roofline_pipe { PIPE_FP32, PIPE_FP64, PIPE_FP16, PIPE_INTEGER, PIPE_SPECIAL, PIPE_CONVERT, PIPE_SHUFFLE, PIPE_N };
enum roofline_tensor { TENSOR_FP16, TENSOR_TF32, TENSOR_FP64, TENSOR_INT8, TENSOR_FP8, TENSOR_N };

struct roofline_gpu {
	const char *name, *title;
	int arch;				/* 90: compute capability 9.0 */
	uint32_t multiprocessors;
	double clock_ghz;			/* boost */
	double dram_gb_s, l2_gb_s;
	uint64_t l2_bytes;
	uint32_t l1_bytes;			/* with shared memory, of a multiprocessor */
	double lanes[PIPE_N];			/* results per clock of a multiprocessor */
	double tensor[TENSOR_N];		/* multiply-adds per clock of a multiprocessor, dense; 0: has none */
	double shared_cycles, l1_cycles, l2_cycles, dram_cycles;	/* latency of a load */
};
/* "h200", ...: NULL when there is none. NULL at the end of the list. Borrowed. */
const struct roofline_gpu *roofline_gpu(const char *name);
const struct roofline_gpu *roofline_gpu_at(size_t index);

/* The work of one launch, as counted: a pure function of launch, memory and the GPU's cache sizes. */
struct roofline_work {
	double blocks, warps;			/* launched */
	double resident_blocks;			/* on a multiprocessor at once, by registers, shared memory and warps */
	double issue_slots;			/* machine instructions of warps, estimated from the PTX */
	double pipe[PIPE_N];			/* machine instructions of warps */
	double tensor[TENSOR_N];		/* multiply-adds */
	double passes;				/* of shared memory and L1: 128 bytes or one bank conflict each */
	double l2_sectors;			/* read from, written to or atomically changed in L2 */
	double dram_sectors;			/* read, or written for want of room */
	double dirty_sectors;			/* left in L2 to be written later */
	double l2_atomics;			/* sectors with atomics */
	double serial_atomics;			/* most atomics on one word in L2 */
	double path_cycles;			/* of all warps: issue and waiting for operands, each warp as if alone */
};

struct roofline_estimate {
	double time_us;
	const char *limiter;			/* the part with the longest time; static string */
	double part_us[16];			/* by roofline_part_name */
};
size_t roofline_parts(void);
const char *roofline_part_name(size_t part);
const char *roofline_mix_name(size_t mix);

/* Free parameters, all of the order of 1 but for the last three. Fitted by tests/bench/roofline. */
struct roofline_parameters {
	double dram, l2, passes, issue, pipes, tensor;	/* share of the published rate that is reached */
	double atomics, serial;			/* clocks of a multiprocessor; clocks of the whole L2 */
	double latency;				/* factor on path_cycles */
	double write_back;			/* share of dirty sectors written while the kernel runs */
	double block_cycles;			/* to start a block on a multiprocessor */
	double launch_us;
	double power;				/* of the norm that joins the parts: large is their maximum */
};
extern const struct roofline_parameters roofline_fitted;
enum { ROOFLINE_PARAMETERS = sizeof(struct roofline_parameters) / sizeof(double) };

void roofline_time(const struct roofline_work *work, const struct roofline_gpu *gpu, const struct roofline_parameters *parameters,
	struct roofline_estimate *out);
/* Blocks that fit on a multiprocessor, 0 when one does not. */
uint32_t roofline_resident(const struct roofline_gpu *gpu, uint32_t threads, uint32_t registers, uint32_t shared_bytes);

#endif
