/* The record table: every field of every section, from which schemas/ is generated and by which
 * records are checked. Unknown fields pass; missing or mistyped known ones do not. */
#ifndef REC_SCHEMA_H
#define REC_SCHEMA_H

#include <jansson.h>

#include "base/buf.h"

/* Names of the records: task, curation, review, solution, evaluation, trajectory, case,
 * and the release's rows and side files. NULL ends. */
extern const char *const rec_schema_names[];
/* 0, or -1 with a sentence that names the path of the field: "task.inputs[1].dtype: ...". */
int rec_schema_check(const char *name, const json_t *value, struct buf *err);
/* A section of a case: "task", "solutions" (an array)...; sections that the table does not know pass. */
int rec_schema_check_section(const char *section, const json_t *value, struct buf *err);
/* The JSON Schema (draft 2020-12) of one record. */
int rec_schema_write(const char *name, struct buf *out);
/* The columns of a row as the YAML head of a dataset card declares them ("features"), each line indented
 * by `indent` blanks. 0, or -1 if there is no such record or a field has no fixed columns. */
int rec_schema_features(const char *name, int indent, struct buf *out);

#endif
