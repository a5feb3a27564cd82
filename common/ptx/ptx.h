/* The PTX machine: parses the PTX that nvcc emits for sm_90 and executes it, 32 lanes of a warp per
 * instruction. Every memory access is checked against the table of mapped buffers; what the machine does
 * not model is UNSUPPORTED by name, never a wrong answer. Everything here is deterministic: the same module,
 * memory and options give the same outputs, findings and counters on every machine. */
#ifndef PTX_PTX_H
#define PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "ptx/roofline.h"

/* ---- modules */

enum ptx_space { PTX_SPACE_GENERIC, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_LOCAL, PTX_SPACE_CONST, PTX_SPACE_PARAM };

struct ptx_param {
	const char *name;
	uint32_t offset, size, align;		/* bytes, within the parameter block of a launch */
};

struct ptx_kernel {
	const char *name;			/* mangled, as in the PTX */
	const struct ptx_param *params;
	size_t n_params;
	uint32_t params_bytes;			/* size of the parameter block */
	uint32_t shared_bytes;			/* static shared memory of a block, called functions included */
	uint32_t local_bytes;			/* local memory of a thread, called functions included */
	uint32_t max_threads[3];		/* .maxntid, zeros when absent */
	uint32_t required_threads[3];		/* .reqntid, zeros when absent */
};

struct ptx_symbol {
	const char *name;
	enum ptx_space space;			/* PTX_SPACE_GLOBAL or PTX_SPACE_CONST */
	uint64_t size;
	uint32_t align;
	bool external;				/* declared here, defined nowhere */
	bool initialised;			/* has an initialiser; without one it starts as zeros */
};

struct ptx_module;

/* Parses PTX text. The bytes need no NUL at the end and may hold anything: text of more than 64 MiB, more
 * than a million instructions or a broken construct is an error with its line. Instructions are decoded
 * later (ptx_kernel_check, ptx_launch), so one unsupported kernel does not take its neighbours along.
 * NULL with a sentence in err. Returned owned. */
struct ptx_module *ptx_parse(const char *text, size_t length, struct buf *err);
void ptx_module_free(struct ptx_module *module);

/* Kernels (.entry) and module variables in the order of the text. Borrowed from the module. */
size_t ptx_kernel_count(const struct ptx_module *module);
const struct ptx_kernel *ptx_kernel_at(const struct ptx_module *module, size_t index);
const struct ptx_kernel *ptx_kernel_find(const struct ptx_module *module, const char *name);
size_t ptx_symbol_count(const struct ptx_module *module);
const struct ptx_symbol *ptx_symbol_at(const struct ptx_module *module, size_t index);
const struct ptx_symbol *ptx_symbol_find(const struct ptx_module *module, const char *name);

/* Decodes a kernel and all it calls. 0, or -1 with a sentence such as
 * "Kernel k uses wgmma.mma_async, which the PTX machine does not support (line 41, k.cu:12)." */
int ptx_kernel_check(const struct ptx_module *module, const char *kernel, struct buf *err);

/* ---- machines */

struct ptx_options {
	uint64_t budget;		/* lane instructions in one launch, at least 16 for each of a warp; 0: 2^62 */
	size_t max_findings;		/* kept in all; 0: 64 */
	size_t max_memory;		/* bytes the machine may allocate for a launch; 0: 1 GiB */
	size_t max_output;		/* bytes of printf output kept; 0: 64 KiB */
	size_t max_shared;		/* bytes of shared memory a block may have; 0: 232448 (227 KiB) */
	bool checked;			/* initcheck: also track what has been initialised (slower) */
	bool racecheck;			/* also look for accesses that nothing orders (slower) */
	uint32_t quantum;		/* warp instructions before the next warp runs; 0: 512 */
	uint64_t schedule;		/* seed of the order of blocks and warps and of the length of their turns; 0: the plain
					 * order. Any order is one that a GPU may take, so right kernels do not care */
	uint64_t clock_start;		/* what %clock64 and %globaltimer start from */
	const struct roofline_gpu *profile;	/* also profile launches, for this GPU (slower); NULL: no */
};

enum ptx_status {
	PTX_OK,
	PTX_FAULT,			/* a memory error, a trap or an assertion stopped the launch; see the findings */
	PTX_BUDGET,			/* the instruction budget ran out */
	PTX_UNSUPPORTED,		/* err names kernel, instruction and line */
	PTX_DEADLOCK,			/* no thread that has a place can ever go on; see the findings */
	PTX_REFUSED			/* the launch itself is not possible: unknown kernel, sizes, parameters, memory */
};

enum ptx_check { PTX_MEMCHECK, PTX_INITCHECK, PTX_SYNCCHECK, PTX_RACECHECK };

