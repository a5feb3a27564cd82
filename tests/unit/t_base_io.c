/* Lines in, files out whole or not at all, children within limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/spawn.h"

static char *folder;

static const char *
in_folder(const char *name)
{
	static struct buf path = BUF_INIT;

	buf_reset(&path);
	buf_addf(&path, "%s/%s", folder, name);
	return buf_str(&path);
}

static struct io_in *
open_text(const char *text, size_t length)
{
	struct buf err = BUF_INIT;

	assert_int_equal(io_write_file(in_folder("text"), text, length, &err), 0);
	struct io_in *in = io_open_in(in_folder("text"), &err);
	assert_non_null(in);
	return in;
}

static void
lines_keep_their_bytes(void **state)
{
	static const char text[] = "one\n\ntwo\0three\nlast";
	struct buf line = BUF_INIT, err = BUF_INIT;
	struct io_in *in = open_text(text, sizeof text - 1);

	(void)state;
	assert_int_equal(io_read_line(in, &line, 100, &err), IO_LINE);
	assert_string_equal(line.data, "one");
	assert_int_equal(io_read_line(in, &line, 100, &err), IO_LINE);
	assert_int_equal(line.len, 0);
	assert_int_equal(io_read_line(in, &line, 100, &err), IO_LINE);
	assert_int_equal(line.len, 9);
	assert_memory_equal(line.data, "two\0three", 9);
	assert_int_equal(io_read_line(in, &line, 100, &err), IO_TRUNCATED);
	assert_int_equal(io_line_number(in), 4);
	assert_int_equal(io_read_line(in, &line, 100, &err), IO_EOF);
	io_close_in(in);
	buf_release(&line);
}

static void
a_long_line_is_skipped_whole(void **state)
{
	struct buf text = BUF_INIT, line = BUF_INIT, err = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		buf_addc(&text, 'x');
	buf_adds(&text, "\nnext\n");
	struct io_in *in = open_text(text.data, text.len);
	assert_int_equal(io_read_line(in, &line, 500000, &err), IO_TOO_LONG);
	assert_int_equal(line.len, 4096);
	assert_int_equal(io_read_line(in, &line, 500000, &err), IO_LINE);
	assert_string_equal(line.data, "next");
	io_close_in(in);
	in = open_text(text.data, text.len);
	assert_int_equal(io_read_line(in, &line, 1000000, &err), IO_LINE);
	assert_int_equal(line.len, 1000000);
	io_close_in(in);
	buf_release(&text);
	buf_release(&line);
}

static void
a_folder_is_no_input(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	assert_null(io_open_in(folder, &err));
	assert_non_null(strstr(buf_str(&err), "is a folder"));
	buf_release(&err);
}

static void
output_appears_at_commit_only(void **state)
{
	struct buf err = BUF_INIT, content = BUF_INIT;
	struct io_out *out = io_open_out(in_folder("result"), &err);

	(void)state;
	io_write(out, "half", 4);
	assert_int_equal(access(in_folder("result"), F_OK), -1);
	io_abandon(out);
	assert_int_equal(access(in_folder("result"), F_OK), -1);
	out = io_open_out(in_folder("result"), &err);
	io_write(out, "whole", 5);
	assert_int_equal(io_commit(out, &err), 0);
	assert_int_equal(buf_read_file(&content, in_folder("result"), 100, &err), 0);
	assert_string_equal(buf_str(&content), "whole");
	buf_release(&content);
}

/* A writer that is killed leaves its temporary file; the next one takes it away, but not that of a living one. */
static void
leftovers_are_removed(void **state)
{
	struct buf err = BUF_INIT;
	struct stat status;

	(void)state;
	for (int killed = 0; killed < 2; killed++) {
		char *temporary;
		int ready[2];
		assert_int_equal(pipe(ready), 0);
		pid_t child = fork();
		if (!child) {
			io_open_out(in_folder("left"), NULL);
			if (write(ready[1], "", 1) == 1)
				pause();
			_exit(1);
		}
		assert_int_equal(read(ready[0], &(char){ 0 }, 1), 1);
		struct buf path = BUF_INIT;
		buf_addf(&path, "%s/left.tmp.%ld", folder, (long)child);
		temporary = buf_detach(&path);
		int made = stat(temporary, &status);
		if (killed) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
		}
		int wrote = io_write_file(in_folder("left"), killed ? "b" : "a", 1, &err), kept = stat(temporary, &status);
		if (!killed) {
			kill(child, SIGKILL);
			waitpid(child, NULL, 0);
			unlink(temporary);
		}
		assert_int_equal(made, 0);
		assert_int_equal(wrote, 0);
		assert_int_equal(kept, killed ? -1 : 0);
		free(temporary);
		close(ready[0]);
		close(ready[1]);
	}
	/* Names that are nearly ours are somebody else's. */
	assert_int_equal(io_write_file(in_folder("left.tmp.x1"), "x", 1, &err), 0);
	assert_int_equal(io_write_file(in_folder("leftover.tmp.1"), "x", 1, &err), 0);
	assert_int_equal(io_write_file(in_folder("left"), "c", 1, &err), 0);
	assert_int_equal(access(in_folder("left.tmp.x1"), F_OK), 0);
	assert_int_equal(access(in_folder("leftover.tmp.1"), F_OK), 0);
}

