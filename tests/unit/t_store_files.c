/* The work store: what is put comes back, many writers agree, hostile names stay out, and the journal
 * keeps whole lines under many processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "store/store.h"

enum { WRITERS = 6, PUTS = 40 };

static char *folder;

static int
set_up(void **state)
{
	(void)state;
	folder = io_temp_dir("t_store", NULL);
	return folder ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	io_remove_tree(folder, NULL);
	free(folder);
	return 0;
}

static struct store *
opened(void)
{
	struct buf err = BUF_INIT;
	struct store *s = store_open(folder, &err);

	if (!s)
		fail_msg("%s", buf_str(&err));
	return s;
}

static void
test_put_and_get(void **state)
{
	struct store *s = opened();
	struct buf out = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(store_get(s, "answers", "abcdef", &out, &err), 0);
	assert_int_equal(store_put(s, "answers", "abcdef", "first", 5, &err), 0);
	assert_int_equal(store_get(s, "answers", "abcdef", &out, &err), 1);
	assert_string_equal(buf_str(&out), "first");
	assert_int_equal(store_put(s, "answers", "abcdef", "second", 6, &err), 0);
	buf_reset(&out);
	assert_int_equal(store_get(s, "answers", "abcdef", &out, &err), 1);
	assert_string_equal(buf_str(&out), "first");
	assert_int_equal(store_get(s, "evaluations", "abcdef", &out, &err), 0);
	assert_int_equal(store_put(s, "answers", "abc000", "", 0, &err), 0);
	buf_reset(&out);
	assert_int_equal(store_get(s, "answers", "abc000", &out, &err), 1);
	assert_int_equal(out.len, 0);
	buf_release(&out);
	store_close(s);
}

static void
test_names_cannot_leave_the_store(void **state)
{
	static const char *const bad[][2] = {
		{ "..", "abcdef" }, { "answers/x", "abcdef" }, { "", "abcdef" }, { "tmp", "abcdef" },
			{ "answers", "" },
		{ "answers", "ab" }, { "answers", "../../etc/passwd" }, { "answers", "ABCDEF" }, { "answers",
		"ab/cdef" },
	};
	struct store *s = opened();
	struct buf err = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(store_put(s, bad[i][0], bad[i][1], "x", 1, &err), -1);
		assert_int_equal(store_get(s, bad[i][0], bad[i][1], &out, &err), -1);
	}
	assert_int_equal(store_journal(s, "asked twice", "abc", &err), -1);
	assert_int_equal(store_journal(s, "asked", "a b", &err), -1);
	assert_int_equal(store_journal(s, "asked", "a\nb", &err), -1);
	buf_release(&err);
	store_close(s);
}

/* Cut anywhere, or with any byte changed, a file is damaged; removed, it can be made again. */
static void
test_damage(void **state)
{
	static const char text[] = "an evaluation";
	struct store *s = opened();
	struct buf out = BUF_INIT, err = BUF_INIT, file = BUF_INIT;
	char path[600];
	bool added;

	(void)state;
	snprintf(path, sizeof path, "%s/evaluations/da/da0123", folder);
	assert_int_equal(store_add(s, "evaluations", "da0123", text, sizeof text - 1, &added, &err), 0);
	assert_true(added);
	assert_int_equal(store_add(s, "evaluations", "da0123", text, sizeof text - 1, &added, &err), 0);
	assert_false(added);
	assert_int_equal(buf_read_file(&file, path, 1000, &err), 0);
	for (size_t i = 0; i < 2 * file.len; i++) {
		struct buf bad = BUF_INIT;

		buf_add(&bad, file.data, i < file.len ? i : file.len);
		if (i >= file.len)
			bad.data[i - file.len] ^= 1;
		assert_int_equal(io_write_file(path, buf_str(&bad), bad.len, &err), 0);
		buf_reset(&err);
		buf_reset(&out);
		buf_adds(&out, "before");
		assert_int_equal(store_get(s, "evaluations", "da0123", &out, &err), STORE_DAMAGED);
		assert_non_null(strstr(buf_str(&err), "da0123 is damaged"));
		assert_int_equal(out.len, 6);
		buf_release(&bad);
	}
	assert_int_equal(store_remove(s, "evaluations", "da0123", &err), 0);
	assert_int_equal(store_remove(s, "evaluations", "da0123", &err), 0);
	assert_int_equal(store_add(s, "evaluations", "da0123", text, sizeof text - 1, &added, &err), 0);
	assert_true(added);
	buf_reset(&out);
	assert_int_equal(store_get(s, "evaluations", "da0123", &out, &err), 1);
	assert_string_equal(buf_str(&out), text);
	assert_int_equal(store_remove(s, "evaluations", "../da0123", &err), -1);
	buf_release(&out);
	buf_release(&err);
	buf_release(&file);
	store_close(s);
}

