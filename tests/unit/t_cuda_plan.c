/* The plan's parser as a judge: one plan that passes, and what happens when a line of it is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/io.h"
#include "cuda/plan.h"

static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[64];\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 n) { ret; }\n"
	".visible .entry one(.param .align 8 .b8 s[24], .param .u16 z) .maxntid 128, 1, 1 { ret; }\n"
	".visible .entry exact() .reqntid 64, 2, 1 { ret; }\n";
static struct ptxinfo *info;
static struct buf sound;

static const struct plan_buffer buffers[] = {
	{ "x", 0x3000001ff000, 4096, false }, { "y", 0x3000005ff000, 4096, true },
};

static int
load(void **state)
{
	(void)state;
	info = ptxinfo_read(ptx, sizeof ptx - 1, NULL, 0, NULL);
	return info ? buf_read_file(&sound, "tests/fuzz/corpus/cuda_plan/every-line", 1 << 20, NULL) : -1;
}

static int
unload(void **state)
{
	(void)state;
	ptxinfo_free(info);
	buf_release(&sound);
	return 0;
}

static struct plan *
parse(const char *text, enum cuda_verdict *verdict, struct buf *reason)
{
	return plan_parse(text, strlen(text), info, buffers, 2, verdict, reason);
}

/* The check's answer on a call of these lines, with two streams of its own. */
static void
expect_answer(int (*check)(const struct plan *, uint32_t, struct buf *), const char *lines, bool holds)
{
	struct buf text = BUF_INIT, reason = BUF_INIT;
	enum cuda_verdict verdict;

	buf_addf(&text, "plan 1\nprofile h200\nbuffer input x 0x3000001ff000 4096\nbuffer output y 0x3000005ff000 4096\n"
		"stream 2 blocking\nstream 3 independent\ncall 0\n%send\n", lines);
	struct plan *p = parse(buf_str(&text), &verdict, &reason);
	assert_non_null(p);
	if ((check(p, 0, &reason) == 0) != holds)
		fail_msg("%s", lines);
	plan_free(p);
	buf_release(&text);
	buf_release(&reason);
}

static void
every_line_is_read(void **state)
{
	enum cuda_verdict verdict;
	struct buf text = BUF_INIT, reason = BUF_INIT;
	struct plan *p = parse(sound.data, &verdict, &reason);
	const struct plan_operation *o;

	(void)state;
	if (!p)
		fail_msg("%s", buf_str(&reason));
	assert_int_equal(verdict, CUDA_OK);
	plan_write(p, &text);
	assert_string_equal(buf_str(&text), sound.data);
	assert_int_equal(p->operations, 14);
	assert_int_equal(p->streams, 3);
	assert_int_equal(p->scratch_bytes, 5000);
	assert_int_equal(p->upload_bytes, 3);
	assert_int_equal(p->symbols, 1);
	assert_true(p->device_synchronised && p->legacy_stream && p->independent[2] && !p->independent[1]);
	assert_true(p->operation[9].whole_device && !p->operation[10].whole_device);
	assert_int_equal(p->operation[10].stream, 2);
	o = &p->operation[1];
	assert_int_equal(o->memory.pitch, 512);
	assert_int_equal(o->memory.width, 100);
	assert_int_equal(o->memory.height, 8);
	assert_int_equal(o->memory.value, 1);
	o = &p->operation[11];
	assert_int_equal(o->kind, PLAN_LAUNCH);
	assert_string_equal(p->kernel[o->launch.kernel].name, "add");
	assert_int_equal(o->launch.cluster[0], 2);
	assert_true(o->launch.cooperative);
	assert_memory_equal(o->launch.arguments, "\x00\xf0\x1f\x00\x00\x30\x00\x00", 8);
	assert_int_equal(p->operation[12].launch.argument_bytes, 26);
	assert_int_equal(plan_check_joined(p, 0, &reason), 0);
	plan_free(p);
	buf_release(&text);
	buf_release(&reason);
}

