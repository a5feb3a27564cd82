/* A launch plan on the PTX machine. In: the operations of one call of solve(). Out: what they did to memory, with counters,
 * or the reason why the plan stopped. All that takes time counts against one budget of lane instructions. */
#include "eval/ptx_worker.h"

#include <string.h>
#include <sys/mman.h>

#include "base/die.h"

enum { MAX_THREADS = 1024, PAGE_BYTES = 4096 };
/* What else takes time counts against the budget too, as the lane instructions that would take about as long: else a
 * plan of empty blocks or of memsets meets the wall clock, which is no verdict. */
enum { COST_OF_BLOCK = 32, BYTES_PER_COST = 64 };
/* Where clocks start in another order: long after any date that a kernel may wait for, and any uptime. */
#define LATER_NS 9000000000000000000ull

static void
add_counters(struct ptx_counters *total, const struct ptx_counters *one)
{
	const uint64_t *from = (const uint64_t *)one;
	uint64_t *to = (uint64_t *)total;

	for (size_t i = 0; i < sizeof *total / sizeof *to; i++)
		to[i] += from[i];
}

static uint64_t
left_of_budget(const struct worker *w)
{
	uint64_t used = w->total.budget_used + w->charged;

	return w->budget > used ? w->budget - used : 0;
}

/* False when the budget does not hold `count` pieces of work that cost `each`. */
static bool
charge(struct worker *w, uint64_t count, uint64_t each, const char *what)
{
	if (!each || count <= left_of_budget(w) / each) {
		w->charged += count * each;
		return true;
	}
	w->status = PTX_BUDGET;
	buf_addf(&w->reason, "%s is more work than the budget of %llu lane instructions holds: a block counts as %d, and %d "
		"bytes that are set, copied, allocated, or a block's own as one", what, (unsigned long long)w->budget,
		COST_OF_BLOCK, BYTES_PER_COST);
	return false;
}

static bool
charge_launch(struct worker *w, const struct plan_launch *l, const char *name)
{
	const struct ptx_kernel *k = ptx_kernel_find(w->module, name);
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	uint64_t own_bytes = l->dynamic_shared_bytes + (k ? k->shared_bytes + threads * k->local_bytes : 0);
	struct buf what = BUF_INIT;

	buf_addf(&what, "launching kernel %s", name);
	bool held = charge(w, blocks, COST_OF_BLOCK + own_bytes / BYTES_PER_COST, buf_str(&what));
	buf_release(&what);
	return held;
}

/* How many of its blocks the GPU runs at once, by what ptxas says of its registers. */
static uint32_t
resident_blocks(const struct worker *w, const struct plan_launch *l)
{
	const struct plan_kernel *kernel = &w->plan->kernel[l->kernel];
	const struct ptx_kernel *k = ptx_kernel_find(w->module, kernel->name);
	const uint32_t *limit = k ? k->max_threads : NULL;
	struct occupancy_kernel o = { kernel->registers, kernel->static_shared,
		limit && limit[0] ? limit[0] * limit[1] * limit[2] : MAX_THREADS,
		w->occupancy->shared_block_bytes - kernel->static_shared, -1, w->occupancy };
	uint32_t blocks = occupancy_blocks(&o, l->block[0] * l->block[1] * l->block[2], l->dynamic_shared_bytes);

	return w->gpu->multiprocessors * (blocks ? blocks : 1);
}

static void
launch(struct worker *w, const struct plan_launch *l)
{
	struct ptx_options options = { .checked = w->checked, .racecheck = w->checked, .max_findings = MAX_FINDINGS,
		.schedule = w->schedule, .clock_start = w->other_streams ? LATER_NS : 0 };
	struct ptx_launch how = { .kernel = w->plan->kernel[l->kernel].name, .dynamic_shared = l->dynamic_shared_bytes,
		.params = l->arguments, .params_bytes = l->argument_bytes, .cooperative = l->cooperative,
		.max_resident = resident_blocks(w, l) };
	struct ptx_counters counters = { 0 };

	if (!charge_launch(w, l, how.kernel))
		return;
	options.budget = left_of_budget(w) ? left_of_budget(w) : 1;	/* 0 would be none */
	options.profile = w->estimates ? w->gpu : NULL;
	options.max_shared = w->occupancy->shared_block_bytes;
	how.registers = w->plan->kernel[l->kernel].registers;
	memcpy(how.grid, l->grid, sizeof how.grid);
	memcpy(how.block, l->block, sizeof how.block);
	memcpy(how.cluster, l->cluster, sizeof how.cluster);
	ptx_machine_set_options(w->machine, &options);
	w->status = ptx_launch(w->machine, &how, &counters, &w->reason);
	if (w->status == PTX_BUDGET) {		/* the whole budget says more than what was left of it */
		buf_reset(&w->reason);
		buf_addf(&w->reason, "Kernel %s used up the budget of %llu lane instructions.", how.kernel,
			(unsigned long long)w->budget);
	}
	add_counters(&w->total, &counters);
}

