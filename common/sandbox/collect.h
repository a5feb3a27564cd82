/* Takes files out of a folder that somebody hostile filled. */
#ifndef SANDBOX_COLLECT_H
#define SANDBOX_COLLECT_H

#include <stdbool.h>

#include "sandbox/sandbox.h"

/* A name that stays in its folder: 1 to 200 letters, digits and "._+-", not starting with '.'. */
bool sandbox_plain_name(const char *name);

/* Copies the regular file `name` of folder_fd to the end of to_fd: links are not followed, a FIFO does
 * not block, at most max_bytes are read whatever its size says. *bytes: what was copied, 0 unless OK. */
enum sandbox_file sandbox_collect(int folder_fd, const char *name, uint64_t max_bytes, int to_fd, uint64_t *bytes);

#endif
