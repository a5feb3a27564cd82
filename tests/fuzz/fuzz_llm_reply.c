/* A server's reply, from bytes: parsed or refused, never a crash; what is parsed can be sent back. */
#include <stdint.h>
#include <stdlib.h>

#include "llm/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct buf err = BUF_INIT, body = BUF_INIT;
	struct llm_reply reply;

	if (llm_parse_reply((const char *)bytes, count, 1, &reply, &err) == 0) {
		json_t *messages = json_pack("[O]", reply.message);

		llm_request_body("m", NULL, 0, messages, NULL, &body);
		json_decref(messages);
		llm_reply_release(&reply);
	} else if (!err.len) {
		abort();
	}
	buf_release(&err);
	buf_release(&body);
	return 0;
}
