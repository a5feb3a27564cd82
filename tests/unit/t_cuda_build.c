/* nvcc in the sandbox: what comes back for sound, broken and hostile sources, and what the cache keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/io.h"
#include "cuda/build.h"
#include "cuda/build_cache.h"
#include "cuda/build_log.h"
#include "cuda/ptxinfo.h"

static char *cache;
static struct buf prelude;

static int
open_cache(void **state)
{
	static const struct cuda_argument arguments[] = {
		{ CUDA_INPUT, "x", "float16", 0, 0 }, { CUDA_OUTPUT, "y", "float32", 0, 0 },
		{ CUDA_SCALAR, "N", "int64", 0, 0 }, { CUDA_SCALAR, "scale", "bfloat16", 0, 0 },
	};

	(void)state;
	cache = io_temp_dir("t_cuda_build", NULL);
	return cache && cuda_prelude(arguments, 4, &prelude, NULL) == 0 ? 0 : -1;
}

static int
close_cache(void **state)
{
	(void)state;
	io_remove_tree(cache, NULL);
	free(cache);
	buf_release(&prelude);
	return 0;
}

static void
build(const char *source, struct cuda_build *result)
{
	struct buf err = BUF_INIT;

	if (cuda_build(source, strlen(source), buf_str(&prelude), CUDA_ARCH_DEFAULT, cache, NULL, result, &err) < 0)
		fail_msg("%s", buf_str(&err));
	assert_true(result->log.len <= CUDA_LOG_BYTES + 100);
	buf_release(&err);
}

static void
expect(const char *source, enum cuda_verdict verdict, const char *words)
{
	struct cuda_build result;

	build(source, &result);
	if (result.verdict != verdict || !strstr(buf_str(&result.log), words))
		fail_msg("wanted %s '%s', got %s '%s'", cuda_verdict_name(verdict), words, cuda_verdict_name(result.verdict),
			buf_str(&result.log));
	assert_null(strstr(buf_str(&result.log), "/in/"));
	if (verdict != CUDA_OK)
		assert_null(result.folder);
	cuda_build_release(&result);
}

#define PARAMETERS "(const __half *x, float *y, int64_t N, __nv_bfloat16 scale, cudaStream_t s)"
#define KERNEL "__global__ void k(float *y) { __shared__ float t[64]; t[threadIdx.x] = 1; __syncthreads(); y[0] = t[3]; }\n"
#define SOLVE "void solve" PARAMETERS " { k<<<1, 64, 0, s>>>(y); }\n"

static void
read_back(const char *folder, const char *name, struct buf *out)
{
	struct buf path = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	if (buf_read_file(out, buf_str(&path), 1 << 24, &err) < 0)
		fail_msg("%s", buf_str(&err));
	buf_release(&path);
}

static void
sound_source_gives_all_files_once(void **state)
{
	struct cuda_build first, second;
	struct buf ptx = BUF_INIT, ptxas = BUF_INIT, object = BUF_INIT, fatbin = BUF_INIT;
	struct ptxinfo *info;

	(void)state;
	build(KERNEL SOLVE, &first);
	assert_int_equal(first.verdict, CUDA_OK);
	assert_false(first.cached);
	build(KERNEL SOLVE, &second);
	assert_true(second.cached);
	assert_string_equal(first.folder, second.folder);
	read_back(first.folder, "device.ptx", &ptx);
	read_back(first.folder, "ptxas.txt", &ptxas);
	read_back(first.folder, "solution.so", &object);
	read_back(first.folder, "device.fatbin", &fatbin);
	assert_non_null(strstr(ptx.data, ".target sm_90"));
	assert_non_null(strstr(ptx.data, ".loc"));
	assert_memory_equal(object.data, "\177ELF", 4);
	info = ptxinfo_read(ptx.data, ptx.len, fatbin.data, fatbin.len, NULL);
	assert_non_null(info);
	assert_int_equal(info->kernels, 1);
	assert_int_equal(info->kernel[0].static_shared, 256);
	assert_in_range(info->kernel[0].registers, 1, 64);
	ptxinfo_free(info);
	buf_release(&ptx);
	buf_release(&ptxas);
	buf_release(&object);
	buf_release(&fatbin);
	cuda_build_release(&first);
	cuda_build_release(&second);
}

static void
errors_name_the_sources_lines(void **state)
{
	struct cuda_build again;

	(void)state;
	expect("\n__global__ void k(float *y) { y[0] = nothing; }\n" SOLVE, CUDA_COMPILE_ERROR,
		"solution.cu(2): error: identifier \"nothing\" is undefined");
	build("\n__global__ void k(float *y) { y[0] = nothing; }\n" SOLVE, &again);
	assert_true(again.cached);
	assert_int_equal(again.verdict, CUDA_COMPILE_ERROR);
	cuda_build_release(&again);
	/* Other parameters than the task's: an overload of C++, and then solve() itself is missing. */
	expect(KERNEL "void solve(const float *x, float *y, cudaStream_t s) { k<<<1, 64, 0, s>>>(y); }\n", CUDA_COMPILE_ERROR,
		"solve() is not defined with the prototype");
	expect(KERNEL "extern \"C\" void solve(const float *x, cudaStream_t s) { }\n", CUDA_COMPILE_ERROR, "error");
	expect(KERNEL, CUDA_COMPILE_ERROR, "solve() is not defined with the prototype");
}

