/* km-record: calls solve() of a stranger's shared object against the stand-in runtime, in five processes.
 *
 * In: solution.so, the job that cuda_record wrote, a GPU profile, the recorder's libcudart.so.13; argv names all four
 * and the stem of the plans. Out: PLAN.0 to PLAN.4. Each is made by a child that starts from the same state; the
 * second has another stack, heap and load address, so that bytes nobody wrote differ, and the third has other device
 * addresses too. The fourth goes on calling, a thousand times and more, and the fifth calls on when what counts calls
 * was moved far ahead. Clocks, the process's number and the environment differ from child to child. With two sets of
 * arguments there is one child, which calls with the one and the other in turn. What the plans say is judged elsewhere:
 * this process shares its user with the candidate. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/die.h"
#include "cuda/job.h"
#include "cuda/record_counters.h"
#include "cuda/recorder/recorder.h"

/* The children, by number. */
enum { PLAIN, MOVED, SHIFTED, REPEATED, JUMPED, VARIANTS };
enum { CALLS = 2, CALLS_IN_TURN = 4, MAX_JOB_BYTES = 64 << 20, MAX_WAITS = 6 };
/* Of the repeated calls there are so many, and up to twice as many: it depends on the job, which nobody can know who
 * writes a solution. Their host code may take so long, all together. */
enum { LEAST_REPEATS = 1000, MOST_REPEAT_MS = 1000 };
#define OTHER_BASE 0x080000000000ull

static struct recorder_job job;
static struct gpu_profile profile;
static struct job_text parsed;
static unsigned job_digest;
static pid_t child;
static void *volatile heap_gap;

static struct {
	int (*start)(const struct recorder_job *);
	void *(*stream)(void);
	void (*loaded)(void);
	void (*call)(unsigned);
	void (*called)(void);
	void (*finish)(void);
	void (*refuse)(const char *, const char *);
	bool (*repeat)(void);
	void (*again)(void);
	bool (*enough)(void);
	void (*finish_repeated)(void);
} recorder;

/* ---- what differs from run to run of a program, and is no argument of solve(). Symbols of the program itself come
 * before those of the C library. */
static int64_t seconds_ahead;
static pid_t other_pid;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int status = (int)syscall(SYS_clock_gettime, clock, now);

	if (status == 0)
		now->tv_sec += seconds_ahead;
	return status;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &precise);
	*now = (struct timeval){ precise.tv_sec, precise.tv_nsec / 1000 };
	return 0;
}

time_t
time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

clock_t
clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (clock_t)(now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC));
}

pid_t
getpid(void)
{
	return other_pid ? other_pid : (pid_t)syscall(SYS_getpid);
}

static void
change_surroundings(int variant)
{
	static const int64_t days[VARIANTS] = { 0, 1, 400, 40, 4000 };

	seconds_ahead = days[variant] * 86400 + variant * 11;
	if (variant == PLAIN)
		return;
	other_pid = 4000 + 1777 * variant;
	setenv("HOME", "/home/user", 1);
	setenv("USER", "user", 1);
	setenv("LANG", "en_US.UTF-8", 1);
	setenv("CUDA_VISIBLE_DEVICES", "0", 1);
}

static void *
symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at)
		die(EX_SOFTWARE, "the recorder's library lacks %s", name);
	return at;
}

static void
load_recorder(const char *path)
{
	static const char *const common[] = { "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1" };
	void *library;

	/* Loaded before the candidate: afterwards no file can be opened. Missing ones are not an error here. */
	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		dlopen(common[i], RTLD_NOW | RTLD_GLOBAL);
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		die(EX_UNAVAILABLE, "the recorder's library does not load: %s", dlerror());
	recorder.start = (int (*)(const struct recorder_job *))symbol(library, "kernelmosaic_recorder_start");
	recorder.stream = (void *(*)(void))symbol(library, "kernelmosaic_recorder_stream");
	recorder.loaded = (void (*)(void))symbol(library, "kernelmosaic_loaded");
	recorder.call = (void (*)(unsigned))symbol(library, "kernelmosaic_recorder_call");
	recorder.called = (void (*)(void))symbol(library, "kernelmosaic_recorder_called");
	recorder.finish = (void (*)(void))symbol(library, "kernelmosaic_recorder_finish");
	recorder.refuse = (void (*)(const char *, const char *))symbol(library, "kernelmosaic_recorder_refuse");
	recorder.repeat = (bool (*)(void))symbol(library, "kernelmosaic_recorder_repeat");
	recorder.again = (void (*)(void))symbol(library, "kernelmosaic_recorder_again");
	recorder.enough = (bool (*)(void))symbol(library, "kernelmosaic_recorder_enough");
	recorder.finish_repeated = (void (*)(void))symbol(library, "kernelmosaic_recorder_finish_repeated");
}

