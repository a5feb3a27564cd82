/* What km-run was asked for, read from the environment when the first image is registered. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "eval/machine/machine.h"
#include "eval/machine/state.h"

enum { ATTRIBUTE_SHARED_OF_BLOCK = 97 };

void
say(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("km-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void
read_profile(struct gpu_profile *profile)
{
	struct buf text = BUF_INIT, err = BUF_INIT;
	const char *path = getenv(MACHINE_PROFILE);

	if (!path)
		refuse(UNSUPPORTED, "this runtime needs km-run: start the program with it");
	if (buf_read_file(&text, path, 1 << 20, &err) < 0 || profile_parse(buf_str(&text), profile, &err) < 0)
		refuse(UNSUPPORTED, "%s", buf_str(&err));
	buf_release(&text);
	buf_release(&err);
}

static uint64_t
number(const char *name)
{
	const char *text = getenv(name);
	uint64_t value;

	return text && num_u64(text, 0, UINT64_MAX, &value) == 0 ? value : 0;
}

const struct options *
options(void)
{
	static struct options o;
	static bool have;
	const char *checks = getenv(MACHINE_CHECKS);

	if (have)
		return &o;
	have = true;
	read_profile(&o.profile);
	o.ptx.checked = checks && strchr(checks, 'i');
	o.ptx.racecheck = checks && strchr(checks, 'r');
	o.ptx.max_output = 8 << 20;	/* as the printf FIFO of a GPU by default */
	o.ptx.max_shared = (size_t)o.profile.attribute[ATTRIBUTE_SHARED_OF_BLOCK];
	o.ptx.budget = number(MACHINE_BUDGET);
	o.ptx.schedule = number(MACHINE_SCHEDULE);
	o.trace = getenv(MACHINE_TRACE) != NULL;
	o.quiet = getenv(MACHINE_QUIET) != NULL;
	o.error_exit = (int)number(MACHINE_ERROR_EXIT);
	return &o;
}

const struct gpu_profile *
back_profile(void)
{
	return &options()->profile;
}

void
refuse(const char *status, const char *format, ...)
{
	char words[1000];
	va_list args;

	(void)status;
	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	say("%s", words);
	fflush(NULL);
	_exit(70);
}
