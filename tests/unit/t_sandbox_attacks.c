/* The six holes of a plain bubblewrap call and the attack table, at level namespaces. In: tests/data/sandbox/
 * attacks.c, built here. Each test states what the attack must come to, to the letter: a protection that is
 * gone changes a line. Skipped, with the reason, where the level cannot be had. */
#include <sys/prctl.h>

#include "../data/sandbox/attack.h"

static bool available;

static int
set_up(void **state)
{
	(void)state;
	available = namespaces_or_reason();
	attack_build();
	/* Orphans come to this process, where a test can count them. */
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static int
tear_down(void **state)
{
	(void)state;
	attack_clean();
	return 0;
}

#define NEEDS_NAMESPACES() do { (void)state; if (!available) skip(); } while (0)

/* ---- the six holes */

static void
root_is_not_root_inside(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("identity", NULL,
		"Groups:\t \nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
		"CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
		"/proc/sys/kernel/core_pattern: EACCES\n/proc/sys/vm/drop_caches: EACCES\n/proc/sysrq-trigger: ENOENT\n"
		"/proc/sys/user/max_user_namespaces: EACCES\nsetuid 0: EINVAL\nraise NPROC: EPERM\n");
}

static void
environment_does_not_leak(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("environment", NULL, "/proc/1/environ: EACCES\n/proc/self/environ: no secret\n");
}

static void
environment_is_the_fixed_one(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "", NULL);
	shot.argv[0] = "/usr/bin/env";
	shot.argv[1] = NULL;
	shot_fire(&shot);
	assert_string_equal(buf_str(&shot.output), "PATH=/usr/local/bin:/usr/bin:/bin\nHOME=/tmp\nLC_ALL=C\nTMPDIR=/tmp\n");
	shot_clear(&shot);
}

static void
descriptors_do_not_leak(void **state)
{
	NEEDS_NAMESPACES();
	int secret = open("/etc/hostname", O_RDONLY), copy = fcntl(secret, F_DUPFD, 200);
	assert_true(copy >= 200);
	shot_expect("descriptors", NULL, "0\n1\n2\n");
	close(secret);
	close(copy);
}

static void
forks_are_counted(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "forks", "1000");
	shot.job.limits.processes = 17;
	shot_fire(&shot);
	/* the program itself is one of the 17 */
	assert_string_equal(buf_str(&shot.output), "16 EAGAIN\n");
	assert_int_equal(shot.result.cause, SANDBOX_EXITED);
	shot_clear(&shot);
}

/* Two at once: the limit of one is not eaten by the other. */
static void
forks_are_counted_for_each(void **state)
{
	NEEDS_NAMESPACES();
	pid_t pid[3];
	for (int i = 0; i < 3; i++) {
		if ((pid[i] = fork()))
			continue;
		struct shot shot;
		shot_load(&shot, "forks", "1000");
		shot.job.limits.processes = 17;
		shot_fire(&shot);
		_exit(strcmp(buf_str(&shot.output), "16 EAGAIN\n") != 0);
	}
	for (int i = 0; i < 3; i++) {
		int status;
		waitpid(pid[i], &status, 0);
		assert_int_equal(status, 0);
	}
}

static void
folders_are_sized(void **state)
{
	static const struct { const char *folder, *said; } cases[] = {
		{ "/tmp", "7 MiB, then ENOSPC\n" }, { "/out", "3 MiB, then ENOSPC\n" }, { "/dev/shm", "0 MiB, then ENOENT\n" },
		{ "/dev", "0 MiB, then EROFS\n" }, { "", "0 MiB, then EROFS\n" }, { "/etc", "0 MiB, then EROFS\n" },
	};

	NEEDS_NAMESPACES();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct shot shot;
		shot_load(&shot, "fill", cases[i].folder);
		shot.job.limits.tmp_bytes = 7 << 20;
		shot.job.limits.out_bytes = 3 << 20;
		shot_fire(&shot);
		assert_string_equal(buf_str(&shot.output), cases[i].said);
		shot_clear(&shot);
	}
}

static void
files_are_counted(void **state)
{
	NEEDS_NAMESPACES();
	static const char *const folders[] = { "/tmp", "/out" };
	for (int i = 0; i < 2; i++) {
		struct shot shot;
		shot_load(&shot, "files", folders[i]);
		shot.job.limits.files = 300;
		shot_fire(&shot);
		assert_string_equal(buf_str(&shot.output), "300 files, then ENOSPC\n");
		shot_clear(&shot);
	}
}

static void
only_unix_sockets(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("sockets", NULL, "INET: EAFNOSUPPORT\nINET UDP: EAFNOSUPPORT\nINET6: EAFNOSUPPORT\nNETLINK: EAFNOSUPPORT\n"
		"PACKET: EAFNOSUPPORT\nVSOCK: EAFNOSUPPORT\nALG: EAFNOSUPPORT\nBLUETOOTH: EAFNOSUPPORT\nUNIX: ok\n"
		"UNIX pair: ok\nVSOCK pair: EAFNOSUPPORT\n");
}