static void
links_and_descriptors_are_written_through(void **state)
{
	struct buf err = BUF_INIT, content = BUF_INIT, name = BUF_INIT;
	struct stat status;

	(void)state;
	assert_int_equal(io_write_file(in_folder("target"), "old", 3, &err), 0);
	char *link = strdup(in_folder("link"));
	assert_int_equal(symlink("target", link), 0);
	assert_int_equal(io_write_file(link, "new", 3, &err), 0);
	assert_int_equal(lstat(link, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(buf_read_file(&content, in_folder("target"), 100, &err), 0);
	assert_string_equal(buf_str(&content), "new");
	/* As a shell's >>FILE and -o /dev/fd/N: what stands in the file stays. */
	int fd = open(in_folder("target"), O_WRONLY | O_APPEND);
	buf_addf(&name, "/dev/fd/%d", fd);
	struct io_out *out = io_open_out(buf_str(&name), &err);
	assert_non_null(out);
	io_write(out, "er", 2);
	assert_int_equal(io_commit(out, &err), 0);
	close(fd);
	buf_reset(&content);
	assert_int_equal(buf_read_file(&content, in_folder("target"), 100, &err), 0);
	assert_string_equal(buf_str(&content), "newer");
	free(link);
	buf_release(&name);
	buf_release(&content);
}

static void
two_outputs_of_one_name_are_refused(void **state)
{
	struct buf err = BUF_INIT;
	struct io_out *out = io_open_out(in_folder("twice"), &err);

	(void)state;
	assert_null(io_open_out(in_folder("twice"), &err));
	assert_non_null(strstr(buf_str(&err), "twice: cannot create: it is being written to already"));
	io_abandon(out);
	buf_release(&err);
}

static void
an_unchanged_file_is_left_alone(void **state)
{
	struct buf err = BUF_INIT;
	struct stat before, after;

	(void)state;
	assert_int_equal(io_write_file(in_folder("same"), "abc", 3, &err), 0);
	stat(in_folder("same"), &before);
	assert_int_equal(io_write_file(in_folder("same"), "abc", 3, &err), 0);
	stat(in_folder("same"), &after);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(io_write_file(in_folder("same"), "abd", 3, &err), 0);
	stat(in_folder("same"), &after);
	assert_int_not_equal(before.st_ino, after.st_ino);
}

static void
a_full_disk_is_an_error(void **state)
{
	struct buf err = BUF_INIT;
	int saved = dup(1), full = open("/dev/full", O_WRONLY);

	(void)state;
	dup2(full, 1);
	struct io_out *out = io_open_out("-", &err);
	io_write(out, "x", 1);
	int status = io_commit(out, &err);
	dup2(saved, 1);
	close(saved);
	close(full);
	assert_int_equal(status, -1);
	assert_string_equal(buf_str(&err), "standard output: No space left on device");
	buf_release(&err);
}

static void
trees_are_removed_without_following_links(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(io_make_dirs(in_folder("tree/a/b"), &err), 0);
	assert_int_equal(io_write_file(in_folder("kept"), "k", 1, &err), 0);
	assert_int_equal(io_write_file(in_folder("tree/a/file"), "f", 1, &err), 0);
	char *link = strdup(in_folder("tree/a/link"));
	assert_int_equal(symlink("../../kept", link), 0);
	free(link);
	assert_int_equal(io_remove_tree(in_folder("tree"), &err), 0);
	assert_int_equal(access(in_folder("tree"), F_OK), -1);
	assert_int_equal(access(in_folder("kept"), F_OK), 0);
	assert_int_equal(io_remove_tree(in_folder("tree"), &err), 0);
}

/* ---- children */

static struct spawn_result
run_shell(const char *script, struct spawn how, struct buf *output)
{
	char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };
	struct spawn_result result;
	struct buf err = BUF_INIT;

	how.argv = argv;
	how.output = output;
	how.errors = output;
	assert_int_equal(spawn_run(&how, &result, &err), 0);
	buf_release(&err);
	return result;
}

static void
a_child_gives_status_and_output(void **state)
{
	struct buf output = BUF_INIT;
	struct spawn_result r = run_shell("cat; echo out; echo err >&2; exit 7",
		(struct spawn){ .input = "in\n", .input_bytes = 3 }, &output);

	(void)state;
	assert_int_equal(r.exit_status, 7);
	assert_int_equal(r.signal, 0);
	assert_non_null(strstr(output.data, "in\n"));
	assert_non_null(strstr(output.data, "out\n"));
	assert_non_null(strstr(output.data, "err\n"));
	buf_reset(&output);
	r = run_shell("kill -SEGV $$", (struct spawn){ .wall_ms = 0 }, &output);
	assert_int_equal(r.exit_status, -1);
	assert_int_equal(r.signal, SIGSEGV);
	buf_release(&output);
}

static void
time_ends_the_whole_group(void **state)
{
	struct buf output = BUF_INIT;
	struct spawn_result r = run_shell("sleep 100 & echo $!; wait", (struct spawn){ .wall_ms = 300 }, &output);
	pid_t left = (pid_t)strtol(output.data, NULL, 10);

	(void)state;
	assert_true(r.timed_out);
	assert_true(r.wall_ns < 5000000000u);
	assert_true(left > 1);
	for (int i = 0; i < 100 && kill(left, 0) == 0; i++)
		usleep(10000);
	/* A zombie whose parent died is reaped by init; a live one would still answer. */
	struct buf stat_text = BUF_INIT, path = BUF_INIT, err = BUF_INIT;
	buf_addf(&path, "/proc/%d/stat", (int)left);
	if (buf_read_file(&stat_text, path.data, 4096, &err) == 0)
		assert_non_null(strstr(stat_text.data, ") Z"));
	buf_release(&stat_text);
	buf_release(&path);
	buf_release(&err);
	buf_release(&output);
}

static void
output_is_capped(void **state)
{
	struct buf output = BUF_INIT;
	struct spawn_result r = run_shell("head -c 300000 /dev/zero", (struct spawn){ .output_max = 1000 }, &output);

	(void)state;
	assert_true(r.output_cut);
	assert_int_equal(output.len, 1000);
	assert_int_equal(r.exit_status, 0);
	buf_release(&output);
}

static void
a_child_inherits_no_descriptor_and_no_environment(void **state)
{
	struct buf output = BUF_INIT;
	int leak = open("/etc/passwd", O_RDONLY);

	(void)state;
	setenv("SECRET_KEY", "x", 1);
	run_shell("ls /proc/self/fd | wc -l; env | grep -c SECRET; true", (struct spawn){ .wall_ms = 0 }, &output);
	assert_string_equal(output.data, "4\n0\n");	/* 0, 1, 2 and the folder that ls reads */
	close(leak);
	buf_release(&output);
}

static void
a_missing_program_is_said(void **state)
{
	char *argv[] = { "/nowhere/prog", NULL };
	struct spawn how = { .argv = argv };
	struct spawn_result result;
	struct buf err = BUF_INIT;

	(void)state;
	assert_int_equal(spawn_run(&how, &result, &err), -1);
	assert_string_equal(buf_str(&err), "/nowhere/prog: cannot run: No such file or directory");
	buf_release(&err);
}

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	folder = io_temp_dir("km-test", &err);
	return folder ? 0 : -1;
}

static int
tear_down(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	return io_remove_tree(folder, &err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_keep_their_bytes), cmocka_unit_test(a_long_line_is_skipped_whole),
		cmocka_unit_test(a_folder_is_no_input), cmocka_unit_test(output_appears_at_commit_only),
		cmocka_unit_test(leftovers_are_removed), cmocka_unit_test(links_and_descriptors_are_written_through),
		cmocka_unit_test(two_outputs_of_one_name_are_refused),
		cmocka_unit_test(an_unchanged_file_is_left_alone), cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(trees_are_removed_without_following_links),
		cmocka_unit_test(a_child_gives_status_and_output), cmocka_unit_test(time_ends_the_whole_group),
		cmocka_unit_test(output_is_capped), cmocka_unit_test(a_child_inherits_no_descriptor_and_no_environment),
		cmocka_unit_test(a_missing_program_is_said),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
