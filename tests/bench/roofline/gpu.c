/* roofline_gpu FOLDER [once]: times the launches of launches.c on the first GPU. In:
 * FOLDER/{memory,rows,compute,tiles}.cubin. Out: JSON lines, first one about the GPU, then one for each launch with the
 * median of its samples. Before each sample the buffers are restored and 512 MiB are written and read, so that the L2
 * cache holds nothing of them and nothing that still has to be written back; with `once` each runs a single time, for a
 * profiler: tests/data/roofline/h200-ncu.jsonl keeps what Nsight Compute counted so, to hold the PTX machine's counts
 * against. The driver is loaded at run time: this builds where no GPU is. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/die.h"
#include "roofline/launches.h"

enum { WARM_UP = 3, SAMPLES = 30 };
#define FLUSH_BYTES ((size_t)512 << 20)

typedef uint64_t device_pointer;
/* The driver's functions that are used, with the types of cuda.h in plain C. */
#define DRIVER(F) \
	F(cuInit, (unsigned)) \
	F(cuGetErrorString, (int, const char **)) \
	F(cuDriverGetVersion, (int *)) \
	F(cuDeviceGet, (int *, int)) \
	F(cuDeviceGetName, (char *, int, int)) \
	F(cuDevicePrimaryCtxRetain, (void **, int)) \
	F(cuCtxSetCurrent, (void *)) \
	F(cuCtxSynchronize, (void)) \
	F(cuModuleLoadData, (void **, const void *)) \
	F(cuModuleGetFunction, (void **, void *, const char *)) \
	F(cuFuncGetAttribute, (int *, int, void *)) \
	F(cuFuncSetAttribute, (void *, int, int)) \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, void *, int, size_t)) \
	F(cuMemAlloc_v2, (device_pointer *, size_t)) \
	F(cuMemFree_v2, (device_pointer)) \
	F(cuMemcpyHtoD_v2, (device_pointer, const void *, size_t)) \
	F(cuMemcpyDtoDAsync_v2, (device_pointer, device_pointer, size_t, void *)) \
	F(cuMemsetD32Async, (device_pointer, unsigned, size_t, void *)) \
	F(cuEventCreate, (void **, unsigned)) \
	F(cuEventRecord, (void *, void *)) \
	F(cuEventSynchronize, (void *)) \
	F(cuEventElapsedTime_v2, (float *, void *, void *)) \
	F(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))
#define POINTER(name, arguments) static int (*name) arguments;
DRIVER(POINTER)

static void *modules[N_MODULES], *flush_kernel, *start, *stop;
static device_pointer flush_memory, flush_result;
static bool once;

static void
check(int result, const char *what)
{
	const char *text = "unknown error";
	if (!result)
		return;
	cuGetErrorString(result, &text);
	die(EX_UNAVAILABLE, "%s: %s", what, text);
}

static void *
symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found && !strcmp(name, "cuEventElapsedTime_v2"))
		found = dlsym(library, "cuEventElapsedTime");
	if (!found)
		die(EX_UNAVAILABLE, "the driver lacks %s", name);
	return found;
}

static void
load_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	int device;
	if (!library)
		die(EX_UNAVAILABLE, "no GPU driver: %s", dlerror());
#define LOAD(name, arguments) *(void **)&name = symbol(library, #name);
	DRIVER(LOAD)
	check(cuInit(0), "cuInit");
	check(cuDeviceGet(&device, 0), "cuDeviceGet");
	check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

static void
load_modules(const char *folder)
{
	for (int k = 0; k < N_MODULES; k++) {
		struct buf path = BUF_INIT, image = BUF_INIT, err = BUF_INIT;
		buf_addf(&path, "%s/%s.cubin", folder, roofline_modules[k]);
		if (buf_read_file(&image, buf_str(&path), 64 << 20, &err))
			die(EX_NOINPUT, "%s", buf_str(&err));
		check(cuModuleLoadData(&modules[k], image.data), buf_str(&path));
		buf_release(&path);
		buf_release(&image);
	}
}