/* The sound plan with one piece of text in place of another. */
static void
replace(const char *from, const char *to, struct buf *out)
{
	const char *at = strstr(sound.data, from);

	if (!at)
		fail_msg("the sound plan has no '%s'", from);
	buf_reset(out);
	buf_add(out, sound.data, (size_t)(at - sound.data));
	buf_adds(out, to);
	buf_adds(out, at + strlen(from));
}

#define ADD "00f01f000030000000f05f00003000000004000000000000"

static void
tampering_is_seen(void **state)
{
	static const struct { const char *from, *to, *words; } cases[] = {
		{ "plan 1", "plan 2", "is not 'plan 1'" },
		{ "profile h200\n", "", "without its profile" },
		{ "profile h200", "profile ../h200", "names no profile" },
		{ "profile h200\n", "profile h200\nprofile h200\n", "names no profile" },
		{ "buffer input x", "buffer output x", "not the buffer that solve() was given" },
		{ "buffer input x 0x3000001ff000 4096\n", "", "not the buffer" },
		{ "0x3000001ff000 4096\n", "0x3000001ff000 8192\n", "not the buffer" },
		{ "buffer output y 0x3000005ff000 4096\n", "", "without" },
		{ "kernel 0 one", "kernel 0 evil", "not in the device code" },
		{ "kernel 1 add", "kernel 1 one", "names a kernel twice" },
		{ "kernel 1 add", "kernel 2 add", "is kernel 2 where 1 was expected" },
		{ "call 0\n", "", "before the first call" },
		{ "call 0\n", "call 1\n", "is call 1 where 0" },
		{ "allocate 1 0x3000009fec00 5000", "allocate 1 0x3000005fec00 5000", "impossible address" },
		{ "allocate 1 0x3000009fec00 5000", "allocate 1 0x3000009fec01 5000", "impossible address" },
		{ "allocate 1 0x3000009fec00 5000", "allocate 1 0x3000009fec00 99999999999", "over its limit" },
		{ "allocate 1 0x3000009fec00 5000", "allocate 1 0x9fec00 5000", "impossible address" },
		{ "allocate 1 0x3000009fec00 5000", "allocate 1 0x3000009fec00 0", "impossible address" },
		{ "free 1 0x3000009fec00", "free 1 0x3000009fed00", "not allocated" },
		{ "free 1 0x3000009fec00", "free 1 0x3000001ff000", "not allocated" },
		{ "free 1 0x3000009fec00\n", "free 1 0x3000009fec00\nfree 1 0x3000009fec00\n", "not allocated" },
		{ "free 1 0x3000009fec00\n", "free 1 0x3000009fec00\nmemset 1 0x3000009fec00 1 0 1 1 1\n", "not inside one live" },
		{ "memset 1 0x3000009fec00 512", "memset 1 0x3000009fec00 99", "impossible rows" },
		{ "memset 1 0x3000009fec00 512", "memset 1 0x3000009fec00 5120", "not inside one live buffer" },
		{ "memset 1 0x3000009fec00 512 1 1 100 8", "memset 1 0x3000009fec00 512 300 1 100 8", "impossible pattern" },
		{ "memset 1 0x3000009fec00 512 1 1 100 8", "memset 1 0x3000009fec00 512 1 3 99 8", "impossible pattern" },
		{ "memset 1 0x3000009fec00 512 1 1 100 8", "memset 1 0x3000001ff000 512 1 1 100 8", "writes an input" },
		{ "100 8\ncopy", "18446744073709551615 18446744073709551615\ncopy", "impossible rows" },
		{ "100 8\ncopy", "100 18446744073709551616\ncopy", "malformed number" },
		{ "copy 1 0x3000005ff000 100", "copy 1 0x3000001ff000 100", "writes an input" },
		{ "copy 1 0x3000005ff000 100", "copy 1 0x3000005ff000 600", "not inside one live buffer" },
		{ "copy 1 0x3000005ff000 100 0x3000009fec00", "copy 1 0x3000005ff000 100 0x3000009fedff", "ok" },
		{ "copy 1 0x3000005ff000 100 0x3000009fec00", "copy 1 0x3000005ff000 100 0x320000000000", "not inside one live" },
		{ "upload 2 0x310000000000 3 616263", "upload 2 0x310000000000 3 6162", "4 digits for 3 bytes" },
		{ "upload 2 0x310000000000 3 616263", "upload 2 0x310000000000 3 61626g", "malformed bytes" },
		{ "upload 2 0x310000000000 3 616263", "upload 2 0x31000000003e 3 616263", "not inside one live buffer" },
		{ "upload 2 0x310000000000 3 616263", "upload 2 0x310000000000 1048577 616263", "over its limit" },
		{ "upload 2 0x310000000000 3 616263", "upload 2 0x3000001ff000 3 616263", "writes an input" },
		{ "wait 2 0", "wait 2 1", "not recorded" },
		{ "wait 2 0", "wait 64 0", "over its limit" },
		{ "record 0 1", "record 4096 1", "over its limit" },
		{ "await 1\n", "await 7\n", "not recorded" },
		{ "upload 2", "upload 3", "was not created" },
		{ "stream 2", "stream 1", "creates a stream that is there" },
		{ "call 0\n", "stream 2 blocking\ncall 0\n", "creates a stream that is there" },
		{ "2 independent", "2 somehow", "of no known kind" },
		{ "synchronise device", "synchronise all", "malformed number" },
		{ "launch 1 1 4 1 1 256", "launch 2 1 4 1 1 256", "not named" },
		{ "launch 1 1 4 1 1 256", "launch 1 1 0 1 1 256", "impossible grid" },
		{ "launch 1 1 4 1 1 256", "launch 1 1 4 65536 1 256", "impossible grid" },
		{ "launch 1 1 4 1 1 256", "launch 1 1 2147483648 1 1 256", "impossible grid" },
		{ "launch 1 1 4 1 1 256", "launch 1 1 4 1 1 1025", "impossible block" },
		{ "launch 1 1 4 1 1 256 1 1", "launch 1 1 4 1 1 256 8 1", "impossible block" },
		{ "launch 1 1 4 1 1 256 1 1", "launch 1 1 4 1 1 1 1 65", "impossible block" },
		{ "launch 0 1 4 1 1 128", "launch 0 1 4 1 1 129", "impossible block" },
		{ "256 1 1 100 1", "256 1 1 232449 1", "too much shared memory" },
		{ "256 1 1 100 1", "256 1 1 100 2", "not named" },
		{ "1 2 1 1 " ADD, "1 3 1 1 " ADD, "does not divide" },
		{ "1 2 1 1 " ADD, "1 2 0 1 " ADD, "does not divide" },
		{ ADD, ADD "00", "50 digits for 24 bytes" },
		{ ADD, "-", "digits for 24 bytes" },
		{ "call 0\n", "call 0\nexecute 1 2 3\n", "unknown word" },
		{ "call 0\n", "call 0\n\n", "unknown word" },
		{ "call 0\n", "call 0\nlaunch 0\n", "has 2 fields instead of 15" },
		{ "call 0\n", "call  0\n", "has 3 fields" },
		{ "call 0\n", "call 00\n", "malformed number" },
		{ "call 0\n", "call 0\nrefuse TIMEOUT x\n", "unknown word" },
		{ "\nend\n", "\n", "is not the one 'end'" },
		{ "\nend\n", "\nend\nend\n", "is not the one 'end'" },
		{ "\nend\n", "\nend", "does not end" },
	};
	struct buf text = BUF_INIT, reason = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum cuda_verdict verdict;
		struct plan *p;

		replace(cases[i].from, cases[i].to, &text);
		buf_reset(&reason);
		p = parse(buf_str(&text), &verdict, &reason);
		if (!strcmp(cases[i].words, "ok") ? !p : p || verdict != CUDA_SUSPICIOUS || !strstr(buf_str(&reason), cases[i].words))
			fail_msg("'%s' -> '%s': wanted '%s', got %s '%s'", cases[i].from, cases[i].to, cases[i].words,
				cuda_verdict_name(verdict), buf_str(&reason));
		plan_free(p);
	}
	buf_release(&text);
	buf_release(&reason);
}

