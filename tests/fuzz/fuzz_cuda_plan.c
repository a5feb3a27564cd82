/* The plan's parser, from bytes. What it accepts must survive its own text form, stay in bounds and join its streams. */
#include <stdint.h>
#include <stdlib.h>

#include "cuda/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const char ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 4 .b8 table[64];\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 n) { ret; }\n"
	".visible .entry one(.param .align 8 .b8 s[24], .param .u16 z) .maxntid 128, 1, 1 { ret; }\n";

static void
check_operations(const struct plan *p)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < p->operations; i++) {
		const struct plan_operation *o = &p->operation[i];

		if (o->kind == PLAN_LAUNCH)
			for (uint32_t b = 0; b < o->launch.argument_bytes; b++)
				used += o->launch.arguments[b];
		if (o->kind == PLAN_UPLOAD)
			for (uint64_t b = 0; b < o->memory.width; b++)
				used += o->memory.data[b];
		if (o->stream >= p->streams || (o->kind == PLAN_AWAIT && o->event >= p->events))
			abort();
	}
	if (used == UINT64_MAX)	/* keeps the reads */
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct plan_buffer buffers[] = {
		{ "x", 0x3000001ff000, 4096, false }, { "y", 0x3000005ff000, 4096, true },
	};
	struct ptxinfo *info = ptxinfo_read(ptx, sizeof ptx - 1, NULL, 0, NULL);
	struct buf reason = BUF_INIT, first = BUF_INIT, second = BUF_INIT;
	enum cuda_verdict verdict;
	struct plan *p = plan_parse((const char *)bytes, count, info, buffers, 2, &verdict, &reason), *again;

	if (!p && (verdict == CUDA_OK || !reason.len))
		abort();
	if (p) {
		check_operations(p);
		for (uint32_t call = 0; call < p->calls; call++)
			plan_check_joined(p, call, &reason), plan_check_order(p, call, &reason);
		plan_write(p, &first);
		again = plan_parse(first.data, first.len, info, buffers, 2, &verdict, &reason);
		if (!again)
			abort();
		plan_write(again, &second);
		if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
			abort();
		plan_free(again);
	}
	plan_free(p);
	ptxinfo_free(info);
	buf_release(&reason);
	buf_release(&first);
	buf_release(&second);
	return 0;
}
