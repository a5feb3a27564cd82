/* A task.json of a stranger: a section or a reason, never both, never neither. */
#include <stdint.h>

#include "../../stages/ingest/fields.c"
#include "../../stages/ingest/refuse.c"
#include "../../stages/ingest/spec.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf prompt = BUF_INIT, reference = BUF_INIT, math = BUF_INIT;
	const struct spec_texts texts = { &prompt, &reference, NULL, &math };
	struct filter_reason reason = { NULL, BUF_INIT, 0 };
	json_t *section;

	buf_adds(&prompt, "Add.\n");
	buf_adds(&reference, "void reference(void) { }\n");
	buf_adds(&math, "y[i] = x[i]\n");
	section = spec_parse((const char *)data, size, &texts, &reason);
	if (!section != (reason.code != NULL) || (reason.code && !reason.message.len))
		abort();
	json_decref(section);
	buf_release(&prompt);
	buf_release(&reference);
	buf_release(&math);
	buf_release(&reason.message);
	return 0;
}
