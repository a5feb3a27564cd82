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

/* Size of the image that starts there, from its own header; 0 when it is no fatbin. */
size_t fatbin_bytes(const void *fatbin);
/* The PTX in it for the highest architecture not above `most` (90), decompressed where it is compressed with zstd.
 * 0, or -1 with a sentence. */
int fatbin_ptx(const void *fatbin, size_t bytes, unsigned most, struct buf *out, struct buf *err);

#endif
