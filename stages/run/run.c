/* km-run: starts a CUDA program of one's own on the PTX machine. In: an executable built with nvcc -cudart shared, and
 * its arguments. Out: whatever it does, with findings on standard error. The program is unchanged: a runtime of ours,
 * which has the machine behind it, is loaded in place of NVIDIA's. It runs with the user's rights, in no sandbox. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "base/num.h"
#include "base/opt.h"
#include "base/spawn.h"
#include "cuda/elf_view.h"
#include "cuda/functions.h"
#include "cuda/profile.h"
#include "eval/machine/machine.h"

static bool check_initialised, check_races, list_functions;
static uint64_t budget, error_exit, schedule;
static const char *profile_name = "h200";

static const struct opt options[] = {
	{ 'c', "check", OPT_FLAG, &check_initialised, NULL, "report reads of memory that nothing has written (slower)", 0, 0 },
	{ 'r', "races", OPT_FLAG, &check_races, NULL, "report accesses of different threads that nothing orders (slower)", 0, 0 },
	{ 0, "budget", OPT_U64, &budget, "N", "stop a kernel after N lane instructions", 1, UINT64_MAX },
	{ 0, "schedule", OPT_U64, &schedule, "SEED", "run blocks and warps in another order, drawn from SEED", 1, UINT64_MAX },
	{ 0, "profile", OPT_STRING, &profile_name, "NAME", "the GPU that answers the program's questions (h200)", 0, 0 },
	{ 0, "error-exit", OPT_U64, &error_exit, "STATUS",
		"end with STATUS when anything was reported, whatever the program says", 1, 255 },
	{ 0, "functions", OPT_FLAG, &list_functions, NULL, "print what becomes of each function of the runtime, and exit", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

/* ---- the program */
/* As a shell finds it. Returned owned. */
static char *
find_program(const char *name)
{
	const char *at = getenv("PATH");
	struct buf path = BUF_INIT;

	if (strchr(name, '/') || !at)
		return xstrdup(name);
	while (*at) {
		size_t length = strcspn(at, ":");

		buf_reset(&path);
		buf_add(&path, at, length);
		buf_addf(&path, "%s%s", length ? "/" : "", name);
		if (access(buf_str(&path), X_OK) == 0)
			return buf_detach(&path);
		at += length + (at[length] == ':');
	}
	die(EX_NOINPUT, "%s is not in PATH; for one in this folder write ./%s", name, name);
}

/* The runtime that an ELF file wants, as "libcudart.so.13"; "" when it wants none. */
static const char *
wanted_runtime(const struct elf_view *view)
{
	Elf64_Shdr section, strings;
	Elf64_Dyn entry;

	for (unsigned i = 0; elf_section(view, i, &section); i++) {
		const uint8_t *bytes = section.sh_type == SHT_DYNAMIC ? elf_section_bytes(view, &section) : NULL;

		if (!bytes || !elf_section(view, section.sh_link, &strings))
			continue;
		for (uint64_t at = 0; at + sizeof entry <= section.sh_size; at += sizeof entry) {
			const char *name;

			memcpy(&entry, bytes + at, sizeof entry);
			name = entry.d_tag == DT_NEEDED ? elf_string(view, &strings, entry.d_un.d_val) : "";
			if (!strncmp(name, "libcudart.so", 12))
				return name;
		}
	}
	return "";
}

static bool
holds_device_code(const struct elf_view *view)
{
	Elf64_Shdr section;

	for (unsigned i = 0; elf_section(view, i, &section); i++)
		if (!strcmp(elf_section_name(view, &section), ".nv_fatbin"))
			return true;
	return false;
}

