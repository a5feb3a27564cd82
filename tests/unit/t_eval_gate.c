/* Turns on a GPU: checks share it, timing has it alone and comes first, and other processes see it by the file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "eval/gpu_gate.h"

enum { MOMENT_US = 60000 };

static struct gpu_gate gate;
static char name[64];
static int order[8];
static atomic_int entered;

static int
open_gate(void **unused)
{
	struct buf err = BUF_INIT;

	(void)unused;
	snprintf(name, sizeof name, "test-%d", (int)getpid());
	atomic_store(&entered, 0);
	return gpu_gate_open(&gate, name, &err);
}

/* Another process's view: a descriptor of its own. */
static int
open_file(char path[128])
{
	snprintf(path, 128, "/run/lock/kernelmosaic-gpu-%s.lock", name);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		snprintf(path, 128, "/tmp/kernelmosaic-gpu-%s.lock", name);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	return fd;
}

static int
close_gate(void **unused)
{
	char path[128];

	(void)unused;
	close(open_file(path));
	unlink(path);
	gpu_gate_close(&gate);
	return 0;
}

static void *
take(void *hold)
{
	enum gpu_hold how = *(const enum gpu_hold *)hold;

	gpu_gate_enter(&gate, how);
	order[atomic_fetch_add(&entered, 1)] = (int)how;
	usleep(MOMENT_US);
	gpu_gate_leave(&gate, how);
	return NULL;
}

static enum gpu_hold shared = GPU_SHARED, alone = GPU_ALONE;

static void
checks_share_and_timing_comes_first(void **unused)
{
	pthread_t sharer, timer, later;

	(void)unused;
	gpu_gate_enter(&gate, GPU_SHARED);
	pthread_create(&sharer, NULL, take, &shared);
	usleep(MOMENT_US / 2);
	assert_int_equal(atomic_load(&entered), 1);	/* beside us */
	pthread_create(&timer, NULL, take, &alone);
	usleep(2 * MOMENT_US);
	pthread_create(&later, NULL, take, &shared);
	usleep(MOMENT_US / 2);
	assert_int_equal(atomic_load(&entered), 1);	/* the timer waits for us, and the later one for the timer */
	gpu_gate_leave(&gate, GPU_SHARED);
	pthread_join(sharer, NULL);
	pthread_join(timer, NULL);
	pthread_join(later, NULL);
	assert_int_equal(atomic_load(&entered), 3);
	assert_int_equal(order[1], GPU_ALONE);
	assert_int_equal(order[2], GPU_SHARED);
}

static void
other_processes_see_the_hold(void **unused)
{
	char path[128];
	int other = open_file(path);

	(void)unused;
	assert_true(other >= 0);
	gpu_gate_enter(&gate, GPU_SHARED);
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
	flock(other, LOCK_UN);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	gpu_gate_leave(&gate, GPU_SHARED);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	flock(other, LOCK_UN);
	gpu_gate_enter(&gate, GPU_ALONE);
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), -1);
	gpu_gate_leave(&gate, GPU_ALONE);
	assert_int_equal(flock(other, LOCK_SH | LOCK_NB), 0);
	close(other);
}

static void
busy_seconds_are_counted_once(void **unused)
{
	(void)unused;
	gpu_gate_work(&gate, 1);
	gpu_gate_work(&gate, 1);
	usleep(MOMENT_US);
	gpu_gate_work(&gate, -1);
	usleep(MOMENT_US);
	gpu_gate_work(&gate, -1);
	double busy = gpu_gate_busy(&gate);
	assert_true(busy >= 2e-6 * MOMENT_US && busy < 10);
	usleep(MOMENT_US);
	assert_true(gpu_gate_busy(&gate) == busy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(checks_share_and_timing_comes_first, open_gate, close_gate),
		cmocka_unit_test_setup_teardown(other_processes_see_the_hold, open_gate, close_gate),
		cmocka_unit_test_setup_teardown(busy_seconds_are_counted_once, open_gate, close_gate),
	};

	return cmocka_run_group_tests_name("gpu_gate", tests, NULL, NULL);
}
