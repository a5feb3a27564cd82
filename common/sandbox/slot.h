/* User ids for sandboxes, one for each that runs. */
#ifndef SANDBOX_SLOT_H
#define SANDBOX_SLOT_H

#include <sys/types.h>

enum { SANDBOX_FIRST_UID = 60000, SANDBOX_SLOTS = 256 };

/* Root only: takes an unused id. *lock_fd holds it until closed (-1 where /run cannot be written: the
 * id then derives from the process id, and two sandboxes may share it). 0 when all are in use. */
uid_t sandbox_slot_take(int *lock_fd);

#endif
