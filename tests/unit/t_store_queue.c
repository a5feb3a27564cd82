/* The review queue: what holds for an item after decisions, undo, a change of the task, a second reviewer, a
 * second process and a kill; and files that are no queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "store/queue.h"

static char *folder;
static struct buf path = BUF_INIT;
static int serial;

static int
set_up(void **state)
{
	struct buf err = BUF_INIT;

	(void)state;
	if (!folder)
		folder = io_temp_dir("queue", &err);
	buf_reset(&path);
	buf_addf(&path, "%s/q%d/review.sqlite", folder, ++serial);
	return folder ? 0 : -1;
}

static struct queue *
open_queue(void)
{
	struct buf err = BUF_INIT;
	int status = 0;
	struct queue *q = queue_open(buf_str(&path), true, &status, &err);

	if (!q)
		fail_msg("%s", buf_str(&err));
	return q;
}

static int
add(struct queue *q, const char *name, const char *shown)
{
	struct queue_entry e = { "id", shown, name, "softmax", "float32", "EM", "{\"x\":1}", 7 };
	struct buf err = BUF_INIT, id = BUF_INIT;
	int added;

	buf_addf(&id, "id-%s", name);
	e.task_id = buf_str(&id);
	added = queue_add(q, &e, &err);
	assert_string_equal(buf_str(&err), "");
	buf_release(&id);
	return added;
}

static int
decide_as(struct queue *q, const struct queue_item *item, enum queue_action action, const char *actor,
	const char *reason)
{
	struct queue_decision d = { .task_id = item->task_id, .shown_sha256 = item->shown_sha256, .name = item->name,
		.action = action, .actor = actor, .actor_kind = "person", .mode = "interactive", .reason = reason };
	struct buf err = BUF_INIT;
	int status = queue_decide(q, &d, &err);

	assert_string_equal(buf_str(&err), "");
	return status;
}

static struct queue_list
list_of(struct queue *q)
{
	struct queue_list list;
	struct buf err = BUF_INIT;

	assert_int_equal(queue_list(q, &list, &err), 0);
	return list;
}

static enum queue_action
action_of(struct queue *q, size_t index)
{
	struct queue_list list = list_of(q);
	enum queue_action action = list.item[index].action;

	queue_list_release(&list);
	return action;
}

static void
decide(struct queue *q, size_t index, enum queue_action action)
{
	struct queue_list list = list_of(q);

	assert_int_equal(decide_as(q, &list.item[index], action, "ann", "why"), 1);
	queue_list_release(&list);
}

static int
undo(struct queue *q, const char *actor)
{
	struct buf err = BUF_INIT;
	int64_t row = 0;
	int got = queue_undo(q, actor, "person", "interactive", &row, &err);

	assert_string_equal(buf_str(&err), "");
	assert_int_equal(got == 1, row > 0);
	return got;
}

static int
count_rows(void *context, const struct queue_decision *d)
{
	(void)d;
	++*(int *)context;
	return 0;
}

static int
decisions(struct queue *q, bool whole_log)
{
	struct buf err = BUF_INIT;
	int count = 0;

	assert_int_equal(queue_decisions(q, whole_log, count_rows, &count, &err), 0);
	return count;
}

static void
items_are_listed_by_name_and_once(void **state)
{
	struct queue *q = open_queue();
	struct queue_list list;
	struct buf task = BUF_INIT, err = BUF_INIT;

	(void)state;
	assert_int_equal(add(q, "softmax", "s1"), 1);
	assert_int_equal(add(q, "conv", "s1"), 1);
	assert_int_equal(add(q, "softmax", "s1"), 0);
	list = list_of(q);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.item[0].name, "conv");
	assert_string_equal(list.item[1].name, "softmax");
	assert_string_equal(list.item[1].dtypes, "float32");
	assert_int_equal(list.item[0].action, QUEUE_UNDECIDED);
	assert_int_equal(queue_task(q, list.item[0].row, &task, &err), 0);
	assert_string_equal(buf_str(&task), "{\"x\":1}");
	assert_int_equal(queue_task(q, 999, &task, &err), -1);
	queue_list_release(&list);
	buf_release(&task);
	buf_release(&err);
	queue_close(q);
}

static void
undo_goes_back_step_by_step(void **state)
{
	struct queue *q = open_queue();

	(void)state;
	add(q, "a", "s");
	add(q, "b", "s");
	decide(q, 0, QUEUE_ACCEPT);
	decide(q, 0, QUEUE_REJECT);
	decide(q, 1, QUEUE_SKIP);
	assert_int_equal(action_of(q, 0), QUEUE_REJECT);
	assert_int_equal(action_of(q, 1), QUEUE_SKIP);
	assert_int_equal(undo(q, "ann"), 1);
	assert_int_equal(action_of(q, 1), QUEUE_UNDECIDED);
	assert_int_equal(undo(q, "ann"), 1);
	assert_int_equal(action_of(q, 0), QUEUE_ACCEPT);
	assert_int_equal(undo(q, "ann"), 1);
	assert_int_equal(action_of(q, 0), QUEUE_UNDECIDED);
	assert_int_equal(undo(q, "ann"), 0);
	assert_int_equal(decisions(q, true), 6);
	assert_int_equal(decisions(q, false), 0);
	queue_close(q);
}

static void
undo_takes_back_only_ones_own(void **state)
{
	struct queue *q = open_queue();
	struct queue_list list;

	(void)state;
	add(q, "a", "s");
	list = list_of(q);
	decide_as(q, &list.item[0], QUEUE_ACCEPT, "ann", "");
	decide_as(q, &list.item[0], QUEUE_REJECT, "bob", "wrong");
	assert_int_equal(undo(q, "ann"), 1);
	assert_int_equal(action_of(q, 0), QUEUE_REJECT);
	assert_int_equal(undo(q, "ann"), 0);
	assert_int_equal(undo(q, "bob"), 1);
	assert_int_equal(action_of(q, 0), QUEUE_UNDECIDED);
	queue_list_release(&list);
	queue_close(q);
}

static void
a_decision_lapses_when_the_task_changes(void **state)
{
	struct queue *q = open_queue();
	struct queue_list list;

	(void)state;
	add(q, "a", "before");
	decide(q, 0, QUEUE_ACCEPT);
	assert_int_equal(add(q, "a", "after"), 1);
	list = list_of(q);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.item[0].shown_sha256, "after");
	assert_int_equal(list.item[0].action, QUEUE_UNDECIDED);
	assert_true(list.item[0].lapsed);
	queue_list_release(&list);
	/* The old one is still cited, until there is one about what is shown now. */
	assert_int_equal(decisions(q, false), 1);
	decide(q, 0, QUEUE_REJECT);
	assert_int_equal(decisions(q, false), 1);
	/* A change that is taken back brings its decision back. */
	assert_int_equal(add(q, "a", "before"), 0);
	list = list_of(q);
	assert_int_equal(list.item[0].action, QUEUE_ACCEPT);
	assert_false(list.item[0].lapsed);
	queue_list_release(&list);
	queue_close(q);
}

