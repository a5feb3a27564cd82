/* In: a module, buffers, launches. Out: launches run block after block, with their status, findings and
 * counters. Here is the outer shell: options, the table of buffers, module variables, the set-up of a launch. */
#include <cpuid.h>
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"

enum { DEFAULT_FINDINGS = 64, DEFAULT_OUTPUT = 65536, DEFAULT_SHARED = 232448, DEFAULT_QUANTUM = 512, MAX_BUFFERS = 100000 };

struct ptx_machine {
	struct machine_core core;
	const struct ptx_module *module;
	uint64_t *symbol_addresses;		/* by variable index */
	struct image **images;			/* by kernel index, NULL until launched */
};

static void
fill_options(struct ptx_options *out, const struct ptx_options *in)
{
	*out = in ? *in : (struct ptx_options){ 0 };
	out->budget = out->budget ? out->budget : 1ull << 62;
	out->max_findings = out->max_findings ? out->max_findings : DEFAULT_FINDINGS;
	out->max_memory = out->max_memory ? out->max_memory : 1u << 30;
	out->max_output = out->max_output ? out->max_output : DEFAULT_OUTPUT;
	out->max_shared = out->max_shared ? out->max_shared : DEFAULT_SHARED;
	out->quantum = out->quantum ? out->quantum : DEFAULT_QUANTUM;
}

static bool
has_f16c(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

struct ptx_machine *
ptx_machine_new(const struct ptx_module *module, const struct ptx_options *options, struct buf *err)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) {
		buf_err(err, "The PTX machine needs a CPU with AVX2, FMA and F16C, which this one lacks.");
		return NULL;
	}
	struct ptx_machine *m = xcalloc(1, sizeof *m);
	m->module = m->core.module = module;
	fill_options(&m->core.options, options);
	m->core.checked = m->core.options.checked;
	m->core.findings = findings_new(m->core.options.max_findings);
	m->symbol_addresses = xcalloc(module->n_variables + 1, sizeof *m->symbol_addresses);
	m->images = xcalloc(module->n_kernels + 1, sizeof *m->images);
	return m;
}

static void
drop_images(struct ptx_machine *m)
{
	for (size_t k = 0; k < m->module->n_kernels; k++) {
		image_free(m->images[k]);
		m->images[k] = NULL;
	}
}

void
ptx_machine_free(struct ptx_machine *m)
{
	if (!m)
		return;
	drop_images(m);
	for (uint32_t k = 0; k < m->core.n_buffers; k++) {
		free(m->core.buffers[k].name);
		free(m->core.buffers[k].initialised);
	}
	free(m->core.buffers);
	free(m->images);
	free(m->symbol_addresses);
	findings_free(m->core.findings);
	buf_release(&m->core.output);
	for (int k = 0; k < 3; k++)
		buf_release(&m->core.scratch[k]);
	free(m);
}

void
ptx_machine_set_options(struct ptx_machine *m, const struct ptx_options *options)
{
	size_t max_findings = m->core.options.max_findings;
	fill_options(&m->core.options, options);
	m->core.options.max_findings = max_findings;
	m->core.checked = m->core.options.checked;
}

/* ---- buffers */

static void
remove_buffer(struct machine_core *core, uint32_t index)
{
	free(core->buffers[index].name);
	free(core->buffers[index].initialised);
	core->n_buffers--;
	memmove(core->buffers + index, core->buffers + index + 1, (core->n_buffers - index) * sizeof *core->buffers);
}

static struct buffer *
buffer_at(struct machine_core *core, uint64_t address)
{
	for (uint32_t k = 0; k < core->n_buffers; k++)
		if (core->buffers[k].address == address)
			return &core->buffers[k];
	return NULL;
}

static bool
overlaps(const struct buffer *b, uint64_t address, uint64_t size)
{
	return address < b->address + b->size && b->address < address + size;
}

static bool
in_windows(uint64_t address, uint64_t size)
{
	const uint64_t windows[] = { SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, CODE_WINDOW };
	for (int k = 0; k < 4; k++)
		if (address < windows[k] + WINDOW_BYTES && windows[k] < address + size)
			return true;
	return false;
}

