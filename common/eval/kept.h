/* JSON values that the work store keeps by an id. */
#ifndef EVAL_KEPT_H
#define EVAL_KEPT_H

#include <jansson.h>

#include "base/buf.h"
#include "store/store.h"

/* 1 and the object of that id (returned owned), 0: there is none, or -1 with a sentence. An entry that is damaged, or no
 * object, is removed, to be made again. */
int kept_json(struct store *store, const char *kind, const char *id, json_t **object, struct buf *err);
/* Keeps the object (borrowed). 0, or -1 with a sentence. */
int keep_json(struct store *store, const char *kind, const char *id, const json_t *object, struct buf *err);

#endif
