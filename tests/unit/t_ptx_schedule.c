/* In: the kernels of tests/data/ptx/schedule.cu, whose threads wait for each other. Out: those that end on a GPU end
 * here, with the right results, in the plain order and under schedules by seed; those that never do are reported as
 * deadlocks, soon, with who waits where. */
#include "ptx_compile.h"

static struct rig rig;
static struct ptx_options options;

static void
open_machine(void)
{
	static struct buf text;
	if (!text.len)
		compile_in("tests/data/ptx", "schedule", &text);
	rig_open(&rig, text.data, text.len, &options);
}

static void *
memory(const char *name, size_t bytes)
{
	return memset(rig_buffer(&rig, name, bytes, PTX_READ_WRITE, true), 0, bytes);
}

static enum ptx_status
launch(struct ptx_launch how)
{
	for (int k = 0; k < 3; k++) {
		how.grid[k] = how.grid[k] ? how.grid[k] : 1;
		how.block[k] = how.block[k] ? how.block[k] : 1;
	}
	buf_reset(&rig.err);
	return ptx_launch(rig.machine, &how, &rig.counters, &rig.err);
}

static void
launch_right(struct ptx_launch how)
{
	enum ptx_status status = launch(how);
	if (status != PTX_OK)
		fail_msg("%s: %s: %s", how.kernel, ptx_status_name(status), buf_str(&rig.err));
	for (size_t k = 0; k < ptx_finding_count(rig.machine); k++)
		fail_msg("%s: %s", how.kernel, ptx_finding_at(rig.machine, k)->message);
}

#define LAUNCH(name, gx, bx, ...) (struct ptx_launch){ .kernel = name, .grid = { gx }, .block = { bx }, \
	.params = &p, .params_bytes = sizeof p, __VA_ARGS__ }

#define PLANE 4, 6			/* blocks */

/* Each test of right kernels runs in the plain order, checked, and under several schedules. */
static const struct ptx_options manners[] = {
	{ .budget = 300000000 }, { .budget = 300000000, .checked = true, .racecheck = true }, { .budget = 300000000, .quantum = 7 },
	{ .budget = 600000000, .schedule = 1 }, { .budget = 600000000, .schedule = 2 },
	{ .budget = 600000000, .schedule = 0x123456789abcdef },
};
#define EACH_MANNER for (size_t m_ = 0; m_ < sizeof manners / sizeof *manners && (options = manners[m_], 1); m_++)

static int
value(int k)
{
	return (int)((uint32_t)k * 2654435761u >> 20) % 1000;
}

/* ---- all blocks of the grid */

static void
test_grid_rounds(void **state)
{
	(void)state;
	enum { BLOCKS = 20, THREADS = 96, N = BLOCKS * THREADS, ROUNDS = 5 };
	static int want[2][N];
	EACH_MANNER {
		open_machine();
		int *x = memory("x", N * 4), *y = memory("y", 2 * N * 4);
		for (int k = 0; k < N; k++)
			want[0][k] = x[k] = value(k);
		for (int r = 0; r < ROUNDS; r++)
			for (int k = 0; k < N; k++)
				want[~r & 1][k] = want[r & 1][k] + want[r & 1][(k + 33) % N] * 3;
		struct { int *x, *y; int rounds; } p = { x, y, ROUNDS };
		launch_right(LAUNCH("grid_rounds", BLOCKS, THREADS, .cooperative = true));
		assert_memory_equal(y + (ROUNDS & 1) * N, want[ROUNDS & 1], sizeof want[0]);
		assert_int_equal(rig.counters.blocks, BLOCKS);
		rig_close(&rig);
	}
}