static void
the_same_decision_is_imported_once(void **state)
{
	struct queue *q = open_queue();
	struct queue_decision d = { .task_id = "id-a", .shown_sha256 = "s", .name = "a", .action = QUEUE_ACCEPT,
		.actor = "p", .actor_kind = "program", .mode = "imported", .time = "2026-01-01T00:00:00Z", .reason = "r" };
	struct buf err = BUF_INIT;

	(void)state;
	add(q, "a", "s");
	assert_int_equal(queue_decide(q, &d, &err), 1);
	assert_int_equal(queue_decide(q, &d, &err), 0);
	d.action = QUEUE_REJECT;
	assert_int_equal(queue_decide(q, &d, &err), 1);
	assert_int_equal(decisions(q, true), 2);
	d.mode = "guessed";
	assert_int_equal(queue_decide(q, &d, &err), -1);
	d.mode = "imported";
	d.actor_kind = "robot";
	assert_int_equal(queue_decide(q, &d, &err), -1);
	assert_int_equal(decisions(q, true), 2);
	buf_release(&err);
	queue_close(q);
}

/* A file of decisions may be older than what the queue knows, and hold what was taken back since. */
static void
what_is_imported_takes_its_place_in_time(void **state)
{
	struct queue *q = open_queue();
	struct queue_decision d = { .task_id = "id-a", .shown_sha256 = "s", .name = "a", .action = QUEUE_ACCEPT,
		.actor = "ann", .actor_kind = "person", .mode = "interactive", .time = "2026-01-01T00:00:00Z", .reason = "" };
	struct buf err = BUF_INIT;

	(void)state;
	add(q, "a", "s");
	assert_int_equal(queue_decide(q, &d, &err), 1);
	assert_int_equal(undo(q, "ann"), 1);
	assert_int_equal(queue_decide(q, &d, &err), 0);
	assert_int_equal(action_of(q, 0), QUEUE_UNDECIDED);
	decide(q, 0, QUEUE_REJECT);
	d.actor = "bob";
	assert_int_equal(queue_decide(q, &d, &err), 1);
	assert_int_equal(action_of(q, 0), QUEUE_REJECT);
	/* Of a time that is still to come: what is decided now holds all the same. */
	d.time = "2999-01-01T00:00:00Z";
	assert_int_equal(queue_decide(q, &d, &err), 1);
	assert_int_equal(action_of(q, 0), QUEUE_ACCEPT);
	decide(q, 0, QUEUE_REJECT);
	assert_int_equal(action_of(q, 0), QUEUE_REJECT);
	queue_close(q);
}

