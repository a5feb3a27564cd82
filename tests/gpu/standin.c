/* A driver without a GPU, for tests of the supervisor and the worker: memory is the host's, streams run at once, and
 * kernels are C functions found by their name. What a `standin_` kernel does is what candidates do: work, fault, hang,
 * die, keep state, write too far, make the GPU sick (a file in the folder $KM_STANDIN, so that other processes see it). */
#include <cuda.h>
#include <cudaProfiler.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tensor/generate_core.h"

enum { MULTIPROCESSORS = 4, SHARED_BYTES = 232448, MAX_STACK = 64 };

typedef void kernel_function(void **p, const CUlaunchConfig *how);
struct kernel { const char *name; kernel_function *run; int candidate; };

static CUresult sticky;
static int64_t calls;		/* the state of the module's variables */

static CUresult
state(void)
{
	return sticky;
}

/* ---- kernels */

#define ARGUMENT(type, i) (*(type *)p[i])

static void
marker(char path[512], const char *name)
{
	snprintf(path, 512, "%s/%s", getenv("KM_STANDIN") ? getenv("KM_STANDIN") : "/nonexistent", name);
}

static void
twice(void **p, float more)
{
	const float *x = ARGUMENT(const float *, 0);
	float *y = ARGUMENT(float *, 1);

	for (int64_t i = 0; i < ARGUMENT(int64_t, 2); i++)
		y[i] = 2 * x[i] + more;
}

static void empty(void **p, const CUlaunchConfig *how) { (void)p, (void)how; }
static void works(void **p, const CUlaunchConfig *how) { (void)how; twice(p, 0); }
static void wrong(void **p, const CUlaunchConfig *how) { (void)how; twice(p, 1); }
static void keeps(void **p, const CUlaunchConfig *how) { (void)how; twice(p, (float)calls++); }
static void prints(void **p, const CUlaunchConfig *how) { (void)how; twice(p, 0); puts("{\"status\":\"PASSED\"}"); }

static void
partial(void **p, const CUlaunchConfig *how)
{
	(void)how;
	ARGUMENT(int64_t, 2)--;
	twice(p, 0);
}

static void
overruns(void **p, const CUlaunchConfig *how)
{
	(void)how;
	twice(p, 0);
	ARGUMENT(float *, 1)[ARGUMENT(int64_t, 2)] = 0;
}

static void
faults(void **p, const CUlaunchConfig *how)
{
	(void)p, (void)how;
	sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void
hangs(void **p, const CUlaunchConfig *how)
{
	(void)p, (void)how;
	for (;;)
		pause();
}

static void
dies(void **p, const CUlaunchConfig *how)
{
	(void)p, (void)how;
	abort();
}

static void
sickens(void **p, const CUlaunchConfig *how)
{
	char path[512];

	marker(path, "sick");
	close(open(path, O_CREAT | O_WRONLY, 0666));
	faults(p, how);
}

static void
probe(void **p, const CUlaunchConfig *how)
{
	const uint32_t *in = ARGUMENT(const uint32_t *, 0);
	uint32_t *out = ARGUMENT(uint32_t *, 1), n = ARGUMENT(uint32_t, 2);
	char path[512];

	(void)how;
	marker(path, "sick");
	int sick = access(path, F_OK) == 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = i / 256 * 256 + 255 - i % 256;
		out[i] = (from < n ? in[from] * 2654435761u : 0) + 3 * (i % 256) + 1 + (uint32_t)sick;
	}
}

static void
count_other(void **p, const CUlaunchConfig *how)
{
	const uint8_t *bytes = ARGUMENT(const uint8_t *, 0);

	(void)how;
	for (uint64_t i = 0; i < ARGUMENT(uint64_t, 1); i++)
		*ARGUMENT(unsigned long long *, 3) += bytes[i] != (uint8_t)ARGUMENT(uint32_t, 2);
}

