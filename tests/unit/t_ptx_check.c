/* In: small kernels with one fault each, and right ones that look alike. Out: the finding with its kind, line,
 * block, thread, buffer and offset; nothing for the right ones; the statuses of a launch; the counters. */
#include "ptx_rig.h"

#define HEAD(name) RIG_HEADER ".visible .entry " name "(.param .u64 pa, .param .u64 pb, .param .u32 pn)\n{\n" \
	"\t.reg .b64 %a<9>;\n\t.reg .b32 %r<20>;\n\t.reg .f32 %f<9>;\n\t.reg .pred %p<9>;\n\t.reg .b16 %h<4>;\n" \
	"\tld.param.u64 %a0, [pa];\n\tld.param.u64 %a1, [pb];\n\tld.param.u32 %r0, [pn];\n" \
	"\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmad.lo.s32 %r4, %r2, %r3, %r1;\n" \
	"\tmul.wide.s32 %a2, %r4, 4;\n\tadd.s64 %a3, %a0, %a2;\n\tadd.s64 %a4, %a1, %a2;\n"
#define TAIL "\tret;\n}\n\t.file 1 \"/src/fault.cu\"\n"
#define LOC(line) "\t.loc 1 " #line " 3\n"

struct fault {
	struct rig rig;
	uint32_t *a, *b;
};

static void
open_fault(struct fault *f, const char *body, bool checked)
{
	struct buf text = BUF_INIT;
	struct ptx_options options = { .checked = checked, .budget = 20000000 };
	buf_adds(&text, HEAD("k"));
	buf_adds(&text, body);
	buf_adds(&text, TAIL);
	rig_open(&f->rig, text.data, text.len, &options);
	buf_release(&text);
	f->a = rig_buffer(&f->rig, "a", 400, PTX_READ, true);
	f->b = rig_buffer(&f->rig, "b", 400, PTX_READ_WRITE, false);
	for (uint32_t k = 0; k < 100; k++)
		f->a[k] = k;
}

static enum ptx_status
run_fault(struct fault *f, uint32_t grid, uint32_t block, uint32_t n)
{
	struct { const void *a; void *b; uint32_t n; } params = { f->a, f->b, n };
	return rig_run(&f->rig, "k", grid, block, &params, sizeof params);
}

/* The one finding that a launch of `body` must give. */
static struct ptx_finding
expect_finding(struct fault *f, const char *body, bool checked, uint32_t grid, uint32_t block, enum ptx_status status,
	enum ptx_kind kind, uint32_t line)
{
	open_fault(f, body, checked);
	assert_string_equal(ptx_status_name(run_fault(f, grid, block, 100)), ptx_status_name(status));
	assert_int_equal(ptx_finding_count(f->rig.machine), 1);
	struct ptx_finding found = *ptx_finding_at(f->rig.machine, 0);
	assert_string_equal(ptx_kind_name(found.kind), ptx_kind_name(kind));
	assert_int_equal(found.line, line);
	assert_string_equal(found.file, "fault.cu");	/* without its folder */
	assert_string_equal(found.kernel, "k");
	assert_non_null(strstr(found.message, " at fault.cu:"));
	return found;
}

static void
expect_clean(const char *body, bool checked, uint32_t grid, uint32_t block)
{
	struct fault f;
	open_fault(&f, body, checked);
	enum ptx_status status = run_fault(&f, grid, block, 100);
	if (status != PTX_OK || ptx_finding_count(f.rig.machine))
		fail_msg("%s: %s", ptx_status_name(status), ptx_finding_count(f.rig.machine)
			? ptx_finding_at(f.rig.machine, 0)->message : buf_str(&f.rig.err));
	rig_close(&f.rig);
}

/* ---- memcheck */

static void
test_out_of_bounds(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, LOC(12) "\tld.global.u32 %r5, [%a3];\n", false, 4, 32, PTX_FAULT,
		PTX_OUT_OF_BOUNDS, 12);
	assert_int_equal(found.check, PTX_MEMCHECK);
	assert_string_equal(found.buffer, "a");
	assert_int_equal(found.offset_bytes, 400);
	assert_int_equal(found.size_bytes, 4);
	assert_int_equal(found.block[0], 3);
	assert_int_equal(found.thread[0], 4);
	assert_int_equal(found.space, PTX_SPACE_GLOBAL);
	rig_close(&f.rig);
	found = expect_finding(&f, LOC(9) "\tst.global.u8 [%a1+-1], %h1;\n", false, 1, 1, PTX_FAULT, PTX_OUT_OF_BOUNDS, 9);
	assert_string_equal(found.buffer, "b");
	assert_int_equal(found.offset_bytes, -1);
	rig_close(&f.rig);
	/* the first byte behind the end */
	found = expect_finding(&f, LOC(9) "\tld.global.u8 %h1, [%a0+400];\n", false, 1, 1, PTX_FAULT, PTX_OUT_OF_BOUNDS, 9);
	assert_int_equal(found.offset_bytes, 400);
	rig_close(&f.rig);
	/* half of a vector inside, half outside */
	found = expect_finding(&f, LOC(9) "\tadd.s64 %a5, %a1, 392;\n\tst.global.v4.u32 [%a1+400], {%r1,%r1,%r1,%r1};\n", false,
		1, 1, PTX_FAULT, PTX_OUT_OF_BOUNDS, 9);
	assert_int_equal(found.size_bytes, 16);
	rig_close(&f.rig);
	expect_clean("\tsetp.ge.u32 %p1, %r4, %r0;\n\t@%p1 ret;\n\tld.global.u32 %r5, [%a3];\n"
		"\tst.global.u32 [%a4], %r5;\n", true, 4, 32);
}

