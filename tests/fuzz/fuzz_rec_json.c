/* JSON values from hostile text: what is taken must read back equal from both ways of writing it, and
 * checking it against every record must end with a verdict. */
#include <stdint.h>

#include "rec/json.h"
#include "rec/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_back(const json_t *value)
{
	struct buf text = BUF_INIT, canonical = BUF_INIT, again = BUF_INIT;
	json_t *copy;

	rec_json_dump(value, &text);
	copy = rec_json_parse(text.data, text.len, NULL);
	if (!copy || !json_equal(copy, value))
		abort();
	json_decref(copy);
	rec_json_canonical(value, &canonical);
	copy = rec_json_parse(canonical.data, canonical.len, NULL);
	if (!copy)
		abort();
	rec_json_canonical(copy, &again);
	if (again.len != canonical.len || memcmp(again.data, canonical.data, again.len))
		abort();
	json_decref(copy);
	buf_release(&text);
	buf_release(&canonical);
	buf_release(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf err = BUF_INIT;
	json_t *value = rec_json_parse((const char *)data, size, &err);

	if (value) {
		read_back(value);
		for (const char *const *name = rec_schema_names; *name; name++) {
			buf_reset(&err);
			if (rec_schema_check(*name, value, &err) < 0 && !err.len)
				abort();
		}
		json_decref(value);
	} else if (!err.len) {
		abort();
	}
	value = rec_json_text((const char *)data, size);
	read_back(value);
	json_decref(value);
	buf_release(&err);
	return 0;
}
