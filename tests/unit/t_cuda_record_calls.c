/* The recorder against each family of the runtime's calls: one row for each, what it becomes in the plan or in words. */
#include "record_rig.h"

static char *calls_folder, *managed_folder;

static int
build_all(void **state)
{
	(void)state;
	cache = io_temp_dir("t_cuda_record_calls", NULL);
	calls_folder = cache ? build_file("tests/data/cuda/calls.cu") : NULL;
	managed_folder = calls_folder ? build_file("tests/data/cuda/managed.cu") : NULL;
	return managed_folder ? 0 : -1;
}

static int
remove_cache(void **state)
{
	(void)state;
	io_remove_tree(cache, NULL);
	free(cache);
	free(calls_folder);
	free(managed_folder);
	return 0;
}

#define X "00f01f0000300000"
#define Y "00f05f0000300000"
#define N32 "2000000000000000"
#define N64 "4000000000000000"
#define N128 "8000000000000000"
#define N512 "0002000000000000"
#define Y_AT "0x3000005ff000"
#define X_AT "0x3000001ff000"

/* The operations of the one call, or the verdict and words of its reason. */
static const struct {
	int number;
	enum cuda_verdict verdict;
	const char *expected;
} rows[] = {
	{ 0, CUDA_OK, "memset 0 " Y_AT " 64 1 1 64 1\nmemset 0 " Y_AT " 128 2 1 64 4\n"
		"launch 0 1 1 1 1 32 1 1 0 0 0 0 0 " X Y N32 "\n" },
	{ 1, CUDA_OK, "upload 0 " Y_AT " 8 0000803f00000040\ncopy 0 " Y_AT " 8 " X_AT " 16 8 2\n"
		"upload 0 0x310000000004 8 0000803f00000040\n" },
	{ 2, CUDA_OK, "allocate 1 0x3000009ff800 2048\nmemset 1 0x3000009ff800 512 0 1 8 2\nmemset 1 0x3000009ffc00 512 0 1 8 2\n"
		"copy 1 0x3000009ff800 512 " X_AT " 8 8 2\ncopy 1 0x3000009ffc00 512 0x3000001ff010 8 8 2\n"
		"synchronise device\nfree 1 0x3000009ff800\n" },
	{ 3, CUDA_UNSUPPORTED, "cudaMemcpy from device to host is not supported: host code may not read device memory (x + 0" },
	{ 4, CUDA_UNSUPPORTED, "cudaMemcpyFromSymbol from device to host is not supported" },
	{ 10, CUDA_OK, "launch 0 2 1 1 1 32 1 1 0 0 0 0 0 " X Y N32 "\nmemset 0 " Y_AT " 4 0 1 4 1\n" },
	{ 11, CUDA_RUNTIME_ERROR, "is not joined back to `stream`" },
	{ 12, CUDA_RUNTIME_ERROR, "per-thread default stream, which is not ordered with `stream`" },
	{ 13, CUDA_OK, "launch 0 0 1 1 1 32 1 1 0 0 0 0 0 " X Y N32 "\nrecord 0 0\nwait 1 0\nsynchronise 0\nawait 0\n" },
	{ 14, CUDA_UNSUPPORTED, "cudaStreamBeginCapture is not possible: CUDA graphs and capture" },
	{ 20, CUDA_OK, "allocate 1 0x3000009ffe00 512\nfree 1 0x3000009ffe00\n" },
	{ 30, CUDA_OK, "launch 0 1 16 1 1 32 1 1 0 0 16 1 1 " X Y N512 "\n" },
	{ 31, CUDA_RUNTIME_ERROR, "more than the 8 blocks allowed without cudaFuncAttributeNonPortableClusterSizeAllowed" },
	{ 32, CUDA_OK, "launch 0 1 4 1 1 32 1 1 0 0 2 1 1 " Y "\n" },
	{ 33, CUDA_RUNTIME_ERROR, "the grid is no multiple of the cluster" },
	{ 34, CUDA_OK, "launch 0 1 16 1 1 32 1 1 0 1 0 0 0 " X Y N512 "\n" },
	{ 35, CUDA_OK, "launch 0 1 16 1 1 32 1 1 0 0 0 0 0 " X Y N512 "\n" },
	{ 36, CUDA_UNSUPPORTED, "programmatic dependent launch is not supported" },
	{ 37, CUDA_UNSUPPORTED, "cudaLaunchKernelEx with launch attribute" },
	{ 40, CUDA_OK, "launch 0 1 1 1 1 64 1 1 0 0 0 0 0 " X Y N64 "\nlaunch 1 1 1 1 1 32 1 1 0 0 0 0 0 " X Y N128 "\n" },
	{ 41, CUDA_OK, "launch 0 1 1 1 1 32 1 1 0 0 0 0 0 " X Y N32 "\nlaunch 1 1 1 1 1 32 1 1 0 0 0 0 0 " X Y N32 "\n" },
	{ 42, CUDA_OK, "launch 0 1 2 1 1 64 1 1 0 0 0 0 0 " X Y "\nlaunch 1 1 4 1 1 128 1 1 0 0 0 0 0 " X Y "\n" },
	{ 50, CUDA_OK, "" },
	{ 60, CUDA_UNSUPPORTED, "cudaEventElapsedTime is not possible: host code may not time the device" },
	{ 61, CUDA_UNSUPPORTED, "cudaLaunchHostFunc is not possible" },
	{ 62, CUDA_UNSUPPORTED, "cudaHostRegister is not possible: kernels may use device memory only" },
	{ 63, CUDA_UNSUPPORTED, "cudaDeviceReset is not possible" },
	{ 64, CUDA_UNSUPPORTED, "cudaHostAllocMapped" },
	{ 65, CUDA_UNSUPPORTED, "cudaMallocArray is not possible: textures" },
	{ 66, CUDA_UNSUPPORTED, "cudaGetDriverEntryPointByVersion is not possible" },
	{ 67, CUDA_UNSUPPORTED, "cudaDeviceSetLimit is not" },
};

