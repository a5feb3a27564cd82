/* nvcc's fatbin: is it the one inside the shared object, and what do its kernels need? */
#ifndef CUDA_FATBIN_H
#define CUDA_FATBIN_H

#include "base/buf.h"
#include "cuda/ptxinfo.h"

/* Compares the sections .nv_fatbin and .nvFatBinSegment of a shared object with nvcc's fatbin: one image, these bytes,
 * one registration. 0, or -1 with a sentence (also when the file is no sound ELF). */
int fatbin_check(const void *object, size_t object_bytes, const void *fatbin, size_t fatbin_bytes, struct buf *reason);

/* Fills registers, static_shared and local_bytes of the kernels in info from the machine code in the fatbin. Unlike
 * what ptxas -v prints, no message of a source can get in between. 0, or -1 with a sentence. */
int fatbin_resources(const void *fatbin, size_t fatbin_bytes, struct ptxinfo *info, struct buf *err);

#endif
