/* Attacks on the sandbox, one for each name: attacks NAME [ARGUMENT]. In: a confined process. Out: what
 * each try came to, a line each, for the test to compare. A try that succeeds says so plainly. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *argument;

/* Prints "NAME: ok" for a result that is no error, else the error's name. */
static void
say(const char *name, long result)
{
	printf("%s: %s\n", name, result < 0 ? strerrorname_np(errno) : "ok");
}

static void
open_for_write(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | flags, 0600);
	say(path, fd);
	if (fd >= 0)
		close(fd);
}

/* Reads a whole small file and looks for the test's secret in it. */
static void
look_for_secret(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY);

	if (fd < 0) {
		say(path, -1);
		return;
	}
	ssize_t got = read(fd, text, sizeof text);
	printf("%s: %s\n", path, got > 0 && memmem(text, (size_t)got, "KM_TEST_SECRET", 14) ? "secret found" : "no secret");
	close(fd);
}

static void
environment(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	look_for_secret("/proc/1/environ");
	look_for_secret("/proc/self/environ");
	while ((entry = readdir(processes))) {
		char path[300];
		if (entry->d_name[0] < '2' || entry->d_name[0] > '9' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
		look_for_secret(path);
	}
}

static void
descriptors(void)
{
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d\n", fd);
}

static void
identity(void)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof line, status))
		if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8) ||
		    !strncmp(line, "Groups", 6))
			printf("%s", line);
	open_for_write("/proc/sys/kernel/core_pattern", 0);
	open_for_write("/proc/sys/vm/drop_caches", 0);
	open_for_write("/proc/sysrq-trigger", 0);
	open_for_write("/proc/sys/user/max_user_namespaces", 0);
	say("setuid 0", setuid(0));
	say("raise NPROC", setrlimit(RLIMIT_NPROC, &(struct rlimit){ 100000, 100000 }));
}

/* Counts the children that can be had at once. */
static void
forks(void)
{
	long limit = atol(argument), made = 0;

	while (made < limit) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0)
			for (;;)
				pause();
		made++;
	}
	printf("%ld %s\n", made, made < limit ? strerrorname_np(errno) : "no limit");
	fflush(stdout);
	usleep(200000);	/* so that two of these run at the same time */
}

/* Forks for ever, children too. */
static void
bomb(void)
{
	for (;;)
		fork();
}

/* How many MiB go into a folder, in files of 1 MiB. */
static void
fill(void)
{
	static char block[1 << 20];
	long total = 0;

	for (int i = 0; i < 4096; i++) {
		char path[300];
		snprintf(path, sizeof path, "%s/f%d", argument, i);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);
		if (fd < 0)
			break;
		memset(block, 1, sizeof block);
		ssize_t put = write(fd, block, sizeof block);
		close(fd);
		if (put < (ssize_t)sizeof block)
			break;
		total++;
	}
	printf("%ld MiB, then %s\n", total, strerrorname_np(errno));
}

