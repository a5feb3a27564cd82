/* The work store: bytes come in under (kind, id), and the same bytes come back, for any number of
 * processes. The hard idea: a file is written whole under a private name, synced, and then linked to
 * its place; a link never replaces, so whoever comes second changes nothing and nobody sees half a file.
 * Each file ends with a line that holds a checksum of the rest, for disks and people do change files. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>
#include <dirent.h>

#include "base/die.h"
#include "base/io.h"
#include "hash/id.h"

enum { MAX_KIND = 32, MAX_ID = 128, SEAL_BYTES = HASH_ID_HEX + 1 };
#define MAX_FILE_BYTES ((size_t)1 << 30)

struct store {
	char *directory;
	int journal_fd;
};

/* Leftovers of killed processes. */
static void
sweep_temporaries(const char *directory)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			io_take_over(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
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

/* The last line of a file: a checksum of all before it. */
static void
seal(const void *bytes, size_t count, char line[SEAL_BYTES + 1])
{
	char id[HASH_ID_HEX];

	hash_id(bytes, count, id);
	snprintf(line, SEAL_BYTES + 1, "\n%s\n", id);
}

/* Takes the last line off what was read. -1 when it does not fit. */
static int
unseal(struct buf *out, size_t start)
{
	char line[SEAL_BYTES + 1];

	if (out->len - start < SEAL_BYTES)
		return -1;
	out->len -= SEAL_BYTES;
	seal(out->data + start, out->len - start, line);
	if (memcmp(out->data + out->len, line, SEAL_BYTES))
		return -1;
	out->data[out->len] = 0;
	return 0;
}

int
store_get(struct store *s, const char *kind, const char *id, struct buf *out, struct buf *err)
{
	struct buf path = BUF_INIT;
	size_t start = out->len;
	int status = -1;

	if (check_names(kind, id, err) < 0)
		return -1;
	folder_path(s, kind, id, &path);
	buf_addf(&path, "/%s", id);
	if (access(path.data, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		status = 0;
	else if (buf_read_file(out, path.data, MAX_FILE_BYTES, err) == 0)
		status = unseal(out, start) == 0 ? 1 : STORE_DAMAGED;
	if (status == STORE_DAMAGED) {
		out->len = start;
		buf_err(err, "%s is damaged: its last line is not the checksum of the rest; remove it, and it is made again",
			path.data);
	}
	buf_release(&path);
	return status;
}

int
store_remove(struct store *s, const char *kind, const char *id, struct buf *err)
{
	struct buf path = BUF_INIT;
	int status = check_names(kind, id, err);

	if (status == 0) {
		folder_path(s, kind, id, &path);
		buf_addf(&path, "/%s", id);
		if (unlink(path.data) < 0 && errno != ENOENT)
			status = buf_err(err, "cannot remove %s: %s", path.data, strerror(errno));
	}
	buf_release(&path);
	return status;
}

/* A file of its own in DIR/tmp, locked until the descriptor is closed. The descriptor, or -1 with errno. */
static int
open_temporary(const struct store *s, struct buf *path)
{
	int fd = -1;

	do {
		if (fd >= 0)
			close(fd);
		buf_reset(path);
		buf_addf(path, "%s/tmp/XXXXXX", s->directory);
		fd = mkostemp(path->data, O_CLOEXEC);
	} while (fd >= 0 && !io_own(fd));
	return fd;
}

static int
write_sealed(int fd, const void *bytes, size_t count)
{
	char line[SEAL_BYTES + 1];

	seal(bytes, count, line);
	return fchmod(fd, 0644) == 0 && io_write_fd(fd, bytes, count) == 0 && io_write_fd(fd, line, SEAL_BYTES) == 0
		&& fsync(fd) == 0 ? 0 : -1;
}

/* From its private name to its place. 0, 1 when another was there first, -1 with errno. */
static int
put_in_place(const char *temporary, const char *final)
{
	if (link(temporary, final) == 0)
		return 0;
	if (errno == EEXIST)
		return 1;
	/* Without hard links a rename is as whole; it may replace equal bytes by equal bytes. */
	return errno == EPERM || errno == EOPNOTSUPP ? rename(temporary, final) : -1;
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
store_add(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, bool *added,
	struct buf *err)
{
	struct buf folder = BUF_INIT, final = BUF_INIT, temporary = BUF_INIT;
	int status = -1, fd = -1;

	*added = false;
	if (check_names(kind, id, err) < 0)
		return -1;
	if (count > MAX_FILE_BYTES - SEAL_BYTES)
		return buf_err(err, "%zu bytes are too much for the store", count);
	folder_path(s, kind, id, &folder);
	buf_addf(&final, "%s/%s", folder.data, id);
	if (access(final.data, F_OK) == 0) {
		status = 0;
		goto out;
	}
	if (io_make_dirs(folder.data, err) < 0)
		goto out;
	fd = open_temporary(s, &temporary);
	if (fd < 0 || write_sealed(fd, bytes, count) < 0) {
		buf_err(err, "cannot write %s: %s", final.data, strerror(errno));
		goto out;
	}
	status = put_in_place(temporary.data, final.data);
	if (status < 0)
		buf_err(err, "cannot create %s: %s", final.data, strerror(errno));
	*added = status == 0;
	if (status >= 0)
		status = sync_folder(folder.data) < 0 ? buf_err(err, "cannot sync %s: %s", folder.data, strerror(errno)) : 0;
out:
	if (fd >= 0) {
		unlink(temporary.data);
		close(fd);
	}
	buf_release(&folder);
	buf_release(&final);
	buf_release(&temporary);
	return status;
}

int
store_put(struct store *s, const char *kind, const char *id, const void *bytes, size_t count, struct buf *err)
{
	bool added;

	return store_add(s, kind, id, bytes, count, &added, err);
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
