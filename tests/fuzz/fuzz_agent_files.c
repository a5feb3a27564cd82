/* Transcripts and policy files, from bytes; the first byte chooses. Refused with a sentence or accepted. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/policy_file.h"
#include "agent/transcript.h"
#include "rec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int
transcript(const char *text, size_t count, struct buf *err)
{
	struct transcript t = { .root = rec_json_parse(text, count, err) };
	int status = t.root ? transcript_check(t.root, NULL, err) : -1;

	if (status == 0) {
		transcript_turn(&t, PHASE_REPAIR, "", 1);
		transcript_turn(&t, PHASE_OPTIMIZE, "a", 0);
		transcript_branch(&t, "root", 1);
	}
	json_decref(t.root);
	return status;
}

static int
policy_file(const char *text, size_t count, struct buf *err)
{
	struct policy_file f;

	if (policy_file_parse(&f, "policy.json", text, count, false, err) < 0)
		return -1;
	policy_file_most_usd(&f, count);
	policy_file_release(&f);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	struct buf err = BUF_INIT;
	int status;

	if (!count)
		return 0;
	status = bytes[0] == 'p' ? policy_file((const char *)bytes + 1, count - 1, &err)
		: transcript((const char *)bytes + 1, count - 1, &err);
	if (status < 0 && !err.len)
		abort();
	buf_release(&err);
	return 0;
}
