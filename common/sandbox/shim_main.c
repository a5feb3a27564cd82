/* km-shim: the supervisor inside the sandbox. In: a job on a memory file. Out: a report on the same file.
 * It runs with the program's own user id, beside a hostile program, and must not be lied to by it: it is
 * not dumpable (no ptrace, no /proc/1/fd or environ), it is process 1 where there is a pid namespace (no
 * signal reaches it), the memory file is closed in the program before it starts, and the report is
 * written when every other process is gone. Limits are set here because they must count inside. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/io.h"
#include "base/num.h"
#include "sandbox/collect.h"
#include "sandbox/landlock.h"
#include "sandbox/shim.h"
#include "sandbox/slot.h"

enum { LOOK_EVERY_NS = 20000000 };

struct job {
	struct shim_job head;
	struct sock_filter *filter;
	char **argv, **environment, **outputs;
	const char *const *rules;
	const char *work_folder, *out_folder;
	int fd, out_fd;
	uint64_t other_threads;	/* of the same user, not ours */
};

/* What the program's process says before it becomes the program. */
struct failure {
	int error;
	char step[60];
};

/* ---- the job */

static char **
take_strings(char **next, const char *end, uint32_t count)
{
	char **list = xcalloc((size_t)count + 1, sizeof *list);

	for (uint32_t i = 0; i < count; i++) {
		size_t room = (size_t)(end - *next), length = strnlen(*next, room);
		if (length == room)
			exit(SHIM_BAD_JOB);
		list[i] = *next;
		*next += length + 1;
	}
	return list;
}

static void
read_job(struct job *job)
{
	struct shim_job *head = &job->head;

	if (lseek(job->fd, 0, SEEK_SET) || io_read_fd(job->fd, head, sizeof *head) || head->magic != SHIM_JOB_MAGIC ||
	    head->filter_count > BPF_MAXINSNS || head->output_count > SHIM_MAX_OUTPUTS ||
	    head->string_bytes > SHIM_MAX_JOB_BYTES || !head->argv_count)
		exit(SHIM_BAD_JOB);
	job->filter = xcalloc(head->filter_count + 1, sizeof *job->filter);
	char *next = xmalloc(head->string_bytes + 1), *end = next + head->string_bytes;
	if (io_read_fd(job->fd, job->filter, head->filter_count * sizeof *job->filter) ||
	    io_read_fd(job->fd, next, head->string_bytes))
		exit(SHIM_BAD_JOB);
	job->argv = take_strings(&next, end, head->argv_count);
	job->environment = take_strings(&next, end, head->environment_count);
	char **folders = take_strings(&next, end, 2);
	job->work_folder = folders[0];
	job->out_folder = folders[1];
	job->outputs = take_strings(&next, end, head->output_count);
	job->rules = (const char *const *)take_strings(&next, end, head->rule_count);
}

/* Threads of our user that run already: RLIMIT_NPROC counts them too where the user is not ours alone. */
static uint64_t
count_threads(void)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	struct stat st;
	uint64_t count = 0;

	while (processes && (entry = readdir(processes))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
		    fstatat(dirfd(processes), entry->d_name, &st, 0) || st.st_uid != getuid())
			continue;
		char tasks[300];
		snprintf(tasks, sizeof tasks, "%.200s/task", entry->d_name);
		if (!fstatat(dirfd(processes), tasks, &st, 0) && st.st_nlink > 2)
			count += (uint64_t)st.st_nlink - 2;
	}
	if (processes)
		closedir(processes);
	return count;
}

/* ---- the program */

static void
limit(int what, uint64_t soft, uint64_t hard, const char **step, const char *name)
{
	struct rlimit r = { soft == SANDBOX_UNLIMITED ? RLIM_INFINITY : soft,
			    hard == SANDBOX_UNLIMITED ? RLIM_INFINITY : hard };
	struct rlimit old;

	if (*step || soft == SANDBOX_UNLIMITED)
		return;
	/* A limit that is lower already stays. */
	if (!getrlimit((__rlimit_resource_t)what, &old) && old.rlim_max != RLIM_INFINITY && old.rlim_max < r.rlim_max)
		r.rlim_max = old.rlim_max;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	if (setrlimit((__rlimit_resource_t)what, &r))
		*step = name;
}

