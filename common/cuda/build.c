/* nvcc in the sandbox.
 *
 * In: a solution's source and its prelude. Out: a folder with the shared object, the PTX and fatbin that nvcc kept, and
 * what ptxas said; or why not. Paths inside are always the same, for names of the anonymous namespace hash them. Host
 * code is linked by g++ alone: nvcc's own link step adds a second, empty device image that would have to be told from a
 * stranger's. */
#include <pthread.h>
#include <stdlib.h>

#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "cuda/build.h"
#include "cuda/build_cache.h"
#include "cuda/build_log.h"
#include "cuda/fatbin.h"
#include "cuda/ptxinfo.h"
#include "sandbox/sandbox.h"

/* Raised when a change here makes entries of the cache worthless. */
enum { BUILD_PROTOCOL = 1 };
enum { EXIT_COMPILE = 41, EXIT_LINK = 42, EXIT_COPY = 43 };
enum { DEFAULT_WALL_MS = 120000, OUTPUT_MAX = 4 << 20 };
#define DEFAULT_MEMORY (4ull << 30)

/* Lambdas for the device and constexpr functions in kernels are what people write, and no more than a flag away. */
#define NVCC_FLAGS(code) "-c -Xcompiler -fPIC -cudart shared -lineinfo --extended-lambda --expt-relaxed-constexpr -gencode " \
	code " -no-compress -Xptxas -v"
#define LINK_FLAGS "-shared -Wl,-z,defs"

/* $1 toolkit, $2 source, $3 prelude, $4 folder for results, $5 architecture. Paths come as words of their own, so that
 * the sandbox can rewrite them where it must. */
static const char script[] =
	"mkdir keep && "
	"{ \"$1\"/bin/nvcc " NVCC_FLAGS("\"$5\"") " --keep --keep-dir keep -include \"$3\" -o keep/solution.o \"$2\" || "
	"exit 41; } && "
	"{ g++ " LINK_FLAGS " -o \"$4\"/solution.so keep/solution.o -L\"$1\"/lib64/stubs -L\"$1\"/lib64 -lcudart || exit 42; } && "
	"{ cp keep/solution.ptx \"$4\"/device.ptx && cp keep/solution.fatbin \"$4\"/device.fatbin || exit 43; }";

/* ---- the toolkit */
static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static char version[32];
static struct buf version_error;

static void
ask_version(void)
{
	char *argv[] = { KM_CUDA "/bin/nvcc", "--version", NULL };
	struct buf output = BUF_INIT;
	struct spawn how = { .argv = argv, .output = &output, .errors = &output, .wall_ms = 60000 };
	struct spawn_result result;
	const char *at;

	if (spawn_run(&how, &result, NULL) < 0 || result.exit_status != 0 || !(at = strstr(buf_str(&output), ", V")))
		buf_err(&version_error, "the CUDA Toolkit's compiler %s does not run: install CUDA Toolkit 13 or build with "
			"CUDA=FOLDER", argv[0]);
	else
		snprintf(version, sizeof version, "%.*s", (int)strcspn(at + 3, " \n"), at + 3);
	buf_release(&output);
}

const char *
cuda_toolkit_version(struct buf *err)
{
	pthread_once(&version_once, ask_version);
	if (*version)
		return version;
	buf_err(err, "%s", buf_str(&version_error));
	return NULL;
}

/* Without links, for only the folder itself may be shown in the sandbox. Returned owned. */
static char *
toolkit_folder(void)
{
	char *real = realpath(KM_CUDA, NULL);

	return real ? real : xstrdup(KM_CUDA);
}

/* ---- one compile */
struct compile {
	struct sandbox_job job;
	struct sandbox_result result;
	struct buf log, object, ptx, fatbin;
};

