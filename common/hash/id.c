/* Identity hashes. Bytes come in, 32 hex digits go out, the same on every machine.
 * The hard idea: a list of parts is hashed with each part's length in front, so that ("ab", "c")
 * and ("a", "bc") differ. XXH3-128 is fast and not secure: hostile authors meet sha256.c instead. */
#include "hash/id.h"

#include <stdint.h>
#include <xxhash.h>

#include "base/die.h"

struct hash_id_state {
	XXH3_state_t *xxh;
};

static void
to_hex(XXH128_hash_t hash, char out[HASH_ID_HEX])
{
	static const char digits[] = "0123456789abcdef";
	XXH128_canonical_t bytes;

	XXH128_canonicalFromHash(&bytes, hash);
	for (size_t i = 0; i < sizeof bytes.digest; i++) {
		out[2 * i] = digits[bytes.digest[i] >> 4];
		out[2 * i + 1] = digits[bytes.digest[i] & 15];
	}
	out[HASH_ID_HEX - 1] = '\0';
}

void
hash_id(const void *bytes, size_t count, char out[HASH_ID_HEX])
{
	to_hex(XXH3_128bits(bytes, count), out);
}

struct hash_id_state *
hash_id_start(void)
{
	struct hash_id_state *state = xmalloc(sizeof *state);

	state->xxh = XXH3_createState();
	if (!state->xxh)
		die(EX_TEMPFAIL, "out of memory");
	XXH3_128bits_reset(state->xxh);
	return state;
}

void
hash_id_part(struct hash_id_state *state, const void *bytes, size_t count)
{
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)count >> (8 * i));
	XXH3_128bits_update(state->xxh, length, sizeof length);
	if (count)
		XXH3_128bits_update(state->xxh, bytes, count);
}

void
hash_id_text(struct hash_id_state *state, const char *text)
{
	hash_id_part(state, text, strlen(text));
}

void
hash_id_end(struct hash_id_state *state, char out[HASH_ID_HEX])
{
	to_hex(XXH3_128bits_digest(state->xxh), out);
	XXH3_freeState(state->xxh);
	free(state);
}
