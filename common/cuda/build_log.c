/* Compiler logs: cleaning, and the words for what is refused by name.
 *
 * In: what nvcc, the linker or NVRTC printed; file names in it may be the candidate's (#line), so nothing is concluded
 * from them. Out: text for a record. Refusals are tables of name prefixes with a reason. */
#include <ctype.h>

#include "cuda/build_log.h"
#include "cuda/cuda.h"

/* ---- cleaning */
static bool
is_path(char c)
{
	return isalnum((unsigned char)c) || strchr("/._+-", c);
}

/* Names that depend on the sandbox: all that comes before the last component goes. */
static const char *const plain_files[] = { "/in/solution.cu", "/in/prelude.h", "/keep/solution.o" };
static const char assembler_file[] = "/tmp/ccXXXXXX.s";
static const char toolkit_include[] = "/targets/x86_64-linux/include/";

/* Length of the path that starts here and ends in one of our files, and its short name. */
static size_t
known_path(const char *at, const char **instead)
{
	size_t length = 0;
	const char *hit;

	while (at[length] && is_path(at[length]))
		length++;
	for (size_t i = 0; i < sizeof plain_files / sizeof *plain_files; i++) {
		size_t tail = strlen(plain_files[i]);

		if (length >= tail && !memcmp(at + length - tail, plain_files[i], tail)) {
			*instead = strrchr(plain_files[i], '/') + 1;
			return length;
		}
	}
	/* The assembler's input: "/tmp/ccXXXXXX.s", another name each time. */
	if (length == sizeof assembler_file - 1 && !memcmp(at, assembler_file, 7) && !memcmp(at + 13, ".s", 2)) {
		*instead = "assembler";
		return length;
	}
	hit = memmem(at, length, toolkit_include, sizeof toolkit_include - 1);
	if (!hit)
		return 0;
	*instead = "cuda/";
	return (size_t)(hit - at) + sizeof toolkit_include - 1;
}

static void
clean_line(const char *line, size_t length, struct buf *out)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)line[i];
		const char *instead = NULL;
		size_t path = c == '/' && (!i || !is_path(line[i - 1])) ? known_path(line + i, &instead) : 0;

		if (path && path <= length - i) {
			buf_adds(out, instead);
			i += path - 1;
		} else {
			buf_addc(out, c == '\t' || (c >= 32 && c < 127) ? (char)c : '?');
		}
	}
	buf_addc(out, '\n');
}

static bool
is_resource_line(const char *line, size_t length)
{
	return (length > 10 && !memcmp(line, "ptxas info", 10)) ||
		memmem(line, length, " bytes stack frame, ", 20) != NULL;
}

void
build_log_clean(struct buf *text, struct buf *resources)
{
	struct buf out = BUF_INIT;

	for (const char *line = buf_str(text), *end = line + text->len, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((stop ? stop : end) - line);

		next = stop ? stop + 1 : end;
		if (resources && is_resource_line(line, length)) {
			buf_add(resources, line, length);
			buf_addc(resources, '\n');
		} else {
			clean_line(line, length, &out);
		}
	}
	buf_elide(&out, CUDA_LOG_BYTES);
	buf_release(text);
	*text = out;
}

/* ---- refusals */
static const struct { const char *prefix, *what; } includes[] = {
	{ "cublas", "cuBLAS" }, { "cudnn", "cuDNN" }, { "cufft", "cuFFT" }, { "cusparse", "cuSPARSE" },
	{ "cusolver", "cuSOLVER" }, { "curand.h", "cuRAND's host library" }, { "nccl", "NCCL" }, { "thrust/", "Thrust" },
	{ "cub/device/", "CUB's device-wide functions" }, { "cutensor", "cuTENSOR" }, { "npp", "NPP" },
}, symbols[] = {
	{ "cublas", "cuBLAS" }, { "cudnn", "cuDNN" }, { "cufft", "cuFFT" }, { "cusparse", "cuSPARSE" },
	{ "cusolver", "cuSOLVER" }, { "curand", "cuRAND's host library" }, { "nccl", "NCCL" }, { "npp", "NPP" },
}, kernels[] = {
	{ "_ZN3cub", "CUB's device-wide functions" }, { "_ZN6thrust", "Thrust" },
};