static void
gather(void **p, const CUlaunchConfig *how)
{
	const uint8_t *from = ARGUMENT(const uint8_t *, 0);
	const uint64_t *number = ARGUMENT(const uint64_t *, 1);
	uint64_t bytes = ARGUMENT(uint32_t, 3);

	(void)how;
	for (uint64_t i = 0; i < ARGUMENT(uint64_t, 2); i++)
		memcpy(ARGUMENT(uint8_t *, 4) + i * bytes, from + number[i] * bytes, bytes);
}

static void
generate(void **p, const CUlaunchConfig *how)
{
	uint64_t first = ARGUMENT(uint64_t, 1);

	(void)how;
	for (uint64_t i = 0; i < ARGUMENT(uint64_t, 2); i++)
		generate_core_element(&ARGUMENT(struct generate_job, 0), first + i, 0,
			ARGUMENT(unsigned char *, 4) + i * ARGUMENT(uint32_t, 3));
}

static const struct kernel kernels[] = {
	{ "km_empty", empty, 0 }, { "km_probe", probe, 0 }, { "km_count_other", count_other, 0 }, { "km_scrub", empty, 0 },
	{ "km_write", empty, 0 }, { "km_read", empty, 0 }, { "km_copy", empty, 0 }, { "km_compare", empty, 0 },
	{ "km_gather", gather, 0 }, { "km_generate", generate, 0 },
	{ "km_generate_rows", empty, 0 }, { "km_spin", empty, 0 }, { "km_rate", empty, 0 },
	{ "standin_works", works, 1 }, { "standin_wrong", wrong, 1 }, { "standin_keeps", keeps, 1 },
	{ "standin_prints", prints, 1 }, { "standin_partial", partial, 1 }, { "standin_overruns", overruns, 1 },
	{ "standin_faults", faults, 1 }, { "standin_hangs", hangs, 1 }, { "standin_dies", dies, 1 },
	{ "standin_sickens", sickens, 1 },
};

/* ---- the driver */

static void *host(CUdeviceptr p) { return (void *)(uintptr_t)p; }

CUresult cuInit(unsigned int flags) { (void)flags; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *version) { *version = 13000; return CUDA_SUCCESS; }
static int
capability(void)
{
	char path[512];
	int sm = 90;

	marker(path, "sm");
	FILE *file = fopen(path, "r");
	if (file && fscanf(file, "%d", &sm) != 1)
		sm = 0;
	if (file)
		fclose(file);
	return sm;
}

CUresult cuDeviceGetCount(int *count) { *count = getenv("KM_STANDIN_NONE") ? 0 : 2; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int i) { *device = i; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { (void)d; *c = (CUcontext)1; return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext c) { (void)c; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return state(); }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { (void)limit, (void)value; return CUDA_SUCCESS; }

CUresult
cuGetErrorName(CUresult result, const char **name)
{
	*name = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_STANDIN";
	return CUDA_SUCCESS;
}

CUresult
cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice d)
{
	(void)d;
	switch (which) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability() / 10; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability() % 10; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = MULTIPROCESSORS; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = SHARED_BYTES; break;
	default: *value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int n, CUdevice d) { (void)d; snprintf(name, (size_t)n, "Stand-in"); return CUDA_SUCCESS; }
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice d) { (void)d; *bytes = 1ull << 30; return CUDA_SUCCESS; }

CUresult
cuDeviceGetUuid(CUuuid *uuid, CUdevice d)
{
	/* A test that looks at the lock of a GPU has one that no other test uses. */
	char path[512];
	marker(path, "own-gpu");
	memset(uuid, access(path, F_OK) ? 0x5a : 0x5b, sizeof *uuid);
	uuid->bytes[15] = (char)d;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image) { (void)image; *m = (CUmodule)1; calls = 0; return state(); }
CUresult cuModuleUnload(CUmodule m) { (void)m; return state(); }

