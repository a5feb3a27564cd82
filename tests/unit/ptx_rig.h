/* What the tests of the PTX machine share: a machine over text, buffers at device addresses, a launch. */
#ifndef TESTS_PTX_RIG_H
#define TESTS_PTX_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "ptx/ptx.h"

#define RIG_BASE 0x300000000000ull
#define RIG_SYMBOLS 0x310000000000ull
enum { RIG_MAX_BUFFERS = 16, RIG_SYMBOL_BYTES = 1 << 20 };

struct rig {
	struct ptx_module *module;
	struct ptx_machine *machine;
	struct buf err;
	struct ptx_counters counters;
	void *maps[RIG_MAX_BUFFERS];
	size_t map_bytes[RIG_MAX_BUFFERS];
	int n_maps;
	uint64_t next;
	void *symbols;
};

static inline void
rig_open(struct rig *r, const char *text, size_t length, const struct ptx_options *options)
{
	uint64_t at = RIG_SYMBOLS;
	memset(r, 0, sizeof *r);
	r->module = ptx_parse(text, length, &r->err);
	if (!r->module)
		fail_msg("%s", buf_str(&r->err));
	r->machine = ptx_machine_new(r->module, options, &r->err);
	if (!r->machine)
		fail_msg("%s", buf_str(&r->err));
	r->next = RIG_BASE;
	r->symbols = mmap((void *)(uintptr_t)RIG_SYMBOLS, RIG_SYMBOL_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_not_equal(r->symbols, MAP_FAILED);
	for (size_t i = 0; i < ptx_symbol_count(r->module); i++) {
		const struct ptx_symbol *s = ptx_symbol_at(r->module, i);
		assert_true(s->align <= 256 && s->size <= RIG_SYMBOLS + RIG_SYMBOL_BYTES - at);
		if (ptx_place_symbol(r->machine, s->name, at, &r->err))
			fail_msg("%s", buf_str(&r->err));
		at += (s->size + 255) / 256 * 256;
	}
	if (ptx_write_symbols(r->machine, &r->err))
		fail_msg("%s", buf_str(&r->err));
}

static inline void *
rig_buffer(struct rig *r, const char *name, size_t bytes, enum ptx_access access, bool initialised)
{
	size_t mapped = (bytes + 4095) & ~(size_t)4095;
	void *memory = mmap((void *)(uintptr_t)r->next, mapped, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_true(r->n_maps < RIG_MAX_BUFFERS);
	r->maps[r->n_maps] = memory;
	r->map_bytes[r->n_maps++] = mapped;
	memset(memory, 0xff, mapped);
	if (ptx_map(r->machine, name, (uint64_t)(uintptr_t)memory, bytes, access, initialised, &r->err))
		fail_msg("%s", buf_str(&r->err));
	r->next += mapped + (1 << 16);
	return memory;
}

static inline enum ptx_status
rig_run(struct rig *r, const char *kernel, uint32_t grid, uint32_t block, const void *params, size_t bytes)
{
	struct ptx_launch l = { .kernel = kernel, .grid = { grid, 1, 1 }, .block = { block, 1, 1 }, .params = params,
		.params_bytes = bytes };
	buf_reset(&r->err);
	return ptx_launch(r->machine, &l, &r->counters, &r->err);
}

static inline void
rig_close(struct rig *r)
{
	ptx_machine_free(r->machine);
	ptx_module_free(r->module);
	buf_release(&r->err);
	for (int k = 0; k < r->n_maps; k++)
		munmap(r->maps[k], r->map_bytes[k]);
	munmap(r->symbols, RIG_SYMBOL_BYTES);
}

#define RIG_HEADER ".version 8.0\n.target sm_90\n.address_size 64\n"

#endif
