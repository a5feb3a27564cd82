/* attacks FILE...: evaluates solutions of the test task on a GPU, the first of which is the baseline of the others, and
 * compares each verdict with the line "// expect: STATUS[|STATUS] WORDS" that it starts with. Exit 1 when one differs. */
#include <stdio.h>
#include <stdlib.h>

#include "base/io.h"
#include "sandbox/sandbox.h"
#include "task.h"

enum { BENCH_ELEMENTS = 30000000 };

static bool
try_one(struct eval *engine, const struct task *task, const char *path)
{
	struct buf source = BUF_INIT, err = BUF_INIT;
	struct eval_summary summary;
	json_t *list;

	if (buf_read_file(&source, path, 1 << 20, &err))
		die(EX_NOINPUT, "%s", buf_str(&err));
	const char *expected = strstr(buf_str(&source), "expect: ");
	if (!expected)
		die(EX_DATAERR, "%s does not say what to expect", path);
	char *line = xstrndup(expected + 8, strcspn(expected + 8, "\n"));
	size_t length = strcspn(line, " ");
	const char *words = line[length] ? line + length + 1 : "";
	if (eval_solution(engine, task, buf_str(&source), EVAL_VISIBLE, &list, &summary, &err))
		die(EX_TEMPFAIL, "%s: %s", path, buf_str(&err));
	const char *reason = rec_json_string(summary.decisive, "reason", "");
	const char *found = memmem(line, length, summary.status, strlen(summary.status));
	bool same = found && strstr(reason, words);
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	printf("%-4s %-24s %s on %s%s%s\n", same ? "ok" : "NOT", name, summary.status,
		rec_json_string(summary.decisive, "workload", "-"), *reason ? ": " : "", reason);
	fflush(stdout);
	json_decref(list);
	free(line);
	buf_release(&source);
	buf_release(&err);
	return same;
}

int
main(int argc, char **argv)
{
	struct buf err = BUF_INIT;
	char *store = io_temp_dir("km-attacks", &err);
	int different = 0;

	die_program = "attacks";
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	struct eval *engine = test_engine(store);
	struct task *task = test_task(BENCH_ELEMENTS);
	for (int i = 1; i < argc; i++)
		different += !try_one(engine, task, argv[i]);
	eval_close(engine);
	task_free(task);
	io_remove_tree(store, NULL);
	free(store);
	printf("%d of %d as expected\n", argc - 1 - different, argc - 1);
	return different != 0;
}