/* Elements of up to four bytes: the first by hand, the rest by doubling. */
static void
fill(uint8_t *to, uint64_t bytes, uint32_t value, uint32_t value_bytes)
{
	uint64_t done = 0;

	for (; done < bytes && done < value_bytes; done++)
		to[done] = (uint8_t)(value >> 8 * done);
	while (done < bytes) {
		uint64_t more = done < bytes - done ? done : bytes - done;

		memcpy(to + done, to, more);
		done += more;
	}
}

/* What the runtime moves counts as what a kernel moves would. */
static uint64_t
sectors(uint64_t rows, uint64_t width)
{
	return rows * ((width + 31) / 32);
}

/* An estimate of moving so many sectors, where there is a profile. */
static void
estimate_transfer(struct worker *w, uint64_t read, uint64_t written)
{
	struct roofline_work work = { .l2_sectors = (double)(read + written), .dram_sectors = (double)read,
		.dirty_sectors = (double)written };
	struct roofline_estimate estimate;

	if (!w->estimates)
		return;
	roofline_time(&work, w->gpu, &roofline_fitted, &estimate);
	w->transfer_us += estimate.time_us;
}

static void
set_memory(struct worker *w, const struct plan_memory *m)
{
	if (!charge(w, m->height, 1 + m->width / BYTES_PER_COST, "setting memory"))
		return;
	w->total.global_write_sectors += sectors(m->height, m->width);
	estimate_transfer(w, 0, sectors(m->height, m->width));
	for (uint64_t row = 0; row < m->height; row++) {
		uint64_t address = m->address + row * m->pitch;

		fill((uint8_t *)address, m->width, m->value, m->value_bytes);
		ptx_mark_initialised(w->machine, address, m->width, true);
	}
}

static void
copy_memory(struct worker *w, const struct plan_memory *m)
{
	if (!charge(w, m->height, 1 + m->width / BYTES_PER_COST, "copying memory"))
		return;
	w->total.global_read_sectors += sectors(m->height, m->width);
	w->total.global_write_sectors += sectors(m->height, m->width);
	estimate_transfer(w, sectors(m->height, m->width), sectors(m->height, m->width));
	for (uint64_t row = 0; row < m->height; row++) {
		uint64_t to = m->address + row * m->pitch, from = m->source + row * m->source_pitch;

		memmove((void *)to, (const void *)from, m->width);
		ptx_copy_initialised(w->machine, to, from, m->width);
	}
}

/* The whole pages of a scratch buffer; those at its ends may be shared with neighbours and stay. */
static uint64_t
inner_pages(const struct plan_operation *o, uint64_t *bytes)
{
	uint64_t start = (o->scratch.address + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t end = (o->scratch.address + o->scratch.bytes) & ~(uint64_t)(PAGE_BYTES - 1);

	*bytes = end > start ? end - start : 0;
	return start;
}

/* Does the call leave it to the calls after it? */
static bool
is_kept(const struct plan *plan, const struct plan_operation *allocation)
{
	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1]; i++)
		if (plan->operation[i].kind == PLAN_FREE &&
		    plan->operation[i].scratch.address == allocation->scratch.address)
			return false;
	return true;
}

/* Memory at an address that the call gives back. */
static bool
is_freed(const struct plan *plan, uint64_t address)
{
	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1]; i++) {
		const struct plan_operation *o = &plan->operation[i];

		if (o->kind == PLAN_ALLOCATE && address - o->scratch.address < o->scratch.bytes && !is_kept(plan, o))
			return true;
	}
	return false;
}

