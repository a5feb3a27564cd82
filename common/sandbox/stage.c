/* Staging. In: inputs, host folders, sizes. Out: a mount namespace that bubblewrap takes its folders from.
 * bubblewrap cannot bound the number of files of a tmpfs, nor, having dropped root, reach a file in
 * somebody's mode 700 folder. So the tmpfs mounts are made here, sized and counted, the inputs are copied
 * onto one of them, and the toolkit's folder is bound by descriptor, all in a private mount namespace
 * over /tmp, while the child is still root (or root of a user namespace of its own). bubblewrap also has
 * moments in which the death of its parent goes unnoticed; so it runs as process 1 of a pid namespace that
 * the kernel clears when this child goes, which goes when the caller goes. */
#include "sandbox/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/die.h"
#include "sandbox/collect.h"
#include "sandbox/shim.h"

/* ---- gathering, in the caller */

static struct stage_file *
new_file(struct stage *stage, const char *name, struct buf *err)
{
	if (stage->file_count == STAGE_MAX_FILES) {
		buf_err(err, "%s: a sandbox takes at most %d input files.", name, STAGE_MAX_FILES);
		return NULL;
	}
	stage->files = xrealloc(stage->files, (stage->file_count + 1) * sizeof *stage->files);
	struct stage_file *file = &stage->files[stage->file_count++];
	*file = (struct stage_file){ .name = xstrdup(name) };
	return file;
}

static int
count_bytes(struct stage *stage, const char *name, uint64_t bytes, struct buf *err)
{
	stage->file_bytes += bytes;
	if (stage->file_bytes > STAGE_MAX_BYTES)
		return buf_err(err, "%s: a sandbox takes at most %llu bytes of input.", name, STAGE_MAX_BYTES);
	return 0;
}

static int add_fd(struct stage *stage, const char *name, int fd, int depth, struct buf *err);

static int
add_folder(struct stage *stage, const char *name, int fd, int depth, struct buf *err)
{
	struct stage_file *file = new_file(stage, name, err);
	DIR *folder;
	struct dirent *entry;
	int failed = 0;

	if (!file)
		return -1;
	file->is_folder = true;
	if (depth > 8)
		return buf_err(err, "%s: input folders may be 8 deep.", name);
	if ((fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 || !(folder = fdopendir(fd)))
		return buf_err(err, "%s: cannot be read: %s.", name, strerror(errno));
	while (!failed && (entry = readdir(folder))) {
		struct buf path = BUF_INIT;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		buf_addf(&path, "%s/%s", name, entry->d_name);
		int inner = openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
		failed = add_fd(stage, buf_str(&path), inner, depth + 1, err);
		if (inner >= 0)
			close(inner);
		buf_release(&path);
	}
	closedir(folder);
	return failed;
}

static int
add_fd(struct stage *stage, const char *name, int fd, int depth, struct buf *err)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return buf_err(err, "%s: cannot be read: %s.", name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return add_folder(stage, name, fd, depth, err);
	if (!S_ISREG(st.st_mode))
		return buf_err(err, "%s: an input must be a file or a folder.", name);
	struct stage_file *file = new_file(stage, name, err);
	if (!file)
		return -1;
	file->executable = st.st_mode & 0100;
	if (buf_read_fd(&file->content, fd, (size_t)(STAGE_MAX_BYTES - stage->file_bytes)))
		return buf_err(err, "%s: cannot be read: %s.", name, strerror(errno));
	return count_bytes(stage, name, file->content.len, err);
}

int
stage_add_path(struct stage *stage, const char *name, const char *path, struct buf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return buf_err(err, "%s: cannot be opened: %s.", path, strerror(errno));
	int failed = add_fd(stage, name, fd, 0, err);
	close(fd);
	return failed;
}

int
stage_add(struct stage *stage, const struct sandbox_input *input, struct buf *err)
{
	if (!sandbox_plain_name(input->name))
		return buf_err(err, "%s: not a plain name for an input of the sandbox.",
			input->name ? input->name : "(none)");
	if (input->path)
		return stage_add_path(stage, input->name, input->path, err);
	struct stage_file *file = new_file(stage, input->name, err);
	if (!file || count_bytes(stage, input->name, input->count, err))
		return -1;
	file->executable = input->executable;
	buf_add(&file->content, input->bytes, input->count);
	return 0;
}

int
stage_bind(struct stage *stage, const char *path, struct buf *err)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT ? 0 : buf_err(err, "%s: %s.", path, strerror(errno));
	if (path[0] != '/' || stage->bind_count == STAGE_MAX_BINDS)
		return buf_err(err, "%s: at most %d absolute paths can be bound.", path, STAGE_MAX_BINDS);
	stage->bind_is_folder[stage->bind_count] = S_ISDIR(st.st_mode);
	stage->bind_paths[stage->bind_count++] = path;
	return 0;
}

