/* Running a job. In: a job. Out: what became of it, its output, its files.
 * Chain of processes: caller -> child -> bubblewrap -> km-shim -> program. The caller gathers inputs and takes a
 * user id, the child mounts (stage.c) and drops root, bubblewrap builds the view, km-shim sets limits,
 * waits, kills what is left and reports on a memory file. Whatever is missing or damaged in that report
 * is a failure of the sandbox, never a result of the program. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "sandbox/collect.h"
#include "sandbox/filter.h"
#include "sandbox/shim.h"
#include "sandbox/slot.h"
#include "sandbox/stage.h"

enum {
	GRACE_MS = 20000,	/* beyond wall_ms, for building the sandbox and for the end of it */
	INSIDE_UID = 60000,	/* what the program sees as its own id, always the same */
};

static const struct sandbox_limits default_limits = {
	.wall_ms = 60000, .cpu_s = 60, .address_space_bytes = 4ull << 30, .data_bytes = SANDBOX_UNLIMITED,
	.memory_bytes = 8ull << 30, .tmp_bytes = 256ull << 20, .out_bytes = 64ull << 20, .files = 4096,
	.processes = 64, .open_files = 256, .output_max_bytes = 1 << 20,
};

static const char *const default_environment[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LC_ALL=C", "TMPDIR=/tmp", NULL,
};

/* The host's system folders that programs and compilers need; a link on the host is a link inside. */
static const char *const system_paths[] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };
static const char *const system_files[] = { "/etc/alternatives", "/etc/ld.so.cache" };
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };
#define COUNT(array) (sizeof (array) / sizeof (array)[0])

/* Folders of the view that have other names on the host where there are no namespaces. */
enum folder { FOLDER_IN, FOLDER_OUT, FOLDER_TMP, FOLDER_LIBEXEC, FOLDERS };
static const char *const folder_names[FOLDERS] = { "/in", "/out", "/tmp", "/kernelmosaic" };

/* One run, with all that it has to give back. */
struct run {
	struct sandbox_job *job;
	enum sandbox_level level;
	struct sandbox_limits limits;
	struct stage stage;
	char *libexec;		/* host folder of km-shim */
	char *work;		/* private host folder, at the levels without namespaces */
	char *folders[FOLDERS];	/* host names of folder_names there */
	int slot_fd, job_fd;
	struct buf filter, strings, arguments;
};

/* ---- levels */

static const char *const level_names[] = { "unset", "none", "landlock", "namespaces" };

static pthread_mutex_t level_lock = PTHREAD_MUTEX_INITIALIZER;
static enum sandbox_level wanted_level = SANDBOX_NAMESPACES, found_level;
static bool level_checked;
static struct buf found_why = BUF_INIT;

const char *
sandbox_level_name(enum sandbox_level level)
{
	return (unsigned)level < COUNT(level_names) ? level_names[level] : "unknown";
}

