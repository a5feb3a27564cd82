/* The compile cache.
 *
 * In: a key (source, prelude, settings). Out: CACHE/ab/ab12.../ with source.cu, prelude.h, settings.txt, verdict, log and,
 * for a success, what the build made. A hit compares the whole key, for XXH3 does not resist an author who wants two
 * sources to meet; then the next free number is tried. An entry appears by one rename, so a killed process leaves at
 * most a folder under CACHE/new, never half an entry. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build_cache.h"
#include "hash/id.h"

enum { MAX_COLLISIONS = 8, MAX_LOG = 1 << 20 };

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

static bool
complete(const char *folder)
{
	static const char *const files[] = { "solution.so", "device.ptx", "device.fatbin", "ptxas.txt" };
	struct buf path = BUF_INIT;
	struct stat info;
	bool all = true;

	for (size_t i = 0; i < sizeof files / sizeof *files && all; i++) {
		buf_reset(&path);
		buf_addf(&path, "%s/%s", folder, files[i]);
		all = stat(buf_str(&path), &info) == 0 && S_ISREG(info.st_mode);
	}
	buf_release(&path);
	return all;
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
	if (known < 0 || (known == CUDA_OK && !complete(folder)))
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

char *
build_cache_begin(const char *cache, const struct build_key *key, struct buf *err)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/new", cache);
	if (io_make_dirs(buf_str(&path), err) < 0)
		goto fail;
	buf_adds(&path, "/XXXXXX");
	if (!mkdtemp(path.data)) {
		buf_err(err, "cannot make a folder under %s/new: %s", cache, strerror(errno));
		goto fail;
	}
	if (chmod(path.data, 0755) < 0 ||
	    write_entry_file(path.data, "source.cu", key->source, key->source_bytes, err) < 0 ||
	    write_entry_file(path.data, "prelude.h", key->prelude, strlen(key->prelude), err) < 0 ||
	    write_entry_file(path.data, "settings.txt", key->settings, strlen(key->settings), err) < 0) {
		io_remove_tree(path.data, NULL);
		goto fail;
	}
	return buf_detach(&path);
fail:
	buf_release(&path);
	return NULL;
}

int
build_cache_publish(const char *cache, const struct build_key *key, char *folder, struct cuda_build *result,
	struct buf *err)
{
	const char *verdict = cuda_verdict_name(result->verdict);
	int published = -1;

	if (write_entry_file(folder, "log", buf_str(&result->log), result->log.len, err) < 0 ||
	    write_entry_file(folder, "verdict", verdict, strlen(verdict), err) < 0)
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
		if (rename(folder, entry) == 0 || ((errno == ENOTEMPTY || errno == EEXIST) && entry_matches(entry, key) > 0)) {
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
	build_cache_abandon(folder);	/* a no-op after a rename */
	return published;
}

void
build_cache_abandon(char *folder)
{
	if (folder)
		io_remove_tree(folder, NULL);
	free(folder);
}
