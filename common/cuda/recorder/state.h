/* Shared by the recorder's files; nothing here is exported. */
#ifndef CUDA_RECORDER_STATE_H
#define CUDA_RECORDER_STATE_H

#include "cuda/recorder/recorder.h"

#define EXPORT __attribute__((visibility("default")))

extern const struct recorder_job *job;

/* AddressSanitizer reads /proc before a call that does not return from a signal's stack; there is no /proc by then. */
#define ON_SIGNAL_STACK __attribute__((no_sanitize_address))

/* ---- the plan's text */
void plan_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line that counts as an operation, ended by `count` bytes in hexadecimal when bytes is not NULL. */
void plan_operation(const void *bytes, size_t count, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All of it so far. Borrowed. */
const char *plan_text(size_t *length);
/* Forgets what is longer; moves what lies at `from` and behind to `to`, over what is in between. */
void plan_cut(size_t length);
void plan_move(size_t to, size_t from);
/* Writes a whole plan behind those that were written before: the first `head` bytes, then those from first to last. */
void plan_put(size_t head, size_t first, size_t last);
/* No more plans come: ends the process. */
_Noreturn void plan_written(void);

/* ---- numbers and addresses that calls are given */
struct recorder_mark {
	size_t length;			/* of the text */
	uint64_t address;		/* the next free one */
	int streams, events, kernels;	/* how many there are */
};

void recorder_mark(struct recorder_mark *mark);
/* Gives out again what was given since the mark. False, and nothing is done: some of it is still in use, or something
 * older was given back. */
bool recorder_rewind(const struct recorder_mark *mark);
/* Would another such call come near the limits of the plan or of the arena? */
bool recorder_is_short(void);

/* ---- back.c */
/* Reserves the device's address ranges and tells the front half what is in them. */
void memory_start(void);
/* A new call of solve(): the limit on uploads starts again. */
void memory_call(void);
/* The next free address of the arena, as in the plan, and the other way round. */
uint64_t memory_next(void);
void memory_rewind(uint64_t next);
/* How many kernels are in the plan; later ones are forgotten. */
int kernels_named(void);
void kernels_rewind(int count);

/* ---- the process */
void doors_close(void);
void signals_start(void);

#endif
