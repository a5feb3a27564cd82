/* Digests against published vectors, and the framing of parts against a second way to make it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "hash/id.h"
#include "hash/sha256.h"

static void
test_sha256_vectors(void **state)
{
	char hex[SHA256_HEX];
	char *million = malloc(1000000);

	(void)state;
	/* FIPS 180-4 examples; the empty message and a million "a" are in NIST's set as well. */
	sha256_hex("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_hex(NULL, 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	memset(million, 'a', 1000000);
	sha256_hex(million, 1000000, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

static void
finish_sha256(struct sha256_state *s, char hex[SHA256_HEX])
{
	uint8_t digest[SHA256_BYTES];

	sha256_end(s, digest);
	sha256_to_hex(digest, hex);
}

static void
test_sha256_parts_carry_their_length(void **state)
{
	struct sha256_state *s = sha256_start();
	char parts[SHA256_HEX], whole[SHA256_HEX], other[SHA256_HEX];

	(void)state;
	sha256_text(s, "ab");
	sha256_part(s, "c", 1);
	finish_sha256(s, parts);
	sha256_hex("\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c", 19, whole);
	assert_string_equal(parts, whole);
	s = sha256_start();
	sha256_text(s, "a");
	sha256_text(s, "bc");
	finish_sha256(s, other);
	assert_string_not_equal(parts, other);
}

static void
test_sha256_raw_streams(void **state)
{
	struct sha256_state *s = sha256_start();
	char streamed[SHA256_HEX], whole[SHA256_HEX];

	(void)state;
	for (int i = 0; i < 1000; i++)
		sha256_raw(s, "0123456789", 10);
	finish_sha256(s, streamed);
	char *text = malloc(10000);
	for (int i = 0; i < 10000; i++)
		text[i] = (char)('0' + i % 10);
	sha256_hex(text, 10000, whole);
	free(text);
	assert_string_equal(streamed, whole);
}

static void
test_id_vectors(void **state)
{
	char id[HASH_ID_HEX];

	(void)state;
	/* XXH3-128 of nothing, seed 0, in canonical order: the value in xxHash's own sanity test. */
	hash_id("", 0, id);
	assert_string_equal(id, "99aa06d3014798d86001c324468d497f");
	hash_id("abc", 3, id);
	assert_string_equal(id, "06b05ab6733a618578af5f94892f3950");
}

static void
test_id_parts_carry_their_length(void **state)
{
	struct hash_id_state *s = hash_id_start();
	char parts[HASH_ID_HEX], whole[HASH_ID_HEX], other[HASH_ID_HEX];

	(void)state;
	hash_id_text(s, "ab");
	hash_id_part(s, "c", 1);
	hash_id_end(s, parts);
	hash_id("\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c", 19, whole);
	assert_string_equal(parts, whole);
	s = hash_id_start();
	hash_id_text(s, "a");
	hash_id_text(s, "bc");
	hash_id_end(s, other);
	assert_string_not_equal(parts, other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256_vectors),
		cmocka_unit_test(test_sha256_parts_carry_their_length),
		cmocka_unit_test(test_sha256_raw_streams),
		cmocka_unit_test(test_id_vectors),
		cmocka_unit_test(test_id_parts_carry_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
