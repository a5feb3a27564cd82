/* What the quick check cannot see: device code that calls host functions. */
#ifndef CUDA_NVRTC_SOURCE_H
#define CUDA_NVRTC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* NVRTC compiles unannotated functions for the device, nvcc for the host. True, with the name, when the body of a
 * __global__ or __device__ function mentions a function that is defined without __device__; found by words and braces,
 * so it may be wrong either way: callers ask nvcc then. */
bool nvrtc_mixes_host_and_device(const char *source, size_t bytes, struct buf *name);

/* Which of nvrtc_known the source (ending with a NUL) includes, as bits. Whether a condition hides the line is not asked. */
uint32_t nvrtc_known_headers(const char *source);

#endif
