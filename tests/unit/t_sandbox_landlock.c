/* The sandbox without namespaces: what level landlock promises, started by root and by a plain user. What it
 * does not promise (sizes of folders, an own view of processes) is not tested; sandbox.h lists it. */
#include <sys/prctl.h>

#include "../data/sandbox/attack.h"

static bool available, in_child;

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	available = !sandbox_require(SANDBOX_LANDLOCK, &err);
	if (!available)
		print_message("level landlock is not available here: %s\n", buf_str(&err));
	buf_release(&err);
	attack_build();
	/* Work folders go where the test cleans up after callers that it kills. */
	assert_int_equal(chmod(attack_folder, 01777), 0);
	setenv("TMPDIR", attack_folder, 1);
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static int
tear_down(void **state)
{
	(void)state;
	attack_clean();
	return 0;
}

/* Runs the body twice: as we are, and, when that is root, as a plain user too (as in a fresh process of his). */
static void
as_both(void (*body)(void))
{
	body();
	if (geteuid())
		return;
	pid_t pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
			_exit(9);
		char *shim = spawn_libexec("km-shim");
		if (access(shim, X_OK)) {
			print_message("the build folder cannot be entered by another user: not tried as one\n");
			_exit(0);
		}
		free(shim);
		in_child = true;
		body();
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	if (status)
		fail_msg("as a plain user: status %x", status);
}

#define NEEDS_LANDLOCK() do { (void)state; if (!available) skip(); } while (0)

static void
check(bool condition, const char *what, const struct shot *shot)
{
	if (condition)
		return;
	print_message("%s: cause %d, exit status %d, signal %d\n%s%s%s\n", what, (int)shot->result.cause,
		shot->result.exit_status, shot->result.signal, buf_str(&shot->output), buf_str(&shot->errors),
		buf_str(&shot->err));
	if (in_child)
		_exit(1);
	fail();
}

static void
files_body(void)
{
	struct shot shot;

	shot_load(&shot, "secrets", "/etc/shadow");
	shot_fire(&shot);
	check(!shot.failed && shot.output.len > 100 && !strstr(shot.output.data, ": ok"), "a secret was opened", &shot);
	shot_clear(&shot);
	shot_load(&shot, "outside", NULL);
	shot_fire(&shot);
	check(!shot.failed && shot.output.len > 100 && !strstr(shot.output.data, ": ok"), "something was written", &shot);
	shot_clear(&shot);
	shot_load(&shot, "environment", NULL);
	shot_fire(&shot);
	check(!shot.failed && strstr(buf_str(&shot.output), "/proc/self/environ: no secret\n") &&
		!strstr(shot.output.data, "secret found"), "an environment was read", &shot);
	shot_clear(&shot);
	/* where the permissions of files would allow it: a folder for all, and, for a plain user, his own */
	shot_load_shell(&shot, "echo x >\"$0/new\"; echo x >/in/new; echo x >/tmp/new && echo tmp; echo x >/out/new && echo out");
	const char *const binds[] = { attack_folder, NULL };
	shot.argv[3] = attack_folder;
	shot.argv[4] = NULL;
	shot.job.binds = binds;
	shot_fire(&shot);
	check(!strcmp(buf_str(&shot.output), "tmp\nout\n"), "writable folders", &shot);
	const char *first = strstr(buf_str(&shot.errors), "Permission denied");
	check(first && strstr(first + 1, "Permission denied"), "writable folders", &shot);
	shot_clear(&shot);
	shot_load(&shot, "descriptors", NULL);
	shot_fire(&shot);
	check(!strcmp(buf_str(&shot.output), "0\n1\n2\n"), "descriptors", &shot);
	shot_clear(&shot);
}

static void
files_of_the_host_are_closed(void **state)
{
	NEEDS_LANDLOCK();
	as_both(files_body);
}

static void
calls_body(void)
{
	struct shot shot;

	shot_load(&shot, "calls", NULL);
	shot_fire(&shot);
	check(!shot.failed && shot.output.len > 400 && !strstr(shot.output.data, ": ok"), "a call was let through", &shot);
	shot_clear(&shot);
	shot_load(&shot, "sockets", NULL);
	shot_fire(&shot);
	check(!strcmp(buf_str(&shot.output), "INET: EAFNOSUPPORT\nINET UDP: EAFNOSUPPORT\nINET6: EAFNOSUPPORT\n"
		"NETLINK: EAFNOSUPPORT\nPACKET: EAFNOSUPPORT\nVSOCK: EAFNOSUPPORT\nALG: EAFNOSUPPORT\nBLUETOOTH: EAFNOSUPPORT\n"
		"UNIX: EAFNOSUPPORT\nUNIX pair: ok\nVSOCK pair: EAFNOSUPPORT\n"), "sockets", &shot);
	shot_clear(&shot);
}