static void *
find_kernel(const char *name)
{
	void *found = NULL;
	for (int k = 0; k < N_MODULES && !found; k++)
		if (cuModuleGetFunction(&found, modules[k], name))
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
	check(cuMemsetD32Async(flush_memory, 0x3f800000, FLUSH_BYTES / 4, NULL), "cuMemsetD32Async");
	check(cuLaunchKernel(flush_kernel, 1056, 1, 1, 256, 1, 1, 0, NULL, params, NULL), "flush");
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct prepared {
	void *function, *parameters[MAX_ARGUMENTS];
	struct roofline_argument arguments[MAX_ARGUMENTS];
	device_pointer used[MAX_ARGUMENTS], kept[MAX_ARGUMENTS];
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
		check(cuMemAlloc_v2(&p->used[k], bytes), "cuMemAlloc");
		check(cuMemAlloc_v2(&p->kept[k], bytes), "cuMemAlloc");
		check(cuMemcpyHtoD_v2(p->kept[k], memory, bytes), "cuMemcpyHtoD");
		munmap(memory, bytes);
	}
	roofline_parameters(p->arguments, p->n, p->used, p->block, offsets);
	for (int k = 0; k < p->n; k++)
		p->parameters[k] = p->block + offsets[k];
	if (l->dynamic_shared > 48 * 1024)
		check(cuFuncSetAttribute(p->function, 8, (int)l->dynamic_shared), "cuFuncSetAttribute");
}

static double
sample_us(const struct roofline_launch *l, const struct prepared *p)
{
	float ms;
	for (int k = 0; k < p->n; k++)
		if (p->arguments[k].bytes)
			check(cuMemcpyDtoDAsync_v2(p->used[k], p->kept[k], p->arguments[k].bytes, NULL), "cuMemcpyDtoDAsync");
	if (!once)
		flush();
	check(cuEventRecord(start, NULL), "cuEventRecord");
	check(cuLaunchKernel(p->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
		l->dynamic_shared, NULL, (void **)p->parameters, NULL), l->kernel);
	check(cuEventRecord(stop, NULL), "cuEventRecord");
	check(cuEventSynchronize(stop), l->kernel);
	check(cuEventElapsedTime_v2(&ms, start, stop), "cuEventElapsedTime");
	return ms * 1e3;
}

static int
attribute(void *function, int which)
{
	int value;
	check(cuFuncGetAttribute(&value, which, function), "cuFuncGetAttribute");
	return value;
}

static void
time_launch(const struct roofline_launch *l)
{
	struct prepared p;
	double us[SAMPLES];
	int blocks;
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
	check(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, p.function,
		(int)(l->block[0] * l->block[1] * l->block[2]), l->dynamic_shared), "occupancy");
	printf("{\"kernel\": \"%s\", \"size\": \"%s\", \"median_us\": %.3f, \"quartiles_us\": [%.3f, %.3f], \"samples\": %d, "
		"\"registers\": %d, \"local_bytes\": %d, \"blocks_per_sm\": %d}\n", l->kernel, l->size,
		(us[SAMPLES / 2 - 1] + us[SAMPLES / 2]) / 2, us[SAMPLES / 4], us[SAMPLES * 3 / 4], SAMPLES,
		attribute(p.function, 4), attribute(p.function, 3), blocks);
	fflush(stdout);
	for (int k = 0; k < p.n; k++)
		if (p.arguments[k].bytes) {
			check(cuMemFree_v2(p.used[k]), "cuMemFree");
			check(cuMemFree_v2(p.kept[k]), "cuMemFree");
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
	load_driver();
	load_modules(argv[1]);
	check(cuDeviceGetName(name, sizeof name, 0), "cuDeviceGetName");
	check(cuDriverGetVersion(&version), "cuDriverGetVersion");
	printf("{\"gpu\": \"%s\", \"driver_version\": %d, \"warm_up\": %d, \"samples\": %d, \"flush_bytes\": %zu}\n", name, version,
		once ? 0 : WARM_UP, once ? 1 : SAMPLES, once ? 0 : FLUSH_BYTES);
	flush_kernel = find_kernel("read_all");
	check(cuMemAlloc_v2(&flush_memory, FLUSH_BYTES), "cuMemAlloc");
	check(cuMemAlloc_v2(&flush_result, 4), "cuMemAlloc");
	check(cuEventCreate(&start, 0), "cuEventCreate");
	check(cuEventCreate(&stop, 0), "cuEventCreate");
	for (size_t k = 0; k < roofline_n_launches; k++)
		time_launch(&roofline_launches[k]);
	return 0;
}