CUresult
cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	(void)m;
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (!strcmp(kernels[i].name, name)) {
			*f = (CUfunction)&kernels[i];
			return state();
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult
cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
	(void)at, (void)bytes, (void)m, (void)name;
	return CUDA_ERROR_NOT_FOUND;
}

/* The candidates of the tests all have (const float *, float *, int64_t). */
CUresult
cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
	(void)f;
	*offset = 8 * i;
	*bytes = 8;
	return i < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
	(void)a, (void)f;
	*value = 0;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { (void)f, (void)a, (void)v; return state(); }

/* ---- what a profiler sees: the names of kernels between its marks, in the file "profiled" */

static FILE *profile;

CUresult
cuProfilerStart(void)
{
	char path[512];

	marker(path, "profiled");
	profile = fopen(path, "w");
	return state();
}

CUresult
cuProfilerStop(void)
{
	if (profile)
		fclose(profile);
	profile = NULL;
	return state();
}

CUresult
cuLaunchKernelEx(const CUlaunchConfig *how, CUfunction f, void **arguments, void **extra)
{
	const struct kernel *k = (const struct kernel *)f;
	int64_t words[3];
	void *p[3] = { &words[0], &words[1], &words[2] };

	if (sticky)
		return sticky;
	if (profile)
		fprintf(profile, "%s\n", k->name);
	if (k->candidate) {
		memcpy(words, extra[1], sizeof words);
		arguments = p;
	}
	k->run(arguments, how);
	return CUDA_SUCCESS;
}

CUresult
cuLaunchKernel(CUfunction f, unsigned int x, unsigned int y, unsigned int z, unsigned int bx, unsigned int by, unsigned int bz,
	unsigned int shared_bytes, CUstream stream, void **arguments, void **extra)
{
	CUlaunchConfig how = { x, y, z, bx, by, bz, shared_bytes, stream, NULL, 0 };

	return cuLaunchKernelEx(&how, f, arguments, extra);
}

CUresult
cuMemAlloc(CUdeviceptr *p, size_t bytes)
{
	void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*p = (CUdeviceptr)(uintptr_t)got;
	return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : state();
}

CUresult cuMemFree(CUdeviceptr p) { (void)p; return state(); }
CUresult cuMemGetInfo(size_t *left, size_t *all) { *left = *all = 1ull << 30; return state(); }
CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned int flags) { (void)flags; *p = calloc(1, bytes); return state(); }
CUresult cuMemFreeHost(void *p) { free(p); return CUDA_SUCCESS; }