/* The names and files that programs listen on are those of the job. */
static void
sockets_of_the_host_are_out_of_reach(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("reach", NULL, "stream: ok\nconnect to a file: ENOENT\nconnect to a name: ECONNREFUSED\n"
		"send to a name: EOPNOTSUPP\nlisten: ok\npackets: ok\ndatagrams: ok\nraw: ok\n");
}

static void
calls_are_refused(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("calls", NULL, "io_uring_setup: ENOSYS\nmemfd_create: EPERM\nmemfd_secret: ENOSYS\nshmget: EPERM\n"
		"unshare user: EPERM\nunshare mount: EPERM\nclone user: EPERM\nclone user and pid: EPERM\nclone3 user: ENOSYS\n"
		"mount: EPERM\numount: EPERM\nchroot: EPERM\npivot_root: EPERM\nopen_tree: EPERM\nptrace attach 1: EPERM\n"
		"ptrace seize 1: EPERM\nprocess_vm_readv 1: EPERM\nprocess_vm_writev 1: EPERM\npidfd_getfd 1: EPERM\n"
		"userfaultfd: ENOSYS\nbpf: EPERM\nperf_event_open: EPERM\nkeyctl: EPERM\nopen_by_handle_at: EPERM\n"
		"mlock: EPERM\ncall 455: ENOSYS\ncall of x32: ENOSYS\n");
}

/* ---- files of the host */

static void
secrets_are_not_there(void **state)
{
	char here[4096];

	NEEDS_NAMESPACES();
	assert_non_null(getcwd(here, sizeof here));
	shot_expect("secrets", here, "/root: ENOENT\n/etc/shadow: ENOENT\n/etc/passwd: ENOENT\n/home: ENOENT\n/var: ENOENT\n"
		"/run: ENOENT\n/sys: ENOENT\n/oldroot: ENOENT\n/tmp/../root/.bashrc: ENOENT\n/proc/1/root/etc: EACCES\n"
		"/proc/1/cwd: EACCES\n/proc/1/mem: EACCES\n/proc/1/fd/0: EACCES\n/dev/mem: ENOENT\n/dev/kmsg: ENOENT\n"
		"/dev/tty: ENOENT\nthe project: ENOENT\n");
}

static void
nothing_outside_is_written(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("outside", NULL, "/new: EROFS\n/dev/new: EROFS\n/dev/shm/new: ENOENT\n/etc/new: EROFS\n/in/new: EROFS\n"
		"/usr/new: EROFS\n/kernelmosaic/new: EROFS\n/proc/new: ENOENT\n/usr/bin/env: EACCES\n"
		"/kernelmosaic/km-shim: EACCES\nchmod /in/attacks: EROFS\nunlink /in/attacks: EROFS\nrename /out: EXDEV\n");
}

static void
setuid_bits_do_not_count(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("setuid", NULL, "done\n");
}

/* ---- the supervisor */

static void
supervisor_is_out_of_reach(void **state)
{
	char host[32];

	NEEDS_NAMESPACES();
	/* a number that is no process inside */
	snprintf(host, sizeof host, "%d", getpid() > 9 ? (int)getpid() : 4194303);
	/* kill(1) says ok and does nothing: the attack ends by itself, and this is a test that still runs */
	shot_expect("supervisor", host, "prlimit FSIZE of 1: EPERM\nprlimit CPU of 1: EPERM\npriority of 1: EPERM\n"
		"priority of the user: EPERM\naffinity of 1: EPERM\nscheduler of 1: EPERM\nkill 1 softly: ok\nkill 1: ok\n"
		"kill 1 by SIGTERM: ok\nkill all others: ESRCH\nkill the host's process: ESRCH\n");
}

static void
report_is_not_forged(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "forge", NULL);
	shot_fire(&shot);
	assert_int_equal(shot.failed, 0);
	assert_string_equal(buf_str(&shot.output), "");
	assert_int_equal(shot.result.cause, SANDBOX_EXITED);
	assert_int_equal(shot.result.exit_status, 42);
	shot_clear(&shot);
}

/* ---- without end */

static void
loop_meets_the_processor_limit(void **state)
{
	static const char *const kinds[] = { "default", "ignoring SIGXCPU" };

	NEEDS_NAMESPACES();
	for (int i = 0; i < 2; i++) {
		struct shot shot;
		shot_load(&shot, "loop", kinds[i]);
		shot.job.limits.cpu_s = 1;
		shot.job.limits.wall_ms = 60000;
		shot_fire(&shot);
		assert_int_equal(shot.result.cause, SANDBOX_CPU);
		assert_int_equal(shot.result.signal, i ? SIGKILL : SIGXCPU);
		/* the kernel counts this limit in ticks */
		assert_in_range(shot.result.user_ns + shot.result.system_ns, 500000000, 4000000000);
		shot_clear(&shot);
	}
}

