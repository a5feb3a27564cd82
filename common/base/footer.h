/* The run footer on standard error: program, version, command line, seconds, peak memory. */
#ifndef BASE_FOOTER_H
#define BASE_FOOTER_H

#include <stdint.h>

/* Call first in main: notes the time and the command line, and ignores SIGPIPE, so that a closed pipe is
 * an error that io and spawn see. */
void footer_start(int argc, char **argv);
/* One line at verbosity 1 and above. */
void footer_print(void);
/* The command line in one string, for provenance. Borrowed. */
const char *footer_command(void);

/* Progress: a line that rewrites itself on a terminal, one line every 30 s elsewhere, none with -q.
 * total 0: unknown. extra: tokens, money; may be NULL. */
void footer_progress(uint64_t done, uint64_t total, const char *unit, const char *extra);

#endif