/* The words that a call finds on its stack without having written them. */
static __attribute__((noinline)) void
fill_stack(int pattern)
{
	volatile uint64_t words[32 << 10];

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		words[i] = 0x0101010101010101u * (uint64_t)pattern;
}

/* Values are handed over by address: pointers to device memory, and scalars as they lie in memory. */
static void
enter(void (*entry)(void **), unsigned set)
{
	const struct job_argument *argument = parsed.argument[set];
	uint32_t arguments = parsed.arguments[set];
	uint64_t value[CUDA_MAX_ARGUMENTS + 1];
	void *pointer[CUDA_MAX_ARGUMENTS + 1];

	for (uint32_t i = 0; i < arguments; i++) {
		value[i] = argument[i].value + (argument[i].is_pointer ? job.shift : 0);
		pointer[i] = &value[i];
	}
	value[arguments] = (uint64_t)(uintptr_t)recorder.stream();
	pointer[arguments] = &value[arguments];
	entry(pointer);
}

static void
call_solve(void (*entry)(void **), unsigned index, int pattern)
{
	recorder.call(index);
	fill_stack(pattern);
	enter(entry, parsed.sets == 2 && index % 2 == 0);	/* the others come first */
	recorder.called();
}

/* Whatever it prints the other children have printed. */
static void
be_quiet(void)
{
	fflush(stdout);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
}

static bool
took_too_long(void)
{
	struct timespec used;

	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000 > MOST_REPEAT_MS;
}

static _Noreturn void
call_many_times(void (*entry)(void **))
{
	if (!recorder.repeat())
		recorder.finish();
	for (unsigned i = 0; i < LEAST_REPEATS + job_digest % LEAST_REPEATS && !took_too_long(); i++) {
		seconds_ahead += 3607;
		recorder.again();
		enter(entry, 0);
		if (recorder.enough())
			break;
	}
	recorder.finish_repeated();
	_exit(0);
}

/* Counters of calls are put where ten thousand, a million and a thousand million calls have them. */
static _Noreturn void
call_with_counters_ahead(void (*entry)(void **))
{
	static const uint32_t ahead[] = { 10000, 1000000, 1000000000 };
	struct rlimit cpu = { 2, 3 };

	setrlimit(RLIMIT_CPU, &cpu);
	if (!record_counters_watch((const void *)(uintptr_t)entry) || !recorder.repeat())
		recorder.finish();
	for (unsigned i = 0; i < 3 + sizeof ahead / sizeof *ahead; i++) {
		if (i >= 3 && !record_counters_jump(ahead[i - 3]))
			break;
		recorder.again();
		enter(entry, 0);
		if (recorder.enough())
			break;
		if (i < 3)
			record_counters_note();
	}
	recorder.finish_repeated();
	_exit(0);
}

static _Noreturn void
run_candidate(const char *path, int variant, int plan)
{
	static const int patterns[VARIANTS] = { 0x5a, 0xa5, 0xa5, 0x5a, 0x5a };
	struct rlimit cpu = { parsed.cpu_seconds, parsed.cpu_seconds + 1 };
	volatile char *gap = __builtin_alloca(variant ? 5 * 4096 + 48 : 16);
	void (*entry)(void **);
	void *solution;

	*gap = 0;
	job.plan_descriptor = plan;
	job.shift = variant == SHIFTED ? OTHER_BASE : 0;
	change_surroundings(variant);
	mallopt(M_PERTURB, patterns[variant]);
	setvbuf(stdout, NULL, _IOLBF, 0);	/* the process ends without flushing */
	setrlimit(RLIMIT_CPU, &cpu);
	signal(SIGPIPE, SIG_IGN);
	if (variant) {	/* everything mapped or allocated from now on lies elsewhere */
		mmap(NULL, 37 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		heap_gap = malloc(21 << 12);
	}
	if (recorder.start(&job) < 0)
		_exit(EX_OSERR);
	solution = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!solution)
		recorder.refuse("RUNTIME_ERROR", dlerror());
	recorder.loaded();
	entry = (void (*)(void **))dlsym(solution, "kernelmosaic_call");
	if (!entry)
		recorder.refuse("RUNTIME_ERROR", "the shared object has no solve()");
	if (variant >= REPEATED)
		be_quiet();
	for (unsigned i = 0; i < (parsed.sets == 2 ? CALLS_IN_TURN : CALLS); i++)
		call_solve(entry, i, patterns[variant]);
	if (variant == REPEATED)
		call_many_times(entry);
	if (variant == JUMPED)
		call_with_counters_ahead(entry);
	recorder.finish();
	_exit(0);
}

