/* The work store: content-addressed files in hashed folders, which any number of processes may write.
 * DIR/KIND/ab/abcdef... ; a file appears whole (temporary, fsync, rename) and never changes. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stddef.h>

#include "base/buf.h"

struct store;

/* Opens or creates. NULL with a sentence. Returned owned; safe from threads. */
struct store *store_open(const char *directory, struct buf *err);
void store_close(struct store *s);

/* kind: "answers", "evaluations", "expected", ... (letters); id: hex digits.
 * 1 and the bytes appended to out; 0 not there; -1 with a sentence. */
int store_get(struct store *s, const char *kind, const char *id, struct buf *out, struct buf *err);
/* 0, or -1 with a sentence. Writing what is there already is success and changes nothing. */
int store_put(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, struct buf *err);

/* One line appended to DIR/journal (O_APPEND, fsync): "evaluated ID", "asked ID", "answered ID".
 * What resume and its tests count: a finished evaluation or an acknowledged answer appears once. */
int store_journal(struct store *s, const char *event, const char *id, struct buf *err);

#endif
