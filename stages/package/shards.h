/* Rows to compressed shards, with what MANIFEST.json says about each. */
#ifndef PACKAGE_SHARDS_H
#define PACKAGE_SHARDS_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"

/* Rows of one task in one config: whole lines with their newlines. */
struct shard_rows {
	const char *split;	/* static */
	const struct buf *lines;
};

/* Writes DIR/CONFIG/SPLIT-00000-of-0000N.jsonl.zst for every split that has rows, cut at line ends once a
 * shard holds max_bytes, and appends an entry to `files` for each. 0, or -1 with a sentence. */
int shards_write(const char *dir, const char *config, const struct shard_rows *rows, size_t count,
	uint64_t max_bytes,
	json_t *files, struct buf *err);
/* Writes DIR/NAME and appends its entry. 0, or -1 with a sentence. */
int shards_write_plain(const char *dir, const char *name, const struct buf *text, json_t *files,
	struct buf *err);

#endif
