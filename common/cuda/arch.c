/* In: an architecture as a user writes it, or a GPU. Out: what nvcc is asked to compile for, and whose answers the
 * recorder gives. A GPU that nvcc does not know yet gets the PTX of the newest one before it: the driver translates that
 * to machine code, which is why a build always holds PTX of its architecture. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/spawn.h"
#include "cuda/arch.h"
#include "cuda/build.h"

/* The first GPU of an architecture stands for it. */
static const struct { int arch; const char *profile, *gpu_name; } gpus[] = {
	{ 80, "a100", "NVIDIA A100" },
	{ 86, "rtx3090", "NVIDIA GeForce RTX 3090" },
	{ 89, "rtx4090", "NVIDIA GeForce RTX 4090" }, { 89, "l40s", "NVIDIA L40S" },
	{ 90, "h200", "NVIDIA H200" }, { 90, "h100", "NVIDIA H100" },
	{ 100, "b200", "NVIDIA B200" },
	{ 120, "rtx5090", "NVIDIA GeForce RTX 5090" },
};
static const int machine[] = { 80, 89, 90 };	/* those whose PTX the machine is tested with */

enum { GPUS = sizeof gpus / sizeof *gpus, MACHINE = sizeof machine / sizeof *machine, LIST_WALL_MS = 60000 };

int
cuda_arch_parse(const char *text, struct buf *err)
{
	const char *digits = strncmp(text, "sm_", 3) ? text : text + 3;
	uint64_t number;

	if (num_u64(digits, 0, CUDA_ARCH_MOST, &number) == 0)
		for (int i = 0; i < MACHINE; i++)
			if ((int)number == machine[i])
				return machine[i];
	buf_err(err, "--arch %s: the PTX machine runs code of sm_80, sm_89 and sm_90", text);
	return -1;
}

/* The newest of nvcc's list that is not above `most`, 0: none. */
static int
newest(const char *list, int most)
{
	static const char word[] = "compute_";
	int best = 0;

	for (const char *at = strstr(list, word); at; at = strstr(at, word)) {
		long number;

		at += sizeof word - 1;
		number = strtol(at, NULL, 10);
		if (number <= most && number > best)
			best = (int)number;
	}
	return best;
}

int
cuda_arch_for_gpu(int gpu, struct buf *err)
{
	char *argv[] = { KM_CUDA "/bin/nvcc", "--list-gpu-arch", NULL };
	struct buf list = BUF_INIT;
	struct spawn how = { .argv = argv, .output = &list, .errors = &list, .wall_ms = LIST_WALL_MS };
	struct spawn_result ended;
	int best = -1;

	if (gpu < CUDA_ARCH_LEAST)
		buf_err(err, "it is of sm_%d, and code is built for sm_%d and later", gpu, CUDA_ARCH_LEAST);
	else if (spawn_run(&how, &ended, NULL) < 0 || ended.exit_status)
		buf_err(err, "%s does not say which architectures it compiles for", argv[0]);
	else if ((best = newest(buf_str(&list), gpu)) < CUDA_ARCH_LEAST)
		best = buf_err(err, "%s compiles for no architecture from sm_%d to sm_%d", argv[0], CUDA_ARCH_LEAST, gpu);
	buf_release(&list);
	return best;
}

const char *
cuda_arch_profile(int arch, const char *gpu_name)
{
	const char *best = gpus[0].profile;

	for (int i = 0; gpu_name && i < GPUS; i++)
		if (!strncmp(gpu_name, gpus[i].gpu_name, strlen(gpus[i].gpu_name)))
			return gpus[i].profile;
	for (int i = 0, at = 0; i < GPUS; i++)
		if (gpus[i].arch <= arch && gpus[i].arch > at) {
			at = gpus[i].arch;
			best = gpus[i].profile;
		}
	return best;
}
