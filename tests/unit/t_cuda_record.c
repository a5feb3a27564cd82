/* The recorder against many kinds of host code: what is recorded, and what is refused with which words. */
#include "record_rig.h"

static char *folder, *errors_folder, *early_folder, *turns_folder, *many_folder;

static int
build_all(void **state)
{
	(void)state;
	cache = io_temp_dir("t_cuda_record", NULL);
	folder = cache ? build_file("tests/data/cuda/variants.cu") : NULL;
	errors_folder = folder ? build_file("tests/data/cuda/errors.cu") : NULL;
	early_folder = errors_folder ? build_file("tests/data/cuda/early.cu") : NULL;
	turns_folder = early_folder ? build_file("tests/data/cuda/turns.cu") : NULL;
	many_folder = turns_folder ? build_file("tests/data/cuda/many.cu") : NULL;
	return many_folder ? 0 : -1;
}

static int
remove_cache(void **state)
{
	(void)state;
	io_remove_tree(cache, NULL);
	free(cache);
	free(folder);
	free(errors_folder);
	free(early_folder);
	free(turns_folder);
	free(many_folder);
	return 0;
}

static void
record(uint64_t variant, const struct cuda_limits *limits, struct cuda_recording *r)
{
	struct buf err = BUF_INIT;

	arguments[2].bits = variant;
	if (cuda_record(folder, arguments, 3, NULL, limits, r, &err) < 0)
		fail_msg("variant %d: %s", (int)variant, buf_str(&err));
	buf_release(&err);
}

/* The plan's operations from its first call on, without header and kernels' names. */
static void
expect_plan(uint64_t variant, const char *expected)
{
	struct cuda_recording r;
	struct buf text = BUF_INIT;

	record(variant, NULL, &r);
	if (r.verdict != CUDA_OK)
		fail_msg("variant %d: %s %s", (int)variant, cuda_verdict_name(r.verdict), buf_str(&r.reason));
	plan_write(r.plan, &text);
	assert_string_equal(strstr(buf_str(&text), "call 0\n") + 7, expected);
	buf_release(&text);
	cuda_recording_release(&r);
}

static void
expect_refusal(uint64_t variant, const struct cuda_limits *limits, enum cuda_verdict verdict, const char *words)
{
	struct cuda_recording r;

	record(variant, limits, &r);
	if (r.verdict != verdict || !strstr(buf_str(&r.reason), words))
		fail_msg("variant %d: wanted %s '%s', got %s '%s'", (int)variant, cuda_verdict_name(verdict), words,
			cuda_verdict_name(r.verdict), buf_str(&r.reason));
	assert_null(strchr(buf_str(&r.reason), '\n'));
	assert_null(r.plan);
	cuda_recording_release(&r);
}

#define X "00f01f0000300000"
#define Y "00f05f0000300000"
#define S "00ec9f0000300000"
#define N1024 "0004000000000000"
#define ZEROES_52 "00000000000000000000000000" "00000000000000000000000000" "00000000000000000000000000" \
	"00000000000000000000000000"
#define ADD_XY "launch 0 1 4 1 1 256 1 1 0 0 0 0 0 " X Y N1024 "\n"

static void
plans_hold_what_was_asked(void **state)
{
	(void)state;
	expect_plan(0, ADD_XY "end\n");
	expect_plan(1, "allocate 1 0x3000009fec00 5000\nmemset 1 0x3000009fec00 5000 0 1 5000 1\n"
		"launch 0 1 4 1 1 256 1 1 0 0 0 0 0 " X S N1024 "\nlaunch 0 1 4 1 1 256 1 1 0 0 0 0 0 " S Y N1024 "\n"
		"free 1 0x3000009fec00\nend\n");
	expect_plan(3, "launch 0 1 1 1 1 256 1 1 100000 0 0 0 0 " X Y "0300000000000000\nend\n");
	expect_plan(30, ADD_XY "synchronise device\nend\n");
	expect_plan(38, "launch 0 1 264 1 1 1024 1 1 0 1 0 0 0 " X Y N1024 "\nend\n");
	expect_plan(42, "launch 0 1 4 1 1 256 1 1 0 0 2 1 1 " X Y N1024 "\nend\n");
	expect_plan(46, "end\n");
	expect_plan(51, "launch 0 1 1 1 1 1 1 1 0 0 0 0 0 " Y "\nlaunch 1 1 1 1 1 32 1 1 32768 0 0 0 0 " Y "\nend\n");
}