int
ptx_map(struct ptx_machine *m, const char *name, uint64_t address, uint64_t size, enum ptx_access access, bool initialised,
	struct buf *err)
{
	struct machine_core *core = &m->core;
	uint32_t at = 0;
	if (!address || size > 1ull << 46 || address > (1ull << 47) - size || in_windows(address, size))
		return buf_err(err, "Buffer %s cannot be mapped at 0x%llx.", name, (unsigned long long)address);
	if (core->n_buffers >= MAX_BUFFERS)
		return buf_err(err, "There are more than %d buffers.", MAX_BUFFERS);
	for (uint32_t k = 0; k < core->n_buffers;) {
		struct buffer *b = &core->buffers[k];
		if (overlaps(b, address, size) || b->address == address) {
			if (!b->freed)
				return buf_err(err, "Buffer %s at 0x%llx overlaps %s.", name, (unsigned long long)address, b->name);
			remove_buffer(core, k);
		} else {
			k++;
		}
	}
	if (core->n_buffers == core->cap_buffers) {
		core->cap_buffers = core->cap_buffers ? core->cap_buffers * 2 : 16;
		core->buffers = xrealloc(core->buffers, core->cap_buffers * sizeof *core->buffers);
	}
	while (at < core->n_buffers && core->buffers[at].address < address)
		at++;
	memmove(core->buffers + at + 1, core->buffers + at, (core->n_buffers - at) * sizeof *core->buffers);
	core->n_buffers++;
	core->buffers[at] = (struct buffer){ address, size, xstrdup(name), (uint8_t)access, false, NULL };
	if (!initialised && size)
		initialised_set(&core->buffers[at], address, size, false);
	return 0;
}

static struct buffer *
known_buffer(struct ptx_machine *m, uint64_t address, struct buf *err)
{
	struct buffer *b = buffer_at(&m->core, address);
	if (!b)
		buf_err(err, "No buffer starts at 0x%llx.", (unsigned long long)address);
	return b;
}

int
ptx_unmap(struct ptx_machine *m, uint64_t address, struct buf *err)
{
	struct buffer *b = known_buffer(m, address, err);
	if (b)
		remove_buffer(&m->core, (uint32_t)(b - m->core.buffers));
	return b ? 0 : -1;
}

int
ptx_mark_freed(struct ptx_machine *m, uint64_t address, struct buf *err)
{
	struct buffer *b = known_buffer(m, address, err);
	if (b)
		b->freed = true;
	return b ? 0 : -1;
}

void
ptx_mark_initialised(struct ptx_machine *m, uint64_t address, uint64_t size, bool initialised)
{
	for (uint32_t k = 0; k < m->core.n_buffers; k++) {
		struct buffer *b = &m->core.buffers[k];
		if (!overlaps(b, address, size))
			continue;
		uint64_t from = address > b->address ? address : b->address;
		uint64_t to = address + size < b->address + b->size ? address + size : b->address + b->size;
		initialised_set(b, from, to - from, initialised);
	}
}

void
ptx_copy_initialised(struct ptx_machine *m, uint64_t to, uint64_t from, uint64_t size)
{
	struct buffer *b = buffer_find(&m->core, from, size);
	if (!b || !b->initialised || initialised_all(b, from, size)) {
		ptx_mark_initialised(m, to, size, true);
		return;
	}
	for (uint64_t k = 0; k < size; k++)
		ptx_mark_initialised(m, to + k, 1, initialised_all(b, from + k, 1));
}

/* ---- module variables */