/* NULL, or the name of the limit that could not be set. */
static const char *
set_limits(const struct job *job)
{
	const struct sandbox_limits *l = &job->head.limits;
	const char *failed = NULL;
	/* the supervisor itself counts as one */
	uint64_t processes = l->processes + 1 + job->other_threads;

	limit(RLIMIT_CPU, l->cpu_s, l->cpu_s + 1, &failed, "RLIMIT_CPU");
	limit(RLIMIT_AS, l->address_space_bytes, l->address_space_bytes, &failed, "RLIMIT_AS");
	limit(RLIMIT_DATA, l->data_bytes, l->data_bytes, &failed, "RLIMIT_DATA");
	limit(RLIMIT_FSIZE, job->head.file_bytes, job->head.file_bytes, &failed, "RLIMIT_FSIZE");
	limit(RLIMIT_NOFILE, l->open_files, l->open_files, &failed, "RLIMIT_NOFILE");
	limit(RLIMIT_NPROC, processes, processes, &failed, "RLIMIT_NPROC");
	limit(RLIMIT_CORE, 0, 0, &failed, "RLIMIT_CORE");
	limit(RLIMIT_MEMLOCK, 0, 0, &failed, "RLIMIT_MEMLOCK");
	limit(RLIMIT_MSGQUEUE, 0, 0, &failed, "RLIMIT_MSGQUEUE");
	limit(RLIMIT_SIGPENDING, 1024, 1024, &failed, "RLIMIT_SIGPENDING");
	return failed;
}

static int
load_filter(const struct job *job)
{
	struct sock_fprog program = { (unsigned short)job->head.filter_count, job->filter };

	if (!job->head.filter_count)
		return 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* The kernel's out-of-memory killer, should it come, takes the program before anything else. */
static void
offer_to_oom_killer(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) < 0) {
		/* Kernels that refuse lose only this courtesy. */
	}
	close(fd);
}

/* Returns the step that failed, with errno; otherwise the process has become the program. */
static const char *
become_program(const struct job *job)
{
	const char *step;
	bool confined = job->head.level == SANDBOX_LANDLOCK;
	sigset_t none;

	if (setsid() < 0)
		return "setsid";
	offer_to_oom_killer();
	if (chdir(job->work_folder))
		return "chdir";
	if (job->head.aslr_off && personality(ADDR_NO_RANDOMIZE) < 0)
		return "personality";
	if ((step = set_limits(job)))
		return step;
	umask(022);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (confined && sandbox_landlock_confine(job->rules, job->head.rule_count))
		return "Landlock";
	if (load_filter(job))
		return "seccomp";
	execve(job->argv[0], job->argv, job->environment);
	return "execve";
}

/* Starts the program; its pid, or -1 with *failure. */
static pid_t
start(const struct job *job, struct failure *failure)
{
	int pipe_fd[2];

	*failure = (struct failure){ 0 };
	if (pipe2(pipe_fd, O_CLOEXEC)) {
		*failure = (struct failure){ errno, "pipe" };
		return -1;
	}
	pid_t pid = fork();
	if (pid < 0) {
		*failure = (struct failure){ errno, "fork" };
		return -1;
	}
	if (pid == 0) {
		/* Nothing but the standard three and the pipe may reach the program: above all not job->fd. */
		if (dup3(pipe_fd[1], 3, O_CLOEXEC) != 3 && pipe_fd[1] != 3)
			_exit(127);
		syscall(SYS_close_range, 4u, ~0u, 0);
		const char *step = become_program(job);
		failure->error = errno;
		snprintf(failure->step, sizeof failure->step, "%s", step);
		if (write(3, failure, sizeof *failure) < 0)
			_exit(127);
		_exit(127);
	}
	close(pipe_fd[1]);
	if (io_read_fd(pipe_fd[0], failure, sizeof *failure))
		*failure = (struct failure){ 0 };
	close(pipe_fd[0]);
	if (!failure->error)
		return pid;
	waitpid(pid, NULL, 0);
	return -1;
}

/* ---- the wait */

struct tally {
	uint64_t user_ns, system_ns, peak_rss_bytes;
};

static uint64_t
timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Reaps one process if one has ended; its pid, 0 if none has, -1 if there is none at all. */
static pid_t
reap(int flags, int *status, struct tally *tally)
{
	struct rusage usage;
	pid_t pid;

	do
		pid = wait4(-1, status, flags | __WALL, &usage);
	while (pid < 0 && errno == EINTR);
	if (pid > 0) {
		uint64_t rss = (uint64_t)usage.ru_maxrss * 1024u;
		tally->user_ns += timeval_ns(usage.ru_utime);
		tally->system_ns += timeval_ns(usage.ru_stime);
		if (rss > tally->peak_rss_bytes)
			tally->peak_rss_bytes = rss;
	}
	return pid;
}

static bool
launcher_is_gone(const struct job *job)
{
	return job->head.launcher && getppid() != job->head.launcher;
}

/* Resident bytes of one process that no file backs: all of them, or, `exact` and slower, with shared
 * pages divided among those that share them. */
