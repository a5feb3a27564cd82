/* Memory: who has which addresses, and what takes and gives them back.
 *
 * In: the program's calls. Out: work for the back end on addresses that were checked, or the error that the runtime gives.
 * Three kinds of addresses: those that only kernels may touch, those that host and kernels share (managed and pinned
 * memory, only where work is executed), and the host's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/cuda.h"
#include "cuda/runtime/front.h"

enum { PITCH = 512, MAX_RANGES = 1 << 18 };

struct range {
	uint64_t address, bytes;
	const char *name;		/* NULL: allocated by the program */
	enum back_memory kind;
	bool live, writable;
};

static struct range *ranges;	/* by address */
static uint32_t range_count;
static uint64_t live_bytes, watched;	/* watched: memory below that address */
static bool gave_watched_back;

/* ---- ranges */
/* How many ranges start at or below the address. */
static uint32_t
ranges_up_to(uint64_t address)
{
	uint32_t low = 0, high = range_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* In a mapping of its own, away from a heap that a program may trample. */
static int
add_range(const struct range *r)
{
	uint32_t at = ranges_up_to(r->address);

	if (!ranges) {
		void *room = mmap(NULL, MAX_RANGES * sizeof *ranges, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (room == MAP_FAILED)
			return -1;
		ranges = room;
	}
	if (range_count == MAX_RANGES)
		return -1;
	memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
	ranges[at] = *r;
	range_count++;
	return 0;
}

static void
remove_range(const struct range *r)
{
	uint32_t at = (uint32_t)(r - ranges);

	memmove(ranges + at, ranges + at + 1, (range_count - at - 1) * sizeof *ranges);
	range_count--;
}

void
runtime_add_memory(const char *name, uint64_t address, uint64_t bytes, enum back_memory kind, bool writable)
{
	if (add_range(&(struct range){ address, bytes, name, kind, true, writable }) < 0)
		refuse(UNSUPPORTED, "there are more than %d buffers and variables", MAX_RANGES);
}

void
runtime_watch(uint64_t address)
{
	watched = address;
	gave_watched_back = false;
}

/* Variables lie above all that is allocated. */
bool
runtime_rewind(uint64_t address, int first_stream, int first_event)
{
	uint32_t first = ranges_up_to(address - 1), last = first;

	for (; last < range_count && !ranges[last].name; last++)
		if (ranges[last].live)
			return false;
	if (gave_watched_back || handles_live(first_stream, first_event))
		return false;
	memmove(ranges + first, ranges + last, (range_count - last) * sizeof *ranges);
	range_count -= last - first;
	handles_rewind(first_stream, first_event);
	return true;
}

bool
runtime_memory_is_short(void)
{
	return live_bytes > back_memory_bytes() / 2;
}

/* The live range that holds bytes at the pointer, or NULL. */
static struct range *
find_range(const void *pointer, uint64_t bytes)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;
	uint32_t i = ranges_up_to(address);
	struct range *r = i ? &ranges[i - 1] : NULL;

	return r && r->live && address - r->address <= r->bytes && bytes <= r->bytes - (address - r->address) ? r : NULL;
}

const char *
runtime_describe(const void *pointer)
{
	static char words[160];
	uint64_t address = (uint64_t)(uintptr_t)pointer;
	uint32_t i = ranges_up_to(address);
	const struct range *r = i ? &ranges[i - 1] : NULL;

	if (r && address - r->address < r->bytes + CUDA_GRANULE)
		snprintf(words, sizeof words, "%.100s + %llu bytes", r->name ? r->name : back_executes ? "an allocation" : "scratch",
			(unsigned long long)(address - r->address));
	else
		snprintf(words, sizeof words, "no buffer");
	return words;
}

enum place
place_of(const void *pointer)
{
	const struct range *r;

	if (back_is_device(pointer)) {
		r = find_range(pointer, 0);
		return r && r->kind != MEMORY_DEVICE ? SHARED : DEVICE;
	}
	return back_executes && (r = find_range(pointer, 0)) && r->kind != MEMORY_DEVICE ? SHARED : HOST;
}

bool
inside_buffer(const void *pointer, uint64_t bytes)
{
	return find_range(pointer, bytes) != NULL;
}

bool
check_writable(const char *call, const void *pointer, uint64_t bytes)
{
	const struct range *r = place_of(pointer) != HOST ? find_range(pointer, bytes) : NULL;

	if (!r) {
		fail_because(cudaErrorInvalidValue, "%s failed: %llu bytes at %s are not inside one buffer", call,
			(unsigned long long)bytes, back_is_device(pointer) ? runtime_describe(pointer) : "a host address");
		return false;
	}
	if (!r->writable)
		refuse(RUNTIME_ERROR, "%s writes to the input %s", call, r->name);
	return true;
}

/* ---- taking and giving back */
static cudaError_t
allocate(void **pointer, uint64_t bytes, int stream, enum back_memory kind)
{
	struct range r = { .bytes = bytes, .kind = kind, .live = true, .writable = true };
	int error;

	if (!pointer)
		return fail(cudaErrorInvalidValue);
	if (!bytes) {
		*pointer = NULL;
		return cudaSuccess;
	}
	if (bytes > back_memory_bytes() - live_bytes || back_place(bytes, kind, &r.address) < 0)
		return fail_because(cudaErrorMemoryAllocation, "an allocation of %llu bytes failed: out of memory",
			(unsigned long long)bytes);
	error = back_allocate(stream, r.address, bytes, kind);
	if (error)
		return done(error);
	if (add_range(&r) < 0)
		refuse(UNSUPPORTED, "there are more than %d allocations", MAX_RANGES);
	live_bytes += bytes;
	*pointer = (void *)(uintptr_t)r.address;
	return cudaSuccess;
}

static cudaError_t
release(void *pointer, int stream, bool pinned)
{
	struct range *r = pointer ? find_range(pointer, 0) : NULL;

	if (!pointer)
		return cudaSuccess;
	if (!r || r->name || r->address != (uint64_t)(uintptr_t)pointer || (r->kind == MEMORY_PINNED) != pinned ||
	    r->kind == MEMORY_REGISTERED)
		return fail_because(cudaErrorInvalidValue, "memory was freed that is not allocated");
	r->live = false;
	live_bytes -= r->bytes;
	gave_watched_back = gave_watched_back || r->address < watched;
	return done(back_free(stream, r->address, r->bytes, r->kind));
}

EXPORT cudaError_t
cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
	int number = stream_number(stream, "cudaMallocAsync");

	return number < 0 ? fail(cudaErrorInvalidResourceHandle) : allocate(pointer, bytes, number, MEMORY_DEVICE);
}