static int
write_initialiser(struct ptx_machine *m, const struct variable *v, struct buf *err)
{
	char *at = (char *)(uintptr_t)m->symbol_addresses[v->index];
	memset(at, 0, v->bytes);
	if (v->init_bytes)
		memcpy(at, v->init, v->init_bytes);
	for (uint32_t k = 0; k < v->n_relocations; k++) {
		const struct relocation *r = &v->relocations[k];
		const struct variable *target = module_variable(m->module, r->name);
		uint64_t address = target ? m->symbol_addresses[target->index] : 0;
		if (target && !address)
			return buf_err(err, "Variable %.*s holds the address of %.*s, which has none.", (int)v->name.length,
				v->name.at, (int)r->name.length, r->name.at);
		if (!target && !module_function(m->module, r->name))
			return buf_err(err, "Variable %.*s holds the address of %.*s, which is unknown.", (int)v->name.length,
				v->name.at, (int)r->name.length, r->name.at);
		/* addresses of functions belong to an image, and are written at launch */
		address += (uint64_t)r->addend;
		if (target)
			memcpy(at + r->offset, &address, 8);
	}
	return 0;
}

static struct variable *
find_symbol(const struct ptx_module *module, const char *name)
{
	return module_variable(module, (struct slice){ name, (uint32_t)strlen(name) });
}

int
ptx_place_symbol(struct ptx_machine *m, const char *name, uint64_t address, struct buf *err)
{
	struct variable *v = find_symbol(m->module, name);
	if (!v)
		return buf_err(err, "The PTX has no variable named %s.", name);
	if (address % v->align)
		return buf_err(err, "Variable %s needs an address that is a multiple of %u.", name, v->align);
	if (m->symbol_addresses[v->index] && ptx_unmap(m, m->symbol_addresses[v->index], err))
		return -1;
	m->symbol_addresses[v->index] = 0;
	if (ptx_map(m, name, address, v->bytes, v->storage == IN_CONST ? PTX_READ : PTX_READ_WRITE, true, err))
		return -1;
	m->symbol_addresses[v->index] = address;
	drop_images(m);
	return 0;
}

uint64_t
ptx_symbol_address(const struct ptx_machine *m, const char *name)
{
	const struct variable *v = find_symbol(m->module, name);
	return v ? m->symbol_addresses[v->index] : 0;
}

int
ptx_write_symbols(struct ptx_machine *m, struct buf *err)
{
	for (size_t k = 0; k < m->module->n_variables; k++)
		if (m->symbol_addresses[k] && write_initialiser(m, m->module->variables[k], err))
			return -1;
	return 0;
}

/* ---- launches */

static struct image *
kernel_image(struct ptx_machine *m, const struct function *kernel, enum ptx_status *status, struct buf *err)
{
	size_t k = 0;
	while (m->module->kernels[k] != kernel)
		k++;
	bool unsupported;
	if (!m->images[k])
		m->images[k] = image_new(m->module, kernel, m->symbol_addresses, &unsupported, err);
	*status = PTX_UNSUPPORTED;
	return m->images[k];
}

/* Function addresses in tables are those of the image that is about to run. */
static void
write_function_addresses(struct ptx_machine *m, const struct image *im)
{
	for (size_t k = 0; k < m->module->n_variables; k++)
		for (uint32_t r = 0; m->symbol_addresses[k] && r < m->module->variables[k]->n_relocations; r++) {
			const struct relocation *reloc = &m->module->variables[k]->relocations[r];
			const struct function *f = module_function(m->module, reloc->name);
			for (uint32_t n = 0; f && n < im->n_functions; n++)
				if (im->functions[n].function == f) {
					uint64_t address = CODE_WINDOW + 16ull * (n + 1);
					memcpy((char *)(uintptr_t)m->symbol_addresses[k] + reloc->offset, &address, 8);
				}
		}
}

