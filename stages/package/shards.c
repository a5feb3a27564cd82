/* Lines come in, in their final order; files and their hashes go out. The hard idea: a shard is cut by what it
 * holds and not by who wrote it, so the same rows give the same files however many processes made them. */
#include "shards.h"

#include "base/io.h"
#include "hash/sha256.h"

enum { MAX_FILE_BYTES = 1 << 30 };

static const char *const splits[] = { "train", "validation", "test" };

static void
add_entry(json_t *files, const char *path, const char *config, const char *split, const struct buf *file,
	const struct buf *content, json_t *records)
{
	char file_hash[SHA256_HEX], content_hash[SHA256_HEX];

	sha256_hex(buf_str(file), file->len, file_hash);
	sha256_hex(buf_str(content), content->len, content_hash);
	json_array_append_new(files, json_pack("{s:s, s:I, s:s, s:o, s:I, s:s, s:s?, s:s?}", "path", path,
		"bytes",
		(json_int_t)file->len, "sha256", file_hash, "records", records, "content_bytes",
		(json_int_t)content->len,
		"content_sha256", content_hash, "config", config, "split", split));
}

static int
write_file(const char *path, const struct buf *content, struct buf *written, struct buf *err)
{
	struct io_out *out = io_open_out(path, err);

	if (!out)
		return -1;
	io_write(out, buf_str(content), content->len);
	if (io_commit(out, err) < 0)
		return -1;
	return buf_read_file(written, path, MAX_FILE_BYTES, err);
}

static json_int_t
count_lines(const struct buf *text)
{
	json_int_t count = 0;

	for (const char *p = buf_str(text); (p = strchr(p, '\n')); p++)
		count++;
	return count;
}

static int
write_shard(const char *dir, const char *config, const char *split, size_t number, size_t count,
	const struct buf *content, json_t *files, struct buf *err)
{
	struct buf name = BUF_INIT, path = BUF_INIT, written = BUF_INIT;
	int status;

	buf_addf(&name, "%s/%s-%05zu-of-%05zu.jsonl.zst", config, split, number, count);
	buf_addf(&path, "%s/%s", dir, name.data);
	status = write_file(path.data, content, &written, err);
	if (status == 0)
		add_entry(files, name.data, config, split, &written, content,
			json_integer(count_lines(content)));
	buf_release(&name);
	buf_release(&path);
	buf_release(&written);
	return status;
}

/* Lines of a split in shards; a row is never cut. */
struct cutter {
	const char *dir, *config, *split;
	uint64_t max_bytes;
	size_t total, number;		/* shards in all (0: still counting), and the present one */
	struct buf content;
	json_t *files;
};

static int
end_shard(struct cutter *c, struct buf *err)
{
	int status = 0;

	if (!c->content.len)
		return 0;
	if (c->total)
		status = write_shard(c->dir, c->config, c->split, c->number, c->total, &c->content, c->files,
			err);
	buf_reset(&c->content);
	c->number++;
	return status;
}

static int
add_lines(struct cutter *c, const struct buf *lines, struct buf *err)
{
	for (const char *line = buf_str(lines), *end; (end = strchr(line, '\n')); line = end + 1) {
		buf_add(&c->content, line, (size_t)(end + 1 - line));
		if (c->content.len >= c->max_bytes && end_shard(c, err) < 0)
			return -1;
	}
	return 0;
}

static int
cut(struct cutter *c, const struct shard_rows *rows, size_t count, struct buf *err)
{
	c->number = 0;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(rows[i].split, c->split) && add_lines(c, rows[i].lines, err) < 0)
			return -1;
	return end_shard(c, err);
}

int
shards_write(const char *dir, const char *config, const struct shard_rows *rows, size_t count,
	uint64_t max_bytes,
	json_t *files, struct buf *err)
{
	struct buf folder = BUF_INIT;
	int status;

	buf_addf(&folder, "%s/%s", dir, config);
	status = io_make_dirs(folder.data, err);
	for (size_t i = 0; i < sizeof splits / sizeof *splits && status == 0; i++) {
		struct cutter c = { .dir = dir, .config = config, .split = splits[i], .max_bytes = max_bytes,
			.files = files };

		/* The name of the first shard says how many there are, so they are counted before any is
		 * written. */
		status = cut(&c, rows, count, err);
		c.total = c.number;
		if (status == 0 && c.total)
			status = cut(&c, rows, count, err);
		buf_release(&c.content);
	}
	buf_release(&folder);
	return status;
}

int
shards_write_plain(const char *dir, const char *name, const struct buf *text, json_t *files, struct buf *err)
{
	struct buf path = BUF_INIT, written = BUF_INIT;
	int status;

	buf_addf(&path, "%s/%s", dir, name);
	status = write_file(path.data, text, &written, err);
	if (status == 0)
		add_entry(files, name, NULL, NULL, &written, text, json_null());
	buf_release(&path);
	buf_release(&written);
	return status;
}
