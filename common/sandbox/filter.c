/* The seccomp filter. In: nothing. Out: a BPF program that the supervisor loads.
 * A list of what is refused, since compilers need much; but calls newer than the list are refused
 * unseen: they get ENOSYS, as on an older kernel, which every program must expect. */
#include "sandbox/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The last call known to this list (fchmodat2 is 452); higher numbers, and the x32 calls, get ENOSYS. */
enum { LAST_KNOWN_CALL = 450 };

#define NEW_NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	CLONE_NEWPID | CLONE_NEWNET)

static const struct {
	const char *call;
	int error;
} refused[] = {
	/* looking into, or reaching into, other processes */
	{ "ptrace", EPERM }, { "process_vm_readv", EPERM }, { "process_vm_writev", EPERM },
	{ "process_madvise", EPERM }, { "process_mrelease", EPERM }, { "pidfd_getfd", EPERM }, { "kcmp", EPERM },
	{ "move_pages", EPERM }, { "migrate_pages", EPERM },
	/* memory that the limits do not count */
	{ "memfd_create", EPERM }, { "memfd_secret", ENOSYS }, { "shmget", EPERM }, { "shmat", EPERM },
	{ "shmctl", EPERM }, { "shmdt", EPERM }, { "msgget", EPERM }, { "msgsnd", EPERM }, { "msgrcv", EPERM },
	{ "msgctl", EPERM }, { "semget", EPERM }, { "semop", EPERM }, { "semctl", EPERM },
	{ "semtimedop", EPERM }, { "mq_open", EPERM }, { "mq_unlink", EPERM },
	/* ways round this filter, and large kernel surfaces */
	{ "io_uring_setup", ENOSYS }, { "io_uring_enter", ENOSYS }, { "io_uring_register", ENOSYS },
	{ "userfaultfd", ENOSYS }, { "bpf", EPERM }, { "perf_event_open", EPERM }, { "add_key", EPERM },
	{ "request_key", EPERM }, { "keyctl", EPERM }, { "fanotify_init", EPERM }, { "fanotify_mark", EPERM },
	{ "modify_ldt", EPERM }, { "vmsplice", EPERM }, { "lookup_dcookie", EPERM },
	{ "landlock_create_ruleset", ENOSYS }, { "landlock_add_rule", ENOSYS }, { "landlock_restrict_self", ENOSYS },
	/* namespaces and mounts */
	{ "clone3", ENOSYS }, { "unshare", EPERM }, { "setns", EPERM }, { "mount", EPERM }, { "umount2", EPERM },
	{ "pivot_root", EPERM }, { "chroot", EPERM }, { "open_tree", EPERM }, { "move_mount", EPERM },
	{ "fsopen", EPERM }, { "fsconfig", EPERM }, { "fsmount", EPERM }, { "fspick", EPERM },
	{ "mount_setattr", EPERM }, { "name_to_handle_at", EPERM }, { "open_by_handle_at", EPERM },
	/* the machine */
	{ "kexec_load", EPERM }, { "kexec_file_load", EPERM }, { "init_module", EPERM }, { "finit_module", EPERM },
	{ "delete_module", EPERM }, { "reboot", EPERM }, { "swapon", EPERM }, { "swapoff", EPERM },
	{ "acct", EPERM }, { "quotactl", EPERM }, { "quotactl_fd", EPERM }, { "settimeofday", EPERM },
	{ "clock_settime", EPERM }, { "clock_adjtime", EPERM }, { "adjtimex", EPERM }, { "sethostname", EPERM },
	{ "setdomainname", EPERM }, { "iopl", EPERM }, { "ioperm", EPERM }, { "syslog", EPERM },
	{ "vhangup", EPERM }, { "ioprio_set", EPERM },
};

/* Without connect a stream reaches nobody; a datagram needs none, and to the kernel a raw one is a datagram. */
static const struct {
	const char *call;
	int error;
	unsigned count;
	struct scmp_arg_cmp when;
} refused_listeners[] = {
	{ "connect", EACCES, 0, { 0 } },
	{ "socket", EAFNOSUPPORT, 1, { 1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_DGRAM } },
	{ "socket", EAFNOSUPPORT, 1, { 1, SCMP_CMP_MASKED_EQ, 0xf, SOCK_RAW } },
};

