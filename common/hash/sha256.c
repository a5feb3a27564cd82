/* SHA-256 for what a hostile author could gain by forging. Bytes come in, a digest goes out.
 * The arithmetic is libcrypto's; ours is only the framing of parts by their length. */
#include "hash/sha256.h"

#include <openssl/evp.h>

#include "base/die.h"

struct sha256_state {
	EVP_MD_CTX *context;
};

static void
check(int ok)
{
	if (ok != 1)
		die(EX_SOFTWARE, "libcrypto refused SHA-256");
}

void
sha256(const void *bytes, size_t count, uint8_t out[SHA256_BYTES])
{
	check(EVP_Digest(count ? bytes : "", count, out, NULL, EVP_sha256(), NULL));
}

void
sha256_hex(const void *bytes, size_t count, char out[SHA256_HEX])
{
	uint8_t digest[SHA256_BYTES];

	sha256(bytes, count, digest);
	sha256_to_hex(digest, out);
}

struct sha256_state *
sha256_start(void)
{
	struct sha256_state *state = xmalloc(sizeof *state);

	state->context = EVP_MD_CTX_new();
	if (!state->context)
		die(EX_TEMPFAIL, "out of memory");
	check(EVP_DigestInit_ex(state->context, EVP_sha256(), NULL));
	return state;
}

void
sha256_raw(struct sha256_state *state, const void *bytes, size_t count)
{
	if (count)
		check(EVP_DigestUpdate(state->context, bytes, count));
}

void
sha256_part(struct sha256_state *state, const void *bytes, size_t count)
{
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)count >> (8 * i));
	sha256_raw(state, length, sizeof length);
	sha256_raw(state, bytes, count);
}

void
sha256_text(struct sha256_state *state, const char *text)
{
	sha256_part(state, text, strlen(text));
}

void
sha256_end(struct sha256_state *state, uint8_t out[SHA256_BYTES])
{
	check(EVP_DigestFinal_ex(state->context, out, NULL));
	EVP_MD_CTX_free(state->context);
	free(state);
}

void
sha256_to_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[SHA256_HEX - 1] = '\0';
}
