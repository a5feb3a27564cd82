/* The shape of the record table. Private to rec: schema.c reads it, table.c holds it. */
#ifndef REC_TABLE_H
#define REC_TABLE_H

#include <stdbool.h>

#define MAX_INTEGER 9007199254740991LL

enum kind {
	KIND_STRING,
	KIND_INTEGER,
	KIND_NUMBER,
	KIND_BOOLEAN,
	KIND_RECORD,		/* an object described by another record */
	KIND_MAP,		/* an object with any keys and values */
	KIND_INTEGER_MAP,	/* an object with any keys and integers */
	KIND_NUMBER_OR_TEXT,	/* text for what JSON has no number for: "nan", "inf" */
	KIND_ANYTHING,
};

enum form { FORM_ANY, FORM_ID, FORM_SHA256, FORM_NAME, FORM_VERSION, FORM_TIME };

enum field_flags {
	REQUIRED = 1,
	NULLABLE = 2,
	ARRAY = 4,		/* an array of the kind */
	SOME = 8,		/* an array of one item at least */
	NONEMPTY = 16,		/* a string of one character at least */
	NOT_NEGATIVE = 32,
	POSITIVE = 64,
};

struct field {
	const char *name;
	enum kind kind;
	int flags;
	const char *about;		/* one phrase for the schema; NULL where the name says it */
	const char *const *choices;	/* strings: the allowed ones, NULL ends */
	enum form form;			/* strings */
	const char *record;		/* KIND_RECORD: whose fields */
};

struct record {
	const char *name;
	const struct field *fields;	/* a NULL name ends */
	bool published;			/* has a file of its own in schemas/ */
	const char *about;
};

extern const struct record rec_table[];	/* a NULL name ends */

#endif
