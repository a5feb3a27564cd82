/* The ".zst" codec: round trips, frames one after the other, and every way for a file to be cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "zst/zst.h"

static char *folder;

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	zst_register();
	folder = io_temp_dir("t_zst", &err);
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

static const char *
path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void
write_lines(const char *name, int count)
{
	struct buf err = BUF_INIT;
	struct io_out *out = io_open_out(path_of(name), &err);

	assert_non_null(out);
	for (int i = 0; i < count; i++) {
		char line[64];

		io_write(out, line, (size_t)snprintf(line, sizeof line, "line %d of a file %u\n", i,
			(unsigned)i * 2654435761u));
	}
	assert_int_equal(io_commit(out, &err), 0);
}

static struct buf content;	/* of the last file that was counted */

/* Lines read until the end; *end gets how it ended. */
static int
count_lines(const char *path, enum io_line *end, struct buf *err)
{
	struct io_in *in = io_open_in(path, err);
	struct buf line = BUF_INIT;
	int count = 0;

	assert_non_null(in);
	buf_reset(&content);
	while ((*end = io_read_line(in, &line, 1000, err)) == IO_LINE) {
		buf_add(&content, line.data, line.len);
		buf_addc(&content, '\n');
		count++;
	}
	io_close_in(in);
	buf_release(&line);
	return count;
}

static void
test_round_trip(void **state)
{
	struct buf err = BUF_INIT;
	enum io_line end;

	(void)state;
	for (int count = 0; count < 100000; count = count * 7 + 1) {
		write_lines("a.zst", count);
		assert_int_equal(count_lines(path_of("a.zst"), &end, &err), count);
		assert_int_equal(end, IO_EOF);
	}
}

static void
test_equal_content_gives_equal_bytes(void **state)
{
	struct buf a = BUF_INIT, b = BUF_INIT, err = BUF_INIT;
	struct io_out *out;

	(void)state;
	write_lines("a.zst", 5000);
	assert_int_equal(buf_read_file(&a, path_of("a.zst"), 1 << 20, &err), 0);
	/* The same text in one piece: the cuts between writes must not show. */
	struct io_in *in = io_open_in(path_of("a.zst"), &err);
	struct buf line = BUF_INIT, text = BUF_INIT;
	while (io_read_line(in, &line, 1000, &err) == IO_LINE) {
		buf_add(&text, line.data, line.len);
		buf_addc(&text, '\n');
	}
	io_close_in(in);
	out = io_open_out(path_of("b.zst"), &err);
	io_write(out, text.data, text.len);
	assert_int_equal(io_commit(out, &err), 0);
	assert_int_equal(buf_read_file(&b, path_of("b.zst"), 1 << 20, &err), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_release(&a);
	buf_release(&b);
	buf_release(&line);
	buf_release(&text);
}

static void
save(const char *name, const char *bytes, size_t count)
{
	FILE *f = fopen(path_of(name), "w");

	assert_int_equal(fwrite(bytes, 1, count, f), count);
	fclose(f);
}

static void
test_frames_follow_one_another(void **state)
{
	struct buf bytes = BUF_INIT, err = BUF_INIT;
	enum io_line end;

	(void)state;
	write_lines("a.zst", 10);
	for (int i = 0; i < 3; i++)
		assert_int_equal(buf_read_file(&bytes, path_of("a.zst"), 1 << 20, &err), 0);
	save("c.zst", bytes.data, bytes.len);
	assert_int_equal(count_lines(path_of("c.zst"), &end, &err), 30);
	assert_int_equal(end, IO_EOF);
	buf_release(&bytes);
}

static void
test_every_cut_is_an_error(void **state)
{
	struct buf bytes = BUF_INIT, err = BUF_INIT;
	enum io_line end;

	(void)state;
	write_lines("a.zst", 40);
	assert_int_equal(buf_read_file(&bytes, path_of("a.zst"), 1 << 20, &err), 0);
	for (size_t length = 0; length < bytes.len; length++) {
		save("cut.zst", bytes.data, length);
		buf_reset(&err);
		count_lines(path_of("cut.zst"), &end, &err);
		if (end != IO_ERROR || !strstr(buf_str(&err), "cut"))
			fail_msg("%zu of %zu bytes: %d %s", length, bytes.len, end, buf_str(&err));
	}
	buf_release(&bytes);
	buf_release(&err);
}

static void
test_damage_is_an_error(void **state)
{
	struct buf bytes = BUF_INIT, err = BUF_INIT, whole = BUF_INIT;
	enum io_line end;

	(void)state;
	write_lines("a.zst", 40);
	assert_int_equal(buf_read_file(&bytes, path_of("a.zst"), 1 << 20, &err), 0);
	assert_int_equal(count_lines(path_of("a.zst"), &end, &err), 40);
	buf_add(&whole, content.data, content.len);
	for (size_t at = 0; at < bytes.len; at++) {
		char kept = bytes.data[at];

		bytes.data[at] = (char)(kept ^ 0x40);
		save("bad.zst", bytes.data, bytes.len);
		bytes.data[at] = kept;
		buf_reset(&err);
		count_lines(path_of("bad.zst"), &end, &err);
		/* Some bits mean nothing: then the content is what it was. */
		if (end != IO_ERROR && (content.len != whole.len || memcmp(content.data, whole.data,
			whole.len)))
			fail_msg("byte %zu flipped: not seen", at);
	}
	save("text.zst", "{\"a\":1}\n", 8);
	buf_reset(&err);
	count_lines(path_of("text.zst"), &end, &err);
	assert_int_equal(end, IO_ERROR);
	buf_add(&bytes, "junk", 4);
	buf_release(&whole);
	save("tail.zst", bytes.data, bytes.len);
	count_lines(path_of("tail.zst"), &end, &err);
	assert_int_equal(end, IO_ERROR);
	buf_release(&bytes);
	buf_release(&err);
}

static void
test_a_link_in_place_of_the_file_is_refused(void **state)
{
	struct buf err = BUF_INIT;
	char link[600];

	(void)state;
	/* /dev/full under the temporary's name. */
	struct io_out *out;
	snprintf(link, sizeof link, "%s.tmp.%ld", path_of("full.zst"), (long)getpid());
	assert_int_equal(symlink("/dev/full", link), 0);
	out = io_open_out(path_of("full.zst"), &err);
	/* Links are not followed when a file is created; then the refusal is the right answer. */
	assert_null(out);
	assert_non_null(strstr(buf_str(&err), "cannot create"));
	unlink(link);
	buf_release(&err);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_equal_content_gives_equal_bytes),
		cmocka_unit_test(test_frames_follow_one_another),
		cmocka_unit_test(test_every_cut_is_an_error),
		cmocka_unit_test(test_damage_is_an_error),
		cmocka_unit_test(test_a_link_in_place_of_the_file_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