static void
libraries_are_refused_by_name(void **state)
{
	(void)state;
	expect("#include <cublas_v2.h>\n" KERNEL SOLVE, CUDA_UNSUPPORTED, "uses cuBLAS");
	expect("  # include <thrust/sort.h>\n" KERNEL SOLVE, CUDA_UNSUPPORTED, "uses Thrust");
	expect("#include <cub/device/device_reduce.cuh>\n" KERNEL SOLVE, CUDA_UNSUPPORTED, "CUB's device-wide");
	expect("extern \"C\" int cublasCreate_v2(void **);\nvoid solve" PARAMETERS " { void *h; cublasCreate_v2(&h); }\n",
		CUDA_UNSUPPORTED, "uses cuBLAS");
	expect("extern \"C\" int cuInit(unsigned);\nvoid solve" PARAMETERS " { cuInit(0); }\n", CUDA_UNSUPPORTED,
		"driver API (cuInit)");
	expect(KERNEL "__global__ void p(float *y) { k<<<1, 64>>>(y); }\n" SOLVE, CUDA_UNSUPPORTED, "dynamic parallelism");
}

static void
host_files_stay_out_of_reach(void **state)
{
	(void)state;
	expect("#include \"/etc/shadow\"\n" KERNEL SOLVE, CUDA_COMPILE_ERROR, "No such file");
	expect("asm(\".section .rodata\\n.incbin \\\"/etc/shadow\\\"\\n.text\");\n" KERNEL SOLVE, CUDA_COMPILE_ERROR,
		"file not found: /etc/shadow");
}

/* Another device image beside nvcc's, in the section that holds it or with a registration of its own. */
static void
foreign_images_are_refused(void **state)
{
	(void)state;
	expect("#ifndef __CUDA_ARCH__\n"
		"asm(\".pushsection .nv_fatbin,\\\"a\\\"\\n.quad 1,2,3\\n.popsection\");\n#endif\n" KERNEL SOLVE, CUDA_SUSPICIOUS,
		"device code that nvcc did not make");
	expect("#ifndef __CUDA_ARCH__\nasm(\".pushsection .nvFatBinSegment,\\\"aw\\\"\\n.quad 1,2,3\\n.popsection\");\n#endif\n"
		KERNEL SOLVE, CUDA_SUSPICIOUS, "more than one device image");
}

/* What the candidate prints at compile time must not pass for what ptxas says. */
static void
resources_cannot_be_forged(void **state)
{
	struct cuda_build result;
	struct buf fatbin = BUF_INIT, ptx = BUF_INIT;
	struct ptxinfo *info;

	(void)state;
	build("#pragma message(\"\\nptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'\\nptxas info    : "
		"Used 3 registers, "
		"used 1 barriers, 7 bytes smem\\n\")\n" KERNEL SOLVE, &result);
	assert_int_equal(result.verdict, CUDA_OK);
	read_back(result.folder, "device.fatbin", &fatbin);
	read_back(result.folder, "device.ptx", &ptx);
	info = ptxinfo_read(ptx.data, ptx.len, fatbin.data, fatbin.len, NULL);
	assert_int_equal(ptxinfo_kernel(info, "_Z1kPf")->static_shared, 256);
	ptxinfo_free(info);
	buf_release(&fatbin);
	buf_release(&ptx);
	cuda_build_release(&result);
}

