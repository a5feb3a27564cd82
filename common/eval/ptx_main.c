/* km-ptx IN OUT: the PTX worker. In: IN/{job.json, plan, device.ptx, device.fatbin, inputs.bin}. Out:
 * OUT/report.json and OUT/outputs.bin. Buffers are mapped where the plan recorded them, so that a device
 * pointer is a host pointer; nothing but inputs, poisoned outputs and scratch is there to be read. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/die.h"
#include "base/io.h"
#include "base/occupancy.h"
#include "cuda/arch.h"
#include "cuda/plan.h"
#include "eval/names.h"
#include "ptx/ptx.h"
#include "rec/json.h"

enum { MAX_THREADS = 1024, PAGE_BYTES = 4096, MAX_FILE_BYTES = 64 << 20, MAX_BUFFERS = 64, MAX_FINDINGS = 16,
	MAX_RANK = 8 };
/* What else takes time counts against the budget too, as the lane instructions that would take about as long: else a
 * plan of empty blocks or of memsets meets the wall clock, which is no verdict. */
enum { COST_OF_BLOCK = 32, BYTES_PER_COST = 64 };
#define MAX_INPUT_BYTES ((size_t)2 << 30)

struct elements {
	int64_t shape[MAX_RANK];
	int rank;
	uint32_t bytes;		/* of one; 0: unknown */
};

struct worker {
	struct ptx_module *module;
	struct ptx_machine *machine;
	struct ptxinfo *info;
	struct plan *plan;
	struct plan_buffer buffer[MAX_BUFFERS];
	int poison[MAX_BUFFERS];
	struct elements elements[MAX_BUFFERS];	/* of outputs */
	uint32_t buffers;
	bool checked, repeating, keeps_state;
	uint64_t schedule;		/* seed of the order of blocks and warps; 0: the plain order */
	bool other_streams;		/* what no event orders runs in another order than it was recorded in: */
	uint32_t late;			/* this stream does nothing as long as another one can */
	uint64_t budget, charged;	/* lane instructions; charged: for work that is none */
	struct ptx_counters total;
	const struct roofline_gpu *gpu;		/* the one whose profile the plan was recorded with */
	const struct occupancy_gpu *occupancy;
	bool estimates;				/* times, not only counters */
	double transfer_us;			/* estimate of what the runtime moves */
	enum ptx_status status;
	struct buf reason;
	struct buf reordered;		/* outputs in another order of blocks and warps, empty when they are the same */
	struct buf inputs, others;	/* bytes of all input tensors; others: for a call in between */
};