static void
test_misaligned(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, LOC(5) "\tld.global.v2.u32 {%r5, %r6}, [%a3];\n", false, 1, 2, PTX_FAULT,
		PTX_MISALIGNED, 5);
	assert_int_equal(found.thread[0], 1);
	assert_int_equal(found.offset_bytes, 4);
	rig_close(&f.rig);
	expect_clean("\tadd.s64 %a3, %a3, %a2;\n\tld.global.v2.u32 {%r5, %r6}, [%a3];\n", true, 1, 32);
}

static void
test_freed_and_unknown(void **state)
{
	(void)state;
	struct fault f;
	const char *body = LOC(7) "\tld.global.u32 %r5, [%a4];\n";
	open_fault(&f, body, false);
	assert_int_equal(ptx_mark_freed(f.rig.machine, (uint64_t)(uintptr_t)f.b, NULL), 0);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_FAULT);
	assert_int_equal(ptx_finding_at(f.rig.machine, 0)->kind, PTX_USE_AFTER_FREE);
	assert_string_equal(ptx_finding_at(f.rig.machine, 0)->buffer, "b");
	/* mapped anew, the range is good again */
	assert_int_equal(ptx_map(f.rig.machine, "again", (uint64_t)(uintptr_t)f.b, 400, PTX_READ, true, NULL), 0);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	rig_close(&f.rig);
	struct ptx_finding found = expect_finding(&f, LOC(8) "\tmov.u64 %a5, 4096;\n\tld.global.u32 %r5, [%a5];\n", false, 1, 1,
		PTX_FAULT, PTX_NO_MEMORY, 8);
	assert_null(found.buffer);
	rig_close(&f.rig);
}

static void
test_read_only(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, LOC(6) "\tst.global.u32 [%a3], %r1;\n", false, 1, 32, PTX_FAULT,
		PTX_READ_ONLY_WRITE, 6);
	assert_string_equal(found.buffer, "a");
	assert_int_equal(f.a[0], 0);
	rig_close(&f.rig);
	expect_finding(&f, LOC(6) "\tatom.global.add.u32 %r5, [%a3], 1;\n", false, 1, 32, PTX_FAULT, PTX_READ_ONLY_WRITE, 6);
	rig_close(&f.rig);
}

static void
test_shared_bounds(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, "\t.shared .align 4 .b8 tile[128];\n\tmov.u32 %r5, tile;\n" LOC(4)
		"\tst.shared.u32 [%r5+128], %r1;\n", false, 1, 1, PTX_FAULT, PTX_OUT_OF_BOUNDS, 4);
	assert_int_equal(found.space, PTX_SPACE_SHARED);
	assert_string_equal(found.buffer, "tile");
	assert_int_equal(found.offset_bytes, 128);
	rig_close(&f.rig);
	/* the same through a generic address */
	expect_finding(&f, "\t.shared .align 4 .b8 tile[128];\n\tmov.u64 %a5, tile;\n\tcvta.shared.u64 %a5, %a5;\n" LOC(4)
		"\tst.u32 [%a5+128], %r1;\n", false, 1, 1, PTX_FAULT, PTX_OUT_OF_BOUNDS, 4);
	rig_close(&f.rig);
	expect_clean("\t.shared .align 4 .b8 tile[128];\n\tmov.u64 %a5, tile;\n\tcvta.shared.u64 %a5, %a5;\n"
		"\tst.u32 [%a5+124], %r1;\n\tld.u32 %r6, [%a5+124];\n", true, 1, 1);
}

static void
test_local_bounds(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, "\t.local .align 4 .b8 mine[64];\n\tmov.u64 %a5, mine;\n" LOC(3)
		"\tst.local.u32 [%a5+64], %r1;\n", false, 1, 32, PTX_FAULT, PTX_OUT_OF_BOUNDS, 3);
	assert_int_equal(found.space, PTX_SPACE_LOCAL);
	rig_close(&f.rig);
}

/* ---- initcheck */

static void
test_uninitialised(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, LOC(10) "\tld.global.u32 %r5, [%a4];\n", true, 1, 32, PTX_OK,
		PTX_UNINITIALISED_READ, 10);
	assert_int_equal(found.check, PTX_INITCHECK);
	assert_string_equal(found.buffer, "b");
	assert_true(ptx_finding_at(f.rig.machine, 0)->count >= 1);
	rig_close(&f.rig);
	/* one byte of four */
	expect_finding(&f, "\tst.global.u16 [%a4], %h1;\n\tst.global.u8 [%a4+3], %h1;\n"
		LOC(11) "\tld.global.u32 %r5, [%a4];\n", true, 1,
		1, PTX_OK, PTX_UNINITIALISED_READ, 11);
	rig_close(&f.rig);
	expect_finding(&f, "\t.shared .align 4 .b8 tile[128];\n\tmov.u32 %r5, tile;\n"
		LOC(12) "\tld.shared.u32 %r6, [%r5+4];\n", true, 1,
		1, PTX_OK, PTX_UNINITIALISED_READ, 12);
	rig_close(&f.rig);
	expect_finding(&f, LOC(13) "\tred.global.add.u32 [%a4], 1;\n", true, 1, 1, PTX_OK, PTX_UNINITIALISED_READ, 13);
	rig_close(&f.rig);
	expect_clean("\tst.global.u32 [%a4], %r1;\n\tld.global.u32 %r5, [%a4];\n\tred.global.add.u32 [%a4], 1;\n", true, 1, 32);
	/* plain launches do not look */
	expect_clean("\tld.global.u32 %r5, [%a4];\n", false, 1, 32);
}

