/* In: PTX texts run with a profile, work made by hand. Out: what the caches and the mix count, exactly; estimates that
 * stay where they are; the table of GPUs against the peaks that NVIDIA publishes. */
#include <math.h>

#include "ptx_rig.h"

static const char copy_text[] = RIG_HEADER
	".visible .entry copy(.param .u64 in, .param .u64 out)\n{\n\t.reg .b32 %r<8>;\n"
	"\t.reg .f32 %f<2>;\n\t.reg .b64 %rd<8>;\n"
	"\tld.param.u64 %rd1, [in];\n\tld.param.u64 %rd2, [out];\n\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n"
	"\tmov.u32 %r3, %tid.x;\n\tmad.lo.s32 %r4, %r1, %r2, %r3;\n\tmul.wide.s32 %rd3, %r4, 4;\n\tadd.s64 %rd4, %rd1, %rd3;\n"
	"\tadd.s64 %rd5, %rd2, %rd3;\n\tld.global.f32 %f1, [%rd4];\n\tld.global.f32 %f1, [%rd4];\n"
	"\tst.global.f32 [%rd5], %f1;\n\tret;\n}\n";

enum { BLOCKS = 4096, THREADS = 256, ELEMENTS = BLOCKS * THREADS };

static void
run_copy(struct rig *r)
{
	struct ptx_options options = { .profile = roofline_gpu("h200") };
	struct { const void *in; void *out; } params;
	rig_open(r, copy_text, sizeof copy_text - 1, &options);
	params.in = rig_buffer(r, "in", ELEMENTS * 4, PTX_READ, true);
	params.out = rig_buffer(r, "out", ELEMENTS * 4, PTX_READ_WRITE, false);
	assert_int_equal(rig_run(r, "copy", BLOCKS, THREADS, &params, sizeof params), PTX_OK);
}

static void
test_copy_is_counted(void **state)
{
	struct rig r;
	(void)state;
	run_copy(&r);
	const struct ptx_profile *p = ptx_profile(r.machine);
	uint64_t warps = ELEMENTS / 32;
	assert_non_null(p);
	assert_int_equal(p->mix[MIX_GLOBAL], 3 * warps);
	assert_int_equal(p->mix[MIX_CONSTANT], 2 * warps);
	assert_int_equal(p->mix[MIX_MOVE], 3 * warps);
	assert_int_equal(p->mix[MIX_INTEGER], 4 * warps);
	assert_int_equal(p->mix[MIX_CONTROL], warps);
	assert_int_equal(p->lanes, 13 * (uint64_t)ELEMENTS);
	/* each warp: four sectors from memory, the same four from L1, four written to L2 */
	assert_int_equal(p->l1_hit_sectors, 4 * warps);
	assert_int_equal(p->l2_sectors, 8 * warps);
	assert_int_equal(p->dram_sectors, 4 * warps);
	assert_int_equal((uint64_t)p->last_work.dirty_sectors, 4 * warps);
	assert_int_equal((uint64_t)p->last_work.passes, 3 * warps);
	assert_int_equal(p->n_buffers, 2);
	assert_string_equal(p->buffers[0]->name, "in");
	assert_int_equal(p->buffers[0]->read_bytes, 2 * ELEMENTS * 4);
	assert_int_equal(p->buffers[0]->footprint_bytes, ELEMENTS * 4);
	assert_int_equal(p->buffers[1]->write_bytes, ELEMENTS * 4);
	assert_string_equal(p->kernel, "copy");
	rig_close(&r);
}

