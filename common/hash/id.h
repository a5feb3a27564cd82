/* XXH3-128: identity of things nobody has a reason to forge. */
#ifndef HASH_ID_H
#define HASH_ID_H

#include <stddef.h>

enum { HASH_ID_HEX = 33 };

/* 32 lower-case hex digits and a NUL into out. */
void hash_id(const void *bytes, size_t count, char out[HASH_ID_HEX]);

/* Several parts, each preceded by its length so that no two lists give the same bytes. */
struct hash_id_state;
struct hash_id_state *hash_id_start(void);
void hash_id_part(struct hash_id_state *state, const void *bytes, size_t count);
void hash_id_text(struct hash_id_state *state, const char *text);
/* Writes the digits and frees the state. */
void hash_id_end(struct hash_id_state *state, char out[HASH_ID_HEX]);

#endif