static void
test_cooperative(void **state)
{
	(void)state;
	options = (struct ptx_options){ .budget = 10000000 };
	open_machine();
	int *y = memory("y", 64);
	/* grid.sync() traps in an ordinary launch */
	struct { int *x, *y; int rounds; } q = { y, y, 1 };
	assert_int_equal(launch((struct ptx_launch){ .kernel = "grid_rounds", .grid = { 1 }, .block = { 1 }, .params = &q,
		.params_bytes = sizeof q }), PTX_FAULT);
	rig_close(&rig);

	open_machine();
	y = memory("y", 64);
	struct { int *y; } p = { y };
	launch_right(LAUNCH("grid_valid", 4, 32));
	assert_int_equal(*y, 0);
	launch_right(LAUNCH("grid_valid", 4, 32, .cooperative = true));
	assert_int_equal(*y, 1);
	/* ... but not behind a cooperative one: the driver leaves its workspace in place */
	*y = 0;
	launch_right(LAUNCH("grid_valid", 4, 32));
	assert_int_equal(*y, 1);
	struct { int *x, *y; int rounds; } r = { y, y, 1 };
	launch_right((struct ptx_launch){ .kernel = "grid_rounds", .grid = { 1 }, .block = { 1 }, .params = &r,
		.params_bytes = sizeof r });
	/* 132 multiprocessors hold two blocks of 1024 threads each */
	launch_right(LAUNCH("grid_valid", 264, 1024, .cooperative = true));
	assert_int_equal(launch(LAUNCH("grid_valid", 265, 1024, .cooperative = true)), PTX_REFUSED);
	assert_non_null(strstr(buf_str(&rig.err), "too many blocks for a cooperative launch: 265, where 264 run at once"));
	assert_int_equal(launch(LAUNCH("grid_valid", 9, 32, .cooperative = true, .max_resident = 8)), PTX_REFUSED);
	rig_close(&rig);
}

static void
test_hand_barrier(void **state)
{
	(void)state;
	enum { BLOCKS = 30, THREADS = 64, N = BLOCKS * THREADS };
	EACH_MANNER {
		open_machine();
		int *x = memory("x", N * 4), *y = memory("y", 2 * N * 4), *count = memory("count", 4);
		for (int k = 0; k < N; k++)
			x[k] = value(k);
		struct { int *x, *y, *count; } p = { x, y, count };
		launch_right(LAUNCH("hand_barrier", BLOCKS, THREADS));
		for (int k = 0; k < N; k++)
			assert_int_equal(y[N + k], x[(k + 100) % N] * 2 + 1);
		rig_close(&rig);
	}
}

/* With fewer places than blocks the barrier never ends: on a GPU neither. */
static void
test_too_few_places(void **state)
{
	(void)state;
	options = (struct ptx_options){ .budget = 100000000 };
	open_machine();
	int *x = memory("x", 4096), *y = memory("y", 8192), *count = memory("count", 4);
	struct { int *x, *y, *count; } p = { x, y, count };
	assert_int_equal(launch(LAUNCH("hand_barrier", 10, 64, .max_resident = 9)), PTX_DEADLOCK);
	assert_non_null(strstr(buf_str(&rig.err), "1 blocks wait for a place"));
	*count = 0;
	assert_int_equal(launch(LAUNCH("hand_barrier", 10, 64, .max_resident = 10)), PTX_OK);
	*count = 0;
	ptx_clear_findings(rig.machine);
	/* no place for want of memory is our fault, not the kernel's */
	options.max_memory = 100000;
	ptx_machine_set_options(rig.machine, &options);
	assert_int_equal(launch(LAUNCH("hand_barrier", 10, 64)), PTX_REFUSED);
	assert_non_null(strstr(buf_str(&rig.err), "more blocks at once than fit in 100000 bytes"));
	assert_int_equal(ptx_finding_count(rig.machine), 0);
	rig_close(&rig);
}

static void
test_counting_wait(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 40 * 4), *flag = memory("flag", 4), *waited = memory("waited", 4);
		struct { int *y, *flag, *waited; } p = { y, flag, waited };
		launch_right(LAUNCH("counting_wait", 40, 32));
		for (int k = 0; k < 39; k++)
			assert_in_range(y[k], 7, 8);
		assert_int_equal(y[39], 7);
		rig_close(&rig);
	}
}

static void
test_right_to_left(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 200 * 4), *done = memory("done", 200 * 4);
		struct { int *y, *done; } p = { y, done };
		launch_right(LAUNCH("right_to_left", 200, 64));
		for (int k = 0; k < 200; k++)
			assert_int_equal(y[k], 200 - k);
		rig_close(&rig);
	}
}

static void
test_look_back(void **state)
{
	(void)state;
	enum { BLOCKS = 70 };
	EACH_MANNER {
		open_machine();
		int *x = memory("x", BLOCKS * 64 * 4), *y = memory("y", BLOCKS * 64 * 4), sum = 0;
		void *states = memory("state", BLOCKS * 8);
		for (int k = 0; k < BLOCKS * 64; k++)
			x[k] = value(k);
		struct { int *x, *y; void *state; } p = { x, y, states };
		launch_right(LAUNCH("look_back", BLOCKS, 64, .max_resident = 5));
		for (int k = 0; k < BLOCKS * 64; k++)
			assert_int_equal(y[k], sum += x[k]);
		rig_close(&rig);
	}
}

