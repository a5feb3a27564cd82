/* A library name in, a filled table of entry points out. Nothing is linked against libcuda, so that a program of
 * ours starts on any machine and says in one line what is missing where a GPU was asked for. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>

struct driver driver;

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static int
find_entries(void *library, struct buf *err)
{
	static const struct { const char *name; size_t offset; } entries[] = {
#define ENTRY(name) { TEXT(name), __builtin_offsetof(struct driver, name##_) },
		DRIVER_ENTRIES(ENTRY)
#undef ENTRY
	};

	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		void *entry = dlsym(library, entries[i].name);

		if (!entry)
			return buf_err(err, "the CUDA driver has no %s: a driver for CUDA 13.0 or later is needed", entries[i].name);
		*(void **)((char *)&driver + entries[i].offset) = entry;
	}
	return 0;
}

int
driver_open(struct buf *err)
{
	const char *name = getenv("KM_LIBCUDA");
	void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int version = 0, count = 0;

	if (!library)
		return buf_err(err, "no CUDA driver here (%s)", dlerror());
	if (find_entries(library, err))
		return -1;
	CUresult result = CALL(cuInit, 0);
	if (result == CUDA_SUCCESS)
		result = CALL(cuDriverGetVersion, &version);
	if (result == CUDA_SUCCESS)
		result = CALL(cuDeviceGetCount, &count);
	if (result != CUDA_SUCCESS)
		return buf_err(err, "the CUDA driver does not start: %s", driver_error(result));
	if (version < 13000)
		return buf_err(err, "the CUDA driver is of version %d.%d, and device code of CUDA 13.0 needs 13.0", version / 1000,
			version % 1000 / 10);
	return count ? 0 : buf_err(err, "the CUDA driver finds no GPU");
}

const char *
driver_error(CUresult result)
{
	const char *name = NULL;

	if (driver.cuGetErrorName_ && CALL(cuGetErrorName, result, &name) == CUDA_SUCCESS && name)
		return name;
	return "an error without a name";
}