/* What can be seen to go wrong from the file is said before it starts. Scripts and the like go through. */
static void
check_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_view view;
	struct stat about;
	const char *runtime;
	void *bytes;

	if (fd < 0 || fstat(fd, &about) < 0)
		die(EX_NOINPUT, "cannot read %s:", path);
	bytes = about.st_size ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (bytes == MAP_FAILED)
		die(EX_NOINPUT, "%s is no program", path);
	if (elf_open(&view, bytes, (size_t)about.st_size)) {
		runtime = wanted_runtime(&view);
		if (*runtime && strcmp(runtime, "libcudart.so.13") != 0)
			die(EX_DATAERR, "%s wants %s; only that of CUDA 13, libcudart.so.13, has a stand-in", path, runtime);
		if (!*runtime && holds_device_code(&view))
			die(EX_DATAERR, "%s has NVIDIA's runtime inside: build it with nvcc -cudart shared", path);
	}
	munmap(bytes, (size_t)about.st_size);
}

/* ---- its environment */
static void
set(const char *name, const char *value)
{
	if (value ? setenv(name, value, 1) : unsetenv(name))
		die(EX_OSERR, "cannot set %s:", name);
}

static void
set_number(const char *name, uint64_t value)
{
	struct buf text = BUF_INIT;

	buf_addf(&text, "%llu", (unsigned long long)value);
	set(name, value ? buf_str(&text) : NULL);
	buf_release(&text);
}

static void
set_profile(void)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	struct gpu_profile profile;
	char *path = profile_path(profile_name, &err);

	if (!path)
		die(EX_USAGE, "%s", buf_str(&err));
	if (buf_read_file(&text, path, 1 << 20, &err) < 0 || profile_parse(buf_str(&text), &profile, &err) < 0)
		die(EX_UNAVAILABLE, "there is no GPU profile '%s': %s", profile_name, buf_str(&err));
	set(MACHINE_PROFILE, path);
	free(path);
	buf_release(&text);
}

/* Loaded first, the library answers to its own name, wherever the program would look for NVIDIA's. */
static void
set_runtime(void)
{
	char *library = spawn_libexec("machine/libcudart.so.13");
	const char *before = getenv("LD_PRELOAD");
	struct buf all = BUF_INIT;

	if (access(library, R_OK) < 0)
		die(EX_UNAVAILABLE, "the stand-in runtime %s is missing:", library);
	if (library[strcspn(library, " :")])
		die(EX_UNAVAILABLE, "%s has a blank or a colon in its path, which the loader does not take", library);
	buf_addf(&all, "%s%s%s", library, before && *before ? ":" : "", before ? before : "");
	set("LD_PRELOAD", buf_str(&all));
	free(library);
	buf_release(&all);
}

static void
print_functions(void)
{
	struct buf text = BUF_INIT;

	cuda_functions_write(&text);
	if (fwrite(text.data, 1, text.len, stdout) != text.len || fflush(stdout))
		die(EX_IOERR, "cannot write to standard output:");
	buf_release(&text);
}

int
main(int argc, char **argv)
{
	static const struct opt_program program = { "km-run", "PROGRAM [ARGUMENT...]",
		"run a CUDA program on a machine without a GPU", "km-run ./vector_add 1024", { options }, true };
	int first = opt_parse(&program, argc, argv);
	char *path;

	if (list_functions) {
		print_functions();
		return 0;
	}
	if (first == argc)
		die(EX_USAGE, "no program is named; km-run -h shows how");
	path = find_program(argv[first]);
	check_program(path);
	set_profile();
	set_runtime();
	set(MACHINE_CHECKS, check_initialised ? check_races ? "ir" : "i" : check_races ? "r" : NULL);
	set_number(MACHINE_BUDGET, budget);
	set_number(MACHINE_SCHEDULE, schedule);
	set_number(MACHINE_ERROR_EXIT, error_exit);
	set(MACHINE_TRACE, die_verbosity > 1 ? "1" : NULL);
	set(MACHINE_QUIET, die_verbosity < 1 ? "1" : NULL);
	execv(path, argv + first);
	die(errno == ENOENT ? EX_NOINPUT : EX_UNAVAILABLE, "cannot start %s:", path);
}
