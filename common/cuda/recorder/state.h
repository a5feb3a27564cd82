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

/* ---- back.c */
/* Reserves the device's address ranges and tells the front half what is in them. */
void memory_start(void);
/* A new call of solve(): the limit on uploads starts again. */
void memory_call(void);

/* ---- the process */
void doors_close(void);
void signals_start(void);

#endif
