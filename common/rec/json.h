/* JSON values from outside, and their one canonical form. */
#ifndef REC_JSON_H
#define REC_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/* Parses one whole value: UTF-8, no duplicate keys, no NUL bytes, at most 64 levels deep, numbers
 * in range. NULL with a sentence (line:column) in err. Returned owned. */
json_t *rec_json_parse(const char *text, size_t length, struct buf *err);
json_t *rec_json_load_file(const char *path, size_t max_bytes, struct buf *err);

/* Compact, keys in insertion order, UTF-8 as it is, reals in the shortest form that reads back equal. */
void rec_json_dump(const json_t *value, struct buf *out);
/* Compact with sorted keys: equal values give equal bytes. What identities are hashed from. */
void rec_json_canonical(const json_t *value, struct buf *out);

/* A JSON string from bytes that may not be UTF-8 (compiler logs, model output): bad bytes become U+FFFD. */
json_t *rec_json_text(const char *bytes, size_t length);

/* Typed access with defaults; borrowed strings. NULL object is allowed. */
const char *rec_json_string(const json_t *object, const char *key, const char *otherwise);
json_int_t rec_json_integer(const json_t *object, const char *key, json_int_t otherwise);
double rec_json_number(const json_t *object, const char *key, double otherwise);
int rec_json_boolean(const json_t *object, const char *key, int otherwise);

/* Rounds to three significant digits, the form in which error figures are kept. */
double rec_json_round3(double value);
/* To six: the form of measured times and ratios. */
double rec_json_round6(double value);

#endif
