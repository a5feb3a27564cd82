/* A table of Nsight Compute in, counts by launch out. The table is comma-separated text whose fields may be quoted and
 * hold anything: names of kernels come from a stranger's source. Remarks ("==PROF== ...") stand before the table, and
 * what a name looks like is never taken for one: they count only where no quoted field is open. */
#include "cuda/ncu.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "base/num.h"

enum { MAX_NUMBER = 64, REMARK_BYTES = 200 };

#define PERCENT "%"

const struct ncu_metric ncu_metrics[NCU_METRICS] = {
	{ "gpu__time_duration.sum", "ns|nsecond", "duration_us", false, 1e-3 },
	{ "launch__registers_per_thread", "register/thread", "registers_per_thread", true, 0 },
	/* how near each part is to what it can do; the tool's own two sums of these (speed of light) take as many passes more */
	{ "dram__throughput.avg.pct_of_peak_sustained_elapsed", PERCENT, "dram_percent", false, 0 },
	{ "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", PERCENT, "l2_percent", false, 0 },
	{ "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", PERCENT, "l1_percent", false, 0 },
	{ "sm__warps_active.avg.pct_of_peak_sustained_active", PERCENT, "occupancy_percent", false, 0 },
	{ "smsp__issue_active.avg.pct_of_peak_sustained_active", PERCENT, "issue_percent", false, 0 },
	{ "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", PERCENT, "tensor_percent", false, 0 },
	{ "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active", PERCENT, "fma_percent", false, 0 },
	{ "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active", PERCENT, "alu_percent", false, 0 },
	{ "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active", PERCENT, "fp64_percent", false, 0 },
	{ "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", PERCENT, "special_percent", false, 0 },
	/* memory */
	{ "dram__bytes_read.sum", "byte", "dram_read_bytes", true, 0 },
	{ "dram__bytes_write.sum", "byte", "dram_write_bytes", true, 0 },
	{ "lts__t_sectors_srcunit_tex_op_read.sum", "sector", "l2_read_sectors", true, 0 },
	{ "lts__t_sectors_srcunit_tex_op_write.sum", "sector", "l2_write_sectors", true, 0 },
	{ "lts__t_sector_hit_rate.pct", PERCENT, "l2_hit_percent", false, 0 },
	{ "l1tex__t_sector_hit_rate.pct", PERCENT, "l1_hit_percent", false, 0 },
	{ "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "|request", "global_read_requests", true, 0 },
	{ "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sector", "global_read_sectors", true, 0 },
	{ "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "|request", "global_write_requests", true, 0 },
	{ "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sector", "global_write_sectors", true, 0 },
	{ "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "", "shared_wavefronts", true, 0 },
	{ "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "", "shared_bank_conflicts", true, 0 },
	/* instructions */
	{ "smsp__inst_executed.sum", "inst", "warp_instructions", true, 0 },
	{ "smsp__thread_inst_executed.sum", "inst", "lane_instructions", true, 0 },
	/* what warps wait for, in warps that wait an issue */
	{ "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "inst", "waiting_memory", false, 0 },
	{ "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "inst", "waiting_shared", false, 0 },
	{ "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst", "waiting_barrier", false, 0 },
	{ "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "inst", "waiting_math_pipe", false, 0 },
	{ "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "inst", "waiting_memory_queue", false, 0 },
	{ "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "inst", "waiting_shared_queue", false, 0 },
};

/* ---- the program */

/* The last of those that the pattern FOLDER/NAME finds: the newest version. */
static char *
find_in(const char *folder, size_t length, const char *program)
{
	struct buf pattern = BUF_INIT;
	glob_t found;
	char *path = NULL;

	buf_addf(&pattern, "%.*s/%s", (int)length, folder, program);
	if (glob(buf_str(&pattern), 0, NULL, &found) == 0) {
		if (access(found.gl_pathv[found.gl_pathc - 1], X_OK) == 0)
			path = xstrdup(found.gl_pathv[found.gl_pathc - 1]);
		globfree(&found);
	}
	buf_release(&pattern);
	return path;
}

char *
ncu_find(const char *program)
{
	static const char *const folders[] = { KM_CUDA "/bin", "/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*" };
	char *path = NULL;

	if (strchr(program, '/'))
		return access(program, X_OK) ? NULL : *program == '/' ? xstrdup(program) : realpath(program, NULL);
	for (const char *at = getenv("PATH"); at && *at && !path;) {
		size_t length = strcspn(at, ":");

		if (length)
			path = find_in(at, length, program);
		at += length + (at[length] == ':');
	}
	for (size_t i = 0; i < sizeof folders / sizeof *folders && !path; i++)
		path = find_in(folders[i], strlen(folders[i]), program);
	return path;
}

void
ncu_add_metrics(struct buf *out)
{
	for (int i = 0; i < NCU_METRICS; i++)
		buf_addf(out, "%s%s", i ? "," : "", ncu_metrics[i].name);
}

/* ---- fields */

struct table {
	const char *at, *end;
	char number[MAX_NUMBER];
};

/* A field as it stands in the text, without its outer quotes; inner ones are still doubled. */
struct field {
	const char *text;
	size_t length;
	bool last;		/* of its line */
};

/* 0, or -1: a quote stands where none may. */
static int
next_field(struct table *t, struct field *f)
{
	const char *at = t->at;
	bool quoted = at < t->end && *at == '"';

	f->text = at + quoted;
	for (at += quoted; at < t->end; at++) {
		if (quoted && *at == '"') {
			if (at + 1 == t->end || at[1] != '"')
				break;
			at++;
		} else if (!quoted && (*at == ',' || *at == '\n' || *at == '\r')) {
			break;
		} else if (!quoted && *at == '"') {
			return -1;
		}
	}
	if (quoted && at == t->end)
		return -1;
	f->length = (size_t)(at - f->text);
	at += quoted;
	if (at + 1 < t->end && at[0] == '\r' && at[1] == '\n')
		at++;
	f->last = at == t->end || *at == '\n';
	if (!f->last && *at != ',')
		return -1;
	t->at = at == t->end ? at : at + 1;
	return 0;
}

static bool
field_is(const struct field *f, const char *text)
{
	return f->length == strlen(text) && !memcmp(f->text, text, f->length);
}

/* Is the unit one of "byte|bytes"? */
static bool
unit_is(const struct field *f, const char *units)
{
	for (;; units++) {
		size_t length = strcspn(units, "|");

		if (length == f->length && !memcmp(units, f->text, length))
			return true;
		units += length;
		if (!*units)
			return false;
	}
}

/* "1,234.5": commas may stand between digits. NAN for what is no number: "n/a", "(!) nan". */
static double
number_of(struct table *t, const struct field *f)
{
	size_t length = 0;
	double value;

	for (size_t i = 0; i < f->length; i++) {
		if (f->text[i] == ',' && length)
			continue;
		if (length == MAX_NUMBER - 1)
			return NAN;
		t->number[length++] = f->text[i];
	}
	t->number[length] = '\0';
	return num_f64(t->number, -1e300, 1e300, &value) ? NAN : value;
}

/* ---- lines */

/* What stands in a column: a metric, the kernel's name, or what is not read. */
enum { COLUMN_KERNEL = -1, COLUMN_OTHER = -2 };
struct columns {
	int what[NCU_MAX_COLUMNS];
	uint32_t count;
};

static int
read_names(struct table *t, struct columns *c, struct buf *err)
{
	bool seen[NCU_METRICS] = { false };
	struct field f = { .last = false };
	bool kernel = false;

	for (c->count = 0; !f.last; c->count++) {
		if (c->count == NCU_MAX_COLUMNS || next_field(t, &f))
			return buf_err(err, "its table has a first line that is malformed");
		int *what = &c->what[c->count];
		*what = COLUMN_OTHER;
		if (field_is(&f, "Kernel Name")) {
			*what = COLUMN_KERNEL;
			kernel = true;
		}
		for (int i = 0; i < NCU_METRICS; i++)
			if (field_is(&f, ncu_metrics[i].name))
				*what = i;
		if (*what >= 0 && seen[*what])
			return buf_err(err, "its table has %s twice", ncu_metrics[*what].name);
		if (*what >= 0)
			seen[*what] = true;
	}
	return kernel ? 0 : buf_err(err, "its table has no kernel names");
}

/* A metric in a unit that is not the field's is not read. */
static int
read_units(struct table *t, struct columns *c, struct buf *err)
{
	struct field f = { .last = false };

	for (uint32_t i = 0; i < c->count; i++) {
		if (f.last || next_field(t, &f))
			return buf_err(err, "its table has a line of units that is malformed");
		if (c->what[i] >= 0 && !unit_is(&f, ncu_metrics[c->what[i]].units))
			c->what[i] = COLUMN_OTHER;
	}
	return f.last ? 0 : buf_err(err, "its table has more units than names");
}

static void
take_kernel(const struct field *f, struct ncu_launch *launch)
{
	size_t length = f->length < sizeof launch->kernel ? f->length : sizeof launch->kernel - 1;

	memcpy(launch->kernel, f->text, length);
	launch->kernel[length] = '\0';
}

static int
read_launch(struct table *t, const struct columns *c, struct ncu_launch *launch, struct buf *err)
{
	struct field f = { .last = false };

	*launch = (struct ncu_launch){ .kernel = "" };
	for (int i = 0; i < NCU_METRICS; i++)
		launch->value[i] = NAN;
	for (uint32_t i = 0; i < c->count; i++) {
		if (f.last || next_field(t, &f))
			return buf_err(err, "its table has a line that is malformed");
		if (c->what[i] == COLUMN_KERNEL)
			take_kernel(&f, launch);
		if (c->what[i] < 0)
			continue;
		const struct ncu_metric *m = &ncu_metrics[c->what[i]];
		double value = number_of(t, &f) * (m->scale > 0 ? m->scale : 1);
		if (value >= 0 && value < 1e15)
			launch->value[c->what[i]] = m->whole ? round(value) : value;
	}
	return f.last ? 0 : buf_err(err, "its table has more values than names");
}

/* ---- the whole */

/* Finds the line of names; *remark gets the last error before it. NULL: there is none. */
static const char *
find_table(const char *at, const char *end, struct field *remark)
{
	static const char first[] = "\"ID\",", error[] = "==ERROR== ";

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		size_t length = (size_t)(stop - at);

		if (length > sizeof first - 1 && !memcmp(at, first, sizeof first - 1))
			return at;
		if (length > sizeof error - 1 && !memcmp(at, error, sizeof error - 1))
			*remark = (struct field){ .text = at + sizeof error - 1, .length = length - (sizeof error - 1) };
		at = newline ? newline + 1 : end;
	}
	return NULL;
}

static int
no_table(const struct field *remark, struct buf *err)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < remark->length && text.len < REMARK_BYTES; i++) {
		unsigned char c = (unsigned char)remark->text[i];

		buf_addc(&text, c < ' ' || c > '~' ? ' ' : (char)c);
	}
	buf_addf(err, text.len ? "it says: %s" : "it wrote no table%s", buf_str(&text));
	buf_release(&text);
	return -1;
}

int
ncu_read(const char *text, size_t length, struct ncu_report *report, struct buf *err)
{
	struct field remark = { .text = "" };
	const char *start = find_table(text, text + length, &remark);
	struct table t = { .at = start, .end = text + length };
	struct columns c;

	report->launches = 0;
	if (!start)
		return no_table(&remark, err);
	if (read_names(&t, &c, err) || read_units(&t, &c, err))
		return -1;
	while (t.at < t.end) {
		/* Remarks may come after the table as well. */
		if (*t.at != '"') {
			const char *newline = memchr(t.at, '\n', (size_t)(t.end - t.at));

			t.at = newline ? newline + 1 : t.end;
			continue;
		}
		if (report->launches == NCU_MAX_LAUNCHES)
			return buf_err(err, "its table has more launches than were asked for");
		if (read_launch(&t, &c, &report->launch[report->launches++], err))
			return -1;
	}
	return 0;
}