/* Cut off anywhere, no plan passes; nor does one with a NUL in it. */
static void
no_prefix_passes(void **state)
{
	enum cuda_verdict verdict;

	(void)state;
	for (size_t n = 0; n < sound.len; n++)
		assert_null(plan_parse(sound.data, n, info, buffers, 2, &verdict, NULL));
	sound.data[30] = 0;
	assert_null(plan_parse(sound.data, sound.len, info, buffers, 2, &verdict, NULL));
	buf_reset(&sound);
	assert_int_equal(buf_read_file(&sound, "tests/fuzz/corpus/cuda_plan/every-line", 1 << 20, NULL), 0);
}

static void
required_block_is_kept(void **state)
{
	struct buf text = BUF_INIT;
	enum cuda_verdict verdict;
	struct plan *p;

	(void)state;
	buf_adds(&text, "plan 1\nprofile h200\nbuffer input x 0x3000001ff000 4096\nbuffer output y 0x3000005ff000 4096\n"
		"kernel 0 exact\ncall 0\nlaunch 0 1 1 1 1 64 2 1 0 0 0 0 0 -\nend\n");
	p = parse(buf_str(&text), &verdict, NULL);
	assert_non_null(p);
	plan_free(p);
	strstr(text.data, "64 2 1")[1] = '2';	/* 62 2 1 */
	assert_null(parse(buf_str(&text), &verdict, NULL));
	buf_release(&text);
}