static struct buf
read_input(const char *folder, const char *name, size_t max_bytes)
{
	struct buf path = BUF_INIT, content = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	if (buf_read_file(&content, buf_str(&path), max_bytes, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	buf_release(&path);
	return content;
}

static void
read_elements(const json_t *buffer, struct elements *e)
{
	const json_t *shape = json_object_get(buffer, "shape");

	e->rank = (int)json_array_size(shape);
	if (e->rank > MAX_RANK)
		die(EX_DATAERR, "job.json: an output of %d dimensions", e->rank);
	for (int i = 0; i < e->rank; i++)
		e->shape[i] = json_integer_value(json_array_get(shape, (size_t)i));
	e->bytes = (uint32_t)rec_json_integer(buffer, "element_bytes", 0);
}

static void
read_job(struct worker *w, const char *folder)
{
	struct buf text = read_input(folder, "job.json", MAX_FILE_BYTES), err = BUF_INIT;
	json_t *job = rec_json_parse(buf_str(&text), text.len, &err), *item;
	json_t *list = json_object_get(job, "buffers");
	size_t i;

	if (!job || json_array_size(list) > MAX_BUFFERS)
		die(EX_DATAERR, "job.json: %s", buf_str(&err));
	json_array_foreach(list, i, item) {
		w->buffer[i] = (struct plan_buffer){ rec_json_string(item, "name", "?"),
			(uint64_t)rec_json_integer(item, "address", 0), (uint64_t)rec_json_integer(item, "bytes", 0),
			rec_json_boolean(item, "output", 0) };
		w->poison[i] = (int)rec_json_integer(item, "poison", 0xff);
		read_elements(item, &w->elements[i]);
	}
	w->buffers = (uint32_t)json_array_size(list);
	w->checked = rec_json_boolean(job, "checked", 0);
	w->budget = (uint64_t)rec_json_integer(job, "budget", 0);
	w->estimates = rec_json_boolean(job, "estimate", 0);
	w->schedule = (uint64_t)rec_json_integer(job, "schedule", 0);
	/* The names stay borrowed from the job, which lives as long as the process. */
	buf_release(&text);
}

static void
read_code(struct worker *w, const char *folder)
{
	struct buf ptx = read_input(folder, "device.ptx", MAX_FILE_BYTES), err = BUF_INIT;
	struct buf fatbin = read_input(folder, "device.fatbin", MAX_FILE_BYTES);
	struct buf text = read_input(folder, "plan", PLAN_MAX_BYTES);
	enum cuda_verdict verdict;

	w->info = ptxinfo_read(buf_str(&ptx), ptx.len, buf_str(&fatbin), fatbin.len, &err);
	w->module = w->info ? ptx_parse(buf_str(&ptx), ptx.len, &err) : NULL;
	if (!w->module)
		die(EX_DATAERR, "device.ptx: %s", buf_str(&err));
	w->plan = plan_parse(buf_str(&text), text.len, w->info, w->buffer, w->buffers, &verdict, &err);
	if (!w->plan)
		die(EX_DATAERR, "plan: %s", buf_str(&err));
	w->gpu = roofline_gpu(w->plan->profile);
	if (!w->gpu)
		die(EX_DATAERR, "plan: the GPU %s is not one that estimates are made for", w->plan->profile);
	w->occupancy = occupancy_gpu(cuda_arch_of_profile(w->plan->profile));
	buf_release(&ptx);
	buf_release(&fatbin);
	buf_release(&text);
}

/* Pages that hold [address, address + bytes); pages shared by neighbours stay as they are. */
static void *
map_pages(uint64_t address, uint64_t bytes)
{
	uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t end = (address + (bytes ? bytes : 1) + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);

	for (uint64_t page = start; page < end;) {
		uint64_t length = end - page;
		void *got = mmap((void *)page, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (got == (void *)page)
			break;
		if (errno != EEXIST || page != start)
			die(EX_TEMPFAIL, "cannot map %llu bytes at %#llx:", (unsigned long long)length,
				(unsigned long long)page);
		page += PAGE_BYTES;	/* the first page is a neighbour's */
	}
	return (void *)address;
}

static void
check(int status, struct buf *err)
{
	if (status)
		die(EX_SOFTWARE, "%s", buf_str(err));
}

static void
place_symbols(struct worker *w)
{
	struct buf err = BUF_INIT;

	for (uint32_t i = 0; i < w->plan->symbols; i++) {
		const struct ptxinfo_symbol *symbol = &w->plan->symbol[i];
		map_pages(symbol->address, symbol->bytes);
		check(ptx_place_symbol(w->machine, symbol->name, symbol->address, &err), &err);
	}
	check(ptx_write_symbols(w->machine, &err), &err);
}

static void
fill_inputs(const struct worker *w, const struct buf *inputs)
{
	size_t at = 0;

	for (uint32_t i = 0; i < w->buffers; i++) {
		const struct plan_buffer *b = &w->buffer[i];

		if (b->output)
			continue;
		if (b->bytes > inputs->len - at)
			die(EX_DATAERR, "the inputs are too short");
		if (b->bytes)
			memcpy((void *)b->address, inputs->data + at, b->bytes);
		at += b->bytes;
	}
}

static void
place_buffers(struct worker *w)
{
	struct buf err = BUF_INIT;

	for (uint32_t i = 0; i < w->buffers; i++) {
		struct plan_buffer *b = &w->buffer[i];
		void *memory = map_pages(b->address, b->bytes);

		if (b->output)
			memset(memory, w->poison[i], b->bytes);
		check(ptx_map(w->machine, b->name, b->address, b->bytes, b->output ? PTX_READ_WRITE : PTX_READ,
			!b->output, &err), &err);
	}
	fill_inputs(w, &w->inputs);
}

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
		.schedule = w->schedule };
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
		return map_pages(o->scratch.address, o->scratch.bytes);
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
	check(ptx_map(w->machine, buf_detach(&name), o->scratch.address, o->scratch.bytes, PTX_READ_WRITE, false, &err),
		&err);
}

/* Addresses are given out once in a call, but the memory is needed for what comes after. */
static void
free_scratch(struct worker *w, const struct plan_operation *o)
{
	struct buf err = BUF_INIT;
	uint64_t bytes, start = inner_pages(o, &bytes);

	check(ptx_mark_freed(w->machine, o->scratch.address, &err), &err);
	if (bytes)
		munmap((void *)start, bytes);
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

/* In recorded order, or in another that the events allow: then all memory is taken before. */
static void
run_plan(struct worker *w)
{
	uint32_t start = w->plan->call_start[0], end = w->plan->call_start[1], scratch = 0;
	uint32_t *order = xcalloc(end - start + 1, sizeof *order);
	bool other = w->other_streams && plan_other_order(w->plan, 0, w->late, order);

	for (uint32_t i = start; i < end && w->status == PTX_OK; i++)
		if (!other || w->plan->operation[i].kind == PLAN_ALLOCATE)
			run_operation(w, &w->plan->operation[i], &scratch);
	for (uint32_t i = 0; other && order[i] && w->status == PTX_OK; i++)
		run_operation(w, &w->plan->operation[order[i] - 1], &scratch);
	free(order);
}

/* What is filled in the first call only has to be as it was filled when the next call comes. */
static void
check_filled_once(struct worker *w)
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

/* Before later calls poison them anew. */
static void
check_outputs(struct worker *w)
{
	for (uint32_t i = 0; i < w->buffers; i++)
		if (w->buffer[i].output)
			ptx_check_written(w->machine, w->buffer[i].address, w->elements[i].bytes, w->elements[i].rank,
				w->elements[i].shape);
}

/* ---- later calls */

/* Puts what lies in the outputs aside, or back. */
static void
copy_outputs(const struct worker *w, struct buf *aside, bool back)
{
	size_t at = 0;

	for (uint32_t i = 0; i < w->buffers; i++) {
		void *memory = (void *)w->buffer[i].address;

		if (!w->buffer[i].output || !w->buffer[i].bytes)
			continue;
		if (back)
			memcpy(memory, aside->data + at, w->buffer[i].bytes);
		else
			buf_add(aside, memory, w->buffer[i].bytes);
		at += w->buffer[i].bytes;
	}
}

static void
poison_outputs(struct worker *w)
{
	for (uint32_t i = 0; i < w->buffers; i++) {
		if (!w->buffer[i].output || !w->buffer[i].bytes)
			continue;
		memset((void *)w->buffer[i].address, w->poison[i], w->buffer[i].bytes);
		ptx_mark_initialised(w->machine, w->buffer[i].address, w->buffer[i].bytes, false);
	}
}

static bool
is_variable(const struct worker *w, uint32_t symbol)
{
	const struct ptx_symbol *found = ptx_symbol_find(w->module, w->plan->symbol[symbol].name);

	return found && found->space == PTX_SPACE_GLOBAL;
}

/* Appends the bytes of all variables that kernels can write. */
static void
copy_variables(const struct worker *w, struct buf *out)
{
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		if (is_variable(w, i))
			buf_add(out, (const void *)w->plan->symbol[i].address, w->plan->symbol[i].bytes);
}

/* Puts variables where a thousand more calls would have them, if each adds what the last one added. Whoever only uses
 * them within a call writes before he reads. False: the last call changed none. */
static bool
extrapolate_variables(const struct worker *w, const struct buf *before)
{
	bool changed = false;
	size_t at = 0;

	for (uint32_t i = 0; i < w->plan->symbols; i++) {
		const struct ptxinfo_symbol *symbol = &w->plan->symbol[i];

		if (!is_variable(w, i))
			continue;
		for (uint64_t offset = 0; offset + 4 <= symbol->bytes; offset += 4) {
			uint32_t was, is;

			memcpy(&was, before->data + at + offset, 4);
			memcpy(&is, (const char *)symbol->address + offset, 4);
			changed = changed || was != is;
			is += 1000 * (is - was);
			memcpy((char *)symbol->address + offset, &is, 4);
		}
		at += symbol->bytes;
	}
	return changed;
}

/* One more call, uncounted. False when it failed, with the reason. */
static bool
call_again(struct worker *w, const struct buf *inputs)
{
	struct ptx_counters total = w->total;

	fill_inputs(w, inputs);
	poison_outputs(w);
	w->total = (struct ptx_counters){ 0 };
	w->charged = 0;
	w->repeating = true;
	run_plan(w);
	w->total = total;
	if (w->status == PTX_OK && ptx_error_count(w->machine) == 0)
		return true;
	buf_adds(&w->reason, w->reason.len ? " This is in a later call of solve()." : "");
	return false;
}

static bool
same_outputs(struct worker *w, const struct buf *first, const char *what)
{
	struct buf now = BUF_INIT;

	copy_outputs(w, &now, false);
	w->keeps_state = first->len && memcmp(first->data, now.data, first->len) != 0;
	if (w->keeps_state)
		buf_adds(&w->reason, what);
	buf_release(&now);
	return !w->keeps_state;
}

/* The call once more, in another order of blocks and warps, one stream being late. Outputs that differ are kept for the
 * judge: sums in another order may differ, and be right. An order that takes too long says nothing. False when it
 * failed, with the reason. */
static bool
call_in_other_order(struct worker *w, uint32_t late, const struct buf *first, bool *same)
{
	uint64_t plain = w->schedule;

	*same = false;

	w->schedule = plain + 1;
	w->other_streams = true;
	w->late = late;
	bool went = call_again(w, &w->inputs);
	w->schedule = plain;
	w->other_streams = false;
	if (!went && w->status == PTX_BUDGET) {
		w->status = PTX_OK;
		buf_reset(&w->reason);
		return true;
	}
	if (!went) {
		buf_adds(&w->reason, " It runs in another order of blocks and warps, which a GPU may take as well.");
		return false;
	}
	copy_outputs(w, &w->reordered, false);
	*same = !first->len || memcmp(first->data, w->reordered.data, first->len) == 0;
	if (*same)
		buf_reset(&w->reordered);
	return true;
}

/* Every stream is late once. Two operations that nothing orders run in either order then. As soon as outputs differ no
 * other order is tried. False when a call failed, with the reason. */
static bool
call_in_other_orders(struct worker *w, const struct buf *first, bool *same)
{
	uint32_t *order = xcalloc(w->plan->call_start[1] - w->plan->call_start[0] + 1, sizeof *order);
	bool went = call_in_other_order(w, PLAN_GIVEN_STREAM, first, same);

	for (uint32_t late = 0; went && *same && late < w->plan->streams; late++)
		if (late != PLAN_GIVEN_STREAM && plan_other_order(w->plan, 0, late, order))
			went = call_in_other_order(w, late, first, same);
	free(order);
	return went;
}

/* Variables of the module keep what a call left there, as they do on a GPU. So: the same call again, in another order,
 * and in the same one if that gave something else; then from the start a call with other inputs, and the first one
 * after it, which meets what was kept of the others; then the first one when a thousand calls have gone by. A call
 * that gives something else computes from what it found. */
static void
repeat_call(struct worker *w)
{
	struct buf first = BUF_INIT, variables = BUF_INIT, err = BUF_INIT;
	bool has_variables = false, same;

	copy_outputs(w, &first, false);
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		has_variables = has_variables || is_variable(w, i);
	if (!call_in_other_orders(w, &first, &same) || (!same && !call_again(w, &w->inputs)))
		goto out;
	if ((!same && !same_outputs(w, &first, "a second call of solve() with the same arguments gives "
			"other outputs: it depends on what the first one left in device memory")) || !has_variables)
		goto out;
	check(ptx_write_symbols(w->machine, &err), &err);
	if (!call_again(w, &w->others))
		goto out;
	copy_variables(w, &variables);
	if (call_again(w, &w->inputs) && same_outputs(w, &first, "a call of solve() gives other outputs when one with other "
			"inputs came before it: it depends on what that one left in device memory")
			&& extrapolate_variables(w, &variables) && call_again(w, &w->inputs))
		same_outputs(w, &first, "a call of solve() gives other outputs after many calls: it depends on what they "
			"counted in device memory");
out:
	copy_outputs(w, &first, true);
	buf_release(&first);
	buf_release(&variables);
}

/* ---- the report */

static json_t *
triple(const uint32_t v[3])
{
	return json_pack("[i, i, i]", (int)v[0], (int)v[1], (int)v[2]);
}

static json_t *
readable(const char *text)
{
	struct buf out = BUF_INIT;

	names_readable(text, &out);
	json_t *value = rec_json_text(buf_str(&out), out.len);
	buf_release(&out);
	return value;
}

/* The other access of a race. */
static void
add_other(const struct ptx_finding *f, json_t *out)
{
	if (f->other_file && f->other_line) {
		json_object_set_new(out, "other_file", rec_json_text(f->other_file, strlen(f->other_file)));
		json_object_set_new(out, "other_line", json_integer(f->other_line));
	}
	json_object_set_new(out, "other_block", triple(f->other_block));
	json_object_set_new(out, "other_thread", triple(f->other_thread));
}

static json_t *
finding_json(const struct ptx_finding *f)
{
	json_t *out = json_pack("{s:s, s:s}", "check", ptx_check_name(f->check), "kind", ptx_kind_name(f->kind));

	if (ptx_is_warning(f))
		json_object_set_new(out, "severity", json_string("warning"));
	if (f->kernel[0])
		json_object_set_new(out, "kernel", readable(f->kernel));
	if (f->file)
		json_object_set_new(out, "file", rec_json_text(f->file, strlen(f->file)));
	if (f->line)
		json_object_set_new(out, "line", json_integer(f->line));
	if (f->inlined_file && f->inlined_line) {
		json_object_set_new(out, "inlined_file", rec_json_text(f->inlined_file, strlen(f->inlined_file)));
		json_object_set_new(out, "inlined_line", json_integer(f->inlined_line));
	}
	if (f->kernel[0]) {
		json_object_set_new(out, "block", triple(f->block));
		json_object_set_new(out, "thread", triple(f->thread));
	}
	json_object_set_new(out, "space", json_string(ptx_space_name(f->space)));
	if (f->buffer) {
		json_object_set_new(out, "buffer", readable(f->buffer));
		json_object_set_new(out, "offset_bytes", json_integer(f->offset_bytes));
	}
	if (f->size_bytes)
		json_object_set_new(out, "size_bytes", json_integer(f->size_bytes));
	json_object_set_new(out, "lanes", json_integer((json_int_t)f->count));
	if (f->pair)
		add_other(f, out);
	json_object_set_new(out, "message", readable(f->message));
	return out;
}

static json_t *
counters_json(const struct ptx_counters *c)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"lane_instructions", (json_int_t)c->lane_instructions, "warp_instructions", (json_int_t)c->warp_instructions,
		"global_read_requests", (json_int_t)c->global_read_requests,
		"global_write_requests", (json_int_t)c->global_write_requests,
		"global_read_sectors", (json_int_t)c->global_read_sectors,
		"global_write_sectors", (json_int_t)c->global_write_sectors,
		"local_requests", (json_int_t)c->local_requests, "shared_requests", (json_int_t)c->shared_requests,
		"shared_bank_conflicts", (json_int_t)c->shared_bank_conflicts, "atomics", (json_int_t)c->atomics,
		"barriers", (json_int_t)c->barriers, "divergent_branches", (json_int_t)c->divergent_branches,
		"blocks", (json_int_t)c->blocks);
}

