/* An engine that believes what the source says of itself, for tests of the agent: "cost=100" passes at
 * that cost, "fail=RUNTIME_ERROR line=7" fails so, "broken" is an engine that is out of order. It takes
 * the place of eval.o at link time. */
#ifndef FAKE_EVAL_H
#define FAKE_EVAL_H

#include <math.h>

#include "base/die.h"
#include "base/io.h"
#include "eval/eval.h"
#include "hash/id.h"
#include "rec/json.h"

static __attribute__((unused)) int fake_evaluations;
static struct store *fake_store;

struct store *
eval_store(struct eval *e)
{
	(void)e;
	return fake_store;
}

void
eval_solution_id(const char *task_id, const char *source, char out[33])
{
	struct hash_id_state *state = hash_id_start();

	hash_id_text(state, task_id);
	hash_id_text(state, source);
	hash_id_end(state, out);
}

int
eval_compile(struct eval *e, const struct task *t, const char *source, struct buf *log, struct buf *err)
{
	(void)e;
	(void)t;
	if (strstr(source, "broken"))
		return buf_err(err, "the engine is out of order");
	if (!strstr(source, "fail=COMPILE_ERROR"))
		return 1;
	buf_adds(log, "/build/x/solution.cu(3): warning #1: odd\n/build/x/solution.cu(12): error: expected a \";\"\n");
	return 0;
}