void
stage_plan(struct stage *stage, uid_t uid, const struct sandbox_limits *limits)
{
	unsigned long long files = limits->files + 1;

	stage->as_root = uid != 0;
	stage->caller = getpid();
	stage->caller_uid = geteuid();
	stage->caller_gid = getegid();
	stage->uid = uid ? uid : stage->caller_uid;
	stage->gid = uid ? (gid_t)uid : stage->caller_gid;
	/* A file takes whole pages, and each its share of the folder: 8 KiB a file is plenty. */
	snprintf(stage->in_options, sizeof stage->in_options, "mode=755,size=%llu,nr_inodes=%zu",
		(unsigned long long)stage->file_bytes + 8192ull * (stage->file_count + 1), stage->file_count + 2);
	snprintf(stage->tmp_options, sizeof stage->tmp_options, "mode=700,uid=%u,gid=%u,size=%llu,nr_inodes=%llu",
		stage->uid, stage->gid, (unsigned long long)limits->tmp_bytes, files);
	snprintf(stage->out_options, sizeof stage->out_options, "mode=700,uid=%u,gid=%u,size=%llu,nr_inodes=%llu",
		stage->uid, stage->gid, (unsigned long long)limits->out_bytes, files);
	snprintf(stage->uid_map, sizeof stage->uid_map, "%u %u 1", stage->caller_uid, stage->caller_uid);
	snprintf(stage->gid_map, sizeof stage->gid_map, "%u %u 1", stage->caller_gid, stage->caller_gid);
}

void
stage_release(struct stage *stage)
{
	for (size_t i = 0; i < stage->file_count; i++) {
		free(stage->files[i].name);
		buf_release(&stage->files[i].content);
	}
	free(stage->files);
	*stage = (struct stage){ 0 };
}

/* ---- putting up, in the child: async-signal-safe calls only */

static int
write_file(int folder_fd, const struct stage_file *file)
{
	int fd = openat(folder_fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t done = 0;

	if (fd < 0)
		return -1;
	while (done < file->content.len) {
		ssize_t put = write(fd, file->content.data + done, file->content.len - done);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			break;
		done += (size_t)put;
	}
	int failed = done < file->content.len || fchmod(fd, file->executable ? 0555 : 0444);
	close(fd);
	return failed ? -1 : 0;
}

int
stage_write_files(const struct stage *stage, int folder_fd)
{
	for (size_t i = 0; i < stage->file_count; i++) {
		const struct stage_file *file = &stage->files[i];
		if (file->is_folder ? mkdirat(folder_fd, file->name, 0755) : write_file(folder_fd, file))
			return -1;
	}
	return 0;
}

static int
fail(const struct stage *stage, const char *step)
{
	struct shim_report report = { .magic = SHIM_REPORT_MAGIC, .cause = SANDBOX_LAUNCH_FAILED, .exit_status = -1,
		.error = errno };

	for (size_t i = 0; i + 1 < sizeof report.step && step[i]; i++)
		report.step[i] = step[i];
	if (pwrite(stage->report_fd, &report, sizeof report, 0) != sizeof report)
		return -1;
	return -1;
}

static int
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);

	if (fd < 0)
		return -1;
	ssize_t put = write(fd, text, length);
	close(fd);
	return put == (ssize_t)length ? 0 : -1;
}

/* A mount namespace in which this process may mount. */
static const char *
enter_namespace(const struct stage *stage)
{
	if (stage->as_root) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID))
			return "a mount namespace";
	} else {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID))
			return "a user namespace";
		if (write_text("/proc/self/setgroups", "deny") || write_text("/proc/self/uid_map", stage->uid_map) ||
		    write_text("/proc/self/gid_map", stage->gid_map))
			return "the user map of a user namespace";
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		return "private mounts";
	return NULL;
}

