/* What a compiler said, made fit for a record: no host paths, ASCII, bounded. */
#ifndef CUDA_BUILD_LOG_H
#define CUDA_BUILD_LOG_H

#include <stdbool.h>

#include "base/buf.h"

/* Replaces the text by its clean form: /in/solution.cu and its like become plain file names, the toolkit's include
 * folder becomes "cuda/", control and non-ASCII bytes '?', ptxas -v lines go to `resources` (NULL: stay). At most
 * CUDA_LOG_BYTES, head and tail. */
void build_log_clean(struct buf *text, struct buf *resources);

/* Names of things that are refused, found in a source's #include lines, in a link error or in the entries of PTX.
 * True with one sentence in reason. */
bool build_refused_include(const char *source, size_t bytes, struct buf *reason);
bool build_refused_message(const char *log, struct buf *reason);
bool build_refused_kernel(const char *name, struct buf *reason);

#endif