static bool
refuse_library(const char *what, struct buf *reason)
{
	buf_addf(reason, "the source uses %s: a solution consists of its own kernels", what);
	return true;
}

static size_t
skip_blanks(const char *line, size_t length, size_t i)
{
	while (i < length && (line[i] == ' ' || line[i] == '\t'))
		i++;
	return i;
}

/* The name between the quotes or brackets of an #include line, or NULL. */
static const char *
included_name(const char *line, size_t length, size_t *name_length)
{
	size_t i = skip_blanks(line, length, 0), start;

	if (i >= length || line[i] != '#')
		return NULL;
	i = skip_blanks(line, length, i + 1);
	if (length - i < 7 || memcmp(line + i, "include", 7))
		return NULL;
	i = skip_blanks(line, length, i + 7);
	if (i >= length || (line[i] != '<' && line[i] != '"'))
		return NULL;
	for (start = ++i; i < length && line[i] != '>' && line[i] != '"'; i++)
		;
	*name_length = i - start;
	return line + start;
}

bool
build_refused_include(const char *source, size_t bytes, struct buf *reason)
{
	for (const char *line = source, *end = source + bytes, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((stop ? stop : end) - line), name_length;
		const char *name = included_name(line, length, &name_length);

		next = stop ? stop + 1 : end;
		for (size_t i = 0; name && i < sizeof includes / sizeof *includes; i++)
			if (name_length >= strlen(includes[i].prefix) &&
			    !memcmp(name, includes[i].prefix, strlen(includes[i].prefix)))
				return refuse_library(includes[i].what, reason);
	}
	return false;
}

/* A source can print what it likes by #error, #warning and assertions, but only behind words of the compiler's own:
 * so a message counts where it follows the first "error: " of its line at once. */
static bool
front_end_says(const char *log, const char *message)
{
	for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *end = strchrnul(line, '\n'), *at = strstr(line, "error: ");

		if (at && at < end && !strncmp(at + 7, message, strlen(message)))
			return true;
	}
	return false;
}

/* Does the compiler, and not the linker, say the line that `at` points into? */
static bool
from_source(const char *log, const char *at)
{
	static const char *const words[] = { "error: ", "warning", "note: ", "#pragma" };
	const char *start = at;

	while (start > log && start[-1] != '\n')
		start--;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *word = strstr(start, words[i]);
		if (word && word < at)
			return true;
	}
	return false;
}

bool
build_refused_message(const char *log, struct buf *reason)
{
	static const char undefined[] = "undefined reference to `";

	if (front_end_says(log, "kernel launch from __device__ or __global__ functions requires separate compilation mode")) {
		buf_adds(reason, "the source launches kernels from kernels (dynamic parallelism): only solve() may launch");
		return true;
	}
	for (const char *at = log; (at = strstr(at, undefined)); ) {
		at += sizeof undefined - 1;
		if (from_source(log, at))
			continue;
		for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
			if (!strncmp(at, symbols[i].prefix, strlen(symbols[i].prefix)))
				return refuse_library(symbols[i].what, reason);
		if (at[0] == 'c' && at[1] == 'u' && isupper((unsigned char)at[2])) {
			buf_addf(reason, "the source uses the driver API (%.*s): use the runtime API", (int)strcspn(at, "'\n"), at);
			return true;
		}
	}
	return false;
}

bool
build_refused_kernel(const char *name, struct buf *reason)
{
	/* The headers make this one whether it is used or not. */
	if (strstr(name, "11EmptyKernel"))
		return false;
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (!strncmp(name, kernels[i].prefix, strlen(kernels[i].prefix)))
			return refuse_library(kernels[i].what, reason);
	return false;
}