static void
test_initialised_by_host(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "\tld.global.u32 %r5, [%a4];\n", true);
	uint64_t b = (uint64_t)(uintptr_t)f.b;
	ptx_mark_initialised(f.rig.machine, b, 128, true);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 0);
	ptx_mark_initialised(f.rig.machine, b + 5, 1, false);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 1);
	assert_int_equal(ptx_finding_at(f.rig.machine, 0)->offset_bytes, 4);
	ptx_clear_findings(f.rig.machine);
	ptx_copy_initialised(f.rig.machine, b, (uint64_t)(uintptr_t)f.a, 128);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 0);
	rig_close(&f.rig);
}

/* ---- synccheck */

static void
test_divergent_barrier(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra L;\n"
		LOC(20) "\tbar.sync 0;\n\tbra M;\nL:\n"
		LOC(22) "\tbar.sync 0;\nM:\n", false, 1, 64, PTX_OK, PTX_DIVERGENT_BARRIER, 20);
	assert_int_equal(found.check, PTX_SYNCCHECK);
	rig_close(&f.rig);
	/* warps at different barriers */
	expect_finding(&f, "\tsetp.lt.u32 %p1, %r1, 32;\n\t@%p1 bra L;\n" LOC(20) "\tbar.sync 0;\n\tbra M;\nL:\n" LOC(22)
		"\tbar.sync 0;\nM:\n", false, 1, 64, PTX_OK, PTX_BARRIER_MISMATCH, 20);
	rig_close(&f.rig);
	/* a part of the warp goes past the barrier and ends, where a GPU would wait for the others */
	found = expect_finding(&f, "\tsetp.ge.u32 %p1, %r1, 16;\n\t@%p1 bra L;\n"
		LOC(24) "\tbar.sync 0;\nL:\n\tadd.u32 %r5, %r5, 1;\n"
		"\tst.global.u32 [%a4], %r5;\n", false, 1, 32, PTX_OK, PTX_DIVERGENT_BARRIER, 24);
	rig_close(&f.rig);
	/* lanes that have left do not count, and neither do diverged lanes that meet at one barrier */
	expect_clean("\tsetp.ge.u32 %p1, %r1, 40;\n\t@%p1 ret;\n\tbar.sync 0;\n", false, 1, 64);
	expect_clean("\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra L;\n\tadd.u32 %r5, %r1, 1;\nL:\n\tbar.sync 0;\n", false, 1, 64);
}

static void
test_shuffle_from_exited(void **state)
{
	(void)state;
	struct fault f;
	expect_finding(&f, "\tsetp.ge.u32 %p1, %r1, 16;\n\t@%p1 ret;\n"
		LOC(30) "\tshfl.sync.bfly.b32 %r5, %r1, 16, 31, -1;\n", false, 1,
		32, PTX_OK, PTX_EXITED_LANES_IN_MASK, 30);
	rig_close(&f.rig);
	expect_clean("\tsetp.ge.u32 %p1, %r1, 16;\n\t@%p1 ret;\n\tshfl.sync.bfly.b32 %r5, %r1, 8, 31, 0xffff;\n", false, 1, 32);
	expect_finding(&f, LOC(31) "\tshfl.sync.idx.b32 %r5, %r1, 0, 31, 0xffff;\n", false, 1, 32, PTX_OK, PTX_LANE_NOT_IN_MASK, 31);
	rig_close(&f.rig);
}

/* Where the text puts a join before the blocks that lead to it, lanes still meet there, in loops too. */
static void
test_reconvergence(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "\tmov.u32 %r5, 0;\n\tmov.u32 %r6, -1;\n\tsetp.lt.u32 %p1, %r1, 16;\nLOOP:\n\t@%p1 bra A;\n\tbra B;\n"
		"JOIN:\n\tactivemask.b32 %r7;\n\tand.b32 %r6, %r6, %r7;\n\tadd.u32 %r5, %r5, 1;\n\tsetp.lt.u32 %p2, %r5, 4;\n"
		"\t@%p2 bra LOOP;\n\tbra END;\nA:\n\tadd.u32 %r8, %r8, 1;\n\tbra JOIN;\nB:\n\tadd.u32 %r8, %r8, 2;\n"
		"\tadd.u32 %r8, %r8, 2;\n\tbra JOIN;\nEND:\n\tst.global.u32 [%a4], %r6;\n", false);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	for (int k = 0; k < 32; k++)
		assert_int_equal(f.b[k], 0xffffffff);
	assert_int_equal(f.rig.counters.divergent_branches, 4);
	rig_close(&f.rig);
}

/* The lane that a shuffle reads, by the words of the manual */
static int
shuffle_source(const char *mode, int lane, uint32_t b, uint32_t c, bool *valid)
{
	int bval = (int)(b & 31), cval = (int)(c & 31), segmask = (int)(c >> 8 & 31);
	int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask, j = 0;
	if (!strcmp(mode, "up")) {
		j = lane - bval;
		*valid = j >= max_lane;
	} else {
		j = !strcmp(mode, "down") ? lane + bval : !strcmp(mode, "bfly") ? lane ^ bval : min_lane | (bval & ~segmask);
		*valid = j <= max_lane;
	}
	return *valid ? j : lane;
}

