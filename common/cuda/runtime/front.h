/* Shared by the files of the front half; nothing here is exported. */
#ifndef CUDA_RUNTIME_FRONT_H
#define CUDA_RUNTIME_FRONT_H

#include <cuda_runtime_api.h>

#include "cuda/runtime/back.h"

/* Visible to the program: everything else of the library is hidden. */
#define EXPORT __attribute__((visibility("default")))

enum { MAX_STREAMS = 64, MAX_EVENTS = 4096, MAX_FUNCTIONS = 4096 };

/* ---- errors.c: notes an error as the runtime's last one and returns it */
cudaError_t fail(cudaError_t error);
/* As fail, with words for the case that nobody ever asks for it. */
cudaError_t fail_because(cudaError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a back end returned. */
cudaError_t done(int error);
/* A launch succeeded or failed. */
void note_launch(bool succeeded);

/* ---- memory.c: where an address lies; SHARED: host and kernels may both touch it */
enum place { HOST, DEVICE, SHARED };
enum place place_of(const void *pointer);
/* Do the bytes lie inside one live buffer? */
bool inside_buffer(const void *pointer, uint64_t bytes);
/* Whether an operation may write there; if not, after the runtime's error. */
bool check_writable(const char *call, const void *pointer, uint64_t bytes);

/* ---- stream.c: the number; a handle that is none gives -1 */
int stream_number(cudaStream_t stream, const char *call);

/* Is one of the streams or events from these numbers on live? Without any they are given out again. */
bool handles_live(int streams, int events);
void handles_rewind(int streams, int events);

/* ---- launch.c */
const struct runtime_symbol *find_symbol(const void *variable);

/* ---- refused.c: by name, with the reason that stands in functions.h */
static inline cudaError_t
refused(const char *function)
{
	return (cudaError_t)runtime_refused(function);
}

#endif