static void
padding_is_zero(void **state)
{
	(void)state;
	/* char, 7 bytes of padding, double, short, 6 bytes of padding; y; short */
	expect_plan(2, "launch 0 1 1 1 1 1 1 1 0 0 0 0 0 0100000000000000" "0000000000000040" "0300000000000000" Y "0500\nend\n");
}

static void
variables_have_addresses(void **state)
{
	struct cuda_recording r;
	const struct ptxinfo_symbol *table, *device, *hidden = NULL;
	struct plan_operation *o;

	(void)state;
	record(4, NULL, &r);
	assert_int_equal(r.verdict, CUDA_OK);
	table = ptxinfo_symbol(r.info, "table");
	device = ptxinfo_symbol(r.info, "state");
	for (uint32_t i = 0; i < r.plan->symbols; i++)
		if (strstr(r.plan->symbol[i].name, "hidden"))
			hidden = &r.plan->symbol[i];
	assert_non_null(table);
	assert_non_null(device);
	assert_non_null(hidden);
	assert_true(table->constant && !device->constant);
	assert_int_equal(table->bytes, 64);
	assert_int_equal(device->bytes, 128);
	o = r.plan->operation;
	assert_int_equal(o[0].kind, PLAN_UPLOAD);
	assert_int_equal(o[0].memory.address, table->address);
	assert_int_equal(o[1].memory.address, device->address);
	assert_int_equal(o[2].memory.address, hidden->address);
	assert_int_equal(r.plan->upload_bytes, 64);
	cuda_recording_release(&r);
}

static void
streams_are_joined_or_refused(void **state)
{
	(void)state;
	expect_plan(5, "record 0 1\nwait 2 0\nlaunch 0 2 4 1 1 256 1 1 0 0 0 0 0 " X Y N1024 "\nrecord 1 2\nwait 1 1\nend\n");
	expect_plan(55, "launch 0 2 4 1 1 256 1 1 0 0 0 0 0 " X Y N1024 "\nsynchronise 2\nend\n");
	expect_refusal(6, NULL, CUDA_RUNTIME_ERROR, "not joined back");
	/* The legacy default stream is ordered with `stream`, which is a blocking one. */
	expect_plan(7, "launch 0 0 4 1 1 256 1 1 0 0 0 0 0 " X Y N1024 "\nend\n");
	expect_plan(50, "copy 0 0x3000005ff000 64 0x3000001ff000 64 64 1\nend\n");
}

static void
copies_and_sets_keep_their_shape(void **state)
{
	(void)state;
	expect_plan(37, "allocate 1 0x3000009ff000 4096\nmemset 1 0x3000009ff000 512 1 1 100 8\n"
		"copy 1 0x3000005ff000 100 0x3000009ff000 512 100 8\ncopy 1 0x3000005ff000 64 0x3000001ff000 64 64 1\n"
		"synchronise device\nfree 1 0x3000009ff000\nend\n");
	expect_refusal(26, NULL, CUDA_RUNTIME_ERROR, "writes to the input x");
	expect_refusal(27, NULL, CUDA_RUNTIME_ERROR, "4097 bytes at y + 0 bytes are not inside one buffer");
	expect_refusal(33, NULL, CUDA_UNSUPPORTED, "1 MiB");
	expect_refusal(56, NULL, CUDA_RUNTIME_ERROR, "out of memory");
}

