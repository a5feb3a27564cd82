/* Any bytes to the PTX parser, and every kernel that comes out to the decoder and the layout of its code. */
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct buf err = BUF_INIT;
	struct ptx_module *m = ptx_parse((const char *)bytes, length, &err);
	for (size_t k = 0; m && k < ptx_kernel_count(m) && k < 8; k++)
		ptx_kernel_check(m, ptx_kernel_at(m, k)->name, &err);
	ptx_module_free(m);
	buf_release(&err);
	return 0;
}
