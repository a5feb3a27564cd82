/* The recorder's text and its ends.
 *
 * In: calls of the other files. Out: the plan (common/cuda/PLAN.md) on one descriptor, written once, at the end. The
 * text is kept in a mapping of its own: a candidate that tramples its heap does not trample the plan by accident. What
 * it does on purpose the plan's parser judges. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/plan.h"
#include "cuda/recorder/state.h"

enum { MAX_TEXT = 16 << 20, MAX_OPERATIONS = 5000, MAX_REASON = 500 };

const struct recorder_job *job;

static char *text;
static size_t length, put_bytes;
static unsigned operations;
static bool in_call;

static ON_SIGNAL_STACK void
write_all(const char *bytes, size_t count)
{
	size_t done = 0;

	if (ftruncate(job->plan_descriptor, 0) < 0)	/* a pipe: nothing to cut off */
		done = 0;
	while (done < count) {
		ssize_t n = pwrite(job->plan_descriptor, bytes + done, count - done, (off_t)done);

		if (n <= 0)
			_exit(74);
		done += (size_t)n;
	}
}

ON_SIGNAL_STACK void
refuse(const char *status, const char *format, ...)
{
	char line[MAX_REASON + 64];
	bool stands;
	const char *first_failure = runtime_failure(&stands);
	int head = snprintf(line, sizeof line, "refuse %s ", status), n;
	va_list args;

	va_start(args, format);
	n = vsnprintf(line + head, MAX_REASON, format, args);
	va_end(args);
	n = n < 0 ? 0 : n >= MAX_REASON ? MAX_REASON - 1 : n;
	if (*first_failure && !strcmp(status, RUNTIME_ERROR) && !strstr(line, first_failure)) {
		int more = snprintf(line + head + n, sizeof line - (size_t)(head + n) - 1, ", after %s", first_failure);
		int room = (int)(sizeof line) - head - n - 2;

		n += more < 0 ? 0 : more > room ? room : more;
	}
	line[head + n] = '\n';
	write_all(line, (size_t)(head + n + 1));
	_exit(0);
}

static void
append(const char *format, va_list args)
{
	int n = vsnprintf(text + length, MAX_TEXT - length, format, args);

	if (n < 0 || (size_t)n >= MAX_TEXT - length)
		refuse(UNSUPPORTED, "the launch plan is over %d MiB", MAX_TEXT >> 20);
	length += (size_t)n;
}

void
plan_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	append(format, args);
	va_end(args);
}

void
plan_operation(const void *bytes, size_t count, const char *format, ...)
{
	static const char digits[] = "0123456789abcdef";
	va_list args;

	if (!in_call)
		refuse(UNSUPPORTED, "work for the GPU is issued outside solve(), by a static initialiser");
	if (++operations > MAX_OPERATIONS)
		refuse(UNSUPPORTED, "solve() issues more than %d operations", MAX_OPERATIONS);
	va_start(args, format);
	append(format, args);
	va_end(args);
	if (2 * count + 2 > MAX_TEXT - length)
		refuse(UNSUPPORTED, "the launch plan is over %d MiB", MAX_TEXT >> 20);
	for (size_t i = 0; bytes && i < count; i++) {
		text[length++] = digits[((const uint8_t *)bytes)[i] >> 4];
		text[length++] = digits[((const uint8_t *)bytes)[i] & 15];
	}
	if (bytes && !count)
		text[length++] = '-';
	text[length++] = '\n';
}

const char *
plan_text(size_t *bytes)
{
	*bytes = length;
	return text;
}

void
plan_cut(size_t bytes)
{
	length = bytes;
}

void
plan_move(size_t to, size_t from)
{
	memmove(text + to, text + from, length - from);
	length -= from - to;
}

/* ---- many plans, one after the other */
static void
put(const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = pwrite(job->plan_descriptor, bytes, count, (off_t)put_bytes);

		if (n <= 0)
			_exit(74);
		bytes += n;
		put_bytes += (size_t)n;
		count -= (size_t)n;
	}
}

void
plan_put(size_t head, size_t first, size_t last)
{
	if (!put_bytes && ftruncate(job->plan_descriptor, 0) < 0)
		_exit(74);
	put(text, head);
	put(text + first, last - first);
	put("end\n", 4);
}

void
plan_written(void)
{
	_exit(0);
}

/* ---- numbers and addresses */
void
recorder_mark(struct recorder_mark *mark)
{
	*mark = (struct recorder_mark){ .length = length, .address = memory_next(), .kernels = kernels_named() };
	runtime_count_handles(&mark->streams, &mark->events);
	runtime_watch(mark->address + job->shift);
}

bool
recorder_rewind(const struct recorder_mark *mark)
{
	if (!runtime_rewind(mark->address + job->shift, mark->streams, mark->events))
		return false;
	memory_rewind(mark->address);
	kernels_rewind(mark->kernels);
	return true;
}

bool
recorder_is_short(void)
{
	int streams, events;

	runtime_count_handles(&streams, &events);
	return memory_next() - CUDA_ARENA > CUDA_REGION_BYTES / 2 || runtime_memory_is_short() ||
		streams > PLAN_MAX_STREAMS / 2 || events > PLAN_MAX_EVENTS / 2;
}

/* ---- what km-record calls */
EXPORT int
kernelmosaic_recorder_start(const struct recorder_job *given)
{
	job = given;
	text = mmap(NULL, MAX_TEXT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (text == MAP_FAILED)
		return -1;
	memory_start();
	signals_start();
	plan_line("plan 1\nprofile %s\n", job->profile_name);
	for (uint32_t i = 0; i < job->buffers; i++)
		plan_line("buffer %s %s 0x%llx %llu\n", job->buffer[i].writable ? "output" : "input", job->buffer[i].name,
			(unsigned long long)job->buffer[i].address, (unsigned long long)job->buffer[i].bytes);
	return 0;
}

EXPORT void *
kernelmosaic_recorder_stream(void)
{
	return runtime_given_stream();
}

EXPORT void
kernelmosaic_loaded(void)
{
	if (job)
		doors_close();
}

EXPORT void
kernelmosaic_recorder_call(unsigned index)
{
	plan_line("call %u\n", index);
	in_call = true;
	operations = 0;
	memory_call();
	runtime_reset_failure();
}

EXPORT void
kernelmosaic_recorder_called(void)
{
	bool stands;
	const char *words = runtime_failure(&stands);

	in_call = false;
	if (*words && stands)
		refuse(RUNTIME_ERROR, "%s", words);
}

EXPORT void
kernelmosaic_recorder_finish(void)
{
	plan_line("end\n");
	write_all(text, length);
	_exit(0);
}

EXPORT void
kernelmosaic_recorder_refuse(const char *status, const char *reason)
{
	refuse(status, "%s", reason);
}
