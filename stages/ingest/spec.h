/* A spec folder as a `task` section: task.json, read strictly, and the texts of its forms. */
#ifndef INGEST_SPEC_H
#define INGEST_SPEC_H

#include <jansson.h>

#include "rec/filter.h"

#define SPEC_FORMAT "kernelmosaic-spec/1"

/* Reads a folder of the format described in km-ingest(1). NULL with a reason. *raw gets the bytes of
 * task.json for the rejects file, as far as it could be read. The section holds what its author wrote,
 * without what ingest derives (id, prototype, latex, bytes). Returned owned. */
json_t *spec_read(const char *folder, struct buf *raw, struct filter_reason *reason);

/* The `task` section of the text of one task.json and the texts of the forms (NULL where the folder has no
 * such file). NULL with a reason. Returned owned. For spec_read, and for fuzzing. */
struct spec_texts {
	const struct buf *prompt, *reference, *module, *math;
};
json_t *spec_parse(const char *text, size_t length, const struct spec_texts *texts, struct filter_reason *reason);

#endif
