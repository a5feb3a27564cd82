/* Streams and events: numbers for handles, and the edges between them.
 *
 * In: the program's calls. Out: what the back end notes or does. The legacy default stream has number 0: the work on it
 * is ordered after all that was issued to blocking streams before, and before all that is issued to them later, and the
 * stream that solve() is given is a blocking one. The per-thread default stream is ordered with nothing. */

#include "cuda/runtime/front.h"

struct handle {
	bool live, recorded;
	unsigned flags;
	int priority;
};

static struct handle streams[MAX_STREAMS], events[MAX_EVENTS];
static int stream_count = STREAM_FIRST_OWN, event_count;

void *
runtime_given_stream(void)
{
	streams[STREAM_GIVEN].live = true;
	return &streams[STREAM_GIVEN];
}

int
stream_number(cudaStream_t stream, const char *call)
{
	const struct handle *h = (const struct handle *)stream;

	if (!stream || stream == cudaStreamLegacy)
		return STREAM_LEGACY;
	if (stream == cudaStreamPerThread) {
		if (!back_executes)
			refuse(RUNTIME_ERROR, "%.200s is issued on the per-thread default stream, which is not ordered with `stream`: "
				"use the `stream` that solve() was given", call);
		return STREAM_LEGACY;
	}
	if (h < &streams[STREAM_GIVEN] || h >= &streams[MAX_STREAMS] ||
	    ((const char *)h - (const char *)streams) % sizeof *h || !h->live)
		return -1;
	return (int)(h - streams);
}

static int
event_number(cudaEvent_t event)
{
	const struct handle *h = (const struct handle *)event;

	if (h < events || h >= &events[MAX_EVENTS] || ((const char *)h - (const char *)events) % sizeof *h || !h->live)
		return -1;
	return (int)(h - events);
}

/* A number that is free. In a plan every stream and event keeps its number for good. */
static int
free_handle(const struct handle *handles, int *count, int first, int max)
{
	if (*count < max)
		return (*count)++;
	for (int i = first; back_executes && i < max; i++)
		if (!handles[i].live)
			return i;
	return -1;
}

void
runtime_count_handles(int *all_streams, int *all_events)
{
	*all_streams = stream_count;
	*all_events = event_count;
}

bool
handles_live(int first_stream, int first_event)
{
	bool live = false;

	for (int i = first_stream; i < stream_count; i++)
		live = live || streams[i].live;
	for (int i = first_event; i < event_count; i++)
		live = live || events[i].live;
	return live;
}

void
handles_rewind(int first_stream, int first_event)
{
	stream_count = first_stream;
	event_count = first_event;
}

/* ---- streams */
EXPORT cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	int number;

	if (!stream || flags > cudaStreamNonBlocking)
		return fail(cudaErrorInvalidValue);
	number = free_handle(streams, &stream_count, STREAM_FIRST_OWN, MAX_STREAMS);
	if (number < 0)
		refuse(UNSUPPORTED, "there are more than %d streams", MAX_STREAMS - STREAM_FIRST_OWN);
	streams[number] = (struct handle){ true, false, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority };
	*stream = (cudaStream_t)&streams[number];
	return done(back_new_stream(number, !(flags & cudaStreamNonBlocking)));
}

EXPORT cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	return cudaStreamCreateWithPriority(stream, flags, 0);
}

