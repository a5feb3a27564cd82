/* What callers rely on: inputs, outputs, statuses, compilers inside, threads, a user who is not root, and
 * clear failures. At the highest level that this machine has, but where a test says otherwise. */
#include <pthread.h>
#include <sys/prctl.h>

#include "../data/sandbox/attack.h"
#include "sandbox/collect.h"
#include "sandbox/slot.h"

static bool available;

static int
set_up(void **state)
{
	(void)state;
	available = namespaces_or_reason();
	attack_build();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	attack_clean();
	return 0;
}

#define NEEDS_NAMESPACES() do { (void)state; if (!available) skip(); } while (0)

static void
write_text(const char *folder, const char *name, const char *text, mode_t mode)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	buf_release(&path);
}

/* ---- how a program ends */

static void
endings_are_told(void **state)
{
	static const struct { const char *attack, *argument; enum sandbox_cause cause; int status, signal; const char *text; }
	cases[] = {
		{ "exit", "0", SANDBOX_EXITED, 0, 0, "exit status 0" },
		{ "exit", "7", SANDBOX_EXITED, 7, 0, "exit status 7" },
		{ "exit", "139", SANDBOX_EXITED, 139, 0, "exit status 139" },
		{ "crash", NULL, SANDBOX_SIGNALLED, -1, SIGSEGV, "signal 11 (Segmentation fault)" },
		{ "sleep", NULL, SANDBOX_WALL_CLOCK, -1, SIGKILL, "the wall clock of 0.25 s" },
	};

	NEEDS_NAMESPACES();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct shot shot;
		struct buf text = BUF_INIT;
		shot_load(&shot, cases[i].attack, cases[i].argument);
		shot.job.limits.wall_ms = cases[i].cause == SANDBOX_WALL_CLOCK ? 250 : 5000;
		shot_fire(&shot);
		assert_int_equal(shot.failed, 0);
		assert_int_equal(shot.result.cause, cases[i].cause);
		assert_int_equal(shot.result.exit_status, cases[i].status);
		assert_int_equal(shot.result.signal, cases[i].signal);
		assert_int_equal(shot.result.level, SANDBOX_NAMESPACES);
		sandbox_describe(&shot.job, &shot.result, &text);
		assert_string_equal(text.data, cases[i].text);
		buf_release(&text);
		shot_clear(&shot);
	}
}

static void
resources_are_measured(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	/* in a child of a child, which the supervisor must still see */
	shot_load_shell(&shot, "/bin/sh -c '/in/attacks memory; :'; :");
	shot.job.limits.address_space_bytes = 300 << 20;
	shot_fire(&shot);
	assert_in_range(shot.result.peak_rss_bytes, 200 << 20, 310 << 20);
	assert_in_range(shot.result.user_ns + shot.result.system_ns, 5000000, 5000000000);
	assert_true(shot.result.wall_ns > 0);
	shot_clear(&shot);
}

static void
missing_program_is_no_result(void **state)
{
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load(&shot, "", NULL);
	shot.argv[0] = "/in/nothing";
	shot_fire(&shot);
	assert_int_equal(shot.failed, -1);
	assert_int_equal(shot.result.cause, SANDBOX_LAUNCH_FAILED);
	assert_string_equal(buf_str(&shot.err), "/in/nothing: cannot be run in the sandbox: No such file or directory.");
	shot_clear(&shot);
}

/* ---- inputs and outputs */

static void
inputs_are_shown(void **state)
{
	struct buf folder = BUF_INIT;
	struct shot shot;

	NEEDS_NAMESPACES();
	/* a private folder, as io_temp_dir makes them, with a private file: read with the caller's rights */
	buf_addf(&folder, "%s/private", attack_folder);
	mkdir(folder.data, 0700);
	write_text(folder.data, "one", "1", 0600);
	write_text(folder.data, "run", "#!/bin/sh\necho ran\n", 0700);
	shot_load_shell(&shot, "cat /in/tree/one /in/text; /in/tree/run; /in/script; ls -R /in | wc -l; "
		"stat -c %a /in/tree/one /in/tree/run /in/text");
	shot.inputs[1] = (struct sandbox_input){ .name = "tree", .path = folder.data };
	shot.inputs[2] = (struct sandbox_input){ .name = "text", .bytes = "two\n", .count = 4 };
	shot.inputs[3] = (struct sandbox_input){ .name = "script", .bytes = "#!/bin/sh\necho too\n", .count = 19,
		.executable = true };
	shot.job.input_count = 4;
	shot_fire(&shot);
	assert_string_equal(buf_str(&shot.errors), "");
	assert_string_equal(buf_str(&shot.output), "1two\nran\ntoo\n9\n444\n555\n444\n");
	shot_clear(&shot);
	buf_release(&folder);
}