CUresult
cuMemAddressReserve(CUdeviceptr *p, size_t bytes, size_t alignment, CUdeviceptr hint, unsigned long long flags)
{
	(void)alignment, (void)flags;
	void *got = mmap(getenv("KM_STANDIN_ELSEWHERE") ? (void *)0x280000000000ull : host(hint), bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*p = (CUdeviceptr)(uintptr_t)got;
	return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr p, size_t bytes) { munmap(host(p), bytes); return CUDA_SUCCESS; }

CUresult
cuMemCreate(CUmemGenericAllocationHandle *h, size_t bytes, const CUmemAllocationProp *property, unsigned long long flags)
{
	(void)property, (void)flags;
	int fd = memfd_create("standin", MFD_CLOEXEC);

	if (fd < 0 || bytes > 1ull << 30 || ftruncate(fd, (off_t)bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*h = (CUmemGenericAllocationHandle)fd;
	return state();
}

CUresult cuMemRelease(CUmemGenericAllocationHandle h) { close((int)h); return state(); }

CUresult
cuMemMap(CUdeviceptr p, size_t bytes, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
{
	(void)flags;
	return mmap(host(p), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, (int)h, (off_t)offset) == MAP_FAILED
		? CUDA_ERROR_INVALID_VALUE : state();
}

CUresult
cuMemUnmap(CUdeviceptr p, size_t bytes)
{
	return mmap(host(p), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED
		? CUDA_ERROR_INVALID_VALUE : state();
}

CUresult
cuMemSetAccess(CUdeviceptr p, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
	(void)count;
	mprotect(host(p), bytes, access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : PROT_READ | PROT_WRITE);
	return state();
}

CUresult
cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *p, CUmemAllocationGranularity_flags flags)
{
	(void)p, (void)flags;
	*bytes = 2 << 20;
	return CUDA_SUCCESS;
}

static CUresult
fill(CUdeviceptr to, size_t pitch, const void *value, size_t size, size_t n, size_t rows)
{
	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < n; i++)
			memcpy((char *)host(to) + r * pitch + i * size, value, size);
	return state();
}

CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s) { (void)s; return fill(p, 0, &v, 1, n, 1); }
CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream s) { (void)s; return fill(p, 0, &v, 2, n, 1); }
CUresult cuMemsetD32Async(CUdeviceptr p, unsigned int v, size_t n, CUstream s) { (void)s; return fill(p, 0, &v, 4, n, 1); }

CUresult
cuMemsetD2D8Async(CUdeviceptr p, size_t pitch, unsigned char v, size_t n, size_t rows, CUstream s)
{
	(void)s;
	return fill(p, pitch, &v, 1, n, rows);
}

CUresult
cuMemsetD2D16Async(CUdeviceptr p, size_t pitch, unsigned short v, size_t n, size_t rows, CUstream s)
{
	(void)s;
	return fill(p, pitch, &v, 2, n, rows);
}

CUresult
cuMemsetD2D32Async(CUdeviceptr p, size_t pitch, unsigned int v, size_t n, size_t rows, CUstream s)
{
	(void)s;
	return fill(p, pitch, &v, 4, n, rows);
}

static CUresult copy(void *to, const void *from, size_t n) { if (!sticky) memmove(to, from, n); return state(); }

CUresult
cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
	(void)s;
	return copy(host(to), host(from), n);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t n, CUstream s) { (void)s; return copy(host(to), from, n); }
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t n, CUstream s) { (void)s; return copy(to, host(from), n); }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n) { return copy(to, host(from), n); }

CUresult
cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream s)
{
	(void)s;
	for (size_t r = 0; r < c->Height; r++)
		copy((char *)host(c->dstDevice) + r * c->dstPitch, (char *)host(c->srcDevice) + r * c->srcPitch, c->WidthInBytes);
	return state();
}

static intptr_t streams = 1;
CUresult cuStreamCreate(CUstream *s, unsigned int flags) { (void)flags; *s = (CUstream)++streams; return state(); }
CUresult cuStreamDestroy(CUstream s) { (void)s; return state(); }
CUresult cuStreamSynchronize(CUstream s) { (void)s; return state(); }
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned int flags) { (void)s, (void)e, (void)flags; return state(); }
CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) { (void)s, (void)mode; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) { (void)s, (void)g; return CUDA_ERROR_NOT_SUPPORTED; }

CUresult
cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags)
{
	(void)e, (void)g, (void)flags;
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphUpload(CUgraphExec e, CUstream s) { (void)e, (void)s; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphLaunch(CUgraphExec e, CUstream s) { (void)e, (void)s; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuGraphExecDestroy(CUgraphExec e) { (void)e; return CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph g) { (void)g; return CUDA_SUCCESS; }

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

CUresult cuEventCreate(CUevent *e, unsigned int flags) { (void)flags; *e = calloc(1, sizeof(double)); return state(); }
CUresult cuEventDestroy(CUevent e) { free(e); return state(); }
CUresult cuEventRecord(CUevent e, CUstream s) { (void)s; *(double *)e = now_ms(); return state(); }
CUresult cuEventQuery(CUevent e) { (void)e; return state(); }
CUresult cuEventSynchronize(CUevent e) { (void)e; return state(); }

CUresult
cuEventElapsedTime(float *ms, CUevent a, CUevent b)
{
	*ms = (float)(*(double *)b - *(double *)a);
	return state();
}
