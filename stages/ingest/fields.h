/* JSON objects written by hand, read strictly by a table: every key is known, required ones are there,
 * types are right. */
#ifndef INGEST_FIELDS_H
#define INGEST_FIELDS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

enum field_kind {
	FIELD_STRING,		/* not empty */
	FIELD_INTEGER,
	FIELD_NUMBER,		/* an integer or a real */
	FIELD_BOOLEAN,
	FIELD_BOUND,		/* a number, or an axis expression as a string */
	FIELD_STRINGS,		/* array of strings */
	FIELD_INTEGERS,		/* object of integers, keys free */
	FIELD_ARRAYS,		/* object of arrays of numbers or booleans, nested or not, keys free */
	FIELD_OBJECT,		/* described by `inside` */
	FIELD_OBJECTS,		/* array of objects described by `inside` */
};

struct field {
	const char *name;	/* NULL ends */
	enum field_kind kind;
	bool required;
	const struct field *inside;
};

/* Keys of one task.json. */
extern const struct field fields_task[];

/* 0, or -1 with a sentence that names the path: "axes[2]: unknown key \"vlaue\"; is \"value\" meant?". */
int fields_check(const struct field *fields, const json_t *object, struct buf *err);

/* The candidate nearest to a misspelt word: at most two letters inserted, left out or replaced, and at most
 * half of the word. NULL if none is. Candidates end with NULL; the result is one of them. */
const char *fields_nearest(const char *word, const char *const *candidates);

#endif
