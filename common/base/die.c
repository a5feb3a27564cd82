/* Messages and exits. In: formats. Out: one line each on standard error, and the exit status.
 * A line is written by one write(2), so that lines of parallel processes do not mix. */
#include "base/die.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

const char *die_program = "km";
int die_verbosity = 1;

static void
say(const char *format, va_list args)
{
	int saved = errno;
	struct buf line = BUF_INIT;

	buf_addf(&line, "%s: ", die_program);
	buf_vaddf(&line, format, args);
	if (line.len > 0 && line.data[line.len - 1] == ':')
		buf_addf(&line, " %s", strerror(saved));
	for (size_t i = 0; i < line.len; i++)
		if (line.data[i] == '\n')
			line.data[i] = ' ';
	buf_addc(&line, '\n');
	if (write(2, line.data, line.len) < 0)
		saved = errno;	/* nowhere left to say it */
	buf_release(&line);
	errno = saved;
}

void
warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void
note(const char *format, ...)
{
	va_list args;

	if (die_verbosity < 1)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void
die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	exit(status);
}

void *
xrealloc(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes ? bytes : 1);

	if (!memory) {
		static const char text[] = "km: out of memory; run again with fewer threads\n";

		if (write(2, text, sizeof text - 1) < 0)
			_exit(EX_TEMPFAIL);
		_exit(EX_TEMPFAIL);
	}
	return memory;
}

void *
xmalloc(size_t bytes)
{
	return xrealloc(NULL, bytes);
}

void *
xcalloc(size_t count, size_t bytes)
{
	void *memory = calloc(count ? count : 1, bytes ? bytes : 1);

	return memory ? memory : xrealloc(NULL, (size_t)-1);
}

char *
xstrndup(const char *text, size_t length)
{
	char *copy = xmalloc(length + 1);

	memcpy(copy, text, length);
	copy[length] = 0;
	return copy;
}

char *
xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}
