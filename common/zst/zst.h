/* zstd behind base's I/O: files that end in ".zst" are decoded and encoded on the way. */
#ifndef ZST_ZST_H
#define ZST_ZST_H

#include "base/buf.h"

/* Call once at the start of main, before any file is opened.
 * Reading: any number of frames one after the other; damage, truncation and an empty file are errors.
 * Writing: level 3, checksum, one frame, one thread: equal content gives equal bytes (of one libzstd). */
void zst_register(void);
/* Frames in memory, appended to out, at most max_bytes of plain text. 0, or -1 with a sentence. */
int zst_decode(const void *bytes, size_t count, size_t max_bytes, struct buf *out, struct buf *err);
/* Version of the library, as "1.5.4". Borrowed. */
const char *zst_version(void);

#endif
