/* In: a file of probes (or PTX and cubin files of one's own in that form). Out: what a GPU's driver and the GPU
 * make of each: "result NAME STATUS BYTES" and the raw output. libcuda.so.1 is loaded when the program runs, so
 * that it builds anywhere. The hard idea: a fault spoils a process's context for good, so workers run the
 * probes, and a worker that was spoilt or hung is replaced by one that goes on behind the culprit.
 *
 * cc -O2 -o collect collect.c -ldl
 * collect [-j WORKERS] PROBES >RESULTS
 *
 * The form of PROBES, numbers in decimal, raw bytes behind each line:
 *   data ID BYTES                                                   operands that probes share
 *   probe NAME DATA_ID GRID BLOCK CLUSTER SHARED OUT_BYTES TEXT_BYTES   (blanks in NAME are written as ~) */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROBES = 1 << 16, MAX_DATA = 1 << 14, MAX_WORKERS = 64, SECONDS_EACH = 20, BLOB = 256, SPOILT = 2 };

struct data {
	const char *bytes;
	size_t count;
};
struct job {
	char name[200];
	unsigned data, grid, block, cluster, shared, out_bytes;
	const char *text;
	size_t text_bytes;
};

static struct data datas[MAX_DATA];
static struct job *jobs;
static unsigned n_jobs;

static void __attribute__((noreturn))
stop(const char *what)
{
	fprintf(stderr, "collect: %s\n", what);
	exit(1);
}

static void
read_probes(char *at, const char *end)
{
	jobs = calloc(MAX_PROBES, sizeof *jobs);
	while (at < end) {
		char *line_end = memchr(at, '\n', (size_t)(end - at));
		struct job *j = &jobs[n_jobs];
		unsigned id;
		size_t count;
		if (!line_end || n_jobs + 1 == MAX_PROBES)
			stop("the file of probes is cut off or too long");
		*line_end = 0;
		if (sscanf(at, "data %u %zu", &id, &count) == 2 && id < MAX_DATA) {
			datas[id] = (struct data){ line_end + 1, count };
		} else if (sscanf(at, "probe %199s %u %u %u %u %u %u %zu", j->name, &j->data, &j->grid, &j->block, &j->cluster,
			&j->shared, &j->out_bytes, &count) == 8 && j->data < MAX_DATA) {
			j->text = line_end + 1;
			j->text_bytes = count;
			n_jobs++;
		} else {
			stop("a line of the file of probes is neither data nor probe");
		}
		if (count > (size_t)(end - line_end - 1))
			stop("the file of probes is cut off");
		at = line_end + 1 + count;
	}
}

/* ---- the driver */

static int (*cu_init)(unsigned), (*cu_device_get)(int *, int), (*cu_context_retain)(void **, int), (*cu_context_set)(void *);
static int (*cu_module_load)(void **, const void *, unsigned, int *, void **), (*cu_module_unload)(void *);
static int (*cu_module_function)(void **, void *, const char *), (*cu_allocate)(uint64_t *, size_t), (*cu_free)(uint64_t);
static int (*cu_to_device)(uint64_t, const void *, size_t), (*cu_from_device)(void *, uint64_t, size_t);
static int (*cu_clear)(uint64_t, unsigned char, size_t), (*cu_synchronize)(void), (*cu_function_set)(void *, int, int);
static int (*cu_launch)(const void *, void *, void **, void **), (*cu_error_name)(int, const char **);

static void
load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!library)
		stop("there is no libcuda.so.1 here");
	const struct {
		const char *name;
		void *where;
	} symbols[] = { { "cuInit", &cu_init }, { "cuDeviceGet", &cu_device_get }, { "cuDevicePrimaryCtxRetain", &cu_context_retain },
		{ "cuCtxSetCurrent", &cu_context_set }, { "cuModuleLoadDataEx", &cu_module_load }, { "cuModuleUnload",
			&cu_module_unload },
		{ "cuModuleGetFunction", &cu_module_function }, { "cuMemAlloc_v2", &cu_allocate }, { "cuMemFree_v2", &cu_free },
		{ "cuMemcpyHtoD_v2", &cu_to_device }, { "cuMemcpyDtoH_v2", &cu_from_device }, { "cuMemsetD8_v2", &cu_clear },
		{ "cuCtxSynchronize", &cu_synchronize }, { "cuFuncSetAttribute", &cu_function_set },
		{ "cuLaunchKernelEx", &cu_launch }, { "cuGetErrorName", &cu_error_name } };
	for (size_t k = 0; k < sizeof symbols / sizeof *symbols; k++) {
		void *symbol = dlsym(library, symbols[k].name);
		if (!symbol)
			stop(symbols[k].name);
		memcpy(symbols[k].where, &symbol, sizeof symbol);
	}
}

/* As CUlaunchConfig and CUlaunchAttribute are laid out; the attribute 4 is the cluster's dimension. */
struct attribute {
	int id, pad;
	union {
		unsigned dim[3];
		char bytes[64];
	} value;
};
struct config {
	unsigned grid[3], block[3], shared;
	void *stream;
	struct attribute *attributes;
	unsigned n_attributes;
};