enum ptx_kind {
	PTX_OUT_OF_BOUNDS, PTX_MISALIGNED, PTX_USE_AFTER_FREE, PTX_NO_MEMORY, PTX_READ_ONLY_WRITE,
	PTX_STACK_OVERFLOW, PTX_BAD_CALL, PTX_UNINITIALISED_READ, PTX_DIVERGENT_BARRIER, PTX_BARRIER_MISMATCH,
	PTX_EXITED_LANES_IN_MASK, PTX_LANE_NOT_IN_MASK, PTX_TRAP, PTX_ASSERT, PTX_STUCK,
	/* named in the order of what happened: the write was first and the read came second (RAW), and so on */
	PTX_WRITE_WRITE_RACE, PTX_WRITE_READ_RACE, PTX_READ_WRITE_RACE,
	PTX_NEVER_WRITTEN,
	PTX_N_KINDS
};

/* Names as they stand in records: "memcheck", "out_of_bounds", "global", "OK"... Static strings. */
const char *ptx_check_name(enum ptx_check check);
const char *ptx_kind_name(enum ptx_kind kind);
const char *ptx_space_name(enum ptx_space space);
const char *ptx_status_name(enum ptx_status status);

struct ptx_finding {
	enum ptx_check check;
	enum ptx_kind kind;
	const char *kernel;
	const char *file;		/* source file by .loc, NULL when the PTX has no line information */
	uint32_t line;			/* source line, 0 when unknown */
	uint32_t ptx_line;		/* line in the PTX text */
	const char *inlined_file;	/* where the function was inlined; NULL when it was not */
	uint32_t inlined_line;
	uint32_t block[3], thread[3];	/* of the first occurrence */
	enum ptx_space space;
	const char *buffer;		/* buffer or variable name, NULL when there is none near */
	int64_t offset_bytes;		/* of the access from the buffer's start */
	uint64_t address;
	uint32_t size_bytes;		/* of the access */
	uint64_t count;			/* lanes that did it there */
	bool warning;			/* it does no harm by itself: see ptx_error_count */
	bool pair;			/* a race: the other access follows, as far as its thread and place are known */
	uint32_t other_block[3], other_thread[3];
	const char *other_file;		/* NULL when the PTX has no line information */
	uint32_t other_line;
	const char *message;		/* one sentence, naming all of the above that matters */
};

/* Work done by one launch. Sectors are 32 bytes, counted per request of a warp. */
struct ptx_counters {
	uint64_t warp_instructions, lane_instructions;
	uint64_t budget_used;
	uint64_t global_read_requests, global_write_requests;
	uint64_t global_read_sectors, global_write_sectors;
	uint64_t global_read_bytes, global_write_bytes;	/* asked for by the lanes */
	uint64_t local_requests;
	uint64_t shared_requests;
	uint64_t shared_bank_conflicts;		/* additional passes beyond the first */
	uint64_t atomics;			/* lanes, global and shared */
	uint64_t barriers;			/* arrivals of warps */
	uint64_t divergent_branches;		/* warp instructions after which a warp ran in more parts */
	uint64_t blocks;
};

struct ptx_machine;

/* Borrows the module for the machine's life. options may be NULL. NULL with a sentence in err, also when
 * this CPU has no AVX2, FMA and F16C. Returned owned. */
struct ptx_machine *ptx_machine_new(const struct ptx_module *module, const struct ptx_options *options, struct buf *err);
void ptx_machine_free(struct ptx_machine *machine);
/* Changes budget and checked mode between launches. */
void ptx_machine_set_options(struct ptx_machine *machine, const struct ptx_options *options);

/* ---- memory: device address == host address, mapped by the caller */

enum ptx_access { PTX_READ = 1, PTX_WRITE = 2, PTX_READ_WRITE = 3 };

/* Declares host memory [address, address + size) as a device buffer; the memory is borrowed and must stay
 * mapped until ptx_unmap. `initialised` is where its bytes start for initcheck. size 0 is allowed. Overlap
 * with a live buffer is an error. A range of a freed buffer may be mapped anew. 0, or -1 with a sentence. */
int ptx_map(struct ptx_machine *machine, const char *name, uint64_t address, uint64_t size, enum ptx_access access,
	bool initialised, struct buf *err);
/* Forgets the buffer that starts at address: an access is then no_memory. */
int ptx_unmap(struct ptx_machine *machine, uint64_t address, struct buf *err);
/* Keeps the range on the books without touching its memory: an access is then use_after_free. */
int ptx_mark_freed(struct ptx_machine *machine, uint64_t address, struct buf *err);
/* After the host (or a memset, a copy) wrote a range, or poisoned it (initialised = false). Ranges
 * outside of buffers are ignored. Initialisation is tracked whether or not launches are checked, but
 * kernels mark what they write in checked launches only. */
void ptx_mark_initialised(struct ptx_machine *machine, uint64_t address, uint64_t size, bool initialised);
/* Copies the initialisation state of a range along with a device-to-device copy. */
void ptx_copy_initialised(struct ptx_machine *machine, uint64_t to, uint64_t from, uint64_t size);