static void
calls_are_refused(void **state)
{
	NEEDS_LANDLOCK();
	as_both(calls_body);
}

static void
ends_body(void)
{
	struct shot shot;

	shot_load(&shot, "forge", NULL);
	shot_fire(&shot);
	check(shot.result.cause == SANDBOX_EXITED && shot.result.exit_status == 42, "forge", &shot);
	shot_clear(&shot);
	shot_load(&shot, "sleep", NULL);
	shot.job.limits.wall_ms = 200;
	shot_fire(&shot);
	check(shot.result.cause == SANDBOX_WALL_CLOCK, "sleep", &shot);
	shot_clear(&shot);
	shot_load(&shot, "loop", "ignoring");
	shot.job.limits.wall_ms = 60000;
	shot.job.limits.cpu_s = 1;
	shot_fire(&shot);
	check(shot.result.cause == SANDBOX_CPU, "loop", &shot);
	shot_clear(&shot);
	shot_load(&shot, "flood", "output");
	shot.job.limits.wall_ms = 200;
	shot_fire(&shot);
	check(shot.result.cause == SANDBOX_WALL_CLOCK && shot.result.output_cut && shot.output.len == 1 << 20, "flood", &shot);
	shot_clear(&shot);
}

static void
endless_programs_end(void **state)
{
	NEEDS_LANDLOCK();
	as_both(ends_body);
}

static void
processes_body(void)
{
	struct shot shot;
	long made = 0;

	shot_load(&shot, "forks", "1000");
	shot.job.limits.processes = 17;
	shot_fire(&shot);
	/* a plain user's other processes come and go while these are counted */
	check(sscanf(buf_str(&shot.output), "%ld EAGAIN", &made) == 1 && made >= 8 && made <= 24, "forks", &shot);
	shot_clear(&shot);
	shot_load(&shot, "daemons", "km-test-landlock-daemon");
	shot_fire(&shot);
	check(!strcmp(buf_str(&shot.output), "left\n") && !count_processes("km-test-landlock-daemon"), "daemons", &shot);
	shot_clear(&shot);
	shot_load(&shot, "bomb", "km-test-landlock-bomb");
	shot.job.limits.wall_ms = 200;
	shot.job.limits.processes = 17;
	shot_fire(&shot);
	check(shot.result.cause == SANDBOX_WALL_CLOCK && !count_processes("km-test-landlock-bomb"), "bomb", &shot);
	shot_clear(&shot);
}

static void
processes_are_counted_and_killed(void **state)
{
	NEEDS_LANDLOCK();
	as_both(processes_body);
}

static void
outputs_body(void)
{
	static const char *const names[] = { "symlink", "inner", "fifo", "folder", "twice", "sparse", "honest" };
	struct sandbox_output outputs[7];
	struct buf bytes = BUF_INIT;
	struct shot shot;

	for (int i = 0; i < 7; i++)
		outputs[i] = (struct sandbox_output){ .name = names[i], .content = &bytes };
	shot_load(&shot, "plant", "/out");
	shot.job.outputs = outputs;
	shot.job.output_count = 7;
	shot.job.limits.tmp_bytes = 3ull << 30;
	shot_fire(&shot);
	for (int i = 0; i < 5; i++)
		check(outputs[i].state == SANDBOX_FILE_REFUSED, names[i], &shot);
	check(outputs[5].state == SANDBOX_FILE_TOO_LARGE, "sparse", &shot);
	check(outputs[6].state == SANDBOX_FILE_OK && !strcmp(buf_str(&bytes), "honest\n"), "honest", &shot);
	buf_release(&bytes);
	shot_clear(&shot);
}

static void
outputs_are_not_followed(void **state)
{
	NEEDS_LANDLOCK();
	as_both(outputs_body);
}

static void
compiler_body(void)
{
	static const char source[] = "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n";
	const char *const argv[] = { "/usr/local/cuda/bin/nvcc", "-I/in/none", "-cubin", "-arch=sm_90", "-o", "/out/k.cubin",
		"/in/k.cu", NULL };
	struct sandbox_output output = { .name = "k.cubin" };
	struct buf bytes = BUF_INIT;
	struct shot shot;

	if (access(argv[0], X_OK))
		return;
	output.content = &bytes;
	shot_load(&shot, "", NULL);
	shot.job.argv = argv;
	shot.inputs[0] = (struct sandbox_input){ .name = "k.cu", .bytes = source, .count = sizeof source - 1 };
	shot.job.outputs = &output;
	shot.job.output_count = 1;
	shot.job.limits.wall_ms = 60000;
	shot_fire(&shot);
	check(!shot.result.exit_status && output.state == SANDBOX_FILE_OK, "nvcc", &shot);
	buf_release(&bytes);
	shot_clear(&shot);
}

