/* Launches, and all that follows from them: findings, errors that stay, what kernels print, and a clock that is made up.
 *
 * In: launches that the front half has checked. Out: the kernel's effects, at once and in the order of the calls, which is
 * an order that streams and events allow. An error is told on standard error when it happens; the program learns of it
 * as it would from a GPU: the launch itself succeeds, every later call fails. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/die.h"
#include "cuda/cuda.h"
#include "eval/machine/state.h"

/* Numbers of cudaDeviceAttr and cudaError_t; the headers of CUDA belong to common/cuda. */
enum { ATTRIBUTE_CLOCK_KHZ = 13, ATTRIBUTE_MULTIPROCESSORS = 16, ATTRIBUTE_MEMORY_KHZ = 36, ATTRIBUTE_BUS_BITS = 37 };
enum {
	ERROR_INVALID_VALUE = 1, ERROR_ILLEGAL_ADDRESS = 700, ERROR_LAUNCH_TIMEOUT = 702, ERROR_ASSERT = 710,
	ERROR_STACK = 714, ERROR_MISALIGNED = 716, ERROR_PROGRAM_COUNTER = 718, ERROR_LAUNCH_FAILURE = 719,
	ERROR_NOT_SUPPORTED = 801,
};
enum { MAX_EVENTS = 4096, LAUNCH_NS = 2600, LANES_A_CLOCK = 128, SECTOR_BYTES = 32 };

const bool back_executes = true;
static int sticky_error;
static uint64_t finding_count;
static double clock_ns, event_ns[MAX_EVENTS];
static struct buf printed;

int
sticky(void)
{
	return sticky_error;
}

static void
set_sticky(int error)
{
	if (!sticky_error)
		sticky_error = error;
}

int
back_sticky(void)
{
	return sticky_error;
}

int
back_reset(void)
{
	flush_output();
	memory_forget();
	sticky_error = 0;
	return 0;
}

/* ---- findings and output */
static void
tell_findings(struct image *image)
{
	for (; image->findings < ptx_finding_count(image->machine); image->findings++) {
		say("%s", ptx_finding_at(image->machine, image->findings)->message);
		finding_count++;
	}
}

/* What kernels print comes out where the host waits, as with a GPU. */
void
flush_output(void)
{
	if (printed.len)
		fwrite(printed.data, 1, printed.len, stdout);
	buf_reset(&printed);
}

static void
take_output(struct image *image)
{
	const struct buf *output = ptx_output(image->machine);

	if (output->len)
		buf_add(&printed, output->data, output->len);
	ptx_clear_output(image->machine);
}

/* ---- the clock: what the instructions and the bytes would take with every unit of the GPU busy, and some for each
 * launch. An order of magnitude, for programs that divide by a time. */
static void
advance_clock(const struct ptx_counters *c)
{
	const int *attribute = options()->profile.attribute;
	double lanes_a_ns = (double)attribute[ATTRIBUTE_MULTIPROCESSORS] * LANES_A_CLOCK * attribute[ATTRIBUTE_CLOCK_KHZ] / 1e6;
	double bytes_a_ns = 2.0 * attribute[ATTRIBUTE_MEMORY_KHZ] * attribute[ATTRIBUTE_BUS_BITS] / 8 / 1e6;
	double compute = lanes_a_ns > 0 ? (double)c->lane_instructions / lanes_a_ns : 0;
	double memory = bytes_a_ns > 0 ?
		(double)(c->global_read_sectors + c->global_write_sectors) * SECTOR_BYTES / bytes_a_ns : 0;

	clock_ns += LAUNCH_NS + (compute > memory ? compute : memory);
}

/* ---- launches */
static int
error_of_finding(const struct image *image)
{
	size_t count = ptx_finding_count(image->machine);

	if (!count)
		return ERROR_LAUNCH_FAILURE;
	switch (ptx_finding_at(image->machine, count - 1)->kind) {
	case PTX_OUT_OF_BOUNDS: case PTX_USE_AFTER_FREE: case PTX_NO_MEMORY: case PTX_READ_ONLY_WRITE:
		return ERROR_ILLEGAL_ADDRESS;
	case PTX_MISALIGNED: return ERROR_MISALIGNED;
	case PTX_STACK_OVERFLOW: return ERROR_STACK;
	case PTX_BAD_CALL: return ERROR_PROGRAM_COUNTER;
	case PTX_ASSERT: return ERROR_ASSERT;
	default: return ERROR_LAUNCH_FAILURE;
	}
}