/* Gives a module variable its address (host memory of its size, mapped by the caller, aligned to its
 * align) and maps it as a buffer of its name, constants read-only. Every variable that a kernel uses must
 * be placed before the launch. 0, or -1 with a sentence. */
int ptx_place_symbol(struct ptx_machine *machine, const char *name, uint64_t address, struct buf *err);
/* Writes the initialisers of all placed variables: once all are placed, since one may hold the address of
 * another, and again to start anew. 0, or -1 with a sentence. */
int ptx_write_symbols(struct ptx_machine *machine, struct buf *err);
/* Address of a placed symbol, 0 if it has none. */
uint64_t ptx_symbol_address(const struct ptx_machine *machine, const char *name);

/* ---- launches */

enum { PTX_PROFILE_BUFFERS = 64 };

struct ptx_launch {
	const char *kernel;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared;	/* bytes */
	const void *params;		/* parameter block in the kernel's layout, borrowed */
	size_t params_bytes;		/* must be at least the kernel's params_bytes */
	uint32_t cluster[3];		/* blocks of a cluster, zeros: none */
	bool cooperative;		/* grid-wide barriers work, and all blocks must fit on the device at once */
	uint32_t max_resident;		/* blocks that the device runs at once; 0: what 132 multiprocessors of sm_90 hold by
					 * threads and shared memory, their registers left aside */
	uint32_t registers;		/* of a thread, by the machine code; for profiles, 0: not known */
};

/* Runs all blocks. They get their places in order, and those that have one run at the same time: whatever waits for
 * another thread that has a place (locks, flags, barriers) goes on in the end, as with independent thread scheduling.
 * Where all that have a place wait, or spin on memory that nobody changes, PTX_DEADLOCK says so at once.
 * counters (may be NULL) are those of this launch. err gets a sentence whenever the status is not PTX_OK. Findings add
 * up over launches. */
enum ptx_status ptx_launch(struct ptx_machine *machine, const struct ptx_launch *launch, struct ptx_counters *counters,
	struct buf *err);

/* Findings so far, at most max_findings, one for each (kind, source line of a kernel), or without lines for each (kind,
 * buffer); later ones only count. A full list gives the place of a warning to an error, and the place of one of several
 * of a check to the first of another. Borrowed until the next launch or ptx_clear_findings. */
size_t ptx_finding_count(const struct ptx_machine *machine);
/* Those that are no warnings. Warnings are races within one warp, which lock-step hides on most GPUs, races that leave
 * memory as it was, and elements that were never written: whether they did harm, the outputs tell. */
size_t ptx_error_count(const struct ptx_machine *machine);
bool ptx_is_warning(const struct ptx_finding *finding);
const struct ptx_finding *ptx_finding_at(const struct ptx_machine *machine, size_t index);
/* How many more places there were than the list holds. */
uint64_t ptx_findings_dropped(const struct ptx_machine *machine);
void ptx_clear_findings(struct ptx_machine *machine);

/* Adds a warning if launches in checked mode left elements of an output unwritten: how many, and the subscripts of the
 * first. address: of a buffer that was mapped as not initialised; shape: its elements, the last index fastest. */
void ptx_check_written(struct ptx_machine *machine, uint64_t address, uint32_t element_bytes, int rank,
	const int64_t *shape);

/* What device printf wrote so far, cut at max_output. Borrowed. */
const struct buf *ptx_output(const struct ptx_machine *machine);
void ptx_clear_output(struct ptx_machine *machine);

/* ---- profiles */

struct ptx_profile_buffer {
	const char *name;
	uint64_t size_bytes;
	uint64_t read_bytes, write_bytes;	/* asked for by the lanes */
	uint64_t footprint_bytes;		/* in distinct sectors of 32 bytes */
};

/* What profiled launches did, added up; `longest` is of the one with the longest estimate, `last` of the last. */
struct ptx_profile {
	const char *gpu;
	uint64_t mix[MIX_N];			/* warp instructions by kind */
	uint64_t lanes;				/* lanes of all of them together */
	uint64_t l1_hit_sectors, l2_sectors, dram_sectors;
	const struct ptx_profile_buffer *buffers[PTX_PROFILE_BUFFERS];
	uint32_t n_buffers;			/* in order of first use; later ones are not counted */
	double time_us;				/* estimates, added up */
	const char *kernel;			/* of the launch with the longest estimate, NULL without launches */
	struct roofline_estimate longest;	/* that estimate */
	struct roofline_work longest_work, last_work;
};

/* What was profiled since the machine was made, NULL when nothing was. Borrowed until the next launch. */
const struct ptx_profile *ptx_profile(const struct ptx_machine *machine);

/* ---- coverage */

/* Writes one line for each row of the instruction table: opcode, accepted modifiers, types, operands. */
void ptx_list_instructions(struct buf *out);

#endif
