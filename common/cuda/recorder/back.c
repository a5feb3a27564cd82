/* The back end that records: each piece of work becomes a line of the launch plan.
 *
 * In: work that the front half has checked. Out: lines (common/cuda/PLAN.md). There is no memory behind the device's
 * addresses: they are reserved without access rights, so that host code which follows a device pointer faults, as it
 * does with a GPU. The program sees the plan's addresses plus the job's shift. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "cuda/cuda.h"
#include "cuda/recorder/state.h"

enum { MAX_UPLOAD = 1 << 20, MAX_KERNELS = 4096 };

const bool back_executes = false;
static uint64_t next_address, uploaded;
static int kernel_number[MAX_KERNELS];	/* in the plan, plus one; by the job's order */
static int kernel_numbers;

const struct gpu_profile *
back_profile(void)
{
	return job->profile;
}

static unsigned long long
planned(uint64_t address)
{
	return address - job->shift;
}

/* ---- device code */
int
back_register(const void *wrapper)
{
	static unsigned images;

	(void)wrapper;
	if (images++)
		refuse(SUSPICIOUS, "the program registers a second device image; device code comes from nvcc alone");
	return 0;
}

const struct runtime_kernel *
back_kernel(int image, const char *name)
{
	(void)image;
	for (uint32_t i = 0; i < job->kernels; i++)
		if (!strcmp(job->kernel[i].name, name))
			return &job->kernel[i];
	return NULL;
}

const struct runtime_symbol *
back_symbol(int image, const char *name)
{
	static struct runtime_symbol shifted[MAX_KERNELS];

	(void)image;
	for (uint32_t i = 0; i < job->symbols && i < MAX_KERNELS; i++)
		if (!strcmp(job->symbol[i].name, name)) {
			shifted[i] = job->symbol[i];
			shifted[i].address += job->shift;
			return &shifted[i];
		}
	return NULL;
}

/* ---- memory */
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

		runtime_add_memory(b->name, b->address + job->shift, b->bytes, MEMORY_DEVICE, b->writable);
	}
	for (uint32_t i = 0; i < job->symbols; i++)
		runtime_add_memory(job->symbol[i].name, job->symbol[i].address + job->shift, job->symbol[i].bytes, MEMORY_DEVICE,
			true);
	next_address = job->next_address;
}

void
memory_call(void)
{
	uploaded = 0;
}

uint64_t
memory_next(void)
{
	return next_address;
}

void
memory_rewind(uint64_t next)
{
	next_address = next;
}

int
kernels_named(void)
{
	return kernel_numbers;
}

void
kernels_rewind(int count)
{
	for (int i = 0; kernel_numbers > count && i < MAX_KERNELS; i++)
		if (kernel_number[i] > count)
			kernel_number[i] = 0;
	kernel_numbers = count;
}

bool
back_is_device(const void *pointer)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer - job->shift;

	return address - CUDA_ARENA < CUDA_REGION_BYTES || address - CUDA_SYMBOLS < CUDA_REGION_BYTES;
}