static int
error_of_status(enum ptx_status status, const struct image *image)
{
	switch (status) {
	case PTX_OK: return 0;
	case PTX_FAULT: return error_of_finding(image);
	case PTX_BUDGET: case PTX_DEADLOCK: return ERROR_LAUNCH_TIMEOUT;
	case PTX_UNSUPPORTED: return ERROR_NOT_SUPPORTED;
	case PTX_REFUSED: return ERROR_INVALID_VALUE;
	}
	return ERROR_LAUNCH_FAILURE;
}

static void
trace(const struct back_launch *l, const struct ptx_counters *c, enum ptx_status status)
{
	say("%s<<<(%u, %u, %u), (%u, %u, %u), %u>>>: %s, %llu lane instructions, %llu sectors", l->kernel->name, l->grid[0],
		l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_shared, ptx_status_name(status),
		(unsigned long long)c->lane_instructions,
		(unsigned long long)(c->global_read_sectors + c->global_write_sectors));
}

int
back_launch(const struct back_launch *l)
{
	struct image *image = images[l->kernel->image];
	struct ptx_launch how = { .kernel = l->kernel->name, .dynamic_shared = l->dynamic_shared, .params = l->parameters,
		.params_bytes = l->kernel->parameter_bytes, .cooperative = l->cooperative };
	struct ptx_counters counters = { 0 };
	struct buf err = BUF_INIT;
	size_t before = ptx_finding_count(image->machine);
	enum ptx_status status;

	if (sticky_error)
		return sticky_error;
	for (int i = 0; i < 3; i++) {
		how.grid[i] = l->grid[i];
		how.block[i] = l->block[i];
		how.cluster[i] = l->cluster[i];
	}
	memory_open();
	status = ptx_launch(image->machine, &how, &counters, &err);
	memory_close();
	take_output(image);
	advance_clock(&counters);
	if (options()->trace)
		trace(l, &counters, status);
	tell_findings(image);
	if (status != PTX_OK && ptx_finding_count(image->machine) == before) {
		say("%s", buf_str(&err));
		finding_count++;
	}
	set_sticky(error_of_status(status, image));
	buf_release(&err);
	return 0;
}

/* ---- streams and events: everything is done when it is issued */
int
back_new_stream(int stream, bool blocking)
{
	(void)stream, (void)blocking;
	return sticky_error;
}

int
back_event_record(int event, int stream)
{
	(void)stream;
	event_ns[event] = clock_ns;
	return sticky_error;
}

int
back_event_wait(int stream, int event)
{
	(void)stream, (void)event;
	return sticky_error;
}

int
back_await(int event)
{
	(void)event;
	flush_output();
	return sticky_error;
}

int
back_synchronise(int stream)
{
	(void)stream;
	flush_output();
	return sticky_error;
}

int
back_elapsed(int first, int last, float *ms)
{
	static bool told;

	if (!told && !options()->quiet)
		say("times between events are made up from instruction counts; nothing is measured");
	told = true;
	*ms = (float)((event_ns[last] - event_ns[first]) / 1e6);
	return sticky_error;
}

/* ---- failures */
void
back_failed(const char *words)
{
	say("%s", words);
}

int
back_refused(const char *function, const char *reason)
{
	say("%s is not possible: %s", function, reason);
	return ERROR_NOT_SUPPORTED;
}

__attribute__((destructor)) static void
finish(void)
{
	uint64_t dropped = 0;

	flush_output();
	for (int i = 0; i < image_count; i++)
		dropped += ptx_findings_dropped(images[i]->machine);
	if (dropped)
		say("%llu more findings were not told: there were too many", (unsigned long long)dropped);
	if (!image_count || !finding_count || !options()->error_exit)
		return;
	fflush(NULL);
	_exit(options()->error_exit);
}