static uint64_t
resident_bytes(int process_folder, bool exact)
{
	char text[2048];
	int fd = exact ? openat(process_folder, "smaps_rollup", O_RDONLY | O_CLOEXEC) : -1;

	/* A process can deny this look at its mappings, but not the sizes. */
	if (fd < 0)
		fd = openat(process_folder, "statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	unsigned long long size, resident, shared, kib;
	const char *anonymous = exact ? strstr(text, "Pss_Anon:") : NULL;
	if (anonymous)
		return sscanf(anonymous, "Pss_Anon: %llu", &kib) == 1 ? kib << 10 : 0;
	if (sscanf(text, "%llu %llu %llu", &size, &resident, &shared) != 3)
		return 0;
	return (resident > shared ? resident - shared : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of all processes of our user but this one. */
static uint64_t
used_memory(bool exact)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	struct stat st;
	uint64_t total = 0;

	while (processes && (entry = readdir(processes))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		int fd = openat(dirfd(processes), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		/* In a namespace of our own all processes are the job's. */
		if (getpid() == 1 ? strcmp(entry->d_name, "1") != 0 : !fstat(fd, &st) && st.st_uid == getuid())
			total += resident_bytes(fd, exact);
		close(fd);
	}
	if (processes)
		closedir(processes);
	return total;
}

static bool
memory_is_over(const struct job *job)
{
	uint64_t max = job->head.limits.memory_bytes;

	return used_memory(false) > max && used_memory(true) > max;
}

/* Until the program ends (SANDBOX_EXITED, whatever its status) or one of the limits is met for which
 * this process has to look. The launcher's death counts as the end of the time. */
static enum sandbox_cause
wait_for(const struct job *job, pid_t program, int *status, struct tally *tally)
{
	uint64_t now = clock_ns(), deadline = now + job->head.limits.wall_ms * 1000000u;
	/* Processes of our user are ours, or else cannot be told apart. */
	bool watches_memory = job->head.limits.memory_bytes != SANDBOX_UNLIMITED && !job->head.shared_user;
	uint64_t next_look = watches_memory ? now + LOOK_EVERY_NS : UINT64_MAX;
	int times_over = 0;
	sigset_t watched;

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigaddset(&watched, SIGTERM);
	for (;; now = clock_ns()) {
		pid_t pid;
		while ((pid = reap(WNOHANG, status, tally)) > 0)
			if (pid == program)
				return SANDBOX_EXITED;
		if (now >= deadline || launcher_is_gone(job))
			return SANDBOX_WALL_CLOCK;
		if (now >= next_look) {
			/* Twice in a row: while processes that share memory end, one look may count it several times. */
			times_over = memory_is_over(job) ? times_over + 1 : 0;
			if (times_over == 2)
				return SANDBOX_MEMORY;
			next_look = now + LOOK_EVERY_NS;
		}
		uint64_t left = (deadline < next_look ? deadline : next_look) - now;
		struct timespec wait = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };
		sigtimedwait(&watched, NULL, &wait);
	}
}

struct family {
	pid_t members[4096];
	size_t count;
};

/* Adds the children of one thread. */
static void
add_children(struct family *family, const char *process, const char *thread)
{
	char path[700], text[8192];

	snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/children", process, thread);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	for (char *at = text, *end; family->count < sizeof family->members / sizeof family->members[0]; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			break;
		if (pid > 1)
			family->members[family->count++] = (pid_t)pid;
	}
}

/* Without a pid namespace and without a user of our own: all descendants, who, as we are their subreaper,
 * cannot leave us. Each loses the right to fork before its children are listed, so that few escape a pass. */
static void
kill_descendants(void)
{
	static struct family family;
	struct rlimit none = { 0, 0 };

	family = (struct family){ .members = { getpid() }, .count = 1 };
	for (size_t i = 0; i < family.count; i++) {
		char process[24], folder[64];
		struct dirent *entry;
		if (i)
			prlimit(family.members[i], RLIMIT_NPROC, &none, NULL);
		snprintf(process, sizeof process, "%d", (int)family.members[i]);
		snprintf(folder, sizeof folder, "/proc/%s/task", process);
		DIR *threads = opendir(folder);
		while (threads && (entry = readdir(threads)))
			if (entry->d_name[0] != '.')
				add_children(&family, process, entry->d_name);
		if (threads)
			closedir(threads);
	}
	for (size_t i = 1; i < family.count; i++)
		kill(family.members[i], SIGKILL);
}

/* Leaves no process of the job: kills and reaps until there is none, for at most 10 s. */
static void
kill_all(const struct job *job, pid_t program, int *status, struct tally *tally)
{
	uint64_t deadline = clock_ns() + 10000000000u;

	for (;;) {
		int ended;
		pid_t pid;
		if (job->head.shared_user)
			kill_descendants();
		else
			kill(-1, SIGKILL);
		while ((pid = reap(WNOHANG, &ended, tally)) > 0)
			if (pid == program)
				*status = ended;
		if (pid < 0 || clock_ns() > deadline)
			return;
		struct timespec pause = { 0, 500000 };
		nanosleep(&pause, NULL);
	}
}

/* ---- the report */

static void
set_end(const struct job *job, int status, enum sandbox_cause stopped, struct shim_report *report)
{
	uint64_t cpu_ns = report->user_ns + report->system_ns;
	/* The limit counts ticks, the usage nanoseconds: on a busy machine they differ by a tenth and more. */
	bool by_cpu = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || (WTERMSIG(status) == SIGKILL &&
		cpu_ns / 500000000u >= job->head.limits.cpu_s));

	report->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	report->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	report->cause = stopped != SANDBOX_EXITED ? stopped : WIFEXITED(status) ? SANDBOX_EXITED :
		by_cpu ? SANDBOX_CPU : SANDBOX_SIGNALLED;
}