/* Half of the lanes read a small buffer, the others a larger one in the same request: each has its own footprint. */
static void
test_lanes_in_two_buffers(void **state)
{
	static const char text[] = RIG_HEADER
		".visible .entry both(.param .u64 small, .param .u64 large)\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<4>;\n"
		"\t.reg .b64 %rd<8>;\n\tld.param.u64 %rd1, [small];\n\tld.param.u64 %rd2, [large];\n\tmov.u32 %r1, %tid.x;\n"
		"\tsetp.lt.u32 %p1, %r1, 16;\n\tselp.b64 %rd3, %rd1, %rd2, %p1;\n\tmul.wide.u32 %rd4, %r1, 4096;\n"
		"\tselp.b64 %rd4, 0, %rd4, %p1;\n\tadd.s64 %rd5, %rd3, %rd4;\n\tld.global.u32 %r2, [%rd5];\n\tret;\n}\n";
	struct ptx_options options = { .profile = roofline_gpu("h200") };
	struct { const void *small, *large; } params;
	struct rig r;
	(void)state;
	rig_open(&r, text, sizeof text - 1, &options);
	params.small = rig_buffer(&r, "small", 64, PTX_READ, true);
	params.large = rig_buffer(&r, "large", 1 << 20, PTX_READ, true);
	assert_int_equal(rig_run(&r, "both", 1, 32, &params, sizeof params), PTX_OK);
	const struct ptx_profile *p = ptx_profile(r.machine);
	assert_int_equal(p->n_buffers, 2);
	assert_int_equal(p->buffers[0]->footprint_bytes, 32);
	assert_int_equal(p->buffers[1]->footprint_bytes, 16 * 32);
	rig_close(&r);
}

/* A second launch finds the first one's input in L2 (8 MiB of 60). */
static void
test_l2_is_kept_between_launches(void **state)
{
	struct rig r;
	(void)state;
	run_copy(&r);
	uint64_t before = ptx_profile(r.machine)->dram_sectors;
	struct { uint64_t in, out; } params = { RIG_BASE, (uint64_t)(uintptr_t)r.maps[1] };
	assert_int_equal(rig_run(&r, "copy", BLOCKS, THREADS, &params, sizeof params), PTX_OK);
	assert_int_equal(ptx_profile(r.machine)->dram_sectors, before);
	rig_close(&r);
}

static void
test_no_profile_unless_asked(void **state)
{
	struct rig r;
	(void)state;
	rig_open(&r, copy_text, sizeof copy_text - 1, NULL);
	struct { const void *in; void *out; } params;
	params.in = rig_buffer(&r, "in", ELEMENTS * 4, PTX_READ, true);
	params.out = rig_buffer(&r, "out", ELEMENTS * 4, PTX_READ_WRITE, false);
	assert_int_equal(rig_run(&r, "copy", BLOCKS, THREADS, &params, sizeof params), PTX_OK);
	assert_null(ptx_profile(r.machine));
	rig_close(&r);
}

static void
assert_near(double value, double expected, double share)
{
	if (!(fabs(value - expected) <= share * expected))
		fail_msg("%g is not within %g of %g", value, share, expected);
}

/* The figures that the table gives, multiplied out, are the peaks of the data sheets (TFLOPS; fused operations are two). */
static void
test_gpus_have_their_published_peaks(void **state)
{
	static const struct { const char *name; double fp32, fp64, fp16_tensor; } published[] = { { "a100", 19.5, 9.7, 312 },
		{ "h100", 66.9, 33.5, 989.4 }, { "h100-pcie", 51.2, 25.6, 756.4 }, { "h200", 66.9, 33.5, 989.4 },
		{ "l40s", 91.6, 1.43, 362 }, { "rtx4090", 82.6, 1.29, 165.2 }, { "b200", 75, 37, 2250 } };
	(void)state;
	for (size_t k = 0; k < sizeof published / sizeof *published; k++) {
		const struct roofline_gpu *g = roofline_gpu(published[k].name);
		assert_non_null(g);
		double terahertz = g->multiprocessors * g->clock_ghz * 2e-3;
		assert_near(terahertz * g->lanes[PIPE_FP32], published[k].fp32, 0.02);
		assert_near(terahertz * g->lanes[PIPE_FP64], published[k].fp64, 0.02);
		/* tensor peaks are published at a lower clock than the boost */
		assert_near(terahertz * g->tensor[TENSOR_FP16], published[k].fp16_tensor, 0.10);
		assert_ptr_equal(roofline_gpu_at(k), g);
	}
	assert_null(roofline_gpu_at(sizeof published / sizeof *published));
	assert_null(roofline_gpu("h300"));
}