static int
run_compiler(struct compile *c, const struct build_key *key, const struct cuda_limits *limits, const char *code,
	struct buf *err)
{
	char *toolkit = toolkit_folder();
	const char *argv[] = { "/bin/sh", "-c", script, "sh", toolkit, "/in/solution.cu", "/in/prelude.h", "/out", code,
		NULL };
	const char *binds[] = { strncmp(toolkit, "/usr/", 5) ? toolkit : NULL, NULL };	/* /usr is there anyway */
	struct sandbox_input inputs[] = {
		{ .name = "solution.cu", .bytes = key->source, .count = key->source_bytes },
		{ .name = "prelude.h", .bytes = key->prelude, .count = strlen(key->prelude) },
	};
	struct sandbox_output outputs[] = {
		{ .name = "solution.so", .content = &c->object },
		{ .name = "device.ptx", .content = &c->ptx, .max_bytes = PTXINFO_MAX_BYTES },
		{ .name = "device.fatbin", .content = &c->fatbin },
	};
	uint64_t wall_ms = limits && limits->wall_ms ? limits->wall_ms : DEFAULT_WALL_MS;
	int ran;

	c->job = (struct sandbox_job){ .argv = argv, .binds = binds, .inputs = inputs, .input_count = 2, .outputs = outputs,
		.output_count = 3, .output = &c->log, .errors = &c->log };
	c->job.limits.wall_ms = wall_ms;
	c->job.limits.cpu_s = wall_ms / 1000 + 1;
	c->job.limits.address_space_bytes = limits && limits->memory_bytes ? limits->memory_bytes : DEFAULT_MEMORY;
	c->job.limits.tmp_bytes = 512ull << 20;
	c->job.limits.output_max_bytes = OUTPUT_MAX;
	ran = sandbox_run(&c->job, &c->result, err);
	c->job.argv = c->job.binds = NULL;
	free(toolkit);
	if (ran < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (c->result.cause == SANDBOX_EXITED && !c->result.exit_status && outputs[i].state != SANDBOX_FILE_OK)
			return buf_err(err, "the compiler left no %s", outputs[i].name);
	return 0;
}

/* A compile that met the wall clock while it was computing is the candidate's fault; one that waited is ours. */
static int
judge_time(const struct compile *c, struct cuda_build *result, struct buf *err)
{
	uint64_t used = c->result.user_ns + c->result.system_ns;

	if (c->result.cause == SANDBOX_CPU || (c->result.cause == SANDBOX_WALL_CLOCK && used > c->result.wall_ns / 2)) {
		result->verdict = CUDA_TIMEOUT;
		buf_reset(&result->log);
		buf_addf(&result->log, "nvcc needs more than %llu s", (unsigned long long)(c->job.limits.wall_ms / 1000));
		return 0;
	}
	buf_addf(err, "nvcc did not end by itself: ");
	sandbox_describe(&c->job, &c->result, err);
	return -1;
}

static void
refuse(struct cuda_build *result, enum cuda_verdict verdict, const struct buf *reason)
{
	result->verdict = verdict;
	buf_reset(&result->log);
	buf_adds(&result->log, buf_str(reason));
}

static void
judge_failure(struct compile *c, struct cuda_build *result, struct buf *resources)
{
	struct buf reason = BUF_INIT;

	if (build_refused_message(buf_str(&c->log), &reason)) {
		refuse(result, CUDA_UNSUPPORTED, &reason);
	} else {
		build_log_clean(&c->log, resources);
		result->verdict = CUDA_COMPILE_ERROR;
		if (strstr(buf_str(&c->log), "undefined reference to `solve'"))
			buf_adds(&result->log, "solve() is not defined with the prototype that the task asks for\n");
		buf_add(&result->log, buf_str(&c->log), c->log.len);
	}
	buf_release(&reason);
}

static int
write_result(const char *folder, const char *name, const struct buf *content, struct buf *err)
{
	struct buf path = BUF_INIT;
	int written;

	buf_addf(&path, "%s/%s", folder, name);
	written = io_write_file(buf_str(&path), buf_str(content), content->len, err);
	buf_release(&path);
	return written;
}

/* The compiler was content: is it still one solution by the rules? */
static int
judge_success(struct compile *c, struct cuda_build *result, const char *folder, struct buf *err)
{
	struct buf resources = BUF_INIT, reason = BUF_INIT;
	struct ptxinfo *info = NULL;
	int status = 0;

	build_log_clean(&c->log, &resources);
	buf_add(&result->log, buf_str(&c->log), c->log.len);
	result->verdict = CUDA_OK;
	if (fatbin_check(buf_str(&c->object), c->object.len, buf_str(&c->fatbin), c->fatbin.len, &reason) < 0) {
		refuse(result, CUDA_SUSPICIOUS, &reason);
		goto out;
	}
	info = ptxinfo_read(buf_str(&c->ptx), c->ptx.len, buf_str(&c->fatbin), c->fatbin.len, &reason);
	if (!info) {
		refuse(result, CUDA_UNSUPPORTED, &reason);
		goto out;
	}
	for (uint32_t i = 0; i < info->kernels; i++)
		if (build_refused_kernel(info->kernel[i].name, &reason)) {
			refuse(result, CUDA_UNSUPPORTED, &reason);
			goto out;
		}
	if (write_result(folder, "solution.so", &c->object, err) < 0 || write_result(folder, "device.ptx", &c->ptx, err) < 0 ||
	    write_result(folder, "device.fatbin", &c->fatbin, err) < 0 ||
	    write_result(folder, "ptxas.txt", &resources, err) < 0)
		status = -1;
out:
	ptxinfo_free(info);
	buf_release(&resources);
	buf_release(&reason);
	return status;
}

static int
compile(const struct build_key *key, const struct cuda_limits *limits, const char *code, const char *folder,
	struct cuda_build *result, struct buf *err)
{
	struct compile c = { .log = BUF_INIT };
	struct buf resources = BUF_INIT;
	int status = -1;

