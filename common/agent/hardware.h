/* What a GPU's counters say, in words for a model. */
#ifndef AGENT_HARDWARE_H
#define AGENT_HARDWARE_H

#include <jansson.h>

#include "base/buf.h"

/* Three lines for each of the longest launches of a record's `hardware_counters` (NULL: none): what is busiest, how well
 * threads and memory requests are used, what warps wait for. Where nothing was counted, the reason. Appends. */
void hardware_describe(const json_t *counters, struct buf *out);

#endif