/* Beside the counters, on a profile workload: instructions by kind, sectors by where they were found. */
static void
add_profile_counters(const struct ptx_profile *p, json_t *counters)
{
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < MIX_N; i++) {
		if (!p->mix[i])
			continue;
		buf_reset(&name);
		buf_addf(&name, "%s_instructions", roofline_mix_name(i));
		json_object_set_new(counters, buf_str(&name), json_integer((json_int_t)p->mix[i]));
	}
	json_object_set_new(counters, "l1_hit_sectors", json_integer((json_int_t)p->l1_hit_sectors));
	json_object_set_new(counters, "l2_sectors", json_integer((json_int_t)p->l2_sectors));
	json_object_set_new(counters, "dram_sectors", json_integer((json_int_t)p->dram_sectors));
	buf_release(&name);
}

static json_t *
traffic_json(const struct ptx_profile *p)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < p->n_buffers; i++) {
		const struct ptx_profile_buffer *b = p->buffers[i];

		json_array_append_new(out, json_pack("{s:o, s:I, s:I, s:I, s:I}", "buffer", readable(b->name), "size_bytes",
			(json_int_t)b->size_bytes, "read_bytes", (json_int_t)b->read_bytes, "write_bytes",
			(json_int_t)b->write_bytes, "footprint_bytes", (json_int_t)b->footprint_bytes));
	}
	return out;
}

