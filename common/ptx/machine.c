/* In: a module, buffers, launches. Out: launches run, with their status, findings and counters. Here is the outer
 * shell: options, the table of buffers, module variables, the checks of a launch; resident.c runs its blocks. */
#include <cpuid.h>
#include <string.h>

#include "base/die.h"
#include "ptx/machine.h"
#include "ptx/profile.h"
#include "ptx/race.h"

enum { DEFAULT_FINDINGS = 64, DEFAULT_OUTPUT = 65536, DEFAULT_SHARED = 232448, DEFAULT_QUANTUM = 512, MAX_BUFFERS = 100000 };

struct ptx_machine {
	struct machine_core core;
	const struct ptx_module *module;
	uint64_t *symbol_addresses;		/* by variable index */
	struct image **images;			/* by kernel index, NULL until launched */
	struct profile *profile;		/* NULL until a launch is profiled */
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

static void
choose_checks(struct machine_core *core)
{
	core->checked = core->options.checked;
	if (core->options.racecheck && !core->race)
		core->race = race_new(core);
	if (!core->options.racecheck && core->race) {
		for (uint32_t k = 0; k < core->n_buffers; k++) {
			shadow_free(core->buffers[k].shadow);
			core->buffers[k].shadow = NULL;
		}
		race_free(core->race);
		core->race = NULL;
	}
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
	m->core.findings = findings_new(m->core.options.max_findings);
	choose_checks(&m->core);
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

static void
remove_buffer(struct machine_core *core, uint32_t index)
{
	free(core->buffers[index].name);
	free(core->buffers[index].initialised);
	shadow_free(core->buffers[index].shadow);
	core->n_buffers--;
	memmove(core->buffers + index, core->buffers + index + 1, (core->n_buffers - index) * sizeof *core->buffers);
}

void
ptx_machine_free(struct ptx_machine *m)
{
	if (!m)
		return;
	drop_images(m);
	while (m->core.n_buffers)
		remove_buffer(&m->core, m->core.n_buffers - 1);
	race_free(m->core.race);
	free(m->core.workspace);
	free(m->core.parameter);
	free(m->core.buffers);
	free(m->images);
	free(m->symbol_addresses);
	findings_free(m->core.findings);
	profile_free(m->profile);
	buf_release(&m->core.output);
	for (int k = 0; k < 3; k++)
		buf_release(&m->core.scratch[k]);
	buf_release(&m->core.before);
	buf_release(&m->core.snapshot);
	free(m);
}

void
ptx_machine_set_options(struct ptx_machine *m, const struct ptx_options *options)
{
	size_t max_findings = m->core.options.max_findings;
	fill_options(&m->core.options, options);
	m->core.options.max_findings = max_findings;
	choose_checks(&m->core);
}

/* ---- buffers */

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
	const uint64_t windows[] = { SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW, CODE_WINDOW, GRID_WINDOW };
	for (int k = 0; k < 5; k++)
		if (address < windows[k] + SHARED_WINDOW_BYTES && windows[k] < address + size)
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
	core->buffers[at] = (struct buffer){ address, size, xstrdup(name), (uint8_t)access, false, false, NULL, NULL };
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
		const struct function *f = target ? NULL : module_function(m->module, r->name);
		if (!target && !f)
			return buf_err(err, "Variable %.*s holds the address of %.*s, which is unknown.", (int)v->name.length,
				v->name.at, (int)r->name.length, r->name.at);
		if (f)
			address = function_address(f);
		address += (uint64_t)r->addend;
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
	buffer_at(&m->core, address)->constant = v->storage == IN_CONST;
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
	core->image = im;
	if (check_launch(m, f, im, l, err) || grid_check(core, l, err))
		return PTX_REFUSED;
	core->code = im->code;
	core->patterns = im->patterns;
	core->budget_left = core->options.budget;
	if (core->options.profile && !m->profile)
		m->profile = profile_new(core->options.profile);
	core->profile = core->options.profile ? m->profile : NULL;
	if (core->profile)
		profile_start(core->profile, core, l);
	status = grid_run(core, l, &f->public, err);
	if (core->profile)
		profile_end(core->profile, core);
	core->counters.budget_used = core->options.budget - core->budget_left;
	if (counters)
		*counters = core->counters;
	if (status == PTX_BUDGET)
		buf_err(err, "Kernel %s used up its budget of %llu lane instructions.", l->kernel,
			(unsigned long long)core->options.budget);
	else if (status != PTX_OK && status != PTX_REFUSED)
		buf_err(err, "%s", findings_last_message(core->findings));
	return status;
}

/* ---- results */

const struct ptx_profile *
ptx_profile(const struct ptx_machine *m)
{
	return m->profile ? profile_results(m->profile) : NULL;
}

size_t
ptx_finding_count(const struct ptx_machine *m)
{
	return findings_count(m->core.findings);
}

size_t
ptx_error_count(const struct ptx_machine *m)
{
	return findings_errors(m->core.findings);
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

/* Subscripts of an element, the last index fastest. */
static void
add_subscripts(uint64_t element, int rank, const int64_t *shape, struct buf *out)
{
	int64_t at[8] = { 0 };
	for (int k = rank - 1; k >= 0; k--) {
		at[k] = shape[k] > 0 ? (int64_t)(element % (uint64_t)shape[k]) : 0;
		element = shape[k] > 0 ? element / (uint64_t)shape[k] : 0;
	}
	for (int k = 0; k < rank; k++)
		buf_addf(out, "%s%lld", k ? "," : "[", (long long)at[k]);
	buf_adds(out, rank ? "]" : "[]");
}

void
ptx_check_written(struct ptx_machine *m, uint64_t address, uint32_t element_bytes, int rank, const int64_t *shape)
{
	const struct buffer *b = buffer_at(&m->core, address);
	uint64_t missing = 0, first = 0;
	if (!b || !b->initialised || !element_bytes || rank < 0 || rank > 8 || initialised_all(b, b->address, b->size))
		return;
	for (uint64_t at = 0; at + element_bytes <= b->size; at += element_bytes)
		if (!initialised_all(b, b->address + at, element_bytes) && !missing++)
			first = at;
	if (!missing)
		return;
	struct buf message = BUF_INIT;
	buf_addf(&message, "Output %s: %llu of %llu elements never written, first at ", b->name, (unsigned long long)missing,
		(unsigned long long)(b->size / element_bytes));
	add_subscripts(first / element_bytes, rank, shape, &message);
	buf_addc(&message, '.');
	report_never_written(m->core.findings, b, first, element_bytes, buf_str(&message));
	buf_release(&message);
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