static void
sleep_meets_the_wall_clock(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	uint64_t start = attack_now_ms();
	shot_load(&shot, "sleep", NULL);
	shot.job.limits.wall_ms = 300;
	shot_fire(&shot);
	assert_int_equal(shot.failed, 0);
	assert_int_equal(shot.result.cause, SANDBOX_WALL_CLOCK);
	assert_in_range(shot.result.wall_ns, 300000000, 1500000000);
	assert_in_range(attack_now_ms() - start, 300, 3000);
	shot_clear(&shot);
}

static void
bomb_meets_the_wall_clock(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "bomb", "km-test-bomb-mark");
	shot.job.limits.wall_ms = 300;
	shot_fire(&shot);
	assert_int_equal(shot.failed, 0);
	assert_int_equal(shot.result.cause, SANDBOX_WALL_CLOCK);
	assert_in_range(shot.result.wall_ns, 300000000, 4000000000);
	assert_int_equal(count_processes("km-test-bomb-mark"), 0);
	shot_clear(&shot);
}

/* What the attack could fill before an allocation failed. */
static long
allocated_mib(uint64_t address_space_bytes, uint64_t data_bytes)
{
	struct shot shot;
	long mib = -1;

	shot_load(&shot, "memory", NULL);
	shot.job.limits.address_space_bytes = address_space_bytes;
	shot.job.limits.data_bytes = data_bytes;
	shot_fire(&shot);
	assert_int_equal(sscanf(buf_str(&shot.output), "%ld MiB, then ENOMEM", &mib), 1);
	shot_clear(&shot);
	return mib;
}

static void
allocation_meets_its_limits(void **state)
{
	NEEDS_NAMESPACES();
	assert_in_range(allocated_mib(100 << 20, 0), 48, 96);
	assert_in_range(allocated_mib(SANDBOX_UNLIMITED, 100 << 20), 48, 96);
}

static void
memory_is_counted_over_all_processes(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "memory_by_many", NULL);
	shot.job.limits.address_space_bytes = 200 << 20;
	shot.job.limits.memory_bytes = 400 << 20;
	shot_fire(&shot);
	assert_int_equal(shot.result.cause, SANDBOX_MEMORY);
	shot_clear(&shot);
	/* pages shared after fork count once */
	shot_load(&shot, "memory_shared", NULL);
	shot.job.limits.memory_bytes = 400 << 20;
	shot_fire(&shot);
	assert_int_equal(shot.result.cause, SANDBOX_EXITED);
	shot_clear(&shot);
}

static void
floods_are_cut(void **state)
{
	static const char *const kinds[] = { "output", "errors" };

	NEEDS_NAMESPACES();
	for (int i = 0; i < 2; i++) {
		struct shot shot;
		shot_load(&shot, "flood", kinds[i]);
		shot.job.limits.wall_ms = 300;
		shot.job.limits.output_max_bytes = 100000;
		shot_fire(&shot);
		assert_int_equal(shot.result.cause, SANDBOX_WALL_CLOCK);
		assert_true(shot.result.output_cut);
		assert_int_equal((i ? shot.errors : shot.output).len, 100000);
		shot_clear(&shot);
	}
}

static void
big_file_meets_its_size(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "big_file", NULL);
	shot_fire(&shot);
	assert_int_equal(shot.result.cause, SANDBOX_SIGNALLED);
	assert_int_equal(shot.result.signal, SIGXFSZ);
	shot_clear(&shot);
}

/* ---- what is left behind */

static void
daemons_end_with_the_job(void **state)
{
	NEEDS_NAMESPACES();
	shot_expect("daemons", "km-test-daemon-mark", "left\n");
	assert_int_equal(count_processes("km-test-daemon-mark"), 0);
}

/* At any moment: the sandbox is built in some 10 ms, so a kill after each of the first 30 meets every step. */
static void
killing_the_caller_kills_the_job(void **state)
{
	NEEDS_NAMESPACES();
	for (int delay = -1; delay < 30; delay++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct shot shot;
			shot_load(&shot, "sleep", "km-test-orphan-mark");
			shot.job.limits.wall_ms = 60000;
			shot_fire(&shot);
			_exit(0);
		}
		if (delay < 0)
			assert_int_equal(await_processes("km-test-orphan-mark", 1, 5000), 1);
		else
			usleep((useconds_t)delay * 1000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (delay < 0)
			assert_int_equal(await_processes("km-test-orphan-mark", 0, 3000), 0);
	}
	/* Orphans are children of this process now: each must end, and none stay. */
	uint64_t deadline = attack_now_ms() + 3000;
	int left;
	while ((left = waitpid(-1, NULL, WNOHANG)) >= 0 && attack_now_ms() < deadline)
		usleep(1000);
	assert_int_equal(left, -1);
}

