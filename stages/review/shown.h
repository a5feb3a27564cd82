/* What a reviewer is shown of a task. A decision holds for exactly this. */
#ifndef REVIEW_SHOWN_H
#define REVIEW_SHOWN_H

#include <jansson.h>

#include "base/buf.h"
#include "hash/sha256.h"

/* SHA-256 over the fields of the task that the screen shows (64 digits and a NUL): all but the id. */
void shown_sha256(const json_t *task, char out[SHA256_HEX]);
/* "float16 float32": the dtypes of inputs and outputs, each once, in order. Appended. */
void shown_dtypes(const json_t *task, struct buf *out);
/* "E-M": English, C and math, a dash for a form that is not shown. Appended. */
void shown_forms(const json_t *task, struct buf *out);

/* The pages of a task on the screen. */
enum shown_page { SHOWN_PROMPT, SHOWN_REFERENCE, SHOWN_MATH, SHOWN_CONTRACT, SHOWN_PAGES };
/* Its heading, "Reference" or "Reference (hidden)"; NULL when the task has no such page. Static. */
const char *shown_page_name(const json_t *task, enum shown_page page);
/* Its text, lines ended by newlines. Appended. */
void shown_page_text(const json_t *task, enum shown_page page, struct buf *out);

#endif