static int
launch(const struct job *j, void *function, uint64_t in, uint64_t out)
{
	unsigned char blob[BLOB];
	void *params[] = { &in, &out, blob };
	struct attribute cluster = { .id = 4, .value.dim = { j->cluster, 1, 1 } };
	struct config c = { { j->grid, 1, 1 }, { j->block, 1, 1 }, j->shared, NULL, &cluster, j->cluster > 1 };
	for (int k = 0; k < BLOB; k++)
		blob[k] = (unsigned char)(7 * k + 1);
	if (j->shared > 48 * 1024)
		cu_function_set(function, 8, (int)j->shared);
	int status = cu_launch(&c, function, params, NULL);
	return status ? status : cu_synchronize();
}

static const char *
error_name(int status)
{
	const char *name = "an error without a name";
	cu_error_name(status, &name);
	return name;
}

/* Runs one probe; the result goes to the file. False when the context is spoilt. */
static bool
run_job(const struct job *j, FILE *to, char *log, size_t log_bytes)
{
	const struct data *in = &datas[j->data];
	void *module = NULL, *function = NULL, *options[2] = { log, (void *)log_bytes };
	int names[2] = { 5, 6 };			/* error log buffer and its size */
	uint64_t in_device = 0, out_device = 0;
	char *text = calloc(j->text_bytes + 1, 1), *out = calloc(j->out_bytes + 1, 1);
	memcpy(text, j->text, j->text_bytes);
	*log = 0;
	int status = cu_module_load(&module, text, 2, names, options);
	if (status) {
		size_t length = strlen(log);
		fprintf(to, "result %s refused %zu\n%s", j->name, length, log);
		free(text);
		free(out);
		return true;
	}
	status = cu_module_function(&function, module, "probe");
	if (!status && !(status = cu_allocate(&in_device, in->count + 16)) && !(status = cu_allocate(&out_device,
		j->out_bytes + 16))) {
		cu_to_device(in_device, in->bytes, in->count);
		cu_clear(out_device, 0, j->out_bytes);
		status = launch(j, function, in_device, out_device);
	}
	if (!status)
		status = cu_from_device(out, out_device, j->out_bytes);
	fprintf(to, "result %s %s %u\n", j->name, status ? error_name(status) : "ran", status ? 0 : j->out_bytes);
	if (!status)
		fwrite(out, 1, j->out_bytes, to);
	bool spoilt = status != 0;
	if (!spoilt) {
		cu_free(in_device);
		cu_free(out_device);
		cu_module_unload(module);
	}
	free(text);
	free(out);
	return !spoilt;
}

/* ---- workers */

static void __attribute__((noreturn))
work(unsigned worker, unsigned workers, volatile unsigned *next, FILE *to)
{
	static char log[8192];
	void *context;
	int device;
	load_driver();
	if (cu_init(0) || cu_device_get(&device, 0) || cu_context_retain(&context, device) || cu_context_set(context))
		_exit(3);
	while (next[worker] < n_jobs) {
		const struct job *j = &jobs[next[worker]];
		alarm(SECONDS_EACH);
		bool fine = run_job(j, to, log, sizeof log);
		fflush(to);
		next[worker] += workers;
		if (!fine)
			_exit(SPOILT);
	}
	_exit(0);
}

static void
supervise(unsigned worker, unsigned workers, volatile unsigned *next, FILE *to)
{
	while (next[worker] < n_jobs) {
		fflush(to);
		int status;
		pid_t child = fork();
		if (child < 0)
			stop("cannot fork");
		if (!child)
			work(worker, workers, next, to);
		waitpid(child, &status, 0);
		if (WIFSIGNALED(status)) {
			fseek(to, 0, SEEK_END);
			fprintf(to, "result %s signal_%d 0\n", jobs[next[worker]].name, WTERMSIG(status));
			next[worker] += workers;
		} else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != SPOILT) {
			stop("the driver finds no GPU");
		}
	}
	fflush(to);
}

static void
copy_out(FILE *from)
{
	char block[1 << 16];
	size_t n;
	rewind(from);
	while ((n = fread(block, 1, sizeof block, from)))
		if (fwrite(block, 1, n, stdout) != n)
			stop("cannot write");
}

int
main(int argc, char **argv)
{
	unsigned workers = 8;
	if (argc > 2 && !strcmp(argv[1], "-j")) {
		workers = (unsigned)strtoul(argv[2], NULL, 10);
		argv += 2;
		argc -= 2;
	}
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (!file || !workers || workers > MAX_WORKERS)
		stop("usage: collect [-j WORKERS] PROBES >RESULTS");
	fseek(file, 0, SEEK_END);
	size_t count = (size_t)ftell(file);
	rewind(file);
	char *text = malloc(count + 1);
	if (!text || fread(text, 1, count, file) != count)
		stop("cannot read the file of probes");
	read_probes(text, text + count);
	volatile unsigned *next = mmap(NULL, MAX_WORKERS * sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FILE *to[MAX_WORKERS];
	pid_t supervisors[MAX_WORKERS];
	for (unsigned k = 0; k < workers; k++) {
		next[k] = k;
		to[k] = tmpfile();
		supervisors[k] = fork();
		if (!supervisors[k]) {
			supervise(k, workers, next, to[k]);
			_exit(0);
		}
	}
	int failed = 0, status;
	for (unsigned k = 0; k < workers; k++) {
		waitpid(supervisors[k], &status, 0);
		failed |= status != 0;
	}
	for (unsigned k = 0; k < workers; k++)
		copy_out(to[k]);
	return failed || fflush(stdout);
}
