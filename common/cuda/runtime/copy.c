/* The operations that set, copy and fill memory, in one, two and three dimensions, and by the name of a variable.
 *
 * In: the program's calls. Out: work for the back end on ranges that were checked, or the error that the runtime gives.
 * The forms without a stream work on the legacy default stream. */
#include <string.h>

#include "cuda/cuda.h"
#include "cuda/runtime/front.h"

/* ---- one and two dimensions */
static uint64_t
span(uint64_t pitch, const struct back_rows *r)
{
	return r->width && r->height ? (r->height - 1) * pitch + r->width : 0;
}

/* Rows whose span can be computed without an overflow. */
static bool
sane(const struct back_rows *r)
{
	uint64_t most = CUDA_REGION_BYTES;

	return r->pitch <= most && r->source_pitch <= most && r->width <= most && r->height <= most &&
		(!r->height || (r->pitch <= most / r->height && r->source_pitch <= most / r->height));
}

static cudaError_t
set_rows(const char *call, void *pointer, int value, const struct back_rows *r, cudaStream_t on)
{
	int stream = stream_number(on, call);

	if (stream < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (!sane(r))
		return fail(cudaErrorInvalidValue);
	if (!r->width || !r->height)
		return cudaSuccess;
	if (r->height > 1 && r->pitch < r->width)
		return fail_because(cudaErrorInvalidValue, "%s failed: rows of %llu bytes do not fit a pitch of %llu", call,
			(unsigned long long)r->width, (unsigned long long)r->pitch);
	if (!check_writable(call, pointer, span(r->pitch, r)))
		return cudaErrorInvalidValue;
	return done(back_set(stream, (uint64_t)(uintptr_t)pointer, r, (uint32_t)value & 255));
}

/* An end that the direction calls the device's must not be the host's own; the reverse the runtime lets pass. */
static bool
direction_fits(enum cudaMemcpyKind kind, enum place to, enum place from)
{
	bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
	bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;

	return kind == cudaMemcpyDefault || ((to_host || to != HOST) && (from_host || from != HOST));
}

/* One end or both on the host, row by row. */
static cudaError_t
copy_through_host(const char *call, void *to, const void *from, const struct back_rows *r, enum place to_place,
	enum place from_place, int stream)
{
	for (uint64_t row = 0; row < r->height; row++) {
		char *target = (char *)to + row * r->pitch;
		const char *source = (const char *)from + row * r->source_pitch;
		int error = 0;

		if (to_place == DEVICE)
			error = back_upload(call, stream, (uint64_t)(uintptr_t)target, source, r->width);
		else if (from_place == DEVICE)
			error = back_download(call, stream, target, (uint64_t)(uintptr_t)source, r->width);
		else
			memmove(target, source, r->width);
		if (error)
			return done(error);
	}
	return done(back_sticky());
}

static cudaError_t
copy_rows(const char *call, void *to, const void *from, const struct back_rows *r, enum cudaMemcpyKind kind,
	cudaStream_t on)
{
	enum place to_place = place_of(to), from_place = place_of(from);
	int stream = stream_number(on, call);

	if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
		return fail_because(cudaErrorInvalidMemcpyDirection, "%s failed: no such direction", call);
	if (stream < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (!sane(r))
		return fail(cudaErrorInvalidValue);
	if (!r->width || !r->height)
		return cudaSuccess;
	if (r->height > 1 && (r->pitch < r->width || r->source_pitch < r->width))
		return fail_because(cudaErrorInvalidPitchValue, "%s failed: rows of %llu bytes do not fit the pitch", call,
			(unsigned long long)r->width);
	if (!to || !from)
		return fail_because(cudaErrorInvalidValue, "%s failed: the %s is a null pointer", call,
			to ? "source" : "destination");
	if (!direction_fits(kind, to_place, from_place))
		return fail_because(cudaErrorInvalidValue, "%s failed: its direction does not fit where the memory is", call);
	if (from_place == DEVICE && !inside_buffer(from, span(r->source_pitch, r)))
		return fail_because(cudaErrorInvalidValue, "%s failed: the source at %s is not inside one buffer", call,
			runtime_describe(from));
	if (to_place == DEVICE && !check_writable(call, to, span(r->pitch, r)))
		return cudaErrorInvalidValue;
	if (to_place != DEVICE || from_place != DEVICE)
		return copy_through_host(call, to, from, r, to_place, from_place, stream);
	return done(back_copy(stream, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, r));
}

#define PLAIN(bytes) &(struct back_rows){ bytes, bytes, bytes, 1 }
#define ROWS(pitch, source_pitch, width, height) &(struct back_rows){ pitch, source_pitch, width, height }

EXPORT cudaError_t
cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
	return set_rows("cudaMemsetAsync", pointer, value, PLAIN(bytes), stream);
}

EXPORT cudaError_t
cudaMemset(void *pointer, int value, size_t bytes)
{
	return set_rows("cudaMemset", pointer, value, PLAIN(bytes), NULL);
}

EXPORT cudaError_t
cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
	return set_rows("cudaMemset2DAsync", pointer, value, ROWS(pitch, pitch, width, height), stream);
}

