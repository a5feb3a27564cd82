/* km-record: calls solve() of a stranger's shared object against the stand-in runtime, in three processes.
 *
 * In: solution.so, the job that cuda_record wrote, a GPU profile, the recorder's libcudart.so.13; argv names all four
 * and the stem of the plans. Out: PLAN.0, PLAN.1, PLAN.2. Each is made by a child that starts from the same state; the
 * second has another stack, heap and load address, so that bytes nobody wrote differ, and the third has other device
 * addresses too. With two sets of arguments there is one child, which calls with the one and the other in turn. What
 * the plans say is judged elsewhere: this process shares its user with the candidate. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/die.h"
#include "cuda/job.h"
#include "cuda/recorder/recorder.h"

enum { VARIANTS = 3, CALLS = 2, CALLS_IN_TURN = 4, MAX_JOB_BYTES = 64 << 20, MAX_WAITS = 6 };
#define OTHER_BASE 0x080000000000ull

static struct recorder_job job;
static struct gpu_profile profile;
static struct job_text parsed;
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
} recorder;

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
}

/* The words that a call finds on its stack without having written them. */
static __attribute__((noinline)) void
fill_stack(int pattern)
{
	volatile char words[256 << 10];

	for (size_t i = 0; i < sizeof words; i++)
		words[i] = (char)pattern;
}

/* Values are handed over by address: pointers to device memory, and scalars as they lie in memory. */
static void
call_solve(void (*entry)(void **), unsigned index, int pattern)
{
	unsigned set = parsed.sets == 2 && index % 2 == 0;	/* the others come first */
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
	fill_stack(pattern);
	recorder.call(index);
	entry(pointer);
	recorder.called();
}

static _Noreturn void
run_candidate(const char *path, int variant, int plan)
{
	static const int patterns[VARIANTS] = { 0x5a, 0xa5, 0xa5 };
	struct rlimit cpu = { parsed.cpu_seconds, parsed.cpu_seconds + 1 };
	volatile char *gap = __builtin_alloca(variant ? 5 * 4096 + 48 : 16);
	void (*entry)(void **);
	void *solution;

	*gap = 0;
	job.plan_descriptor = plan;
	job.shift = variant == 2 ? OTHER_BASE : 0;
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
	for (unsigned i = 0; i < (parsed.sets == 2 ? CALLS_IN_TURN : CALLS); i++)
		call_solve(entry, i, patterns[variant]);
	recorder.finish();
	_exit(0);
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