EXPORT cudaError_t
cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	(void)pool;	/* all are the default one */
	return cudaMallocAsync(pointer, bytes, stream);
}

EXPORT cudaError_t
cudaFreeAsync(void *pointer, cudaStream_t stream)
{
	int number = stream_number(stream, "cudaFreeAsync");

	return number < 0 ? fail(cudaErrorInvalidResourceHandle) : release(pointer, number, false);
}

EXPORT cudaError_t
cudaMalloc(void **pointer, size_t bytes)
{
	return allocate(pointer, bytes, STREAM_GIVEN, MEMORY_DEVICE);
}

EXPORT cudaError_t
cudaFree(void *pointer)
{
	int error = pointer ? back_synchronise(WHOLE_DEVICE) : 0;	/* cudaFree waits for the device */

	return error ? done(error) : release(pointer, STREAM_GIVEN, false);
}

EXPORT cudaError_t
cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	if (!pitch || width > CUDA_REGION_BYTES || (height && width > CUDA_REGION_BYTES / height))
		return fail(cudaErrorInvalidValue);
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return allocate(pointer, *pitch * height, STREAM_GIVEN, MEMORY_DEVICE);
}

EXPORT cudaError_t
cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent)
{
	size_t pitch = (extent.width + PITCH - 1) / PITCH * PITCH;

	if (!pointer || extent.width > CUDA_REGION_BYTES || extent.height > CUDA_REGION_BYTES ||
	    extent.depth > CUDA_REGION_BYTES || (extent.height && pitch > CUDA_REGION_BYTES / extent.height) ||
	    (extent.depth && pitch * extent.height > CUDA_REGION_BYTES / extent.depth))
		return fail(cudaErrorInvalidValue);
	*pointer = (struct cudaPitchedPtr){ NULL, pitch, extent.width, extent.height };
	return allocate(&pointer->ptr, pitch * extent.height * extent.depth, STREAM_GIVEN, MEMORY_DEVICE);
}