static void
device_memory_is_closed_to_the_host(void **state)
{
	(void)state;
	expect_refusal(8, NULL, CUDA_UNSUPPORTED, "device to host is not supported: host code may not read device memory (x + 16");
	expect_refusal(9, NULL, CUDA_RUNTIME_ERROR, "touches device memory at x + 12 bytes");
	expect_refusal(54, NULL, CUDA_UNSUPPORTED, "host code may not read device memory (table");
	expect_refusal(35, NULL, CUDA_UNSUPPORTED, "cudaMallocManaged");
}

static void
doors_are_closed(void **state)
{
	(void)state;
	expect_refusal(10, NULL, CUDA_SUSPICIOUS, "opens a file");
	expect_refusal(11, NULL, CUDA_SUSPICIOUS, "opens a socket");
	expect_refusal(12, NULL, CUDA_UNSUPPORTED, "starts a thread or a process");
	expect_refusal(13, NULL, CUDA_UNSUPPORTED, "starts a thread or a process");
	expect_refusal(41, NULL, CUDA_SUSPICIOUS, "sends a signal");
}

static void
doors_are_closed_before_static_initialisers(void **state)
{
	struct cuda_recording r;
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(cuda_record(early_folder, arguments, 3, NULL, NULL, &r, &err), 0);
	assert_int_equal(r.verdict, CUDA_SUSPICIOUS);
	assert_non_null(strstr(buf_str(&r.reason), "opens a file"));
	cuda_recording_release(&r);
	buf_release(&err);
}

static void
ends_are_explained(void **state)
{
	struct cuda_limits sleepy = { .wall_ms = 1000 }, busy = { .wall_ms = 4000 };

	(void)state;
	expect_refusal(14, NULL, CUDA_RUNTIME_ERROR, "ended the process with exit status 3");
	expect_refusal(45, NULL, CUDA_RUNTIME_ERROR, "ended the process with exit status 0");
	expect_refusal(16, NULL, CUDA_RUNTIME_ERROR, "aborted");
	expect_refusal(36, NULL, CUDA_RUNTIME_ERROR, "stack is full");
	expect_refusal(53, NULL, CUDA_RUNTIME_ERROR, "division by zero");
	expect_refusal(15, &busy, CUDA_TIMEOUT, "too much processor time");
	expect_refusal(17, &sleepy, CUDA_TIMEOUT, "did not return within 1 s");
}

static void
failing_launches_are_told(void **state)
{
	struct cuda_recording r;

	(void)state;
	expect_refusal(18, NULL, CUDA_RUNTIME_ERROR, "48 KiB allowed without cudaFuncAttributeMaxDynamicSharedMemorySize");
	expect_refusal(19, NULL, CUDA_RUNTIME_ERROR, "block 2048 1 1");
	expect_refusal(39, NULL, CUDA_RUNTIME_ERROR, "too many blocks in cooperative launch");
	expect_refusal(52, NULL, CUDA_RUNTIME_ERROR, "invalid argument");
	expect_plan(20, "launch 0 1 1 1 1 256 1 1 1024 0 0 0 0 " X Y "1400000000000000\nend\n");
	record(21, NULL, &r);
	assert_int_equal(r.verdict, CUDA_RUNTIME_ERROR);
	assert_non_null(strstr(buf_str(&r.reason), "__launch_bounds__"));
	assert_string_equal(buf_str(&r.output), "launch failed\n");
	cuda_recording_release(&r);
}

