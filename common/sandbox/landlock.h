/* File access rules by Landlock, without namespaces. */
#ifndef SANDBOX_LANDLOCK_H
#define SANDBOX_LANDLOCK_H

#include <stddef.h>

/* Confines the calling thread and its children for good: each rule is "r/path" (read and execute) or
 * "w/path" (everything but devices) or "d/path" (using what there is: read, written, asked by ioctl) for the tree under
 * it; missing paths are skipped. TCP, and, where the kernel knows them, signals and abstract sockets to the outside, are
 * refused. Async-signal-safe. 0, or -1 with errno. */
int sandbox_landlock_confine(const char *const *rules, size_t count);

#endif
