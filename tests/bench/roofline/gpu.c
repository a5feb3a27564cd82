/* roofline_gpu FOLDER [once]: times the launches of launches.c on the first GPU. In:
 * FOLDER/{memory,rows,compute,tiles}.cubin. Out: JSON lines, first one about the GPU, then one for each launch with the
 * median of its samples. Before each sample the buffers are restored and 512 MiB are written and read, so that the L2
 * cache holds nothing of them and nothing that still has to be written back; with `once` each runs a single time, for a
 * profiler: tests/data/roofline/h200-ncu.jsonl keeps what Nsight Compute counted so, to hold the PTX machine's counts
 * against. The driver is loaded at run time
 * (cuda/driver.h). */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/die.h"
#include "cuda/driver.h"
#include "roofline/launches.h"

enum { WARM_UP = 3, SAMPLES = 30 };
#define FLUSH_BYTES ((size_t)512 << 20)

static CUmodule modules[N_MODULES];
static CUfunction flush_kernel;
static CUevent start, stop;
static CUdeviceptr flush_memory, flush_result;
static bool once;

static void
check(CUresult result, const char *what)
{
	if (result)
		die(EX_UNAVAILABLE, "%s: %s", what, driver_error(result));
}

static CUdevice
open_gpu(void)
{
	struct buf err = BUF_INIT;
	CUcontext context;
	CUdevice device;
	if (driver_open(&err))
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	check(CALL(cuDeviceGet, &device, 0), "cuDeviceGet");
	check(CALL(cuDevicePrimaryCtxRetain, &context, device), "cuDevicePrimaryCtxRetain");
	check(CALL(cuCtxSetCurrent, context), "cuCtxSetCurrent");
	return device;
}

static void
load_modules(const char *folder)
{
	for (int k = 0; k < N_MODULES; k++) {
		struct buf path = BUF_INIT, image = BUF_INIT, err = BUF_INIT;
		buf_addf(&path, "%s/%s.cubin", folder, roofline_modules[k]);
		if (buf_read_file(&image, buf_str(&path), 64 << 20, &err))
			die(EX_NOINPUT, "%s", buf_str(&err));
		check(CALL(cuModuleLoadData, &modules[k], image.data), buf_str(&path));
		buf_release(&path);
		buf_release(&image);
	}
}

static CUfunction
find_kernel(const char *name)
{
	CUfunction found = NULL;
	for (int k = 0; k < N_MODULES && !found; k++)
		if (CALL(cuModuleGetFunction, &found, modules[k], name))
			found = NULL;
	if (!found)
		die(EX_DATAERR, "no module has a kernel named %s", name);
	return found;
}

/* Writes and reads what is larger than any L2 cache. */
static void
flush(void)
{
	int n = (int)(FLUSH_BYTES / 16);
	void *params[] = { &flush_memory, &flush_result, &n };
	check(CALL(cuMemsetD32Async, flush_memory, 0x3f800000, FLUSH_BYTES / 4, NULL), "cuMemsetD32Async");
	const CUlaunchConfig how = { .gridDimX = 1056, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256, .blockDimY = 1,
		.blockDimZ = 1 };
	check(CALL(cuLaunchKernelEx, &how, flush_kernel, params, NULL), "flush");
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct prepared {
	CUfunction function;
	void *parameters[MAX_ARGUMENTS];
	struct roofline_argument arguments[MAX_ARGUMENTS];
	CUdeviceptr used[MAX_ARGUMENTS], kept[MAX_ARGUMENTS];
	uint8_t block[256];
	int n;
};

static void
prepare(const struct roofline_launch *l, struct prepared *p)
{
	size_t offsets[MAX_ARGUMENTS];
	*p = (struct prepared){ .function = find_kernel(l->kernel) };
	p->n = roofline_arguments(l, p->arguments);
	if (p->n < 0)
		die(EX_SOFTWARE, "the arguments of %s are wrong", l->kernel);
	for (int k = 0; k < p->n; k++) {
		size_t bytes = p->arguments[k].bytes;
		if (!bytes)
			continue;
		void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			die(EX_UNAVAILABLE, "cannot map %zu bytes:", bytes);
		roofline_fill(&p->arguments[k], k, memory);
		check(CALL(cuMemAlloc, &p->used[k], bytes), "cuMemAlloc");
		check(CALL(cuMemAlloc, &p->kept[k], bytes), "cuMemAlloc");
		check(CALL(cuMemcpyHtoDAsync, p->kept[k], memory, bytes, NULL), "cuMemcpyHtoDAsync");
		check(CALL(cuCtxSynchronize), "cuCtxSynchronize");
		munmap(memory, bytes);
	}
	uint64_t addresses[MAX_ARGUMENTS];
	for (int k = 0; k < p->n; k++)
		addresses[k] = p->used[k];
	roofline_parameters(p->arguments, p->n, addresses, p->block, offsets);
	for (int k = 0; k < p->n; k++)
		p->parameters[k] = p->block + offsets[k];
	if (l->dynamic_shared > 48 * 1024)
		check(CALL(cuFuncSetAttribute, p->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)l->dynamic_shared),
			"cuFuncSetAttribute");
}