static const char *
bubblewrap(void)
{
	static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };

	for (size_t i = 0; i < COUNT(places); i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

static int run_at(enum sandbox_level level, struct sandbox_job *job, struct sandbox_result *result, struct buf *err);

static bool
try_level(enum sandbox_level level, struct buf *why)
{
	static const char *const argv[] = { "/usr/bin/true", NULL };
	struct sandbox_job job = { .argv = argv, .limits = { .wall_ms = 10000 } };
	struct sandbox_result result;
	struct buf text = BUF_INIT;
	bool works = !run_at(level, &job, &result, &text) && result.cause == SANDBOX_EXITED && !result.exit_status;

	if (!works)
		buf_addf(why, "%s%s", why->len ? " " : "", text.len ? text.data : "A trial run of `true` failed.");
	buf_release(&text);
	return works;
}

/* With level_lock held. */
static void
find_level(void)
{
	if (found_level != SANDBOX_UNSET)
		return;
	found_level = SANDBOX_NONE;
	if (!bubblewrap())
		buf_adds(&found_why, "bubblewrap is missing (install the package bubblewrap).");
	else if (try_level(SANDBOX_NAMESPACES, &found_why))
		found_level = SANDBOX_NAMESPACES;
	if (found_level == SANDBOX_NONE && try_level(SANDBOX_LANDLOCK, &found_why))
		found_level = SANDBOX_LANDLOCK;
}

enum sandbox_level
sandbox_available(struct buf *why)
{
	pthread_mutex_lock(&level_lock);
	find_level();
	if (why && found_level < SANDBOX_NAMESPACES)
		buf_add(why, found_why.data, found_why.len);
	pthread_mutex_unlock(&level_lock);
	return found_level;
}

int
sandbox_require(enum sandbox_level level, struct buf *err)
{
	int failed = 0;

	pthread_mutex_lock(&level_lock);
	if (level != SANDBOX_UNSET)
		wanted_level = level;
	if (wanted_level > SANDBOX_NONE)
		find_level();
	if (wanted_level > SANDBOX_NONE && found_level < wanted_level)
		failed = buf_err(err, "No sandbox of level %s on this machine: %s Allow user namespaces here, or accept less "
			"with --sandbox %s.", level_names[wanted_level], buf_str(&found_why), level_names[found_level]);
	level_checked = !failed;
	pthread_mutex_unlock(&level_lock);
	return failed;
}

int
sandbox_option(const char *argument, struct buf *err)
{
	for (int level = SANDBOX_NONE; level <= SANDBOX_NAMESPACES; level++) {
		if (strcmp(argument, level_names[level]))
			continue;
		pthread_mutex_lock(&level_lock);
		wanted_level = (enum sandbox_level)level;
		level_checked = false;
		pthread_mutex_unlock(&level_lock);
		return 0;
	}
	return buf_err(err, "%s: a sandbox level is namespaces, landlock or none", argument);
}

/* ---- what the program is told */

static bool
begins_path(const char *word, size_t at)
{
	char c = at ? word[at - 1] : '=';
	bool inside_path = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/._-+~", c);

	return !inside_path || (at == 2 && word[0] == '-');
}

/* Whether a host path that the job binds stands at this place: it keeps its name, even below /tmp. */
static bool
begins_bind(const struct run *run, const char *at)
{
	for (size_t i = 1; i < run->stage.bind_count; i++) {
		size_t length = strlen(run->stage.bind_paths[i]);
		if (!strncmp(at, run->stage.bind_paths[i], length) && (!at[length] || at[length] == '/'))
			return true;
	}
	return false;
}

/* Appends a word with its NUL; without namespaces the view's folders get their host names. */
static void
add_word(struct run *run, const char *word)
{
	size_t at = 0;

	while (run->work && word[at]) {
		enum folder folder;
		size_t length = 0;
		for (folder = 0; folder < FOLDERS && begins_path(word, at); folder++) {
			length = strlen(folder_names[folder]);
			char next = strncmp(word + at, folder_names[folder], length) ? 'x' : word[at + length];
			if (!next || strchr("/:, \t\n;'\"", next))
				break;
		}
		if (begins_path(word, at) && folder < FOLDERS && !begins_bind(run, word + at)) {
			buf_adds(&run->strings, run->folders[folder]);
			at += length;
		} else {
			buf_addc(&run->strings, word[at++]);
		}
	}
	buf_adds(&run->strings, word + at);
	buf_addc(&run->strings, '\0');
}

static uint32_t
add_words(struct run *run, const char *const *words)
{
	uint32_t count = 0;

	for (; words[count]; count++)
		add_word(run, words[count]);
	return count;
}

static void
add_rule(struct run *run, uint32_t *count, char kind, const char *path)
{
	buf_addf(&run->strings, "%c%s", kind, path);
	buf_addc(&run->strings, '\0');
	++*count;
}

static uint32_t
add_rules(struct run *run)
{
	uint32_t count = 0;

	for (size_t i = 0; i < COUNT(system_paths); i++)
		add_rule(run, &count, 'r', system_paths[i]);
	for (size_t i = 0; i < COUNT(system_files); i++)
		add_rule(run, &count, 'r', system_files[i]);
	for (size_t i = 0; i < COUNT(devices); i++)
		add_rule(run, &count, strcmp(devices[i], "/dev/null") ? 'r' : 'w', devices[i]);
	for (size_t i = 1; i < run->stage.bind_count; i++)
		add_rule(run, &count, 'r', run->stage.bind_paths[i]);
	for (size_t i = 0; run->job->devices && run->job->devices[i]; i++)
		add_rule(run, &count, 'd', run->job->devices[i]);
	/* CUDA does not start where it cannot write its threads' names to /proc/PID/task/TID/comm. */
	add_rule(run, &count, run->job->devices ? 'd' : 'r', "/proc");
	add_rule(run, &count, 'r', run->folders[FOLDER_IN]);
	add_rule(run, &count, 'r', run->folders[FOLDER_LIBEXEC]);
	add_rule(run, &count, 'w', run->folders[FOLDER_TMP]);
	add_rule(run, &count, 'w', run->folders[FOLDER_OUT]);
	return count;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The memory file with the job for km-shim. */
static int
write_job(struct run *run, struct buf *err)
{
	const struct sandbox_job *job = run->job;
	bool confined = run->level != SANDBOX_NONE;
	struct shim_job head = {
		.magic = SHIM_JOB_MAGIC, .level = run->level, .aslr_off = job->aslr_off,
		.output_count = (uint32_t)job->output_count, .limits = run->limits,
		.shared_user = run->work && (!run->stage.as_root || run->slot_fd < 0), .launcher = run->work ? getpid() : 0,
		.file_bytes = larger(run->limits.tmp_bytes, run->limits.out_bytes),
	};

	enum sandbox_sockets sockets = run->level == SANDBOX_NAMESPACES ? SANDBOX_SOCKETS_ALL :
		job->devices ? SANDBOX_SOCKETS_LISTEN : SANDBOX_SOCKETS_NONE;
	if (confined && sandbox_filter(sockets, &run->filter, err))
		return -1;
	head.filter_count = (uint32_t)(run->filter.len / sizeof(struct sock_filter));
	head.argv_count = add_words(run, job->argv);
	head.environment_count = add_words(run, job->environment ? job->environment : default_environment);
	add_word(run, job->work_in_out ? "/out" : "/tmp");
	add_word(run, "/out");
	for (size_t i = 0; i < job->output_count; i++) {
		buf_add(&run->strings, job->outputs[i].name, strlen(job->outputs[i].name) + 1);
		head.output_max[i] = job->outputs[i].max_bytes ? job->outputs[i].max_bytes : 64ull << 20;
	}
	if (run->level == SANDBOX_LANDLOCK)
		head.rule_count = add_rules(run);
	head.string_bytes = run->strings.len;
	if (head.string_bytes > SHIM_MAX_JOB_BYTES)
		return buf_err(err, "The arguments and environment of a sandbox take at most %d bytes.", SHIM_MAX_JOB_BYTES);
	run->job_fd = memfd_create("sandbox", MFD_CLOEXEC);
	if (run->job_fd < 0 || io_write_fd(run->job_fd, &head, sizeof head) ||
	    io_write_fd(run->job_fd, run->filter.data, run->filter.len) ||
	    io_write_fd(run->job_fd, run->strings.data, run->strings.len))
		return buf_err(err, "The sandbox's job cannot be written: %s.", strerror(errno));
	return 0;
}

/* ---- the view by bubblewrap */

static void
argument(struct run *run, const char *text)
{
	buf_add(&run->arguments, text, strlen(text) + 1);
}

static void
arguments(struct run *run, const char *option, const char *from, const char *to)
{
	argument(run, option);
	argument(run, from);
	if (to)
		argument(run, to);
}

static void
add_system(struct run *run)
{
	for (size_t i = 0; i < COUNT(system_paths); i++) {
		const char *path = system_paths[i];
		struct stat st;
		char target[256];
		if (lstat(path, &st))
			continue;
		ssize_t length = S_ISLNK(st.st_mode) ? readlink(path, target, sizeof target - 1) : -1;
		if (length > 0) {
			target[length] = '\0';
			arguments(run, "--symlink", target, path);
		} else {
			arguments(run, "--ro-bind", path, path);
		}
	}
	for (size_t i = 0; i < COUNT(system_files); i++)
		arguments(run, "--ro-bind-try", system_files[i], system_files[i]);
	for (size_t i = 0; i < COUNT(devices); i++)
		arguments(run, "--dev-bind", devices[i], devices[i]);
	for (size_t i = 0; run->job->devices && run->job->devices[i]; i++)
		arguments(run, "--dev-bind-try", run->job->devices[i], run->job->devices[i]);
	arguments(run, "--symlink", "/proc/self/fd", "/dev/fd");
	arguments(run, "--symlink", "/proc/self/fd/0", "/dev/stdin");
	arguments(run, "--symlink", "/proc/self/fd/1", "/dev/stdout");
	arguments(run, "--symlink", "/proc/self/fd/2", "/dev/stderr");
}

/* The command line: namespaces, then mounts in order, then the root made read-only, then km-shim. */
static void
add_bubblewrap(struct run *run, const char *program)
{
	static const char *const flags[] = { "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent",
		"--new-session", "--as-pid-1" };
	char number[24];

	argument(run, program);
	for (size_t i = 0; i < COUNT(flags); i++)
		argument(run, flags[i]);
	snprintf(number, sizeof number, "%d", INSIDE_UID);
	arguments(run, "--uid", number, NULL);
	arguments(run, "--gid", number, NULL);
	arguments(run, "--hostname", "kernelmosaic", NULL);
	add_system(run);
	arguments(run, "--proc", "/proc", NULL);
	arguments(run, "--ro-bind", STAGE_FOLDER "/in", "/in");
	arguments(run, "--bind", STAGE_FOLDER "/tmp", "/tmp");
	arguments(run, "--bind", STAGE_FOLDER "/out", "/out");
	for (size_t i = 0; i < run->stage.bind_count; i++) {
		char from[32];
		snprintf(from, sizeof from, STAGE_FOLDER "/b%zu", i);
		arguments(run, "--ro-bind", from, i ? run->stage.bind_paths[i] : folder_names[FOLDER_LIBEXEC]);
	}
	arguments(run, "--remount-ro", "/", NULL);
	argument(run, "--");
	argument(run, "/kernelmosaic/km-shim");
}

/* ---- without namespaces */

static bool
others_may_enter(const char *path)
{
	struct buf prefix = BUF_INIT;
	bool may = true;

	for (size_t i = 1; may; i++) {
		if (path[i] && path[i] != '/')
			continue;
		struct stat st;
		buf_reset(&prefix);
		buf_add(&prefix, path, i);
		may = !stat(prefix.data, &st) && (st.st_mode & 05) == 05;
		if (!path[i])
			break;
	}
	buf_release(&prefix);
	return may;
}

static int
make_folder(struct run *run, enum folder folder, mode_t mode, bool give_away, struct buf *err)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s%s", run->work, folder_names[folder]);
	run->folders[folder] = buf_detach(&path);
	if (mkdir(run->folders[folder], mode) || chmod(run->folders[folder], mode) ||
	    (give_away && run->stage.as_root && chown(run->folders[folder], run->stage.uid, run->stage.gid)))
		return buf_err(err, "%s: cannot be made: %s.", run->folders[folder], strerror(errno));
	return 0;
}

static int
fill_folder(const struct stage *stage, const char *path, struct buf *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int failed = fd < 0 || stage_write_files(stage, fd);

	if (failed)
		buf_err(err, "%s: the input files cannot be written: %s.", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return failed ? -1 : 0;
}

/* Folders of the host in the place of the view. A toolkit below a closed folder is copied. */
static int
make_work(struct run *run, struct buf *err)
{
	run->work = io_temp_dir("km-sandbox", err);
	if (!run->work)
		return -1;
	if (chmod(run->work, 0711))
		return buf_err(err, "%s: %s.", run->work, strerror(errno));
	if (make_folder(run, FOLDER_IN, 0755, false, err) || make_folder(run, FOLDER_TMP, 0700, true, err) ||
	    make_folder(run, FOLDER_OUT, 0700, true, err) ||
	    fill_folder(&run->stage, run->folders[FOLDER_IN], err))
		return -1;
	if (!run->stage.as_root || others_may_enter(run->libexec)) {
		run->folders[FOLDER_LIBEXEC] = xstrdup(run->libexec);
		return 0;
	}
	struct stage copy = { 0 };
	int failed = stage_add_path(&copy, folder_names[FOLDER_LIBEXEC] + 1, run->libexec, err) ||
		fill_folder(&copy, run->work, err);
	stage_release(&copy);
	struct buf path = BUF_INIT;
	buf_addf(&path, "%s%s", run->work, folder_names[FOLDER_LIBEXEC]);
	run->folders[FOLDER_LIBEXEC] = buf_detach(&path);
	return failed ? -1 : 0;
}

/* ---- one run */

static void
take_defaults(struct sandbox_limits *limits)
{
	uint64_t *field = (uint64_t *)limits;
	const uint64_t *fallback = (const uint64_t *)&default_limits;

	for (size_t i = 0; i < sizeof *limits / sizeof *field; i++)
		if (!field[i])
			field[i] = fallback[i];
}

static int
check_job(const struct sandbox_job *job, struct buf *err)
{
	if (!job->argv || !job->argv[0] || job->argv[0][0] != '/')
		return buf_err(err, "A sandboxed program is named by an absolute path.");
	if (job->output_count > SHIM_MAX_OUTPUTS)
		return buf_err(err, "A sandbox gives back at most %d files.", SHIM_MAX_OUTPUTS);
	for (size_t i = 0; i < job->output_count; i++) {
		const struct sandbox_output *output = &job->outputs[i];
		if (!sandbox_plain_name(output->name))
			return buf_err(err, "%s: not a plain name for an output of the sandbox.",
				output->name ? output->name : "(none)");
		if (!output->content && !job->output_folder)
			return buf_err(err, "%s: no folder to put this output in.", output->name);
	}
	return 0;
}

static int
gather(struct run *run, struct buf *err)
{
	const struct sandbox_job *job = run->job;
	uid_t uid = 0;

	/* Beside km-shim stand the programs that run inside. */
	char *shim = spawn_libexec("km-shim");
	if (access(shim, F_OK)) {
		buf_err(err, "%s: missing; build or install the toolkit as a whole.", shim);
		free(shim);
		return -1;
	}
	*strrchr(shim, '/') = '\0';
	run->libexec = shim;
	if (stage_bind(&run->stage, run->libexec, err))
		return -1;
	for (size_t i = 0; job->binds && job->binds[i]; i++)
		if (stage_bind(&run->stage, job->binds[i], err))
			return -1;
	for (size_t i = 0; i < job->input_count; i++)
		if (stage_add(&run->stage, &job->inputs[i], err))
			return -1;
	if (geteuid() == 0 && run->level != SANDBOX_NONE && !(uid = sandbox_slot_take(&run->slot_fd)))
		return buf_err(err, "All %d user ids for sandboxes are in use.", SANDBOX_SLOTS);
	stage_plan(&run->stage, uid, &run->limits);
	return 0;
}

/* The words of run->arguments as an argv, returned owned. */
static char **
argument_list(struct run *run)
{
	char **list = NULL;
	size_t count = 0;

	for (size_t at = 0; at < run->arguments.len; at += strlen(run->arguments.data + at) + 1) {
		list = xrealloc(list, (count + 2) * sizeof *list);
		list[count++] = run->arguments.data + at;
		list[count] = NULL;
	}
	return list;
}

/* As spawn_run; a program that does not read its input must not end ours by SIGPIPE. */
static int
spawn_quietly(const struct spawn *how, struct spawn_result *result, struct buf *err)
{
	sigset_t pipe_only, before, pending;
	struct timespec no_wait = { 0, 0 };

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	int failed = spawn_run(how, result, err);
	if (!sigismember(&pending, SIGPIPE))
		while (sigtimedwait(&pipe_only, NULL, &no_wait) > 0)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static int
launch(struct run *run, struct spawn_result *spawned, struct buf *errors, struct buf *err)
{
	const struct sandbox_job *job = run->job;
	char number[16];
	const char *program = bubblewrap();
	bool namespaces = run->level == SANDBOX_NAMESPACES;

	if (namespaces && !program)
		return buf_err(err, "bubblewrap is missing (install the package bubblewrap).");
	if (namespaces) {
		add_bubblewrap(run, program);
	} else {
		buf_addf(&run->arguments, "%s/km-shim", run->folders[FOLDER_LIBEXEC]);
		buf_addc(&run->arguments, '\0');
	}
	snprintf(number, sizeof number, "%d", run->job_fd);
	argument(run, number);
	run->stage.report_fd = run->job_fd;
	char **argv = argument_list(run);
	run->stage.argv = argv;
	int keep[] = { run->job_fd, -1 };
	struct spawn how = {
		.argv = argv, .input = job->stdin_bytes, .input_bytes = job->stdin_count, .input_fd = job->stdin_fd,
		.output = job->output, .errors = errors, .output_max = (size_t)run->limits.output_max_bytes,
		.wall_ms = run->limits.wall_ms + GRACE_MS, .keep_fds = keep,
		.prepare = namespaces ? stage_prepare : stage_drop, .context = &run->stage,
	};
	int failed = spawn_quietly(&how, spawned, err);
	free(argv);
	return failed;
}

/* ---- the report */

static int
read_at(int fd, void *into, size_t count, uint64_t at)
{
	for (size_t done = 0; done < count;) {
		ssize_t got = pread(fd, (char *)into + done, count - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int
take_output(struct run *run, struct sandbox_output *output, uint64_t at, struct buf *err)
{
	struct buf bytes = BUF_INIT, path = BUF_INIT;
	struct buf *into = output->content ? output->content : &bytes;
	int failed;

	buf_reserve(into, output->bytes + 1);
	failed = read_at(run->job_fd, into->data + into->len, output->bytes, at);
	if (failed)
		buf_err(err, "%s: the sandbox's report ends before this output.", output->name);
	else
		into->len += output->bytes;
	into->data[into->len] = '\0';
	if (!failed && !output->content) {
		buf_addf(&path, "%s/%s", run->job->output_folder, output->name);
		failed = io_write_file(path.data, bytes.len ? bytes.data : "", bytes.len, err);
	}
	buf_release(&bytes);
	buf_release(&path);
	return failed;
}

static int
take_outputs(struct run *run, const struct shim_report *report, struct buf *err)
{
	uint64_t at = sizeof *report;

	for (size_t i = 0; i < run->job->output_count; i++) {
		struct sandbox_output *output = &run->job->outputs[i];
		uint64_t max = output->max_bytes ? output->max_bytes : 64ull << 20;
		output->state = report->outputs[i].state;
		output->bytes = report->outputs[i].bytes;
		if (output->state > SANDBOX_FILE_TOO_LARGE || output->bytes > max)
			return buf_err(err, "The sandbox's report is damaged.");
		if (output->state == SANDBOX_FILE_OK && take_output(run, output, at, err))
			return -1;
		at += output->bytes;
	}
	return 0;
}

/* What the launcher or bubblewrap said, on one line. */
static int
launch_failure(const struct buf *errors, size_t before, const struct spawn_result *spawned, struct buf *err)
{
	const char *said = buf_str(errors) + (before < errors->len ? before : errors->len);
	size_t length = strcspn(said, "\n");

	if (spawned->timed_out)
		return buf_err(err, "The sandbox did not answer within its time.");
	if (length)
		return buf_err(err, "The sandbox could not start: %.*s.", length > 300 ? 300 : (int)length, said);
	return buf_err(err, "The sandbox could not start (exit status %d, signal %d).", spawned->exit_status,
		spawned->signal);
}

static int
take_report(struct run *run, const struct spawn_result *spawned, struct sandbox_result *result,
	const struct buf *errors, size_t before, struct buf *err)
{
	struct shim_report report;
	bool readable = !read_at(run->job_fd, &report, sizeof report, 0);

	if (readable && report.magic == SHIM_STARTED_MAGIC && (spawned->timed_out || (run->work && spawned->signal == SIGKILL))) {
		/* A program that starves its supervisor, or kills it where it can, is the cause of that end. */
		result->cause = spawned->timed_out ? SANDBOX_WALL_CLOCK : SANDBOX_SIGNALLED;
		result->signal = SIGKILL;
		result->output_cut = spawned->output_cut;
		result->wall_ns = spawned->wall_ns;
		return 0;
	}
	if (!readable || report.magic != SHIM_REPORT_MAGIC)
		return launch_failure(errors, before, spawned, err);
	report.step[sizeof report.step - 1] = '\0';
	if (report.cause == SANDBOX_LAUNCH_FAILED && !strcmp(report.step, "execve"))
		return buf_err(err, "%s: cannot be run in the sandbox: %s.", run->job->argv[0], strerror(report.error));
	if (report.cause >= SANDBOX_LAUNCH_FAILED)
		return buf_err(err, "The sandbox could not start: %s: %s.", report.step, strerror(report.error));
	result->cause = report.cause;
	result->exit_status = report.exit_status;
	result->signal = report.signal;
	result->output_cut = spawned->output_cut;
	result->wall_ns = report.wall_ns;
	result->user_ns = report.user_ns;
	result->system_ns = report.system_ns;
	result->peak_rss_bytes = report.peak_rss_bytes;
	return take_outputs(run, &report, err);
}

static void
release_run(struct run *run)
{
	struct buf ignored = BUF_INIT;

	if (run->work)
		io_remove_tree(run->work, &ignored);
	free(run->work);
	for (int i = 0; i < FOLDERS; i++)
		free(run->folders[i]);
	free(run->libexec);
	stage_release(&run->stage);
	if (run->job_fd >= 0)
		close(run->job_fd);
	if (run->slot_fd >= 0)
		close(run->slot_fd);
	buf_release(&run->filter);
	buf_release(&run->strings);
	buf_release(&run->arguments);
	buf_release(&ignored);
}

static int
run_at(enum sandbox_level level, struct sandbox_job *job, struct sandbox_result *result, struct buf *err)
{
	struct run run = { .job = job, .level = level, .limits = job->limits, .slot_fd = -1, .job_fd = -1 };
	struct spawn_result spawned;
	struct buf own_errors = BUF_INIT;
	struct buf *errors = job->errors ? job->errors : &own_errors;
	size_t before = errors->len;
	int failed = -1;

	*result = (struct sandbox_result){ .cause = SANDBOX_LAUNCH_FAILED, .exit_status = -1 };
	for (size_t i = 0; i < job->output_count; i++) {
		job->outputs[i].state = SANDBOX_FILE_MISSING;
		job->outputs[i].bytes = 0;
	}
	take_defaults(&run.limits);
	if (!check_job(job, err) && !gather(&run, err) && (level == SANDBOX_NAMESPACES || !make_work(&run, err)) &&
	    !write_job(&run, err) && !launch(&run, &spawned, errors, err))
		failed = take_report(&run, &spawned, result, errors, before, err);
	if (failed)
		result->cause = SANDBOX_LAUNCH_FAILED;
	result->level = level;
	release_run(&run);
	buf_release(&own_errors);
	return failed ? -1 : 0;
}

int
sandbox_run(struct sandbox_job *job, struct sandbox_result *result, struct buf *err)
{
	pthread_mutex_lock(&level_lock);
	enum sandbox_level level = wanted_level;
	bool checked = level_checked;
	pthread_mutex_unlock(&level_lock);
	if (!checked && sandbox_require(SANDBOX_UNSET, err)) {
		*result = (struct sandbox_result){ .cause = SANDBOX_LAUNCH_FAILED, .exit_status = -1 };
		return -1;
	}
	return run_at(level, job, result, err);
}

void
sandbox_describe(const struct sandbox_job *job, const struct sandbox_result *result, struct buf *text)
{
	uint64_t wall_ms = job->limits.wall_ms ? job->limits.wall_ms : default_limits.wall_ms;
	uint64_t cpu_s = job->limits.cpu_s ? job->limits.cpu_s : default_limits.cpu_s;
	uint64_t memory_bytes = job->limits.memory_bytes ? job->limits.memory_bytes : default_limits.memory_bytes;

	switch (result->cause) {
	case SANDBOX_EXITED:
		buf_addf(text, "exit status %d", result->exit_status);
		break;
	case SANDBOX_SIGNALLED:
		buf_addf(text, "signal %d (%s)", result->signal, strsignal(result->signal));
		break;
	case SANDBOX_WALL_CLOCK:
		buf_addf(text, "the wall clock of %g s", (double)wall_ms / 1000);
		break;
	case SANDBOX_CPU:
		buf_addf(text, "the processor limit of %llu s", (unsigned long long)cpu_s);
		break;
	case SANDBOX_MEMORY:
		buf_addf(text, "the memory limit of %llu MiB", (unsigned long long)(memory_bytes >> 20));
		break;
	case SANDBOX_LAUNCH_FAILED:
		buf_adds(text, "a failure of the sandbox");
		break;
	}
}
