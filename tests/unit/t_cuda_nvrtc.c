/* The quick check says OK, or an error that nvcc shares, or leaves the answer to nvcc. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "cuda/nvrtc.h"
#include "cuda/nvrtc_source.h"

static const struct cuda_argument arguments[] = {
	{ CUDA_INPUT, "x", "float32", 0, 0 }, { CUDA_OUTPUT, "y", "float32", 0, 0 }, { CUDA_SCALAR, "N", "int64", 0, 0 },
};

static struct cuda_checker *checker;

static void
expect(const char *source, size_t bytes, enum cuda_check wanted, const char *words)
{
	struct buf prelude = BUF_INIT, log = BUF_INIT, err = BUF_INIT;
	enum cuda_check answer;

	assert_int_equal(cuda_prelude(arguments, 3, &prelude, &err), 0);
	if (cuda_quick_check(checker, source, bytes, buf_str(&prelude), NULL, &answer, &log, &err) < 0)
		fail_msg("%s", buf_str(&err));
	if (answer != wanted || !strstr(buf_str(&log), words))
		fail_msg("wanted %d '%s', got %d '%s'", wanted, words, answer, buf_str(&log));
	assert_true(log.len <= CUDA_LOG_BYTES + 100);
	assert_null(strstr(buf_str(&log), "precompiled"));
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

/* Each is refused, passed on or stopped within its limits, and the same server goes on answering. */
static void
hostile_sources_are_stopped(void **state)
{
	static const struct { const char *source; bool must_end; } cases[] = {
		{ "template <int N> struct F { static constexpr long v = F<N - 1>::v + F<N - 2>::v; "
			"typedef typename F<N - 1>::t t; };\n#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\n"
			"#define C(x) B(B(x))\nint n[] = { C(C(1,)) };\n", false },
		{ "template <int D, int P> struct T { static constexpr long v = T<D - 1, 2 * P>::v + T<D - 1, 2 * P + 1>::v; };\n"
			"template <int P> struct T<0, P> { static constexpr long v = P; };\nlong n = T<30, 0>::v;\n", false },
		{ "constexpr long f() { long n = 0; for (;;) n++; return n; }\nstatic_assert(f() == 1, \"\");\n", true },
		{ "constexpr long f(long n) { return f(n + 1); }\nstatic_assert(f(0) == 1, \"\");\n", true },
		{ "template <int N> struct D { typedef typename D<N + 1>::t t; };\nD<0>::t d;\n", true },
		{ "#include \"/dev/zero\"\n", true },
		{ "#include \"/proc/self/environ\"\n", true },
		{ "#include __FILE__\n", true },
		{ "#line 1 \"/etc/passwd\"\nint f( { }\n", true },
		{ "__device__ int a[1 << 28] = { 1, 2, 3 };\n", false },
	};
	struct cuda_limits hurry = { .wall_ms = 1500, .memory_bytes = (uint64_t)3 << 30 };
	struct buf prelude = BUF_INIT;
	int stopped = 0;

	(void)state;
	assert_int_equal(cuda_prelude(arguments, 3, &prelude, NULL), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct buf log = BUF_INIT, err = BUF_INIT;
		enum cuda_check answer;

		if (cuda_quick_check(checker, cases[i].source, strlen(cases[i].source), buf_str(&prelude), &hurry, &answer, &log,
		    &err) < 0)
			fail_msg("case %zu: %s", i, buf_str(&err));
		bool ended = !strstr(buf_str(&log), "did not end by itself");
		if (cases[i].must_end && (!ended || answer == CUDA_CHECK_OK))
			fail_msg("case %zu: %d %s", i, answer, buf_str(&log));
		assert_null(strstr(buf_str(&log), "root:"));
		assert_null(strstr(buf_str(&log), "SECRET"));
		stopped += !ended;
		buf_release(&log);
		buf_release(&err);
	}
	assert_true(stopped >= 2);
	EXPECT("__global__ void k(const float *x, float *y) { y[0] = x[0]; }\n" SOLVE, CUDA_CHECK_OK, "");
	buf_release(&prelude);
}

