/* The dataset card: README.md of the release. */
#ifndef PACKAGE_CARD_H
#define PACKAGE_CARD_H

#include <jansson.h>

#include "base/buf.h"

struct card {
	const json_t *summaries;	/* array, in order of name: see summary.h */
	const json_t *totals;		/* their counts added up */
	const json_t *rows;		/* {CONFIG: {SPLIT: n}} */
	const json_t *licenses;		/* array of SPDX names */
	const json_t *stages;		/* array of stats records of the stages before; may be empty */
};

/* Appends the whole card. Equal input gives equal bytes. */
void card_write(const struct card *card, struct buf *out);

#endif