static void
the_log_cannot_be_rewritten(void **state)
{
	struct queue *q = open_queue();
	sqlite3 *db;

	(void)state;
	add(q, "a", "s");
	decide(q, 0, QUEUE_ACCEPT);
	assert_int_equal(sqlite3_open(buf_str(&path), &db), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, "UPDATE decision SET action = 'reject'", NULL, NULL, NULL), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, "DELETE FROM decision", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(action_of(q, 0), QUEUE_ACCEPT);
	queue_close(q);
}

static void
an_abandoned_import_leaves_nothing(void **state)
{
	struct queue *q = open_queue();
	struct buf err = BUF_INIT;
	struct queue_list list;

	(void)state;
	add(q, "a", "s");
	assert_int_equal(queue_begin(q, &err), 0);
	assert_int_equal(queue_clear_list(q, &err), 0);
	add(q, "b", "s");
	queue_abandon(q);
	list = list_of(q);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.item[0].name, "a");
	queue_list_release(&list);
	assert_int_equal(queue_begin(q, &err), 0);
	assert_int_equal(queue_clear_list(q, &err), 0);
	add(q, "b", "s");
	assert_int_equal(queue_commit(q, &err), 0);
	list = list_of(q);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.item[0].name, "b");
	queue_list_release(&list);
	queue_close(q);
}

static void
another_process_is_noticed(void **state)
{
	struct queue *q = open_queue(), *other = open_queue();
	struct buf err = BUF_INIT;
	struct queue_list list;
	int64_t before;

	(void)state;
	add(q, "a", "s");
	list = list_of(q);
	before = queue_version(q);
	assert_int_equal(queue_version(q), before);
	decide(other, 0, QUEUE_REJECT);
	assert_int_not_equal(queue_version(q), before);
	assert_int_equal(queue_refresh(q, &list, 0, &err), 0);
	assert_int_equal(list.item[0].action, QUEUE_REJECT);
	assert_string_equal(list.item[0].reason, "why");
	queue_list_release(&list);
	queue_close(other);
	queue_close(q);
}