static void
limits_are_kept(void **state)
{
	struct buf text = BUF_INIT, reason = BUF_INIT;
	enum cuda_verdict verdict;
	struct plan *p;

	(void)state;
	buf_adds(&text, "plan 1\nprofile h200\nbuffer input x 0x3000001ff000 4096\nbuffer output y 0x3000005ff000 4096\ncall 0\n");
	for (int i = 0; i < PLAN_MAX_OPERATIONS; i++)
		buf_adds(&text, "synchronise 1\n");
	buf_adds(&text, "end\n");
	p = parse(buf_str(&text), &verdict, &reason);
	assert_non_null(p);
	plan_free(p);
	text.len -= 4;
	buf_adds(&text, "synchronise 1\nend\n");
	assert_null(parse(buf_str(&text), &verdict, &reason));
	assert_non_null(strstr(buf_str(&reason), "one operation too many"));
	buf_reset(&text);
	buf_reserve(&text, PLAN_MAX_BYTES + 1);
	memset(text.data, 'x', PLAN_MAX_BYTES + 1);
	assert_null(plan_parse(text.data, PLAN_MAX_BYTES + 1, info, buffers, 2, &verdict, &reason));
	assert_int_equal(verdict, CUDA_UNSUPPORTED);
	buf_release(&text);
	buf_release(&reason);
}

static void
refusals_carry_their_words(void **state)
{
	enum cuda_verdict verdict;
	struct buf reason = BUF_INIT;

	(void)state;
	assert_null(parse("refuse TIMEOUT it takes \x1b[31m too long, and has a long reason with more than sixteen "
		"fields in it all\n",
		&verdict, &reason));
	assert_int_equal(verdict, CUDA_TIMEOUT);
	assert_string_equal(buf_str(&reason), "it takes ?[31m too long, and has a long reason with more than "
		"sixteen fields in it all");
	assert_null(parse("refuse PASSED well done\n", &verdict, NULL));
	assert_int_equal(verdict, CUDA_SUSPICIOUS);
	assert_null(parse("refuse UNSUPPORTED \n", &verdict, NULL));
	assert_int_equal(verdict, CUDA_SUSPICIOUS);
	buf_release(&reason);
}

