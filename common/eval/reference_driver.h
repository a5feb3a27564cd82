/* The C program around a task's reference: what it is told on the command line, and how it ends. */
#ifndef EVAL_REFERENCE_DRIVER_H
#define EVAL_REFERENCE_DRIVER_H

#include "base/buf.h"
#include "eval/task.h"

/* Exit statuses of the driver, besides 0 with all outputs written. */
enum { REFERENCE_OUT_OF_BOUNDS = 97, REFERENCE_CRASHED = 98 };

/* Appends the program's text: it reads INPUTS, calls reference(), writes OUTPUTS.
 * Command line: INPUTS OUTPUTS, bytes of each tensor, value of each variable axis. Each array ends at an
 * unmapped page and inputs are read-only, so that a stray access is a fault with a name. */
void reference_driver(const struct task *t, struct buf *out);
/* float16 and bfloat16 tensors are float in the reference; others are what they are. */
enum dtype reference_dtype(enum dtype dtype);

#endif
