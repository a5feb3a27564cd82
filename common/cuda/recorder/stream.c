/* Streams and events: numbers for handles, and the edges between them.
 *
 * In: the candidate's calls. Out: record, wait, await and synchronise lines. The default streams are refused by name,
 * for nothing orders them with the stream that solve() was given. */

#include "cuda/recorder/state.h"

struct handle {
	bool live, recorded;
	unsigned flags;
	int priority;
};

static struct handle streams[MAX_STREAMS], events[MAX_EVENTS];
static int stream_count = 2, event_count;	/* 1 is the given stream */

EXPORT void *
kernelmosaic_recorder_stream(void)
{
	streams[1].live = true;
	return &streams[1];
}

int
stream_number(cudaStream_t stream, const char *call)
{
	const struct handle *h = (const struct handle *)stream;

	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		refuse(RUNTIME_ERROR, "%.200s is issued on the default stream: use the `stream` that solve() was given", call);
	if (h < &streams[1] || h >= &streams[MAX_STREAMS] || ((const char *)h - (const char *)streams) % sizeof *h || !h->live)
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

/* ---- streams */
EXPORT cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	if (!stream || flags > cudaStreamNonBlocking)
		return fail(cudaErrorInvalidValue);
	if (stream_count == MAX_STREAMS)
		refuse(UNSUPPORTED, "solve() creates more than %d streams in 2 calls", MAX_STREAMS - 2);
	streams[stream_count] = (struct handle){ true, false, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority };
	*stream = (cudaStream_t)&streams[stream_count++];
	return cudaSuccess;
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
	if (number == 1)
		refuse(RUNTIME_ERROR, "solve() destroys the stream that it was given");
	streams[number].live = false;
	return cudaSuccess;
}

EXPORT cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	int number;

	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return cudaSuccess;	/* nothing is ever on it */
	number = stream_number(stream, "cudaStreamSynchronize");
	if (number < 0)
		return fail(cudaErrorInvalidResourceHandle);
	plan_operation(NULL, 0, "synchronise %d", number);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaDeviceSynchronize(void)
{
	plan_operation(NULL, 0, "synchronise 0");
	return cudaSuccess;
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
	if (!event || flags > (cudaEventBlockingSync | cudaEventDisableTiming))
		return flags & cudaEventInterprocess ? fail(cudaErrorNotSupported) : fail(cudaErrorInvalidValue);
	if (event_count == MAX_EVENTS)
		refuse(UNSUPPORTED, "solve() creates more than %d events in 2 calls", MAX_EVENTS);
	events[event_count] = (struct handle){ true, false, flags, 0 };
	*event = (cudaEvent_t)&events[event_count++];
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
	if (flags)
		refuse(UNSUPPORTED, "cudaEventRecordWithFlags with flags is not supported: there is no graph capture");
	events[number].recorded = true;
	plan_operation(NULL, 0, "record %d %d", number, on);
	return cudaSuccess;
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
	if (events[number].recorded)
		plan_operation(NULL, 0, "wait %d %d", on, number);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	int number = event_number(event);

	if (number < 0)
		return fail(cudaErrorInvalidResourceHandle);
	if (events[number].recorded)
		plan_operation(NULL, 0, "await %d", number);
	return cudaSuccess;
}

EXPORT cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	return cudaEventSynchronize(event);
}
