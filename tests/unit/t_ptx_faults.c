/* In: tests/faults/wrong.cu, kernels with one bug each, marked at its line, and right.cu, kernels without one that look
 * like them. Out: how many bugs were named first by the right check, kind and line; every right kernel must give
 * no finding.
 *
 * A comment above each kernel says how it is launched: "// RUN grid=G block=B n=N", and perhaps shared=BYTES, w=zero
 * (w is zeros, else uninitialised), freed=w, y=zero, schedule=SEED, lanes (the bug is a race within one warp, which is a
 * warning; all others are errors). Right kernels run under other schedules too. All kernels have the parameters
 * (const float *x, float *y, unsigned *w, int n): x[k] = k % 32, max(n, 32) elements, read-only; y of as many elements;
 * w of 64. A marker "// BUG CHECK KIND" names what must be found at its line; several kinds, or several marked lines,
 * where the order of threads decides which is seen first. */
#include "ptx_compile.h"

enum { MAX_CASES = 200, MAX_MARKS = 8, WORDS = 64, SCHEDULES = 4 };

struct mark {
	uint32_t line;
	char words[160];		/* "racecheck write_read|read_write initcheck ..." */
};

struct kernel_case {
	char name[80];
	uint32_t grid, block, n, shared;
	uint64_t schedule;
	bool w_zero, w_freed, y_zero, lanes;
	struct mark mark[MAX_MARKS];
	int n_marks;
};

struct corpus {
	const char *name;
	struct buf source, ptx;
	struct kernel_case list[MAX_CASES];
	int count;
};

static uint32_t
number_after(const char *line, const char *key, uint32_t otherwise)
{
	const char *at = strstr(line, key);
	return at ? (uint32_t)strtoul(at + strlen(key), NULL, 10) : otherwise;
}

static void
read_line(struct corpus *c, const char *line, uint32_t number)
{
	const char *mark = strstr(line, "// BUG ");
	struct kernel_case *k = c->count ? &c->list[c->count - 1] : NULL;
	if (!strncmp(line, "// RUN ", 7)) {
		assert_true(c->count < MAX_CASES);
		k = &c->list[c->count++];
		*k = (struct kernel_case){ .grid = number_after(line, "grid=", 1), .block = number_after(line, "block=", 32),
			.n = number_after(line, " n=", 32), .shared = number_after(line, "shared=", 0),
			.w_zero = strstr(line, "w=zero"), .w_freed = strstr(line, "freed=w"), .y_zero = strstr(line, "y=zero"),
			.schedule = number_after(line, "schedule=", 0), .lanes = strstr(line, " lanes") };
	} else if (!strncmp(line, "KERNEL(", 7)) {
		assert_non_null(k);
		snprintf(k->name, sizeof k->name, "%.*s", (int)strcspn(line + 7, ")"), line + 7);
	}
	if (mark) {
		assert_non_null(k);
		assert_true(k->n_marks < MAX_MARKS);
		struct mark *m = &k->mark[k->n_marks++];
		m->line = number;
		snprintf(m->words, sizeof m->words, "%s", mark + 7);
	}
}

static void
open_corpus(struct corpus *c, const char *name)
{
	char path[128];
	struct buf err = BUF_INIT;
	uint32_t number = 0;
	memset(c, 0, sizeof *c);
	c->name = name;
	snprintf(path, sizeof path, "tests/faults/%s.cu", name);
	compile_in("tests/faults", name, &c->ptx);
	if (buf_read_file(&c->source, path, 1 << 20, &err))
		fail_msg("%s", buf_str(&err));
	for (char *line = c->source.data, *end; line && *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = 0;
		read_line(c, line, ++number);
	}
}

/* Runs one kernel on a machine of its own. */
static enum ptx_status
run_case(struct rig *r, const struct corpus *c, const struct kernel_case *k)
{
	struct ptx_options options = { .checked = true, .racecheck = true, .budget = 50000000, .schedule = k->schedule };
	uint32_t elements = k->n < 32 ? 32 : k->n;
	rig_open(r, c->ptx.data, c->ptx.len, &options);
	float *x = rig_buffer(r, "x", elements * sizeof *x, PTX_READ, true);
	float *y = rig_buffer(r, "y", elements * sizeof *y, PTX_READ_WRITE, k->y_zero);
	unsigned *w = rig_buffer(r, "w", WORDS * sizeof *w, PTX_READ_WRITE, k->w_zero);
	for (uint32_t j = 0; j < elements; j++)
		x[j] = (float)(j % 32);
	if (k->w_zero)
		memset(w, 0, WORDS * sizeof *w);
	if (k->y_zero)
		memset(y, 0, elements * sizeof *y);
	if (k->w_freed)
		assert_int_equal(ptx_mark_freed(r->machine, (uint64_t)(uintptr_t)w, NULL), 0);
	struct { void *x, *y, *w; int n; } params = { x, y, w, (int)k->n };
	struct ptx_launch l = { .kernel = k->name, .grid = { k->grid, 1, 1 }, .block = { k->block, 1, 1 },
		.dynamic_shared = k->shared, .params = &params, .params_bytes = sizeof params };
	buf_reset(&r->err);
	enum ptx_status status = ptx_launch(r->machine, &l, &r->counters, &r->err);
	int64_t shape[2] = { elements / 8, 8 };
	if (status == PTX_OK && k->n >= 32 && elements % 8 == 0)
		ptx_check_written(r->machine, (uint64_t)(uintptr_t)y, sizeof *y, 2, shape);
	return status;
}