/* ---- memory of the host. Where work is executed kernels may use what is pinned or registered. */
EXPORT cudaError_t
cudaMallocHost(void **pointer, size_t bytes)
{
	if (back_executes)
		return allocate(pointer, bytes, STREAM_GIVEN, MEMORY_PINNED);
	return pointer && (*pointer = calloc(1, bytes ? bytes : 1)) ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

EXPORT cudaError_t
cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
	if (flags & cudaHostAllocMapped && !back_executes)
		refuse(UNSUPPORTED, "cudaHostAlloc with cudaHostAllocMapped is not supported: kernels may use device memory only");
	return cudaMallocHost(pointer, bytes);
}

EXPORT cudaError_t
cudaFreeHost(void *pointer)
{
	if (back_executes)
		return release(pointer, STREAM_GIVEN, true);
	free(pointer);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
	struct range r = { (uint64_t)(uintptr_t)pointer, bytes, NULL, MEMORY_REGISTERED, true, true };
	int error;

	(void)flags;
	if (!back_executes)
		return refused("cudaHostRegister");
	if (!pointer || !bytes || back_is_device(pointer))
		return fail(cudaErrorInvalidValue);
	if (find_range(pointer, 0))
		return fail(cudaErrorHostMemoryAlreadyRegistered);
	error = back_allocate(STREAM_GIVEN, r.address, bytes, MEMORY_REGISTERED);
	if (error)
		return done(error);
	return add_range(&r) < 0 ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

EXPORT cudaError_t
cudaHostUnregister(void *pointer)
{
	struct range *r;
	int error;

	if (!back_executes)
		return refused("cudaHostUnregister");
	r = find_range(pointer, 0);
	if (!r || r->kind != MEMORY_REGISTERED || r->address != (uint64_t)(uintptr_t)pointer)
		return fail(cudaErrorHostMemoryNotRegistered);
	error = back_free(STREAM_GIVEN, r->address, r->bytes, r->kind);
	remove_range(r);
	return done(error);
}

EXPORT cudaError_t
cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	if (!back_executes)
		return refused("cudaHostGetDevicePointer");
	if (!device || flags || place_of(host) != SHARED)
		return fail(cudaErrorInvalidValue);
	*device = host;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaHostGetFlags(unsigned *flags, void *host)
{
	if (!back_executes)
		return refused("cudaHostGetFlags");
	if (!flags || place_of(host) != SHARED)
		return fail(cudaErrorInvalidValue);
	*flags = cudaHostAllocMapped;
	return cudaSuccess;
}

/* ---- managed memory: one that host and kernels share, as they do on the PTX machine */
EXPORT cudaError_t
cudaMallocManaged(void **pointer, size_t bytes, unsigned flags)
{
	if (!back_executes)
		return refused("cudaMallocManaged");
	if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
		return fail(cudaErrorInvalidValue);
	return allocate(pointer, bytes, STREAM_GIVEN, MEMORY_MANAGED);
}

/* Where the pages lie changes no result. */
EXPORT cudaError_t
cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location, unsigned flags,
	cudaStream_t stream)
{
	(void)location;
	if (!back_executes)
		return refused("cudaMemPrefetchAsync");
	if (flags || !find_range(pointer, bytes) || stream_number(stream, "cudaMemPrefetchAsync") < 0)
		return fail(cudaErrorInvalidValue);
	return done(back_sticky());
}

EXPORT cudaError_t
cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
	(void)advice, (void)location;
	if (!back_executes)
		return refused("cudaMemAdvise");
	return find_range(pointer, bytes) ? done(back_sticky()) : fail(cudaErrorInvalidValue);
}

EXPORT cudaError_t
cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t bytes, unsigned flags)
{
	(void)bytes, (void)flags;
	if (!back_executes)
		return refused("cudaStreamAttachMemAsync");
	return stream_number(stream, "cudaStreamAttachMemAsync") < 0 || place_of(pointer) != SHARED ?
		fail(cudaErrorInvalidValue) : cudaSuccess;
}