/* A child decides in a loop, tells each acknowledged one on a pipe, and is killed. */
static void
a_kill_loses_no_acknowledged_decision(void **state)
{
	struct queue *q = open_queue();
	int pipes[2], status, told = 0;
	char c;
	pid_t child;

	(void)state;
	add(q, "a", "s");
	queue_close(q);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (child == 0) {
		struct queue_list list;

		q = open_queue();
		list = list_of(q);
		for (;;)
			if (decide_as(q, &list.item[0], QUEUE_ACCEPT, "ann", "") != 1 || write(pipes[1], "x", 1) != 1)
				_exit(1);
	}
	close(pipes[1]);
	while (told < 20 && read(pipes[0], &c, 1) == 1)
		told++;
	kill(child, SIGKILL);
	while (read(pipes[0], &c, 1) == 1)
		told++;
	assert_int_equal(waitpid(child, &status, 0), child);
	close(pipes[0]);
	assert_true(told >= 20);
	q = open_queue();
	assert_in_range(decisions(q, true), told, told + 1);
	queue_close(q);
}

/* ---- files that are no queue */

static int
status_of_open(bool create, const char *part)
{
	struct buf err = BUF_INIT;
	int status = 0;
	struct queue *q = queue_open(buf_str(&path), create, &status, &err);

	if (q)
		queue_close(q);
	else if (!strstr(buf_str(&err), part))
		fail_msg("\"%s\" does not say \"%s\"", buf_str(&err), part);
	buf_release(&err);
	return q ? 0 : status;
}

static void
write_path(const void *bytes, size_t count)
{
	struct buf err = BUF_INIT, dir = BUF_INIT;

	buf_addf(&dir, "%s/q%d", folder, serial);
	assert_int_equal(io_make_dirs(buf_str(&dir), &err), 0);
	assert_int_equal(io_write_file(buf_str(&path), bytes, count, &err), 0);
	buf_release(&dir);
}

