/* For the tests of the sandbox: the attacks program, built once, and one shot at the sandbox with it. */
#ifndef TESTS_SANDBOX_ATTACK_H
#define TESTS_SANDBOX_ATTACK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/spawn.h"
#include "sandbox/sandbox.h"

/* A folder of the test, with the program `attacks` in it. */
static char *attack_folder;
static struct buf attack_program = BUF_INIT;

struct shot {
	const char *argv[8];
	struct sandbox_input inputs[4];
	struct sandbox_job job;
	struct sandbox_result result;
	struct buf output, errors, err;
	int failed;
};

static void __attribute__((unused))
attack_build(void)
{
	struct buf err = BUF_INIT, said = BUF_INIT;
	struct spawn_result result;

	attack_folder = io_temp_dir("km-sandbox-test", &err);
	assert_non_null(attack_folder);
	assert_int_equal(chmod(attack_folder, 0755), 0);
	buf_addf(&attack_program, "%s/attacks", attack_folder);
	char *const argv[] = { "/usr/bin/gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", attack_program.data,
		"tests/data/sandbox/attacks.c", NULL };
	char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct spawn how = { .argv = argv, .envp = environment, .output = &said, .errors = &said };
	if (spawn_run(&how, &result, &err) || result.exit_status)
		fail_msg("%s%s", buf_str(&err), buf_str(&said));
	buf_release(&said);
	buf_release(&err);
	/* What the attacks look for: it must never be seen inside. */
	setenv("KM_TEST_API_KEY", "KM_TEST_SECRET", 1);
}

static void __attribute__((unused))
attack_clean(void)
{
	struct buf err = BUF_INIT;

	io_remove_tree(attack_folder, &err);
	free(attack_folder);
	buf_release(&attack_program);
	buf_release(&err);
}

/* Whether level namespaces is there. Where a plain bubblewrap call works it has to be: else a broken sandbox
 * would only skip its own tests. */
static bool __attribute__((unused))
namespaces_or_reason(void)
{
	struct buf why = BUF_INIT;
	bool available = sandbox_available(&why) == SANDBOX_NAMESPACES;
	char *const argv[] = { "/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true", NULL };
	char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
	struct spawn how = { .argv = argv, .envp = environment };
	struct spawn_result result;

	if (!available) {
		print_message("level namespaces is not available here: %s\n", buf_str(&why));
		if (!access(argv[0], X_OK) && !spawn_run(&how, &result, NULL) && !result.exit_status)
			fail_msg("yet a plain bubblewrap call works");
	}
	buf_release(&why);
	return available;
}

/* Prepares "/in/attacks NAME ARGUMENT"; limits and outputs are set before shot_fire. */
static void __attribute__((unused))
shot_load(struct shot *shot, const char *name, const char *argument)
{
	*shot = (struct shot){ .argv = { "/in/attacks", name, argument, NULL } };
	shot->inputs[0] = (struct sandbox_input){ .name = "attacks", .path = attack_program.data };
	shot->job = (struct sandbox_job){ .argv = shot->argv, .inputs = shot->inputs, .input_count = 1,
		.output = &shot->output, .errors = &shot->errors, .limits = { .wall_ms = 30000 } };
}

/* Prepares any program inside. */
static void __attribute__((unused))
shot_load_shell(struct shot *shot, const char *command)
{
	shot_load(shot, "", NULL);
	shot->argv[0] = "/bin/sh";
	shot->argv[1] = "-c";
	shot->argv[2] = command;
	shot->argv[3] = NULL;
}

static void __attribute__((unused))
shot_fire(struct shot *shot)
{
	shot->failed = sandbox_run(&shot->job, &shot->result, &shot->err);
	if (shot->failed)
		print_message("%s\n", buf_str(&shot->err));
}

static void __attribute__((unused))
shot_clear(struct shot *shot)
{
	buf_release(&shot->output);
	buf_release(&shot->errors);
	buf_release(&shot->err);
}

