/* The compile cache.
 *
 * In: a key (source, prelude, settings). Out: CACHE/ab/ab12.../ with source.cu, prelude.h, settings.txt, verdict,
 * log, checksums and, for a success, what the build made. A hit compares the whole key, for XXH3 does not resist an
 * author who wants two sources to meet; then the next free number is tried. Checksums find files that were cut or
 * changed: such an entry is built again. An entry appears by one rename, so a killed process leaves at
 * most a folder under CACHE/new, never half an entry. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build_cache.h"
#include "hash/id.h"

enum { MAX_COLLISIONS = 8, MAX_LOG = 1 << 20, MAX_FILE = 256 << 20 };

static char *
entry_path(const char *cache, const struct build_key *key, int collision)
{
	struct hash_id_state *state = hash_id_start();
	struct buf path = BUF_INIT;
	char id[HASH_ID_HEX];

	hash_id_text(state, key->settings);
	hash_id_text(state, key->prelude);
	hash_id_part(state, key->source, key->source_bytes);
	hash_id_end(state, id);
	buf_addf(&path, "%s/%.2s/%s", cache, id, id);
	if (collision)
		buf_addf(&path, "-%d", collision);
	return buf_detach(&path);
}

/* 1 when the file holds exactly these bytes, 0 when not, -1 when it cannot be read. */
static int
file_equals(const char *folder, const char *name, const void *bytes, size_t count)
{
	struct buf path = BUF_INIT, content = BUF_INIT;
	int equal;

	buf_addf(&path, "%s/%s", folder, name);
	equal = buf_read_file(&content, buf_str(&path), MAX_LOG + CUDA_MAX_SOURCE_BYTES, NULL) < 0 ? -1 :
		content.len == count && (!count || !memcmp(content.data, bytes, count));
	buf_release(&content);
	buf_release(&path);
	return equal;
}

static int
entry_matches(const char *folder, const struct build_key *key)
{
	int source = file_equals(folder, "source.cu", key->source, key->source_bytes);
	int prelude = file_equals(folder, "prelude.h", key->prelude, strlen(key->prelude));
	int settings = file_equals(folder, "settings.txt", key->settings, strlen(key->settings));

	return source < 0 || prelude < 0 || settings < 0 ? -1 : source && prelude && settings;
}

static int
read_entry_file(const char *folder, const char *name, struct buf *out)
{
	struct buf path = BUF_INIT;
	int got;

	buf_addf(&path, "%s/%s", folder, name);
	got = buf_read_file(out, buf_str(&path), MAX_LOG, NULL);
	buf_release(&path);
	return got;
}

/* A line for each file that an entry of this verdict has, with its XXH3-128. -1: one cannot be read. */
static int
checksums(const char *folder, bool success, struct buf *lines)
{
	static const char *const files[] = { "verdict", "log", "solution.so", "device.ptx", "device.fatbin", "ptxas.txt" };
	struct buf path = BUF_INIT, content = BUF_INIT;
	char id[HASH_ID_HEX];
	int status = 0;

	for (size_t i = 0; i < (success ? sizeof files / sizeof *files : 2) && status == 0; i++) {
		buf_reset(&path);
		buf_reset(&content);
		buf_addf(&path, "%s/%s", folder, files[i]);
		status = buf_read_file(&content, buf_str(&path), MAX_FILE, NULL);
		hash_id(buf_str(&content), content.len, id);
		buf_addf(lines, "%s %s\n", id, files[i]);
	}
	buf_release(&path);
	buf_release(&content);
	return status;
}

/* What is there is what was published: a file that was cut or changed would make a wrong verdict. */
static bool
sound(const char *folder, bool success)
{
	struct buf lines = BUF_INIT;
	bool equal = checksums(folder, success, &lines) == 0
		&& file_equals(folder, "checksums", buf_str(&lines), lines.len) > 0;

	buf_release(&lines);
	return equal;
}

/* -1: the entry is damaged. */
static int
load_entry(const char *folder, struct cuda_build *result)
{
	struct buf verdict = BUF_INIT;
	char *absolute;
	int known = -1;

	if (read_entry_file(folder, "verdict", &verdict) == 0)
		for (int v = CUDA_OK; v < CUDA_INFRASTRUCTURE; v++)
			if (!strcmp(buf_str(&verdict), cuda_verdict_name((enum cuda_verdict)v)))
				known = v;
	buf_release(&verdict);
	if (known < 0 || !sound(folder, known == CUDA_OK))
		return -1;
	buf_reset(&result->log);
	if (read_entry_file(folder, "log", &result->log) < 0)
		return -1;
	result->verdict = (enum cuda_verdict)known;
	result->cached = true;
	result->wall_ns = 0;
	if (known != CUDA_OK)
		return 0;
	absolute = realpath(folder, NULL);
	if (!absolute)
		return -1;
	result->folder = xstrdup(absolute);
	free(absolute);
	return 0;
}

