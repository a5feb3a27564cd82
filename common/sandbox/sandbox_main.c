/* km-sandbox: runs one program as untrusted ones are run, to see what they see. In: a command line.
 * Out: the program's output, and on standard error one line about its end. Exits as the program does,
 * 128 + N for signal N, 124 at the wall clock, 75 when there was no sandbox to run it in. */
#include <signal.h>

#include "base/die.h"
#include "base/io.h"
#include "base/opt.h"
#include "sandbox/sandbox.h"

enum { MAX_FILES = 64 };

static struct sandbox_input inputs[MAX_FILES];
static struct sandbox_output outputs[MAX_FILES];
static size_t input_count, output_count;
static uint64_t wall_ms, cpu_s, address_space, processes;
static bool level_only;

static int
add_input(const char *path, struct buf *err)
{
	const char *slash = strrchr(path, '/');

	if (input_count == MAX_FILES)
		return buf_err(err, "at most %d inputs", MAX_FILES);
	inputs[input_count++] = (struct sandbox_input){ .name = slash ? slash + 1 : path, .path = path };
	return 0;
}

static int
add_output(const char *name, struct buf *err)
{
	if (output_count == MAX_FILES)
		return buf_err(err, "at most %d outputs", MAX_FILES);
	outputs[output_count++] = (struct sandbox_output){ .name = name };
	return 0;
}

static const struct opt options[] = {
	{ 0, "sandbox", OPT_CALL, (void *)sandbox_option, "LEVEL", SANDBOX_OPTION_HELP, 0, 0 },
	{ 'i', "in", OPT_CALL, (void *)add_input, "PATH", "show this file or folder as /in/NAME", 0, 0 },
	{ 'o', "out", OPT_CALL, (void *)add_output, "NAME", "fetch /out/NAME into the current folder", 0, 0 },
	{ 0, "wall-ms", OPT_U64, &wall_ms, "N", "end the program after N milliseconds", 1, 86400000 },
	{ 0, "cpu-s", OPT_U64, &cpu_s, "N", "end a process after N seconds of processor time", 1, 86400 },
	{ 0, "address-space", OPT_BYTES, &address_space, "BYTES", "limit each process's address space", 1 << 20, 1ull << 46 },
	{ 0, "processes", OPT_U64, &processes, "N", "limit the number of processes", 1, 30000 },
	{ 0, "level", OPT_FLAG, &level_only, NULL, "only print the best level of this machine, and why not a better one", 0, 0 },
	{ 0 },
};

static const struct opt_program program = {
	.name = "km-sandbox", .operands = "PROGRAM [ARGUMENT...]",
	.summary = "run a program as untrusted programs are run",
	.example = "km-sandbox --in kernel.cu --out kernel.o /usr/local/cuda/bin/nvcc -c -o /out/kernel.o /in/kernel.cu",
	.tables = { options }, .runs_command = true,
};

static int
print_level(void)
{
	struct buf why = BUF_INIT;

	puts(sandbox_level_name(sandbox_available(&why)));
	if (why.len)
		warn("%s", why.data);
	buf_release(&why);
	return fflush(stdout) ? EX_IOERR : 0;
}

static int
exit_status(const struct sandbox_result *result)
{
	switch (result->cause) {
	case SANDBOX_EXITED:
		return result->exit_status;
	case SANDBOX_WALL_CLOCK:
		return 124;
	default:
		return 128 + result->signal;
	}
}

int
main(int argc, char **argv)
{
	struct buf output = BUF_INIT, errors = BUF_INIT, err = BUF_INIT, end = BUF_INIT;
	struct sandbox_result result;
	int first = opt_parse(&program, argc, argv);

	signal(SIGPIPE, SIG_IGN);
	if (level_only)
		return print_level();
	if (first == argc)
		die(EX_USAGE, "which program? (-h for help)");
	if (sandbox_require(SANDBOX_UNSET, &err))
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	struct sandbox_job job = {
		.argv = (const char *const *)argv + first, .inputs = inputs, .input_count = input_count,
		.outputs = outputs, .output_count = output_count, .output_folder = ".",
		.output = &output, .errors = &errors,
		.limits = { .wall_ms = wall_ms, .cpu_s = cpu_s, .address_space_bytes = address_space, .processes = processes },
	};
	if (sandbox_run(&job, &result, &err))
		die(EX_TEMPFAIL, "%s", buf_str(&err));
	fwrite(buf_str(&output), 1, output.len, stdout);
	fwrite(buf_str(&errors), 1, errors.len, stderr);
	sandbox_describe(&job, &result, &end);
	note("%s; %.3f s, %.3f s of processor, %.1f MiB, level %s%s", end.data, (double)result.wall_ns / 1e9,
		(double)(result.user_ns + result.system_ns) / 1e9, (double)result.peak_rss_bytes / 1048576.0,
		sandbox_level_name(result.level), result.output_cut ? ", output cut" : "");
	if (fflush(stdout))
		die(EX_IOERR, "standard output:");
	for (size_t i = 0; i < output_count; i++)
		if (outputs[i].state != SANDBOX_FILE_OK)
			warn("/out/%s: not fetched (%s)", outputs[i].name, outputs[i].state == SANDBOX_FILE_MISSING ?
				"missing" : outputs[i].state == SANDBOX_FILE_REFUSED ? "not a plain file" : "too large");
	buf_release(&output);
	buf_release(&errors);
	buf_release(&end);
	return exit_status(&result);
}
