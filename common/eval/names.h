/* Mangled names as their source has them, in the sentences that people and models read. */
#ifndef EVAL_NAMES_H
#define EVAL_NAMES_H

#include "base/buf.h"

/* Appends text with each name that nvcc mangled ("_Z5scalePfl", "_ZZ4sortPiE4tile") replaced by the identifier at
 * its end ("scale", "tile"): namespaces, template arguments and parameter types are left out. Source of the
 * grammar: the Itanium C++ ABI, section 5.1. What does not follow it stays as it is. */
void names_readable(const char *text, struct buf *out);

#endif
