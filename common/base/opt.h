/* Command lines from one table, which also gives -h and the OPTIONS section of the man page. */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdint.h>
#include <stdbool.h>

enum opt_kind {
	OPT_FLAG,	/* bool *: set to true */
	OPT_COUNT,	/* int *: plus one each time */
	OPT_STRING,	/* const char **: borrowed from argv */
	OPT_U64,	/* uint64_t *, within min..max */
	OPT_BYTES,	/* uint64_t *, K M G T allowed, within min..max */
	OPT_F64,	/* double * */
	OPT_CALL,	/* int (*)(const char *argument, struct buf *err): 0 or -1 */
};

struct opt {
	char letter;		/* 0: long form only */
	const char *name;	/* without dashes; NULL ends the table */
	enum opt_kind kind;
	void *value;
	const char *argument;	/* its name in the help, NULL for flags */
	const char *help;	/* one sentence, no full stop */
	uint64_t min, max;	/* 0, 0: no limits */
};

struct opt_program {
	const char *name;	/* km-ingest */
	const char *operands;	/* "PATH..." or "[FILE...]" */
	const char *summary;	/* one sentence, the man page's Nd */
	const char *example;	/* one command line, shown first in -h */
	const struct opt *tables[4];	/* own options, then shared ones; NULL ends */
	bool runs_command;		/* the first operand is a program: what follows is its own */
};

/* Parses; -h, --version and --man-options print and exit 0; errors exit 64 with one line.
 * -v, -q, -h and --version need no entry. Options may stand after operands, which are moved to the end of
 * argv in their order; the index of the first is returned. "--" ends options; "-" is an operand. Also sets
 * die_program. */
int opt_parse(const struct opt_program *program, int argc, char **argv);

/* The toolkit's version, from the build. */
extern const char *const opt_version;

#endif
