/* SHA-256 (FIPS 180-4), where an author may be hostile: inputs, manifests, what a reviewer saw. */
#ifndef HASH_SHA256_H
#define HASH_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 65 };

void sha256(const void *bytes, size_t count, uint8_t out[SHA256_BYTES]);
void sha256_hex(const void *bytes, size_t count, char out[SHA256_HEX]);

/* Several parts, each preceded by its length (8 bytes, little-endian). */
struct sha256_state;
struct sha256_state *sha256_start(void);
void sha256_part(struct sha256_state *state, const void *bytes, size_t count);
void sha256_text(struct sha256_state *state, const char *text);
/* Bytes without a length in front: for streaming one file. */
void sha256_raw(struct sha256_state *state, const void *bytes, size_t count);
/* Writes the digest and frees the state. */
void sha256_end(struct sha256_state *state, uint8_t out[SHA256_BYTES]);
void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX]);

#endif
