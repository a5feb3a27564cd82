/* A bench workload in, counts of its launches out: a worker of its own runs the call once more under Nsight Compute, and
 * what that wrote is read. The tool is another's program around a stranger's device code: it gets a folder, a clock and a
 * limit on its words, and nothing that it says makes a verdict. */
#include "eval/counters.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "base/spawn.h"
#include "cuda/ncu.h"
#include "eval/names.h"
#include "rec/json.h"

enum { VERSION_WALL_MS = 20000, WORDS_BYTES = 64 << 10, READY_BYTES = 1 << 16 };

uint64_t counters_wall_ms = 60000;

struct counters {
	char *program;		/* NULL: there is none */
	struct buf tool, missing;
};

/* ---- the tool */

/* "Version 2025.3.1.0 (build 36398880)" */
static void
ask_version(struct counters *c)
{
	char version[] = "--version";
	char *argv[] = { c->program, version, NULL }, **environment = gpu_worker_environment(NULL);
	struct buf said = BUF_INIT, err = BUF_INIT;
	struct spawn how = { .argv = argv, .envp = environment, .output = &said, .output_max = WORDS_BYTES,
		.wall_ms = VERSION_WALL_MS };
	struct spawn_result ended;

	buf_adds(&c->tool, "ncu");
	if (spawn_run(&how, &ended, &err)) {
		buf_adds(&c->missing, buf_str(&err));
	} else {
		const char *number = strstr(buf_str(&said), "Version ");
		size_t length = number ? strspn(number + 8, "0123456789.") : 0;

		if (length && length < 32)
			buf_addf(&c->tool, " %.*s", (int)length, number + 8);
	}
	gpu_worker_free_list(environment);
	buf_release(&said);
	buf_release(&err);
}

struct counters *
counters_open(const char *program)
{
	struct counters *c = xcalloc(1, sizeof *c);

	c->program = ncu_find(program);
	if (c->program)
		ask_version(c);
	else
		buf_addf(&c->missing, "there is no program %s here", program);
	return c;
}

void
counters_free(struct counters *c)
{
	if (!c)
		return;
	free(c->program);
	buf_release(&c->tool);
	buf_release(&c->missing);
	free(c);
}

/* ---- the worker under it */

/* What is said to the worker while spawn_run waits for the tool that started it. */
struct conversation {
	int door;		/* where it comes in: a program between need not pass descriptors on */
	atomic_int socket;	/* once it came in, else -1 */
	struct message m;	/* the job, then the answer */
	bool answered;
};

static void *
converse(void *context)
{
	struct conversation *c = context;
	struct message ready = MESSAGE_INIT;
	int socket = accept4(c->door, NULL, NULL, SOCK_CLOEXEC), got = -1;

	atomic_store(&c->socket, socket);
	if (socket >= 0)
		got = message_receive(socket, counters_wall_ms, READY_BYTES, &ready);
	if (got == 1)
		got = message_send(socket, &c->m) ? -1 : 1;
	while (got == 1 && !c->answered) {
		got = message_receive(socket, counters_wall_ms, MESSAGE_MAX_BYTES, &c->m);
		/* Its notes have one part, its answer has three. */
		c->answered = got == 1 && c->m.parts > 1;
	}
	if (socket >= 0)
		shutdown(socket, SHUT_RDWR);	/* then it ends */
	message_release(&ready);
	return NULL;
}

/* A socket at FOLDER/worker. -1 with a clause. */
static int
open_door(const char *path, struct buf *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof address.sun_path)
		errno = ENAMETOOLONG;
	else
		memcpy(address.sun_path, path, strlen(path) + 1);
	if (door >= 0 && address.sun_path[0] && bind(door, (struct sockaddr *)&address, sizeof address) == 0 &&
	    listen(door, 1) == 0)
		return door;
	buf_addf(why, "there is no socket for its worker: %s", strerror(errno));
	if (door >= 0)
		close(door);
	return -1;
}

