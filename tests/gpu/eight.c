/* eight FILE...: verifies and times solutions of the test task on a GPU, all at once: with nothing cached, with their
 * builds cached, and when their evaluations are in the store. Prints seconds and statuses as JSON. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/io.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { BENCH_ELEMENTS = 30000000, MAX_FILES = 64 };

struct candidate {
	struct eval *engine;
	const struct task *task;
	struct buf source;
	char *status;
	double median_us;
};

static void *
evaluate(void *context)
{
	struct candidate *c = context;
	struct eval_summary summary;
	struct buf err = BUF_INIT;
	json_t *list;

	if (eval_solution(c->engine, c->task, buf_str(&c->source), EVAL_ALL, &list, &summary, &err))
		die(EX_TEMPFAIL, "%s", buf_str(&err));
	free(c->status);
	c->status = xstrdup(summary.status);
	c->median_us = rec_json_number(json_object_get(summary.decisive, "timing"), "median_us", 0);
	json_decref(list);
	return NULL;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* From an engine that is not there yet to the last verdict. */
static double
run(struct candidate *all, int count, const char *store, uint64_t seed)
{
	struct buf err = BUF_INIT;
	pthread_t thread[MAX_FILES];
	double begin = now();
	int status;

	eval_args.store = store;
	eval_args.device = "cuda";
	struct eval *engine = eval_open(seed, &status, &err);
	if (!engine)
		die(status, "%s", buf_str(&err));
	for (int i = 0; i < count; i++) {
		all[i].engine = engine;
		pthread_create(&thread[i], NULL, evaluate, &all[i]);
	}
	for (int i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	double seconds = now() - begin;
	eval_close(engine);
	return seconds;
}

int
main(int argc, char **argv)
{
	static struct candidate all[MAX_FILES];
	struct buf err = BUF_INIT;
	char *store = io_temp_dir("km-eight", &err);
	int count = argc - 1 < MAX_FILES ? argc - 1 : MAX_FILES;

	die_program = "eight";
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	struct task *task = test_task(BENCH_ELEMENTS);
	for (int i = 0; i < count; i++) {
		all[i].task = task;
		if (buf_read_file(&all[i].source, argv[i + 1], 1 << 20, &err))
			die(EX_NOINPUT, "%s", buf_str(&err));
	}
	double cold = run(all, count, store, 0), warm = run(all, count, store, 1), stored = run(all, count, store, 1);
	printf("{\"candidates\":%d,\"cold_s\":%.3f,\"builds_cached_s\":%.3f,\"evaluations_stored_s\":%.3f,\"verdicts\":{", count,
		cold, warm, stored);
	for (int i = 0; i < count; i++)
		printf("%s\"%s\":[\"%s\",%.2f]", i ? "," : "", strrchr(argv[i + 1], '/') + 1, all[i].status, all[i].median_us);
	printf("}}\n");
	io_remove_tree(store, NULL);
	free(store);
	task_free(task);
	return 0;
}
