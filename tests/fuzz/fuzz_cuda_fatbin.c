/* A shared object and a fatbin, from bytes: the first two say where the one ends and the other starts. */
#include <stdint.h>
#include <stdlib.h>

#include "cuda/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry _Z1kPf(.param .u64 a) { ret; }\n";

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct ptxinfo *info = ptxinfo_read(ptx, sizeof ptx - 1, NULL, 0, NULL);
	struct buf reason = BUF_INIT;
	size_t split = count < 2 ? 0 : (size_t)(bytes[0] | bytes[1] << 8);

	if (count >= 2) {
		bytes += 2;
		count -= 2;
	}
	if (split > count)
		split = count;
	if (fatbin_check(bytes, split, bytes + split, count - split, &reason) < 0 && !reason.len)
		abort();
	fatbin_resources(bytes + split, count - split, info, &reason);
	ptxinfo_free(info);
	buf_release(&reason);
	return 0;
}