/* Headers that were read for one source do not count as included by another. */
static void
headers_are_those_of_the_source(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		EXPECT("#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cuda_fp16.h>\n"
			"namespace cg = cooperative_groups;\n"
			"__global__ void k(const float *x, float *y) { auto w = cg::tiled_partition<32>(cg::this_thread_block());\n"
			"y[0] = cg::reduce(w, __half2float(__float2half(x[w.thread_rank()])), cg::plus<float>()); }\n" SOLVE,
			CUDA_CHECK_OK, "");
		EXPECT("__global__ void k(const float *x, float *y) { y[0] = __half2float(__float2half(x[0])); }\n" SOLVE,
			CUDA_CHECK_ASK_NVCC, "__float2half");
		EXPECT("#include <stdint.h>\n#include <limits.h>\n#include <float.h>\n#include <cstdint>\n#include <mma.h>\n"
			"__global__ void k(const float *x, float *y) { y[0] = x[0] + FLT_MAX + INT_MAX + (float)(int64_t)1; }\n" SOLVE,
			CUDA_CHECK_OK, "");
	}
}

static void *
check_many(void *words)
{
	struct buf prelude = BUF_INIT;
	bool *good = words;

	cuda_prelude(arguments, 3, &prelude, NULL);
	for (int i = 0; i < 4; i++) {
		static const char sound[] = "__global__ void k(const float *x, float *y) { y[0] = x[0]; }\n" SOLVE;
		static const char broken[] = "__global__ void k(const float *x, float *y) { y[0] = x[0] }\n" SOLVE;
		struct buf log = BUF_INIT;
		enum cuda_check answer = CUDA_CHECK_ASK_NVCC;
		const char *source = i % 2 ? sound : broken;

		if (cuda_quick_check(checker, source, strlen(source), buf_str(&prelude), NULL, &answer, &log, NULL) ||
		    answer != (i % 2 ? CUDA_CHECK_OK : CUDA_CHECK_ERROR))
			*good = false;
		buf_release(&log);
	}
	buf_release(&prelude);
	return NULL;
}

static void
threads_share_the_server(void **state)
{
	pthread_t threads[4];
	bool good = true;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_many, &good), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_true(good);
}

/* Is this process among the ancestors of that one? */
static bool
is_ours(long pid)
{
	while (pid > 1) {
		char path[64];
		long parent = 0;

		if (pid == getpid())
			return true;
		snprintf(path, sizeof path, "/proc/%ld/stat", pid);
		FILE *f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %*c %ld", &parent) != 1)
			parent = 0;
		if (f)
			fclose(f);
		pid = parent;
	}
	return false;
}

static void
killed_server_is_started_again(void **state)
{
	char text[4096] = "";

	(void)state;
	FILE *f = popen("ps -o pid= -C km-nvrtc", "r");
	assert_non_null(f);
	size_t got = fread(text, 1, sizeof text - 1, f);
	pclose(f);
	assert_true(got > 0);
	int killed = 0;
	for (char *at = text, *end;; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			break;
		killed += is_ours(pid) && !kill((pid_t)pid, SIGKILL);
	}
	assert_true(killed >= 1);
	EXPECT("__global__ void k(const float *x, float *y) { y[0] = x[0]; }\n" SOLVE, CUDA_CHECK_OK, "");
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

static void
the_architecture_is_the_checkers(void **state)
{
	static const char source[] = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 800\n#error another architecture\n#endif\n"
		"__global__ void k(const float *x, float *y) { y[0] = x[0]; }\n" SOLVE;
	struct cuda_checker *usual = checker;

	(void)state;
	EXPECT(source, CUDA_CHECK_ASK_NVCC, "another architecture");
	checker = cuda_checker_new(80);
	EXPECT(source, CUDA_CHECK_OK, "");
	cuda_checker_free(checker);
	checker = usual;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_source_is_ok),
		cmocka_unit_test(syntax_errors_are_certain),
		cmocka_unit_test(doubt_goes_to_nvcc),
		cmocka_unit_test(hostile_sources_do_no_harm),
		cmocka_unit_test(hostile_sources_are_stopped),
		cmocka_unit_test(headers_are_those_of_the_source),
		cmocka_unit_test(threads_share_the_server),
		cmocka_unit_test(killed_server_is_started_again),
		cmocka_unit_test(host_calls_are_found_by_words),
		cmocka_unit_test(the_architecture_is_the_checkers),
	};

	setenv("KM_SECRET", "SECRET", 1);	/* which no log may show */
	checker = cuda_checker_new(CUDA_ARCH_DEFAULT);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	cuda_checker_free(checker);
	return failed;
}
