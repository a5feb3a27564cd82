/* Device memory without a device: scratch from the arena, and the operations that set, copy and fill memory.
 *
 * In: the candidate's calls. Out: lines of the plan, or the error that the runtime would give. The arena is reserved
 * without access rights, so that host code which follows a device pointer faults, as it does with a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/cuda.h"
#include "cuda/recorder/state.h"

enum { MAX_UPLOAD = 1 << 20, PITCH = 512 };

static struct range {
	uint64_t address, bytes;	/* as in the plan */
	const char *name;		/* NULL: scratch */
	bool live, writable;
} ranges[MAX_RANGES];
static uint32_t range_count, first_scratch;
static uint64_t next_address, live_bytes, uploaded;

static void
reserve(uint64_t address)
{
	void *at = (void *)(uintptr_t)(address + job->shift);

	if (mmap(at, CUDA_REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)
	    != at)
		refuse(UNSUPPORTED, "the address range of device memory is taken in this process");
}

void
memory_start(void)
{
	reserve(CUDA_ARENA);
	reserve(CUDA_SYMBOLS);
	for (uint32_t i = 0; i < job->buffers; i++) {
		const struct recorder_buffer *b = &job->buffer[i];

		ranges[range_count++] = (struct range){ b->address, b->bytes, b->name, true, b->writable };
	}
	for (uint32_t i = 0; i < job->symbols; i++)
		ranges[range_count++] = (struct range){ job->symbol[i].address, job->symbol[i].bytes, job->symbol[i].name,
			true, true };
	first_scratch = range_count;
	next_address = job->next_address;
}

void
memory_call(void)
{
	uploaded = 0;
}

bool
is_device(const void *pointer)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer - job->shift;

	return address - CUDA_ARENA < CUDA_REGION_BYTES || address - CUDA_SYMBOLS < CUDA_REGION_BYTES;
}

/* The plan's address of a device pointer. */
static uint64_t
plan_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer - job->shift;
}

/* The live range that holds bytes at the pointer, or NULL. */
static const struct range *
find_range(const void *pointer, uint64_t bytes)
{
	uint64_t address = plan_address(pointer);

	for (uint32_t i = 0; i < range_count; i++) {
		const struct range *r = &ranges[i];

		if (r->live && address - r->address <= r->bytes && bytes <= r->bytes - (address - r->address))
			return r;
	}
	return NULL;
}

const char *
describe_pointer(const void *pointer)
{
	static char words[160];
	uint64_t address = plan_address(pointer), best = UINT64_MAX;

	snprintf(words, sizeof words, "no buffer");
	for (uint32_t i = 0; i < range_count; i++) {
		const struct range *r = &ranges[i];

		if (address < r->address || address - r->address >= r->bytes + CUDA_GRANULE || address - r->address >= best)
			continue;
		best = address - r->address;
		snprintf(words, sizeof words, "%.100s + %llu bytes", r->name ? r->name : "scratch", (unsigned long long)best);
	}
	return words;
}

/* ---- scratch */
static int
place(uint64_t bytes, uint64_t *address)
{
	uint64_t room = (bytes + CUDA_GRANULE - 1) / CUDA_GRANULE * CUDA_GRANULE;

	if (bytes > CUDA_REGION_BYTES || room + CUDA_GRANULE > CUDA_ARENA + CUDA_REGION_BYTES - next_address)
		return -1;
	*address = next_address + room - (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
	next_address += room + CUDA_GRANULE;
	return 0;
}

static cudaError_t
allocate(void **pointer, uint64_t bytes, int stream)
{
	uint64_t address;

	if (!pointer)
		return fail(cudaErrorInvalidValue);
	if (!bytes) {
		*pointer = NULL;
		return cudaSuccess;
	}
	if (range_count == MAX_RANGES || bytes > job->scratch_bytes - live_bytes || place(bytes, &address) < 0)
		return fail_because(cudaErrorMemoryAllocation, "an allocation of %llu bytes failed: out of memory",
			(unsigned long long)bytes);
	plan_operation(NULL, 0, "allocate %d 0x%llx %llu", stream, (unsigned long long)address, (unsigned long long)bytes);
	ranges[range_count++] = (struct range){ address, bytes, NULL, true, true };
	live_bytes += bytes;
	*pointer = (void *)(uintptr_t)(address + job->shift);
	return cudaSuccess;
}

static cudaError_t
release(void *pointer, int stream)
{
	if (!pointer)
		return cudaSuccess;
	for (uint32_t i = first_scratch; i < range_count; i++)
		if (ranges[i].live && ranges[i].address == plan_address(pointer)) {
			ranges[i].live = false;
			live_bytes -= ranges[i].bytes;
			plan_operation(NULL, 0, "free %d 0x%llx", stream, (unsigned long long)ranges[i].address);
			return cudaSuccess;
		}
	return fail_because(cudaErrorInvalidValue, "memory was freed that is not allocated");
}

EXPORT cudaError_t
cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream)
{
	int number = stream_number(stream, "cudaMallocAsync");

	return number < 0 ? fail(cudaErrorInvalidResourceHandle) : allocate(pointer, bytes, number);
}