static json_t *
estimate_json(const struct worker *w, const struct ptx_profile *p)
{
	enum { WARP = 32 };
	json_t *parts = json_array();
	double total = p->time_us + w->transfer_us, warps = p->longest_work.warps / p->longest_work.blocks;

	for (size_t i = 0; i < roofline_parts(); i++)
		if (p->longest.part_us[i] >= p->longest.time_us / 20)
			json_array_append_new(parts, json_pack("{s:s, s:f}", "name", roofline_part_name(i), "time_us",
				rec_json_round3(p->longest.part_us[i])));
	return json_pack("{s:s, s:f, s:s, s:o, s:o, s:I}", "gpu", w->gpu->title, "time_us", rec_json_round3(total),
		"limiter", p->longest.limiter, "kernel", readable(p->kernel), "parts", parts, "resident_threads",
		(json_int_t)(p->longest_work.resident_blocks * warps * WARP));
}

static const char *
verdict(const struct worker *w)
{
	switch (w->status) {
	case PTX_OK: return ptx_error_count(w->machine) ? "RUNTIME_ERROR" : w->keeps_state ? "SUSPICIOUS" : "PASSED";
	case PTX_BUDGET: case PTX_DEADLOCK: return "TIMEOUT";	/* a GPU knows only that it does not end */
	case PTX_UNSUPPORTED: return "UNSUPPORTED";
	case PTX_FAULT: case PTX_REFUSED: break;
	}
	return "RUNTIME_ERROR";
}