/* Two processes want the same: both get it, one entry remains, nothing is left in CACHE/new. */
static void
processes_share_the_cache(void **state)
{
	static const char source[] = "// raced\n" KERNEL SOLVE;
	struct buf path = BUF_INIT;
	struct cuda_build result;
	pid_t child = fork();

	(void)state;
	if (!child) {
		int built = cuda_build(source, strlen(source), buf_str(&prelude), CUDA_ARCH_DEFAULT, cache, NULL, &result, NULL);

		_exit(built == 0 && result.verdict == CUDA_OK ? 0 : 1);
	}
	int status;

	build(source, &result);
	assert_int_equal(result.verdict, CUDA_OK);
	cuda_build_release(&result);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	build(source, &result);
	assert_true(result.cached);
	cuda_build_release(&result);
	buf_addf(&path, "%s/new", cache);
	assert_int_equal(rmdir(buf_str(&path)), 0);	/* empty */
	buf_release(&path);
}

/* Many begin and give up at once: no sweep takes what another is about to lock. */
static void
sweeps_leave_the_living_alone(void **state)
{
	struct build_key key = { "// swept", "", 8, "settings" };
	pid_t children[6];
	int failed = 0;

	(void)state;
	for (int c = 0; c < 6; c++) {
		children[c] = fork();
		if (children[c])
			continue;
		for (int i = 0; i < 60; i++) {
			struct build_folder folder;

			if (build_cache_begin(cache, &key, &folder, NULL) < 0 || access(folder.path, F_OK) < 0)
				_exit(1);
			build_cache_abandon(&folder);
		}
		_exit(0);
	}
	for (int c = 0; c < 6; c++) {
		int status;

		waitpid(children[c], &status, 0);
		failed += status != 0;
	}
	assert_int_equal(failed, 0);
}

/* An entry that holds another source under the same hash is no hit; one that lost a file is built again. */
static void
hits_compare_the_whole_source(void **state)
{
	static const char source[] = "// compared\n" KERNEL SOLVE;
	struct cuda_build first, second;
	struct buf path = BUF_INIT;

	(void)state;
	build(source, &first);
	buf_addf(&path, "%s/source.cu", first.folder);
	assert_int_equal(io_write_file(buf_str(&path), "another", 7, NULL), 0);
	build(source, &second);
	assert_false(second.cached);
	assert_string_not_equal(first.folder, second.folder);
	cuda_build_release(&first);
	buf_reset(&path);
	buf_addf(&path, "%s/device.fatbin", second.folder);
	assert_int_equal(unlink(buf_str(&path)), 0);
	build(source, &first);
	assert_false(first.cached);
	assert_string_equal(first.folder, second.folder);
	/* One byte of the code is another: such an entry would make wrong verdicts. A killed build's folder goes, too. */
	for (int i = 0; i < 2; i++) {
		struct buf content = BUF_INIT;

		buf_reset(&path);
		buf_addf(&path, "%s/%s", first.folder, i ? "device.ptx" : "solution.so");
		assert_int_equal(buf_read_file(&content, buf_str(&path), 1 << 24, NULL), 0);
		content.data[content.len / 2] ^= 1;
		assert_int_equal(io_write_file(buf_str(&path), content.data, content.len, NULL), 0);
		buf_release(&content);
		buf_reset(&path);
		buf_addf(&path, "%s/new/killed", cache);
		assert_int_equal(io_make_dirs(buf_str(&path), NULL), 0);
		cuda_build_release(&second);
		build(source, &second);
		assert_false(second.cached);
		assert_int_equal(access(buf_str(&path), F_OK), -1);
	}
	buf_release(&path);
	cuda_build_release(&first);
	cuda_build_release(&second);
}