EXPORT cudaError_t
cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
	(void)pool;	/* there is only the default one */
	return cudaMallocAsync(pointer, bytes, stream);
}

EXPORT cudaError_t
cudaFreeAsync(void *pointer, cudaStream_t stream)
{
	int number = stream_number(stream, "cudaFreeAsync");

	return number < 0 ? fail(cudaErrorInvalidResourceHandle) : release(pointer, number);
}

EXPORT cudaError_t
cudaMalloc(void **pointer, size_t bytes)
{
	return allocate(pointer, bytes, 1);
}

EXPORT cudaError_t
cudaFree(void *pointer)
{
	if (pointer && plan_in_call())
		plan_operation(NULL, 0, "synchronise 0");	/* cudaFree waits for the device */
	return release(pointer, 1);
}

EXPORT cudaError_t
cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	if (!pitch || width > CUDA_REGION_BYTES || (height && width > CUDA_REGION_BYTES / height))
		return fail(cudaErrorInvalidValue);
	*pitch = (width + PITCH - 1) / PITCH * PITCH;
	return allocate(pointer, *pitch * height, 1);
}

EXPORT cudaError_t
cudaMallocHost(void **pointer, size_t bytes)
{
	return pointer && (*pointer = calloc(1, bytes ? bytes : 1)) ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}

EXPORT cudaError_t
cudaHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
	if (flags & cudaHostAllocMapped)
		refuse(UNSUPPORTED, "cudaHostAlloc with cudaHostAllocMapped is not supported: kernels may use device memory only");
	return cudaMallocHost(pointer, bytes);
}

