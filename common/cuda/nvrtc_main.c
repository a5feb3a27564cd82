/* km-nvrtc: compiles one source with NVRTC, as far as the front end goes.
 *
 * In: argv SOURCE PRELUDE TOOLKIT. Out: the compiler's log on standard output; exit status 0 it compiles, 1 it does not,
 * 69 there is no libnvrtc. The library is opened at run time, so that this program starts on any machine. It runs in
 * the sandbox, one process for a compile: hostile sources make NVRTC hang and abort. */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/die.h"
#include "cuda/cuda.h"
#include "cuda/nvrtc_headers.h"

enum { MAX_HEADERS = 32 };

static struct {
	nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *);
	nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
	nvrtcResult (*log_size)(nvrtcProgram, size_t *);
	nvrtcResult (*log)(nvrtcProgram, char *);
	const char *(*words)(nvrtcResult);
} nvrtc;

static void *
symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at)
		die(EX_UNAVAILABLE, "libnvrtc.so.13 lacks %s", name);
	return at;
}

static void
load(const char *toolkit)
{
	struct buf path = BUF_INIT;
	void *library;

	buf_addf(&path, "%s/lib64/libnvrtc.so.13", toolkit);
	library = dlopen(buf_str(&path), RTLD_NOW);
	if (!library)
		library = dlopen("libnvrtc.so.13", RTLD_NOW);
	if (!library)
		die(EX_UNAVAILABLE, "the quick compile check needs libnvrtc.so.13 of CUDA Toolkit 13: %s", dlerror());
	nvrtc.create = (nvrtcResult (*)(nvrtcProgram *, const char *, const char *, int, const char *const *,
		const char *const *))symbol(library, "nvrtcCreateProgram");
	nvrtc.compile = (nvrtcResult (*)(nvrtcProgram, int, const char *const *))symbol(library, "nvrtcCompileProgram");
	nvrtc.log_size = (nvrtcResult (*)(nvrtcProgram, size_t *))symbol(library, "nvrtcGetProgramLogSize");
	nvrtc.log = (nvrtcResult (*)(nvrtcProgram, char *))symbol(library, "nvrtcGetProgramLog");
	nvrtc.words = (const char *(*)(nvrtcResult))symbol(library, "nvrtcGetErrorString");
	buf_release(&path);
}

static void
print_log(nvrtcProgram program)
{
	size_t size;
	char *text;

	if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size < 2)
		return;
	text = xcalloc(1, size + 1);
	if (nvrtc.log(program, text) == NVRTC_SUCCESS)
		fputs(text, stdout);
	free(text);
}

int
main(int argc, char **argv)
{
	const char *names[MAX_HEADERS + 1], *texts[MAX_HEADERS + 1];
	struct buf source = BUF_INIT, prelude = BUF_INIT, include = BUF_INIT, cccl = BUF_INIT, err = BUF_INIT;
	nvrtcProgram program;
	nvrtcResult result;
	int headers = 0;

	die_program = "km-nvrtc";
	if (argc != 4)
		die(EX_USAGE, "usage: km-nvrtc SOURCE PRELUDE TOOLKIT; cuda_quick_check runs it");
	if (buf_read_file(&source, argv[1], CUDA_MAX_SOURCE_BYTES, &err) < 0 ||
	    buf_read_file(&prelude, argv[2], CUDA_MAX_SOURCE_BYTES, &err) < 0)
		die(EX_NOINPUT, "%s", buf_str(&err));
	load(argv[3]);
	for (; headers < nvrtc_header_count && headers < MAX_HEADERS; headers++) {
		names[headers] = nvrtc_headers[headers].name;
		texts[headers] = nvrtc_headers[headers].text;
	}
	names[headers] = "prelude.h";
	texts[headers++] = buf_str(&prelude);
	buf_addf(&include, "--include-path=%s/include", argv[3]);
	buf_addf(&cccl, "--include-path=%s/include/cccl", argv[3]);
	const char *options[] = { "--gpu-architecture=compute_90", "--device-as-default-execution-space",
		"--relocatable-device-code=true", "--fdevice-syntax-only", "--pre-include=" NVRTC_FIRST_HEADER,
		"--pre-include=prelude.h", buf_str(&include), buf_str(&cccl) };

	result = nvrtc.create(&program, buf_str(&source), "solution.cu", headers, texts, names);
	if (result != NVRTC_SUCCESS)
		die(EX_SOFTWARE, "NVRTC fails: %s", nvrtc.words(result));
	result = nvrtc.compile(program, sizeof options / sizeof *options, options);
	print_log(program);
	if (fflush(stdout) == EOF)
		die(EX_IOERR, "cannot write the log:");
	if (result != NVRTC_SUCCESS && result != NVRTC_ERROR_COMPILATION)
		die(EX_SOFTWARE, "NVRTC fails: %s", nvrtc.words(result));
	_exit(result == NVRTC_SUCCESS ? 0 : 1);	/* the library takes its time to unload */
}