/* ---- locks, flags */

static void
test_locks(void **state)
{
	(void)state;
	static const char *const kernels[] = { "lock_outside", "lock_inside", "lock_backoff", "lock_called" };
	EACH_MANNER
		for (int k = 0; k < 4; k++) {
			open_machine();
			int *y = memory("y", 4), *mutex = memory("mutex", 4);
			struct { int *y, *mutex; } p = { y, mutex };
			launch_right(LAUNCH(kernels[k], 3, 96));
			assert_int_equal(*y, 3 * 96);
			rig_close(&rig);
		}
}

static void
test_lane_chain(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 128), *flag = memory("flag", 128);
		struct { int *y, *flag; } p = { y, flag };
		launch_right(LAUNCH("lane_chain", 1, 32));
		for (int k = 0; k < 32; k++)
			assert_int_equal(y[k], 32 - k);
		rig_close(&rig);
	}
}

static void
test_warp_ring(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 4);
		uint32_t sum = 0;
		struct { int *y, rounds; } p = { y, 20 };
		for (int k = 0; k < 20; k++)
			for (uint32_t w = 0; w < 5; w++)
				sum = sum * 3 + w;
		launch_right(LAUNCH("warp_ring", 1, 160));
		assert_int_equal((uint32_t)*y, sum);
		rig_close(&rig);
	}
}

static void
test_half_warps(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 50 * 4);
		struct { int *y, rounds; } p = { y, 50 };
		launch_right(LAUNCH("half_warps", 1, 32));
		for (int k = 0; k < 50; k++)
			assert_int_equal(y[k], k * k);
		rig_close(&rig);
	}
}

/* ---- barriers with names and counts, masks */

static void
test_pipeline(void **state)
{
	(void)state;
	enum { ROUNDS = 9 };
	EACH_MANNER {
		open_machine();
		int *x = memory("x", ROUNDS * 64 * 4), *y = memory("y", ROUNDS * 64 * 4);
		for (int k = 0; k < ROUNDS * 64; k++)
			x[k] = value(k);
		struct { int *x, *y, rounds; } p = { x, y, ROUNDS };
		launch_right(LAUNCH("pipeline", 1, 128));
		for (int k = 0; k < ROUNDS * 64; k++)
			assert_int_equal(y[k], x[k / 64 * 64 + 63 - k % 64] * 2 + 1);
		rig_close(&rig);
	}
}

static void
test_barrier_reductions(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 96 * 4);
		struct { int *y; } p = { y };
		launch_right(LAUNCH("barrier_reductions", 1, 128));
		for (int k = 0; k < 96; k++)
			assert_int_equal(y[k], 50 * 100 + 10);
		rig_close(&rig);
	}
}

static void
test_partial_masks(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 64 * 4), sum = 0;
		struct { int *y; } p = { y };
		for (int k = 14; k < 28; k++)
			sum += k;
		launch_right(LAUNCH("partial_masks", 1, 32));
		for (int k = 0; k < 28; k++) {
			assert_int_equal(y[k], k < 14 ? 14 + k + 22 : sum + 7);
			assert_int_equal(y[32 + k], k);
		}
		rig_close(&rig);
	}
}

/* ---- clusters */

static void
test_cluster_registers(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 4 * 6 * 64);
		struct { int *y; } p = { y };
		launch_right(LAUNCH("cluster_registers", PLANE, 33, .cluster = { 2, 3, 1 }));
		for (int by = 0; by < 6; by++)
			for (int bx = 0; bx < 4; bx++) {
				const int want[13] = { bx % 2 + by % 3 * 2, 6, bx % 2, by % 3, 2, 3, bx / 2, by / 3, 2, 2, 1, 6 * 33, 1 };
				assert_memory_equal(y + 16 * (bx + 4 * by), want, sizeof want);
			}
		/* without clusters each block is one */
		launch_right(LAUNCH("cluster_registers", PLANE, 33));
		const int want[13] = { 0, 1, 0, 0, 1, 1, 3, 5, 4, 6, 0, 33, 1 };
		assert_memory_equal(y + 16 * 23, want, sizeof want);
		rig_close(&rig);
	}
}

