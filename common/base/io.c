/* Lines in, checked bytes out. In: paths. Out: lines; files that appear whole or not at all.
 * Codecs are registered from above, so that this layer needs nothing but libc. */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"

enum { MAX_CODECS = 4, CHUNK_BYTES = 1 << 18, LONG_LINE_HEAD = 4096 };

static const struct io_codec *codecs[MAX_CODECS];

void
io_register(const struct io_codec *codec)
{
	for (int i = 0; i < MAX_CODECS; i++) {
		if (codecs[i] == codec)
			return;
		if (!codecs[i]) {
			codecs[i] = codec;
			return;
		}
	}
}

static const struct io_codec *
codec_for(const char *path)
{
	size_t length = strlen(path);

	for (int i = 0; i < MAX_CODECS && codecs[i]; i++) {
		size_t suffix = strlen(codecs[i]->suffix);
		if (length > suffix && !strcmp(path + length - suffix, codecs[i]->suffix))
			return codecs[i];
	}
	return NULL;
}

/* ---- input */

struct io_in {
	char *name;
	int fd;
	const struct io_codec *codec;
	void *state;
	uint64_t line;
	size_t start, end;
	bool at_end;
	char chunk[CHUNK_BYTES];
};

struct io_in *
io_open_in(const char *path, struct buf *err)
{
	struct io_in *in = xcalloc(1, sizeof *in);
	struct stat status;
	bool standard = !strcmp(path, "-");

	in->fd = standard ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
	in->name = xstrdup(standard ? "standard input" : path);
	if (in->fd < 0) {
		buf_err(err, "%s: %s", in->name, strerror(errno));
		goto fail;
	}
	if (fstat(in->fd, &status) == 0 && S_ISDIR(status.st_mode)) {
		buf_err(err, "%s: is a folder, not a file", in->name);
		goto fail;
	}
	in->codec = codec_for(path);
	if (in->codec && !(in->state = in->codec->open_read(in->fd, err)))
		goto fail;
	return in;
fail:
	if (in->fd >= 0)
		close(in->fd);
	free(in->name);
	free(in);
	return NULL;
}

static long
read_some(struct io_in *in, char *bytes, size_t size, struct buf *err)
{
	if (in->state)
		return in->codec->read(in->state, bytes, size, err);
	for (;;) {
		ssize_t got = read(in->fd, bytes, size);
		if (got >= 0)
			return got;
		if (errno != EINTR)
			return buf_err(err, "%s: %s", in->name, strerror(errno));
	}
}

/* Makes bytes available; 1, 0 at the end, -1 on errors. */
static int
fill(struct io_in *in, struct buf *err)
{
	if (in->start < in->end)
		return 1;
	if (in->at_end)
		return 0;
	long got = read_some(in, in->chunk, CHUNK_BYTES, err);
	if (got < 0)
		return -1;
	in->start = 0;
	in->end = (size_t)got;
	in->at_end = got == 0;
	return got > 0;
}

enum io_line
io_read_line(struct io_in *in, struct buf *line, size_t max_bytes, struct buf *err)
{
	bool too_long = false;
	size_t total = 0;

	buf_reset(line);
	for (;;) {
		int more = fill(in, err);
		if (more < 0)
			return IO_ERROR;
		if (more == 0) {
			if (total == 0)
				return IO_EOF;
			in->line++;
			return too_long ? IO_TOO_LONG : IO_TRUNCATED;
		}
		char *from = in->chunk + in->start;
		char *newline = memchr(from, '\n', in->end - in->start);
		size_t count = newline ? (size_t)(newline - from) : in->end - in->start;

		total += count + (newline != NULL);
		in->start += count + (newline != NULL);
		if (!too_long && line->len + count > max_bytes) {
			too_long = true;
			if (line->len < LONG_LINE_HEAD)
				buf_add(line, from, count < LONG_LINE_HEAD ? count : LONG_LINE_HEAD);
			if (line->len > LONG_LINE_HEAD)
				line->len = LONG_LINE_HEAD;
			line->data[line->len] = 0;
		} else if (!too_long) {
			buf_add(line, from, count);
		}
		if (newline) {
			in->line++;
			return too_long ? IO_TOO_LONG : IO_LINE;
		}
	}
}

const char *
io_name(const struct io_in *in)
{
	return in->name;
}

uint64_t
io_line_number(const struct io_in *in)
{
	return in->line;
}

void
io_close_in(struct io_in *in)
{
	if (!in)
		return;
	if (in->state)
		in->codec->close_read(in->state);
	close(in->fd);
	free(in->name);
	free(in);
}

/* ---- output */

struct io_out {
	char *path, *temporary;		/* NULL: standard output; no temporary: a device or a pipe */
	int fd;
	const struct io_codec *codec;
	void *state;
	struct buf error;
	struct buf pending;
};

struct io_out *
io_open_out(const char *path, struct buf *err)
{
	struct io_out *out = xcalloc(1, sizeof *out);
	struct buf name = BUF_INIT;
	struct stat status;

	if (!strcmp(path, "-")) {
		out->fd = dup(1);
	} else if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		/* A device or a pipe must be written to; a rename would replace /dev/null itself. */
		out->path = xstrdup(path);
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		out->codec = codec_for(path);
	} else {
		buf_addf(&name, "%s.tmp.%ld", path, (long)getpid());
		out->path = xstrdup(path);
		out->temporary = buf_detach(&name);
		out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
		out->codec = codec_for(path);
	}
	if (out->fd < 0) {
		buf_err(err, "%s: cannot create: %s", path, strerror(errno));
		free(out->path);
		free(out->temporary);
		free(out);
		return NULL;
	}
	if (out->codec && !(out->state = out->codec->open_write(out->fd, err))) {
		io_abandon(out);
		return NULL;
	}
	return out;
}