/* FNV-1a: a number that follows from the job. */
static unsigned
digest(const char *text)
{
	unsigned hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash >> 8;
}

static void
on_alarm(int signal_number)
{
	(void)signal_number;	/* it interrupts waitpid */
}

/* A child that sleeps at its deadline waits for something that will not come; one that wants to run waits for the
 * machine, and its own processor limit will end it. */
static bool
is_asleep(pid_t pid)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	const char *state;
	bool asleep;

	buf_addf(&path, "/proc/%d/stat", (int)pid);
	state = buf_read_file(&text, buf_str(&path), 4096, NULL) == 0 ? strrchr(buf_str(&text), ')') : NULL;
	asleep = state && state[1] == ' ' && state[2] == 'S';
	buf_release(&path);
	buf_release(&text);
	return asleep;
}

/* Waits for the child's end. True when it had to be ended. */
static bool
wait_for_child(int *status)
{
	bool late = false;

	for (int tries = 0; ; tries++) {
		alarm((unsigned)parsed.wall_seconds);
		if (waitpid(child, status, 0) == child)
			break;
		if (errno != EINTR)
			die(EX_OSERR, "cannot wait for a child:");
		if (!late && tries < MAX_WAITS && !is_asleep(child))
			continue;
		if (tries == MAX_WAITS)
			die(EX_TEMPFAIL, "solve() got no processor for %d times %llu s", MAX_WAITS,
				(unsigned long long)parsed.wall_seconds);
		late = true;
		kill(child, SIGKILL);
	}
	alarm(0);
	return late;
}

/* The child may have died without a word; then the words are ours. */
static void
explain(const char *plan, int status, bool late)
{
	struct buf text = BUF_INIT;
	int fd;

	if (late)
		buf_addf(&text, "refuse TIMEOUT solve() did not return within %llu s\n", (unsigned long long)parsed.wall_seconds);
	else if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU))
		buf_adds(&text, "refuse TIMEOUT the host code of solve() takes too much processor time\n");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)	/* glibc blocks all signals when it starts a thread */
		buf_adds(&text, "refuse UNSUPPORTED host code starts a thread or a process, which solve() may not\n");
	else if (WIFSIGNALED(status))
		buf_addf(&text, "refuse RUNTIME_ERROR host code was killed by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		buf_addf(&text, "refuse RUNTIME_ERROR host code ended the process with exit status %d\n", WEXITSTATUS(status));
	fd = open(plan, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
	if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len)
		die(EX_IOERR, "cannot write %s:", plan);
	close(fd);
	buf_release(&text);
}

/* 1 when there is a plan to go on with, 0 when the recording ended with a refusal. */
static int
record_once(const char *solution, const char *plan, int variant)
{
	int fd = open(plan, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), status;
	char head[8] = "";
	bool late;

	if (fd < 0)
		die(EX_CANTCREAT, "cannot write %s:", plan);
	child = fork();
	if (child < 0)
		die(EX_OSERR, "cannot fork:");
	if (!child)
		run_candidate(solution, variant, fd);
	late = wait_for_child(&status);
	if (!WIFEXITED(status) || WEXITSTATUS(status) || pread(fd, head, 5, 0) != 5)
		explain(plan, status, late);
	close(fd);
	fd = open(plan, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || pread(fd, head, 5, 0) < 0)
		die(EX_IOERR, "cannot read %s:", plan);
	close(fd);
	return !memcmp(head, "plan ", 5);
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct buf text = BUF_INIT, err = BUF_INIT, name = BUF_INIT;

	die_program = "km-record";
	if (argc != 6)
		die(EX_USAGE, "usage: km-record SOLUTION.so JOB PROFILE LIBCUDART PLAN; cuda_record runs it");
	if (buf_read_file(&text, argv[3], 1 << 20, &err) < 0 || profile_parse(buf_str(&text), &profile, &err) < 0)
		die(EX_DATAERR, "%s", buf_str(&err));
	buf_reset(&text);
	if (buf_read_file(&text, argv[2], MAX_JOB_BYTES, &err) < 0 || job_parse(buf_str(&text), &parsed, &err) < 0)
		die(EX_DATAERR, "%s", buf_str(&err));
	job_digest = digest(buf_str(&text));
	job = parsed.job;
	job.profile = &profile;
	load_recorder(argv[4]);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < (parsed.sets == 2 ? 1 : VARIANTS); i++) {
		buf_reset(&name);
		buf_addf(&name, "%s.%d", argv[5], i);
		if (!record_once(argv[1], buf_str(&name), i))
			break;
	}
	return 0;
}
