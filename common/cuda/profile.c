/* GPU profiles: text in, a table of answers out. */
#include "base/num.h"
#include "base/spawn.h"
#include "cuda/profile.h"

static int
parse_pair(const char *text, int64_t max_key, int64_t *key, int64_t *value)
{
	char first[32];
	const char *space = strchr(text, ' ');

	if (!space || (size_t)(space - text) >= sizeof first)
		return -1;
	memcpy(first, text, (size_t)(space - text));
	first[space - text] = 0;
	return num_i64(first, 0, max_key, key) < 0 || num_i64(space + 1, INT32_MIN, INT64_MAX, value) < 0 ? -1 : 0;
}

static int
parse_line(const char *line, struct gpu_profile *profile)
{
	const char *rest = strchr(line, ' ');
	size_t word = rest ? (size_t)(rest - line) : 0;
	int64_t key, value;

	if (!rest++)
		return -1;
	if (!strncmp(line, "name ", 5)) {
		if (strlen(rest) >= sizeof profile->name)
			return -1;
		memcpy(profile->name, rest, strlen(rest) + 1);
		return 0;
	}
	if (word == 12 && !memcmp(line, "memory_total", word))
		return num_u64(rest, 1, UINT64_MAX, &profile->memory_total);
	if (word == 11 && !memcmp(line, "memory_free", word))
		return num_u64(rest, 1, UINT64_MAX, &profile->memory_free);
	if (word == 14 && !memcmp(line, "driver_version", word)) {
		if (num_i64(rest, 1, INT32_MAX, &value) < 0)
			return -1;
		profile->driver_version = (int)value;
		return 0;
	}
	if (word == 5 && !memcmp(line, "limit", word)) {
		if (parse_pair(rest, PROFILE_LIMITS - 1, &key, &value) < 0)
			return -1;
		profile->limit[key] = (uint64_t)value;
		profile->has_limit[key] = true;
		return 0;
	}
	if (word == 9 && !memcmp(line, "attribute", word)) {
		if (parse_pair(rest, PROFILE_ATTRIBUTES - 1, &key, &value) < 0 || value > INT32_MAX)
			return -1;
		profile->attribute[key] = (int)value;
		profile->has_attribute[key] = true;
		return 0;
	}
	return -1;
}

int
profile_parse(const char *text, struct gpu_profile *profile, struct buf *err)
{
	unsigned number = 0;

	memset(profile, 0, sizeof *profile);
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[512];

		number++;
		if (length >= sizeof line)
			return buf_err(err, "line %u of the GPU profile is too long", number);
		memcpy(line, text, length);
		line[length] = 0;
		text += length + (text[length] == '\n');
		if (!*line || *line == '#')
			continue;
		if (parse_line(line, profile) < 0)
			return buf_err(err, "line %u of the GPU profile is not understood: %s", number, line);
	}
	if (!*profile->name || !profile->memory_total || !profile->driver_version)
		return buf_err(err, "the GPU profile lacks its name, memory_total or driver_version");
	return 0;
}

char *
profile_path(const char *name, struct buf *err)
{
	struct buf file = BUF_INIT;
	char *path;

	if (!*name || name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_")]) {
		buf_err(err, "a GPU profile's name is made of a-z, 0-9, - and _, not '%.80s'", name);
		return NULL;
	}
	buf_addf(&file, "profiles/%s.profile", name);
	path = spawn_libexec(buf_str(&file));
	buf_release(&file);
	return path;
}
