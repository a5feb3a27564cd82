/* Memory for one record: allocate freely, reset once. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *head;
};
#define ARENA_INIT { NULL }

/* Zeroed, aligned to 16; lives until reset. Never NULL. */
void *arena_alloc(struct arena *a, size_t bytes);
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t length);
/* Everything allocated becomes invalid; one block is kept for reuse. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

#endif
