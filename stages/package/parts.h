/* Small pieces that rows are made of. All values are returned owned. */
#ifndef PACKAGE_PARTS_H
#define PACKAGE_PARTS_H

#include <jansson.h>

/* {"schema_version": ...} */
json_t *parts_start(void);
/* Copies the named members (NULL ends); one that is missing becomes null. */
void parts_copy(json_t *row, const json_t *from, ...) __attribute__((sentinel));
/* A member, or null. */
json_t *parts_value(const json_t *record, const char *key);
/* A list, or an empty one. */
json_t *parts_list(const json_t *record, const char *key);
/* The members of a list in the order of their "id": the array returned owned, the members borrowed. */
const json_t **parts_by_id(const json_t *list);
/* Always printed as a real, so that the column is one; null unless finite. */
json_t *parts_real(double value);
json_t *parts_text(const char *text);		/* NULL: null */
/* Compact JSON inside a string. */
json_t *parts_json_text(const json_t *value);
/* {"N": 3} as [{"name": "N", "value": 3}]. */
json_t *parts_named_sizes(const json_t *map);
/* All five fields of an origin. */
json_t *parts_origin(const json_t *origin);
/* The branch, null where it is missing or empty. */
json_t *parts_branch(const json_t *record);

#endif