EXPORT cudaError_t
cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
	return set_rows("cudaMemset2D", pointer, value, ROWS(pitch, pitch, width, height), NULL);
}

EXPORT cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_rows("cudaMemcpyAsync", to, from, PLAIN(bytes), kind, stream);
}

EXPORT cudaError_t
cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	return copy_rows("cudaMemcpy", to, from, PLAIN(bytes), kind, NULL);
}

EXPORT cudaError_t
cudaMemcpy2DAsync(void *to, size_t pitch, const void *from, size_t source_pitch, size_t width, size_t height,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_rows("cudaMemcpy2DAsync", to, from, ROWS(pitch, source_pitch, width, height), kind, stream);
}

EXPORT cudaError_t
cudaMemcpy2D(void *to, size_t pitch, const void *from, size_t source_pitch, size_t width, size_t height,
	enum cudaMemcpyKind kind)
{
	return copy_rows("cudaMemcpy2D", to, from, ROWS(pitch, source_pitch, width, height), kind, NULL);
}

/* ---- three dimensions: a slice of rows after the other */
static bool
sane_extent(const struct cudaPitchedPtr *p, const struct cudaExtent *e)
{
	uint64_t most = CUDA_REGION_BYTES;

	return p->pitch <= most && p->ysize <= most && e->depth <= most && (!p->ysize || p->pitch <= most / p->ysize) &&
		(!e->depth || p->pitch * p->ysize <= most / e->depth);
}

static cudaError_t
set_box(const char *call, struct cudaPitchedPtr p, int value, struct cudaExtent e, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;

	if (!sane_extent(&p, &e) || e.width > p.pitch || (e.depth > 1 && e.height > p.ysize))
		return fail_because(cudaErrorInvalidValue, "%s failed: the extent does not fit the pointer's pitch and height", call);
	for (size_t z = 0; z < e.depth && !error; z++)
		error = set_rows(call, (char *)p.ptr + z * p.pitch * p.ysize, value, ROWS(p.pitch, p.pitch, e.width, e.height),
			stream);
	return error;
}

static cudaError_t
copy_box(const char *call, const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	const struct cudaPitchedPtr *to, *from;
	cudaError_t error = cudaSuccess;

	if (!p)
		return fail(cudaErrorInvalidValue);
	if (p->srcArray || p->dstArray)
		refuse(UNSUPPORTED, "%s of a CUDA array is not supported", call);
	to = &p->dstPtr;
	from = &p->srcPtr;
	if (!sane_extent(to, &p->extent) || !sane_extent(from, &p->extent) || p->dstPos.x > to->pitch ||
	    p->srcPos.x > from->pitch || p->extent.width > to->pitch - p->dstPos.x ||
	    p->extent.width > from->pitch - p->srcPos.x)
		return fail_because(cudaErrorInvalidValue, "%s failed: the extent does not fit a pointer's pitch", call);
	for (size_t z = 0; z < p->extent.depth && !error; z++)
		error = copy_rows(call,
			(char *)to->ptr + ((p->dstPos.z + z) * to->ysize + p->dstPos.y) * to->pitch + p->dstPos.x,
			(const char *)from->ptr + ((p->srcPos.z + z) * from->ysize + p->srcPos.y) * from->pitch + p->srcPos.x,
			ROWS(to->pitch, from->pitch, p->extent.width, p->extent.height), p->kind, stream);
	return error;
}