/* Fires, and compares all that the attack said; it must have ended by itself. */
static void __attribute__((unused))
shot_expect(const char *name, const char *argument, const char *said)
{
	struct shot shot;

	shot_load(&shot, name, argument);
	shot_fire(&shot);
	assert_int_equal(shot.failed, 0);
	assert_string_equal(buf_str(&shot.errors), "");
	assert_string_equal(buf_str(&shot.output), said);
	assert_int_equal(shot.result.cause, SANDBOX_EXITED);
	assert_int_equal(shot.result.exit_status, 0);
	shot_clear(&shot);
}

/* How many processes of this machine have `mark` in their command line. */
static int __attribute__((unused))
count_processes(const char *mark)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(processes))) {
		char path[300], text[4096];
		snprintf(path, sizeof path, "/proc/%.200s/cmdline", entry->d_name);
		int fd = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? open(path, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		ssize_t got = read(fd, text, sizeof text);
		close(fd);
		count += got > 0 && memmem(text, (size_t)got, mark, strlen(mark));
	}
	closedir(processes);
	return count;
}

static uint64_t __attribute__((unused))
attack_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* Waits, at most this long, until count_processes gives `count`; returns the last count. */
static int __attribute__((unused))
await_processes(const char *mark, int count, uint64_t within_ms)
{
	uint64_t deadline = attack_now_ms() + within_ms;
	int now;

	while ((now = count_processes(mark)) != count && attack_now_ms() < deadline)
		usleep(5000);
	return now;
}

/* ---- jobs with device files */

/* Opens the file, writes to it, and asks it what it does not know: "ENOTTY" when all three reached the device. */
static const char device_script[] = "python3 -c 'import errno, fcntl, os, sys\n"
	"try:\n"
	"    fd = os.open(sys.argv[1], os.O_RDWR)\n"
	"    os.write(fd, b\"x\")\n"
	"    fcntl.ioctl(fd, 0x5401)\n"
	"except OSError as e: print(errno.errorcode[e.errno])' \"$0\"";

/* A device that a job names can be used, and no other. A stand-in for a GPU's: what /dev/null is, by another name. */
static void __attribute__((unused))
check_devices(const char *refused)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "/dev/km-test-%d", (int)getpid());
	if (mknod(path.data, S_IFCHR | 0666, makedev(1, 3)) || chmod(path.data, 0666)) {
		print_message("no device file can be made here: not tried\n");
		buf_release(&path);
		return;
	}
	const char *const named[] = { path.data, "/nowhere/at/all", NULL }, *const others[] = { "/dev/zero", NULL };
	const char *const *const jobs[] = { named, others, NULL };
	for (int i = 0; i < 3; i++) {
		struct shot shot;
		shot_load_shell(&shot, device_script);
		shot.argv[3] = path.data;
		shot.argv[4] = NULL;
		shot.job.devices = jobs[i];
		shot_fire(&shot);
		assert_int_equal(shot.failed, 0);
		assert_string_equal(buf_str(&shot.errors), "");
		assert_string_equal(buf_str(&shot.output), i ? refused : "ENOTTY\n");
		shot_clear(&shot);
	}
	unlink(path.data);
	buf_release(&path);
}

/* What the attack says with device files is what it says without, but for the lines in `permitted`. */
static void __attribute__((unused))
check_attack_with_devices(const char *attack, const char *const *permitted)
{
	static const char *const devices[] = { "/dev/zero", NULL };
	struct shot without, with;
	char *more, *less, *a, *b;

	shot_load(&without, attack, NULL);
	shot_fire(&without);
	shot_load(&with, attack, NULL);
	with.job.devices = devices;
	shot_fire(&with);
	assert_true(!without.failed && !with.failed && without.output.len > 4);
	a = strtok_r(without.output.data, "\n", &less);
	b = strtok_r(with.output.data, "\n", &more);
	for (; a && b; a = strtok_r(NULL, "\n", &less), b = strtok_r(NULL, "\n", &more)) {
		if (*permitted && !strcmp(b, *permitted)) {
			assert_string_not_equal(a, b);
			permitted++;
		} else {
			assert_string_equal(a, b);
		}
	}
	assert_true(!a && !b && !*permitted);
	shot_clear(&without);
	shot_clear(&with);
}

#endif
