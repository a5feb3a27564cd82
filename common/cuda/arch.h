/* Architectures of GPUs: what code is compiled for, and which GPU stands for an architecture where none is there. */
#ifndef CUDA_ARCH_H
#define CUDA_ARCH_H

#include <stdbool.h>

#include "base/buf.h"

/* An architecture is ten times the compute capability: 89 is sm_89. */
enum {
	CUDA_ARCH_LEAST = 80,	/* cp.async, bfloat16 and the tensor cores that solutions count on */
	CUDA_ARCH_DEFAULT = 90,
	CUDA_ARCH_MOST = 999,
};

/* "sm_89" or "89" as given in --arch: one that the PTX machine runs. The number, or -1 with a sentence. */
int cuda_arch_parse(const char *text, struct buf *err);
/* The newest architecture that nvcc compiles for and whose code runs on a GPU of `gpu`: its own where nvcc knows it, else
 * one whose PTX the driver translates. -1 with a sentence: the GPU is older than CUDA_ARCH_LEAST, or nvcc does not run. */
int cuda_arch_for_gpu(int gpu, struct buf *err);

/* The profile (a name below profiles/) of a GPU by the name that its driver gives; NULL or an unknown name: of the GPU
 * that stands for the architecture, or for the nearest older one. Static. */
const char *cuda_arch_profile(int arch, const char *gpu_name);

#endif
