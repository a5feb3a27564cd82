/* The quick check: NVRTC in the sandbox, and what its answer is worth.
 *
 * In: source and prelude. Out: it compiles, it does not, or ask nvcc. NVRTC sees another world than nvcc (no host
 * headers, host functions taken for device functions), so its errors count only when the first one is of a kind that no
 * header can cause: syntax, and calls with the wrong number of arguments. */
#include <stdlib.h>

#include "base/die.h"
#include "cuda/build_log.h"
#include "cuda/nvrtc.h"
#include "cuda/nvrtc_source.h"
#include "sandbox/sandbox.h"

enum { DEFAULT_WALL_MS = 10000, EXIT_UNAVAILABLE = 69 };
#define DEFAULT_MEMORY (4ull << 30)

static const char *const certain[] = {
	"expected a", "unrecognized token", "missing closing quote", "too few arguments in function call",
	"too many arguments in function call", "this declaration has no storage class or type specifier",
	"a break statement may only be used", "a continue statement may only be used",
};

/* Is the log's first error in the source, and of a kind that nvcc shares? */
static bool
error_is_certain(const char *log)
{
	const char *first = strstr(log, "error: "), *line = first;

	if (!first)
		return false;
	while (line > log && line[-1] != '\n')
		line--;
	if (strncmp(line, "solution.cu(", 12) != 0 && strncmp(line, "At end of source", 16) != 0)
		return false;
	first += strlen("error: ");
	for (size_t i = 0; i < sizeof certain / sizeof *certain; i++)
		if (!strncmp(first, certain[i], strlen(certain[i])))
			return true;
	return false;
}

static int
unsure(enum cuda_check *answer, struct buf *log, const char *format, const char *what)
{
	*answer = CUDA_CHECK_ASK_NVCC;
	buf_reset(log);
	buf_addf(log, format, what);
	return 0;
}

static int
judge(const struct sandbox_job *job, const struct sandbox_result *ran, const char *source, size_t bytes,
	enum cuda_check *answer, struct buf *log)
{
	struct buf name = BUF_INIT, how = BUF_INIT;

	if (ran->cause == SANDBOX_EXITED && ran->exit_status == EXIT_UNAVAILABLE)
		return unsure(answer, log, "%s", "there is no libnvrtc.so.13");
	if (ran->cause != SANDBOX_EXITED || ran->exit_status > 1) {
		sandbox_describe(job, ran, &how);
		unsure(answer, log, "NVRTC did not end by itself: %s", buf_str(&how));
		buf_release(&how);
		return 0;
	}
	build_log_clean(log, NULL);
	if (ran->exit_status == 0 && nvrtc_mixes_host_and_device(source, bytes, &name))
		unsure(answer, log, "device code may call the host function %s", buf_str(&name));
	else if (ran->exit_status == 0)
		*answer = CUDA_CHECK_OK;
	else if (error_is_certain(buf_str(log)))
		*answer = CUDA_CHECK_ERROR;
	else
		*answer = CUDA_CHECK_ASK_NVCC;
	buf_release(&name);
	return 0;
}

int
cuda_quick_check(const char *source, size_t source_bytes, const char *prelude, const struct cuda_limits *limits,
	enum cuda_check *answer, struct buf *log, struct buf *err)
{
	char *toolkit = realpath(KM_CUDA, NULL);
	const char *argv[] = { "/kernelmosaic/km-nvrtc", "/in/solution.cu", "/in/prelude.h", toolkit ? toolkit : KM_CUDA,
		NULL };
	const char *binds[] = { strncmp(argv[3], "/usr/", 5) ? argv[3] : NULL, NULL };
	struct sandbox_input inputs[] = {
		{ .name = "solution.cu", .bytes = source, .count = source_bytes },
		{ .name = "prelude.h", .bytes = prelude, .count = strlen(prelude) },
	};
	struct sandbox_job job = { .argv = argv, .binds = binds, .inputs = inputs, .input_count = 2, .output = log };
	struct sandbox_result ran;
	struct buf reason = BUF_INIT, errors = BUF_INIT;
	int status;

	job.errors = &errors;
	job.limits.wall_ms = limits && limits->wall_ms ? limits->wall_ms : DEFAULT_WALL_MS;
	job.limits.cpu_s = job.limits.wall_ms / 1000 + 1;
	job.limits.address_space_bytes = limits && limits->memory_bytes ? limits->memory_bytes : DEFAULT_MEMORY;
#ifdef CUDA_SANITIZED
	job.limits.address_space_bytes = SANDBOX_UNLIMITED;
#endif
	if (source_bytes > CUDA_MAX_SOURCE_BYTES)
		status = unsure(answer, log, "%s", "the source is too long");
	else if (build_refused_include(source, source_bytes, &reason))
		status = unsure(answer, log, "%s", buf_str(&reason));
	else if ((status = sandbox_run(&job, &ran, err)) == 0)
		status = judge(&job, &ran, source, source_bytes, answer, log);
	free(toolkit);
	buf_release(&reason);
	buf_release(&errors);
	return status;
}
