/* A device number in, a context that waits for its candidate out: own kernels loaded, the arena reserved, standard
 * output turned into a file of ours. All that takes time happens here, before the candidate is known. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/die.h"
#include "base/spawn.h"
#include "cuda/gpu.h"
#include "rec/json.h"

enum { PROBE_WORDS = 1000, FIGURES_BYTES = 1 << 20 };

void
gpu_must(CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS)
		die(EX_UNAVAILABLE, "%s: %s", what, driver_error(result));
}

static void
text_of_uuid(const CUuuid *uuid, char out[40])
{
	const unsigned char *b = (const unsigned char *)uuid->bytes;
	struct buf text = BUF_INIT;

	for (int i = 0; i < 16; i++)
		buf_addf(&text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	memcpy(out, text.data, 37);
	buf_release(&text);
}

static int
attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	gpu_must(CALL(cuDeviceGetAttribute, &value, which, device), "asking the device for an attribute");
	return value;
}

static json_t *
describe(int number)
{
	CUdevice device;
	CUuuid uuid;
	char name[256] = "", id[40];
	size_t memory = 0;
	int version = 0;

	gpu_must(CALL(cuDeviceGet, &device, number), "finding the device");
	gpu_must(CALL(cuDeviceGetName, name, sizeof name, device), "asking the device for its name");
	gpu_must(CALL(cuDeviceGetUuid, &uuid, device), "asking the device for its UUID");
	gpu_must(CALL(cuDeviceTotalMem, &memory, device), "asking the device for its memory");
	gpu_must(CALL(cuDriverGetVersion, &version), "asking the driver for its version");
	text_of_uuid(&uuid, id);
	return json_pack("{s:i, s:s, s:s, s:i, s:I, s:i, s:i, s:i, s:i, s:b}", "number", number, "name", name, "uuid", id,
		"sm", 10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
			+ attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
		"memory_bytes", (json_int_t)memory, "driver_version", version,
		"multiprocessors", attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
		"clock_khz", attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
		"memory_clock_khz", attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
		/* Then device code can read and write this process's own memory. */
		"sees_host_memory", attribute(device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS));
}

void
gpu_list(void)
{
	json_t *list = json_array();
	struct buf text = BUF_INIT;
	int count = 0;

	gpu_must(CALL(cuDeviceGetCount, &count), "counting the devices");
	for (int i = 0; i < count; i++)
		json_array_append_new(list, describe(i));
	rec_json_dump(list, &text);
	puts(buf_str(&text));
	buf_release(&text);
	json_decref(list);
}

/* ---- own kernels */

static void
load_own_kernels(struct gpu *g)
{
	static const char *const names[OWN_COUNT] = { "km_empty", "km_probe", "km_count_other", "km_scrub", "km_write",
		"km_read", "km_copy", "km_compare", "km_gather", "km_spin", "km_rate", "km_generate", "km_generate_rows" };
	char *path = spawn_libexec("gpu_kernels.fatbin");
	struct buf image = BUF_INIT, err = BUF_INIT;

	if (buf_read_file(&image, path, 16 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	gpu_must(CALL(cuModuleLoadData, &g->own_module, image.data), "loading the worker's own kernels");
	for (int i = 0; i < OWN_COUNT; i++)
		gpu_must(CALL(cuModuleGetFunction, &g->own[i], g->own_module, names[i]), names[i]);
	gpu_must(CALL(cuFuncSetAttribute, g->own[OWN_SCRUB], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
		g->shared_bytes), "allowing all of shared memory");
	buf_release(&image);
	free(path);
}

CUresult
gpu_own_launch(struct gpu *g, enum gpu_own kernel, uint32_t blocks, uint32_t shared_bytes, CUstream stream,
	void **arguments)
{
	CUlaunchConfig how = { .gridDimX = blocks, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256, .blockDimY = 1,
		.blockDimZ = 1, .sharedMemBytes = shared_bytes, .hStream = stream };

	return CALL(cuLaunchKernelEx, &how, g->own[kernel], arguments, NULL);
}

bool
gpu_probe(struct gpu *g)
{
	static uint32_t in[PROBE_WORDS], out[PROBE_WORDS];
	uint32_t n = PROBE_WORDS;
	CUdeviceptr x = g->figures, y = g->figures + sizeof in;
	void *arguments[] = { &x, &y, &n };

	for (uint32_t i = 0; i < n; i++)
		in[i] = i * 7 + 3;
	if (CALL(cuMemcpyHtoDAsync, x, in, sizeof in, g->stream[PLAN_GIVEN_STREAM]) != CUDA_SUCCESS ||
	    CALL(cuMemsetD8Async, y, 0xff, sizeof out, g->stream[PLAN_GIVEN_STREAM]) != CUDA_SUCCESS ||
	    gpu_own_launch(g, OWN_PROBE, (n + 255) / 256, 0, g->stream[PLAN_GIVEN_STREAM], arguments) != CUDA_SUCCESS ||
	    CALL(cuCtxSynchronize) != CUDA_SUCCESS || CALL(cuMemcpyDtoH, out, y, sizeof out) != CUDA_SUCCESS)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = i / 256 * 256 + 255 - i % 256;

		if (out[i] != (from < n ? in[from] * 2654435761u : 0) + 3 * (i % 256) + 1)
			return false;
	}
	return true;
}

/* ---- start */

/* Device printf ends on standard output, so that is a file that only this process reads. */
static void
capture_output(struct gpu *g)
{
	g->printed = memfd_create("printed", MFD_CLOEXEC);
	if (g->printed < 0 || dup2(g->printed, STDOUT_FILENO) < 0)
		die(EX_OSERR, "cannot capture standard output:");
}

static void
reserve_arena(struct gpu *g)
{
	CUdeviceptr got = 0;

	gpu_must(CALL(cuMemAddressReserve, &got, CUDA_REGION_BYTES, 0, CUDA_ARENA, 0), "reserving the arena");
	g->base = got;
}

void
gpu_start(struct gpu *g, int device_number, int socket)
{
	g->socket = socket;
	g->device_number = device_number;
	capture_output(g);
	gpu_must(CALL(cuDeviceGet, &g->device, device_number), "finding the device");
	gpu_must(CALL(cuDevicePrimaryCtxRetain, &g->context, g->device), "making a context");
	gpu_must(CALL(cuCtxSetCurrent, g->context), "entering the context");
	CALL(cuCtxSetLimit, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);	/* a GPU without this limit has no such cache */
	g->multiprocessors = attribute(g->device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	g->shared_bytes = attribute(g->device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	g->l2_bytes = attribute(g->device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
	g->clock_khz = attribute(g->device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
	reserve_arena(g);
	gpu_must(CALL(cuStreamCreate, &g->stream[PLAN_GIVEN_STREAM], CU_STREAM_NON_BLOCKING), "making a stream");
	gpu_must(CALL(cuEventCreate, &g->edge, CU_EVENT_DISABLE_TIMING), "making an event");
	gpu_must(CALL(cuMemAlloc, &g->figures, FIGURES_BYTES), "allocating a page");
	load_own_kernels(g);
}