	if (run_compiler(&c, key, limits, code, err) < 0)
		goto out;
	result->wall_ns = c.result.wall_ns;
	if (c.result.cause != SANDBOX_EXITED) {
		status = judge_time(&c, result, err);
	} else if (c.result.exit_status == EXIT_COMPILE || c.result.exit_status == EXIT_LINK) {
		judge_failure(&c, result, &resources);
		status = 0;
	} else if (c.result.exit_status) {
		buf_err(err, "the build ended with exit status %d: %.200s", c.result.exit_status, buf_str(&c.log));
	} else {
		status = judge_success(&c, result, folder, err);
	}
out:
	buf_release(&c.log);
	buf_release(&c.object);
	buf_release(&c.ptx);
	buf_release(&c.fatbin);
	buf_release(&resources);
	return status;
}

int
cuda_build(const char *source, size_t source_bytes, const char *prelude, int arch, const char *cache,
	const struct cuda_limits *limits, struct cuda_build *result, struct buf *err)
{
	const char *toolkit = cuda_toolkit_version(err);
	struct buf settings = BUF_INIT, reason = BUF_INIT, code = BUF_INIT;
	struct build_key key = { source, prelude, source_bytes, NULL };
	struct build_folder folder;
	int status = -1;

	*result = (struct cuda_build)CUDA_BUILD_INIT;
	if (!toolkit)
		return -1;
	/* Machine code for GPUs of this architecture, and PTX for the PTX machine and for later GPUs. */
	buf_addf(&code, "arch=compute_%d,code=[sm_%d,compute_%d]", arch, arch, arch);
	buf_addf(&settings, "build %d; nvcc %s; " NVCC_FLAGS("%s") "; g++ %s", BUILD_PROTOCOL, toolkit, buf_str(&code), LINK_FLAGS);
	key.settings = buf_str(&settings);
	if (source_bytes > CUDA_MAX_SOURCE_BYTES) {
		buf_addf(&reason, "the source is over %d KiB", CUDA_MAX_SOURCE_BYTES >> 10);
		refuse(result, CUDA_COMPILE_ERROR, &reason);
		status = 0;
	} else if (build_refused_include(source, source_bytes, &reason)) {
		refuse(result, CUDA_UNSUPPORTED, &reason);
		status = 0;
	} else if ((status = build_cache_find(cache, &key, result, err)) == 0) {
		status = build_cache_begin(cache, &key, &folder, err);
		if (status == 0) {
			status = compile(&key, limits, buf_str(&code), folder.path, result, err);
			if (status == 0 && result->verdict != CUDA_TIMEOUT)
				status = build_cache_publish(cache, &key, &folder, result, err);
			else
				build_cache_abandon(&folder);
		}
	}
	buf_release(&settings);
	buf_release(&reason);
	buf_release(&code);
	if (status < 0)
		cuda_build_release(result);
	return status < 0 ? -1 : 0;
}

void
cuda_build_release(struct cuda_build *build)
{
	buf_release(&build->log);
	free(build->folder);
	*build = (struct cuda_build)CUDA_BUILD_INIT;
}
