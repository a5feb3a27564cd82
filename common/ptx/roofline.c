/* In: counted work and a named GPU. Out: an estimated time and what limits it. Each resource takes work / rate; the
 * parts are joined by a norm, since they overlap but not wholly. The figures of the GPUs are NVIDIA's where NVIDIA
 * publishes them; the rates per clock are those of the CUDA C++ Programming Guide, "arithmetic instructions". */
#include "ptx/roofline.h"

#include <math.h>
#include <string.h>

#include "base/occupancy.h"

enum { UNKNOWN_REGISTERS = 32 };
#define KIB(n) ((n) * 1024u)
#define MIB(n) ((n) * 1048576ull)
/* fp32, fp64, fp16 in pairs, int, special functions, conversions, shuffles: lanes per clock by capability */
#define LANES_80 { 64, 32, 128, 64, 16, 64, 32 }
#define LANES_89 { 128, 2, 64, 64, 16, 64, 32 }
#define LANES_90 { 128, 64, 128, 64, 16, 64, 32 }

static const struct roofline_gpu gpus[] = {
	/* NVIDIA A100 Tensor Core GPU datasheet (80 GB SXM) and A100 whitepaper: 108 SMs, 1410 MHz, 2039 GB/s, L2 of 40 MB
	 * read at 5120 bytes a clock, 312 / 156 / 19.5 TFLOPS and 624 TOPS dense. Latencies: Luo et al. 2024 ("Benchmarking
	 * and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking"). */
	{ "a100", "NVIDIA A100 SXM4 80GB", 80, 108, 1.410, 2039, 7219, MIB(40), KIB(192), LANES_80,
		{ 1024, 512, 64, 2048, 0 }, 29, 38, 262, 567 },
	/* NVIDIA H100 datasheet and whitepaper (SXM5): 132 SMs, 1980 MHz, 3352 GB/s, L2 50 MB, 989 / 494 / 67 TFLOPS and 1979
	 * TOPS dense. L2 rate: that of the A100 for each clock, as no figure is published; latencies as above. */
	{ "h100", "NVIDIA H100 SXM5 80GB", 90, 132, 1.980, 3352, 10138, MIB(50), KIB(256), LANES_90,
		{ 2048, 1024, 128, 4096, 4096 }, 29, 41, 263, 658 },
	/* the same sources, PCIe: 114 SMs, 1755 MHz, 2039 GB/s */
	{ "h100-pcie", "NVIDIA H100 PCIe 80GB", 90, 114, 1.755, 2039, 8986, MIB(50), KIB(256), LANES_90,
		{ 2048, 1024, 128, 4096, 4096 }, 29, 41, 263, 658 },
	/* NVIDIA H200 datasheet: the H100 with 4.8 TB/s; L2 size and clock as the device answers (profiles/h200.profile) */
	{ "h200", "NVIDIA H200 141GB", 90, 132, 1.980, 4800, 10138, MIB(60), KIB(256), LANES_90,
		{ 2048, 1024, 128, 4096, 4096 }, 29, 41, 263, 658 },
	/* NVIDIA L40S datasheet and Ada whitepaper: 142 SMs, 2520 MHz, 864 GB/s, L2 96 MB, 362 / 183 TFLOPS, 733 TOPS dense.
	 * L2 rate: 5.1 TB/s as measured on the same chip by Chips and Cheese ("Microbenchmarking Nvidia's RTX 4090"). */
	{ "l40s", "NVIDIA L40S 48GB", 89, 142, 2.520, 864, 5100, MIB(96), KIB(128), LANES_89,
		{ 512, 256, 0, 1024, 1024 }, 30, 34, 273, 541 },
	/* NVIDIA Ada whitepaper (RTX 4090): 128 SMs, 2520 MHz, 1008 GB/s, L2 72 MB; tensor rates with fp32 accumulators are
	 * half of the L40S's: 165 / 82.6 TFLOPS, fp8 330; int8 661 TOPS */
	{ "rtx4090", "NVIDIA GeForce RTX 4090", 89, 128, 2.520, 1008, 5100, MIB(72), KIB(128), LANES_89,
		{ 256, 128, 0, 1024, 512 }, 30, 34, 273, 541 },
	/* NVIDIA Blackwell (HGX B200) datasheet: 8 TB/s, 2250 / 1125 / 40 TFLOPS and 4500 TOPS dense; 148 SMs and L2 of 126 MB
	 * as the device answers (Blackwell tuning guide). L2 rate and latencies: those of the H100, none being published. */
	{ "b200", "NVIDIA B200 180GB", 100, 148, 1.965, 8000, 10138, MIB(126), KIB(256), LANES_90,
		{ 4096, 2048, 64, 8192, 8192 }, 29, 41, 263, 658 },
};

const struct roofline_gpu *
roofline_gpu_at(size_t index)
{
	return index < sizeof gpus / sizeof *gpus ? &gpus[index] : NULL;
}

const struct roofline_gpu *
roofline_gpu(const char *name)
{
	for (size_t k = 0; k < sizeof gpus / sizeof *gpus; k++)
		if (!strcmp(gpus[k].name, name))
			return &gpus[k];
	return NULL;
}