static int
check_launch(const struct ptx_machine *m, const struct function *f, const struct image *im, const struct ptx_launch *l,
	struct buf *err)
{
	static const uint32_t max_grid[3] = { 0x7fffffff, 65535, 65535 }, max_block[3] = { 1024, 1024, 64 };
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	const uint32_t *limit = f->public.max_threads, *exact = f->public.required_threads;
	for (int k = 0; k < 3; k++) {
		if (!l->grid[k] || l->grid[k] > max_grid[k] || !l->block[k] || l->block[k] > max_block[k])
			return buf_err(err, "Kernel %s cannot be launched with grid (%u,%u,%u) and block (%u,%u,%u).", l->kernel,
				l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2]);
		if (exact[0] && exact[k] != l->block[k])
			return buf_err(err, "Kernel %s requires blocks of (%u,%u,%u) threads.", l->kernel, exact[0], exact[1], exact[2]);
	}
	if (threads > 1024)
		return buf_err(err, "Kernel %s cannot have %llu threads in a block.", l->kernel, (unsigned long long)threads);
	if (limit[0] && threads > (uint64_t)limit[0] * limit[1] * limit[2])
		return buf_err(err, "Kernel %s allows blocks of %u threads, not %llu.", l->kernel, limit[0] * limit[1] * limit[2],
			(unsigned long long)threads);
	if ((uint64_t)im->shared_bytes + l->dynamic_shared > m->core.options.max_shared)
		return buf_err(err, "Kernel %s needs %u + %u bytes of shared memory; a block can have %zu.", l->kernel,
			im->shared_bytes, l->dynamic_shared, m->core.options.max_shared);
	if (l->params_bytes < f->public.params_bytes)
		return buf_err(err, "Kernel %s has %u bytes of parameters, the launch gives %zu.", l->kernel,
			f->public.params_bytes, l->params_bytes);
	return 0;
}

struct run {				/* memory of one launch */
	struct warp *warps;
	char *frames, *shared, *local, *params;
	uint8_t *shared_initialised;
	struct block block;
};

static void *
aligned(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
	if (!memory)
		die(EX_TEMPFAIL, "out of memory");
	return memory;
}

static uint32_t
special_value(enum special special, const struct block *b, const struct warp *w, uint32_t lane, uint32_t dynamic_shared)
{
	uint32_t t = w->number * LANES + lane, bit = 1u << lane;
	switch (special) {
	case SR_TID_X: return t % b->dim[0];
	case SR_TID_Y: return t / b->dim[0] % b->dim[1];
	case SR_TID_Z: return t / b->dim[0] / b->dim[1];
	case SR_NTID_X: case SR_NTID_Y: case SR_NTID_Z: return b->dim[special - SR_NTID_X];
	case SR_CTAID_X: case SR_CTAID_Y: case SR_CTAID_Z: return b->index[special - SR_CTAID_X];
	case SR_NCTAID_X: case SR_NCTAID_Y: case SR_NCTAID_Z: return b->grid[special - SR_NCTAID_X];
	case SR_LANEID: return lane;
	case SR_WARPID: return w->number;
	case SR_NWARPID: return MAX_WARPS * 2;
	case SR_LANEMASK_EQ: return bit;
	case SR_LANEMASK_LT: return bit - 1;
	case SR_LANEMASK_LE: return bit | (bit - 1);
	case SR_LANEMASK_GT: return ~(bit | (bit - 1));
	case SR_LANEMASK_GE: return ~(bit - 1);
	case SR_SMID: return 0;
	case SR_NSMID: return 132;
	case SR_DYNAMIC_SMEM: return dynamic_shared;
	case SR_TOTAL_SMEM: return b->shared_bytes;
	case SR_WARP_SZ: return LANES;
	case SR_CLUSTER_ONE: return 1;
	default: return 0;
	}
}

static bool
is_block_special(enum special s)
{
	return s == SR_CTAID_X || s == SR_CTAID_Y || s == SR_CTAID_Z;
}

static void
fill_constant(const struct constant *c, struct warp *w, const struct block *b, uint32_t dynamic_shared)
{
	char *at = w->frame + c->offset;
	if (c->predicate) {
		memcpy(at, &c->bits, 4);
		return;
	}
	for (uint32_t l = 0; l < LANES; l++) {
		uint64_t value[2] = { c->special ? special_value(c->special, b, w, l, dynamic_shared) : c->bits, 0 };
		memcpy(at + (size_t)l * c->bytes, value, c->bytes);
	}
}