/* "PASSED", or what else came of it. */
static void
read_answer(const struct conversation *c, struct buf *why)
{
	struct buf err = BUF_INIT;
	json_t *report = c->answered ? rec_json_parse(buf_str(&c->m.part[0]), c->m.part[0].len, &err) : NULL;
	const char *status = rec_json_string(report, "status", "");

	if (!report)
		buf_adds(why, "the worker under it gave no answer");
	else if (strcmp(status, "PASSED"))
		buf_addf(why, "the call did not pass under it: %s", rec_json_string(report, "reason", status));
	json_decref(report);
	buf_release(&err);
}

static void
add_argument(char **argv, int *count, const char *text)
{
	argv[(*count)++] = xstrdup(text);
}

/* Kernels are run again for each group of counters, with cold caches, and the clocks are left as they are. */
static char **
command_line(const struct counters *c, const char *number, const char *door)
{
	static const char *const options[] = { "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "mangled",
		"--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel", "--profile-from-start", "off",
		"--config-file", "off" };
	enum { OPTIONS = sizeof options / sizeof *options };
	char **argv = xcalloc(OPTIONS + 10, sizeof *argv), *worker = spawn_libexec("km-gpu"), most[16];
	struct buf metrics = BUF_INIT;
	int count = 0;

	snprintf(most, sizeof most, "%d", NCU_MAX_LAUNCHES);
	ncu_add_metrics(&metrics);
	add_argument(argv, &count, c->program);
	for (int i = 0; i < OPTIONS; i++)
		add_argument(argv, &count, options[i]);
	add_argument(argv, &count, "--launch-count");
	add_argument(argv, &count, most);
	add_argument(argv, &count, "--metrics");
	add_argument(argv, &count, buf_str(&metrics));
	add_argument(argv, &count, worker);
	add_argument(argv, &count, number);
	add_argument(argv, &count, door);
	buf_release(&metrics);
	free(worker);
	return argv;
}

/* A folder of its own keeps the tool's files, its lock among them, away from other users' and from those of other runs:
 * the GPU is held alone, so that nothing else need be locked. */
static void
run_tool(const struct counters *c, int device, const char *door, const char *folder, struct buf *table, struct buf *why)
{
	struct buf home = BUF_INIT, temporary = BUF_INIT;
	char number[16];

	snprintf(number, sizeof number, "%d", device);
	buf_addf(&home, "HOME=%s", folder);
	buf_addf(&temporary, "TMPDIR=%s", folder);
	const char *const more[] = { buf_str(&home), buf_str(&temporary), "PATH=/usr/bin:/bin", NULL };
	char **argv = command_line(c, number, door), **environment = gpu_worker_environment(more);
	struct spawn how = { .argv = argv, .envp = environment, .directory = folder, .output = table,
		.output_max = NCU_MAX_TABLE_BYTES, .wall_ms = counters_wall_ms };
	struct spawn_result ended;
	int status = spawn_run(&how, &ended, why);

	if (status == 0 && ended.timed_out)
		buf_addf(why, "it was still running when the limit of %.0f s passed", (double)counters_wall_ms / 1e3);
	else if (status == 0 && ended.output_cut)
		buf_addf(why, "it wrote more than %d MiB", NCU_MAX_TABLE_BYTES >> 20);
	else if (status == 0 && ended.signal)
		buf_addf(why, "it was ended by signal %d", ended.signal);
	gpu_worker_free_list(argv);
	gpu_worker_free_list(environment);
	buf_release(&home);
	buf_release(&temporary);
}

static void
run_with_worker(const struct counters *c, int device, const char *folder, struct conversation *talk, struct buf *table,
	struct buf *why)
{
	struct buf path = BUF_INIT;
	pthread_t talker;

	buf_addf(&path, "%s/worker", folder);
	talk->door = open_door(buf_str(&path), why);
	if (talk->door >= 0) {
		if (pthread_create(&talker, NULL, converse, talk))
			die(EX_OSERR, "cannot start a thread:");
		run_tool(c, device, buf_str(&path), folder, table, why);
		/* A worker that never came in is not waited for, nor one that outlived the tool. */
		shutdown(talk->door, SHUT_RDWR);
		if (atomic_load(&talk->socket) >= 0)
			shutdown(talk->socket, SHUT_RDWR);
		pthread_join(talker, NULL);
		if (talk->socket >= 0)
			close(talk->socket);
		close(talk->door);
		if (why->len)
			buf_reset(table);	/* what it wrote until then is not to be relied upon */
		else
			read_answer(talk, why);
	}
	buf_release(&path);
}

