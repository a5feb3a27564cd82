/* Slots. In: nothing. Out: a user id that no other sandbox of this host uses now.
 * Sandboxes that share an id could signal each other without pid namespaces and share the kernel's
 * per-user limits. A lock on an open file ends with the process that holds it, however it ends. */
#include "sandbox/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLOT_FOLDER "/run/kernelmosaic"

uid_t
sandbox_slot_take(int *lock_fd)
{
	static atomic_uint turn;
	unsigned first = (unsigned)getpid() * 7u + atomic_fetch_add(&turn, 1u);

	*lock_fd = -1;
	if (mkdir(SLOT_FOLDER, 0700) && errno != EEXIST)
		return SANDBOX_FIRST_UID + first % SANDBOX_SLOTS;
	for (unsigned i = 0; i < SANDBOX_SLOTS; i++) {
		unsigned slot = (first + i) % SANDBOX_SLOTS;
		char path[64];
		snprintf(path, sizeof path, SLOT_FOLDER "/slot-%u", slot);
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return SANDBOX_FIRST_UID + slot;
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			*lock_fd = fd;
			return SANDBOX_FIRST_UID + slot;
		}
		close(fd);
	}
	return 0;
}