static long
fake_number(const char *source, const char *key)
{
	const char *at = strstr(source, key);

	return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static json_t *
fake_record(const struct task *t, const struct task_workload *w, const char *source, const char *status)
{
	char solution[33], id[33];
	struct buf text = BUF_INIT;
	json_t *e;

	eval_solution_id(t->id, source, solution);
	buf_addf(&text, "%s %s", solution, w->name);
	hash_id(text.data, text.len, id);
	buf_release(&text);
	e = json_pack("{s:s,s:s,s:s,s:s,s:b,s:i,s:s,s:i,s:s}", "id", id, "solution_id", solution, "workload", w->name,
		"role", w->role == TASK_PROFILE ? "profile" : "check", "held_out", w->held_out, "trial", 0, "target",
		EVAL_TARGET, "protocol", 1, "status", status);
	if (strcmp(status, "PASSED") == 0)
		json_object_set_new(e, "max_absolute_error", json_real(1.25e-07));
	if (strstr(source, "race") && strcmp(w->name, "odd") == 0) {
		json_object_set_new(e, "findings", json_pack("[{s:s,s:s,s:s,s:s,s:i,s:s}]", "check", "racecheck", "kind",
			"write_read", "severity", "warning", "file", "solution.cu", "line", 9, "message", "no barrier is between"));
		json_object_set_new(e, "findings_dropped", json_integer(2));
	}
	if (w->role == TASK_PROFILE) {
		json_object_set_new(e, "cost", json_integer(fake_number(source, "cost=")));
		json_object_set_new(e, "counters", json_pack("{s:i,s:i}", "lane_instructions", 640, "barriers", 2));
	}
	return e;
}

static __attribute__((unused)) void
fake_failure(json_t *e, const char *source)
{
	long line = fake_number(source, "line=");
	json_t *finding;

	if (strcmp(rec_json_string(e, "status", ""), "COMPILE_ERROR") == 0) {
		json_object_set_new(e, "compile_log", json_string("/build/x/solution.cu(12): error: expected a \";\"\n"));
		return;
	}
	json_object_set_new(e, "reason", json_string("1 of 8 elements differ"));
	json_object_set_new(e, "max_absolute_error", json_real(0.5));
	json_object_set_new(e, "max_relative_error", json_real(2.0));
	json_object_set_new(e, "mismatched_elements", json_integer(1));
	json_object_set_new(e, "first_mismatch", json_pack("{s:s,s:[ii],s:f,s:s}", "output", "y", "index", 1, 2,
		"expected", 0.25, "got", "nan"));
	if (!line)
		return;
	finding = json_pack("{s:s,s:s,s:s,s:s,s:i,s:[iii],s:[iii],s:s,s:i,s:i,s:s}", "check", "memcheck", "kind",
		"out_of_bounds", "kernel", "rows", "file", "solution.cu", "line", (int)line, "block", 0, 0, 0, "thread",
		33, 0, 0, "buffer", "x", "offset_bytes", 128, "size_bytes", 4, "message", "read past the end of x");
	json_object_set_new(e, "findings", json_pack("[o]", finding));
}

int
eval_solution(struct eval *engine, const struct task *t, const char *source, enum eval_select select,
	json_t **evaluations, struct eval_summary *summary, struct buf *err)
{
	const char *fails = strstr(source, "fail=");
	char status[32] = "PASSED";

	(void)engine;
	if (strstr(source, "broken"))
		return buf_err(err, "the engine is out of order");
	if (fails)
		sscanf(fails, "fail=%31[A-Z_]", status);
	fake_evaluations++;
	*summary = (struct eval_summary){ "PASSED", NULL, NAN };
	*evaluations = json_array();
	for (int i = 0; i < t->workloads; i++) {
		const struct task_workload *w = &t->workload[i];
		bool odd = strcmp(w->name, "odd") == 0;
		json_t *e;

		if (w->role == TASK_BENCH || (w->held_out && select == EVAL_VISIBLE))
			continue;
		e = fake_record(t, w, source, fails && odd ? status : "PASSED");
		json_array_append_new(*evaluations, e);
		if (fails && odd) {
			fake_failure(e, source);
			summary->status = rec_json_string(e, "status", "");
			summary->decisive = e;
			return 0;
		}
		if (w->role == TASK_PROFILE) {
			summary->decisive = e;
			summary->cost = rec_json_number(e, "cost", NAN);
		}
	}
	return 0;
}

/* ---- a task with a held-out workload and a hidden oracle */
#define FAKE_TASK "{\"id\":\"0123456789abcdef0123456789abcdef\",\"name\":\"twice_f32\",\"op_type\":\"elementwise\"," \
	"\"forms\":[\"natural_language\"],\"prompt\":\"Double every element of `x`.\"," \
	"\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i,j] = 2 * x[i,j]\",\"latex\":\"y_{ij} = 2 x_{ij}\"}," \
	"\"oracle\":\"math_spec\",\"axes\":[{\"name\":\"N\"},{\"name\":\"D\"}],\"scalars\":[]," \
	"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\",\"D\"],\"domain\":{\"distribution\":\"normal\"}}]," \
	"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\",\"D\"]}],\"rtol\":1e-6,\"atol\":1e-7," \
	"\"workloads\":[{\"name\":\"one\",\"role\":\"check\",\"axes\":{\"N\":1,\"D\":1}}," \
	"{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":3,\"D\":33}}," \
	"{\"name\":\"secret\",\"role\":\"check\",\"axes\":{\"N\":5,\"D\":7},\"held_out\":true}," \
	"{\"name\":\"shape\",\"role\":\"profile\",\"axes\":{\"N\":8,\"D\":64}}]," \
	"\"prototype\":\"extern \\\"C\\\" void solve(const float *x, float *y, int64_t N, int64_t D, cudaStream_t stream)\"," \
	"\"license\":\"CC-BY-4.0\",\"source\":{\"kind\":\"original\",\"author\":\"KernelMosaic\"}}"

static __attribute__((unused)) struct task *
fake_task(void)
{
	struct buf err = BUF_INIT;
	json_t *section = rec_json_parse(FAKE_TASK, strlen(FAKE_TASK), &err);
	struct task *t = section ? task_load(section, &err) : NULL;

	if (!t)
		die(1, "%s", buf_str(&err));
	json_decref(section);
	buf_release(&err);
	return t;
}

/* A transcript on disk: DIR/twice_f32/transcript.json, and a source NAME.cu for each "NAME: text". */
static __attribute__((unused)) char *
fake_transcript(const char *json, const char *const *sources)
{
	struct buf err = BUF_INIT, path = BUF_INIT;
	char *directory = io_temp_dir("km-test-", &err);

	buf_addf(&path, "%s/twice_f32", directory);
	io_make_dirs(path.data, &err);
	buf_adds(&path, "/transcript.json");
	io_write_file(path.data, json, strlen(json), &err);
	for (int i = 0; sources[i]; i++) {
		const char *colon = strchr(sources[i], ':');

		buf_reset(&path);
		buf_addf(&path, "%s/twice_f32/%.*s.cu", directory, (int)(colon - sources[i]), sources[i]);
		io_write_file(path.data, colon + 2, strlen(colon + 2), &err);
	}
	if (err.len)
		die(1, "%s", err.data);
	buf_release(&path);
	return directory;
}

static __attribute__((unused)) void
fake_remove(char *directory)
{
	struct buf err = BUF_INIT;

	io_remove_tree(directory, &err);
	buf_release(&err);
	free(directory);
}

#endif