/* Refused for some values of one argument. Only its low half counts in the kernel, so an equality must be of
 * the low half, while an inequality may be of the whole: it refuses more. */
static const struct {
	const char *call;
	int error;
	unsigned argument;
	enum scmp_compare compare;
	scmp_datum_t value;
} refused_when[] = {
	{ "socket", EAFNOSUPPORT, 0, SCMP_CMP_NE, AF_UNIX }, { "socketpair", EAFNOSUPPORT, 0, SCMP_CMP_NE, AF_UNIX },
	{ "ioctl", EPERM, 1, SCMP_CMP_MASKED_EQ, TIOCSTI }, { "ioctl", EPERM, 1, SCMP_CMP_MASKED_EQ, TIOCLINUX },
	/* limits and priority of other processes, the supervisor first */
	{ "prlimit64", EPERM, 0, SCMP_CMP_NE, 0 }, { "sched_setaffinity", EPERM, 0, SCMP_CMP_NE, 0 },
	{ "sched_setscheduler", EPERM, 0, SCMP_CMP_NE, 0 }, { "sched_setparam", EPERM, 0, SCMP_CMP_NE, 0 },
	{ "sched_setattr", EPERM, 0, SCMP_CMP_NE, 0 }, { "setpriority", EPERM, 0, SCMP_CMP_NE, PRIO_PROCESS },
	{ "setpriority", EPERM, 1, SCMP_CMP_NE, 0 },
};

static int
refuse(scmp_filter_ctx filter, const char *call, int error, unsigned count, struct scmp_arg_cmp when)
{
	int number = seccomp_syscall_resolve_name(call);

	if (number == __NR_SCMP_ERROR)
		return 0;	/* newer than this libseccomp, so above LAST_KNOWN_CALL */
	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)error), number, count, &when);
}

static int
add_rules(scmp_filter_ctx filter, enum sandbox_sockets sockets)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		failed |= refuse(filter, refused[i].call, refused[i].error, 0, (struct scmp_arg_cmp){ 0 });
	for (size_t i = 0; i < sizeof refused_when / sizeof refused_when[0]; i++) {
		struct scmp_arg_cmp when = { refused_when[i].argument, refused_when[i].compare, refused_when[i].value, 0 };
		bool whole_call = sockets == SANDBOX_SOCKETS_NONE && !strcmp(refused_when[i].call, "socket");
		if (when.op == SCMP_CMP_MASKED_EQ)
			when = (struct scmp_arg_cmp){ when.arg, when.op, 0xffffffff, when.datum_a };
		failed |= refuse(filter, refused_when[i].call, refused_when[i].error, !whole_call, when);
	}
	for (size_t i = 0; sockets == SANDBOX_SOCKETS_LISTEN && i < sizeof refused_listeners / sizeof refused_listeners[0]; i++)
		failed |= refuse(filter, refused_listeners[i].call, refused_listeners[i].error, refused_listeners[i].count,
			refused_listeners[i].when);
	/* any one of the flags that make a namespace */
	for (unsigned bit = 0; bit < 32; bit++)
		if (NEW_NAMESPACES & 1u << bit)
			failed |= refuse(filter, "clone", EPERM, 1,
				(struct scmp_arg_cmp){ 0, SCMP_CMP_MASKED_EQ, 1u << bit, 1u << bit });
	return failed;
}

static int
export(scmp_filter_ctx filter, struct buf *program)
{
	const struct sock_filter prefix[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN_CALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};
	int fd = memfd_create("filter", MFD_CLOEXEC), failed = -1;

	buf_add(program, prefix, sizeof prefix);
	if (fd >= 0 && !seccomp_export_bpf(filter, fd) && lseek(fd, 0, SEEK_SET) == 0)
		failed = buf_read_fd(program, fd, sizeof(struct sock_filter) * BPF_MAXINSNS);
	if (fd >= 0)
		close(fd);
	return failed;
}

int
sandbox_filter(enum sandbox_sockets sockets, struct buf *program, struct buf *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int failed = !filter || add_rules(filter, sockets) || export(filter, program);

	if (filter)
		seccomp_release(filter);
	if (failed)
		return buf_err(err, "The system call filter cannot be built: libseccomp refused a rule.");
	return 0;
}