static void
add_findings(const struct worker *w, bool warnings, json_t *list)
{
	for (size_t i = 0; i < ptx_finding_count(w->machine); i++)
		if (ptx_is_warning(ptx_finding_at(w->machine, i)) == warnings)
			json_array_append_new(list, finding_json(ptx_finding_at(w->machine, i)));
}

static void
write_report(struct worker *w, const char *folder)
{
	struct buf path = BUF_INIT, text = BUF_INIT, err = BUF_INIT;
	json_t *findings = json_array();
	const struct buf *printed = ptx_output(w->machine);

	add_findings(w, false, findings);
	if (w->status == PTX_OK && json_array_size(findings))
		buf_adds(&w->reason, rec_json_string(json_array_get(findings, 0), "message", ""));
	add_findings(w, true, findings);
	json_t *report = json_pack("{s:s, s:o, s:o, s:o, s:o}", "status", verdict(w), "reason",
		readable(buf_str(&w->reason)), "findings", findings, "counters",
		counters_json(&w->total), "printed", rec_json_text(buf_str(printed), printed->len));
	if (ptx_findings_dropped(w->machine))
		json_object_set_new(report, "findings_dropped", json_integer((json_int_t)ptx_findings_dropped(w->machine)));
	const struct ptx_profile *profile = ptx_profile(w->machine);
	if (profile && profile->kernel) {
		add_profile_counters(profile, json_object_get(report, "counters"));
		json_object_set_new(report, "traffic", traffic_json(profile));
		json_object_set_new(report, "estimate", estimate_json(w, profile));
	}
	rec_json_dump(report, &text);
	buf_addf(&path, "%s/report.json", folder);
	check(io_write_file(buf_str(&path), buf_str(&text), text.len, &err), &err);
}

