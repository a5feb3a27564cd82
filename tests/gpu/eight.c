/* eight FILE...: verifies and times solutions of the test task on a GPU, one after another and all at once: with nothing
 * cached, with their builds cached, and when their evaluations are in the store. Prints a JSON object a line for each of
 * these, as soon as it is done; seconds count from an engine that is not there yet to the last verdict. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/io.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { BENCH_ELEMENTS = 30000000, MAX_FILES = 64 };

struct candidate {
	struct eval *engine;
	const struct task *task;
	struct buf source;
	const char *name;
	char *status;
	double median_us, seconds;
};

static void *
evaluate(void *context)
{
	struct candidate *c = context;
	struct eval_summary summary;
	struct buf err = BUF_INIT;
	double begin = clock_seconds();
	json_t *list;

	if (eval_solution(c->engine, c->task, buf_str(&c->source), EVAL_ALL, &list, &summary, &err))
		die(EX_TEMPFAIL, "%s", buf_str(&err));
	c->seconds = clock_seconds() - begin;
	free(c->status);
	c->status = xstrdup(summary.status);
	c->median_us = rec_json_number(json_object_get(summary.decisive, "timing"), "median_us", 0);
	json_decref(list);
	return NULL;
}

static void
evaluate_all(struct candidate *all, int count, bool at_once)
{
	pthread_t thread[MAX_FILES];

	for (int i = 0; i < count; i++) {
		if (pthread_create(&thread[i], NULL, evaluate, &all[i]))
			die(EX_OSERR, "cannot start a thread:");
		if (!at_once)
			pthread_join(thread[i], NULL);
	}
	for (int i = 0; at_once && i < count; i++)
		pthread_join(thread[i], NULL);
}

static void
run(const char *phase, struct candidate *all, int count, bool at_once, const char *store, uint64_t seed)
{
	struct buf err = BUF_INIT;
	double begin = clock_seconds();
	int status;

	eval_args.store = store;
	eval_args.device = "cuda";
	struct eval *engine = eval_open(seed, &status, &err);
	if (!engine)
		die(status, "%s", buf_str(&err));
	double opened = clock_seconds();
	for (int i = 0; i < count; i++)
		all[i].engine = engine;
	evaluate_all(all, count, at_once);
	double seconds = clock_seconds() - begin;
	printf("{\"phase\":\"%s, %s\",\"candidates\":%d,\"seconds\":%.3f,\"seconds_each\":%.4f,\"open_s\":%.3f,\"each\":{",
		at_once ? "all at once" : "one by one", phase, count, seconds, seconds / count, opened - begin);
	for (int i = 0; i < count; i++)
		printf("%s\"%s\":[\"%s\",%.2f,%.3f]", i ? "," : "", all[i].name, all[i].status, all[i].median_us, all[i].seconds);
	printf("}}\n");
	fflush(stdout);
	eval_close(engine);
}

int
main(int argc, char **argv)
{
	static struct candidate all[MAX_FILES];
	struct buf err = BUF_INIT;
	char *folder = io_temp_dir("km-eight", &err);
	int count = argc - 1 < MAX_FILES ? argc - 1 : MAX_FILES;

	die_program = "eight";
	if (!count)
		die(EX_USAGE, "usage: eight FILE...");
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	struct task *task = test_task(BENCH_ELEMENTS);
	for (int i = 0; i < count; i++) {
		all[i].task = task;
		all[i].name = strrchr(argv[i + 1], '/') ? strrchr(argv[i + 1], '/') + 1 : argv[i + 1];
		if (buf_read_file(&all[i].source, argv[i + 1], 1 << 20, &err))
			die(EX_NOINPUT, "%s", buf_str(&err));
	}
	for (int at_once = 0; at_once < 2; at_once++) {
		struct buf store = BUF_INIT;

		buf_addf(&store, "%s/store%d", folder, at_once);
		run("cold", all, count, at_once, buf_str(&store), 0);
		run("builds cached", all, count, at_once, buf_str(&store), 1);
		run("evaluations stored", all, count, at_once, buf_str(&store), 1);
		buf_release(&store);
	}
	io_remove_tree(folder, NULL);
	free(folder);
	task_free(task);
	return 0;
}