/* "/tmp/b7" for 7. */
static void
bind_target(size_t number, char path[16])
{
	const char *folder = STAGE_FOLDER "/b";
	size_t at = 0;

	for (; folder[at]; at++)
		path[at] = folder[at];
	if (number >= 10)
		path[at++] = (char)('0' + number / 10);
	path[at++] = (char)('0' + number % 10);
	path[at] = '\0';
}

static int
bind_fd(int fd, size_t number, bool is_folder)
{
	char source[32] = "/proc/self/fd/", target[16];
	size_t at = strlen(source);

	for (int scale = 1000; scale; scale /= 10)
		if (fd >= scale || scale == 1)
			source[at++] = (char)('0' + fd / scale % 10);
	bind_target(number, target);
	int made = is_folder ? mkdir(target, 0755) : open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (made < 0)
		return -1;
	if (!is_folder)
		close(made);
	return mount(source, target, NULL, MS_BIND | MS_REC, NULL);
}

static const char *
mount_folders(const struct stage *stage)
{
	static const char *const folders[] = { STAGE_FOLDER "/in", STAGE_FOLDER "/tmp", STAGE_FOLDER "/out" };
	const char *options[] = { stage->in_options, stage->tmp_options, stage->out_options };
	int fds[STAGE_MAX_BINDS];

	/* Opened before /tmp is covered, since they may lie below it. */
	for (size_t i = 0; i < stage->bind_count; i++)
		if ((fds[i] = open(stage->bind_paths[i], O_PATH | O_CLOEXEC)) < 0)
			return "a folder to bind";
	if (mount("tmpfs", STAGE_FOLDER, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m,nr_inodes=64"))
		return "a tmpfs";
	for (int i = 0; i < 3; i++)
		if (mkdir(folders[i], 0755) || mount("tmpfs", folders[i], "tmpfs", MS_NOSUID | MS_NODEV, options[i]))
			return "a sized tmpfs";
	for (size_t i = 0; i < stage->bind_count; i++)
		if (bind_fd(fds[i], i, stage->bind_is_folder[i]))
			return "a bind mount";
	int in = open(folders[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in < 0 || stage_write_files(stage, in))
		return "the input files";
	close(in);
	return NULL;
}

static const char *
drop_root(const struct stage *stage)
{
	if (stage->as_root && (setgroups(0, NULL) || setresgid(stage->gid, stage->gid, stage->gid) ||
	    setresuid(stage->uid, stage->uid, stage->uid)))
		return "a user id of its own";
	return NULL;
}

int
stage_drop(void *context)
{
	const struct stage *stage = context;
	const char *failed = drop_root(stage);

	if (failed)
		return fail(stage, failed);
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != stage->caller)
		return fail(stage, "the tie to the caller");
	return 0;
}

/* The writing end of `life` is held by the parent alone: a parent that died before prctl took effect is seen
 * by poll. */
static const char *
tie_to_parent(const int life[2])
{
	struct pollfd parent = { life[0], 0, 0 };

	close(life[1]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || poll(&parent, 1, 0) != 0)
		return "the tie to the caller";
	return NULL;
}

/* Process 1 of the new pid namespace becomes bubblewrap, which looks for its own child in /proc. */
static _Noreturn void
become_bubblewrap(const struct stage *stage, const int life[2])
{
	static char *const nothing[] = { NULL };
	const char *failed = mount_folders(stage);

	if (!failed && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
		failed = "a proc file system";
	if (!failed)
		failed = drop_root(stage);
	if (!failed)
		failed = tie_to_parent(life);
	if (!failed) {
		execve(stage->argv[0], stage->argv, nothing);
		failed = "bubblewrap";
	}
	fail(stage, failed);
	_exit(SHIM_BAD_JOB);
}

int
stage_prepare(void *context)
{
	const struct stage *stage = context;
	const char *failed;
	int life[2], status = 0;

	umask(022);
	if ((failed = enter_namespace(stage)))
		return fail(stage, failed);
	if (pipe2(life, O_CLOEXEC))
		return fail(stage, "a pipe");
	pid_t pid = fork();
	if (pid < 0)
		return fail(stage, "a process in a namespace");
	if (pid == 0)
		become_bubblewrap(stage, life);
	if (stage_drop(context))
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