/* ---- outputs that are traps */

static void
planted_outputs_are_not_followed(void **state)
{
	static const struct { const char *name; enum sandbox_file state; } cases[] = {
		{ "symlink", SANDBOX_FILE_REFUSED }, { "inner", SANDBOX_FILE_REFUSED }, { "proclink", SANDBOX_FILE_REFUSED },
		{ "fifo", SANDBOX_FILE_REFUSED }, { "folder", SANDBOX_FILE_REFUSED }, { "device", SANDBOX_FILE_MISSING },
		{ "hardlink", SANDBOX_FILE_MISSING }, { "twice", SANDBOX_FILE_REFUSED }, { "sparse", SANDBOX_FILE_TOO_LARGE },
		{ "closed", SANDBOX_FILE_REFUSED }, { "socket", SANDBOX_FILE_REFUSED }, { "honest", SANDBOX_FILE_OK },
		{ "never", SANDBOX_FILE_MISSING },
	};
	enum { CASES = sizeof cases / sizeof cases[0] };
	struct sandbox_output outputs[CASES];
	struct buf bytes[CASES];
	struct shot shot;

	NEEDS_NAMESPACES();
	for (int i = 0; i < CASES; i++) {
		bytes[i] = (struct buf)BUF_INIT;
		outputs[i] = (struct sandbox_output){ .name = cases[i].name, .content = &bytes[i] };
	}
	shot_load(&shot, "plant", "/out");
	shot.job.outputs = outputs;
	shot.job.output_count = CASES;
	shot.job.limits.tmp_bytes = 3ull << 30;	/* so that a file may say that it has 2 GiB */
	shot_fire(&shot);
	assert_string_equal(buf_str(&shot.output), "folder of outputs: ok\nsymlink: ok\nsymlink to self: ok\n"
		"proc link: ok\nfifo: ok\nfolder: ok\n"
		"device: EPERM\nhard link to the system: EXDEV\nhonest: ok\nown hard link: ok\n2 GiB of holes: ok\n"
		"mode 000: ok\nsocket: ok\ndeep: ok\n");
	for (int i = 0; i < CASES; i++) {
		if (outputs[i].state != cases[i].state)
			fail_msg("%s: state %d, not %d", cases[i].name, outputs[i].state, cases[i].state);
		assert_string_equal(buf_str(&bytes[i]), cases[i].state == SANDBOX_FILE_OK ? "honest\n" : "");
		buf_release(&bytes[i]);
	}
	shot_clear(&shot);
}

/* ---- jobs with device files */

static void
devices_are_those_of_the_job(void **state)
{
	static const char *const attacks[] = { "identity", "environment", "descriptors", "calls", "sockets", "reach", "secrets",
		"outside", "setuid" }, *const none[] = { NULL };

	NEEDS_NAMESPACES();
	check_devices("ENOENT\n");
	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
		check_attack_with_devices(attacks[i], none);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_is_not_root_inside),
		cmocka_unit_test(environment_does_not_leak),
		cmocka_unit_test(environment_is_the_fixed_one),
		cmocka_unit_test(descriptors_do_not_leak),
		cmocka_unit_test(forks_are_counted),
		cmocka_unit_test(forks_are_counted_for_each),
		cmocka_unit_test(folders_are_sized),
		cmocka_unit_test(files_are_counted),
		cmocka_unit_test(only_unix_sockets),
		cmocka_unit_test(sockets_of_the_host_are_out_of_reach),
		cmocka_unit_test(calls_are_refused),
		cmocka_unit_test(secrets_are_not_there),
		cmocka_unit_test(nothing_outside_is_written),
		cmocka_unit_test(setuid_bits_do_not_count),
		cmocka_unit_test(supervisor_is_out_of_reach),
		cmocka_unit_test(report_is_not_forged),
		cmocka_unit_test(loop_meets_the_processor_limit),
		cmocka_unit_test(sleep_meets_the_wall_clock),
		cmocka_unit_test(bomb_meets_the_wall_clock),
		cmocka_unit_test(allocation_meets_its_limits),
		cmocka_unit_test(memory_is_counted_over_all_processes),
		cmocka_unit_test(floods_are_cut),
		cmocka_unit_test(big_file_meets_its_size),
		cmocka_unit_test(daemons_end_with_the_job),
		cmocka_unit_test(killing_the_caller_kills_the_job),
		cmocka_unit_test(planted_outputs_are_not_followed),
		cmocka_unit_test(devices_are_those_of_the_job),
	};

	return cmocka_run_group_tests_name("attacks on the sandbox", tests, set_up, tear_down);
}