static void
collect(const struct job *job, struct shim_report *report)
{
	if (ftruncate(job->fd, 0) || lseek(job->fd, sizeof *report, SEEK_SET) < 0)
		exit(SHIM_BAD_JOB);
	for (uint32_t i = 0; i < job->head.output_count; i++) {
		uint64_t bytes = 0;
		report->outputs[i].state = sandbox_collect(job->out_fd, job->outputs[i], job->head.output_max[i],
			job->fd, &bytes);
		report->outputs[i].bytes = bytes;
	}
}

static void
supervise(const struct job *job, struct shim_report *report)
{
	struct tally tally = { 0 };
	struct failure failure;
	int status = 0;
	uint64_t started = clock_ns();
	pid_t program = start(job, &failure);

	if (program < 0) {
		report->cause = SANDBOX_LAUNCH_FAILED;
		report->exit_status = -1;
		report->error = failure.error;
		snprintf(report->step, sizeof report->step, "%s", failure.step);
		return;
	}
	enum sandbox_cause stopped = wait_for(job, program, &status, &tally);
	kill_all(job, program, &status, &tally);
	report->wall_ns = clock_ns() - started;
	report->user_ns = tally.user_ns;
	report->system_ns = tally.system_ns;
	report->peak_rss_bytes = tally.peak_rss_bytes;
	set_end(job, status, stopped, report);
}

/* Makes this process hard to reach, and sure to end with its launcher. */
static void
secure(struct job *job)
{
	bool own_namespace = job->head.level == SANDBOX_NAMESPACES;
	sigset_t blocked;

	/* Later, kill(-1) must reach nobody but the job: check twice what it rests on. */
	if (own_namespace != (getpid() == 1))
		exit(SHIM_BAD_JOB);
	if (!own_namespace && !job->head.shared_user &&
	    (getuid() < SANDBOX_FIRST_UID || getuid() >= SANDBOX_FIRST_UID + SANDBOX_SLOTS || getuid() != geteuid()))
		exit(SHIM_BAD_JOB);
	sigfillset(&blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, own_namespace ? SIGKILL : SIGTERM, 0, 0, 0))
		exit(SHIM_BAD_JOB);
	if (own_namespace)
		return;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		exit(SHIM_BAD_JOB);
	if (job->head.shared_user)
		job->other_threads = count_threads();
}

int
main(int argc, char **argv)
{
	struct job job = { 0 };
	struct shim_report report = { 0 };
	uint64_t fd;

	die_program = "km-shim";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || argc != 2 || num_u64(argv[1], 3, 1 << 20, &fd))
		die(EX_USAGE, "this program is run by the sandbox, not by hand");
	job.fd = (int)fd;
	fcntl(job.fd, F_SETFD, FD_CLOEXEC);
	read_job(&job);
	secure(&job);
	job.out_fd = open(job.out_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (job.out_fd < 0)
		exit(SHIM_BAD_JOB);
	report.magic = SHIM_STARTED_MAGIC;
	if (ftruncate(job.fd, 0) || pwrite(job.fd, &report, sizeof report, 0) != sizeof report)
		exit(SHIM_BAD_JOB);
	supervise(&job, &report);
	collect(&job, &report);
	report.magic = SHIM_REPORT_MAGIC;
	if (pwrite(job.fd, &report, sizeof report, 0) != sizeof report)
		exit(SHIM_BAD_JOB);
	/* At once: nothing of the supervisor's own may be added to the program's output on the way out. */
	_exit(0);
}