/* A line of the corpus: where it stands, or where the library's function was inlined. */
static uint32_t
line_of(const struct corpus *c, const struct ptx_finding *f)
{
	size_t length = strlen(c->name);
	return f->file && !strncmp(f->file, c->name, length) && f->file[length] == '.' ? f->line : f->inlined_line;
}

/* Do the words of a mark, "CHECK KIND|KIND CHECK KIND", hold this check and kind? */
static bool
names(const char *words, const char *check, const char *kind)
{
	const char *at = words;
	while (*at) {
		size_t check_length = strcspn(at, " "), kinds_length;
		const char *kinds = at + check_length + strspn(at + check_length, " ");
		kinds_length = strcspn(kinds, " ");
		bool same = check_length == strlen(check) && !strncmp(at, check, check_length);
		for (const char *one = kinds; same && one < kinds + kinds_length; one += strcspn(one, "| ") + 1) {
			size_t length = strcspn(one, "| ");
			if (length == strlen(kind) && !strncmp(one, kind, length))
				return true;
		}
		at = kinds + kinds_length + strspn(kinds + kinds_length, " ");
	}
	return false;
}

static bool
named_right(const struct corpus *c, const struct kernel_case *k, const struct ptx_finding *f)
{
	for (int m = 0; f && m < k->n_marks; m++) {
		bool place = f->kind == PTX_NEVER_WRITTEN || k->mark[m].line == line_of(c, f);
		if (place && names(k->mark[m].words, ptx_check_name(f->check), ptx_kind_name(f->kind)))
			return true;
	}
	return false;
}

static void
test_every_bug_is_named(void **state)
{
	(void)state;
	struct corpus c;
	int right = 0;
	open_corpus(&c, "wrong");
	for (int k = 0; k < c.count; k++) {
		struct rig r;
		enum ptx_status status = run_case(&r, &c, &c.list[k]);
		const struct ptx_finding *f = ptx_finding_at(r.machine, 0);
		bool good = named_right(&c, &c.list[k], f);
		if (good && f->kind != PTX_NEVER_WRITTEN && !ptx_error_count(r.machine) != c.list[k].lanes) {
			print_message("# %s: %s\n", c.list[k].name, c.list[k].lanes ? "an error, not a warning" : "only a warning");
			good = false;
		}
		assert_true(c.list[k].n_marks > 0);
		right += good;
		if (!good)
			print_message("# %s (%s): %s\n", c.list[k].name, ptx_status_name(status), f ? f->message : buf_str(&r.err));
		if (getenv("FAULTS_SHOW"))
			for (size_t j = 0; j < ptx_finding_count(r.machine); j++)
				print_message("# %s: %s %s: %s\n", c.list[k].name, ptx_check_name(ptx_finding_at(r.machine, j)->check),
					ptx_kind_name(ptx_finding_at(r.machine, j)->kind), ptx_finding_at(r.machine, j)->message);
		rig_close(&r);
	}
	print_message("# planted bugs: %d of %d named first with the right check, kind and line\n", right, c.count);
	assert_int_equal(right, c.count);
	assert_true(c.count >= 44);
	buf_release(&c.source);
	buf_release(&c.ptx);
}

static void
test_right_kernels_are_left_alone(void **state)
{
	(void)state;
	struct corpus c;
	int alarms = 0;
	open_corpus(&c, "right");
	for (int k = 0; k < c.count * SCHEDULES; k++) {
		struct rig r;
		struct kernel_case *one = &c.list[k / SCHEDULES];
		one->schedule = (uint64_t)(k % SCHEDULES);
		enum ptx_status status = run_case(&r, &c, one);
		const struct ptx_finding *f = ptx_finding_at(r.machine, 0);
		if (status != PTX_OK || f) {
			print_message("# %s (%s, schedule %d): %s\n", one->name, ptx_status_name(status), k % SCHEDULES,
				f ? f->message : buf_str(&r.err));
			alarms++;
		}
		rig_close(&r);
	}
	print_message("# right kernels: %d, with a finding: %d\n", c.count, alarms);
	assert_int_equal(alarms, 0);
	assert_true(c.count >= 100);
	buf_release(&c.source);
	buf_release(&c.ptx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bug_is_named),
		cmocka_unit_test(test_right_kernels_are_left_alone),
	};
	return cmocka_run_group_tests_name("planted bugs", tests, NULL, NULL);
}
