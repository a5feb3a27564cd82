/* Messages and exits. One line each: "program: what went wrong, and what to do". */
#ifndef BASE_DIE_H
#define BASE_DIE_H

#include <stddef.h>
#include <stdio.h>
#include <sysexits.h>

/* Exit statuses are those of sysexits.h: EX_OK 0, EX_USAGE 64, EX_DATAERR 65, EX_NOINPUT 66,
 * EX_UNAVAILABLE 69, EX_SOFTWARE 70, EX_CANTCREAT 73, EX_IOERR 74, EX_TEMPFAIL 75 (run me again). */

/* Name that starts every message; set once by opt_parse. Borrowed. */
extern const char *die_program;
/* -q sets 0, the default is 1, each -v adds one. */
extern int die_verbosity;

/* One line on standard error. A format ending in ':' gets the text of errno appended. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As warn, at verbosity 1 and above only: progress and counts. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As warn, then exit(status). */
_Noreturn void die(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Allocation that never returns NULL; out of memory is EX_TEMPFAIL. Returned owned. */
void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes);
void *xrealloc(void *old, size_t bytes);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);

#endif