/* Its pages; in a repeated call those at the ends are still there, and all of what is kept. */
static void *
map_scratch(const struct worker *w, const struct plan_operation *o)
{
	uint64_t bytes, start = inner_pages(o, &bytes);

	if (!w->repeating)
		return worker_map_pages(o->scratch.address, o->scratch.bytes);
	if (is_kept(w->plan, o))
		return (void *)o->scratch.address;
	if (bytes && mmap((void *)start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		die(EX_TEMPFAIL, "cannot map %llu bytes at %#llx:", (unsigned long long)bytes, (unsigned long long)start);
	return (void *)o->scratch.address;
}

static void
allocate(struct worker *w, const struct plan_operation *o, uint32_t number)
{
	struct buf name = BUF_INIT, err = BUF_INIT;

	if (!charge(w, 1, 1 + o->scratch.bytes / BYTES_PER_COST, "allocating memory"))
		return;
	buf_addf(&name, "scratch %u", number);
	memset(map_scratch(w, o), 0xff, o->scratch.bytes);
	if (w->repeating && is_kept(w->plan, o)) {
		ptx_mark_initialised(w->machine, o->scratch.address, o->scratch.bytes, false);
		buf_release(&name);
		return;
	}
	worker_check(ptx_map(w->machine, buf_detach(&name), o->scratch.address, o->scratch.bytes, PTX_READ_WRITE, false, &err),
		&err);
}

/* Addresses are given out once in a call, but the memory is needed for what comes after. */
static void
free_scratch(struct worker *w, const struct plan_operation *o)
{
	struct buf err = BUF_INIT;
	uint64_t bytes, start = inner_pages(o, &bytes);

	worker_check(ptx_mark_freed(w->machine, o->scratch.address, &err), &err);
	if (bytes)
		munmap((void *)start, bytes);
}

void
worker_drop_scratch(struct worker *w)
{
	struct buf ignored = BUF_INIT;

	for (uint32_t i = w->plan->call_start[0]; i < w->plan->call_start[1]; i++) {
		const struct plan_operation *o = &w->plan->operation[i];
		uint64_t bytes, start;

		if (o->kind != PLAN_ALLOCATE || is_kept(w->plan, o) || ptx_mark_freed(w->machine, o->scratch.address, &ignored))
			continue;
		start = inner_pages(o, &bytes);
		if (bytes)
			munmap((void *)start, bytes);
	}
	buf_release(&ignored);
}

static void
run_operation(struct worker *w, const struct plan_operation *o, uint32_t *scratch)
{
	switch (o->kind) {
	case PLAN_LAUNCH: launch(w, &o->launch); break;
	case PLAN_MEMSET: set_memory(w, &o->memory); break;
	case PLAN_COPY: copy_memory(w, &o->memory); break;
	case PLAN_UPLOAD:
		w->total.global_write_sectors += sectors(1, o->memory.width);
		memcpy((void *)o->memory.address, o->memory.data, o->memory.width);
		ptx_mark_initialised(w->machine, o->memory.address, o->memory.width, true);
		break;
	case PLAN_ALLOCATE: allocate(w, o, (*scratch)++); break;
	case PLAN_FREE: free_scratch(w, o); break;
	case PLAN_EVENT_RECORD:
	case PLAN_EVENT_WAIT:
	case PLAN_SYNCHRONISE:
	case PLAN_AWAIT:
		break;	/* operations run one after the other */
	}
}

/* In another order all memory is taken before. */
void
worker_run_plan(struct worker *w)
{
	uint32_t start = w->plan->call_start[0], end = w->plan->call_start[1], scratch = 0;
	uint32_t *order = xcalloc(end - start + 1, sizeof *order);
	bool other = w->other_streams && plan_other_order(w->plan, 0, w->late, order);

	w->reordered_streams = other;
	for (uint32_t i = start; i < end && w->status == PTX_OK; i++)
		if (!other || w->plan->operation[i].kind == PLAN_ALLOCATE)
			run_operation(w, &w->plan->operation[i], &scratch);
	for (uint32_t i = 0; other && order[i] && w->status == PTX_OK; i++)
		run_operation(w, &w->plan->operation[order[i] - 1], &scratch);
	free(order);
}

void
worker_check_filled_once(struct worker *w)
{
	for (uint32_t i = w->plan->call_start[0]; i < w->plan->call_start[1] && !w->keeps_state; i++) {
		const struct plan_operation *o = &w->plan->operation[i];

		if (o->kind != PLAN_UPLOAD || !o->memory.once || is_freed(w->plan, o->memory.address) ||
		    !memcmp((const void *)o->memory.address, o->memory.data, o->memory.width))
			continue;
		w->keeps_state = true;
		buf_adds(&w->reason, "memory that solve() fills in its first call only is changed by its kernels: later calls find "
			"something else there");
	}
}