static void
test_occupancy(void **state)
{
	const struct roofline_gpu *h200 = roofline_gpu("h200"), *l40s = roofline_gpu("l40s");
	(void)state;
	/* as an H200 answered for the kernels of tests/bench/roofline */
	assert_int_equal(roofline_resident(h200, 256, 10, 0), 8);
	assert_int_equal(roofline_resident(h200, 32, 10, 0), 32);
	assert_int_equal(roofline_resident(h200, 128, 60, 0), 8);
	assert_int_equal(roofline_resident(h200, 64, 168, 16384), 6);
	assert_int_equal(roofline_resident(h200, 256, 88, 8192), 2);
	assert_int_equal(roofline_resident(h200, 128, 14, 200 * 1024), 1);
	assert_int_equal(roofline_resident(h200, 1024, 32, 8192), 2);
	assert_int_equal(roofline_resident(l40s, 256, 10, 0), 6);
	assert_int_equal(roofline_resident(l40s, 128, 14, 200 * 1024), 0);
}

static void
expect(const struct roofline_work *work, const char *gpu, const char *limiter, double us)
{
	struct roofline_estimate e;
	roofline_time(work, roofline_gpu(gpu), &roofline_fitted, &e);
	assert_string_equal(e.limiter, limiter);
	assert_near(e.time_us, us, 0.01);
}

/* Estimates do not move unless the model does; the works are those that `roofline count` gives for four kernels. */
static void
test_estimates_are_stable(void **state)
{
	const struct roofline_work nothing = { .blocks = 1, .warps = 1, .resident_blocks = 32, .issue_slots = 1, .path_cycles = 1 };
	const struct roofline_work copy = { .blocks = 65536, .warps = 524288, .resident_blocks = 8, .issue_slots = 5033165,
		.pipe = { [PIPE_INTEGER] = 2621440 }, .passes = 1048576, .l2_sectors = 4194304, .dram_sectors = 3225188,
		.dirty_sectors = 969116, .path_cycles = 3.647e8 };
	const struct roofline_work fma = { .blocks = 1056, .warps = 8448, .resident_blocks = 8, .issue_slots = 3.8e7,
		.pipe = { [PIPE_FP32] = 3.46e7 }, .passes = 8448, .l2_sectors = 33792, .dirty_sectors = 33792, .path_cycles = 1.6e7 };
	(void)state;
	expect(&nothing, "h200", "launch", 3.36);
	/* 16 million threads in blocks of 256 are slower to start than their bytes to move: an H200 takes 50.5 us, and
	 * 36.6 us where each thread copies more */
	expect(&copy, "h200", "blocks", 50.1);
	expect(&copy, "a100", "dram", 94.8);
	expect(&copy, "rtx4090", "dram", 175.2);
	expect(&fma, "h200", "issue", 45.6);
	expect(&fma, "a100", "fp32", 120.7);
}

/* More of anything never makes a launch faster. */
static void
test_more_work_takes_longer(void **state)
{
	const struct roofline_work base = { .blocks = 1000, .warps = 8000, .resident_blocks = 4, .issue_slots = 1e6, .passes = 1e6,
		.l2_sectors = 1e6, .dram_sectors = 1e6, .dirty_sectors = 1e5, .l2_atomics = 1e4, .serial_atomics = 1e3,
		.path_cycles = 1e7, .pipe = { 1e6, 1e5, 1e6, 1e6, 1e5, 1e5, 1e5 }, .tensor = { 1e8, 1e7, 1e6, 1e8, 1e8 } };
	struct roofline_estimate before, after;
	(void)state;
	roofline_time(&base, roofline_gpu("h100"), &roofline_fitted, &before);
	for (size_t k = 3; k < sizeof base / sizeof(double); k++) {
		struct roofline_work more = base;
		((double *)&more)[k] *= 50;
		roofline_time(&more, roofline_gpu("h100"), &roofline_fitted, &after);
		assert_true(after.time_us > before.time_us);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_is_counted), cmocka_unit_test(test_lanes_in_two_buffers),
		cmocka_unit_test(test_l2_is_kept_between_launches),
		cmocka_unit_test(test_no_profile_unless_asked), cmocka_unit_test(test_gpus_have_their_published_peaks),
		cmocka_unit_test(test_occupancy), cmocka_unit_test(test_estimates_are_stable),
		cmocka_unit_test(test_more_work_takes_longer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
