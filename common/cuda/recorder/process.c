/* What the host code of a solution may not do, told in words instead of a dead process.
 *
 * In: faults and system calls of the candidate. Out: a refusal with the reason. This is for clear messages: the sandbox
 * around the process is what protects the machine. After loading, a seccomp filter turns every system call that
 * computing does not need into SIGSYS, whose handler names it. */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/recorder/state.h"
#include "sandbox/trap.h"

static const int allowed[] = {
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pwrite64, SYS_pread64, SYS_lseek, SYS_ftruncate, SYS_close, SYS_fstat,
	SYS_newfstatat, SYS_ioctl, SYS_fcntl, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill, SYS_futex, SYS_sched_yield,
	SYS_sched_getaffinity, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,
	SYS_time, SYS_times, SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid,
	SYS_getgid, SYS_getegid, SYS_getrandom, SYS_prlimit64, SYS_getrlimit, SYS_membarrier, SYS_exit, SYS_exit_group,
	SYS_restart_syscall, SYS_getcpu, SYS_rseq, SYS_set_robust_list, SYS_pause, SYS_poll, SYS_ppoll, SYS_select,
};

static const struct { int call; const char *status, *what; } named[] = {
	{ SYS_open, SUSPICIOUS, "opens a file" },
	{ SYS_openat, SUSPICIOUS, "opens a file" },
	{ SYS_openat2, SUSPICIOUS, "opens a file" },
	{ SYS_creat, SUSPICIOUS, "opens a file" },
	{ SYS_stat, SUSPICIOUS, "looks at the file system" },
	{ SYS_lstat, SUSPICIOUS, "looks at the file system" },
	{ SYS_statx, SUSPICIOUS, "looks at the file system" },
	{ SYS_access, SUSPICIOUS, "looks at the file system" },
	{ SYS_faccessat, SUSPICIOUS, "looks at the file system" },
	{ SYS_faccessat2, SUSPICIOUS, "looks at the file system" },
	{ SYS_readlink, SUSPICIOUS, "looks at the file system" },
	{ SYS_readlinkat, SUSPICIOUS, "looks at the file system" },
	{ SYS_unlink, SUSPICIOUS, "removes a file" },
	{ SYS_unlinkat, SUSPICIOUS, "removes a file" },
	{ SYS_mkdir, SUSPICIOUS, "makes a folder" },
	{ SYS_socket, SUSPICIOUS, "opens a socket" },
	{ SYS_socketpair, SUSPICIOUS, "opens a socket" },
	{ SYS_connect, SUSPICIOUS, "opens a connection" },
	{ SYS_execve, SUSPICIOUS, "runs a program" },
	{ SYS_execveat, SUSPICIOUS, "runs a program" },
	{ SYS_fork, SUSPICIOUS, "starts a process" },
	{ SYS_vfork, SUSPICIOUS, "starts a process" },
	{ SYS_kill, SUSPICIOUS, "sends a signal to a process" },
	{ SYS_tkill, SUSPICIOUS, "sends a signal to a process" },
	{ SYS_ptrace, SUSPICIOUS, "traces a process" },
	{ SYS_process_vm_readv, SUSPICIOUS, "reads another process" },
	{ SYS_memfd_create, SUSPICIOUS, "makes a file in memory" },
	{ SYS_shmget, SUSPICIOUS, "makes shared memory" },
	{ SYS_pipe, SUSPICIOUS, "makes a pipe" },
	{ SYS_pipe2, SUSPICIOUS, "makes a pipe" },
	{ SYS_alarm, UNSUPPORTED, "sets a timer" },
	{ SYS_setitimer, UNSUPPORTED, "sets a timer" },
	{ SYS_timer_create, UNSUPPORTED, "sets a timer" },
};

static ON_SIGNAL_STACK void
on_forbidden_call(int signal_number, siginfo_t *info, void *context)
{
	int call = info->si_syscall;

	(void)signal_number, (void)context;
	/* glibc starts threads with clone3 and falls back to clone; the flags are not worth reading. */
	if (call == SYS_clone || call == SYS_clone3)
		refuse(UNSUPPORTED, "host code starts a thread or a process, which solve() may not");
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (named[i].call == call)
			refuse(named[i].status, "host code %s, which solve() may not", named[i].what);
	refuse(SUSPICIOUS, "host code makes the system call %d, which solve() may not", call);
}

static ON_SIGNAL_STACK void
on_fault(int signal_number, siginfo_t *info, void *context)
{
	(void)context;
	if (signal_number == SIGXCPU)
		refuse("TIMEOUT", "the host code of solve() takes too much processor time");
	if (signal_number == SIGABRT)
		refuse(RUNTIME_ERROR, "host code aborted (a failed assertion, an exception that nobody caught, or a broken heap)");
	if ((signal_number == SIGSEGV || signal_number == SIGBUS) && back_is_device(info->si_addr))
		refuse(RUNTIME_ERROR, "host code touches device memory at %s: only kernels may", runtime_describe(info->si_addr));
	refuse(RUNTIME_ERROR, "host code crashed: %s", signal_number == SIGSEGV || signal_number == SIGBUS ?
		"invalid memory access, or its stack is full" : signal_number == SIGFPE ? "division by zero" :
		signal_number == SIGILL ? "invalid instruction" : "signal");
}

static void
on_process_exit(int status, void *unused)
{
	(void)unused;
	refuse(RUNTIME_ERROR, "host code ended the process with exit status %d", status);
}

void
signals_start(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t stack = { .ss_size = 1 << 20 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigaction(faults[i], &action, NULL);
	action.sa_sigaction = on_forbidden_call;
	sigaction(SIGSYS, &action, NULL);
	on_exit(on_process_exit, NULL);
}

void
doors_close(void)
{
	static bool closed;

	if (!closed)
		sandbox_trap_calls(allowed, sizeof allowed / sizeof *allowed);
	closed = true;
}