static void
test_shuffles(void **state)
{
	(void)state;
	static const char *const modes[] = { "up", "down", "bfly", "idx" };
	static const uint32_t clamps[] = { 31, 0, 0x181f, 0x1c1f, 0x1800, 0x100f, 0x0e07 };
	for (int m = 0; m < 4; m++)
		for (uint32_t b = 0; b < 32; b += b < 8 ? 1 : 7)
			for (size_t c = 0; c < sizeof clamps / sizeof *clamps; c++)
				for (int fixed = 0; fixed < 2; fixed++) {
					struct buf body = BUF_INIT;
					struct fault f;
					buf_addf(&body, "\tmov.u32 %%r5, %u;\n\tmul.lo.u32 %%r7, %%r1, 3;\n", b);
					if (fixed)
						buf_addf(&body, "\tshfl.sync.%s.b32 %%r6|%%p1, %%r7, %u, %u, -1;\n", modes[m], b, clamps[c]);
					else
						buf_addf(&body, "\tshfl.sync.%s.b32 %%r6|%%p1, %%r7, %%r5, %u, -1;\n", modes[m], clamps[c]);
					buf_adds(&body, "\tselp.u32 %r8, 1000, 0, %p1;\n\tadd.u32 %r6, %r6, %r8;\n\tst.global.u32 [%a4], %r6;\n");
					open_fault(&f, buf_str(&body), false);
					assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
					for (int l = 0; l < 32; l++) {
						bool valid;
						int from = shuffle_source(modes[m], l, b, clamps[c], &valid);
						if (f.b[l] != (uint32_t)(from * 3 + valid * 1000))
							fail_msg("%s %u %#x lane %d: %u", modes[m], b, clamps[c], l, f.b[l]);
					}
					rig_close(&f.rig);
					buf_release(&body);
				}
}

/* Half of the warp loops for so long that the other half gets its turn, and has to wait in the shuffle. */
static void
test_collective_waits(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "\tmov.u32 %r5, 0;\n\tsetp.ge.u32 %p1, %r1, 16;\n\t@%p1 bra S;\nL:\n\tadd.u32 %r5, %r5, 1;\n"
		"\tsetp.lt.u32 %p2, %r5, 30000;\n\t@%p2 bra L;\nS:\n\tshfl.sync.idx.b32 %r6, %r5, 3, 31, -1;\n"
		"\tst.global.u32 [%a4], %r6;\n", false);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	for (int k = 0; k < 32; k++)
		assert_int_equal(f.b[k], 30000);
	assert_int_equal(ptx_finding_count(f.rig.machine), 0);
	rig_close(&f.rig);
}

static void
test_deadlock(void **state)
{
	(void)state;
	struct fault f;
	/* half of the warp waits in a shuffle for lanes that wait at the barrier */
	struct ptx_finding found = expect_finding(&f, "\tsetp.lt.u32 %p1, %r1, 16;\n\t@%p1 bra L;\n\tbar.sync 0;\n"
		"\tbra M;\nL:\n" LOC(22)
		"\tshfl.sync.idx.b32 %r5, %r1, 0, 31, -1;\nM:\n", false, 1, 32, PTX_DEADLOCK, PTX_STUCK, 22);
	assert_non_null(strstr(found.message, "Deadlock"));
	assert_non_null(strstr(buf_str(&f.rig.err), "Deadlock"));
	rig_close(&f.rig);
	/* a barrier for more warps than there are */
	expect_finding(&f, LOC(23) "\tbar.sync 1, 96;\n", false, 1, 64, PTX_DEADLOCK, PTX_STUCK, 23);
	rig_close(&f.rig);
}

/* A function pointer whose function has other parameters, and one that is no function at all */
static void
test_bad_calls(void **state)
{
	(void)state;
	static const char *const pointers[] = { "f", "12345" };
	for (int k = 0; k < 2; k++) {
		struct buf text = BUF_INIT;
		struct rig r;
		buf_addf(&text, RIG_HEADER ".func (.param .b32 r) f(.param .align 8 .b8 x[256])\n{\n\tret;\n}\n"
			".entry k()\n{\n\t.reg .b64 %%a;\n\tmov.u64 %%a, f;\n\tmov.u64 %%a, %s;\n\t.param .b32 p;\n\t.param .b32 q;\n"
			"P: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (q), %%a, (p), P;\n\tret;\n}\n", pointers[k]);
		rig_open(&r, text.data, text.len, NULL);
		assert_int_equal(rig_run(&r, "k", 1, 32, NULL, 0), PTX_FAULT);
		assert_int_equal(ptx_finding_at(r.machine, 0)->kind, PTX_BAD_CALL);
		rig_close(&r);
		buf_release(&text);
	}
}

