/* The scan on hostile lines: what it takes, jansson must take as well (duplicate keys inside sections apart,
 * and numbers out of range, which are found when a section is parsed), and a splice of it must scan again. */
#include <stdint.h>

#include "rec/case.h"
#include "rec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
splice_and_scan(const struct rec_case *c)
{
	static const char *const names[] = { "review", "curation" };
	json_t *values[] = { json_pack("{s:s}", "status", "unreviewed"), json_object() };
	struct rec_case again;
	struct buf out = BUF_INIT;
	size_t length;

	if (c->sections <= REC_MAX_SECTIONS - 2) {
		if (rec_case_splice(c, 2, names, values, &out, NULL) < 0 || rec_case_scan(&again, out.data,
			out.len, NULL) < 0 ||
		    again.sections < c->sections || !rec_case_raw(&again, "review", &length))
			abort();
	}
	json_decref(values[0]);
	json_decref(values[1]);
	buf_release(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf err = BUF_INIT;
	struct rec_case c;
	char id[33];

	if (rec_case_scan(&c, (const char *)data, size, &err) < 0) {
		if (!err.len)
			abort();
	} else {
		json_error_t error;
		json_t *value = json_loadb((const char *)data, size, 0, &error);

		if (!value && json_error_code(&error) != json_error_numeric_overflow)
			abort();
		json_decref(value);
		rec_case_task_id(&c, id, NULL);
		json_decref(rec_case_section(&c, "task", &err));
		splice_and_scan(&c);
	}
	buf_release(&err);
	return 0;
}