static void
write_outputs(const struct worker *w, const char *folder)
{
	struct buf path = BUF_INIT, err = BUF_INIT;

	buf_addf(&path, "%s/outputs.bin", folder);
	struct io_out *out = io_open_out(buf_str(&path), &err);
	if (!out)
		die(EX_CANTCREAT, "%s", buf_str(&err));
	for (uint32_t i = 0; i < w->buffers; i++)
		if (w->buffer[i].output)
			io_write(out, (const void *)w->buffer[i].address, w->buffer[i].bytes);
	if (io_commit(out, &err))
		die(EX_IOERR, "%s", buf_str(&err));
	buf_reset(&path);
	buf_addf(&path, "%s/reordered.bin", folder);
	if (w->reordered.len)
		check(io_write_file(buf_str(&path), w->reordered.data, w->reordered.len, &err), &err);
}

int
main(int argc, char **argv)
{
	static struct worker w;
	struct buf err = BUF_INIT;
	struct ptx_options options = { .max_findings = MAX_FINDINGS };

	die_program = "km-ptx";
	if (argc != 3)
		die(EX_USAGE, "usage: km-ptx IN OUT");
	read_job(&w, argv[1]);
	read_code(&w, argv[1]);
	options.checked = options.racecheck = w.checked;
	w.machine = ptx_machine_new(w.module, &options, &err);
	if (!w.machine)
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	place_symbols(&w);
	w.inputs = read_input(argv[1], "inputs.bin", MAX_INPUT_BYTES);
	w.others = read_input(argv[1], "others.bin", MAX_INPUT_BYTES);
	place_buffers(&w);
	run_plan(&w);
	if (w.checked && w.status == PTX_OK)
		check_outputs(&w);
	if (w.checked && w.status == PTX_OK && !ptx_error_count(w.machine))
		check_filled_once(&w);
	if (w.checked && w.status == PTX_OK && !ptx_error_count(w.machine) && !w.keeps_state)
		repeat_call(&w);
	write_outputs(&w, argv[2]);
	write_report(&w, argv[2]);
	return 0;
}