/* A pointer that one kernel leaves in memory is to the same function in another, which names none of its own. */
static void
test_pointers_are_of_the_module(void **state)
{
	(void)state;
	static const char text[] = RIG_HEADER
		".func (.param .b32 r) unused(.param .b32 x)\n{\n\tst.param.b32 [r], 5;\n\tret;\n}\n"
		".func (.param .b32 r) twice(.param .b32 x)\n{\n\t.reg .b32 %v;\n\tld.param.b32 %v, [x];\n"
		"\tadd.s32 %v, %v, %v;\n\tst.param.b32 [r], %v;\n\tret;\n}\n"
		".global .u64 kept;\n.global .u64 table[1] = { twice };\n"
		".entry writer()\n{\n\t.reg .b64 %a;\n\tmov.u64 %a, twice;\n\tst.global.u64 [kept], %a;\n\tret;\n}\n"
		".entry other()\n{\n\t.reg .b64 %a;\n\tmov.u64 %a, unused;\n\tret;\n}\n"
		".entry caller(.param .u64 out)\n{\n\t.reg .b64 %a, %o, %t;\n\t.reg .b32 %v;\n\t.reg .pred %p;\n"
		"\tld.param.u64 %o, [out];\n"
		"\tld.global.u64 %a, [kept];\n\tld.global.u64 %t, [table];\n\tsetp.ne.u64 %p, %a, %t;\n\t@%p trap;\n"
		"\t.param .b32 p;\n\t.param .b32 q;\n\tmov.u32 %v, 21;\n\tst.param.b32 [p], %v;\n"
		"P: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (q), %a, (p), P;\n"
		"\tld.param.b32 %v, [q];\n\tst.global.u32 [%o], %v;\n\tret;\n}\n";
	struct rig r;
	rig_open(&r, text, sizeof text - 1, NULL);
	int32_t *out = rig_buffer(&r, "out", 4, PTX_READ_WRITE, false);
	uint64_t argument = (uint64_t)(uintptr_t)out;
	assert_int_equal(rig_run(&r, "writer", 1, 1, NULL, 0), PTX_OK);
	assert_int_equal(rig_run(&r, "other", 1, 1, NULL, 0), PTX_OK);
	assert_int_equal(rig_run(&r, "caller", 1, 1, &argument, 8), PTX_OK);
	assert_int_equal(*out, 42);
	rig_close(&r);
}

static void
test_stack_overflow(void **state)
{
	(void)state;
	static const char text[] = RIG_HEADER ".func f()\n{\n\t.local .align 8 .b8 mine[64];\n\t.reg .b64 %a;\n\tmov.u64 %a, mine;\n"
		"\tst.local.u64 [%a], %a;\n\tcall f;\n\tret;\n}\n.entry k()\n{\n\tcall f;\n\tret;\n}\n";
	struct rig r;
	rig_open(&r, text, sizeof text - 1, NULL);
	assert_int_equal(rig_run(&r, "k", 1, 64, NULL, 0), PTX_FAULT);
	assert_int_equal(ptx_finding_at(r.machine, 0)->kind, PTX_STACK_OVERFLOW);
	rig_close(&r);
}

static void
test_trap(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_finding found = expect_finding(&f, "\tsetp.eq.u32 %p1, %r1, 5;\n" LOC(40) "\t@%p1 trap;\n",
		false, 1, 32, PTX_FAULT,
		PTX_TRAP, 40);
	assert_int_equal(found.thread[0], 5);
	rig_close(&f.rig);
}

/* ---- statuses */

static void
test_budget(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "L:\n\tadd.u32 %r5, %r5, 1;\n\tbra L;\n", false);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_BUDGET);
	assert_non_null(strstr(buf_str(&f.rig.err), "20000000"));
	uint64_t first = f.rig.counters.lane_instructions;
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_BUDGET);
	assert_int_equal(f.rig.counters.lane_instructions, first);
	/* one lane takes the machine as long as many: it meets the budget after as many instructions as 16 */
	assert_int_equal(run_fault(&f, 1, 1, 1), PTX_BUDGET);
	assert_in_range(f.rig.counters.lane_instructions, 20000000 / 16 - 20000, 20000000 / 16 + 20000);
	rig_close(&f.rig);
}

static void
test_unsupported(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, LOC(41) "\twgmma.fence.sync.aligned;\n", false);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_UNSUPPORTED);
	assert_non_null(strstr(buf_str(&f.rig.err), "Kernel k uses wgmma.fence.sync.aligned"));
	assert_non_null(strstr(buf_str(&f.rig.err), ", fault.cu:41)"));
	assert_int_equal(ptx_kernel_check(f.rig.module, "k", &f.rig.err), -1);
	rig_close(&f.rig);
	static const char *const others[] = { "wgmma.commit_group.sync.aligned",
		"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%a0, {%r1}], [%a1]", "tex.1d.v4.f32.s32 x",
		"add.rn.f128 %a0, %a0, %a0", "vadd.s32.s32.s32 %r1, %r1, %r1, %r1", "ld.global.v4.f64 {%a0,%a1,%a2,%a3}, [%a0]",
		"multimem.red.relaxed.sys.global.add.u32 [%a0], 1", "mul.wide.u64 %a0, %a1, %a2", "setmaxnreg.inc.sync.aligned.u32 24" };
	for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
		struct buf body = BUF_INIT;
		buf_addf(&body, "\t%s;\n", others[k]);
		open_fault(&f, buf_str(&body), false);
		assert_int_equal(run_fault(&f, 1, 1, 1), PTX_UNSUPPORTED);
		rig_close(&f.rig);
		buf_release(&body);
	}
}