int
build_cache_find(const char *cache, const struct build_key *key, struct cuda_build *result, struct buf *err)
{
	for (int i = 0; i < MAX_COLLISIONS; i++) {
		char *folder = entry_path(cache, key, i);
		struct stat info;
		int found = 0;

		if (stat(folder, &info) == 0) {
			int same = entry_matches(folder, key);

			if (same == 0) {
				free(folder);
				continue;
			}
			found = same > 0 && load_entry(folder, result) == 0;
			if (!found && io_remove_tree(folder, err) < 0)	/* a full disk once, say: built again */
				found = -1;
		}
		free(folder);
		return found;
	}
	return buf_err(err, "the compile cache %s holds %d different sources of one hash", cache, MAX_COLLISIONS);
}

static int
write_entry_file(const char *folder, const char *name, const void *bytes, size_t count, struct buf *err)
{
	struct buf path = BUF_INIT;
	int written;

	buf_addf(&path, "%s/%s", folder, name);
	written = io_write_file(buf_str(&path), bytes, count, err);
	buf_release(&path);
	return written;
}

/* Folders of killed processes: nobody holds them. */
static void
sweep_new(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct buf left = BUF_INIT;
		int fd = entry->d_name[0] == '.' ? -1 :
			openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		buf_addf(&left, "%s/%s", path, entry->d_name);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			io_remove_tree(buf_str(&left), NULL);
		if (fd >= 0)
			close(fd);
		buf_release(&left);
	}
	if (dir)
		closedir(dir);
}

/* 1 when the folder is ours, 0 when a sweep took it before it was locked, -1 with errno. */
static int
own_folder(struct build_folder *folder)
{
	struct stat held, there;

	folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder->lock < 0)
		return errno == ENOENT ? 0 : -1;
	/* Where there are no locks, no sweep takes anything either. */
	if (flock(folder->lock, LOCK_EX) < 0 || (fstat(folder->lock, &held) == 0 && stat(folder->path, &there) == 0
			&& held.st_ino == there.st_ino)) {
		if (fchmod(folder->lock, 0755) == 0)
			return 1;
		close(folder->lock);
		return -1;
	}
	close(folder->lock);
	return 0;
}

static int
make_folder(const char *cache, struct build_folder *folder, struct buf *err)
{
	struct buf path = BUF_INIT;
	int owned = 0;

	buf_addf(&path, "%s/new", cache);
	if (io_make_dirs(buf_str(&path), err) < 0) {
		buf_release(&path);
		return -1;
	}
	sweep_new(buf_str(&path));
	while (owned == 0) {
		buf_reset(&path);
		buf_addf(&path, "%s/new/XXXXXX", cache);
		folder->path = path.data;
		owned = mkdtemp(path.data) ? own_folder(folder) : -1;
	}
	if (owned < 0) {
		buf_err(err, "cannot make a folder under %s/new: %s", cache, strerror(errno));
		buf_release(&path);
	}
	return owned < 0 ? -1 : 0;
}

int
build_cache_begin(const char *cache, const struct build_key *key, struct build_folder *folder, struct buf *err)
{
	*folder = (struct build_folder){ NULL, -1 };
	if (make_folder(cache, folder, err) < 0)
		return -1;
	if (write_entry_file(folder->path, "source.cu", key->source, key->source_bytes, err) < 0 ||
	    write_entry_file(folder->path, "prelude.h", key->prelude, strlen(key->prelude), err) < 0 ||
	    write_entry_file(folder->path, "settings.txt", key->settings, strlen(key->settings), err) < 0) {
		build_cache_abandon(folder);
		return -1;
	}
	return 0;
}

int
build_cache_publish(const char *cache, const struct build_key *key, struct build_folder *folder,
	struct cuda_build *result, struct buf *err)
{
	const char *verdict = cuda_verdict_name(result->verdict);
	struct buf lines = BUF_INIT;
	int published = -1;

	if (write_entry_file(folder->path, "log", buf_str(&result->log), result->log.len, err) < 0 ||
	    write_entry_file(folder->path, "verdict", verdict, strlen(verdict), err) < 0)
		goto out;
	if (checksums(folder->path, result->verdict == CUDA_OK, &lines) < 0) {
		buf_err(err, "cannot read again what was built in %s", folder->path);
		goto out;
	}
	if (write_entry_file(folder->path, "checksums", buf_str(&lines), lines.len, err) < 0)
		goto out;
	for (int i = 0; i < MAX_COLLISIONS && published < 0; i++) {
		char *entry = entry_path(cache, key, i), *slash = strrchr(entry, '/');
		uint64_t wall_ns = result->wall_ns;

		*slash = 0;
		if (io_make_dirs(entry, err) < 0) {
			free(entry);
			goto out;
		}
		*slash = '/';
		if (rename(folder->path, entry) == 0 || ((errno == ENOTEMPTY || errno == EEXIST) && entry_matches(entry, key) > 0)) {
			published = load_entry(entry, result);
			result->cached = false;
			result->wall_ns = wall_ns;
			if (published < 0) {
				buf_err(err, "the compile cache's entry %s is damaged", entry);
				free(entry);
				goto out;
			}
		} else if (errno != ENOTEMPTY && errno != EEXIST) {
			buf_err(err, "cannot publish %s: %s", entry, strerror(errno));
			free(entry);
			goto out;
		}
		free(entry);
	}
out:
	buf_release(&lines);
	build_cache_abandon(folder);	/* a no-op after a rename */
	return published;
}

void
build_cache_abandon(struct build_folder *folder)
{
	io_remove_tree(folder->path, NULL);
	close(folder->lock);
	free(folder->path);
}