/* Printed by `roofline fit`, from times of an H200 over the half of the kernels that it may see. */
const struct roofline_parameters roofline_fitted = {
	.dram = 0.775, .l2 = 0.435, .passes = 0.915, .issue = 0.904, .pipes = 1, .tensor = 0.567, .atomics = 2.38, .serial = 1.5,
	.latency = 1.71, .write_back = 1, .block_cycles = 159, .launch_us = 3.28, .power = 5.63,
};

uint32_t
roofline_resident(const struct roofline_gpu *gpu, uint32_t threads, uint32_t registers, uint32_t shared_bytes)
{
	struct occupancy_kernel k = { .registers = registers ? registers : UNKNOWN_REGISTERS, .static_shared = shared_bytes,
		.max_threads = 1024, .carveout = -1, .gpu = occupancy_gpu(gpu->arch) };
	return occupancy_blocks(&k, threads, 0);
}

/* ---- names */

static const char *const mix_names[MIX_N] = { "fp32", "fp64", "fp16", "integer", "special", "convert", "move", "tensor",
	"global", "shared", "local", "constant", "atomic", "warp", "control", "barrier", "other" };

const char *
roofline_mix_name(size_t mix)
{
	return mix < MIX_N ? mix_names[mix] : NULL;
}

enum part {
	PART_DRAM, PART_L2, PART_L1, PART_ISSUE, PART_FP32, PART_FP64, PART_FP16, PART_INTEGER, PART_SPECIAL, PART_CONVERT,
	PART_SHUFFLE, PART_TENSOR, PART_ATOMICS, PART_LATENCY, PART_BLOCKS, PART_LAUNCH,
	PART_N
};
static const char *const part_names[PART_N] = { "dram", "l2", "shared", "issue", "fp32", "fp64", "fp16", "integer", "special",
	"convert", "shuffle", "tensor", "atomics", "latency", "blocks", "launch" };

size_t
roofline_parts(void)
{
	return PART_N;
}

const char *
roofline_part_name(size_t part)
{
	return part < PART_N ? part_names[part] : NULL;
}

/* ---- the model */

/* Share of all work that the busiest multiprocessor has. */
static double
busiest(const struct roofline_work *w, const struct roofline_gpu *gpu)
{
	double sms = gpu->multiprocessors;
	return w->blocks > 0 ? ceil(w->blocks / sms) / w->blocks : 1;
}

/* Clocks that a multiprocessor's units take, with all the work on one of them. */
static void
time_units(const struct roofline_work *w, const struct roofline_gpu *gpu, const struct roofline_parameters *p,
	double clocks[PART_N])
{
	enum { SCHEDULERS = 4, LANES_OF_WARP = 32 };
	clocks[PART_ISSUE] = w->issue_slots / SCHEDULERS / p->issue;
	clocks[PART_L1] = w->passes / p->passes;
	for (int k = 0; k < PIPE_N; k++)
		clocks[PART_FP32 + k] = w->pipe[k] * LANES_OF_WARP / gpu->lanes[k] / p->pipes;
	clocks[PART_TENSOR] = 0;
	for (int k = 0; k < TENSOR_N; k++)
		if (w->tensor[k] > 0)
			clocks[PART_TENSOR] += gpu->tensor[k] > 0 ? w->tensor[k] / gpu->tensor[k] / p->tensor : HUGE_VAL;
	clocks[PART_BLOCKS] = w->blocks * p->block_cycles;
}

void
roofline_time(const struct roofline_work *w, const struct roofline_gpu *gpu, const struct roofline_parameters *p,
	struct roofline_estimate *out)
{
	double clocks[PART_N] = { 0 }, clocks_per_us = gpu->clock_ghz * 1e3, sum = 0;
	double resident = gpu->multiprocessors * fmax(w->resident_blocks, 1), waves = fmax(w->blocks / resident, 1);
	time_units(w, gpu, p, clocks);
	for (int k = PART_L1; k <= PART_BLOCKS; k++)
		out->part_us[k] = clocks[k] * busiest(w, gpu) / clocks_per_us;
	out->part_us[PART_DRAM] = (w->dram_sectors + w->dirty_sectors * p->write_back) * 32 / (gpu->dram_gb_s * 1e3) / p->dram;
	out->part_us[PART_L2] = w->l2_sectors * 32 / (gpu->l2_gb_s * 1e3) / p->l2;
	out->part_us[PART_ATOMICS] = (w->l2_atomics * p->atomics / gpu->multiprocessors + w->serial_atomics * p->serial)
		/ clocks_per_us;
	out->part_us[PART_LATENCY] = w->warps > 0 ? w->path_cycles / w->warps * waves * p->latency / clocks_per_us : 0;
	out->part_us[PART_LAUNCH] = p->launch_us;
	size_t longest = PART_LAUNCH;
	for (size_t k = 0; k < PART_LAUNCH; k++) {
		sum += pow(out->part_us[k], p->power);
		longest = out->part_us[k] > out->part_us[longest] ? k : longest;
	}
	out->time_us = p->launch_us + pow(sum, 1 / p->power);
	out->limiter = part_names[longest];
}