static void
endless_templates_time_out(void **state)
{
	static const char source[] = "template <int D, long I> struct t { static constexpr long v = t<D - 1, 2 * I>::v + "
		"t<D - 1, 2 * I + 1>::v; };\ntemplate <long I> struct t<0, I> { static constexpr long v = 1; };\n"
		"long n = t<40, 0>::v;\n" KERNEL SOLVE;
	struct cuda_limits hurry = { .wall_ms = 2000 };
	struct cuda_build result;
	struct buf err = BUF_INIT;

	(void)state;
	/* On a busy machine the wall clock may pass before half of it was used: then it is ours to repeat. */
	if (cuda_build(source, strlen(source), buf_str(&prelude), CUDA_ARCH_DEFAULT, cache, &hurry, &result, &err) == 0) {
		assert_int_equal(result.verdict, CUDA_TIMEOUT);
		cuda_build_release(&result);
	} else {
		assert_non_null(strstr(buf_str(&err), "did not end"));
	}
	buf_release(&err);
}

static void
prelude_is_checked(void **state)
{
	struct cuda_argument bad_type = { CUDA_INPUT, "x", "float33", 0, 0 }, bad_name = { CUDA_INPUT, "x y", "float32", 0, 0 };
	struct cuda_argument all[] = {
		{ CUDA_INPUT, "a", "float64", 0, 0 }, { CUDA_OUTPUT, "b", "uint8", 0, 0 }, { CUDA_SCALAR, "c", "bool", 0, 0 },
		{ CUDA_SCALAR, "d", "int32", 0, 0 },
	};
	struct buf out = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(cuda_prototype(&bad_type, 1, &out, &err), -1);
	assert_non_null(strstr(buf_str(&err), "float33"));
	assert_int_equal(cuda_prototype(&bad_name, 1, &out, &err), -1);
	assert_int_equal(cuda_prototype(all, 4, &out, &err), 0);
	assert_string_equal(buf_str(&out), "extern \"C\" void solve(const double *a, uint8_t *b, bool c, int32_t d, "
		"cudaStream_t stream)");
	buf_reset(&out);
	assert_int_equal(cuda_prelude(all, 4, &out, &err), 0);
	assert_null(strstr(buf_str(&out), "cuda_fp16"));
	buf_release(&out);
	buf_release(&err);
}

/* A source may print the very words by which the compiler refuses others; that makes it no such source. */
static void
printed_words_refuse_nothing(void **state)
{
	static const struct { const char *log; bool refused; } cases[] = {
		{ "solution.cu(9): error: kernel launch from __device__ or __global__ functions requires separate compilation "
			"mode\n", true },
		{ "solution.cu(1): error: #error directive: kernel launch from __device__ or __global__ functions requires "
			"separate compilation mode\n", false },
		{ "x.cpp:(.text+0x5): undefined reference to `cublasCreate_v2'\n", true },
		{ "solution.cu(1): error: #error directive: undefined reference to `cublasCreate_v2'\n", false },
		{ "solution.cu:1: note: #pragma message: undefined reference to `cublasCreate_v2'\nld: undefined reference to "
			"`other'\n", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf reason = BUF_INIT;

		assert_int_equal(build_refused_message(cases[i].log, &reason), cases[i].refused);
		buf_release(&reason);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_words_refuse_nothing),
		cmocka_unit_test(sound_source_gives_all_files_once),
		cmocka_unit_test(errors_name_the_sources_lines),
		cmocka_unit_test(libraries_are_refused_by_name),
		cmocka_unit_test(host_files_stay_out_of_reach),
		cmocka_unit_test(foreign_images_are_refused),
		cmocka_unit_test(resources_cannot_be_forged),
		cmocka_unit_test(processes_share_the_cache), cmocka_unit_test(sweeps_leave_the_living_alone),
		cmocka_unit_test(hits_compare_the_whole_source),
		cmocka_unit_test(endless_templates_time_out),
		cmocka_unit_test(prelude_is_checked),
	};

	return cmocka_run_group_tests(tests, open_cache, close_cache);
}