static void
check_row(size_t i, const struct cuda_recording *r)
{
	struct buf text = BUF_INIT;
	const char *got = buf_str(&r->reason);

	if (r->verdict == CUDA_OK) {
		plan_write(r->plan, &text);
		got = strstr(buf_str(&text), "call 0\n") + 7;
		text.len -= 4;		/* end */
		text.data[text.len] = 0;
	}
	if (r->verdict != rows[i].verdict || (r->verdict == CUDA_OK ? strcmp(got, rows[i].expected) != 0 :
	    !strstr(got, rows[i].expected)))
		fail_msg("call %d: wanted %s\n%s\ngot %s\n%s", rows[i].number, cuda_verdict_name(rows[i].verdict),
			rows[i].expected, cuda_verdict_name(r->verdict), got);
	buf_release(&text);
}

static void
each_call_is_recorded_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cuda_recording r;
		struct buf err = BUF_INIT;

		arguments[2].bits = (uint64_t)rows[i].number;
		if (cuda_record(calls_folder, arguments, 3, NULL, NULL, &r, &err) < 0)
			fail_msg("call %d: %s", rows[i].number, buf_str(&err));
		check_row(i, &r);
		if (rows[i].number == 50)
			assert_memory_equal(r.output.data, "8 16 1024 no error\n", 19);
		if (r.verdict == CUDA_OK)
			assert_true(r.plan->legacy_stream == (rows[i].number < 2 || rows[i].number == 10 || rows[i].number == 13));
		cuda_recording_release(&r);
		buf_release(&err);
	}
}

static void
managed_variables_are_refused(void **state)
{
	struct cuda_recording r;
	struct buf err = BUF_INIT;

	(void)state;
	if (cuda_record(managed_folder, arguments, 3, NULL, NULL, &r, &err) < 0)
		fail_msg("%s", buf_str(&err));
	assert_int_equal(r.verdict, CUDA_UNSUPPORTED);
	assert_non_null(strstr(buf_str(&r.reason), "__managed__ variable shared"));
	cuda_recording_release(&r);
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_is_recorded_or_refused),
		cmocka_unit_test(managed_variables_are_refused),
	};

	return cmocka_run_group_tests(tests, build_all, remove_cache);
}