/* ---- questions */
EXPORT cudaError_t
cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	const struct range *r = find_range(pointer, 0);

	if (!attributes)
		return fail(cudaErrorInvalidValue);
	memset(attributes, 0, sizeof *attributes);
	if (!r) {
		attributes->type = cudaMemoryTypeUnregistered;
		attributes->device = -2;
		return cudaSuccess;
	}
	attributes->type = r->kind == MEMORY_DEVICE ? cudaMemoryTypeDevice :
		r->kind == MEMORY_MANAGED ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
	attributes->devicePointer = (void *)(uintptr_t)pointer;
	attributes->hostPointer = r->kind == MEMORY_DEVICE ? NULL : (void *)(uintptr_t)pointer;
	return cudaSuccess;
}

/* To a solution always the same, so that its plan does not depend on what it took before. */
EXPORT cudaError_t
cudaMemGetInfo(size_t *available, size_t *total)
{
	if (!available || !total)
		return fail(cudaErrorInvalidValue);
	*available = back_executes ? back_memory_bytes() - live_bytes : back_profile()->memory_free;
	*total = back_profile()->memory_total;
	return cudaSuccess;
}

/* ---- the default memory pool. Others are accepted, and are the same: a pool changes no result. */
static uint64_t release_threshold;
static int reuse[3] = { 1, 1, 1 };
static char default_pool;

EXPORT cudaError_t
cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	if (device)
		return fail(cudaErrorInvalidDevice);
	if (!pool)
		return fail(cudaErrorInvalidValue);
	*pool = (cudaMemPool_t)(void *)&default_pool;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return cudaDeviceGetDefaultMemPool(pool, device);
}

EXPORT cudaError_t
cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	return device ? fail(cudaErrorInvalidDevice) : pool ? cudaSuccess : fail(cudaErrorInvalidValue);
}

EXPORT cudaError_t
cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties)
{
	if (!pool || !properties || properties->location.type != cudaMemLocationTypeDevice || properties->location.id)
		return fail(cudaErrorInvalidValue);
	if (properties->handleTypes != cudaMemHandleTypeNone)
		refuse(UNSUPPORTED, "cudaMemPoolCreate with handles for other processes is not supported");
	*pool = (cudaMemPool_t)(void *)&default_pool;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemPoolDestroy(cudaMemPool_t pool)
{
	return pool ? cudaSuccess : fail(cudaErrorInvalidValue);
}

EXPORT cudaError_t
cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!pool || !value)
		return fail(cudaErrorInvalidValue);
	switch (attribute) {
	case cudaMemPoolReuseFollowEventDependencies:
	case cudaMemPoolReuseAllowOpportunistic:
	case cudaMemPoolReuseAllowInternalDependencies:
		memcpy(&reuse[attribute - cudaMemPoolReuseFollowEventDependencies], value, sizeof *reuse);
		return cudaSuccess;
	case cudaMemPoolAttrReleaseThreshold:
		memcpy(&release_threshold, value, sizeof release_threshold);
		return cudaSuccess;
	case cudaMemPoolAttrReservedMemHigh:
	case cudaMemPoolAttrUsedMemHigh:
		return cudaSuccess;
	default:
		return fail(cudaErrorInvalidValue);
	}
}

EXPORT cudaError_t
cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
	if (!pool || !value)
		return fail(cudaErrorInvalidValue);
	switch (attribute) {
	case cudaMemPoolReuseFollowEventDependencies:
	case cudaMemPoolReuseAllowOpportunistic:
	case cudaMemPoolReuseAllowInternalDependencies:
		memcpy(value, &reuse[attribute - cudaMemPoolReuseFollowEventDependencies], sizeof *reuse);
		return cudaSuccess;
	case cudaMemPoolAttrReleaseThreshold:
		memcpy(value, &release_threshold, sizeof release_threshold);
		return cudaSuccess;
	default:
		refuse(UNSUPPORTED, "cudaMemPoolGetAttribute of what a pool holds is not supported: there is no device to ask");
	}
}

EXPORT cudaError_t
cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
	(void)keep;
	return pool ? cudaSuccess : fail(cudaErrorInvalidValue);
}

/* ---- the end of all */
EXPORT cudaError_t
cudaDeviceReset(void)
{
	if (!back_executes)
		return refused("cudaDeviceReset");
	for (uint32_t i = 0; i < range_count; i++)
		if (!ranges[i].name && ranges[i].kind != MEMORY_REGISTERED)
			ranges[i].live = false;
	live_bytes = 0;
	runtime_reset_failure();
	return done(back_reset());
}