static double
sample_us(const struct roofline_launch *l, const struct prepared *p)
{
	const CUlaunchConfig how = { .gridDimX = l->grid[0], .gridDimY = l->grid[1], .gridDimZ = l->grid[2], .blockDimX = l->block[0],
		.blockDimY = l->block[1], .blockDimZ = l->block[2], .sharedMemBytes = l->dynamic_shared };
	float ms;
	for (int k = 0; k < p->n; k++)
		if (p->arguments[k].bytes)
			check(CALL(cuMemcpyDtoDAsync, p->used[k], p->kept[k], p->arguments[k].bytes, NULL), "cuMemcpyDtoDAsync");
	if (!once)
		flush();
	check(CALL(cuEventRecord, start, NULL), "cuEventRecord");
	check(CALL(cuLaunchKernelEx, &how, p->function, (void **)p->parameters, NULL), l->kernel);
	check(CALL(cuEventRecord, stop, NULL), "cuEventRecord");
	check(CALL(cuEventSynchronize, stop), l->kernel);
	check(CALL(cuEventElapsedTime, &ms, start, stop), "cuEventElapsedTime");
	return ms * 1e3;
}

static int
attribute(CUfunction function, CUfunction_attribute which)
{
	int value;
	check(CALL(cuFuncGetAttribute, &value, which, function), "cuFuncGetAttribute");
	return value;
}

static void
time_launch(const struct roofline_launch *l)
{
	struct prepared p;
	double us[SAMPLES];
	prepare(l, &p);
	for (int k = once ? SAMPLES - 1 : -WARM_UP; k < SAMPLES; k++) {
		double sample = sample_us(l, &p);
		if (k >= 0)
			us[k] = sample;
	}
	if (once)
		for (int k = 0; k < SAMPLES - 1; k++)
			us[k] = us[SAMPLES - 1];
	qsort(us, SAMPLES, sizeof *us, by_value);
	printf("{\"kernel\": \"%s\", \"size\": \"%s\", \"median_us\": %.3f, \"quartiles_us\": [%.3f, %.3f], \"samples\": %d, "
		"\"registers\": %d, \"local_bytes\": %d}\n", l->kernel, l->size,
		(us[SAMPLES / 2 - 1] + us[SAMPLES / 2]) / 2, us[SAMPLES / 4], us[SAMPLES * 3 / 4], SAMPLES,
		attribute(p.function, CU_FUNC_ATTRIBUTE_NUM_REGS), attribute(p.function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
	fflush(stdout);
	for (int k = 0; k < p.n; k++)
		if (p.arguments[k].bytes) {
			check(CALL(cuMemFree, p.used[k]), "cuMemFree");
			check(CALL(cuMemFree, p.kept[k]), "cuMemFree");
		}
}

int
main(int argc, char **argv)
{
	char name[256];
	int version;
	die_program = "roofline_gpu";
	if (argc < 2)
		die(EX_USAGE, "give the folder of the cubins");
	once = argc > 2;
	CUdevice device = open_gpu();
	load_modules(argv[1]);
	check(CALL(cuDeviceGetName, name, sizeof name, device), "cuDeviceGetName");
	check(CALL(cuDriverGetVersion, &version), "cuDriverGetVersion");
	printf("{\"gpu\": \"%s\", \"driver_version\": %d, \"warm_up\": %d, \"samples\": %d, \"flush_bytes\": %zu}\n", name, version,
		once ? 0 : WARM_UP, once ? 1 : SAMPLES, once ? 0 : FLUSH_BYTES);
	flush_kernel = find_kernel("read_all");
	check(CALL(cuMemAlloc, &flush_memory, FLUSH_BYTES), "cuMemAlloc");
	check(CALL(cuMemAlloc, &flush_result, 4), "cuMemAlloc");
	check(CALL(cuEventCreate, &start, 0), "cuEventCreate");
	check(CALL(cuEventCreate, &stop, 0), "cuEventCreate");
	for (size_t k = 0; k < roofline_n_launches; k++)
		time_launch(&roofline_launches[k]);
	return 0;
}