static void
bad_inputs_are_refused(void **state)
{
	struct buf link = BUF_INIT, fifo = BUF_INIT;
	const char *const names[] = { "../up", "a/b", ".hidden", "", "with space", "line\n" };
	struct shot shot;

	NEEDS_NAMESPACES();
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		shot_load(&shot, "exit", "0");
		shot.inputs[0].name = names[i];
		shot_fire(&shot);
		assert_int_equal(shot.failed, -1);
		assert_non_null(strstr(buf_str(&shot.err), "not a plain name"));
		shot_clear(&shot);
	}
	/* a link inside an input folder may point to a secret */
	buf_addf(&link, "%s/links", attack_folder);
	buf_addf(&fifo, "%s/fifo", attack_folder);
	mkdir(link.data, 0755);
	struct buf inner = BUF_INIT;
	buf_addf(&inner, "%s/secret", link.data);
	assert_int_equal(symlink("/etc/shadow", inner.data), 0);
	assert_int_equal(mkfifo(fifo.data, 0644), 0);
	const struct { const char *path, *complaint; } cases[] = {
		{ link.data, "attacks/secret: cannot be read: Too many levels of symbolic links" },
		{ fifo.data, "an input must be a file or a folder" }, { "/dev/zero", "an input must be a file or a folder" },
		{ "/nowhere", "/nowhere: cannot be opened: No such file or directory" },
	};
	for (size_t i = 0; i < 4; i++) {
		shot_load(&shot, "exit", "0");
		shot.inputs[0].path = cases[i].path;
		shot_fire(&shot);
		assert_int_equal(shot.failed, -1);
		assert_non_null(strstr(buf_str(&shot.err), cases[i].complaint));
		assert_int_equal(shot.result.cause, SANDBOX_LAUNCH_FAILED);
		shot_clear(&shot);
	}
	buf_release(&link);
	buf_release(&fifo);
	buf_release(&inner);
}

static void
outputs_are_collected(void **state)
{
	struct buf bytes = BUF_INIT, path = BUF_INIT, text = BUF_INIT;
	struct sandbox_output outputs[] = {
		{ .name = "a" }, { .name = "empty" }, { .name = "b", .content = &bytes }, { .name = "large", .max_bytes = 9 },
		{ .name = "fits", .max_bytes = 10, .content = &bytes }, { .name = "none" },
	};
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load_shell(&shot, "cd /out; echo one >a; echo two >b; : >empty; printf 0123456789 >large; cp large fits; exit 3");
	shot.job.outputs = outputs;
	shot.job.output_count = 6;
	shot.job.output_folder = attack_folder;
	shot_fire(&shot);
	assert_int_equal(shot.result.exit_status, 3);
	assert_int_equal(outputs[0].state, SANDBOX_FILE_OK);
	assert_int_equal(outputs[0].bytes, 4);
	assert_int_equal(outputs[1].state, SANDBOX_FILE_OK);
	assert_int_equal(outputs[3].state, SANDBOX_FILE_TOO_LARGE);
	assert_int_equal(outputs[5].state, SANDBOX_FILE_MISSING);
	assert_string_equal(buf_str(&bytes), "two\n0123456789");
	buf_addf(&path, "%s/a", attack_folder);
	assert_int_equal(buf_read_file(&text, path.data, 100, NULL), 0);
	assert_string_equal(buf_str(&text), "one\n");
	buf_reset(&path);
	buf_addf(&path, "%s/large", attack_folder);
	assert_int_equal(access(path.data, F_OK), -1);
	buf_release(&path);
	buf_release(&text);
	buf_release(&bytes);
	shot_clear(&shot);
}