EXPORT cudaError_t
cudaFreeHost(void *pointer)
{
	free(pointer);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	if (!attributes)
		return fail(cudaErrorInvalidValue);
	memset(attributes, 0, sizeof *attributes);
	if (is_device(pointer) && find_range(pointer, 0)) {
		attributes->type = cudaMemoryTypeDevice;
		attributes->devicePointer = (void *)(uintptr_t)pointer;
	} else {
		attributes->type = cudaMemoryTypeUnregistered;
		attributes->device = -2;
	}
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemGetInfo(size_t *available, size_t *total)
{
	if (!available || !total)
		return fail(cudaErrorInvalidValue);
	*available = job->profile->memory_free;
	*total = job->profile->memory_total;
	return cudaSuccess;
}

/* ---- set, copy, fill */
struct rows {
	uint64_t pitch, source_pitch, width, height;
};

static uint64_t
span(uint64_t pitch, const struct rows *r)
{
	return r->width && r->height ? (r->height - 1) * pitch + r->width : 0;
}

/* The range that an operation may write, or NULL after the runtime's error. */
static const struct range *
writable(const char *call, const void *pointer, uint64_t bytes)
{
	const struct range *r = is_device(pointer) ? find_range(pointer, bytes) : NULL;

	if (!r) {
		fail_because(cudaErrorInvalidValue, "%s failed: %llu bytes at %s are not inside one buffer", call,
			(unsigned long long)bytes, is_device(pointer) ? describe_pointer(pointer) : "a host address");
		return NULL;
	}
	if (!r->writable)
		refuse(RUNTIME_ERROR, "%s writes to the input %s", call, r->name);
	return r;
}

static cudaError_t
set_rows(const char *call, void *pointer, int value, const struct rows *r, int stream)
{
	if (stream < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (!r->width || !r->height)
		return cudaSuccess;
	if (r->height > 1 && r->pitch < r->width)
		return fail_because(cudaErrorInvalidValue, "%s failed: rows of %llu bytes do not fit a pitch of %llu", call,
			(unsigned long long)r->width, (unsigned long long)r->pitch);
	if (!writable(call, pointer, span(r->pitch, r)))
		return cudaErrorInvalidValue;
	plan_operation(NULL, 0, "memset %d 0x%llx %llu %d 1 %llu %llu", stream, (unsigned long long)plan_address(pointer),
		(unsigned long long)r->pitch, value & 255, (unsigned long long)r->width, (unsigned long long)r->height);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
	struct rows r = { bytes, bytes, bytes, 1 };

	return set_rows("cudaMemsetAsync", pointer, value, &r, stream_number(stream, "cudaMemsetAsync"));
}

EXPORT cudaError_t
cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	struct rows r = { pitch, pitch, width, height };

	if (pitch > CUDA_REGION_BYTES || height > CUDA_REGION_BYTES || (height && pitch > CUDA_REGION_BYTES / height))
		return fail(cudaErrorInvalidValue);
	return set_rows("cudaMemset2DAsync", pointer, value, &r, stream_number(stream, "cudaMemset2DAsync"));
}

static cudaError_t
upload(const char *call, void *pointer, const void *host, uint64_t bytes, int stream)
{
	static uint8_t copy[MAX_UPLOAD];

	if (!host)
		return fail_because(cudaErrorInvalidValue, "%s failed: the source is a null pointer", call);
	if (!writable(call, pointer, bytes))
		return cudaErrorInvalidValue;
	uploaded += bytes;
	if (bytes > MAX_UPLOAD || uploaded > MAX_UPLOAD)
		refuse(UNSUPPORTED, "%s is not supported: solve() may upload at most 1 MiB of host data", call);
	memcpy(copy, host, bytes);
	plan_operation(copy, bytes, "upload %d 0x%llx %llu ", stream, (unsigned long long)plan_address(pointer),
		(unsigned long long)bytes);
	return cudaSuccess;
}

static cudaError_t
copy_rows(const char *call, void *to, const void *from, const struct rows *r, enum cudaMemcpyKind kind, int stream)
{
	bool to_device = is_device(to), from_device = is_device(from);

	if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
		return fail_because(cudaErrorInvalidMemcpyDirection, "%s failed: no such direction", call);
	if (stream < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (!r->width || !r->height)
		return cudaSuccess;
	if (r->height > 1 && (r->pitch < r->width || r->source_pitch < r->width))
		return fail_because(cudaErrorInvalidPitchValue, "%s failed: rows of %llu bytes do not fit the pitch", call,
			(unsigned long long)r->width);
	if (from_device && !to_device) {
		if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDefault)
			refuse(UNSUPPORTED, "%s from device to host is not supported: host code may not read device memory (%s)", call,
				describe_pointer(from));
		return fail_because(cudaErrorInvalidValue, "%s failed: the destination is host memory", call);
	}
	if (!to_device) {
		if (kind != cudaMemcpyHostToHost && kind != cudaMemcpyDefault)
			return fail_because(cudaErrorInvalidValue, "%s failed: no address is in device memory", call);
		for (uint64_t row = 0; row < r->height; row++)
			memmove((char *)to + row * r->pitch, (const char *)from + row * r->source_pitch, r->width);
		return cudaSuccess;
	}
	if (!from_device) {
		if (kind == cudaMemcpyDeviceToDevice)
			return fail_because(cudaErrorInvalidValue, "%s failed: the source is host memory", call);
		for (uint64_t row = 0; row < r->height; row++) {
			cudaError_t error = upload(call, (char *)to + row * r->pitch, (const char *)from + row * r->source_pitch,
				r->width, stream);

			if (error)
				return error;
		}
		return cudaSuccess;
	}
	if (!find_range(from, span(r->source_pitch, r)))
		return fail_because(cudaErrorInvalidValue, "%s failed: the source at %s is not inside one buffer", call,
			describe_pointer(from));
	if (!writable(call, to, span(r->pitch, r)))
		return cudaErrorInvalidValue;
	plan_operation(NULL, 0, "copy %d 0x%llx %llu 0x%llx %llu %llu %llu", stream, (unsigned long long)plan_address(to),
		(unsigned long long)r->pitch, (unsigned long long)plan_address(from), (unsigned long long)r->source_pitch,
		(unsigned long long)r->width, (unsigned long long)r->height);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct rows r = { bytes, bytes, bytes, 1 };

	return copy_rows("cudaMemcpyAsync", to, from, &r, kind, stream_number(stream, "cudaMemcpyAsync"));
}

EXPORT cudaError_t
cudaMemcpy2DAsync(void *to, size_t pitch, const void *from, size_t source_pitch, size_t width, size_t height,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct rows r = { pitch, source_pitch, width, height };

	if (height > CUDA_REGION_BYTES || pitch > CUDA_REGION_BYTES || source_pitch > CUDA_REGION_BYTES ||
	    (height && (pitch > CUDA_REGION_BYTES / height || source_pitch > CUDA_REGION_BYTES / height)))
		return fail(cudaErrorInvalidValue);
	return copy_rows("cudaMemcpy2DAsync", to, from, &r, kind, stream_number(stream, "cudaMemcpy2DAsync"));
}

/* ---- variables of the module */
static void *
symbol_pointer(const struct recorder_symbol *symbol)
{
	return (void *)(uintptr_t)(symbol->address + job->shift);
}

EXPORT cudaError_t
cudaGetSymbolAddress(void **pointer, const void *variable)
{
	const struct recorder_symbol *symbol = find_symbol(variable);

	if (!symbol)
		return fail(cudaErrorInvalidSymbol);
	*pointer = symbol_pointer(symbol);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaGetSymbolSize(size_t *bytes, const void *variable)
{
	const struct recorder_symbol *symbol = find_symbol(variable);

	if (!symbol)
		return fail(cudaErrorInvalidSymbol);
	*bytes = symbol->bytes;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaMemcpyToSymbolAsync(const void *variable, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	const struct recorder_symbol *symbol = find_symbol(variable);
	struct rows r = { bytes, bytes, bytes, 1 };

	if (!symbol)
		return fail_because(cudaErrorInvalidSymbol, "cudaMemcpyToSymbolAsync failed: invalid device symbol");
	if (offset > symbol->bytes || bytes > symbol->bytes - offset)
		return fail_because(cudaErrorInvalidValue, "cudaMemcpyToSymbolAsync failed: %zu bytes at %zu are outside %s", bytes,
			offset, symbol->name);
	return copy_rows("cudaMemcpyToSymbolAsync", (char *)symbol_pointer(symbol) + offset, from, &r, kind,
		stream_number(stream, "cudaMemcpyToSymbolAsync"));
}

EXPORT cudaError_t
cudaMemcpyFromSymbolAsync(void *to, const void *variable, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	const struct recorder_symbol *symbol = find_symbol(variable);
	struct rows r = { bytes, bytes, bytes, 1 };

	if (!symbol)
		return fail_because(cudaErrorInvalidSymbol, "cudaMemcpyFromSymbolAsync failed: invalid device symbol");
	if (offset > symbol->bytes || bytes > symbol->bytes - offset)
		return fail(cudaErrorInvalidValue);
	return copy_rows("cudaMemcpyFromSymbolAsync", to, (char *)symbol_pointer(symbol) + offset, &r, kind,
		stream_number(stream, "cudaMemcpyFromSymbolAsync"));
}

/* ---- the default stream's forms */
static _Noreturn void
refuse_default(const char *call, const char *instead)
{
	refuse(RUNTIME_ERROR, "%s works on the default stream, which is not ordered with `stream`: use %s on `stream`", call,
		instead);
}

EXPORT cudaError_t
cudaMemset(void *pointer, int value, size_t bytes)
{
	(void)pointer, (void)value, (void)bytes;
	refuse_default("cudaMemset", "cudaMemsetAsync");
}

EXPORT cudaError_t
cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
	(void)pointer, (void)pitch, (void)value, (void)width, (void)height;
	refuse_default("cudaMemset2D", "cudaMemset2DAsync");
}

EXPORT cudaError_t
cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	struct rows r = { bytes, bytes, bytes, 1 };

	/* Between host addresses there is no stream, and from the device the better message is the copy's own. */
	if (!is_device(to))
		return copy_rows("cudaMemcpy", to, from, &r, kind, 1);
	refuse_default("cudaMemcpy", "cudaMemcpyAsync");
}

EXPORT cudaError_t
cudaMemcpy2D(void *to, size_t pitch, const void *from, size_t source_pitch, size_t width, size_t height,
	enum cudaMemcpyKind kind)
{
	struct rows r = { pitch, source_pitch, width, height };

	if (!is_device(to))
		return copy_rows("cudaMemcpy2D", to, from, &r, kind, 1);
	refuse_default("cudaMemcpy2D", "cudaMemcpy2DAsync");
}

EXPORT cudaError_t
cudaMemcpyToSymbol(const void *variable, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	(void)variable, (void)from, (void)bytes, (void)offset, (void)kind;
	refuse_default("cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync");
}

EXPORT cudaError_t
cudaMemcpyFromSymbol(void *to, const void *variable, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	if (is_device(to))
		refuse_default("cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync");
	return cudaMemcpyFromSymbolAsync(to, variable, bytes, offset, kind, kernelmosaic_recorder_stream());
}
