/* PTX as the trusted reader sees it: tables that hold together, or a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "cuda/cuda.h"
#include "cuda/ptxinfo.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct buf err = BUF_INIT;
	struct ptxinfo *info = ptxinfo_read((const char *)bytes, count, NULL, 0, &err);
	uint64_t past = CUDA_SYMBOLS;

	if (!info && !err.len)
		abort();
	for (uint32_t i = 0; info && i < info->kernels; i++) {
		const struct ptxinfo_kernel *k = &info->kernel[i];

		if (ptxinfo_kernel(info, k->name) != k || k->parameter_bytes > CUDA_MAX_PARAMETER_BYTES)
			abort();
		for (uint32_t p = 0; p < k->parameters; p++)
			if (k->parameter[p].offset + k->parameter[p].bytes > k->parameter_bytes)
				abort();
	}
	for (uint32_t i = 0; info && i < info->symbols; i++) {
		if (info->symbol[i].address < past || info->symbol[i].bytes > CUDA_REGION_BYTES)
			abort();
		past = info->symbol[i].address + info->symbol[i].bytes;
	}
	ptxinfo_free(info);
	buf_release(&err);
	return 0;
}
