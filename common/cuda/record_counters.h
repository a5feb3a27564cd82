/* Variables of a loaded object that count calls: where they are, and where many more calls would have them. */
#ifndef CUDA_RECORD_COUNTERS_H
#define CUDA_RECORD_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Looks at the writable memory of the object that holds this function. False: too much, or none. */
bool record_counters_watch(const void *function);
/* After each of three calls that follow each other. */
void record_counters_note(void);
/* Moves each word that changed by the same in the last two calls by that much for each of `calls` more; pointers stay.
 * False: there is none. */
bool record_counters_jump(uint32_t calls);

#endif
