/* How fast sections are found: MB/s of the scan, of scan and splice, and of jansson's parser on the same
 * lines in the same run. In: nothing. Out: one line. */
#include <time.h>

#include "base/die.h"
#include "rec/case.h"
#include "rec/json.h"

enum { LINES = 200, ROUNDS = 5 };

static struct buf lines[LINES];
static int line_count;
static size_t total_bytes;

/* A case as the pipeline makes them: most bytes in sources, logs and messages. */
static void
make_line(struct buf *out, int number)
{
	struct buf source = BUF_INIT;
	json_t *text, *solution, *line;

	for (int i = 0; i < 60; i++)
		buf_addf(&source,
			"\tif (row < N && column + %d < D)\n\t\ty[row * D + column + %d] = \"%d\"[0] * x[row "
			"* D];\n", i, i, number);
	text = json_stringn(source.data, source.len);
	solution = json_pack("{s:s, s:O, s:[i,i,i], s:f}", "id", "0123456789abcdef0123456789abcdef", "source",
		text, "block",
		number, 2, 3, "cost", number * 1.25);
	line = json_pack("{s:s, s:{s:s}, s:[O,O,O], s:[{s:[{s:s,s:O},{s:s,s:O}]}]}", "schema_version", "1.0",
		"task", "id",
		"0123456789abcdef0123456789abcdef", "solutions", solution, solution, solution, "trajectories",
		"messages", "role",
		"assistant", "content", text, "role", "tool", "content", text);
	rec_json_dump(line, out);
	json_decref(line);
	json_decref(solution);
	json_decref(text);
	buf_release(&source);
}

static void
make_lines(void)
{
	for (; line_count < LINES; line_count++) {
		make_line(&lines[line_count], line_count);
		total_bytes += lines[line_count].len;
	}
}

static void
scan(const struct buf *line)
{
	struct rec_case c;

	if (rec_case_scan(&c, line->data, line->len, NULL) < 0)
		die(EX_DATAERR, "a line does not scan");
}

static void
splice(const struct buf *line)
{
	static const char *const names[] = { "review" };
	static struct buf out;
	json_t *values[] = { json_pack("{s:s}", "status", "unreviewed") };
	struct rec_case c;

	buf_reset(&out);
	if (rec_case_scan(&c, line->data, line->len, NULL) < 0 || rec_case_splice(&c, 1, names, values, &out,
		NULL) < 0)
		die(EX_DATAERR, "a line does not splice");
	json_decref(values[0]);
}

static void
parse(const struct buf *line)
{
	json_t *value = json_loadb(line->data, line->len, JSON_REJECT_DUPLICATES, NULL);

	if (!value)
		die(EX_DATAERR, "a line does not parse");
	json_decref(value);
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The best of some rounds, each long enough to be timed. */
static double
megabytes_per_second(void (*work)(const struct buf *))
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double start = seconds(), used;
		int passes = 0;

		do {
			for (int i = 0; i < line_count; i++)
				work(&lines[i]);
			passes++;
			used = seconds() - start;
		} while (used < 0.1);
		if (passes * (double)total_bytes / used / 1e6 > best)
			best = passes * (double)total_bytes / used / 1e6;
	}
	return best;
}

int
main(void)
{
	double parsed, scanned;

	make_lines();
	parsed = megabytes_per_second(parse);
	scanned = megabytes_per_second(scan);
	printf("records: jansson parses %.0f MB/s, the scan %.0f MB/s (%.0f times), scan and splice %.0f "
		"MB/s; %d lines of %zu bytes\n",
		parsed, scanned, scanned / parsed, megabytes_per_second(splice), line_count,
		total_bytes / (size_t)line_count);
	return 0;
}