/* The tool's table, or a clause why it is not to be had, or both. */
static void
count_call(const struct counters *c, int device, const struct bench_request *request, struct buf *table, struct buf *why)
{
	struct conversation talk = { .door = -1, .socket = -1, .m = MESSAGE_INIT };
	char *folder = io_temp_dir("km-ncu", why);

	if (folder && bench_pack(request, true, &talk.m, why) == 0)
		run_with_worker(c, device, folder, &talk, table, why);
	message_release(&talk.m);
	if (folder)
		io_remove_tree(folder, NULL);
	free(folder);
}

/* ---- the record */

static json_t *
launch_json(const struct ncu_launch *l, const char *kernel)
{
	struct buf name = BUF_INIT;

	names_readable(kernel, &name);
	json_t *out = json_pack("{s:o}", "kernel", rec_json_text(buf_str(&name), name.len));
	for (int i = 0; i < NCU_METRICS; i++)
		if (!isnan(l->value[i]))
			json_object_set_new(out, ncu_metrics[i].field, ncu_metrics[i].whole ? json_integer((json_int_t)l->value[i])
				: json_real(rec_json_round6(l->value[i])));
	buf_release(&name);
	return out;
}

/* The plan says what was launched, in order; the tool must have seen just that. 0, or -1 with a clause. */
static int
add_launches(const struct ncu_report *report, const struct plan *plan, json_t *out, struct buf *why)
{
	json_t *list = json_array();
	uint32_t seen = 0, all = 0;

	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1]; i++) {
		const struct plan_operation *o = &plan->operation[i];
		const struct ncu_launch *l = &report->launch[seen];

		if (o->kind != PLAN_LAUNCH)
			continue;
		const char *kernel = plan->kernel[o->launch.kernel].name;
		if (all++ >= NCU_MAX_LAUNCHES)
			continue;
		if (seen == report->launches || strncmp(l->kernel, kernel, sizeof l->kernel - 1)) {
			json_decref(list);
			return buf_err(why, "its table is not of the launches that were made");
		}
		seen++;
		json_array_append_new(list, launch_json(l, kernel));
	}
	json_object_set_new(out, "launches", list);
	if (all > seen)
		json_object_set_new(out, "launches_left_out", json_integer(all - seen));
	return seen == report->launches ? 0 : buf_err(why, "its table is not of the launches that were made");
}

json_t *
counters_record(const char *tool, const struct buf *table, const struct plan *plan)
{
	struct ncu_report *report = xcalloc(1, sizeof *report);
	json_t *out = json_pack("{s:s}", "tool", tool);
	struct buf why = BUF_INIT;

	if (ncu_read(buf_str(table), table->len, report, &why) || add_launches(report, plan, out, &why)) {
		json_object_del(out, "launches");
		json_object_del(out, "launches_left_out");
		json_object_set_new(out, "reason", rec_json_text(buf_str(&why), why.len));
	}
	buf_release(&why);
	free(report);
	return out;
}

static json_t *
no_counters(const struct counters *c, const struct buf *why)
{
	return json_pack("{s:s, s:o}", "tool", c->tool.len ? buf_str(&c->tool) : "ncu", "reason",
		rec_json_text(buf_str(why), why->len));
}

json_t *
counters_collect(const struct counters *c, struct gpu_pool *pool, const char *uuid, const struct bench_request *request)
{
	struct buf table = BUF_INIT, why = BUF_INIT;
	struct gpu_turn turn;
	json_t *out;

	if (c->missing.len)
		return no_counters(c, &c->missing);
	if (gpu_pool_take_turn(pool, uuid, GPU_ALONE, &turn, &why) == 0) {
		count_call(c, gpu_pool_number(&turn), request, &table, &why);
		gpu_pool_end_turn(&turn);
	}
	if (why.len && !table.len)
		out = no_counters(c, &why);
	else
		out = counters_record(buf_str(&c->tool), &table, request->recording->plan);
	if (why.len && !json_object_get(out, "reason")) {
		json_decref(out);
		out = no_counters(c, &why);
	}
	buf_release(&table);
	buf_release(&why);
	return out;
}