static void
test_refused(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "", false);
	assert_int_equal(run_fault(&f, 1, 1025, 1), PTX_REFUSED);
	assert_int_equal(run_fault(&f, 0, 32, 1), PTX_REFUSED);
	assert_int_equal(rig_run(&f.rig, "none", 1, 1, NULL, 0), PTX_REFUSED);
	assert_int_equal(rig_run(&f.rig, "k", 1, 1, "1234", 4), PTX_REFUSED);
	struct ptx_launch l = { .kernel = "k", .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .dynamic_shared = 300000,
		.params = &f.a, .params_bytes = 24 };
	assert_int_equal(ptx_launch(f.rig.machine, &l, NULL, NULL), PTX_REFUSED);
	rig_close(&f.rig);
}

static void
test_map_refuses(void **state)
{
	(void)state;
	struct fault f;
	open_fault(&f, "", false);
	uint64_t a = (uint64_t)(uintptr_t)f.a;
	assert_int_equal(ptx_map(f.rig.machine, "x", a + 8, 4, PTX_READ, true, NULL), -1);
	assert_int_equal(ptx_map(f.rig.machine, "x", 0, 4, PTX_READ, true, NULL), -1);
	assert_int_equal(ptx_map(f.rig.machine, "x", 0x010000000000ull, 4, PTX_READ, true, NULL), -1);
	assert_int_equal(ptx_unmap(f.rig.machine, a + 4, NULL), -1);
	assert_int_equal(ptx_unmap(f.rig.machine, a, NULL), 0);
	assert_int_equal(ptx_map(f.rig.machine, "x", a + 8, 4, PTX_READ, true, NULL), 0);
	rig_close(&f.rig);
}

static void
test_findings_are_bounded(void **state)
{
	(void)state;
	struct buf body = BUF_INIT;
	struct ptx_options options = { .checked = true, .max_findings = 3 };
	struct rig r;
	buf_adds(&body, HEAD("k"));
	for (int k = 0; k < 10; k++)
		buf_addf(&body, "\t.loc 1 %d 0\n\tld.global.u32 %%r5, [%%a4+%d];\n", 70 + k / 2, k * 4);
	buf_adds(&body, TAIL);
	rig_open(&r, body.data, body.len, &options);
	void *b = rig_buffer(&r, "b", 4096, PTX_READ_WRITE, false);
	struct { void *a, *b; uint32_t n; } params = { b, b, 1 };
	assert_int_equal(rig_run(&r, "k", 1, 32, &params, sizeof params), PTX_OK);
	assert_int_equal(ptx_finding_count(r.machine), 3);
	assert_int_equal(ptx_findings_dropped(r.machine), 2);
	assert_int_equal(ptx_finding_at(r.machine, 0)->count, 64);	/* both of one source line */
	rig_close(&r);
	buf_release(&body);
}

/* ---- racecheck: what t_ptx_faults.c does not look at */

#define TILE "\t.shared .align 4 .b8 tile[512];\n\tmov.u32 %r5, tile;\n\tshl.b32 %r6, %r1, 2;\n\tadd.u32 %r6, %r5, %r6;\n"
#define FILL "\tst.shared.u32 [%r6], %r1;\n\tbar.sync 0;\n"

static void
open_race(struct fault *f, const char *body, size_t max_findings)
{
	struct buf text = BUF_INIT;
	struct ptx_options options = { .checked = true, .racecheck = true, .budget = 20000000, .max_findings = max_findings };
	buf_adds(&text, HEAD("k"));
	buf_adds(&text, body);
	buf_adds(&text, TAIL);
	rig_open(&f->rig, text.data, text.len, &options);
	buf_release(&text);
	f->a = rig_buffer(&f->rig, "a", 400, PTX_READ, true);
	f->b = rig_buffer(&f->rig, "b", 400, PTX_READ_WRITE, false);
}

static void
test_race_has_two_sides(void **state)
{
	(void)state;
	struct fault f;
	struct ptx_options off = { .checked = true };
	open_race(&f, TILE LOC(50) "\tst.shared.u32 [%r6], %r1;\n" LOC(51) "\tld.shared.u32 %r7, [%r5+4];\n", 0);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 1);
	assert_int_equal(ptx_error_count(f.rig.machine), 0);
	struct ptx_finding found = *ptx_finding_at(f.rig.machine, 0);
	assert_true(ptx_is_warning(&found));
	assert_string_equal(ptx_check_name(found.check), "racecheck");
	assert_string_equal(ptx_kind_name(found.kind), "write_read");
	assert_int_equal(found.line, 51);
	assert_string_equal(found.buffer, "tile");
	assert_int_equal(found.offset_bytes, 4);
	assert_true(found.pair);
	assert_int_equal(found.other_line, 50);
	assert_string_equal(found.other_file, "fault.cu");
	assert_int_equal(found.other_thread[0], 1);
	assert_int_equal(found.thread[0], 0);
	assert_int_equal(found.count, 31);
	assert_non_null(strstr(found.message, "the other is block (0,0,0) thread (1,0,0) at fault.cu:50"));
	/* each check can be switched by itself */
	ptx_clear_findings(f.rig.machine);
	ptx_machine_set_options(f.rig.machine, &off);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 0);
	rig_close(&f.rig);
}

/* Of many readers only the last is kept: when that is the writer itself, or another that the writer knows of, then the
 * other side of the race is some other reader, and nobody is named in its place. */