static void
files(void)
{
	long made = 0;

	for (; made < 100000; made++) {
		char path[300];
		snprintf(path, sizeof path, "%s/%ld", argument, made);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	printf("%ld files, then %s\n", made, strerrorname_np(errno));
}

static void
outside(void)
{
	static const char *const paths[] = { "/new", "/dev/new", "/dev/shm/new", "/etc/new", "/in/new", "/usr/new",
		"/kernelmosaic/new", "/proc/new", "/usr/bin/env", "/kernelmosaic/km-shim" };

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		open_for_write(paths[i], i < 8 ? O_CREAT : 0);
	say("chmod /in/attacks", chmod("/in/attacks", 0777));
	say("unlink /in/attacks", unlink("/in/attacks"));
	say("rename /out", rename("/out", "/tmp/out"));
}

static void
secrets(void)
{
	static const char *const paths[] = { "/root", "/etc/shadow", "/etc/passwd", "/home", "/var", "/run", "/sys",
		"/oldroot", "/tmp/../root/.bashrc", "/proc/1/root/etc", "/proc/1/cwd", "/proc/1/mem", "/proc/1/fd/0",
		"/dev/mem", "/dev/kmsg", "/dev/tty" };

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		say(paths[i], open(paths[i], O_RDONLY | O_NOCTTY));
	say("the project", open(argument, O_RDONLY));
}

static void
sockets(void)
{
	static const struct { const char *name; int family, type; } kinds[] = {
		{ "INET", AF_INET, SOCK_STREAM }, { "INET UDP", AF_INET, SOCK_DGRAM }, { "INET6", AF_INET6, SOCK_STREAM },
		{ "NETLINK", AF_NETLINK, SOCK_RAW }, { "PACKET", AF_PACKET, SOCK_RAW }, { "VSOCK", AF_VSOCK, SOCK_STREAM },
		{ "ALG", AF_ALG, SOCK_SEQPACKET }, { "BLUETOOTH", AF_BLUETOOTH, SOCK_RAW }, { "UNIX", AF_UNIX, SOCK_STREAM },
	};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		say(kinds[i].name, socket(kinds[i].family, kinds[i].type, 0));
	int pair[2];
	say("UNIX pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	say("VSOCK pair", socketpair(AF_VSOCK, SOCK_STREAM, 0, pair));
}

/* Sockets that lead to programs of the host. */
static void
reach(void)
{
	struct sockaddr_un system = { AF_UNIX, "/run/dbus/system_bus_socket" }, abstract = { AF_UNIX, "\0km-test" };
	int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	say("stream", stream);
	say("connect to a file", connect(stream, (struct sockaddr *)&system, sizeof system));
	say("connect to a name", connect(stream, (struct sockaddr *)&abstract, sizeof abstract));
	say("send to a name", sendto(stream, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&abstract, sizeof abstract));
	say("listen", bind(stream, (struct sockaddr *)&abstract, sizeof(sa_family_t)) || listen(stream, 1) ? -1 : 0);
	say("packets", socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0));
	say("datagrams", socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	say("raw", socket(AF_UNIX, SOCK_RAW, 0));
}

static int
nothing(void *unused)
{
	(void)unused;
	return 0;
}

static void
calls(void)
{
	static char stack[65536], event[256], parameters[256];
	struct clone_args args = { .flags = CLONE_NEWUSER };
	uint64_t word = 0;
	struct iovec local = { &word, sizeof word }, remote = { (void *)0x400000, sizeof word };
	char *top = stack + sizeof stack;

	say("io_uring_setup", syscall(SYS_io_uring_setup, 8, parameters));
	say("memfd_create", memfd_create("x", 0));
	say("memfd_secret", syscall(SYS_memfd_secret, 0));
	say("shmget", shmget(IPC_PRIVATE, 1 << 20, IPC_CREAT | 0600));
	say("unshare user", unshare(CLONE_NEWUSER));
	say("unshare mount", unshare(CLONE_NEWNS));
	say("clone user", clone(nothing, top, CLONE_NEWUSER | SIGCHLD, NULL));
	say("clone user and pid", clone(nothing, top, CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD, NULL));
	say("clone3 user", syscall(SYS_clone3, &args, sizeof args));
	say("mount", mount("tmpfs", "/tmp", "tmpfs", 0, NULL));
	say("umount", umount2("/in", MNT_DETACH));
	say("chroot", chroot("/tmp"));
	say("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	say("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
	say("ptrace attach 1", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	say("ptrace seize 1", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	say("process_vm_readv 1", process_vm_readv(1, &local, 1, &remote, 1, 0));
	say("process_vm_writev 1", process_vm_writev(1, &local, 1, &remote, 1, 0));
	say("pidfd_getfd 1", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, 1, 0), 0, 0));
	say("userfaultfd", syscall(SYS_userfaultfd, 0));
	say("bpf", syscall(SYS_bpf, 0, parameters, sizeof parameters));
	say("perf_event_open", syscall(SYS_perf_event_open, event, 0, -1, -1, 0));
	say("keyctl", syscall(SYS_keyctl, 0, -3, 0));
	say("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, parameters, O_RDONLY));
	say("mlock", mlock(stack, sizeof stack));
	say("call 455", syscall(455, 0, 0, 0, 0));
	say("call of x32", syscall(0x40000000 | SYS_getpid));
}

/* The supervisor's limits and priority, and its life. */
static void
supervisor(void)
{
	struct rlimit none = { 0, 0 };
	struct { uint32_t size, policy; uint64_t rest[6]; } idle = { sizeof idle, SCHED_IDLE, { 0 } };
	cpu_set_t one;

	/* Were the sandbox broken, these would hit the machine that runs the test. */
	if (getpid() > 9 || getppid() != 1) {
		puts("not in a pid namespace");
		return;
	}
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	say("prlimit FSIZE of 1", prlimit(1, RLIMIT_FSIZE, &none, NULL));
	say("prlimit CPU of 1", prlimit(1, RLIMIT_CPU, &none, NULL));
	say("priority of 1", setpriority(PRIO_PROCESS, 1, 19));
	say("priority of the user", setpriority(PRIO_USER, 0, 19));
	say("affinity of 1", sched_setaffinity(1, sizeof one, &one));
	say("scheduler of 1", syscall(SYS_sched_setattr, 1, &idle, 0));
	say("kill 1 softly", kill(1, SIGSTOP));
	say("kill 1", kill(1, SIGKILL));
	say("kill 1 by SIGTERM", kill(1, SIGTERM));
	say("kill all others", kill(-1, SIGKILL));
	say("kill the host's process", kill((pid_t)atol(argument), SIGKILL));
}

/* A report of success on every descriptor there is, and on those of the supervisor. */
static void
forge(void)
{
	uint32_t words[128] = { 0x4b4d5231, 0, 0, 0 };

	for (int fd = 3; fd < 1024; fd++) {
		if (pwrite(fd, words, sizeof words, 0) > 0 || write(fd, words, sizeof words) > 0)
			printf("wrote on %d\n", fd);
		char path[64];
		snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
		int other = open(path, O_RDWR);
		if (other >= 0)
			printf("opened %s\n", path);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (other < 0 && open(path, O_RDWR) >= 0)
			printf("opened %s\n", path);
	}
	for (int fd = 3; fd < 64; fd++)
		dup2(0, fd);
	fflush(stdout);
	_exit(42);
}

static void
loop(void)
{
	signal(SIGXCPU, argument[0] == 'i' ? SIG_IGN : SIG_DFL);
	for (volatile long i = 0;; i++)
		;
}

static void
sleep_for_ever(void)
{
	for (int s = 1; s < 32; s++)
		signal(s, SIG_IGN);
	for (;;)
		pause();
}

static void
memory(void)
{
	long total = 0;
	size_t piece = 16 << 20;

	for (; total < 1 << 20; total += 16) {
		char *bytes = malloc(piece);
		if (!bytes)
			break;
		memset(bytes, 1, piece);
	}
	printf("%ld MiB, then %s\n", total, strerrorname_np(errno));
}

/* Many processes, each below the limit of one. */
static void
memory_by_many(void)
{
	for (int i = 0; i < 8; i++)
		if (fork() == 0)
			break;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	size_t size = 128 << 20;
	char *bytes = malloc(size);
	for (size_t at = 0; at < size; at += 4096)
		bytes[at] = 1;
	for (;;)
		pause();
}

/* 256 MiB shared among 8 processes is not 2 GiB. */
static void
memory_shared(void)
{
	size_t size = 256 << 20;
	char *bytes = malloc(size);

	memset(bytes, 1, size);
	for (int i = 0; i < 7; i++)
		if (fork() == 0)
			break;
	usleep(300000);
	printf("done %d\n", bytes[size / 2]);
	fflush(stdout);
	_exit(0);
}

static void
flood(void)
{
	static char block[65536];
	int fd = argument[0] == 'e' ? 2 : 1;

	memset(block, 'x', sizeof block);
	for (;;)
		if (write(fd, block, sizeof block) < 0)
			break;
}

static void
daemons(void)
{
	for (int i = 0; i < 4; i++) {
		if (fork())
			continue;
		setsid();
		if (fork())
			_exit(0);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		for (int s = 1; s < 32; s++)
			signal(s, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
		for (;;)
			pause();
	}
	usleep(50000);
	puts("left");
}

/* Something other than a file where an output is expected, in the folder `argument`. */
static void
plant(void)
{
	char deep[4096];

	say("folder of outputs", chdir(argument));
	say("symlink", symlink("/etc/shadow", "symlink"));
	say("symlink to self", symlink("honest", "inner"));
	say("proc link", symlink("/proc/self/exe", "proclink"));
	say("fifo", mkfifo("fifo", 0600));
	say("folder", mkdir("folder", 0700));
	say("device", mknod("device", S_IFCHR | 0666, makedev(1, 5)));
	say("hard link to the system", link("/usr/bin/env", "hardlink"));
	int fd = open("honest", O_WRONLY | O_CREAT, 0600);
	say("honest", write(fd, "honest\n", 7));
	close(fd);
	fd = open("twice", O_WRONLY | O_CREAT, 0600);
	say("own hard link", link("twice", "twice2"));
	close(fd);
	fd = open("sparse", O_WRONLY | O_CREAT, 0600);
	say("2 GiB of holes", ftruncate(fd, 2ll << 30));
	close(fd);
	fd = open("closed", O_WRONLY | O_CREAT, 0);
	say("mode 000", fd);
	close(fd);
	int unix_socket = socket(AF_UNIX, SOCK_STREAM, 0);
	struct { unsigned short family; char path[108]; } name = { AF_UNIX, "socket" };
	say("socket", bind(unix_socket, (struct sockaddr *)&name, sizeof name));
	for (int i = 0; i < 500 && !mkdir("d", 0700) && !chdir("d"); i++)
		;
	say("deep", getcwd(deep, sizeof deep) ? 0 : -1);
}

static void
setuid_programs(void)
{
	static const char *const programs[] = { "/usr/bin/su", "/usr/bin/mount", "/usr/bin/passwd", "/usr/bin/newgrp" };

	/* The set-user-id bit must not count: the program sees the id that it always had. */
	for (size_t i = 0; i < 4; i++) {
		struct stat st;
		if (stat(programs[i], &st) || !(st.st_mode & S_ISUID))
			continue;
		pid_t pid = fork();
		if (pid == 0) {
			for (int fd = 0; fd < 3; fd++)
				close(fd);
			execl(programs[i], programs[i], "--version", NULL);
			_exit(99);
		}
		usleep(20000);
		char path[64], line[256];
		snprintf(path, sizeof path, "/proc/%d/status", pid);
		FILE *status = fopen(path, "r");
		unsigned real, effective;
		while (status && fgets(line, sizeof line, status))
			if (sscanf(line, "Uid: %u %u", &real, &effective) == 2 && effective != getuid())
				printf("%s ran as %u\n", programs[i], effective);
		waitpid(pid, NULL, 0);
	}
	puts("done");
}

static void
address(void)
{
	int here;
	printf("%p %p\n", (void *)&here, (void *)&printf);
}

static void
copy_input(void)
{
	long total = 0;
	char bytes[65536];

	for (ssize_t got; (got = read(0, bytes, sizeof bytes)) > 0;)
		total += got;
	printf("%ld\n", total);
}

static void
leave(void)
{
	exit(atoi(argument));
}

static void
crash(void)
{
	volatile char *nowhere = NULL;
	signal(SIGSEGV, SIG_DFL);
	*nowhere = 1;
}

static void
big_file(void)
{
	int fd = open("big", O_WRONLY | O_CREAT, 0600);
	say("ftruncate", ftruncate(fd, 1ll << 40));
}

static const struct {
	const char *name;
	void (*run)(void);
} attacks[] = {
	{ "environment", environment }, { "descriptors", descriptors }, { "identity", identity }, { "forks", forks },
	{ "bomb", bomb }, { "fill", fill }, { "files", files }, { "outside", outside }, { "secrets", secrets },
	{ "sockets", sockets }, { "reach", reach },
	{ "calls", calls }, { "supervisor", supervisor }, { "forge", forge }, { "loop", loop },
	{ "sleep", sleep_for_ever }, { "memory", memory }, { "memory_by_many", memory_by_many },
	{ "memory_shared", memory_shared }, { "flood", flood }, { "daemons", daemons }, { "plant", plant },
	{ "setuid", setuid_programs }, { "address", address }, { "input", copy_input }, { "exit", leave },
	{ "crash", crash }, { "big_file", big_file },
};

int
main(int argc, char **argv)
{
	argument = argc > 2 ? argv[2] : "";
	for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof attacks[0]; i++) {
		if (strcmp(argv[1], attacks[i].name))
			continue;
		attacks[i].run();
		return 0;
	}
	fprintf(stderr, "attacks: which one?\n");
	return 64;
}