/* Opening takes away the temporary files of the dead, and of nobody else. */
static void
test_leftovers(void **state)
{
	char dead[600], living[600];
	struct buf err = BUF_INIT;

	(void)state;
	store_close(opened());
	snprintf(dead, sizeof dead, "%s/tmp/dead00", folder);
	snprintf(living, sizeof living, "%s/tmp/living", folder);
	assert_int_equal(io_write_file(dead, "x", 1, &err), 0);
	assert_int_equal(io_write_file(living, "x", 1, &err), 0);
	int fd = open(living, O_RDONLY);
	assert_true(io_own(fd));
	store_close(opened());
	assert_int_equal(access(dead, F_OK), -1);
	assert_int_equal(access(living, F_OK), 0);
	close(fd);
	store_close(opened());
	assert_int_equal(access(living, F_OK), -1);
}

/* Writers race for the same ids, each with the same content as the others, as identity demands. */
static void
write_many(void)
{
	struct store *s = store_open(folder, NULL);
	char id[40], text[20000];

	if (!s)
		_exit(1);
	for (int i = 0; i < PUTS; i++) {
		snprintf(id, sizeof id, "%032x", i);
		memset(text, 'a' + i % 26, sizeof text);
		if (store_put(s, "raced", id, text, sizeof text, NULL) < 0 || store_journal(s, "evaluated",
			id, NULL) < 0)
			_exit(1);
	}
	store_close(s);
	_exit(0);
}

static void
test_many_processes(void **state)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	struct store *s = opened();
	char path[600], id[40];
	int lines = 0;

	(void)state;
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0)
			write_many();
	for (int i = 0; i < WRITERS; i++) {
		int status;

		wait(&status);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < PUTS; i++) {
		snprintf(id, sizeof id, "%032x", i);
		buf_reset(&text);
		assert_int_equal(store_get(s, "raced", id, &text, &err), 1);
		assert_int_equal(text.len, 20000);
		for (size_t k = 0; k < text.len; k++)
			assert_int_equal(text.data[k], 'a' + i % 26);
	}
	snprintf(path, sizeof path, "%s/journal", folder);
	buf_reset(&text);
	assert_int_equal(buf_read_file(&text, path, 1 << 20, &err), 0);
	for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1, lines++)
		assert_int_equal(end - line, 10 + 32);
	assert_int_equal(lines, WRITERS * PUTS);
	snprintf(path, sizeof path, "%s/tmp", folder);
	assert_int_equal(rmdir(path), 0);	/* nothing was left in it */
	buf_release(&text);
	store_close(s);
}

static void
test_what_cannot_be_written_is_an_error(void **state)
{
	struct buf err = BUF_INIT;
	struct store *s = opened();
	char path[600];

	(void)state;
	assert_null(store_open("/dev/null/store", &err));
	assert_non_null(strstr(buf_str(&err), "/dev/null"));
	snprintf(path, sizeof path, "%s/tmp", folder);
	rmdir(path);
	buf_reset(&err);
	assert_int_equal(store_put(s, "answers", "fedcba", "x", 1, &err), -1);
	assert_non_null(strstr(buf_str(&err), "cannot write"));
	buf_release(&err);
	store_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_and_get),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_names_cannot_leave_the_store),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_what_cannot_be_written_is_an_error),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
