/* The quick check says OK, or an error that nvcc shares, or leaves the answer to nvcc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cuda/nvrtc.h"
#include "cuda/nvrtc_source.h"

static const struct cuda_argument arguments[] = {
	{ CUDA_INPUT, "x", "float32", 0, 0 }, { CUDA_OUTPUT, "y", "float32", 0, 0 }, { CUDA_SCALAR, "N", "int64", 0, 0 },
};

static void
expect(const char *source, size_t bytes, enum cuda_check wanted, const char *words)
{
	struct buf prelude = BUF_INIT, log = BUF_INIT, err = BUF_INIT;
	enum cuda_check answer;

	assert_int_equal(cuda_prelude(arguments, 3, &prelude, &err), 0);
	if (cuda_quick_check(source, bytes, buf_str(&prelude), NULL, &answer, &log, &err) < 0)
		fail_msg("%s", buf_str(&err));
	if (answer != wanted || !strstr(buf_str(&log), words))
		fail_msg("wanted %d '%s', got %d '%s'", wanted, words, answer, buf_str(&log));
	assert_true(log.len <= CUDA_LOG_BYTES + 100);
	buf_release(&prelude);
	buf_release(&log);
	buf_release(&err);
}

#define EXPECT(source, wanted, words) expect(source, strlen(source), wanted, words)
#define SOLVE "void solve(const float *x, float *y, int64_t N, cudaStream_t s) { k<<<1, 32, 0, s>>>(x, y); }\n"

static void
sound_source_is_ok(void **state)
{
	struct buf source = BUF_INIT;

	(void)state;
	assert_int_equal(buf_read_file(&source, "tests/data/cuda/checked.cu", 1 << 20, NULL), 0);
	expect(source.data, source.len, CUDA_CHECK_OK, "");
	buf_release(&source);
}

static void
syntax_errors_are_certain(void **state)
{
	(void)state;
	EXPECT("__global__ void k(const float *x, float *y) { y[0] = x[0] }\n" SOLVE, CUDA_CHECK_ERROR,
		"solution.cu(1): error: expected a \";\"");
	EXPECT("__global__ void k(const float *x, float *y, int n) { y[0] = x[0]; }\n" SOLVE, CUDA_CHECK_ERROR,
		"solution.cu(2): error: too few arguments in function call");
}

static void
doubt_goes_to_nvcc(void **state)
{
	(void)state;
	EXPECT("#include <vector>\n__global__ void k(const float *x, float *y) { y[0] = x[0]; }\n" SOLVE, CUDA_CHECK_ASK_NVCC,
		"vector");
	EXPECT("__global__ void k(const float *x, float *y) { y[0] = unknown(x[0]); }\n" SOLVE, CUDA_CHECK_ASK_NVCC, "unknown");
	EXPECT("float twice(float v) { return 2 * v; }\n"
		"__global__ void k(const float *x, float *y) { y[0] = twice(x[0]); }\n" SOLVE, CUDA_CHECK_ASK_NVCC, "twice");
	EXPECT("#include <cublas_v2.h>\n", CUDA_CHECK_ASK_NVCC, "cuBLAS");
}

/* None may say more than that the file is not there, and none may hang or end this process. */
static void
hostile_sources_do_no_harm(void **state)
{
	struct buf deep = BUF_INIT;

	(void)state;
	EXPECT("#include \"/etc/shadow\"\n", CUDA_CHECK_ASK_NVCC, "cannot open source file");
	EXPECT("#if __has_include(\"/root/.bashrc\")\n#error seen\n#endif\n__global__ void k(const float *, float *) {}\n" SOLVE,
		CUDA_CHECK_OK, "");
	for (int i = 0; i < 100000; i++)
		buf_addc(&deep, '(');
	expect(deep.data, deep.len, CUDA_CHECK_ERROR, "expected a");
	buf_release(&deep);
}

static void
endless_source_is_stopped(void **state)
{
	static const char source[] = "template <int N> struct F { static constexpr long v = F<N - 1>::v + F<N - 2>::v; "
		"typedef typename F<N - 1>::t t; };\n#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
		"#define C(x) B(B(x))\nint n[] = { C(C(1,)) };\n";
	struct cuda_limits hurry = { .wall_ms = 1500 };
	struct buf prelude = BUF_INIT, log = BUF_INIT, err = BUF_INIT;
	enum cuda_check answer;

	(void)state;
	assert_int_equal(cuda_prelude(arguments, 3, &prelude, &err), 0);
	assert_int_equal(cuda_quick_check(source, strlen(source), buf_str(&prelude), &hurry, &answer, &log, &err), 0);
	assert_int_equal(answer, CUDA_CHECK_ASK_NVCC);
	assert_non_null(strstr(buf_str(&log), "NVRTC did not end by itself"));
	buf_release(&prelude);
	buf_release(&log);
	buf_release(&err);
}

static void
host_calls_are_found_by_words(void **state)
{
	static const struct { const char *source, *name; } cases[] = {
		{ "int f(int a) { return a; } __global__ void k() { f(1); }", "f" },
		{ "static constexpr int f(int a) { return a; } __device__ int g() { return f(1); }", "f" },
		{ "template <class T> T f(T a) { return a; } namespace n { __global__ void k() { f(1); } }", "f" },
		{ "__global__ void k(); int f() { return 1; } __global__ void __launch_bounds__(64) k() { f(); }", "f" },
		{ "struct s { int m() { return 1; } }; __global__ void k(s a) { a.m(); }", "m" },
		{ "int f(int a) { return a; } void solve() { f(1); }", NULL },
		{ "__device__ int f(int a) { return a; } __global__ void k() { f(1); }", NULL },
		{ "__host__ __device__ int f(int a) { return a; } __global__ void k() { f(1); }", NULL },
		{ "int f() { return '{'; } /* __global__ */ __global__ void k() { /* f() */ \"f\"; }", NULL },
		{ "#define f {\nint g() { return 1; } __global__ void k() { int h = 2; }", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf name = BUF_INIT;
		bool found = nvrtc_mixes_host_and_device(cases[i].source, strlen(cases[i].source), &name);

		if (found != (cases[i].name != NULL) || (found && strcmp(buf_str(&name), cases[i].name) != 0))
			fail_msg("%s: %s", cases[i].source, buf_str(&name));
		buf_release(&name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_source_is_ok),
		cmocka_unit_test(syntax_errors_are_certain),
		cmocka_unit_test(doubt_goes_to_nvcc),
		cmocka_unit_test(hostile_sources_do_no_harm),
		cmocka_unit_test(endless_source_is_stopped),
		cmocka_unit_test(host_calls_are_found_by_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