static void
test_cluster_histogram(void **state)
{
	(void)state;
	enum { N = 5000, BINS = 8 * 100 };
	EACH_MANNER {
		open_machine();
		int *x = memory("x", N * 4), *bins = memory("bins", BINS * 4), want[BINS] = { 0 };
		for (int k = 0; k < N; k++) {
			x[k] = value(k) * 7;
			want[x[k] % BINS]++;
		}
		struct { int *x; int n; int *bins, each; } p = { x, N, bins, BINS / 8 };
		launch_right(LAUNCH("cluster_histogram", 16, 64, .dynamic_shared = BINS / 8 * 4, .cluster = { 8, 1, 1 }));
		assert_memory_equal(bins, want, sizeof want);
		rig_close(&rig);
	}
}

static void
test_cluster_ring(void **state)
{
	(void)state;
	enum { ROUNDS = 7 };
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 12 * 32 * 4);
		struct { int *y, rounds; } p = { y, ROUNDS };
		launch_right(LAUNCH("cluster_ring", 12, 32, .cluster = { 4, 1, 1 }));
		for (int k = 0; k < 12 * 32; k++)
			assert_int_equal(y[k], ((k / 32 + ROUNDS) % 4 * 100 + k % 32 + ROUNDS) * 2 + 1);
		rig_close(&rig);
	}
}

static void
test_cluster_addresses(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 64);
		struct { int *y; } p = { y };
		launch_right(LAUNCH("cluster_addresses", 2, 1, .cluster = { 2, 1, 1 }));
		for (int r = 0; r < 2; r++) {
			const int want[6] = { 11 - r, 1 - r, r, 10 + r + 5, 3, 0 };
			assert_memory_equal(y + r * 8, want, sizeof want);
		}
		rig_close(&rig);
	}
}

static void
test_cluster_pointers(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 64);
		struct { int *y; } p = { y };
		launch_right(LAUNCH("cluster_pointers", 2, 1, .cluster = { 2, 1, 1 }));
		const int want[4] = { 1110, 1110, 8, 8 };
		assert_memory_equal(y, want, sizeof want);
		rig_close(&rig);
	}
}

static void
test_cluster_leavers(void **state)
{
	(void)state;
	EACH_MANNER {
		open_machine();
		int *y = memory("y", 8);
		struct { int *y; } p = { y };
		launch_right(LAUNCH("cluster_leavers", 2, 64, .cluster = { 2, 1, 1 }));
		assert_int_equal(y[0], 6);
		assert_int_equal(y[1], 5);
		rig_close(&rig);
	}
}

static void
fault(const char *kernel, uint32_t threads, enum ptx_kind kind, const char *words)
{
	options = (struct ptx_options){ .budget = 50000000 };
	open_machine();
	int *y = memory("y", 64);
	struct { int *y; } p = { y };
	assert_int_equal(launch(LAUNCH(kernel, 2, threads, .cluster = { 2, 1, 1 })), kind == PTX_STUCK ? PTX_DEADLOCK : PTX_FAULT);
	assert_int_equal(ptx_finding_count(rig.machine), 1);
	assert_int_equal(ptx_finding_at(rig.machine, 0)->kind, kind);
	if (!strstr(buf_str(&rig.err), words))
		fail_msg("%s: %s", kernel, buf_str(&rig.err));
	rig_close(&rig);
}

static void
test_cluster_faults(void **state)
{
	(void)state;
	fault("cluster_outlived", 1, PTX_USE_AFTER_FREE, "block 1 of the cluster, which has ended");
	fault("cluster_out_of_bounds", 1, PTX_OUT_OF_BOUNDS, "at byte 32 of shared memory");
	fault("cluster_half", 64, PTX_STUCK, "waiting at the barrier of the cluster");
	options = (struct ptx_options){ 0 };
	open_machine();
	struct { int *y; } p = { memory("y", 4096) };
	assert_int_equal(launch(LAUNCH("cluster_registers", 3, 1, .cluster = { 2, 1, 1 })), PTX_REFUSED);
	assert_int_equal(launch(LAUNCH("cluster_registers", 32, 1, .cluster = { 32, 1, 1 })), PTX_REFUSED);
	assert_int_equal(launch(LAUNCH("cluster_registers", 32, 1, .cluster = { 4, 0, 1 })), PTX_REFUSED);
	rig_close(&rig);
}

