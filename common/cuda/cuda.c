/* The prototype of solve() and the header that every solution is compiled with.
 *
 * In: the arguments in order. Out: text. The header is force-included before the candidate's first line, so the
 * candidate's macros cannot change it, and it defines the one function through which the recorder calls solve():
 * all arguments come as pointers to values, so the recorder needs no assembly and no libffi. */
#include <ctype.h>

#include "cuda/cuda.h"

static const struct { const char *dtype, *c_type, *header; } types[] = {
	{ "float64", "double", NULL },
	{ "float32", "float", NULL },
	{ "float16", "__half", "cuda_fp16.h" },
	{ "bfloat16", "__nv_bfloat16", "cuda_bf16.h" },
	{ "int64", "int64_t", NULL },
	{ "int32", "int32_t", NULL },
	{ "uint8", "uint8_t", NULL },
	{ "bool", "bool", NULL },
};
enum { TYPES = sizeof types / sizeof *types };

const char *
cuda_verdict_name(enum cuda_verdict verdict)
{
	static const char *const names[] = { "PASSED", "COMPILE_ERROR", "RUNTIME_ERROR", "TIMEOUT", "UNSUPPORTED",
		"SUSPICIOUS", "INFRASTRUCTURE" };

	return names[verdict];
}

static int
type_of(const struct cuda_argument *a, struct buf *err)
{
	for (int i = 0; i < TYPES; i++)
		if (!strcmp(types[i].dtype, a->dtype))
			return i;
	return buf_err(err, "argument %s has the unknown dtype %s", a->name, a->dtype);
}

static bool
is_identifier(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return strlen(name) < 128;
}

static int
check_arguments(const struct cuda_argument *arguments, int count, struct buf *err)
{
	if (count < 0 || count > CUDA_MAX_ARGUMENTS)
		return buf_err(err, "solve() has %d arguments, at most %d are possible", count, CUDA_MAX_ARGUMENTS);
	for (int i = 0; i < count; i++) {
		if (!is_identifier(arguments[i].name))
			return buf_err(err, "argument %d of solve() has a name that is no identifier", i + 1);
		if (type_of(&arguments[i], err) < 0)
			return -1;
	}
	return 0;
}

int
cuda_prototype(const struct cuda_argument *arguments, int count, struct buf *out, struct buf *err)
{
	if (check_arguments(arguments, count, err) < 0)
		return -1;
	buf_adds(out, "extern \"C\" void solve(");
	for (int i = 0; i < count; i++) {
		const struct cuda_argument *a = &arguments[i];

		buf_addf(out, "%s%s %s%s, ", a->kind == CUDA_INPUT ? "const " : "", types[type_of(a, NULL)].c_type,
			a->kind == CUDA_SCALAR ? "" : "*", a->name);
	}
	buf_adds(out, "cudaStream_t stream)");
	return 0;
}

int
cuda_prelude(const struct cuda_argument *arguments, int count, struct buf *out, struct buf *err)
{
	bool used[TYPES] = { false };

	if (check_arguments(arguments, count, err) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		used[type_of(&arguments[i], NULL)] = true;
	buf_adds(out, "#pragma once\n#include <cuda_runtime.h>\n");
	for (int t = 0; t < TYPES; t++)
		if (used[t] && types[t].header)
			buf_addf(out, "#include <%s>\n", types[t].header);
	buf_adds(out, "#include <stdint.h>\n\n");
	cuda_prototype(arguments, count, out, NULL);
	/* The constructor runs before the candidate's own: all libraries are loaded by then, so the recorder can
	 * close the file system before a line of the candidate's has run. */
	buf_adds(out, ";\n\n#ifndef __CUDACC_RTC__\n"
		"extern \"C\" __attribute__((weak)) void kernelmosaic_loaded(void);\n"
		"static __attribute__((constructor(101), used)) void kernelmosaic_start(void)\n"
		"{\n\tif (kernelmosaic_loaded) kernelmosaic_loaded();\n}\n"
		"extern \"C\" __attribute__((visibility(\"default\"), used)) void kernelmosaic_call(void **value)\n"
		"{\n\tsolve(");
	for (int i = 0; i < count; i++) {
		const struct cuda_argument *a = &arguments[i];

		buf_addf(out, "*(%s%s %s*)value[%d], ", a->kind == CUDA_INPUT ? "const " : "",
			types[type_of(a, NULL)].c_type, a->kind == CUDA_SCALAR ? "" : "*", i);
	}
	buf_addf(out, "*(cudaStream_t *)value[%d]);\n}\n#endif\n", count);
	return 0;
}
