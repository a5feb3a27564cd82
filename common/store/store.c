/* The work store: bytes come in under (kind, id), and the same bytes come back, for any number of
 * processes. The hard idea: a file is written whole under a private name, synced, and then linked to
 * its place; a link never replaces, so whoever comes second changes nothing and nobody sees half a file. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#include "base/die.h"
#include "base/io.h"

enum { MAX_KIND = 32, MAX_ID = 128, STALE_SECONDS = 24 * 3600 };
#define MAX_FILE_BYTES ((size_t)1 << 30)

struct store {
	char *directory;
	int journal_fd;
};

/* Leftovers of killed processes; a day is far beyond the time that a put takes. */
static void
sweep_temporaries(const char *directory)
{
	struct buf path = BUF_INIT;
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct stat st;

		buf_reset(&path);
		buf_addf(&path, "%s/%s", directory, entry->d_name);
		if (entry->d_name[0] != '.' && lstat(path.data, &st) == 0 && S_ISREG(st.st_mode) &&
		    time(NULL) - st.st_mtime > STALE_SECONDS)
			unlink(path.data);
	}
	if (dir)
		closedir(dir);
	buf_release(&path);
}

struct store *
store_open(const char *directory, struct buf *err)
{
	struct store *s = xcalloc(1, sizeof *s);
	struct buf path = BUF_INIT;

	s->directory = xstrdup(directory);
	s->journal_fd = -1;
	buf_addf(&path, "%s/tmp", directory);
	if (io_make_dirs(path.data, err) < 0)
		goto fail;
	sweep_temporaries(path.data);
	buf_reset(&path);
	buf_addf(&path, "%s/journal", directory);
	s->journal_fd = open(path.data, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (s->journal_fd < 0) {
		buf_err(err, "cannot open %s: %s", path.data, strerror(errno));
		goto fail;
	}
	buf_release(&path);
	return s;
fail:
	buf_release(&path);
	store_close(s);
	return NULL;
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	if (s->journal_fd >= 0)
		close(s->journal_fd);
	free(s->directory);
	free(s);
}

static bool
is_word(const char *text, size_t max)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");

	return length > 0 && length <= max && !text[length];
}

/* Names become paths, so nothing but these characters may pass. */
static int
check_names(const char *kind, const char *id, struct buf *err)
{
	size_t length = strspn(id, "0123456789abcdef");

	if (!is_word(kind, MAX_KIND) || !strcmp(kind, "tmp"))
		return buf_err(err, "\"%.40s\" is not a kind of thing in the store", kind);
	if (length < 3 || length > MAX_ID || id[length])
		return buf_err(err, "\"%.40s\" is not an id of lower-case hexadecimal digits", id);
	return 0;
}

static void
folder_path(const struct store *s, const char *kind, const char *id, struct buf *path)
{
	buf_addf(path, "%s/%s/%.2s", s->directory, kind, id);
}

int
store_get(struct store *s, const char *kind, const char *id, struct buf *out, struct buf *err)
{
	struct buf path = BUF_INIT;
	int status = -1;

	if (check_names(kind, id, err) < 0)
		return -1;
	folder_path(s, kind, id, &path);
	buf_addf(&path, "/%s", id);
	if (access(path.data, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		status = 0;
	else if (buf_read_file(out, path.data, MAX_FILE_BYTES, err) == 0)
		status = 1;
	buf_release(&path);
	return status;
}

/* A synced file under a name of its own in DIR/tmp. 0, or -1 with errno. */
static int
write_temporary(const struct store *s, const void *bytes, size_t count, struct buf *path)
{
	int fd, saved;

	buf_addf(path, "%s/tmp/XXXXXX", s->directory);
	fd = mkostemp(path->data, O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fchmod(fd, 0644) == 0 && io_write_fd(fd, bytes, count) == 0 && fsync(fd) == 0) {
		if (close(fd) == 0)
			return 0;
		fd = -1;
	}
	saved = errno;
	if (fd >= 0)
		close(fd);
	unlink(path->data);
	errno = saved;
	return -1;
}

static int
sync_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status;

	if (fd < 0)
		return -1;
	/* Some network file systems cannot sync a folder; they order these themselves. */
	status = fsync(fd) < 0 && errno != EINVAL ? -1 : 0;
	close(fd);
	return status;
}

int
store_put(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, struct buf *err)
{
	struct buf folder = BUF_INIT, final = BUF_INIT, temporary = BUF_INIT;
	int status = -1;

	if (check_names(kind, id, err) < 0)
		return -1;
	if (count > MAX_FILE_BYTES)
		return buf_err(err, "%zu bytes are too much for the store", count);
	folder_path(s, kind, id, &folder);
	buf_addf(&final, "%s/%s", folder.data, id);
	if (access(final.data, F_OK) == 0) {
		status = 0;
		goto out;
	}
	if (io_make_dirs(folder.data, err) < 0)
		goto out;
	if (write_temporary(s, bytes, count, &temporary) < 0) {
		buf_err(err, "cannot write %s: %s", final.data, strerror(errno));
		goto out;
	}
	status = link(temporary.data, final.data) == 0 || errno == EEXIST ? 0 :
		/* Without hard links a rename is as whole; it may replace equal bytes by equal bytes. */
		errno == EPERM || errno == EOPNOTSUPP ? rename(temporary.data, final.data) : -1;
	if (status < 0)
		buf_err(err, "cannot create %s: %s", final.data, strerror(errno));
	unlink(temporary.data);
	if (status == 0 && sync_folder(folder.data) < 0)
		status = buf_err(err, "cannot sync %s: %s", folder.data, strerror(errno));
out:
	buf_release(&folder);
	buf_release(&final);
	buf_release(&temporary);
	return status;
}

int
store_journal(struct store *s, const char *event, const char *id, struct buf *err)
{
	char line[MAX_KIND + MAX_ID + 3];
	int length;
	ssize_t done;

	if (!is_word(event, MAX_KIND) || strlen(id) > MAX_ID || !*id || id[strcspn(id, " \n")])
		return buf_err(err, "\"%.40s %.40s\" is not a journal entry", event, id);
	length = snprintf(line, sizeof line, "%s %s\n", event, id);
	/* One write with O_APPEND: lines of several processes never mix. */
	do
		done = write(s->journal_fd, line, (size_t)length);
	while (done < 0 && errno == EINTR);
	if (done != length)
		return buf_err(err, "cannot write %s/journal: %s", s->directory, done < 0 ? strerror(errno) :
			"short write");
	if (fsync(s->journal_fd) < 0)
		return buf_err(err, "cannot sync %s/journal: %s", s->directory, strerror(errno));
	return 0;
}
