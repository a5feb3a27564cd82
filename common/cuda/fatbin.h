/* Does a shared object carry exactly the device image that nvcc kept? */
#ifndef CUDA_FATBIN_H
#define CUDA_FATBIN_H

#include "base/buf.h"

/* Compares the sections .nv_fatbin and .nvFatBinSegment of an ELF file with nvcc's fatbin: one image, these bytes, one
 * registration. 0, or -1 with a sentence (also when the file is no sound ELF). */
int fatbin_check(const void *object, size_t object_bytes, const void *fatbin, size_t fatbin_bytes, struct buf *reason);

#endif
