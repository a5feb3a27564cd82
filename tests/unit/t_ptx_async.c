/* In: pieces of PTX with asynchronous copies, mbarriers, and wide or hinted loads, stores and atomics. Out:
 * what they leave in memory, against values written down beside them, from the PTX manual: first of all that a copy is
 * not there before it was waited for.
 *
 * Each piece stands in a kernel whose %in points to 1000, 1001, ... and whose %out to 16 words of 7; shared
 * memory starts as 100, 101, ... in words 0 to 63, mbarriers go behind (%s + 512 and so on). */
#include "ptx_compile.h"

enum { OUTPUTS = 16, INPUTS = 256 };

struct piece {
	const char *name, *text;
	uint32_t threads;
	uint32_t expected[OUTPUTS];		/* 7: not written */
	const char *finding;			/* part of the message; NULL: none, in a checked run */
};

#define PUT(k, reg) "\tst.global.b32 [%out+" #k "], " reg ";\n"
#define GET(k, at) "\tld.shared.b32 %r0, [%s+" #at "];\n" PUT(k, "%r0")
#define BOOL(k) "\tselp.b32 %r0, 1, 0, %p0;\n" PUT(k, "%r0")
#define S7 7, 7, 7, 7, 7, 7, 7

static const struct piece pieces[] = {
	{ "copy_4", "cp.async.ca.shared.global [%s], [%in+8], 4;\n cp.async.commit_group;\n cp.async.wait_group 0;\n" GET(0, 0)
		GET(4, 4), 1, { 1002, 101, S7, S7 }, NULL },
	{ "copy_16", "cp.async.cg.shared.global.L2::128B [%s+16], [%in+32], 16;\n cp.async.wait_all;\n" GET(0, 12) GET(4, 16)
		GET(8, 28) GET(12, 32), 1, { 103, 1008, 1011, 108, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "copy_generic_policy", "cvta.shared.u64 %d0, %d9;\n createpolicy.fractional.L2::evict_last.b64 %d1, 0f3F800000;\n"
		"cp.async.ca.shared.global.L2::cache_hint.L2::64B [%s+8], [%in], 8, 8, %d1;\n cp.async.wait_all;\n" GET(0, 8)
		GET(4, 12), 1, { 1000, 1001, S7, S7 }, NULL },
	{ "fill_with_zeros", "cp.async.ca.shared.global [%s], [%in], 16, 5;\n mov.b32 %r1, 0;\n"
		"cp.async.ca.shared.global [%s+16], [%in+4096], 8, %r1;\n cp.async.wait_all;\n" GET(0, 0) GET(4, 4) GET(8, 8) GET(12, 12)
		GET(16, 16) GET(20, 20) GET(24, 24), 1, { 1000, 1001 & 255, 0, 0, 0, 0, 106, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "ignore_source", "setp.eq.b32 %p0, %r9, %r9;\n cp.async.ca.shared.global [%s], [%in+4096], 4, %p0;\n"
		"setp.ne.b32 %p0, %r9, %r9;\n cp.async.ca.shared.global [%s+4], [%in+4], 4, %p0;\n cp.async.wait_all;\n" GET(0, 0)
		GET(4, 4), 1, { 0, 1001, S7, S7 }, NULL },
	{ "groups_in_order", "cp.async.ca.shared.global [%s], [%in], 4;\n cp.async.commit_group;\n"
		"cp.async.ca.shared.global [%s+4], [%in+4], 4;\n cp.async.commit_group;\n cp.async.wait_group 1;\n" GET(0, 0)
		"cp.async.wait_group 0;\n" GET(4, 4), 1, { 1000, 1001, S7, S7 }, NULL },
	/* reads too early: the run shows what stood there, the checked run says so */
	{ "early_in_its_group", "cp.async.ca.shared.global [%s], [%in], 4;\n cp.async.commit_group;\n"
		"cp.async.ca.shared.global [%s+4], [%in+4], 4;\n cp.async.commit_group;\n cp.async.wait_group 1;\n" GET(0, 0)
		GET(4, 4) "cp.async.wait_group 0;\n" GET(8, 4), 1, { 1000, 101, 1001, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 },
		"Read of 4 bytes of shared memory" },
	{ "no_wait", "cp.async.ca.shared.global [%s], [%in], 4;\n cp.async.commit_group;\n bar.sync 0;\n" GET(0, 0), 1,
		{ 100, 7, S7, S7 }, "Read of 4 bytes of shared memory" },
	{ "wait_without_commit", "cp.async.ca.shared.global [%s], [%in], 4;\n cp.async.wait_group 0;\n" GET(0, 0), 1,
		{ 100, 7, S7, S7 }, "Read of 4 bytes of shared memory" },
	{ "misaligned_copy", "cp.async.ca.shared.global [%s+4], [%in], 8;\n", 1, { 7, 7, S7, S7 }, "Misaligned" },
	{ "copy_past_the_end", "cp.async.ca.shared.global [%s], [%in+1024], 4;\n", 1, { 7, 7, S7, S7 }, "Out of bounds" },
	{ "phases", "mbarrier.init.shared.b64 [%s+512], 2;\n mbarrier.arrive.shared.b64 %d0, [%s+512];\n"
		"mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0)
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 0;\n" BOOL(4)
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 1;\n" BOOL(8)	/* the phase before counts as complete */
		"mbarrier.pending_count.b64 %r0, %d0;\n" PUT(12, "%r0")
		"mbarrier.arrive.shared.b64 %d1, [%s+512];\n mbarrier.pending_count.b64 %r0, %d1;\n" PUT(16, "%r0")
		"mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(20)
		"mbarrier.try_wait.parity.shared.b64 %p0, [%s+512], 0, 100;\n" BOOL(24)
		"mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p0, [%s+512], 1;\n" BOOL(28)
		"mbarrier.arrive.shared.b64 %d2, [%s+512], 2;\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d2;\n" BOOL(32)
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 1;\n" BOOL(36), 1,
		{ 0, 0, 1, 2, 1, 1, 1, 0, 1, 1, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "drop", "mbarrier.init.shared.b64 [%s+512], 3;\n mbarrier.arrive_drop.shared.b64 %d0, [%s+512];\n"
		"mbarrier.arrive.shared.b64 %d1, [%s+512];\n mbarrier.arrive.shared.b64 %d2, [%s+512];\n"
		"mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0)		/* three came; two are expected now */
		"mbarrier.arrive.shared.b64 %d1, [%s+512];\n mbarrier.pending_count.b64 %r0, %d1;\n" PUT(4, "%r0"), 1,
		{ 1, 2, S7, S7 }, NULL },
	{ "no_complete", "mbarrier.init.shared.b64 [%s+512], 3;\n mbarrier.arrive.noComplete.shared.b64 %d0, [%s+512], 2;\n"
		"mbarrier.pending_count.b64 %r0, %d0;\n" PUT(0, "%r0") "mbarrier.arrive.noComplete.shared.b64 %d0, [%s+512], 1;\n", 1,
		{ 3, 7, S7, S7 }, "must not end the phase" },
	{ "too_many_arrivals", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.arrive.shared.b64 %d0, [%s+512], 2;\n", 1,
		{ 7, 7, S7, S7 }, "More threads arrive" },
	{ "count_of_zero", "mbarrier.init.shared.b64 [%s+512], %r9;\n", 1, { 7, 7, S7, S7 }, "count that it cannot have" },
	{ "invalidated", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.inval.shared.b64 [%s+512];\n"
		"mbarrier.arrive.shared.b64 %d0, [%s+512];\n", 1, { 7, 7, S7, S7 }, "not initialised" },
	{ "bytes", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.expect_tx.relaxed.cta.shared.b64 [%s+512], 8;\n"
		"mbarrier.arrive.shared.b64 %d0, [%s+512];\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0)
		"mbarrier.complete_tx.relaxed.cta.shared.b64 [%s+512], 8;\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(4)
		"mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 16;\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(8)
		"mbarrier.complete_tx.shared.b64 [%s+512], 16;\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(12), 1,
		{ 0, 1, 0, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	/* complete_tx may come before expect_tx */
	{ "bytes_before_they_are_expected", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.complete_tx.shared.b64 [%s+512], 8;\n"
		"mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 8;\n mbarrier.test_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0), 1,
		{ 1, 7, S7, S7 }, NULL },
	/* the arrival comes with the copy, which comes when someone looks */
	{ "arrival_after_copies", "mbarrier.init.shared.b64 [%s+512], 1;\n cp.async.ca.shared.global [%s], [%in+12], 4;\n"
		"cp.async.mbarrier.arrive.noinc.shared.b64 [%s+512];\n"
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 0;\n" BOOL(0) GET(4, 0), 1, { 1, 1003, S7, S7 }, NULL },
	{ "arrival_after_copies_counted", "mbarrier.init.shared.b64 [%s+512], 1;\n cp.async.ca.shared.global [%s], [%in+12], 4;\n"
		"cp.async.mbarrier.arrive.shared.b64 [%s+512];\n"
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 0;\n" BOOL(0) "mbarrier.arrive.shared.b64 %d0, [%s+512];\n"
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 0;\n" BOOL(4) GET(8, 0), 1,
		{ 0, 1, 1003, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "copies_after_the_arrival", "mbarrier.init.shared.b64 [%s+512], 1;\n cp.async.ca.shared.global [%s], [%in+12], 4;\n"
		"cp.async.mbarrier.arrive.noinc.shared.b64 [%s+512];\n cp.async.ca.shared.global [%s+4], [%in], 4;\n"
		"mbarrier.test_wait.parity.shared.b64 %p0, [%s+512], 0;\n" GET(0, 0) GET(4, 4), 1, { 1003, 101, S7, S7 },
		"Read of 4 bytes of shared memory" },
	/* 64 threads of two warps each copy a word and meet at the barrier */
	{ "barrier_of_two_warps", "setp.eq.b32 %p1, %r8, 0;\n @%p1 mbarrier.init.shared.b64 [%s+512], 64;\n bar.sync 0;\n"
		"shl.b32 %r1, %r8, 2;\n add.s32 %r2, %s, %r1;\n cvt.u64.u32 %d0, %r1;\n add.s64 %d1, %in, %d0;\n"
		"cp.async.ca.shared.global [%r2], [%d1], 4;\n cp.async.mbarrier.arrive.noinc.shared.b64 [%s+512];\n"
		"$W: mbarrier.try_wait.parity.shared.b64 %p0, [%s+512], 0;\n @!%p0 bra $W;\n"
		"xor.b32 %r3, %r1, 252;\n add.s32 %r3, %r3, %s;\n ld.shared.b32 %r4, [%r3];\n setp.lt.u32 %p1, %r8, 4;\n"
		"add.s64 %d2, %out, %d0;\n @%p1 st.global.b32 [%d2], %r4;\n", 64,
		{ 1063, 1062, 1061, 1060, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "bulk_to_shared", "mbarrier.init.shared.b64 [%s+512], 1;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in+16], 48, [%s+512];\n"
		"mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 48;\n mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0)
		GET(4, 0) GET(8, 44) GET(12, 48), 1, { 1, 1004, 1015, 112, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "bulk_to_shared_early", "mbarrier.init.shared.b64 [%s+512], 1;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in+16], 48, [%s+512];\n" GET(0, 0), 1,
		{ 100, 7, S7, S7 }, "Read of 4 bytes of shared memory" },
	{ "bulk_of_12", "mbarrier.init.shared.b64 [%s+512], 1;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in+16], 12, [%s+512];\n", 1,
		{ 7, 7, S7, S7 }, "no multiple of 16" },
	{ "bulk_past_the_end", "mbarrier.init.shared.b64 [%s+512], 1;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in+1008], 32, [%s+512];\n", 1,
		{ 7, 7, S7, S7 }, "Out of bounds" },
	{ "bulk_within_shared", "mbarrier.init.shared.b64 [%s+512], 1;\n mov.b32 %r1, 16;\n"
		"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%s], [%s+32], %r1, [%s+512];\n"
		"mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 16;\n mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n"
		GET(0, 0), 1, { 108, 7, S7, S7 }, NULL },
	{ "bulk_to_global", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s+16], 16;\n cp.async.bulk.commit_group;\n"
		"ld.global.b32 %r1, [%out];\n cp.async.bulk.wait_group 0;\n ld.global.b32 %r2, [%out+4];\n"
		PUT(16, "%r1") PUT(20, "%r2"), 1, { 104, 105, 106, 107, 7, 105, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	/* once it was read, shared memory may change; the write comes at the end of the block at the latest */
	{ "bulk_read", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s+16], 16;\n cp.async.bulk.commit_group;\n"
		"cp.async.bulk.wait_group.read 0;\n st.shared.b32 [%s+16], 1;\n ld.global.b32 %r1, [%out];\n" PUT(16, "%r1"), 1,
		{ 104, 105, 106, 107, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "bulk_changed_before_it_was_read", "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s+16], 16;\n"
		"cp.async.bulk.commit_group;\n st.shared.b32 [%s+16], 1;\n", 1,
		{ 1, 105, 106, 107, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "bulk_add", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%s], 16;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%out+16], [%s], 16;\n"
		"mov.b32 %r1, 0x40400000;\n st.global.b32 [%out+32], %r1;\n st.global.b32 [%out+36], %r1;\n"
		"st.shared.b32 [%s+64], %r1;\n st.shared.b32 [%s+68], 0;\n st.shared.b32 [%s+72], 0;\n st.shared.b32 [%s+76], 0;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%out+32], [%s+64], 16;\n"
		"cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;\n", 1,
		{ 107, 108, 109, 110, 100, 101, 102, 103, 0x40c00000, 0x40400000, 0, 0, 7, 7, 7, 7 }, NULL },
	{ "bulk_add_halves", "mov.b32 %r1, 0x3c003c00;\n st.global.b32 [%out], %r1;\n st.shared.b32 [%s], 0x40003c00;\n"
		"st.global.b32 [%out+4], 0x7bff0001;\n st.shared.b32 [%s+4], 0x7bff0001;\n st.shared.b32 [%s+8], 0x7e000000;\n"
		"st.global.b32 [%out+8], 0;\n st.shared.b32 [%s+12], 0;\n st.global.b32 [%out+12], 0;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%out], [%s], 16;\n cp.async.bulk.commit_group;\n"
		"cp.async.bulk.wait_group 0;\n", 1, { 0x42004000, 0x7c000002, 0x7fff0000, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "bulk_add_within_shared", "mbarrier.init.shared.b64 [%s+512], 1;\n"
		"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 [%s], [%s+16], 16, [%s+512];\n"
		"mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 16;\n mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n" GET(0, 0)
		GET(4, 12), 1, { 204, 210, S7, S7 }, NULL },
	{ "store_async", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 20;\n"
		"mov.b32 %r1, 5;\n st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%s], %r1, [%s+512];\n"
		"mov.b64 %d1, 0x300000009;\n"
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%s+16], {%d1, %d1}, [%s+512];\n"
		"mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0) GET(4, 0) GET(8, 16) GET(12, 20) GET(16, 24), 1,
		{ 1, 5, 9, 3, 9, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "reduce_async", "mbarrier.init.shared.b64 [%s+512], 1;\n mbarrier.arrive.expect_tx.shared.b64 %d0, [%s+512], 24;\n"
		"mov.b32 %r1, 5;\n mov.b64 %d1, 0x10000000a;\n"
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%s], %r1, [%s+512];\n"
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%s+4], %r1, [%s+512];\n"
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%s+8], %r1, [%s+512];\n"
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%s+12], %r1, [%s+512];\n"
		"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%s+16], %d1, [%s+512];\n"
		"mbarrier.try_wait.shared.b64 %p0, [%s+512], %d0;\n" BOOL(0) GET(4, 0) GET(8, 4) GET(12, 8) GET(16, 12) GET(20, 16)
		GET(24, 20), 1, { 1, 105, 5, 0, 103 ^ 5, 114, 106, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	/* ---- plain memory */
	{ "wide_moves", "ld.global.b128 %q0, [%in+16];\n st.shared.b128 [%s+32], %q0;\n mov.b128 {%d0, %d1}, %q0;\n"
		"cvt.u32.u64 %r1, %d1;\n" GET(0, 32) GET(4, 44) PUT(8, "%r1") "ld.shared.b128 %q1, [%s];\n"
		"st.global.b128 [%out+16], %q1;\n", 1, { 1004, 1007, 1006, 7, 100, 101, 102, 103, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "wide_misaligned", "ld.global.b128 %q0, [%in+8];\n", 1, { 7, 7, S7, S7 }, "Misaligned read of 16 bytes" },
	{ "eight_elements", "ld.shared.v8.u8 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}, [%s];\n cvt.u32.u16 %r1, %h4;\n" PUT(0, "%r1")
		"ld.global.nc.v8.b16 {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}, [%in];\n cvt.u32.u16 %r1, %h2;\n" PUT(4, "%r1")
		"st.shared.v8.b16 [%s+16], {%h0, %h2, %h4, %h6, %h1, %h1, %h1, %h1};\n" GET(8, 16) GET(12, 20) GET(16, 24), 1,
		{ 101, 1001, 1000 | 1001 << 16, 1002 | 1003 << 16, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "hints", "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %d0, 0f3F000000;\n"
		"createpolicy.range.global.L2::evict_last.b64 %d1, [%in], 64, 128;\n createpolicy.cvt.L2.b64 %d2, %d1;\n"
		"ld.global.nc.L1::no_allocate.L2::cache_hint.L2::256B.b32 %r1, [%in+4], %d0;\n"
		"ld.mmio.relaxed.sys.global.u32 %r2, [%in];\n"
		"ld.global.ca.nc.b32 %r3, [%in+8];\n st.global.L1::evict_last.L2::cache_hint.b32 [%out], %r1, %d2;\n"
		"st.mmio.relaxed.sys.u32 [%out+4], %r2;\n st.global.wt.L2::cache_hint.v2.b32 [%out+8], {%r3, %r1}, %d0;\n"
		"prefetch.global.L2 [%in];\n prefetchu.L1 [%in];\n applypriority.global.L2::evict_normal [%in], 128;\n"
		"cp.async.bulk.prefetch.L2.global [%in], 64;\n fence.proxy.async.shared::cta;\n fence.mbarrier_init.release.cluster;\n"
		"fence.proxy.alias;\n fence.acquire.sync_restrict::shared::cluster.cluster;\n fence.sc.sys;\n fence.acq_rel.cta;\n"
		"membar.gl;\n", 1, { 1001, 1000, 1002, 1001, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "address_with_offset", "mov.u32 %r1, sh+8;\n ld.shared.b32 %r2, [%r1];\n" PUT(0, "%r2") "mov.u64 %d0, sh+12;\n"
		"cvta.shared.u64 %d0, %d0;\n ld.b32 %r2, [%d0];\n" PUT(4, "%r2"), 1, { 102, 103, S7, S7 }, NULL },
	{ "atomic_16_bytes", "ld.global.b128 %q0, [%in];\n atom.global.exch.b128 %q1, [%out], %q0;\n st.global.b128 [%out+16], %q1;\n"
		"ld.global.b128 %q1, [%in+16];\n atom.relaxed.gpu.global.cas.b128 %q2, [%out], %q1, %q1;\n"
		"st.global.b128 [%out+32], %q2;\n"
		"atom.shared.cas.b128 %q2, [%s], %q1, %q1;\n atom.global.cas.b128 _, [%out], %q0, %q1;\n", 1,
		{ 1004, 1005, 1006, 1007, 7, 7, 7, 7, 1000, 1001, 1002, 1003, 7, 7, 7, 7 }, NULL },
	{ "atomic_vectors", "mov.b32 %r1, 0x3f800000;\n mov.b32 %r2, 0x40000000;\n st.global.v4.b32 [%out], {%r1, %r2, %r1, %r2};\n"
		"atom.global.add.v4.f32 {%r3, %r4, %r5, %r6}, [%out], {%r2, %r2, %r1, %r1};\n" PUT(16, "%r4")
		"red.relaxed.gpu.global.v2.f32.add [%out], {%r1, %r1};\n mov.b32 %r1, 0x3c004000;\n st.global.b32 [%out+24], %r1;\n"
		"st.global.b32 [%out+28], %r1;\n red.global.add.noftz.v2.f16x2 [%out+24], {%r1, %r1};\n mov.b16 %h0, 0x4000;\n"
		"mov.b16 %h1, 0x3c00;\n st.global.b32 [%out+32], %r1;\n atom.global.max.noftz.v2.f16 {%h2, %h3}, [%out+32], {%h1, %h0};\n"
		"mov.b32 %r1, {%h2, %h3};\n" PUT(36, "%r1") "mov.b32 %r1, 0x3f804000;\n st.global.b32 [%out+40], %r1;\n"
		"mov.b16 %h1, 0x3f80;\n red.global.min.noftz.v2.bf16 [%out+40], {%h1, %h1};\n", 1,
		{ 0x40800000, 0x40a00000, 0x40000000, 0x40400000, 0x40000000, 7, 0x40004400, 0x40004400, 0x40004000, 0x3c004000,
			0x3f803f80, 7, 7, 7, 7, 7 }, NULL },
	{ "atomic_spellings", "atom.add.acquire.cta.u32 %r1, [%out], 5;\n" PUT(4, "%r1") "atom.exch.relaxed.gpu.b32 %r1, [%out], 6;\n"
		PUT(8, "%r1") "atom.cas.acq_rel.sys.b32 %r1, [%out], 6, 9;\n" PUT(12, "%r1")
		"red.release.gpu.global.add.u32 [%out], 1;\n atom.shared::cluster.or.b32 %r1, [%s], 3;\n" PUT(16, "%r1")
		"atom.global.max.L2::cache_hint.s32 _, [%out+4], 100, %d9;\n" GET(20, 0), 1,
		{ 10, 100, 12, 6, 100, 103, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
	{ "clocks", "mov.u32 %r1, %clock_hi;\n" PUT(0, "%r1") "mov.u32 %r1, %globaltimer_hi;\n" PUT(4, "%r1")
		"mov.u32 %r1, %globaltimer_lo;\n setp.ne.u32 %p0, %r1, 0;\n" BOOL(8), 1,
		{ 0, 0, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7 }, NULL },
};

static void
write_kernel(struct buf *out, const struct piece *p)
{
	buf_adds(out, RIG_HEADER ".visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n\t.reg .b32 %r<10>, %s, %k;\n"
		"\t.reg .b64 %d<10>, %in, %out;\n\t.reg .b16 %h<8>;\n\t.reg .b128 %q<3>;\n\t.reg .pred %p<2>, %w;\n"
		"\t.shared .align 128 .b8 sh[544];\n"
		"\tld.param.u64 %out, [pout];\n\tld.param.u64 %in, [pin];\n\tmov.u32 %s, sh;\n\tcvt.u64.u32 %d9, %s;\n"
		"\tmov.u32 %r8, %tid.x;\n\tmov.b32 %r9, 0;\n\tmov.b32 %k, 0;\n"
		"$F:\n\tshl.b32 %r0, %k, 2;\n\tadd.s32 %r0, %r0, %s;\n\tadd.s32 %r1, %k, 100;\n\tst.shared.b32 [%r0], %r1;\n"
		"\tadd.s32 %k, %k, 1;\n\tsetp.lt.u32 %w, %k, 64;\n\t@%w bra $F;\n\tbar.sync 0;\n");
	buf_addf(out, "%s\n\tret;\n}\n", p->text);
}

static void
run_piece(const struct piece *p, bool checked)
{
	struct buf text = BUF_INIT;
	struct ptx_options options = { .checked = checked, .budget = 1000000 };
	struct rig r;
	write_kernel(&text, p);
	rig_open(&r, text.data, text.len, &options);
	uint32_t *in = rig_buffer(&r, "in", INPUTS * 4, PTX_READ, true);
	uint32_t *out = rig_buffer(&r, "out", OUTPUTS * 4, PTX_READ_WRITE, true);
	for (uint32_t k = 0; k < INPUTS; k++)
		in[k] = 1000 + k;
	for (uint32_t k = 0; k < OUTPUTS; k++)
		out[k] = 7;
	uint64_t params[2] = { (uint64_t)(uintptr_t)out, (uint64_t)(uintptr_t)in };
	enum ptx_status status = rig_run(&r, "k", 1, p->threads, params, sizeof params);
	bool early = p->finding && strstr(p->finding, "Read of");
	if (status == PTX_UNSUPPORTED || (status != PTX_OK && !p->finding))
		fail_msg("%s: %s", p->name, buf_str(&r.err));
	if (checked || (p->finding && !early)) {
		if (ptx_finding_count(r.machine) != (p->finding != NULL))
			fail_msg("%s: %zu findings: %s", p->name, ptx_finding_count(r.machine),
				ptx_finding_count(r.machine) ? ptx_finding_at(r.machine, 0)->message : "");
		if (p->finding && !strstr(ptx_finding_at(r.machine, 0)->message, p->finding))
			fail_msg("%s: %s", p->name, ptx_finding_at(r.machine, 0)->message);
	}
	for (uint32_t k = 0; k < OUTPUTS; k++)
		if (out[k] != p->expected[k])
			fail_msg("%s: word %u is %u, expected %u", p->name, k, out[k], p->expected[k]);
	rig_close(&r);
	buf_release(&text);
}

static void
check_piece(void **state)
{
	run_piece(*state, false);
	run_piece(*state, true);
}

/* ---- what compiled CUDA makes of it: tests/data/ptx/async.cu */

static void
check_compiled(void **state)
{
	enum { TILE = 128, TILES = 6 };
	const char *kernel = *state;
	static struct buf text;
	struct ptx_options options = { .checked = true, .budget = 100000000 };
	struct rig r;
	if (!text.len)
		compile_in("tests/data/ptx", "async", &text);
	rig_open(&r, text.data, text.len, &options);
	float *in = rig_buffer(&r, "in", TILES * TILE * 4, PTX_READ, true);
	float *out = rig_buffer(&r, "out", TILES * TILE * 4, PTX_READ_WRITE, false);
	for (int k = 0; k < TILES * TILE; k++)
		in[k] = (float)(k * 7 % 1000);
	struct { const float *in; float *out; int tiles; } p = { in, out, TILES };
	uint32_t threads = strcmp(kernel, "with_split_pipeline") ? TILE : TILE + 32;
	if (rig_run(&r, kernel, 1, threads, &p, sizeof p) != PTX_OK)
		fail_msg("%s: %s", kernel, buf_str(&r.err));
	if (ptx_finding_count(r.machine))
		fail_msg("%s: %s", kernel, ptx_finding_at(r.machine, 0)->message);
	for (int k = 0; k < TILES; k++)
		for (int t = 0; t < TILE; t++)
			if (out[k * TILE + t] != in[k * TILE + TILE - 1 - t] + 1)
				fail_msg("%s: element %d of tile %d is %g, expected %g", kernel, t, k, (double)out[k * TILE + t],
					(double)in[k * TILE + TILE - 1 - t] + 1);
	rig_close(&r);
}

int
main(void)
{
	static const char *const kernels[] = { "with_primitives", "with_pipeline", "with_split_pipeline", "with_barrier",
		"with_groups", "with_bulk" };
	enum { PIECES = sizeof pieces / sizeof *pieces, KERNELS = sizeof kernels / sizeof *kernels };
	static struct CMUnitTest list[PIECES + KERNELS];
	for (size_t k = 0; k < PIECES; k++)
		list[k] = (struct CMUnitTest){ pieces[k].name, check_piece, NULL, NULL, (void *)(uintptr_t)&pieces[k] };
	for (size_t k = 0; k < KERNELS; k++)
		list[PIECES + k] = (struct CMUnitTest){ kernels[k], check_compiled, NULL, NULL, (void *)(uintptr_t)kernels[k] };
	return cmocka_run_group_tests_name("ptx asynchronous copies", list, NULL, NULL);
}