/* Streams: what is ordered before the end of `stream`, and what is not. */
static void
joins_follow_events(void **state)
{
#define WORK(stream) "memset " stream " 0x3000005ff000 4 0 1 4 1\n"
	static const struct { const char *lines; bool joined; } cases[] = {
		{ WORK("1"), true },
		{ WORK("2"), false },
		{ WORK("2") "record 0 2\nwait 1 0\n", true },
		{ "record 0 2\n" WORK("2") "wait 1 0\n", false },
		{ WORK("2") "record 0 2\n" WORK("2") "wait 1 0\n", false },
		{ WORK("2") "record 0 2\nwait 3 0\n" WORK("3") "record 1 3\nwait 1 1\n", true },
		{ WORK("2") "record 0 2\nwait 3 0\nrecord 1 3\n" WORK("2") "wait 1 1\n", false },
		{ WORK("2") "synchronise 2\n", true },
		{ WORK("2") "synchronise 1\n", false },
		{ WORK("2") "synchronise device\n", true },
		{ WORK("2") "synchronise 0\n", false },
		{ "synchronise 2\n" WORK("2"), false },
		{ WORK("2") "record 0 2\nawait 0\n", true },
		{ WORK("2") "record 0 2\nawait 0\n" WORK("3") "record 0 3\nwait 1 0\n", true },
		{ WORK("2") "record 0 2\nrecord 0 3\nwait 1 0\n", false },	/* the last record counts */
		/* The legacy stream waits for the blocking ones, 1 and 2, and they for it; 3 is independent. */
		{ WORK("0"), true },
		{ WORK("2") WORK("0"), true },
		{ WORK("0") WORK("2"), false },
		{ WORK("3") WORK("0"), false },
		{ WORK("3") "record 0 3\nwait 0 0\n", true },
		{ WORK("2") "record 0 0\nwait 1 0\n", true },
		{ WORK("0") "synchronise 0\n" WORK("3"), false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_answer(plan_check_joined, cases[i].lines, cases[i].joined);
}

static void
places_end_at_a_granule(void **state)
{
	uint64_t next = CUDA_ARENA, address;

	(void)state;
	assert_int_equal(plan_place(&next, 4096, &address), 0);
	assert_int_equal(address, CUDA_ARENA + CUDA_GRANULE - 4096);
	assert_int_equal(next, CUDA_ARENA + 2 * CUDA_GRANULE);
	assert_int_equal(plan_place(&next, CUDA_GRANULE + 1, &address), 0);
	assert_int_equal(address, CUDA_ARENA + 4 * CUDA_GRANULE - CUDA_GRANULE - CUDA_ALIGNMENT);
	assert_int_equal(plan_place(&next, 0, &address), 0);
	assert_int_equal(address % CUDA_ALIGNMENT, 0);
	assert_int_equal(plan_place(&next, CUDA_REGION_BYTES, &address), -1);
	assert_int_equal(plan_place(&next, CUDA_REGION_BYTES - 20 * CUDA_GRANULE, &address), 0);
	assert_int_equal(plan_place(&next, 20 * CUDA_GRANULE, &address), -1);
}

/* Two streams at the same bytes: ordered by an event, by the host or by the legacy stream, or not at all. */
static void
unordered_work_on_the_same_bytes_is_told(void **state)
{
#define SET(stream, address) "memset " stream " " address " 64 0 1 64 1\n"
#define A "0x3000005ff000"
#define B "0x3000005ff03f"	/* the last byte of A's 64 */
#define C "0x3000005ff040"
	static const struct { const char *lines; bool ordered; } cases[] = {
		{ SET("1", A) SET("1", A), true },
		{ SET("2", A) SET("3", B), false },
		{ SET("2", A) SET("3", C), true },
		{ SET("2", A) "record 0 2\nwait 3 0\n" SET("3", B), true },
		{ "record 0 2\n" SET("2", A) "wait 3 0\n" SET("3", B), false },
		{ SET("2", A) "synchronise 2\n" SET("3", B), true },
		{ SET("2", A) SET("0", B), true },
		{ SET("3", A) SET("0", B), false },
		{ SET("2", A) "copy 3 " C " 64 " A " 64 64 1\n", false },
		{ "copy 3 " C " 64 " A " 64 64 1\n" SET("2", A), false },
		{ "copy 3 " C " 64 0x3000001ff000 64 64 1\ncopy 2 " A " 64 0x3000001ff000 64 64 1\n", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		expect_answer(plan_check_order, cases[i].lines, cases[i].ordered);
}

/* Operations are numbered from 1, in the order of their lines; letters in `order` stand for them. */
static void
what_no_event_orders_changes_places(void **state)
{
	static const struct { const char *lines; uint32_t late; const char *order; } cases[] = {
		{ SET("2", A) SET("2", A) SET("2", A), 2, NULL },
		{ SET("2", A) SET("3", C), 2, "BA" },
		{ SET("2", A) SET("3", C), 3, NULL },
		{ SET("2", A) SET("2", A) SET("3", C) SET("3", C), 2, "CDAB" },
		{ SET("3", A) SET("2", A) SET("2", C) SET("3", B), 2, "ADBC" },
		{ SET("3", A) SET("2", A) SET("2", C) SET("3", B), 3, "BCAD" },
		{ SET("2", A) "record 0 2\nwait 3 0\n" SET("3", B), 2, NULL },
		{ SET("2", A) "record 0 2\n" SET("2", C) "wait 3 0\n" SET("3", A), 2, "AEC" },
		{ SET("2", A) "synchronise 2\n" SET("3", B), 2, NULL },
		{ SET("2", A) SET("0", B) SET("2", A), 2, NULL },
		{ SET("3", A) SET("0", B), 3, "BA" },
		{ "allocate 3 0x3000009ff000 4096\n" SET("3", C) SET("2", B) "free 3 0x3000009ff000\n", 2, "BDC" },
		{ "allocate 3 0x3000009ff000 4096\n" SET("3", C) "free 3 0x3000009ff000\n" "allocate 2 0x300000dff000 4096\n"
			SET("2", B), 3, "EBC" },
	};
	struct buf text = BUF_INIT, reason = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		enum cuda_verdict verdict;
		uint32_t order[16] = { 0 }, n = 0;

		buf_reset(&text);
		buf_addf(&text, "plan 1\nprofile h200\nbuffer input x 0x3000001ff000 4096\nbuffer output y 0x3000005ff000 4096\n"
			"stream 2 blocking\nstream 3 independent\ncall 0\n%send\n", cases[i].lines);
		struct plan *p = parse(buf_str(&text), &verdict, &reason);
		assert_non_null(p);
		if (plan_other_order(p, 0, cases[i].late, order) != (cases[i].order != NULL))
			fail_msg("%s", cases[i].lines);
		for (const char *at = cases[i].order; at && *at; at++)
			assert_int_equal(order[n++], *at - 'A' + 1);
		if (cases[i].order)
			assert_int_equal(order[n], 0);
		plan_free(p);
	}
	buf_release(&text);
	buf_release(&reason);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_is_read),
		cmocka_unit_test(tampering_is_seen),
		cmocka_unit_test(no_prefix_passes),
		cmocka_unit_test(required_block_is_kept),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(refusals_carry_their_words),
		cmocka_unit_test(joins_follow_events),
		cmocka_unit_test(unordered_work_on_the_same_bytes_is_told),
		cmocka_unit_test(what_no_event_orders_changes_places),
		cmocka_unit_test(places_end_at_a_granule),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
