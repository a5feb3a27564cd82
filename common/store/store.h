/* The work store: content-addressed files in hashed folders, which any number of processes may write.
 * DIR/KIND/ab/abcdef... ; a file appears whole (temporary, fsync, link) and never changes. Its last line is the
 * XXH3-128 of all before it: a file that was cut or changed is told from a sound one. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct store;

/* Opens or creates. NULL with a sentence. Returned owned; safe from threads. */
struct store *store_open(const char *directory, struct buf *err);
void store_close(struct store *s);

/* kind: "answers", "evaluations", "expected", ... (letters); id: hex digits.
 * 1 and the bytes appended to out; 0 not there; -1 with a sentence; STORE_DAMAGED, with a sentence that asks to
 * remove the file: what cost nothing but time may be removed and made again by the caller. */
enum { STORE_DAMAGED = -2 };
int store_get(struct store *s, const char *kind, const char *id, struct buf *out, struct buf *err);
/* 0, or -1 with a sentence. Writing what is there already is success and changes nothing. */
int store_put(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, struct buf *err);

/* The same, and says whether it was not there: of several who put at once, one has added. */
int store_add(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, bool *added,
	struct buf *err);
/* 0, also when it was not there, or -1 with a sentence. */
int store_remove(struct store *s, const char *kind, const char *id, struct buf *err);

/* One line appended to DIR/journal (O_APPEND, fsync): "evaluated ID", "asked ID", "answered ID".
 * What resume and its tests count: a finished evaluation or an acknowledged answer appears once. */
int store_journal(struct store *s, const char *event, const char *id, struct buf *err);

#endif