/* What was written before the clock ran out is still of use. */
static void
outputs_of_a_killed_program(void **state)
{
	struct buf bytes = BUF_INIT;
	struct sandbox_output output = { .name = "log", .content = &bytes };
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load_shell(&shot, "echo begun >/out/log; exec sleep 60");
	shot.job.outputs = &output;
	shot.job.output_count = 1;
	shot.job.limits.wall_ms = 300;
	shot_fire(&shot);
	assert_int_equal(shot.result.cause, SANDBOX_WALL_CLOCK);
	assert_string_equal(buf_str(&bytes), "begun\n");
	buf_release(&bytes);
	shot_clear(&shot);
}

static void
large_output_arrives_whole(void **state)
{
	struct buf bytes = BUF_INIT;
	struct sandbox_output output = { .name = "large", .content = &bytes, .max_bytes = 50 << 20 };
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load_shell(&shot, "yes 01234567890123456789012345678 | head -c 50000000 >/out/large");
	shot.job.outputs = &output;
	shot.job.output_count = 1;
	shot_fire(&shot);
	assert_int_equal(output.state, SANDBOX_FILE_OK);
	assert_int_equal(bytes.len, 50000000);
	for (size_t at = 0; at + 30 <= bytes.len; at += 30)
		if (memcmp(bytes.data + at, "01234567890123456789012345678\n", 30))
			fail_msg("wrong bytes at %zu", at);
	buf_release(&bytes);
	shot_clear(&shot);
}

static void
collector_alone_refuses_paths(void **state)
{
	const char *const names[] = { "..", ".", "", "/etc/passwd", "../x", "a/b", "-\n" };
	uint64_t bytes = 1;

	(void)state;
	int folder = open("/etc", O_RDONLY | O_DIRECTORY), to = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		assert_int_equal(sandbox_collect(folder, names[i], 1 << 20, to, &bytes), SANDBOX_FILE_REFUSED);
	assert_int_equal(sandbox_collect(folder, "hostname", 1 << 20, to, &bytes), SANDBOX_FILE_OK);
	assert_true(bytes > 0);
	close(folder);
	close(to);
}

static void
standard_input_is_given(void **state)
{
	struct shot shot;
	struct buf large = BUF_INIT;

	NEEDS_NAMESPACES();
	buf_reserve(&large, 3000000);
	memset(large.data, 'x', 3000000);
	shot_load(&shot, "input", NULL);
	shot.job.stdin_bytes = large.data;
	shot.job.stdin_count = 3000000;
	shot_fire(&shot);
	assert_string_equal(buf_str(&shot.output), "3000000\n");
	shot_clear(&shot);
	/* a program that reads nothing of it does not end us by SIGPIPE */
	signal(SIGPIPE, SIG_DFL);
	shot_load(&shot, "exit", "0");
	shot.job.stdin_bytes = large.data;
	shot.job.stdin_count = 3000000;
	shot_fire(&shot);
	assert_int_equal(shot.result.exit_status, 0);
	shot_clear(&shot);
	buf_release(&large);
}

static void
folders_and_environment(void **state)
{
	static const char *const environment[] = { "ONE=/in/1", "TWO=b c", NULL };
	const char *binds[] = { attack_folder, "/nowhere/at/all", NULL };
	struct shot shot;

	NEEDS_NAMESPACES();
	shot_load_shell(&shot, "pwd; hostname; id -u; echo $ONE $TWO; ls -d \"$0\"");
	shot.argv[3] = attack_folder;
	shot.argv[4] = NULL;
	shot.job.environment = environment;
	shot.job.work_in_out = true;
	shot.job.binds = binds;
	shot_fire(&shot);
	struct buf expected = BUF_INIT;
	buf_addf(&expected, "/out\nkernelmosaic\n60000\n/in/1 b c\n%s\n", attack_folder);
	assert_string_equal(buf_str(&shot.output), expected.data);
	buf_release(&expected);
	shot_clear(&shot);
}

