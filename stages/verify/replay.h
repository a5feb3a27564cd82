/* Two records of one evaluation: what differs. */
#ifndef VERIFY_REPLAY_H
#define VERIFY_REPLAY_H

#include <jansson.h>
#include <stdint.h>

/* The evaluation with this id; NULL: not there. Borrowed. */
const json_t *replay_find(const json_t *evaluations, const char *id);
/* Says each difference on standard error, a line each, and returns how many there are. What a clock gave is not
 * compared, nor who the record was for. */
uint64_t replay_compare(const json_t *was, const json_t *is);
/* 0 the same, 1 not; 65 when no case had the evaluation. */
int replay_exit_status(const char *id, uint64_t replays, uint64_t differences);

#endif
