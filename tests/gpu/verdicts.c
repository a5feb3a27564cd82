/* verdicts cases TASKS LIST: a case for each line of LIST (GROUP, task, name, file, with tabs between), without bench
 * workloads, on standard output. verdicts compare BUILDS KNOWN CPU CUDA: what km-verify made of them on the two devices;
 * a line for each kernel whose verdict or bits differ, with what explains it, then the counts. BUILDS: the folder of
 * kept builds, whose PTX says which results are not defined to the last bit. KNOWN: lines of GROUP/NAME, the cpu's and
 * the GPU's status, same|other|- for the bits, and the reason; * and ? as in file names. Exit 1 where a difference has
 * no explanation. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/build.h"
#include "eval/task.h"
#include "hash/id.h"
#include "rec/json.h"

enum { MAX_CASE_BYTES = 16 << 20, MAX_SOURCE_BYTES = 4 << 20, MAX_PTX_BYTES = 64 << 20, MAX_KNOWN = 1000, MAX_GROUPS = 64 };

/* ---- cases */

static json_t *
read_cases(const char *path)
{
	struct buf line = BUF_INIT, err = BUF_INIT;
	struct io_in *in = io_open_in(path, &err);
	json_t *list = json_array();
	enum io_line got = IO_EOF;

	if (!in)
		die(EX_NOINPUT, "%s", buf_str(&err));
	while ((got = io_read_line(in, &line, MAX_CASE_BYTES, &err)) == IO_LINE)
		json_array_append_new(list, rec_json_parse(buf_str(&line), line.len, &err));
	if (got != IO_EOF || err.len)
		die(EX_DATAERR, "%s: %s", path, buf_str(&err));
	io_close_in(in);
	buf_release(&line);
	return list;
}

static json_t *
task_named(const json_t *cases, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(cases, i, one)
		if (!strcmp(rec_json_string(json_object_get(one, "task"), "name", ""), name))
			return json_deep_copy(one);
	die(EX_DATAERR, "there is no task %s", name);
}

static void
drop_bench(json_t *task)
{
	json_t *list = json_object_get(task, "workloads");

	for (size_t i = json_array_size(list); i--;)
		if (!strcmp(rec_json_string(json_array_get(list, i), "role", ""), "bench"))
			json_array_remove(list, i);
}