static void
nvcc_compiles_inside(void **state)
{
	NEEDS_LANDLOCK();
	as_both(compiler_body);
}

static void
paths_are_rewritten(void **state)
{
	static const char *const environment[] = { "A=/tmp", "B=x:/in/b:/out", "C=/tmpx/usr/in/x", NULL };
	struct shot shot;

	NEEDS_LANDLOCK();
	shot_load_shell(&shot, "echo $A $B $C; echo /usr/in a/in /inn \"/out/x\"; test -x /kernelmosaic/km-shim");
	shot.job.environment = environment;
	shot_fire(&shot);
	assert_int_equal(shot.result.exit_status, 0);
	char work[256], expected[4096];
	assert_int_equal(sscanf(buf_str(&shot.output), "%255[^ ]", work), 1);
	work[strlen(work) - 4] = '\0';
	snprintf(expected, sizeof expected, "%s/tmp x:%s/in/b:%s/out /tmpx/usr/in/x\n/usr/in a/in /inn %s/out/x\n",
		work, work, work, work);
	assert_string_equal(buf_str(&shot.output), expected);
	assert_int_equal(access(work, F_OK), -1);	/* and the folder is gone */
	shot_clear(&shot);
}

static void
devices_are_those_of_the_job(void **state)
{
	static const char *const attacks[] = { "identity", "calls", "secrets", "outside", "descriptors" }, *const none[] = { NULL },
		*const stream[] = { "UNIX: ok", NULL }, *const devices[] = { "/dev/zero", NULL };
	struct shot shot;

	NEEDS_LANDLOCK();
	check_devices("EACCES\n");
	for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
		check_attack_with_devices(attacks[i], none);
	check_attack_with_devices("sockets", stream);
	for (int named = 0; named < 2; named++) {
		shot_load(&shot, "reach", NULL);
		shot.job.devices = named ? devices : NULL;
		shot_fire(&shot);
		assert_string_equal(buf_str(&shot.output), named ? "stream: ok\nconnect to a file: EACCES\nconnect to a name: EACCES\n"
			"send to a name: EOPNOTSUPP\nlisten: ok\npackets: ok\ndatagrams: EAFNOSUPPORT\nraw: EAFNOSUPPORT\n" :
			"stream: EAFNOSUPPORT\nconnect to a file: EBADF\nconnect to a name: EBADF\nsend to a name: EBADF\n"
			"listen: EBADF\npackets: EAFNOSUPPORT\ndatagrams: EAFNOSUPPORT\nraw: EAFNOSUPPORT\n");
		shot_clear(&shot);
		/* as CUDA names its threads; and nothing that is another's */
		shot_load_shell(&shot, "name() { printf km-thread >$1/comm; }; name /proc/self/task/$$ 2>/dev/null && cat /proc/$$/comm;"
			"(echo 0 >/proc/1/oom_score_adj) 2>/dev/null || echo refused");
		shot.job.devices = named ? devices : NULL;
		shot_fire(&shot);
		assert_string_equal(buf_str(&shot.output), named ? "km-thread\nrefused\n" : "refused\n");
		shot_clear(&shot);
	}
}

static void
killing_the_caller_kills_the_job(void **state)
{
	NEEDS_LANDLOCK();
	for (int delay = -1; delay < 15; delay++) {
		pid_t pid = fork();
		if (pid == 0) {
			struct shot shot;
			shot_load(&shot, "sleep", "km-test-landlock-orphan");
			shot.job.limits.wall_ms = 60000;
			shot_fire(&shot);
			_exit(0);
		}
		if (delay < 0)
			assert_int_equal(await_processes("km-test-landlock-orphan", 1, 5000), 1);
		else
			usleep((useconds_t)delay * 500);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	uint64_t deadline = attack_now_ms() + 3000;
	int left;
	while ((left = waitpid(-1, NULL, WNOHANG)) >= 0 && attack_now_ms() < deadline)
		usleep(1000);
	assert_int_equal(left, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_host_are_closed),
		cmocka_unit_test(calls_are_refused),
		cmocka_unit_test(endless_programs_end),
		cmocka_unit_test(processes_are_counted_and_killed),
		cmocka_unit_test(outputs_are_not_followed),
		cmocka_unit_test(nvcc_compiles_inside),
		cmocka_unit_test(paths_are_rewritten),
		cmocka_unit_test(devices_are_those_of_the_job),
		cmocka_unit_test(killing_the_caller_kills_the_job),
	};

	return cmocka_run_group_tests_name("the sandbox without namespaces", tests, set_up, tear_down);
}
