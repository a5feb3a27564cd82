/* The device's memory: pages of this process at addresses of their own, which the machine uses as they are.
 *
 * In: what the front half allocates, sets and copies. Out: the bytes, and for every machine what is mapped, freed and
 * initialised. The hard idea: all of it is without access rights unless kernels or copies are at work, so that host code
 * which follows a device pointer faults, as it does with a GPU. Addresses are never given out twice. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/die.h"
#include "cuda/cuda.h"
#include "eval/machine/state.h"

enum { PAGE = 4096 };
/* Regions of address space: the device's, that of variables, and one that the host may touch as well. */
#define REGION (1ull << 40)
#define SHARED_REGION 0x320000000000ull

struct piece {
	uint64_t address, bytes;
	enum back_memory kind;
	bool freed;
	char name[40];
};

static uint64_t next_device = CUDA_ARENA, next_symbol = CUDA_SYMBOLS, next_shared = SHARED_REGION;
static struct piece **pieces;
static uint32_t piece_count, piece_room;
static int opened;

static uint64_t
pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* ---- who may touch it */
static void
on_fault(int number, siginfo_t *info, void *context)
{
	char words[300];
	int n;

	(void)context;
	signal(number, SIG_DFL);	/* the access is tried again, and ends the program */
	if (!back_is_device(info->si_addr))
		return;
	n = snprintf(words, sizeof words, "km-run: host code touches device memory at %s: only kernels and copies may\n",
		runtime_describe(info->si_addr));
	if (write(STDERR_FILENO, words, (size_t)n) != n)
		_exit(70);
}

static void
reserve(uint64_t address)
{
	if (mmap((void *)(uintptr_t)address, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
	    MAP_FIXED_NOREPLACE, -1, 0) != (void *)(uintptr_t)address)
		refuse(UNSUPPORTED, "the address range of device memory is taken in this process");
}

static void
start(void)
{
	static bool started;
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	if (started)
		return;
	started = true;
	reserve(CUDA_ARENA);
	reserve(CUDA_SYMBOLS);
	reserve(SHARED_REGION);
	sigaction(SIGSEGV, &action, NULL);
}

static void
protect(uint64_t from, uint64_t to, int rights)
{
	if (to > from && mprotect((void *)(uintptr_t)from, to - from, rights) < 0)
		refuse(UNSUPPORTED, "cannot change the rights to %llu bytes of memory", (unsigned long long)(to - from));
}

void
memory_open(void)
{
	start();
	if (opened++)
		return;
	protect(CUDA_ARENA, next_device, PROT_READ | PROT_WRITE);
	protect(CUDA_SYMBOLS, next_symbol, PROT_READ | PROT_WRITE);
}

void
memory_close(void)
{
	if (--opened)
		return;
	protect(CUDA_ARENA, next_device, PROT_NONE);
	protect(CUDA_SYMBOLS, next_symbol, PROT_NONE);
}

bool
back_is_device(const void *pointer)
{
	uint64_t address = (uint64_t)(uintptr_t)pointer;

	return address - CUDA_ARENA < REGION || address - CUDA_SYMBOLS < REGION;
}

/* ---- allocation */
uint64_t
back_memory_bytes(void)
{
	return options()->profile.memory_free;
}

/* Pages of its own, with one after them that nobody has. */
static int
take(uint64_t *next, uint64_t start_of_region, uint64_t bytes, uint64_t *address)
{
	if (bytes > REGION || pages(bytes) + PAGE > start_of_region + REGION - *next)
		return -1;
	*address = *next;
	*next += pages(bytes) + PAGE;
	return 0;
}

int
back_place(uint64_t bytes, enum back_memory kind, uint64_t *address)
{
	start();
	return kind == MEMORY_DEVICE ? take(&next_device, CUDA_ARENA, bytes, address) :
		take(&next_shared, SHARED_REGION, bytes, address);
}

uint64_t
memory_for_symbol(uint64_t bytes, bool host)
{
	uint64_t address;

	start();
	if ((host ? take(&next_shared, SHARED_REGION, bytes, &address) : take(&next_symbol, CUDA_SYMBOLS, bytes, &address)) < 0)
		refuse(UNSUPPORTED, "the program's device variables do not fit 1 TiB");
	protect(address, address + pages(bytes), PROT_READ | PROT_WRITE);
	return address;
}

static void
map_piece(struct ptx_machine *machine, const struct piece *p)
{
	struct buf err = BUF_INIT;

	if (ptx_map(machine, p->name, p->address, p->bytes, PTX_READ_WRITE, p->kind != MEMORY_DEVICE, &err) < 0)
		refuse(UNSUPPORTED, "%s", buf_str(&err));
}

void
memory_map_all(struct ptx_machine *machine)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (!pieces[i]->freed)
			map_piece(machine, pieces[i]);
}