/* ---- what never ends */

/* Known at once, and alike in every run; `words` are in the message. */
static void
stuck(const char *kernel, uint32_t blocks, uint32_t threads, const char *const words[3])
{
	char first[4096] = "";
	for (int run = 0; run < 2; run++) {
		options = (struct ptx_options){ .budget = 50000000 };
		open_machine();
		struct { int *y, *mutex; } p = { memory("y", 64), memory("mutex", 64) };
		enum ptx_status status = launch(LAUNCH(kernel, blocks, threads));
		if (status != PTX_DEADLOCK)
			fail_msg("%s: %s", kernel, ptx_status_name(status));
		assert_int_equal(ptx_finding_count(rig.machine), 1);
		const struct ptx_finding *f = ptx_finding_at(rig.machine, 0);
		assert_int_equal(f->kind, PTX_STUCK);
		assert_int_equal(f->check, PTX_SYNCCHECK);
		assert_true(!strcmp(f->file, "schedule.cu") || !strcmp(f->inlined_file, "schedule.cu"));
		for (int k = 0; k < 3 && words[k]; k++)
			if (!strstr(f->message, words[k]))
				fail_msg("%s: no \"%s\" in: %s", kernel, words[k], f->message);
		assert_in_range(rig.counters.budget_used, 1, 3000000);
		if (run)
			assert_string_equal(first, f->message);
		snprintf(first, sizeof first, "%s", f->message);
		rig_close(&rig);
	}
}

#define STUCK(kernel, blocks, threads, ...) stuck(kernel, blocks, threads, (const char *const[3]){ __VA_ARGS__ })

static void
test_stuck(void **state)
{
	(void)state;
	STUCK("stuck_flag", 1, 64, "1 thread spinning in a loop that only a store by another thread can end",
		"63 threads waiting at a barrier");
	STUCK("stuck_flag", 100, 64, "100 threads spinning", "6300 threads waiting at a barrier");
	STUCK("stuck_lock", 1, 64, "63 threads spinning");
	STUCK("stuck_locks", 1, 64, "2 threads spinning");
	STUCK("stuck_names", 1, 64, "64 threads waiting at a barrier");
	STUCK("stuck_count", 1, 128, "64 threads waiting at a barrier");
	STUCK("stuck_lanes", 1, 32, "1 thread spinning", "31 threads waiting in a warp collective");
	STUCK("stuck_loop", 1, 32, "32 threads spinning");
}

/* Who tries an mbarrier in vain leaves the turn to others: its tries are no work that a solution should pay for. */
static void
test_mbarrier_rounds(void **state)
{
	(void)state;
	enum { THREADS = 512, ROUNDS = 40 };
	EACH_MANNER {
		open_machine();
		int *y = memory("y", ROUNDS * 4);
		struct { int *y; int rounds; } p = { y, ROUNDS };
		launch_right(LAUNCH("mbarrier_rounds", 1, THREADS));
		assert_int_equal(y[ROUNDS - 1], 1 + ROUNDS * (ROUNDS - 1) / 2);
		if (!options.schedule && !options.quantum)
			assert_in_range(rig.counters.lane_instructions, 1, THREADS * ROUNDS * 60);
		rig_close(&rig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mbarrier_rounds),
		cmocka_unit_test(test_grid_rounds), cmocka_unit_test(test_cooperative), cmocka_unit_test(test_hand_barrier),
		cmocka_unit_test(test_too_few_places), cmocka_unit_test(test_counting_wait), cmocka_unit_test(test_right_to_left),
		cmocka_unit_test(test_look_back), cmocka_unit_test(test_locks), cmocka_unit_test(test_lane_chain),
		cmocka_unit_test(test_warp_ring), cmocka_unit_test(test_half_warps), cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_barrier_reductions), cmocka_unit_test(test_partial_masks),
		cmocka_unit_test(test_cluster_registers), cmocka_unit_test(test_cluster_histogram), cmocka_unit_test(test_cluster_ring),
		cmocka_unit_test(test_cluster_addresses), cmocka_unit_test(test_cluster_pointers), cmocka_unit_test(test_cluster_leavers),
		cmocka_unit_test(test_cluster_faults), cmocka_unit_test(test_stuck),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