static void
write_all(struct io_out *out, const char *bytes, size_t count)
{
	while (count > 0 && !out->error.len) {
		ssize_t done = write(out->fd, bytes, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EPIPE && !out->temporary)
			_exit(128 + SIGPIPE);
		if (done < 0) {
			buf_err(&out->error, "%s: %s", out->path ? out->path : "standard output", strerror(errno));
			return;
		}
		bytes += done;
		count -= (size_t)done;
	}
}

static void
flush_pending(struct io_out *out)
{
	write_all(out, buf_str(&out->pending), out->pending.len);
	buf_reset(&out->pending);
}

void
io_write(struct io_out *out, const void *bytes, size_t count)
{
	if (out->error.len)
		return;
	if (out->state) {
		if (out->codec->write(out->state, bytes, count, &out->error) && !out->error.len)
			buf_adds(&out->error, "write error");
		return;
	}
	buf_add(&out->pending, bytes, count);
	if (out->pending.len >= CHUNK_BYTES)
		flush_pending(out);
}

bool
io_failed(const struct io_out *out)
{
	return out->error.len > 0;
}

static void
free_out(struct io_out *out)
{
	if (out->fd >= 0)
		close(out->fd);
	buf_release(&out->pending);
	buf_release(&out->error);
	free(out->path);
	free(out->temporary);
	free(out);
}

static void
sync_folder(const char *path)
{
	char *folder = xstrdup(path);
	char *slash = strrchr(folder, '/');

	if (slash)
		*slash = 0;
	int fd = open(slash ? (folder[0] ? folder : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(folder);
}

int
io_commit(struct io_out *out, struct buf *err)
{
	void *state = out->state;

	out->state = NULL;
	if (state && out->codec->close_write(state, &out->error) && !out->error.len)
		buf_adds(&out->error, "write error");
	flush_pending(out);
	if (!out->error.len && out->temporary && fsync(out->fd))
		buf_err(&out->error, "%s: %s", out->path, strerror(errno));
	if (close(out->fd) && !out->error.len)
		buf_err(&out->error, "%s: %s", out->path ? out->path : "standard output", strerror(errno));
	out->fd = -1;
	if (!out->error.len && out->temporary && rename(out->temporary, out->path))
		buf_err(&out->error, "%s: cannot rename into place: %s", out->path, strerror(errno));
	int status = 0;
	if (out->error.len) {
		if (out->temporary)
			unlink(out->temporary);
		status = buf_err(err, "%s", buf_str(&out->error));
	} else if (out->temporary) {
		sync_folder(out->path);
	}
	free_out(out);
	return status;
}

void
io_abandon(struct io_out *out)
{
	if (!out)
		return;
	struct buf ignored = BUF_INIT;
	if (out->state)
		out->codec->close_write(out->state, &ignored);
	buf_release(&ignored);
	if (out->temporary)
		unlink(out->temporary);
	free_out(out);
}

int
io_write_file(const char *path, const void *bytes, size_t count, struct buf *err)
{
	struct buf old = BUF_INIT, ignored = BUF_INIT;
	bool same = buf_read_file(&old, path, count, &ignored) == 0 && old.len == count
		&& !memcmp(buf_str(&old), bytes, count);

	buf_release(&old);
	buf_release(&ignored);
	if (same)
		return 0;
	struct io_out *out = io_open_out(path, err);
	if (!out)
		return -1;
	io_write(out, bytes, count);
	return io_commit(out, err);
}

int
io_make_dirs(const char *path, struct buf *err)
{
	char *copy = xstrdup(path);
	int status = 0;

	for (char *p = copy + 1; status == 0; p++) {
		if (*p && *p != '/')
			continue;
		char kept = *p;
		*p = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			status = buf_err(err, "%s: cannot create: %s", copy, strerror(errno));
		*p = kept;
		if (!kept)
			break;
	}
	free(copy);
	return status;
}

/* ---- folders: nftw is not safe from threads that remove different trees, so openat by hand */

static int
remove_at(int folder, const char *name)
{
	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	DIR *entries = fdopendir(fd);
	int status = 0;
	for (struct dirent *entry; status == 0 && (entry = readdir(entries));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			status = remove_at(fd, entry->d_name);
	int saved = errno;
	closedir(entries);
	errno = saved;
	return status ? status : unlinkat(folder, name, AT_REMOVEDIR);
}

int
io_remove_tree(const char *path, struct buf *err)
{
	if (remove_at(AT_FDCWD, path))
		return buf_err(err, "%s: cannot remove: %s", path, strerror(errno));
	return 0;
}

char *
io_temp_dir(const char *prefix, struct buf *err)
{
	const char *base = getenv("TMPDIR");
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/%s.XXXXXX", base && base[0] ? base : "/tmp", prefix);
	if (!mkdtemp(path.data)) {
		buf_err(err, "%s: cannot create: %s", path.data, strerror(errno));
		buf_release(&path);
		return NULL;
	}
	return buf_detach(&path);
}
