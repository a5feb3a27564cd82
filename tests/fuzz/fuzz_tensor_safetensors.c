/* The safetensors reader on hostile bytes; what it accepts must survive a round trip. */
#include <stdlib.h>

#include "tensor/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf err = BUF_INIT, bytes = BUF_INIT;
	struct safetensors s, again;

	if (!safetensors_parse(data, size, &s, &err)) {
		if (safetensors_format(s.tensors, s.count, &bytes, &err)
			|| safetensors_parse(bytes.data, bytes.len, &again, &err) || again.count != s.count)
			abort();
		safetensors_release(&again);
		safetensors_release(&s);
	} else if (!err.len)
		abort();
	buf_release(&err);
	buf_release(&bytes);
	return 0;
}