EXPORT cudaError_t
cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent, cudaStream_t stream)
{
	return set_box("cudaMemset3DAsync", pointer, value, extent, stream);
}

EXPORT cudaError_t
cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent)
{
	return set_box("cudaMemset3D", pointer, value, extent, NULL);
}

EXPORT cudaError_t
cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
	return copy_box("cudaMemcpy3DAsync", parameters, stream);
}

EXPORT cudaError_t
cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
	return copy_box("cudaMemcpy3D", parameters, NULL);
}

/* ---- variables of the module */
EXPORT cudaError_t
cudaGetSymbolAddress(void **pointer, const void *variable)
{
	const struct runtime_symbol *symbol = find_symbol(variable);

	if (!symbol)
		return fail(cudaErrorInvalidSymbol);
	if (!pointer)
		return fail(cudaErrorInvalidValue);
	*pointer = (void *)(uintptr_t)symbol->address;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaGetSymbolSize(size_t *bytes, const void *variable)
{
	const struct runtime_symbol *symbol = find_symbol(variable);

	if (!symbol)
		return fail(cudaErrorInvalidSymbol);
	if (!bytes)
		return fail(cudaErrorInvalidValue);
	*bytes = symbol->bytes;
	return cudaSuccess;
}

/* The address of `bytes` bytes in a variable, or NULL after the error. */
static char *
in_symbol(const char *call, const void *variable, size_t bytes, size_t offset, cudaError_t *error)
{
	const struct runtime_symbol *symbol = find_symbol(variable);

	if (!symbol) {
		*error = fail_because(cudaErrorInvalidSymbol, "%s failed: invalid device symbol", call);
		return NULL;
	}
	if (offset > symbol->bytes || bytes > symbol->bytes - offset) {
		*error = fail_because(cudaErrorInvalidValue, "%s failed: %zu bytes at %zu are outside %s", call, bytes, offset,
			symbol->name);
		return NULL;
	}
	return (char *)(uintptr_t)symbol->address + offset;
}

static cudaError_t
copy_to_symbol(const char *call, const void *variable, const void *from, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;
	char *at = in_symbol(call, variable, bytes, offset, &error);

	return at ? copy_rows(call, at, from, PLAIN(bytes), kind, stream) : error;
}

static cudaError_t
copy_from_symbol(const char *call, void *to, const void *variable, size_t bytes, size_t offset,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;
	char *at = in_symbol(call, variable, bytes, offset, &error);

	return at ? copy_rows(call, to, at, PLAIN(bytes), kind, stream) : error;
}

EXPORT cudaError_t
cudaMemcpyToSymbolAsync(const void *variable, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	return copy_to_symbol("cudaMemcpyToSymbolAsync", variable, from, bytes, offset, kind, stream);
}

EXPORT cudaError_t
cudaMemcpyToSymbol(const void *variable, const void *from, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return copy_to_symbol("cudaMemcpyToSymbol", variable, from, bytes, offset, kind, NULL);
}

EXPORT cudaError_t
cudaMemcpyFromSymbolAsync(void *to, const void *variable, size_t bytes, size_t offset, enum cudaMemcpyKind kind,
	cudaStream_t stream)
{
	return copy_from_symbol("cudaMemcpyFromSymbolAsync", to, variable, bytes, offset, kind, stream);
}

EXPORT cudaError_t
cudaMemcpyFromSymbol(void *to, const void *variable, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
	return copy_from_symbol("cudaMemcpyFromSymbol", to, variable, bytes, offset, kind, NULL);
}
