/* The run footer and progress. In: counts. Out: lines on standard error.
 * The footer is free provenance: version, command line, seconds, peak memory. */
#include "base/footer.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/die.h"
#include "base/opt.h"

static double started;
static struct buf command = BUF_INIT;

void
footer_start(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	started = clock_seconds();
	buf_reset(&command);
	for (int i = 0; i < argc; i++)
		buf_addf(&command, "%s%s", i ? " " : "", argv[i]);
}

const char *
footer_command(void)
{
	return buf_str(&command);
}

void
footer_print(void)
{
	struct rusage self, children;

	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &children);
	long peak = self.ru_maxrss > children.ru_maxrss ? self.ru_maxrss : children.ru_maxrss;
	note("version %s; %s; %.2f s; peak memory %ld MiB", opt_version, footer_command(), clock_seconds() - started,
		peak / 1024);
}

static void
progress_text(struct buf *line, uint64_t done, uint64_t total, const char *unit, const char *extra, double now)
{
	double rate = now > 0 ? (double)done / now : 0;

	buf_addf(line, "%s: %llu", die_program, (unsigned long long)done);
	if (total)
		buf_addf(line, " of %llu", (unsigned long long)total);
	buf_addf(line, " %s, %.2f/s", unit, rate);
	if (total > done && rate > 0)
		buf_addf(line, ", %.0f s left", (double)(total - done) / rate);
	if (extra)
		buf_addf(line, ", %s", extra);
}

void
footer_progress(uint64_t done, uint64_t total, const char *unit, const char *extra)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static double last;
	int terminal = isatty(2);
	double now = clock_seconds() - started;
	struct buf line = BUF_INIT;

	if (die_verbosity < 1)
		return;
	pthread_mutex_lock(&lock);
	int finished = total && done >= total;
	if (now - last >= (terminal ? 0.2 : 30) || (terminal && finished)) {
		last = now;
		progress_text(&line, done, total, unit, extra, now);
		if (terminal)
			fprintf(stderr, "\r%s\033[K%s", buf_str(&line), finished ? "\n" : "");
		else
			fprintf(stderr, "%s\n", buf_str(&line));
	}
	pthread_mutex_unlock(&lock);
	buf_release(&line);
}
