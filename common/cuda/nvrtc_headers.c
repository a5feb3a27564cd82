/* Stand-in headers for the quick check.
 *
 * NVRTC knows device code only. With --device-as-default-execution-space and relocatable code solve() is compiled as if
 * it ran on the device, launches and all, so what it needs is the runtime API declared for the device: the toolkit's own
 * cuda_runtime.h, read as nvcc reads it, with __host__ meaning __device__. A header that is not here is not found, and
 * the check answers "ask nvcc". */
#include "cuda/nvrtc_headers.h"

static const char first[] =
	"#undef __CUDACC_RTC__\n"
	"#undef __CUDA_RUNTIME_API_H__\n"
	"#undef __CUDA_RUNTIME_H__\n"
	"#undef __host__\n"
	"#define __host__ __device__\n"
	"#include <cuda_runtime.h>\n"
	"#define __CUDACC_RTC__ 1\n";

static const char utility[] =
	"#pragma once\n"
	"namespace std {\n"
	"template <class T> struct remove_reference { typedef T type; };\n"
	"template <class T> struct remove_reference<T &> { typedef T type; };\n"
	"template <class T> struct remove_reference<T &&> { typedef T type; };\n"
	"template <class T> constexpr T &&forward(typename remove_reference<T>::type &t) { return static_cast<T &&>(t); }\n"
	"template <class T> constexpr T &&forward(typename remove_reference<T>::type &&t) { return static_cast<T &&>(t); }\n"
	"}\n";

/* The toolkit's C++ library brings its own, and all others must agree with it. */
static const char stdint[] = "#pragma once\n#include <cuda/std/cstdint>\n";
static const char limits[] = "#pragma once\n#include <cuda/std/climits>\n";

static const char floats[] =
	"#pragma once\n"
	"#define FLT_RADIX 2\n#define FLT_MANT_DIG 24\n#define DBL_MANT_DIG 53\n#define FLT_DIG 6\n#define DBL_DIG 15\n"
	"#define FLT_MAX 3.40282347e+38F\n#define FLT_MIN 1.17549435e-38F\n#define FLT_EPSILON 1.19209290e-7F\n"
	"#define DBL_MAX 1.7976931348623157e+308\n#define DBL_MIN 2.2250738585072014e-308\n"
	"#define DBL_EPSILON 2.2204460492503131e-16\n";

static const char math[] =
	"#pragma once\n"
	"#define INFINITY (1.0f / 0.0f)\n#define NAN (-(0.0f / 0.0f))\n#define HUGE_VALF INFINITY\n"
	"#define HUGE_VAL (1.0 / 0.0)\n"
	"#define M_E 2.7182818284590452354\n#define M_LOG2E 1.4426950408889634074\n#define M_LOG10E 0.43429448190325182765\n"
	"#define M_LN2 0.69314718055994530942\n#define M_LN10 2.30258509299404568402\n#define M_PI 3.14159265358979323846\n"
	"#define M_PI_2 1.57079632679489661923\n#define M_PI_4 0.78539816339744830962\n#define M_1_PI 0.31830988618379067154\n"
	"#define M_2_PI 0.63661977236758134308\n#define M_2_SQRTPI 1.12837916709551257390\n"
	"#define M_SQRT2 1.41421356237309504880\n#define M_SQRT1_2 0.70710678118654752440\n";

static const char stdio[] =
	"#pragma once\n"
	"struct FILE;\n#define stdout ((FILE *)0)\n#define stderr ((FILE *)0)\n"
	"template <class... T> int fprintf(FILE *, const char *, T...) { return 0; }\n"
	"inline int fflush(FILE *) { return 0; }\n";

static const char stdlib[] =
	"#pragma once\n#ifndef NULL\n#define NULL 0\n#endif\n#define EXIT_FAILURE 1\n#define EXIT_SUCCESS 0\n"
	"inline void exit(int) {}\ninline void abort() {}\n";

static const char stddef[] = "#pragma once\n#ifndef NULL\n#define NULL 0\n#endif\ntypedef long ptrdiff_t;\n";

static const char assertion[] = "#pragma once\n#undef assert\n#define assert(condition) ((void)sizeof(bool(condition)))\n";

/* What NVRTC defines anyway. */
static const char nothing[] = "#pragma once\n";

const struct nvrtc_header nvrtc_headers[] = {
	{ NVRTC_FIRST_HEADER, first }, { "utility", utility }, { "stdint.h", stdint }, { "cstdint", stdint },
	{ "limits.h", limits }, { "climits", limits }, { "float.h", floats }, { "cfloat", floats }, { "math.h", math },
	{ "cmath", math }, { "stdio.h", stdio }, { "cstdio", stdio }, { "stdlib.h", stdlib }, { "cstdlib", stdlib },
	{ "stddef.h", stddef }, { "cstddef", stddef }, { "assert.h", assertion }, { "cassert", assertion },
	{ "string.h", nothing }, { "cstring", nothing }, { "stdbool.h", nothing },
};
const int nvrtc_header_count = sizeof nvrtc_headers / sizeof *nvrtc_headers;

const char *const nvrtc_known[] = {
	"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cooperative_groups.h", "cooperative_groups/reduce.h",
	"cooperative_groups/scan.h", "cooperative_groups/memcpy_async.h", "cuda_pipeline.h", "cuda/barrier", "cuda/pipeline",
};
const int nvrtc_known_count = sizeof nvrtc_known / sizeof *nvrtc_known;