/* NaN, so that reading it shows. Rights are changed for this piece alone: to change them for all memory at each of many
 * allocations takes time that grows with their square. */
static void
poison(uint64_t address, uint64_t bytes)
{
	if (!opened)
		protect(address, address + pages(bytes), PROT_READ | PROT_WRITE);
	memset((void *)(uintptr_t)address, 0xff, bytes);
	if (!opened)
		protect(address, address + pages(bytes), PROT_NONE);
}

int
back_allocate(int stream, uint64_t address, uint64_t bytes, enum back_memory kind)
{
	static const char *const names[] = { "allocation", "managed allocation", "pinned allocation", "registered memory" };
	static unsigned counts[sizeof names / sizeof *names];
	struct piece *p;

	(void)stream;
	if (sticky())
		return sticky();
	start();
	p = xcalloc(1, sizeof *p);
	*p = (struct piece){ .address = address, .bytes = bytes, .kind = kind };
	snprintf(p->name, sizeof p->name, "%s %u", names[kind], ++counts[kind]);
	if (piece_count == piece_room) {
		piece_room = piece_room ? 2 * piece_room : 64;
		pieces = xrealloc(pieces, piece_room * sizeof *pieces);
	}
	pieces[piece_count++] = p;
	if (kind == MEMORY_MANAGED || kind == MEMORY_PINNED)
		protect(address, address + pages(bytes), PROT_READ | PROT_WRITE);
	if (kind == MEMORY_DEVICE)
		poison(address, bytes);
	for (int i = 0; i < image_count; i++)
		map_piece(images[i]->machine, p);
	return 0;
}

static void
forget_piece(struct piece *p)
{
	struct buf err = BUF_INIT;

	for (int i = 0; i < image_count; i++)
		if (p->kind == MEMORY_REGISTERED ? ptx_unmap(images[i]->machine, p->address, &err) :
		    ptx_mark_freed(images[i]->machine, p->address, &err))
			refuse(UNSUPPORTED, "%s", buf_str(&err));
	p->freed = true;
	if (p->kind == MEMORY_REGISTERED)
		return;
	madvise((void *)(uintptr_t)p->address, pages(p->bytes), MADV_DONTNEED);
	if (p->kind != MEMORY_DEVICE)
		protect(p->address, p->address + pages(p->bytes), PROT_NONE);
}

int
back_free(int stream, uint64_t address, uint64_t bytes, enum back_memory kind)
{
	(void)stream, (void)bytes, (void)kind;
	if (sticky())
		return sticky();
	for (uint32_t i = piece_count; i-- > 0;)
		if (pieces[i]->address == address && !pieces[i]->freed) {
			forget_piece(pieces[i]);
			free(pieces[i]);
			pieces[i] = pieces[--piece_count];
			break;
		}
	return 0;
}

void
memory_forget(void)
{
	for (uint32_t i = 0; i < piece_count;)
		if (pieces[i]->kind == MEMORY_REGISTERED) {
			i++;
		} else {
			forget_piece(pieces[i]);
			pieces[i] = pieces[--piece_count];
		}
}

/* ---- set, copy, fill */
static void
mark_written(uint64_t address, uint64_t bytes)
{
	for (int i = 0; i < image_count; i++)
		ptx_mark_initialised(images[i]->machine, address, bytes, true);
}

int
back_set(int stream, uint64_t address, const struct back_rows *r, uint32_t value)
{
	(void)stream;
	if (sticky())
		return sticky();
	memory_open();
	for (uint64_t row = 0; row < r->height; row++) {
		memset((void *)(uintptr_t)(address + row * r->pitch), (int)value, r->width);
		mark_written(address + row * r->pitch, r->width);
	}
	memory_close();
	return 0;
}

int
back_copy(int stream, uint64_t to, uint64_t from, const struct back_rows *r)
{
	(void)stream;
	if (sticky())
		return sticky();
	memory_open();
	for (uint64_t row = 0; row < r->height; row++) {
		uint64_t target = to + row * r->pitch, source = from + row * r->source_pitch;

		memmove((void *)(uintptr_t)target, (const void *)(uintptr_t)source, r->width);
		for (int i = 0; i < image_count; i++)
			ptx_copy_initialised(images[i]->machine, target, source, r->width);
	}
	memory_close();
	return 0;
}

int
back_upload(const char *call, int stream, uint64_t to, const void *from, uint64_t bytes)
{
	(void)call, (void)stream;
	if (sticky())
		return sticky();
	flush_output();
	memory_open();
	memcpy((void *)(uintptr_t)to, from, bytes);
	mark_written(to, bytes);
	memory_close();
	return 0;
}

int
back_download(const char *call, int stream, void *to, uint64_t from, uint64_t bytes)
{
	(void)call, (void)stream;
	if (sticky())
		return sticky();
	flush_output();
	memory_open();
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	memory_close();
	return 0;
}