static void
second_call_repeats_the_first(void **state)
{
	(void)state;
	expect_plan(22, "allocate 1 0x3000009ff000 4096\nlaunch 0 1 4 1 1 256 1 1 0 0 0 0 0 " X "00f09f0000300000" N1024
		"\nlaunch 0 1 4 1 1 256 1 1 0 0 0 0 0 00f09f0000300000" Y N1024 "\nend\n");
	expect_plan(43, "upload_once 1 0x310000000000 64 000080400000a0400000c040" ZEROES_52
		"\nlaunch 0 1 1 1 1 32 1 1 0 0 0 0 0 " Y "\nend\n");
	expect_refusal(23, NULL, CUDA_SUSPICIOUS, "second time");
	expect_refusal(47, NULL, CUDA_SUSPICIOUS, "second time");
	expect_refusal(24, NULL, CUDA_SUSPICIOUS, "argument of kernel _Z3addPKfPfl");
}

static void
addresses_in_disguise_are_noted(void **state)
{
	struct cuda_recording r;

	(void)state;
	record(32, NULL, &r);
	assert_int_equal(r.verdict, CUDA_OK);
	assert_true(r.plan->host_address_words);
	cuda_recording_release(&r);
	record(0, NULL, &r);
	assert_false(r.plan->host_address_words);
	cuda_recording_release(&r);
	/* A pointer to the host's stack is the memory checker's to name. */
	record(31, NULL, &r);
	assert_int_equal(r.verdict, CUDA_OK);
	cuda_recording_release(&r);
}

static void
forged_plans_do_not_pass(void **state)
{
	(void)state;
	expect_plan(25, ADD_XY "end\n");
	expect_refusal(48, NULL, CUDA_SUSPICIOUS, "names a kernel that is not in the device code");
	expect_refusal(49, NULL, CUDA_SUSPICIOUS, "second device image");
}

static void
queries_are_those_of_the_profile(void **state)
{
	(void)state;
	/* 8 blocks of 256 threads on each of 132 multiprocessors; 1024 threads and 264 blocks fill the device. */
	expect_plan(28, "launch 0 1 1056 1 1 1024 1 1 0 0 0 0 0 " X Y "0801000000000000\nend\n");
}

/* What each call returned, what was then the last error, and all that the queries said: as on an H200. */
static void
errors_are_those_of_the_runtime(void **state)
{
	struct cuda_recording r;
	struct buf expected = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(buf_read_file(&expected, "tests/data/cuda/errors.expected", 4096, &err), 0);
	if (cuda_record(errors_folder, arguments, 3, NULL, NULL, &r, &err) < 0)
		fail_msg("%s", buf_str(&err));
	if (r.verdict != CUDA_OK)
		fail_msg("%s", buf_str(&r.reason));
	r.output.data[strcspn(r.output.data, "\n") + 1] = 0;
	assert_string_equal(r.output.data, expected.data);
	buf_release(&expected);
	buf_release(&err);
	cuda_recording_release(&r);
}

static void
limits_hold(void **state)
{
	struct cuda_recording r;

	(void)state;
	expect_refusal(29, NULL, CUDA_UNSUPPORTED, "cudaGraphCreate is not possible");
	expect_refusal(40, NULL, CUDA_UNSUPPORTED, "cudaEventElapsedTime");
	expect_refusal(34, NULL, CUDA_UNSUPPORTED, "more than 5000 operations");
	record(44, NULL, &r);
	assert_int_equal(r.verdict, CUDA_OK);
	assert_true(r.output.len <= CUDA_LOG_BYTES + 200);
	cuda_recording_release(&r);
}

static void
recordings_repeat(void **state)
{
	struct cuda_recording a, b;
	struct buf first = BUF_INIT, second = BUF_INIT;

	(void)state;
	record(31, NULL, &a);
	record(31, NULL, &b);
	plan_write(a.plan, &first);
	plan_write(b.plan, &second);
	assert_string_equal(buf_str(&first), buf_str(&second));
	buf_release(&first);
	buf_release(&second);
	cuda_recording_release(&a);
	cuda_recording_release(&b);
}