static void
addresses_repeat_on_demand(void **state)
{
	char said[2][2][200];

	NEEDS_NAMESPACES();
	for (int off = 0; off < 2; off++)
		for (int i = 0; i < 2; i++) {
			struct shot shot;
			shot_load(&shot, "address", NULL);
			shot.job.aslr_off = off;
			shot_fire(&shot);
			snprintf(said[off][i], sizeof said[off][i], "%s", buf_str(&shot.output));
			shot_clear(&shot);
		}
	assert_string_not_equal(said[0][0], said[0][1]);
	assert_string_equal(said[1][0], said[1][1]);
}

/* ---- compilers */

static const char kernel_source[] =
	"#include <cuda_runtime.h>\n"
	"__global__ void scale(float *x, long n) { long i = blockIdx.x * 256l + threadIdx.x; if (i < n) x[i] *= 2; }\n"
	"extern \"C\" void solve(float *x, long n, cudaStream_t s) { scale<<<(n + 255) / 256, 256, 0, s>>>(x, n); }\n";

static void
nvcc_compiles_inside(void **state)
{
	struct buf library = BUF_INIT;
	struct sandbox_output output = { .name = "solution.so", .content = &library };
	const char *const argv[] = { "/usr/local/cuda/bin/nvcc", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared",
		"-lineinfo", "-arch=sm_90", "-o", "/out/solution.so", "/in/solution.cu", NULL };
	struct shot shot;

	NEEDS_NAMESPACES();
	if (access(argv[0], X_OK)) {
		print_message("there is no nvcc here\n");
		skip();
	}
	shot_load(&shot, "", NULL);
	shot.inputs[0] = (struct sandbox_input){ .name = "solution.cu", .bytes = kernel_source,
		.count = sizeof kernel_source - 1 };
	shot.job.argv = argv;
	shot.job.outputs = &output;
	shot.job.output_count = 1;
	shot.job.limits = (struct sandbox_limits){ .address_space_bytes = 8ull << 30 };
	shot_fire(&shot);
	assert_string_equal(buf_str(&shot.errors), "");
	assert_int_equal(shot.result.exit_status, 0);
	assert_int_equal(output.state, SANDBOX_FILE_OK);
	assert_memory_equal(library.data, "\177ELF", 4);
	buf_release(&library);
	shot_clear(&shot);
}

/* What the compiler finds when a source asks for the host's files. */
static void
compile(const char *text, const char *complaint)
{
	struct sandbox_output output = { .name = "a.o" };
	struct shot shot;

	shot_load_shell(&shot, "gcc -c -o /out/a.o /in/a.c");
	shot.inputs[0] = (struct sandbox_input){ .name = "a.c", .bytes = text, .count = strlen(text) };
	shot.job.outputs = &output;
	shot.job.output_count = 1;
	shot.job.output_folder = attack_folder;
	shot.job.limits.address_space_bytes = 500 << 20;
	shot_fire(&shot);
	assert_int_equal(shot.failed, 0);
	assert_int_equal(shot.result.cause, SANDBOX_EXITED);
	assert_int_equal(shot.result.exit_status != 0, complaint != NULL);
	assert_int_equal(output.state, complaint ? SANDBOX_FILE_MISSING : SANDBOX_FILE_OK);
	if (complaint && !strstr(buf_str(&shot.errors), complaint))
		fail_msg("%s", buf_str(&shot.errors));
	shot_clear(&shot);
}

static void
sources_cannot_read_the_host(void **state)
{
	NEEDS_NAMESPACES();
	compile("#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n", NULL);
	compile("#include \"/etc/shadow\"\n", "No such file");
	compile("__asm__(\".incbin \\\"/etc/passwd\\\"\");\n", "/etc/passwd");
	compile("#if __has_include(\"/etc/passwd\")\n#error seen\n#else\n#error unseen\n#endif\n", "#error unseen");
	compile("#include \"/dev/zero\"\n", "");
}

/* ---- callers */

static void *
run_some(void *context)
{
	int *wrong = context;

	for (int i = 0; i < 8; i++) {
		struct shot shot;
		char number[16];
		snprintf(number, sizeof number, "%d", i + 1);
		shot_load(&shot, "exit", number);
		shot.failed = sandbox_run(&shot.job, &shot.result, &shot.err);
		if (shot.failed || shot.result.exit_status != i + 1)
			++*wrong;
		shot_clear(&shot);
	}
	return NULL;
}

