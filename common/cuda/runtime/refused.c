/* The functions that are not there, so that a program that calls one loads, and is told by name.
 *
 * In: a call with any arguments. Out: what the back end makes of it: the end of a recording, or a message and an error.
 * All names and reasons come from functions.h. */
#include <string.h>

#include "cuda/runtime/back.h"

#define EXPORT __attribute__((visibility("default")))

#define RECORDED(name)
#define ANSWERED(name)
#define ACCEPTED(name)
#define PROGRAM(name, reason) { #name, reason },
#define REFUSED(name, reason)
static const struct { const char *name, *reason; } in_solutions[] = {
#include "cuda/runtime/functions.h"
};

/* One that is there for whole programs only. */
int
runtime_refused(const char *function)
{
	for (size_t i = 0; i < sizeof in_solutions / sizeof *in_solutions; i++)
		if (!strcmp(in_solutions[i].name, function))
			return back_refused(function, in_solutions[i].reason);
	return back_refused(function, "it is not supported");
}

#define RECORDED(name)
#define ANSWERED(name)
#define ACCEPTED(name)
#define PROGRAM(name, reason)
#define REFUSED(name, reason) \
	EXPORT int name(void); \
	int name(void) { return back_refused(#name, reason); }
#include "cuda/runtime/functions.h"
