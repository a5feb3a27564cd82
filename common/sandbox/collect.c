/* Collecting outputs. In: a folder, a name, a maximum. Out: the bytes, on another descriptor.
 * The folder was written by the enemy: the name may be a link to a secret, a FIFO that never answers,
 * a device, a file of another folder (hard link), or a terabyte of holes. So openat2 refuses links and
 * mounts, O_NONBLOCK never waits, the kind is asked of the open file, and only bytes read are counted. */
#include "sandbox/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool
sandbox_plain_name(const char *name)
{
	size_t length = 0;

	if (!name || name[0] == '.')
		return false;
	for (; name[length]; length++) {
		char c = name[length];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '.' || c == '_' || c == '+' || c == '-';
		if (!plain || length >= 200)
			return false;
	}
	return length > 0;
}

static int
put_all(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t put = write(fd, bytes, count);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		bytes += put;
		count -= (size_t)put;
	}
	return 0;
}

static enum sandbox_file
copy(int from, int to, uint64_t max_bytes, uint64_t *bytes)
{
	static char chunk[1 << 16];
	uint64_t total = 0;

	for (;;) {
		ssize_t got = read(from, chunk, sizeof chunk);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SANDBOX_FILE_REFUSED;
		if (got == 0)
			break;
		total += (uint64_t)got;
		if (total > max_bytes)
			return SANDBOX_FILE_TOO_LARGE;
		if (put_all(to, chunk, (size_t)got))
			return SANDBOX_FILE_REFUSED;
	}
	*bytes = total;
	return SANDBOX_FILE_OK;
}

enum sandbox_file
sandbox_collect(int folder_fd, const char *name, uint64_t max_bytes, int to_fd, uint64_t *bytes)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	struct stat st;
	enum sandbox_file state;

	*bytes = 0;
	if (!sandbox_plain_name(name))
		return SANDBOX_FILE_REFUSED;
	int fd = (int)syscall(SYS_openat2, folder_fd, name, &how, sizeof how);
	if (fd < 0)
		return errno == ENOENT ? SANDBOX_FILE_MISSING : SANDBOX_FILE_REFUSED;
	off_t start = lseek(to_fd, 0, SEEK_CUR);
	if (start < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		state = SANDBOX_FILE_REFUSED;
	else if (st.st_size < 0 || (uint64_t)st.st_size > max_bytes)
		state = SANDBOX_FILE_TOO_LARGE;
	else
		state = copy(fd, to_fd, max_bytes, bytes);
	close(fd);
	if (state != SANDBOX_FILE_OK && start >= 0) {
		/* What was copied of a file that grew meanwhile does not count. */
		if (ftruncate(to_fd, start) || lseek(to_fd, start, SEEK_SET) < 0)
			return SANDBOX_FILE_REFUSED;
	}
	return state;
}