static void
test_race_with_one_of_many_readers(void **state)
{
	(void)state;
	static const struct {
		const char *sync, *is_writer, *lacks;
		uint32_t threads;
	} cases[] = {
		{ "", "0", "no barrier is between", 64 },
		{ "\tbar.warp.sync -1;\n", "0", "no barrier is between", 64 },
		{ "\tbar.warp.sync -1;\n", "1", "no barrier is between", 64 },
		{ "", "0", "nothing orders the lanes of a warp", 32 },
	};
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		struct buf body = BUF_INIT;
		struct fault f;
		buf_addf(&body, "%s" LOC(50) "\tld.shared.u32 %%r7, [%%r5];\n%s\tsetp.eq.u32 %%p1, %%r1, %s;\n"
			LOC(51) "\t@%%p1 st.shared.u32 [%%r5], 77;\n", TILE FILL, cases[k].sync, cases[k].is_writer);
		open_race(&f, buf_str(&body), 0);
		assert_int_equal(run_fault(&f, 1, cases[k].threads, 1), PTX_OK);
		assert_int_equal(ptx_finding_count(f.rig.machine), 1);
		struct ptx_finding found = *ptx_finding_at(f.rig.machine, 0);
		assert_string_equal(ptx_kind_name(found.kind), "read_write");
		assert_int_equal(found.line, 51);
		assert_false(found.pair);
		assert_non_null(strstr(found.message, "one of several other threads, and "));
		assert_non_null(strstr(found.message, cases[k].lacks));
		assert_null(strstr(found.message, "the other is block"));
		rig_close(&f.rig);
		buf_release(&body);
	}
}