static void
set_up_warps(struct machine_core *core, struct run *r, uint32_t dynamic_shared)
{
	struct block *b = &r->block;
	const struct image *im = core->image;
	for (uint32_t n = 0; n < b->n_warps; n++) {
		struct warp *w = &b->warps[n];
		uint32_t rest = b->n_threads - n * LANES;
		w->frame = r->frames + (size_t)n * im->frame_bytes;
		w->block = b;
		w->core = core;
		w->number = n;
		w->started = rest >= LANES ? FULL : (1u << rest) - 1;
		for (uint32_t k = 0; k < im->n_constants; k++)
			fill_constant(&im->constants[k], w, b, dynamic_shared);
	}
}

static void
start_block(struct machine_core *core, struct block *b)
{
	const struct image *im = core->image;
	uint32_t key = 255u << 24 | im->entry;
	memset(b->shared, 0xff, b->shared_bytes);
	if (b->shared_initialised)
		memset(b->shared_initialised, 0, b->shared_bytes);
	memset(b->local, 0xff, (size_t)b->local_bytes * b->n_warps * LANES);
	memset(b->barriers, 0, sizeof b->barriers);
	for (int k = 0; k < N_BARRIERS; k++)
		b->barriers[k].first_pc = NO_REG;
	b->warps_alive = b->n_warps;
	for (uint32_t n = 0; n < b->n_warps; n++) {
		struct warp *w = &b->warps[n];
		w->alive = w->runnable = w->started;
		w->parked = w->at_barrier = w->deferred = w->carry = 0;
		w->turn = 0;
		memset(w->depth, 0, sizeof w->depth);
		for (int l = 0; l < LANES; l++)
			w->key[l] = key;
		for (uint32_t k = 0; k < im->n_constants; k++)
			if (is_block_special(im->constants[k].special)) {
				u32 *at = (u32 *)(w->frame + im->constants[k].offset);
				for (int l = 0; l < LANES; l++)
					at[l] = b->index[im->constants[k].special - SR_CTAID_X];
			}
	}
	core->counters.blocks++;
}

static int
allocate_run(struct machine_core *core, struct run *r, const struct ptx_launch *l, const struct ptx_kernel *k, struct buf *err)
{
	struct block *b = &r->block;
	const struct image *im = core->image;
	b->n_threads = l->block[0] * l->block[1] * l->block[2];
	b->n_warps = (b->n_threads + LANES - 1) / LANES;
	b->shared_bytes = im->shared_bytes + l->dynamic_shared;
	b->local_bytes = im->local_bytes;
	b->params_bytes = k->params_bytes;
	memcpy(b->grid, l->grid, sizeof b->grid);
	memcpy(b->dim, l->block, sizeof b->dim);
	size_t frames = (size_t)im->frame_bytes * b->n_warps, local = (size_t)im->local_bytes * b->n_warps * LANES;
	core->memory_used = frames + local;
	if (core->memory_used > core->options.max_memory)
		return buf_err(err, "Kernel %s needs %zu bytes for registers and local memory of a block; the limit is %zu.",
			l->kernel, core->memory_used, core->options.max_memory);
	r->frames = aligned(frames);
	memset(r->frames, 0, frames);
	r->local = aligned(local);
	r->shared = aligned(b->shared_bytes);
	r->params = aligned(b->params_bytes + 16);
	memset(r->params, 0, b->params_bytes + 16);
	if (b->params_bytes)
		memcpy(r->params, l->params, b->params_bytes);
	r->shared_initialised = core->checked ? xmalloc(b->shared_bytes + 1) : NULL;
	r->warps = aligned_alloc(64, b->n_warps * sizeof *r->warps);
	if (!r->warps)
		die(EX_TEMPFAIL, "out of memory");
	memset(r->warps, 0, b->n_warps * sizeof *r->warps);
	b->warps = r->warps;
	b->shared = r->shared;
	b->local = r->local;
	b->params = r->params;
	b->shared_initialised = r->shared_initialised;
	return 0;
}

static void
run_free(struct run *r)
{
	if (r->warps)
		block_release(&r->block);
	free(r->warps);
	free(r->frames);
	free(r->local);
	free(r->shared);
	free(r->params);
	free(r->shared_initialised);
}