static void
run_sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(buf_str(&path), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
a_missing_queue_says_how_to_make_one(void **state)
{
	(void)state;
	assert_int_equal(status_of_open(false, "km-review import"), EX_NOINPUT);
}

static void
other_files_are_refused_and_left_alone(void **state)
{
	static const char letter[] = "This is a letter, not a queue, and longer than the hundred bytes that the header of an "
		"SQLite file takes up.\n";
	struct buf before = BUF_INIT, after = BUF_INIT, err = BUF_INIT;

	(void)state;
	write_path(letter, sizeof letter - 1);
	assert_int_equal(status_of_open(true, "not a review queue"), EX_DATAERR);
	buf_reset(&path);
	buf_addf(&path, "%s/q%d/other.sqlite", folder, serial);
	run_sql("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
	assert_int_equal(buf_read_file(&before, buf_str(&path), 1 << 20, &err), 0);
	assert_int_equal(status_of_open(true, "not a review queue"), EX_DATAERR);
	assert_int_equal(buf_read_file(&after, buf_str(&path), 1 << 20, &err), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.data, after.data, before.len);
	buf_release(&before);
	buf_release(&after);
}

static void
an_empty_file_becomes_a_queue_only_on_import(void **state)
{
	(void)state;
	write_path("", 0);
	assert_int_equal(status_of_open(false, "empty file"), EX_DATAERR);
	assert_int_equal(status_of_open(true, ""), 0);
	assert_int_equal(status_of_open(false, ""), 0);
}

static void
another_version_is_refused(void **state)
{
	(void)state;
	queue_close(open_queue());
	run_sql("PRAGMA user_version = 7");
	assert_int_equal(status_of_open(true, "version 7"), EX_DATAERR);
}

static void
a_queue_without_its_tables_is_refused(void **state)
{
	(void)state;
	queue_close(open_queue());
	run_sql("DROP TABLE item");
	assert_int_equal(status_of_open(true, "item"), EX_DATAERR);
}

static void
a_folder_and_an_unwritable_place_are_refused(void **state)
{
	(void)state;
	buf_reset(&path);
	buf_adds(&path, folder);
	assert_int_equal(status_of_open(true, "not a regular file"), EX_DATAERR);
	buf_reset(&path);
	buf_adds(&path, "/proc/none/review.sqlite");
	assert_int_equal(status_of_open(true, "/proc/none"), EX_CANTCREAT);
}

static void
a_damaged_queue_gives_a_sentence(void **state)
{
	struct queue *q = open_queue();
	struct buf bytes = BUF_INIT, err = BUF_INIT;
	struct queue_list list;
	int status = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct buf name = BUF_INIT;

		buf_addf(&name, "task_%03d", i);
		add(q, buf_str(&name), "s");
		buf_release(&name);
	}
	queue_close(q);
	run_sql("PRAGMA journal_mode = DELETE");
	assert_int_equal(buf_read_file(&bytes, buf_str(&path), 1 << 24, &err), 0);
	/* Every page but the first and those of the schema is overwritten. */
	for (size_t i = 4 * 4096; i < bytes.len; i++)
		bytes.data[i] = (char)0xA5;
	write_path(bytes.data, bytes.len);
	q = queue_open(buf_str(&path), false, &status, &err);
	if (q) {
		assert_int_equal(queue_list(q, &list, &err), -1);
		assert_int_equal(queue_status(q), EX_DATAERR);
		queue_close(q);
	}
	assert_non_null(strstr(buf_str(&err), "review.sqlite: "));
	buf_release(&bytes);
	buf_release(&err);
}

static void
a_held_queue_is_temporary(void **state)
{
	struct queue *q = open_queue();
	struct queue_entry e = { "id", "s", "n", "f", "d", "EM", "{}", 2 };
	struct buf err = BUF_INIT;
	sqlite3 *db;

	(void)state;
	assert_int_equal(sqlite3_open(buf_str(&path), &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(queue_add(q, &e, &err), -1);
	assert_int_equal(queue_status(q), EX_TEMPFAIL);
	assert_non_null(strstr(buf_str(&err), "another program"));
	sqlite3_close(db);
	buf_release(&err);
	queue_close(q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(items_are_listed_by_name_and_once, set_up),
		cmocka_unit_test_setup(undo_goes_back_step_by_step, set_up),
		cmocka_unit_test_setup(undo_takes_back_only_ones_own, set_up),
		cmocka_unit_test_setup(a_decision_lapses_when_the_task_changes, set_up),
		cmocka_unit_test_setup(the_same_decision_is_imported_once, set_up),
		cmocka_unit_test_setup(what_is_imported_takes_its_place_in_time, set_up),
		cmocka_unit_test_setup(the_log_cannot_be_rewritten, set_up),
		cmocka_unit_test_setup(an_abandoned_import_leaves_nothing, set_up),
		cmocka_unit_test_setup(another_process_is_noticed, set_up),
		cmocka_unit_test_setup(a_kill_loses_no_acknowledged_decision, set_up),
		cmocka_unit_test_setup(a_missing_queue_says_how_to_make_one, set_up),
		cmocka_unit_test_setup(other_files_are_refused_and_left_alone, set_up),
		cmocka_unit_test_setup(an_empty_file_becomes_a_queue_only_on_import, set_up),
		cmocka_unit_test_setup(another_version_is_refused, set_up),
		cmocka_unit_test_setup(a_queue_without_its_tables_is_refused, set_up),
		cmocka_unit_test_setup(a_folder_and_an_unwritable_place_are_refused, set_up),
		cmocka_unit_test_setup(a_damaged_queue_gives_a_sentence, set_up),
		cmocka_unit_test_setup(a_held_queue_is_temporary, set_up),
	};
	struct buf err = BUF_INIT;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	if (folder)
		io_remove_tree(folder, &err);
	free(folder);
	return failed;
}