/* What one launch wrote is over for the next, and shared memory belongs to one block at a time. */
static void
test_launches_and_blocks_are_apart(void **state)
{
	(void)state;
	struct fault f;
	open_race(&f, TILE "\tst.shared.u32 [%r6], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r7, [%r5+4];\n"
		"\tsetp.ge.u32 %p1, %r4, 100;\n\t@%p1 ret;\n\tst.global.u32 [%a4], %r7;\n", 0);
	for (int k = 0; k < 3; k++)
		assert_int_equal(run_fault(&f, 3, 64, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 0);
	rig_close(&f.rig);
}

/* Sixteen races fill the list; the error behind them still finds its place in it. */
static void
test_warnings_give_way(void **state)
{
	(void)state;
	struct fault f;
	struct buf body = BUF_INIT;
	buf_adds(&body, TILE);
	for (int k = 0; k < 16; k++)
		buf_addf(&body, "\t.loc 1 %d 0\n\tst.shared.u32 [%%r5+%d], %%r1;\n", 70 + k, 4 * k);
	buf_adds(&body, LOC(60) "\tld.shared.u32 %r7, [%r5+508];\n");
	open_race(&f, buf_str(&body), 4);
	assert_int_equal(run_fault(&f, 1, 32, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 4);
	assert_int_equal(ptx_error_count(f.rig.machine), 1);
	assert_int_equal(ptx_findings_dropped(f.rig.machine), 13);
	assert_int_equal(ptx_finding_at(f.rig.machine, 3)->kind, PTX_UNINITIALISED_READ);
	rig_close(&f.rig);
	buf_release(&body);
}

/* A barrier that lacks shows as many reads of what nobody has written, and as a race: the race is not crowded out. */
static void
test_each_check_keeps_a_place(void **state)
{
	(void)state;
	struct fault f;
	struct buf body = BUF_INIT;
	int races = 0;
	buf_adds(&body, TILE);
	for (int k = 0; k < 6; k++)
		buf_addf(&body, "\t.loc 1 %d 0\n\tld.shared.u32 %%r7, [%%r5+%d];\n", 70 + k, 4 * k);
	buf_adds(&body, LOC(60) "\tst.shared.u32 [%r6], %r1;\n" LOC(61) "\tld.shared.u32 %r7, [%r5+128];\n");
	open_race(&f, buf_str(&body), 4);
	assert_int_equal(run_fault(&f, 1, 96, 1), PTX_OK);
	assert_int_equal(ptx_finding_count(f.rig.machine), 4);
	for (size_t k = 0; k < 4; k++)
		races += ptx_finding_at(f.rig.machine, k)->check == PTX_RACECHECK;
	assert_in_range(races, 1, 3);
	rig_close(&f.rig);
	buf_release(&body);
}

static void
test_elements_never_written(void **state)
{
	(void)state;
	struct fault f;
	const int64_t shape[2] = { 10, 10 };
	open_race(&f, "\tsetp.ge.u32 %p1, %r4, 34;\n\t@%p1 ret;\n\tst.global.u32 [%a4], %r4;\n\tst.global.u16 [%a1+136], %h1;\n", 0);
	assert_int_equal(run_fault(&f, 2, 32, 1), PTX_OK);
	ptx_check_written(f.rig.machine, (uint64_t)(uintptr_t)f.b, 4, 2, shape);
	ptx_check_written(f.rig.machine, (uint64_t)(uintptr_t)f.a, 4, 2, shape);
	assert_int_equal(ptx_finding_count(f.rig.machine), 1);
	assert_string_equal(ptx_finding_at(f.rig.machine, 0)->message,
		"Output b: 66 of 100 elements never written, first at [3,4].");
	assert_true(ptx_is_warning(ptx_finding_at(f.rig.machine, 0)));
	rig_close(&f.rig);
}

/* ---- counters */

static void
counted(const char *body, uint32_t block, struct ptx_counters *out)
{
	struct fault f;
	open_fault(&f, body, false);
	if (run_fault(&f, 1, block, 1) != PTX_OK)
		fail_msg("%s", buf_str(&f.rig.err));
	*out = f.rig.counters;
	rig_close(&f.rig);
}

static void
test_counters(void **state)
{
	(void)state;
	struct ptx_counters c;
	counted("\tld.global.u32 %r5, [%a3];\n", 32, &c);
	assert_int_equal(c.warp_instructions, 12);
	assert_int_equal(c.lane_instructions, 12 * 32);
	assert_int_equal(c.global_read_requests, 1);
	assert_int_equal(c.global_read_sectors, 4);
	assert_int_equal(c.global_read_bytes, 128);
	/* all lanes one word; then a stride of 12 bytes: 32 words over 380 bytes, 12 sectors */
	counted("\tld.global.u32 %r5, [%a0];\n", 32, &c);
	assert_int_equal(c.global_read_sectors, 1);
	counted("\tmul.wide.s32 %a5, %r1, 12;\n\tadd.s64 %a5, %a0, %a5;\n\tst.global.u32 [%a1], %r1;\n"
		"\tld.global.u32 %r5, [%a5];\n", 32, &c);
	assert_int_equal(c.global_read_sectors, 12);
	assert_int_equal(c.global_write_sectors, 1);
	counted("\tred.global.add.u32 [%a1], 1;\n", 20, &c);
	assert_int_equal(c.atomics, 20);
	/* conflicts of shared memory: strides of 1, 2 and 32 words, and two lanes on one word */
	const char *shared = "\t.shared .align 4 .b8 tile[4096];\n\tmov.u32 %%r5, tile;\n\tmul.lo.u32 %%r6, %%r1, %d;\n"
		"\tadd.u32 %%r5, %%r5, %%r6;\n\tst.shared.u32 [%%r5], %%r1;\n\tbar.sync 0;\n";
	static const struct { int stride; uint64_t conflicts; } strides[] = { { 4, 0 }, { 8, 1 }, { 16, 3 },
		{ 128, 31 }, { 0, 0 }, { 12, 0 } };
	for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
		struct buf body = BUF_INIT;
		buf_addf(&body, shared, strides[k].stride);
		counted(buf_str(&body), 32, &c);
		assert_int_equal(c.shared_requests, 1);
		assert_int_equal(c.shared_bank_conflicts, strides[k].conflicts);
		assert_int_equal(c.barriers, 1);
		buf_release(&body);
	}
	/* lanes of an atomic operation on one word take turns, but ones are added to it at once */
	static const struct { const char *operation; uint64_t conflicts; } atomics[] = {
		{ "mul.lo.u32 %r6, %r1, 0;\n\tadd.u32 %r6, %r6, %r5;\n\tred.shared.add.u32 [%r6], %r1;", 31 },
		{ "red.shared.add.u32 [%r5], 1;", 0 }, { "red.shared.max.u32 [%r5], 1;", 31 },
		{ "atom.shared.exch.b32 %r6, [%r5], %r1;", 31 },
		{ "mul.lo.u32 %r6, %r1, 4;\n\tadd.u32 %r6, %r6, %r5;\n\tred.shared.add.u32 [%r6], %r1;", 0 },
	};
	for (size_t k = 0; k < sizeof atomics / sizeof *atomics; k++) {
		struct buf body = BUF_INIT;
		buf_addf(&body, "\t.shared .align 4 .b8 tile[128];\n\tmov.u32 %%r5, tile;\n\t%s\n", atomics[k].operation);
		counted(buf_str(&body), 32, &c);
		assert_int_equal(c.shared_bank_conflicts, atomics[k].conflicts);
		buf_release(&body);
	}
	counted("\tsetp.lt.u32 %p1, %r1, 7;\n\t@%p1 bra L;\n\tadd.u32 %r5, %r1, 1;\nL:\n", 32, &c);
	assert_int_equal(c.divergent_branches, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_bounds), cmocka_unit_test(test_misaligned), cmocka_unit_test(test_freed_and_unknown),
		cmocka_unit_test(test_read_only), cmocka_unit_test(test_shared_bounds), cmocka_unit_test(test_local_bounds),
		cmocka_unit_test(test_uninitialised), cmocka_unit_test(test_initialised_by_host),
		cmocka_unit_test(test_divergent_barrier), cmocka_unit_test(test_shuffle_from_exited),
		cmocka_unit_test(test_reconvergence), cmocka_unit_test(test_shuffles),
		cmocka_unit_test(test_collective_waits), cmocka_unit_test(test_deadlock), cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_pointers_are_of_the_module),
		cmocka_unit_test(test_stack_overflow), cmocka_unit_test(test_trap), cmocka_unit_test(test_budget),
		cmocka_unit_test(test_unsupported), cmocka_unit_test(test_refused), cmocka_unit_test(test_map_refuses),
		cmocka_unit_test(test_findings_are_bounded), cmocka_unit_test(test_race_has_two_sides),
		cmocka_unit_test(test_race_with_one_of_many_readers),
		cmocka_unit_test(test_launches_and_blocks_are_apart), cmocka_unit_test(test_warnings_give_way),
		cmocka_unit_test(test_each_check_keeps_a_place),
		cmocka_unit_test(test_elements_never_written), cmocka_unit_test(test_counters),
	};
	return cmocka_run_group_tests_name("ptx checks", tests, NULL, NULL);
}