/* Alone each kind is right; with calls of another size before it may not be. */
static void
turns(uint64_t kind, uint64_t n, uint64_t other_n, enum cuda_verdict verdict, const char *words)
{
	struct cuda_argument mine[3], others[3];
	struct cuda_recording alone, r;
	struct buf err = BUF_INIT;

	for (int i = 0; i < 3; i++) {
		mine[i] = others[i] = arguments[i];
		mine[i].bytes = 4 * n;
		others[i].bytes = 4 * other_n;
	}
	mine[2].bits = kind * 10000 + n;
	others[2].bits = kind * 10000 + other_n;
	if (cuda_record(turns_folder, mine, 3, NULL, NULL, &alone, &err) < 0)
		fail_msg("%s", buf_str(&err));
	assert_int_equal(alone.verdict, CUDA_OK);
	if (cuda_record_in_turn(turns_folder, mine, others, 3, NULL, NULL, alone.plan, &r, &err) < 0)
		fail_msg("%s", buf_str(&err));
	if (r.verdict != verdict || !strstr(buf_str(&r.reason), words))
		fail_msg("kind %d: wanted %s '%s', got %s '%s'", (int)kind, cuda_verdict_name(verdict), words,
			cuda_verdict_name(r.verdict), buf_str(&r.reason));
	cuda_recording_release(&alone);
	cuda_recording_release(&r);
	buf_release(&err);
}

static void
calls_in_turn_do_what_they_do_alone(void **state)
{
	(void)state;
	turns(0, 300, 900, CUDA_OK, "");
	turns(0, 900, 300, CUDA_OK, "");
	turns(1, 300, 900, CUDA_OK, "");		/* what fits the larger fits the smaller */
	turns(1, 900, 300, CUDA_RUNTIME_ERROR, "fits that call only");
	turns(2, 900, 300, CUDA_RUNTIME_ERROR, "other work");
	turns(3, 900, 300, CUDA_SUSPICIOUS, "launches less");
	turns(4, 900, 300, CUDA_RUNTIME_ERROR, "other work");
	turns(5, 900, 300, CUDA_OK, "");
}

/* solve() is called a thousand times and more, at other times, by other processes, and with its counters far ahead. */
static void
many_calls_do_what_the_first_did(void **state)
{
	enum { CHEATS = 10 };	/* those below do less or other work at some time */

	(void)state;
	for (uint64_t kind = 0; kind < 19; kind++) {
		struct cuda_recording r;
		struct buf err = BUF_INIT;

		arguments[2].bits = kind * 10000 + 512;
		if (cuda_record(many_folder, arguments, 3, NULL, NULL, &r, &err) < 0)
			fail_msg("kind %d: %s", (int)kind, buf_str(&err));
		if (r.verdict != (kind < CHEATS ? CUDA_SUSPICIOUS : CUDA_OK))
			fail_msg("kind %d: %s %s", (int)kind, cuda_verdict_name(r.verdict), buf_str(&r.reason));
		cuda_recording_release(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_hold_what_was_asked),
		cmocka_unit_test(padding_is_zero),
		cmocka_unit_test(variables_have_addresses),
		cmocka_unit_test(streams_are_joined_or_refused),
		cmocka_unit_test(copies_and_sets_keep_their_shape),
		cmocka_unit_test(device_memory_is_closed_to_the_host),
		cmocka_unit_test(doors_are_closed),
		cmocka_unit_test(doors_are_closed_before_static_initialisers),
		cmocka_unit_test(ends_are_explained),
		cmocka_unit_test(failing_launches_are_told),
		cmocka_unit_test(second_call_repeats_the_first),
		cmocka_unit_test(addresses_in_disguise_are_noted),
		cmocka_unit_test(forged_plans_do_not_pass),
		cmocka_unit_test(queries_are_those_of_the_profile),
		cmocka_unit_test(errors_are_those_of_the_runtime),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(recordings_repeat),
		cmocka_unit_test(calls_in_turn_do_what_they_do_alone),
		cmocka_unit_test(many_calls_do_what_the_first_did),
	};

	return cmocka_run_group_tests(tests, build_all, remove_cache);
}
