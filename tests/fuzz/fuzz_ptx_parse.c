/* Any bytes to the PTX parser; every kernel that comes out to the decoder and the layout of its code; and what
 * decodes is run for a moment, its parameters all pointing to one small buffer: no PTX may touch other memory. */
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { BUFFER_BYTES = 4096, SYMBOL_BYTES = 65536, MAX_PARAMS = 4096 };

static void
run(struct ptx_machine *machine, const struct ptx_kernel *k, uint64_t address)
{
	uint64_t params[MAX_PARAMS / 8];
	struct ptx_launch l = { .kernel = k->name, .grid = { 2, 1, 1 }, .block = { 33, 1, 1 }, .dynamic_shared = 64, .params = params,
		.params_bytes = sizeof params };
	for (size_t n = 0; n < MAX_PARAMS / 8; n++)
		params[n] = address;
	if (k->params_bytes <= sizeof params)
		ptx_launch(machine, &l, NULL, NULL);
}

/* What does not fit stays without an address. */
static void
place_symbols(struct ptx_machine *machine, const struct ptx_module *m, uint64_t base)
{
	uint64_t at = base;

	for (size_t k = 0; k < ptx_symbol_count(m); k++) {
		const struct ptx_symbol *s = ptx_symbol_at(m, k);

		if (s->size > base + SYMBOL_BYTES - at || ptx_place_symbol(machine, s->name, at, NULL))
			continue;
		at += (s->size + 255) / 256 * 256;
	}
	ptx_write_symbols(machine, NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct ptx_options options = { .budget = 100000, .max_memory = 64 << 20, .checked = true };
	struct ptx_module *m = ptx_parse((const char *)bytes, length, NULL);
	struct ptx_machine *machine = m ? ptx_machine_new(m, &options, NULL) : NULL;
	char *memory = aligned_alloc(256, BUFFER_BYTES), *symbols = aligned_alloc(256, SYMBOL_BYTES);
	uint64_t address = (uint64_t)(uintptr_t)memory;
	if (machine && memory && symbols) {
		memset(memory, 0, BUFFER_BYTES);
		ptx_map(machine, "memory", address, BUFFER_BYTES, PTX_READ_WRITE, true, NULL);
		place_symbols(machine, m, (uint64_t)(uintptr_t)symbols);
		for (size_t k = 0; k < ptx_kernel_count(m) && k < 8; k++)
			run(machine, ptx_kernel_at(m, k), address);
	}
	ptx_machine_free(machine);
	ptx_module_free(m);
	free(memory);
	free(symbols);
	return 0;
}