EXPORT cudaError_t
cudaStreamCreate(cudaStream_t *stream)
{
	return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

EXPORT cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	int number = stream_number(stream, "cudaStreamDestroy");

	if (number < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (number == STREAM_LEGACY)
		return fail(cudaErrorInvalidResourceHandle);
	if (number == STREAM_GIVEN)
		refuse(RUNTIME_ERROR, "solve() destroys the stream that it was given");
	streams[number].live = false;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	int number = stream_number(stream, "cudaStreamSynchronize");

	return number < 0 ? fail(cudaErrorInvalidResourceHandle) : done(back_synchronise(number));
}

EXPORT cudaError_t
cudaDeviceSynchronize(void)
{
	return done(back_synchronise(WHOLE_DEVICE));
}

/* A program that polls must come to an end, so a query says that all is done; whoever acts on that answer has waited. */
EXPORT cudaError_t
cudaStreamQuery(cudaStream_t stream)
{
	return cudaStreamSynchronize(stream);
}

EXPORT cudaError_t
cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
	int number = stream_number(stream, "cudaStreamGetFlags");

	if (number < 0 || !flags)
		return fail(cudaErrorInvalidResourceHandle);
	*flags = streams[number].flags;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	int number = stream_number(stream, "cudaStreamGetPriority");

	if (number < 0 || !priority)
		return fail(cudaErrorInvalidResourceHandle);
	*priority = streams[number].priority;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamGetDevice(cudaStream_t stream, int *device)
{
	if (stream_number(stream, "cudaStreamGetDevice") < 0 || !device)
		return fail(cudaErrorInvalidResourceHandle);
	*device = 0;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
	int number = stream_number(stream, "cudaStreamGetId");

	if (number < 0 || !id)
		return fail(cudaErrorInvalidResourceHandle);
	*id = (unsigned long long)number;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	if (stream_number(stream, "cudaStreamIsCapturing") < 0 || !status)
		return fail(cudaErrorInvalidResourceHandle);
	*status = cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

/* ---- events */
EXPORT cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	int number;

	if (!event || flags > (cudaEventBlockingSync | cudaEventDisableTiming))
		return flags & cudaEventInterprocess ? fail(cudaErrorNotSupported) : fail(cudaErrorInvalidValue);
	number = free_handle(events, &event_count, 0, MAX_EVENTS);
	if (number < 0)
		refuse(UNSUPPORTED, "there are more than %d events", MAX_EVENTS);
	events[number] = (struct handle){ true, false, flags, 0 };
	*event = (cudaEvent_t)&events[number];
	return cudaSuccess;
}

EXPORT cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

EXPORT cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	int number = event_number(event);

	if (number < 0)
		return fail(cudaErrorInvalidResourceHandle);
	events[number].live = false;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	int number = event_number(event), on = stream_number(stream, "cudaEventRecord");

	if (number < 0 || on < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (flags & ~cudaEventRecordExternal)
		return fail(cudaErrorInvalidValue);
	if (flags)
		refuse(UNSUPPORTED, "cudaEventRecordWithFlags with flags is not supported: there is no graph capture");
	events[number].recorded = true;
	return done(back_event_record(number, on));
}

EXPORT cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return cudaEventRecordWithFlags(event, stream, 0);
}

/* An event that was never recorded counts as complete. */
EXPORT cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	int number = event_number(event), on = stream_number(stream, "cudaStreamWaitEvent");

	if (number < 0 || on < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (flags)
		return fail(cudaErrorInvalidValue);
	return events[number].recorded ? done(back_event_wait(on, number)) : cudaSuccess;
}

EXPORT cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	int number = event_number(event);

	if (number < 0)
		return fail(cudaErrorInvalidResourceHandle);
	return events[number].recorded ? done(back_await(number)) : cudaSuccess;
}

EXPORT cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	return cudaEventSynchronize(event);
}

EXPORT cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	int first = event_number(start), last = event_number(end);

	if (!back_executes)
		return refused("cudaEventElapsedTime");
	if (!ms)
		return fail(cudaErrorInvalidValue);
	if (first < 0 || last < 0 || !events[first].recorded || !events[last].recorded ||
	    (events[first].flags | events[last].flags) & cudaEventDisableTiming)
		return fail(cudaErrorInvalidResourceHandle);
	return done(back_elapsed(first, last, ms));
}

/* ---- host functions in a stream: work is done when it is issued, so the function is called at once */
EXPORT cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	if (!back_executes)
		return refused("cudaLaunchHostFunc");
	if (!function || stream_number(stream, "cudaLaunchHostFunc") < 0)
		return fail(cudaErrorInvalidValue);
	function(data);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
	if (!back_executes)
		return refused("cudaStreamAddCallback");
	if (!callback || flags || stream_number(stream, "cudaStreamAddCallback") < 0)
		return fail(cudaErrorInvalidValue);
	callback(stream, (cudaError_t)back_sticky(), data);
	return cudaSuccess;
}