/* As plan_place puts the buffers: near the end of granules of its own, with an unmapped one after them. */
int
back_place(uint64_t bytes, enum back_memory kind, uint64_t *address)
{
	uint64_t room = (bytes + CUDA_GRANULE - 1) / CUDA_GRANULE * CUDA_GRANULE;

	(void)kind;
	if (bytes > CUDA_REGION_BYTES || room + CUDA_GRANULE > CUDA_ARENA + CUDA_REGION_BYTES - next_address)
		return -1;
	*address = next_address + room - (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT + job->shift;
	next_address += room + CUDA_GRANULE;
	return 0;
}

uint64_t
back_memory_bytes(void)
{
	return job->scratch_bytes;
}

/* ---- work */
int
back_launch(const struct back_launch *l)
{
	int *number = &kernel_number[l->kernel - job->kernel];

	if (!*number) {
		*number = ++kernel_numbers;
		plan_line("kernel %d %s\n", *number - 1, l->kernel->name);
	}
	plan_operation(l->parameters, l->kernel->parameter_bytes, "launch %d %d %u %u %u %u %u %u %u %d %u %u %u ", *number - 1,
		l->stream, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->dynamic_shared,
		l->cooperative, l->cluster[0], l->cluster[1], l->cluster[2]);
	return 0;
}

int
back_set(int stream, uint64_t address, const struct back_rows *r, uint32_t value)
{
	plan_operation(NULL, 0, "memset %d 0x%llx %llu %u 1 %llu %llu", stream, planned(address),
		(unsigned long long)r->pitch, value, (unsigned long long)r->width, (unsigned long long)r->height);
	return 0;
}

int
back_copy(int stream, uint64_t to, uint64_t from, const struct back_rows *r)
{
	plan_operation(NULL, 0, "copy %d 0x%llx %llu 0x%llx %llu %llu %llu", stream, planned(to), (unsigned long long)r->pitch,
		planned(from), (unsigned long long)r->source_pitch, (unsigned long long)r->width,
		(unsigned long long)r->height);
	return 0;
}

/* The bytes are read before anything is written, for reading them may fault. */
int
back_upload(const char *call, int stream, uint64_t to, const void *from, uint64_t bytes)
{
	static uint8_t copy[MAX_UPLOAD];

	uploaded += bytes;
	if (bytes > MAX_UPLOAD || uploaded > MAX_UPLOAD)
		refuse(UNSUPPORTED, "%s is not supported: solve() may upload at most 1 MiB of host data", call);
	memcpy(copy, from, bytes);
	plan_operation(copy, bytes, "upload %d 0x%llx %llu ", stream, planned(to), (unsigned long long)bytes);
	return 0;
}

int
back_download(const char *call, int stream, void *to, uint64_t from, uint64_t bytes)
{
	(void)stream, (void)to, (void)bytes;
	refuse(UNSUPPORTED, "%s from device to host is not supported: host code may not read device memory (%s)", call,
		runtime_describe((void *)(uintptr_t)from));
}

int
back_allocate(int stream, uint64_t address, uint64_t bytes, enum back_memory kind)
{
	(void)kind;
	plan_operation(NULL, 0, "allocate %d 0x%llx %llu", stream, planned(address), (unsigned long long)bytes);
	return 0;
}

int
back_free(int stream, uint64_t address, uint64_t bytes, enum back_memory kind)
{
	(void)bytes, (void)kind;
	plan_operation(NULL, 0, "free %d 0x%llx", stream, planned(address));
	return 0;
}

int
back_new_stream(int stream, bool blocking)
{
	plan_line("stream %d %s\n", stream, blocking ? "blocking" : "independent");
	return 0;
}

int
back_event_record(int event, int stream)
{
	plan_operation(NULL, 0, "record %d %d", event, stream);
	return 0;
}

int
back_event_wait(int stream, int event)
{
	plan_operation(NULL, 0, "wait %d %d", stream, event);
	return 0;
}

int
back_await(int event)
{
	plan_operation(NULL, 0, "await %d", event);
	return 0;
}

int
back_synchronise(int stream)
{
	if (stream == WHOLE_DEVICE)
		plan_operation(NULL, 0, "synchronise device");
	else
		plan_operation(NULL, 0, "synchronise %d", stream);
	return 0;
}

/* ---- what only executed work has */
int
back_elapsed(int first, int last, float *ms)
{
	(void)first, (void)last, (void)ms;
	return 0;
}

int
back_sticky(void)
{
	return 0;
}

int
back_reset(void)
{
	return 0;
}

/* ---- failures: told at the end of the call, by runtime_failure */
void
back_failed(const char *words)
{
	(void)words;
}

int
back_refused(const char *function, const char *reason)
{
	refuse(UNSUPPORTED, "%s is not possible: %s", function, reason);
}
