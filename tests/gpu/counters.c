/* counters PROGRAM FILE...: solutions of the test task, counted by Nsight Compute (PROGRAM) on a GPU and by the PTX machine,
 * for the same call. Prints what the GPU counted, with ours over it as a ratio. Exit 1 when a count that both define alike
 * (requests and sectors of global memory, bank conflicts) differs by more than a hundredth, and the solution does not say
 * that it is "counted otherwise"; 69 when nothing was counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { ELEMENTS = 4000003 };

/* Counts of the PTX machine over those of the GPU. */
static const struct pair {
	const char *ours, *theirs, *title;
	bool same;		/* by definition */
} pairs[] = {
	{ "global_read_requests", "global_read_requests", "rd-req", true },
	{ "global_read_sectors", "global_read_sectors", "rd-sect", true },
	{ "global_write_requests", "global_write_requests", "wr-req", true },
	{ "global_write_sectors", "global_write_sectors", "wr-sect", true },
	{ "shared_bank_conflicts", "shared_bank_conflicts", "conflict", true },
	{ "l2_sectors", "l2_sectors", "l2-sect", false },
	{ "dram_sectors", "dram_sectors", "dram-rd", false },
	{ "warp_instructions", "warp_instructions", "warp-ins", false },
	{ "lane_instructions", "lane_instructions", "lane-ins", false },
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static struct buf source;

/* The last evaluation of the file's solution: the bench workload on a GPU, the profile workload on the PTX machine. */
static json_t *
evaluate(struct eval *engine, const struct task *task, const char *path)
{
	struct buf err = BUF_INIT;
	struct eval_summary summary;
	json_t *list;

	buf_reset(&source);
	if (buf_read_file(&source, path, 1 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	if (eval_solution(engine, task, buf_str(&source), EVAL_VISIBLE, &list, &summary, &err))
		die(EX_TEMPFAIL, "%s: %s", path, buf_str(&err));
	if (strcmp(summary.status, "PASSED"))
		die(EX_DATAERR, "%s: %s on %s: %s", path, summary.status, rec_json_string(summary.decisive, "workload", ""),
			rec_json_string(summary.decisive, "reason", ""));
	json_t *last = json_incref(json_array_get(list, json_array_size(list) - 1));
	json_decref(list);
	return last;
}

/* Sum over the launches; NAN: not counted. */
static double
sum(const json_t *launches, const char *field)
{
	const json_t *launch;
	double total = 0;
	size_t i;

	if (!strcmp(field, "l2_sectors"))
		return sum(launches, "l2_read_sectors") + sum(launches, "l2_write_sectors");
	if (!strcmp(field, "dram_sectors"))
		return sum(launches, "dram_read_bytes") / 32;
	json_array_foreach(launches, i, launch)
		total += rec_json_number(launch, field, NAN);
	return total;
}

static int
compare(const char *name, const json_t *ours, const json_t *theirs)
{
	const json_t *counters = json_object_get(ours, "counters");
	const json_t *launches = json_object_get(json_object_get(theirs, "hardware_counters"), "launches");
	bool otherwise = strstr(buf_str(&source), "counted otherwise");
	int different = 0;

	printf("%-18s", name);
	for (int i = 0; i < PAIRS; i++) {
		double a = rec_json_number(counters, pairs[i].ours, 0), b = sum(launches, pairs[i].theirs);
		/* Requests to shared memory that meet others on the way are conflicts to the GPU. */
		double met = strcmp(pairs[i].ours, "shared_bank_conflicts") ? 0 : 0.05 * sum(launches, "shared_wavefronts");
		bool same = otherwise || fabs(a - b) <= 0.01 * fmax(a, b) + met;

		if (b > 0)
			printf(" %10.0f %5.3f%c", b, a / b, pairs[i].same && !same ? '!' : ' ');
		else
			printf(" %10.0f %5.0f%c", b, a, pairs[i].same && !same ? '!' : ' ');
		different += pairs[i].same && !same;
	}
	printf(" %6.2f %6.2f", sum(launches, "dram_read_bytes") / 1e6, sum(launches, "dram_write_bytes") / 1e6);
	printf(" %5.1f %5.1f\n", sum(launches, "lane_instructions") / sum(launches, "warp_instructions"),
		rec_json_number(counters, "lane_instructions", 0) / rec_json_number(counters, "warp_instructions", 1));
	fflush(stdout);
	return different;
}

static void
print_titles(void)
{
	printf("%-18s", "GPU, ours / GPU");
	for (int i = 0; i < PAIRS; i++)
		printf(" %16s ", pairs[i].title);
	printf(" DRAM read, written MB; active lanes: GPU, ours\n");
	fflush(stdout);
}

static struct eval *
open_engine(const char *store, const char *device, const char *program)
{
	struct buf err = BUF_INIT;
	int status;

	eval_args.store = store;
	eval_args.device = device;
	eval_args.counters = program;
	struct eval *engine = eval_open(0, &status, &err);
	if (!engine)
		die(status, "%s", buf_str(&err));
	return engine;
}

int
main(int argc, char **argv)
{
	struct buf err = BUF_INIT;
	int different = 0, counted = 0;

	die_program = "counters";
	if (argc < 3)
		die(EX_USAGE, "usage: counters PROGRAM FILE...");
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	char *folder = io_temp_dir("km-counters", &err);
	struct task *timed = test_task(ELEMENTS), *profiled = test_task_with(ELEMENTS, "profile");
	struct eval *gpu = open_engine(folder, "cuda", argv[1]), *machine = open_engine(folder, "cpu", NULL);
	print_titles();
	for (int i = 2; i < argc; i++) {
		const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
		json_t *theirs = evaluate(gpu, timed, argv[i]), *ours = evaluate(machine, profiled, argv[i]);
		const char *reason = rec_json_string(json_object_get(theirs, "hardware_counters"), "reason", NULL);

		counted += !reason;
		if (reason)
			printf("%-18s nothing was counted: %s\n", name, reason);
		else
			different += compare(name, ours, theirs);
		json_decref(ours);
		json_decref(theirs);
	}
	eval_close(gpu);
	eval_close(machine);
	io_remove_tree(folder, NULL);
	free(folder);
	task_free(timed);
	task_free(profiled);
	printf("%d of %d counted; %d counts differ that should not\n", counted, argc - 2, different);
	return different ? 1 : counted ? 0 : EX_UNAVAILABLE;
}
