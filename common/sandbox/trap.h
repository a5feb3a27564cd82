/* A filter that a program puts on itself: system calls off the list raise SIGSYS, whose handler can say which it was.
 * For clear words only; what confines a program is the sandbox around it. A header alone, for libraries that link to
 * nothing of ours. */
#ifndef SANDBOX_TRAP_H
#define SANDBOX_TRAP_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { SANDBOX_TRAP_MAX = 250 };	/* a jump of the filter reaches that far */

/* From now on only these system calls (SYS_ numbers, x86-64) pass, in this thread and its children. 0, or -1. */
static inline int
sandbox_trap_calls(const int *allowed, int count)
{
	struct sock_filter filter[SANDBOX_TRAP_MAX + 6];
	struct sock_fprog program = { 0, filter };
	int n = 0;

	if (count > SANDBOX_TRAP_MAX)
		return -1;
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < count; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
			(unsigned char)(count - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
