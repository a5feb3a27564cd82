/* With what the release was made: BUILD.json, and the earlier stages' counts for the card. */
#ifndef PACKAGE_BUILD_H
#define PACKAGE_BUILD_H

#include <jansson.h>

#include "base/buf.h"

/* The stats records DIR/{ingest,dedupe,diversify,review}.stats.json, those that are there; NULL folder: an
 * empty array. These see the whole set, so the card does not depend on shards. NULL with a sentence.
 * Returned owned. */
json_t *build_stages(const char *folder, struct buf *err);
/* Time, versions, and the command lines of this run and of every NAME.stats.json in the folder. Returned
 * owned. */
json_t *build_record(const char *folder);

#endif
