/* Landlock. In: path rules. Out: a process that can open nothing else.
 * The kernel's versions differ in what they can refuse, and naming a right that a kernel does not know
 * is an error: so the wish list is cut down to the version found. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights that Debian 12's header does not have yet, with their numbers from the kernel's documentation. */
#define FS_TRUNCATE (1ull << 14)	/* version 3 */
#define FS_IOCTL_DEV (1ull << 15)	/* version 5 */
#define NET_TCP 3ull			/* bind and connect, version 4 */
#define SCOPE_ALL 3ull			/* abstract sockets and signals, version 6 */
#define FS_VERSION_1 0x1fffull
#define FS_REFER (1ull << 13)		/* version 2 */
#define FS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_USE (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_MAKE_DEVICE (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
/* What can be said of a single file rather than of a folder. */
#define FS_OF_FILE (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset {
	uint64_t files, network, scoped;
};

/* The kernel's Landlock version, 0 where it has none. */
static int
landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	return version > 0 ? (int)version : 0;
}

static int
allow(int ruleset, const char *rule, uint64_t handled)
{
	struct landlock_path_beneath_attr beneath = { .parent_fd = open(rule + 1, O_PATH | O_CLOEXEC) };
	struct stat st;
	int failed;

	if (beneath.parent_fd < 0)
		return errno == ENOENT ? 0 : -1;
	beneath.allowed_access = rule[0] == 'w' ? handled & ~(uint64_t)FS_MAKE_DEVICE & ~FS_IOCTL_DEV :
		rule[0] == 'd' ? handled & FS_USE : FS_READ;
	failed = fstat(beneath.parent_fd, &st);
	if (!failed && !S_ISDIR(st.st_mode))
		beneath.allowed_access &= FS_OF_FILE;
	if (!failed)
		failed = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
	close(beneath.parent_fd);
	return failed;
}

int
sandbox_landlock_confine(const char *const *rules, size_t count)
{
	int version = landlock_version();
	struct ruleset wish = {
		.files = FS_VERSION_1 | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
			(version >= 5 ? FS_IOCTL_DEV : 0),
		.network = version >= 4 ? NET_TCP : 0,
		.scoped = version >= 6 ? SCOPE_ALL : 0,
	};
	size_t size = version >= 6 ? sizeof wish : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);

	if (!version) {
		errno = ENOSYS;
		return -1;
	}
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &wish, size, 0);
	if (ruleset < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (allow(ruleset, rules[i], wish.files))
			return -1;
	int failed = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
	return failed;
}
