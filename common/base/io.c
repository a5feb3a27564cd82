/* Lines in, checked bytes out. In: paths. Out: lines; files that appear whole or not at all.
 * Codecs are registered from above, so that this layer needs nothing but libc. */
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"
#include "base/num.h"

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
	char *path, *temporary;		/* NULL: standard output; no temporary: a device, a pipe, an open descriptor */
	int fd;
	const struct io_codec *codec;
	void *state;
	struct buf error;
	struct buf pending;
	struct io_out *next;		/* among the open ones */
};

/* Outputs that are open, so that a program that ends early takes its temporary files with it. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct io_out *open_outs;
static pid_t owner;

static void
remove_temporaries(void)
{
	/* A forked child must not take its parent's. */
	if (getpid() != owner)
		return;
	pthread_mutex_lock(&open_lock);
	for (struct io_out *out = open_outs; out; out = out->next)
		if (out->temporary)
			unlink(out->temporary);
	pthread_mutex_unlock(&open_lock);
}

static void
add_open(struct io_out *out)
{
	pthread_mutex_lock(&open_lock);
	if (!owner) {
		owner = getpid();
		atexit(remove_temporaries);
	}
	out->next = open_outs;
	open_outs = out;
	pthread_mutex_unlock(&open_lock);
}

static void
remove_open(const struct io_out *out)
{
	pthread_mutex_lock(&open_lock);
	for (struct io_out **at = &open_outs; *at; at = &(*at)->next) {
		if (*at == out) {
			*at = out->next;
			break;
		}
	}
	pthread_mutex_unlock(&open_lock);
}

/* The number that names of descriptors stand for, or -1. */
static int
named_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t number;

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return 1;
	if (!strcmp(path, "/dev/stderr"))
		return 2;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t length = strlen(folders[i]);

		if (!strncmp(path, folders[i], length) && num_u64(path + length, 0, INT32_MAX, &number) == 0)
			return (int)number;
	}
	return -1;
}

bool
io_take_over(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool taken = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0
		&& unlinkat(folder, name, 0) == 0;

	if (fd >= 0)
		close(fd);
	return taken;
}

bool
io_own(int fd)
{
	struct stat status;

	/* Where there are no locks, nothing can be taken over either. */
	return flock(fd, LOCK_EX) != 0 || fstat(fd, &status) != 0 || status.st_nlink > 0;
}

/* Removes what killed runs left: PATH.tmp.PID that nobody holds. */
static void
sweep_temporaries(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *folder = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	size_t length = strlen(base);
	DIR *entries = opendir(folder);
	uint64_t pid;

	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (!strncmp(entry->d_name, base, length) && !strncmp(entry->d_name + length, ".tmp.", 5)
				&& num_u64(entry->d_name + length + 5, 1, INT32_MAX, &pid) == 0)
			io_take_over(dirfd(entries), entry->d_name);
	if (entries)
		closedir(entries);
	free(folder);
}

/* Beside the file itself where `path` is a link to one: a rename would replace the link. */
static void
open_temporary(struct io_out *out, const char *path)
{
	struct buf name = BUF_INIT;
	struct stat status;
	char *real = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? realpath(path, NULL) : NULL;

	out->path = xstrdup(real ? real : path);
	free(real);
	sweep_temporaries(out->path);
	buf_addf(&name, "%s.tmp.%ld", out->path, (long)getpid());
	out->temporary = buf_detach(&name);
	do {
		if (out->fd >= 0)
			close(out->fd);
		out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (out->fd >= 0 && !io_own(out->fd));
	if (out->fd < 0 && errno == EEXIST)
		errno = EBUSY;	/* two outputs of this process have one name */
}

struct io_out *
io_open_out(const char *path, struct buf *err)
{
	struct io_out *out = xcalloc(1, sizeof *out);
	int descriptor = named_descriptor(path);
	struct stat status;

	out->fd = -1;
	if (descriptor >= 0) {
		out->path = descriptor == 1 ? NULL : xstrdup(path);
		out->fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	} else if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		/* A device or a pipe must be written to; a rename would replace /dev/null itself. */
		out->path = xstrdup(path);
		out->fd = open(path, O_WRONLY | O_CLOEXEC);
		out->codec = codec_for(path);
	} else {
		open_temporary(out, path);
		out->codec = codec_for(path);
	}
	if (out->fd < 0) {
		buf_err(err, "%s: cannot create: %s", path, errno == EBUSY ? "it is being written to already" :
			strerror(errno));
		free(out->path);
		free(out->temporary);
		free(out);
		return NULL;
	}
	add_open(out);
	if (out->codec && !(out->state = out->codec->open_write(out->fd, err))) {
		io_abandon(out);
		return NULL;
	}
	return out;
}

int
io_write_fd(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t done = write(fd, at, count);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		count -= (size_t)done;
	}
	return 0;
}

int
io_send_fd(int socket, const void *bytes, size_t count)
{
	for (const char *at = bytes; count;) {
		ssize_t sent = send(socket, at, count, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		at += sent;
		count -= (size_t)sent;
	}
	return 0;
}

int
io_read_fd(int fd, void *into, size_t count)
{
	for (size_t done = 0; done < count;) {
		errno = 0;
		ssize_t got = read(fd, (char *)into + done, count - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static void
write_all(struct io_out *out, const char *bytes, size_t count)
{
	if (out->error.len || io_write_fd(out->fd, bytes, count) == 0)
		return;
	if (errno == EPIPE && !out->temporary) {
		remove_temporaries();
		_exit(128 + SIGPIPE);
	}
	buf_err(&out->error, "%s: %s", out->path ? out->path : "standard output", strerror(errno));
}

static void
flush_pending(struct io_out *out)
{
	write_all(out, buf_str(&out->pending), out->pending.len);
	buf_reset(&out->pending);
}

static void
codec_failed(struct io_out *out, const struct buf *why)
{
	if (!out->error.len)
		buf_err(&out->error, "%s: %s", out->path, why->len ? buf_str(why) : "write error");
}

void
io_write(struct io_out *out, const void *bytes, size_t count)
{
	if (out->error.len)
		return;
	if (out->state) {
		struct buf why = BUF_INIT;

		if (out->codec->write(out->state, bytes, count, &why))
			codec_failed(out, &why);
		buf_release(&why);
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
	remove_open(out);
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

	struct buf why = BUF_INIT;

	out->state = NULL;
	if (state && out->codec->close_write(state, &why))
		codec_failed(out, &why);
	buf_release(&why);
	flush_pending(out);
	if (!out->error.len && out->temporary && fsync(out->fd))
		buf_err(&out->error, "%s: %s", out->path, strerror(errno));
	/* Renamed while it is locked, so that nobody takes it for a leftover; fsync has told of all errors. */
	if (!out->error.len && out->temporary && rename(out->temporary, out->path))
		buf_err(&out->error, "%s: cannot rename into place: %s", out->path, strerror(errno));
	if (close(out->fd) && !out->error.len && !out->temporary)
		buf_err(&out->error, "%s: %s", out->path ? out->path : "standard output", strerror(errno));
	out->fd = -1;
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
