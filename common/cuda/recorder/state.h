/* Shared by the recorder's files; nothing here is exported. */
#ifndef CUDA_RECORDER_STATE_H
#define CUDA_RECORDER_STATE_H

#include <cuda_runtime_api.h>

#include "cuda/recorder/recorder.h"

/* Visible to the candidate: everything else of the library is hidden. */
#define EXPORT __attribute__((visibility("default")))

enum { MAX_STREAMS = 64, MAX_EVENTS = 4096, MAX_RANGES = 20100, MAX_FUNCTIONS = 4096 };

extern const struct recorder_job *job;

/* ---- the plan's text */
void plan_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line that counts as an operation, ended by `count` bytes in hexadecimal when bytes is not NULL. */
void plan_operation(const void *bytes, size_t count, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool plan_in_call(void);

/* ---- ends of the recording: one clause without a full stop
 * AddressSanitizer reads /proc before a call that does not return from a signal's stack; there is no /proc by then. */
#define ON_SIGNAL_STACK __attribute__((no_sanitize_address))
_Noreturn void refuse(const char *status, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define UNSUPPORTED "UNSUPPORTED"
#define RUNTIME_ERROR "RUNTIME_ERROR"
#define SUSPICIOUS "SUSPICIOUS"

/* Notes an error as the runtime's last one and returns it. */
cudaError_t fail(cudaError_t error);
/* As fail, with words for the case that solve() never asks for it. */
cudaError_t fail_because(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A launch succeeded or failed: a call whose last launch failed is a runtime error. */
void note_launch(bool succeeded);

/* ---- memory */
/* Does the candidate's pointer lie in a device region? */
bool is_device(const void *pointer);
/* "x + 16" for messages, into a static buffer. */
const char *describe_pointer(const void *pointer);
void memory_start(void);
/* A new call of solve(): the limit on uploads starts again. */
void memory_call(void);

/* ---- streams */
/* The plan's number; the default streams are refused, a handle that is none gives -1. */
int stream_number(cudaStream_t stream, const char *call);

/* ---- kernels */
const struct recorder_symbol *find_symbol(const void *variable);

/* ---- errors.c */
const char *error_text(cudaError_t error);

/* ---- the process */
void doors_close(void);
void signals_start(void);

#endif