static void
print_case(const json_t *tasks, const char *group, const char *task, const char *name, const char *file)
{
	struct buf source = BUF_INIT, label = BUF_INIT, text = BUF_INIT, err = BUF_INIT;
	char id[HASH_ID_HEX];
	json_t *one = task_named(tasks, task), *section = json_object_get(one, "task");

	if (buf_read_file(&source, file, MAX_SOURCE_BYTES, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	buf_addf(&label, "%s/%s", group, name);
	drop_bench(section);
	task_identity(section, id);
	json_object_set_new(section, "id", json_string(id));
	json_object_set_new(one, "solutions", json_pack("[{s:s, s:s, s:o, s:{s:s, s:s}}]", "task_id", id, "phase", "solve",
		"source", rec_json_text(buf_str(&source), source.len), "origin", "kind", "authored", "author", buf_str(&label)));
	rec_json_dump(one, &text);
	puts(buf_str(&text));
	json_decref(one);
	buf_release(&source);
	buf_release(&label);
	buf_release(&text);
}

static int
make_cases(const char *tasks_path, const char *list_path)
{
	json_t *tasks = read_cases(tasks_path);
	struct buf line = BUF_INIT, err = BUF_INIT;
	struct io_in *in = io_open_in(list_path, &err);

	while (in && io_read_line(in, &line, MAX_SOURCE_BYTES, &err) == IO_LINE) {
		char *part[4], *rest = line.data;
		for (int i = 0; i < 4; i++)
			if (!(part[i] = strsep(&rest, "\t")))
				die(EX_DATAERR, "%s:%llu: a line has four parts", list_path, (unsigned long long)io_line_number(in));
		print_case(tasks, part[0], part[1], part[2], part[3]);
	}
	if (!in || err.len)
		die(EX_NOINPUT, "%s", buf_str(&err));
	io_close_in(in);
	return fflush(stdout) ? EX_IOERR : 0;
}

/* ---- compare */

/* Why two right runs may differ in their last bits, as PTX tells it. */
static const struct reason {
	const char *words[3], *meaning;
} reasons[] = {
	{ { ".approx" }, "approximations" },
	{ { "div.full" }, "approximations" },
	{ { "atom.", ".add.f" }, "order of float atomics" },
	{ { "red.", ".add.f" }, "order of float atomics" },
	{ { "atom.", ".add.noftz." }, "order of float atomics" },
	{ { "red.", ".add.noftz." }, "order of float atomics" },
	{ { "mma." }, "tensor cores" },
	{ { "\tmul.f" }, "products that ptxas may fuse" },
};

static bool
line_has(const char *line, size_t length, const struct reason *r)
{
	for (int i = 0; i < 3 && r->words[i]; i++)
		if (!memmem(line, length, r->words[i], strlen(r->words[i])))
			return false;
	return true;
}

/* From the PTX of the kept build. */
static void
add_reasons(json_t *section, const char *source, const char *builds, struct buf *out)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct cuda_build b = CUDA_BUILD_INIT;
	struct buf prelude = BUF_INIT, path = BUF_INIT, ptx = BUF_INIT, err = BUF_INIT;
	struct task *task = task_load(section, &err);

	if (!task || cuda_prelude(arguments, task_arguments(task, NULL, arguments), &prelude, &err)
		|| cuda_build(source, strlen(source), buf_str(&prelude), 90, builds, NULL, &b, &err))
		die(EX_SOFTWARE, "%s", buf_str(&err));
	if (b.verdict == CUDA_OK) {
		buf_addf(&path, "%s/device.ptx", b.folder);
		if (buf_read_file(&ptx, buf_str(&path), MAX_PTX_BYTES, &err))
			die(EX_IOERR, "%s", buf_str(&err));
	}
	for (const char *line = buf_str(&ptx); *line; line += strcspn(line, "\n"), line += *line == '\n')
		for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
			if (line_has(line, strcspn(line, "\n"), &reasons[i]) && !strstr(buf_str(out), reasons[i].meaning))
				buf_addf(out, "%s%s", out->len ? ", " : "", reasons[i].meaning);
	task_free(task);
	cuda_build_release(&b);
	buf_release(&prelude);
	buf_release(&path);
	buf_release(&ptx);
}

static struct known {
	char *pattern, *cpu, *cuda, *bits, *why;
} known[MAX_KNOWN];
static int n_known;

static void
read_known(const char *path)
{
	struct buf line = BUF_INIT, err = BUF_INIT;
	struct io_in *in = io_open_in(path, &err);

	if (!in)
		die(EX_NOINPUT, "%s", buf_str(&err));
	while (io_read_line(in, &line, 4096, &err) == IO_LINE && n_known < MAX_KNOWN) {
		struct known *k = &known[n_known];
		char *rest, *text = strdup(buf_str(&line));
		if (!text)
			die(EX_OSERR, "no memory");
		k->pattern = strtok_r(text, " \t", &rest);
		k->cpu = strtok_r(NULL, " \t", &rest);
		k->cuda = strtok_r(NULL, " \t", &rest);
		k->bits = strtok_r(NULL, " \t", &rest);
		k->why = strtok_r(NULL, "\n", &rest);
		n_known += k->pattern && *k->pattern != '#' && k->why;
	}
	io_close_in(in);
	buf_release(&line);
}

struct verdict {
	const char *status, *workload, *reason, *kind;	/* kind: of the first error that was found, - without one */
	const json_t *finding;				/* the first, a warning too; or NULL */
	const json_t *all;
};

static const char *
first_kind(const json_t *evaluation)
{
	const json_t *finding = json_array_get(json_object_get(evaluation, "findings"), 0);	/* errors come first */

	return finding && !json_object_get(finding, "severity") ? rec_json_string(finding, "kind", "-") : "-";
}

static struct verdict
verdict_of(const json_t *one)
{
	const json_t *list = json_object_get(one, "evaluations"), *e, *decisive = NULL;
	size_t i;

	json_array_foreach(list, i, e) {
		decisive = e;
		if (strcmp(rec_json_string(e, "status", ""), "PASSED"))
			break;
	}
	return (struct verdict){ decisive ? rec_json_string(decisive, "status", "-") : "none",
		rec_json_string(decisive, "workload", "-"), rec_json_string(decisive, "reason", ""), first_kind(decisive),
		json_array_get(json_object_get(decisive, "findings"), 0), list };
}

static const json_t *
of_workload(const json_t *list, const char *workload)
{
	const json_t *e;
	size_t i;

	json_array_foreach(list, i, e)
		if (!strcmp(rec_json_string(e, "workload", "-"), workload))
			return e;
	return NULL;
}

/* same, other, or - where no run reached its end on both. */
static const char *
compare_bits(const json_t *cpu, const json_t *cuda)
{
	const char *bits = "-";
	const json_t *e;
	size_t i;

	json_array_foreach(cpu, i, e) {
		const json_t *mine = json_object_get(e, "outputs");
		const json_t *its = json_object_get(of_workload(cuda, rec_json_string(e, "workload", "-")), "outputs");
		if (json_array_size(mine) && json_array_size(its) && !json_equal(mine, its))
			return "other";
		if (json_array_size(mine) && json_array_size(its))
			bits = "same";
	}
	return bits;
}

static struct group {
	char name[64];
	int kernels, same_verdict, explained_verdict, other_verdict, same_bits, explained_bits, other_bits;
	int other_kind;				/* of all groups together */
} group[MAX_GROUPS], all = { .name = "all" };
static int n_groups;

static struct group *
group_of(const char *label)
{
	int length = (int)strcspn(label, "/");

	for (int i = 0; i < n_groups; i++)
		if (!strncmp(group[i].name, label, (size_t)length) && !group[i].name[length])
			return &group[i];
	if (n_groups == MAX_GROUPS || length > 63)
		die(EX_DATAERR, "too many groups");
	snprintf(group[n_groups].name, sizeof group->name, "%.*s", length, label);
	return &group[n_groups++];
}

static const char *
explanation(const char *label, const char *cpu, const char *cuda, const char *bits)
{
	for (int i = 0; i < n_known; i++)
		if (!fnmatch(known[i].pattern, label, 0) && !fnmatch(known[i].cpu, cpu, 0) && !fnmatch(known[i].cuda, cuda, 0)
			&& !fnmatch(known[i].bits, bits, 0))
			return known[i].why;
	return NULL;
}

/* What the PTX machine stops at, or warns of, and a GPU does not see. Whether it is there is for a reader to see. */
static void
add_unseen(const struct verdict *cpu, struct buf *out)
{
	static const struct {
		const char *kind, *meaning;
	} unseen[] = {
		{ "out_of_bounds", "beyond a buffer, where a GPU has memory all the same" },
		{ "use_after_free", "freed, but still there on a GPU" },
		{ "uninitialised_read", "a GPU reads what happens to be there" },
		{ "never_written", "a GPU compares what happens to be there" },
		{ "divergent_barrier", "a GPU passes it, or hangs" },
		{ "barrier_mismatch", "a GPU passes it, or hangs" },
		{ "exited_lanes_in_mask", "a GPU does not check masks" },
		{ "lane_not_in_mask", "a GPU does not check masks" },
		{ "write_read", "a race ends as the order of threads has it" },
		{ "read_write", "a race ends as the order of threads has it" },
		{ "write_write", "a race ends as the order of threads has it" },
	};
	const char *kind = rec_json_string(cpu->finding, "kind", "");

	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
		if (!strcmp(kind, unseen[i].kind))
			buf_addf(out, "%s at %s:%d: %s", kind, rec_json_string(cpu->finding, "file", "?"),
				(int)rec_json_integer(cpu->finding, "line", 0), unseen[i].meaning);
}

static void
count(struct group *g, bool same_verdict, const char *bits, bool explained)
{
	g->kernels++;
	*(same_verdict ? &g->same_verdict : explained ? &g->explained_verdict : &g->other_verdict) += 1;
	g->same_bits += !strcmp(bits, "same");
	if (!strcmp(bits, "other"))
		*(explained ? &g->explained_bits : &g->other_bits) += 1;
}

static const char *
label_of(const json_t *one)
{
	const json_t *solution = json_array_get(json_object_get(one, "solutions"), 0);

	return rec_json_string(json_object_get(solution, "origin"), "author", "?");
}

static void
compare_case(const json_t *cpu_case, const json_t *cuda_case, const char *builds)
{
	const json_t *solution = json_array_get(json_object_get(cpu_case, "solutions"), 0);
	const char *label = label_of(cpu_case);
	struct verdict cpu = verdict_of(cpu_case), cuda = verdict_of(cuda_case);
	const char *bits = compare_bits(cpu.all, cuda.all), *why = NULL;
	bool same = !strcmp(cpu.status, cuda.status);
	struct buf reason = BUF_INIT;

	if (same && strcmp(cpu.kind, cuda.kind) && strcmp(cuda.kind, "-")) {
		printf("%s\t%s\tsame\t%s\tcalled %s, on the GPU %s\n", label, cpu.status, bits, cpu.kind, cuda.kind);
		all.other_kind++;
	}
	if (!same || !strcmp(bits, "other")) {
		why = explanation(label, cpu.status, cuda.status, bits);
		if (!why)
			add_unseen(&cpu, &reason);
		if (!why && same)
			add_reasons(json_object_get(cpu_case, "task"), rec_json_string(solution, "source", ""), builds, &reason);
		if (reason.len)
			why = buf_str(&reason);
		printf("%s\t%s\t%s\t%s\t%s\n", label, cpu.status, same ? "same" : cuda.status, bits, why ? why : "NOT EXPLAINED");
		if (!why)
			printf("\tcpu, %s: %.300s\n\tGPU, %s: %.300s\n", cpu.workload, cpu.reason, cuda.workload, cuda.reason);
	}
	count(group_of(label), same, bits, why);
	count(&all, same, bits, why);
	buf_release(&reason);
}

static const json_t *
same_case(const json_t *list, const json_t *one)
{
	const json_t *other;
	size_t i;

	json_array_foreach(list, i, other)
		if (!strcmp(label_of(other), label_of(one)))
			return other;
	return NULL;
}

static void
print_group(const struct group *g)
{
	printf("%-12s %7d %8d %10d %12d %9d %10d %12d\n", g->name, g->kernels, g->same_verdict, g->explained_verdict,
		g->other_verdict, g->same_bits, g->explained_bits, g->other_bits);
}

static int
compare(const char *builds, const char *known_path, const char *cpu_path, const char *cuda_path)
{
	json_t *cpu = read_cases(cpu_path), *cuda = read_cases(cuda_path), *one;
	int missing = 0;
	size_t i;

	read_known(known_path);
	json_array_foreach(cpu, i, one) {
		const json_t *other = same_case(cuda, one);
		if (other)
			compare_case(one, other, builds);
		missing += !other;
	}
	printf("\n%-12s %7s %8s %10s %12s %9s %10s %12s\n", "", "kernels", "verdicts", "explained", "unexplained", "bits",
		"explained", "unexplained");
	printf("%-12s %7s %8s %10s %12s %9s %10s %12s\n", "", "", "same", "other", "other", "same", "other", "other");
	for (int g = 0; g < n_groups; g++)
		print_group(&group[g]);
	print_group(&all);
	printf("%d verdicts are the same, with another kind of error\n", all.other_kind);
	if (missing)
		printf("%d kernels have a verdict of the cpu only\n", missing);
	return all.other_verdict || all.other_bits || missing || !all.kernels;
}

int
main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "cases"))
		return make_cases(argv[2], argv[3]);
	if (argc == 6 && !strcmp(argv[1], "compare"))
		return compare(argv[2], argv[3], argv[4], argv[5]);
	die(EX_USAGE, "usage: verdicts cases TASKS LIST | verdicts compare BUILDS KNOWN CPU CUDA");
}