static enum ptx_status
run_blocks(struct machine_core *core, struct run *r)
{
	struct block *b = &r->block;
	int status = setjmp(core->stop);
	if (status)
		return (enum ptx_status)status;
	for (b->index[2] = 0; b->index[2] < b->grid[2]; b->index[2]++)
		for (b->index[1] = 0; b->index[1] < b->grid[1]; b->index[1]++)
			for (b->index[0] = 0; b->index[0] < b->grid[0]; b->index[0]++) {
				start_block(core, b);
				block_run(core, b);
			}
	return PTX_OK;
}

enum ptx_status
ptx_launch(struct ptx_machine *m, const struct ptx_launch *l, struct ptx_counters *counters, struct buf *err)
{
	struct machine_core *core = &m->core;
	enum ptx_status status = PTX_REFUSED;
	const struct function *f = module_function(m->module, (struct slice){ l->kernel, (uint32_t)strlen(l->kernel) });
	memset(&core->counters, 0, sizeof core->counters);
	if (counters)
		*counters = core->counters;
	if (!f || !f->is_kernel || !f->has_body) {
		buf_err(err, "The PTX has no kernel named %s.", l->kernel);
		return PTX_REFUSED;
	}
	struct image *im = kernel_image(m, f, &status, err);
	if (!im)
		return status;
	if (check_launch(m, f, im, l, err))
		return PTX_REFUSED;
	write_function_addresses(m, im);
	core->image = im;
	core->code = im->code;
	core->patterns = im->patterns;
	core->budget_left = core->options.budget;
	struct run r = { 0 };
	if (allocate_run(core, &r, l, &f->public, err)) {
		run_free(&r);
		return PTX_REFUSED;
	}
	core->block = &r.block;
	set_up_warps(core, &r, l->dynamic_shared);
	status = run_blocks(core, &r);
	run_free(&r);
	core->counters.budget_used = core->options.budget - core->budget_left;
	if (counters)
		*counters = core->counters;
	if (status == PTX_BUDGET)
		buf_err(err, "Kernel %s used up its budget of %llu lane instructions.", l->kernel,
			(unsigned long long)core->options.budget);
	else if (status != PTX_OK)
		buf_err(err, "%s", findings_last_message(core->findings));
	return status;
}

/* ---- results */

size_t
ptx_finding_count(const struct ptx_machine *m)
{
	return findings_count(m->core.findings);
}

const struct ptx_finding *
ptx_finding_at(const struct ptx_machine *m, size_t index)
{
	return findings_at(m->core.findings, index);
}

uint64_t
ptx_findings_dropped(const struct ptx_machine *m)
{
	return findings_dropped(m->core.findings);
}

void
ptx_clear_findings(struct ptx_machine *m)
{
	findings_reset(m->core.findings);
}

const struct buf *
ptx_output(const struct ptx_machine *m)
{
	return &m->core.output;
}

void
ptx_clear_output(struct ptx_machine *m)
{
	buf_reset(&m->core.output);
}

/* ---- the module's lists */

size_t
ptx_kernel_count(const struct ptx_module *module)
{
	return module->n_kernels;
}

const struct ptx_kernel *
ptx_kernel_at(const struct ptx_module *module, size_t index)
{
	return index < module->n_kernels ? &module->kernels[index]->public : NULL;
}

const struct ptx_kernel *
ptx_kernel_find(const struct ptx_module *module, const char *name)
{
	const struct function *f = module_function(module, (struct slice){ name, (uint32_t)strlen(name) });
	return f && f->is_kernel && f->has_body ? &f->public : NULL;
}

size_t
ptx_symbol_count(const struct ptx_module *module)
{
	return module->n_variables;
}

const struct ptx_symbol *
ptx_symbol_at(const struct ptx_module *module, size_t index)
{
	return index < module->n_variables ? &module->symbols[index] : NULL;
}

const struct ptx_symbol *
ptx_symbol_find(const struct ptx_module *module, const char *name)
{
	const struct variable *v = find_symbol(module, name);
	return v ? &module->symbols[v->index] : NULL;
}