static void
threads_may_run_jobs(void **state)
{
	pthread_t threads[6];
	int wrong[6] = { 0 };

	NEEDS_NAMESPACES();
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_some, &wrong[i]), 0);
	for (int i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(wrong[i], 0);
	}
}

/* The same, started by somebody who is not root: through a user namespace of his own. */
static void
a_plain_user_may_run_jobs(void **state)
{
	NEEDS_NAMESPACES();
	if (geteuid()) {
		print_message("every other test here shows it already: this is a plain user\n");
		skip();
	}
	pid_t pid = fork();
	if (pid == 0) {
		struct shot shot;
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) ||
		    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))	/* as after an exec: /proc/self is ours again */
			_exit(9);
		shot_load(&shot, "forks", "1000");
		shot.job.limits.processes = 17;
		shot_fire(&shot);
		if (shot.failed && strstr(buf_str(&shot.err), "km-shim"))
			_exit(8);
		if (strcmp(buf_str(&shot.output), "16 EAGAIN\n"))
			_exit(1);
		shot_load(&shot, "files", "/out");
		shot.job.limits.files = 300;
		shot_fire(&shot);
		_exit(strcmp(buf_str(&shot.output), "300 files, then ENOSPC\n") ? 2 : 0);
	}
	int status;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 8) {
		print_message("the build folder cannot be entered by another user\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* An id in use is not given to another sandbox, wherever the search for a free one begins. */
static void
user_ids_are_not_shared(void **state)
{
	int held, lock;

	(void)state;
	if (geteuid()) {
		print_message("only root has user ids to give\n");
		skip();
	}
	uid_t mine = sandbox_slot_take(&held);
	assert_in_range(mine, SANDBOX_FIRST_UID, SANDBOX_FIRST_UID + SANDBOX_SLOTS - 1);
	assert_true(held >= 0);
	for (int i = 0; i < SANDBOX_SLOTS; i++) {
		assert_int_not_equal(sandbox_slot_take(&lock), mine);
		close(lock);
	}
	close(held);
}

/* Files and processes that a run leaves on the host: none. */
static void
nothing_is_left(void **state)
{
	struct shot shot;
	struct stat before, after;
	int fds[2] = { 0, 0 };

	NEEDS_NAMESPACES();
	for (int round = 0; round < 2; round++) {
		for (int fd = 0; fd < 1024; fd++)
			fds[round] += fcntl(fd, F_GETFD) >= 0;
		if (round)
			break;
		stat(attack_folder, &before);
		shot_load(&shot, "exit", "0");
		shot_fire(&shot);
		shot_clear(&shot);
		stat(attack_folder, &after);
	}
	assert_int_equal(fds[0], fds[1]);
	assert_int_equal(before.st_nlink, after.st_nlink);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
option_takes_the_three_levels(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(sandbox_option("bwrap", &err), -1);
	assert_string_equal(buf_str(&err), "bwrap: a sandbox level is namespaces, landlock or none");
	assert_int_equal(sandbox_option("none", NULL), 0);
	assert_int_equal(sandbox_option("landlock", NULL), 0);
	assert_int_equal(sandbox_option("namespaces", NULL), 0);
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(endings_are_told),
		cmocka_unit_test(resources_are_measured),
		cmocka_unit_test(missing_program_is_no_result),
		cmocka_unit_test(inputs_are_shown),
		cmocka_unit_test(bad_inputs_are_refused),
		cmocka_unit_test(outputs_are_collected),
		cmocka_unit_test(outputs_of_a_killed_program),
		cmocka_unit_test(large_output_arrives_whole),
		cmocka_unit_test(collector_alone_refuses_paths),
		cmocka_unit_test(standard_input_is_given),
		cmocka_unit_test(folders_and_environment),
		cmocka_unit_test(addresses_repeat_on_demand),
		cmocka_unit_test(nvcc_compiles_inside),
		cmocka_unit_test(sources_cannot_read_the_host),
		cmocka_unit_test(threads_may_run_jobs),
		cmocka_unit_test(a_plain_user_may_run_jobs),
		cmocka_unit_test(user_ids_are_not_shared),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(option_takes_the_three_levels),
	};

	return cmocka_run_group_tests_name("running jobs in the sandbox", tests, set_up, tear_down);
}
