/* What the hardware counted while a solution ran: Nsight Compute around one more worker, after the timing. */
#ifndef EVAL_COUNTERS_H
#define EVAL_COUNTERS_H

#include <jansson.h>

#include "eval/bench.h"
#include "eval/gpu_pool.h"

struct counters;

/* How long the program may take for one call; tests shorten it. */
extern uint64_t counters_wall_ms;

/* Looks for the program (a path, or a name in PATH and in the CUDA toolkit). That it is not there is no error, but what
 * the records say. Returned owned; safe from threads. */
struct counters *counters_open(const char *program);
void counters_free(struct counters *c);

/* Counts the launches of the request's call on the GPU with this UUID, which is held alone for it. Returns a
 * `hardware_counters` of the record, owned: launches, or the reason why there are none. Never a verdict. */
json_t *counters_collect(const struct counters *c, struct gpu_pool *pool, const char *uuid,
	const struct bench_request *request);
/* The tool's table, held against the plan whose launches it counted, with the tool's name. Returned owned. */
json_t *counters_record(const char *tool, const struct buf *table, const struct plan *plan);

#endif
