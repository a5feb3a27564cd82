/* A task's module in, its times on a GPU out, from the store or from a Python of its own in the sandbox.
 * Python makes itself ready (context, inputs, compiling, first calls) while others may check on the same GPU; for the
 * samples themselves it is given the GPU alone. The samples come back as they are, and the figures are made here. */
#include "eval/torch_time.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/die.h"
#include "base/io.h"
#include "cuda/gpu_stats.h"
#include "eval/bench.h"
#include "eval/gpu_pool.h"
#include "eval/inputs.h"
#include "eval/kept.h"
#include "eval/torch_worker.h"
#include "hash/id.h"
#include "rec/json.h"

enum {
	DESCRIBE_S = 60,	/* importing torch */
	DAY_S = 86400,		/* what bounds a request is the patience here, not the worker's */
	REASON_BYTES = 300, LEAST_SAMPLES = 20, MOST_SAMPLES = 1000, MAX_REPORT_BYTES = 256 << 10,
};

unsigned torch_ready_seconds = 240;	/* torch.compile can take minutes */
unsigned torch_samples_seconds = 60;	/* sampling ends after 20 s by itself, or one call later */

/* Raised by hand when times of the same module can no longer be compared with those before. */
enum { TORCH_TIMING_PROTOCOL = 1 };

struct torch_times {
	struct store *store;
	struct gpu_pool *pool;
	const char *python;
	enum torch_want want;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool asked;		/* version and why_not are known */
	char *version;		/* of torch; NULL: there is none */
	struct buf why_not;	/* empty: it has CUDA */
	json_t *reports;	/* by key; null while one is being made */
};

int
torch_want_from_name(const char *name, enum torch_want *want)
{
	static const char *const names[] = { "auto", "torch", "none" };

	for (int i = 0; i < 3; i++)
		if (!strcmp(name, names[i])) {
			*want = (enum torch_want)i;
			return 0;
		}
	return -1;
}

struct torch_times *
torch_times_new(struct store *store, struct gpu_pool *pool, const char *python, enum torch_want want)
{
	struct torch_times *times = xcalloc(1, sizeof *times);

	*times = (struct torch_times){ .store = store, .pool = pool, .python = python, .want = want, .reports = json_object() };
	pthread_mutex_init(&times->lock, NULL);
	pthread_cond_init(&times->changed, NULL);
	return times;
}

void
torch_times_free(struct torch_times *times)
{
	if (!times)
		return;
	json_decref(times->reports);
	buf_release(&times->why_not);
	free(times->version);
	pthread_cond_destroy(&times->changed);
	pthread_mutex_destroy(&times->lock);
	free(times);
}

/* ---- which torch */

/* Asks the Python what torch it has. With the lock held. 0, or -1: infrastructure. */
static int
ask_version(struct torch_times *times, struct buf *err)
{
	struct torch_worker *worker = torch_worker_new(times->python, false);
	struct buf text = BUF_INIT, payload = BUF_INIT, bad = BUF_INIT;
	struct sandbox_result ended;
	unsigned start;
	int status = 0, stream = -1;

	buf_adds(&text, "{\"do\":\"describe\"}");
	if (!torch_worker_exists(worker))
		buf_addf(&times->why_not, "there is no %s", times->python);
	else if ((stream = torch_worker_ask(worker, &text, NULL, DESCRIBE_S, DESCRIBE_S, &start, err)) < 0)
		status = -1;
	else if (torch_worker_answer(stream, MAX_REPORT_BYTES, &payload) != TORCH_OK)
		status = torch_worker_ended(worker, start, &ended, err);
	json_t *about = payload.len ? rec_json_parse(payload.data, payload.len, &bad) : NULL;
	const char *version = rec_json_string(about, "torch", NULL);
	if (version)
		times->version = xstrdup(version);
	if (version && !json_is_string(json_object_get(about, "cuda")))
		buf_addf(&times->why_not, "torch %s of %s has no CUDA", version, times->python);
	else if (!version && status == 0 && !times->why_not.len)
		buf_addf(&times->why_not, "%s has no torch", times->python);
	times->asked = status == 0;
	if (stream >= 0)
		close(stream);
	json_decref(about);
	torch_worker_free(worker);
	buf_release(&text);
	buf_release(&payload);
	buf_release(&bad);
	return status;
}

/* ---- one mode */

static json_t *
refusal(const char *words, const char *more)
{
	struct buf text = BUF_INIT;
	size_t length = strcspn(more, "\n");

	buf_addf(&text, "%s%s%.*s", words, *more ? ": " : "", (int)(length < REASON_BYTES ? length : REASON_BYTES), more);
	json_t *mode = json_pack("{s:o}", "reason", rec_json_text(text.data, text.len));
	buf_release(&text);
	return mode;
}

static int
compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Median, and its 95% interval by the ranks of a binomial distribution. */
static json_t *
figures(double *sample, size_t count)
{
	double half = 0.98 * sqrt((double)count), middle = (double)(count - 1) / 2;

	qsort(sample, count, sizeof *sample, compare_numbers);
	return json_pack("{s:f, s:[f, f], s:I}", "median_us", rec_json_round6(stats_quantile(sample, count, 0.5)), "interval",
		rec_json_round6(sample[(size_t)floor(middle - half)]), rec_json_round6(sample[(size_t)ceil(middle + half)]),
		"count", (json_int_t)count);
}

/* The figures of what Python answered, and its samples into the store. 0, or -1: ours. */
static int
take_samples(struct torch_times *times, const struct buf *payload, json_t **mode, struct buf *err)
{
	struct buf bad = BUF_INIT, kept = BUF_INIT;
	json_t *report = rec_json_parse(buf_str(payload), payload->len, &bad), *value;
	const json_t *list = json_object_get(report, "samples_us"), *queued = json_object_get(report, "queued");
	size_t count = json_array_size(list), i;
	bool sound = count >= LEAST_SAMPLES && count <= MOST_SAMPLES && json_is_boolean(queued);
	double *sample = xcalloc(count + 1, sizeof *sample);
	char id[HASH_ID_HEX];
	int status = 0;

	json_array_foreach(list, i, value) {
		float single = (float)(sample[i] = json_number_value(value));
		sound &= json_is_number(value) && sample[i] > 0 && sample[i] < 1e9;
		buf_add(&kept, &single, sizeof single);
	}
	if (sound) {
		*mode = figures(sample, count);
		json_object_set(*mode, "queued", (json_t *)queued);
		hash_id(kept.data, kept.len, id);
		json_object_set_new(*mode, "samples", json_string(id));
		status = store_put(times->store, "samples", id, kept.data, kept.len, err);
	} else {
		*mode = refusal("what PyTorch answered is no list of times", "");
	}
	free(sample);
	json_decref(report);
	buf_release(&bad);
	buf_release(&kept);
	return status;
}

static int
write_request(const struct task *t, const struct task_workload *w, uint64_t seed, const char *gpu, const char *mode,
	struct buf *text, struct buf *jobs, struct buf *err)
{
	struct generate_job job[TASK_MAX_TENSORS];
	struct inputs_key key = { seed, 0, "" };
	json_t *request = torch_worker_request("time", t, w), *inputs = json_array();

	json_object_set_new(request, "inputs", inputs);
	json_object_set_new(request, "gpu", json_sprintf("%s%s", strncmp(gpu, "GPU-", 4) ? "GPU-" : "", gpu));
	json_object_set_new(request, "mode", json_string(mode));
	int status = inputs_jobs(t, w, &key, job, err);
	for (int i = 0; i < t->inputs && !status; i++) {
		const struct task_tensor *input = &t->input[i];
		int64_t shape[TASK_MAX_RANK];
		json_t *list = json_array();

		task_shape(t, input, w, shape);
		for (int d = 0; d < input->rank; d++)
			json_array_append_new(list, json_integer(shape[d]));
		/* The elements of a row of probabilities are made together. */
		json_array_append_new(inputs, json_pack("{s:s, s:s, s:o, s:I, s:I}", "name", input->name, "dtype",
			dtype_safetensors_name(input->dtype), "shape", list, "count", (json_int_t)job[i].count, "rows",
			(json_int_t)(job[i].distribution == GENERATE_PROBABILITY ? job[i].count / job[i].extent : 0)));
	}
	if (!status)
		buf_add(jobs, job, (size_t)t->inputs * sizeof *job);
	rec_json_dump(request, text);
	json_decref(request);
	return status;
}

/* The conversation on a stream: ready, the GPU's turn, samples. 0 with the last state, and whether it was waited for in
 * vain, or -1 with a sentence. */
static int
converse(struct torch_times *times, int stream, const char *uuid, enum torch_state *state, bool *late, struct buf *payload,
	struct buf *err)
{
	struct timeval patience = { torch_samples_seconds, 0 };
	struct gpu_turn turn;
	char go = 1;

	if (gpu_pool_take_turn(times->pool, uuid, GPU_SHARED, &turn, err))
		return -1;
	*state = torch_worker_answer(stream, 0, payload);
	*late = errno == EAGAIN;
	gpu_pool_end_turn(&turn);
	if (*state != TORCH_READY)
		return 0;
	if (gpu_pool_take_turn(times->pool, uuid, GPU_ALONE, &turn, err))
		return -1;
	buf_reset(payload);
	*state = TORCH_STATES;
	if (!setsockopt(stream, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) && !io_send_fd(stream, &go, 1))
		*state = torch_worker_answer(stream, MAX_REPORT_BYTES, payload);
	*late = errno == EAGAIN;
	gpu_pool_end_turn(&turn);
	return 0;
}

/* Why there was no answer: Python took too long, ended, or wrote what is none. */
static json_t *
silence(bool late, const struct sandbox_result *ended)
{
	const struct sandbox_job job = { .argv = NULL };
	struct buf how = BUF_INIT;

	if (late)
		return refusal(torch_state_words(TORCH_TOO_SLOW), "");
	/* Without a reason of its own it ended because its requests did. */
	if (ended->cause == SANDBOX_EXITED && !ended->exit_status)
		return refusal("PyTorch's answer is out of order", "");
	sandbox_describe(&job, ended, &how);
	json_t *mode = refusal("reference.py ended the Python that ran it", buf_str(&how));
	buf_release(&how);
	return mode;
}

/* *lasting: the same would come of another try. 0, or -1 with a sentence: infrastructure. */
static int
time_mode(struct torch_times *times, struct torch_worker *worker, const struct buf *text, const struct buf *jobs,
	const char *uuid, json_t **mode, bool *lasting, struct buf *err)
{
	struct buf payload = BUF_INIT;
	enum torch_state state = TORCH_STATES;
	struct sandbox_result ended;
	unsigned start;
	bool late = false;
	int stream = torch_worker_ask(worker, text, jobs, DAY_S, torch_ready_seconds, &start, err);
	int status = stream < 0 ? -1 : converse(times, stream, uuid, &state, &late, &payload, err);

	if (stream >= 0)
		close(stream);
	*lasting = state == TORCH_OK || state == TORCH_FAILED || state == TORCH_DOES_NOT_COMPILE;
	if (status == 0 && state == TORCH_OK) {
		status = take_samples(times, &payload, mode, err);
	} else if (status == 0 && state == TORCH_STATES) {
		status = torch_worker_ended(worker, start, &ended, err);
		*mode = status ? NULL : silence(late, &ended);
	} else if (status == 0) {
		*mode = refusal(torch_state_words(state), buf_str(&payload));
	}
	buf_release(&payload);
	return status;
}

/* ---- a report: all modes */

static const char *const modes[] = { "eager", "compile" };
enum { MODES = sizeof modes / sizeof *modes };

static int
make_report(struct torch_times *times, const struct task *t, const struct task_workload *w, uint64_t seed, const char *uuid,
	json_t **report, bool *lasting, struct buf *err)
{
	struct torch_worker *worker = torch_worker_new(times->python, true);
	int status = 0;

	*report = json_pack("{s:s}", "version", times->version);
	*lasting = true;
	for (int i = 0; i < MODES && status == 0; i++) {
		struct buf text = BUF_INIT, jobs = BUF_INIT;
		json_t *mode = NULL;
		bool lasts = true;

		status = write_request(t, w, seed, uuid, modes[i], &text, &jobs, err);
		if (status == 0)
			status = time_mode(times, worker, &text, &jobs, uuid, &mode, &lasts, err);
		if (mode)
			json_object_set_new(*report, modes[i], mode);
		*lasting &= lasts;
		buf_release(&text);
		buf_release(&jobs);
	}
	torch_worker_free(worker);
	if (status) {
		json_decref(*report);
		*report = NULL;
	}
	return status;
}

/* What decides a report, but for the machine's other work. */
static void
report_key(const struct torch_times *times, const struct task *t, const struct task_workload *w, uint64_t seed,
	const json_t *gpu, char key[HASH_ID_HEX])
{
	uint64_t numbers[] = { seed, TIMING_PROTOCOL, TORCH_TIMING_PROTOCOL, (uint64_t)rec_json_integer(gpu, "driver_version", 0) };
	struct hash_id_state *state = hash_id_start();

	hash_id_text(state, t->id);
	hash_id_text(state, t->reference);
	hash_id_text(state, w->name);
	hash_id_text(state, rec_json_string(gpu, "uuid", ""));
	hash_id_text(state, times->version);
	hash_id_part(state, numbers, sizeof numbers);
	hash_id_end(state, key);
}

/* A store that cannot tell is asked no more than one that has nothing. */
static json_t *
recall(struct torch_times *times, const char *key)
{
	struct buf why = BUF_INIT;
	json_t *report = NULL;

	kept_json(times->store, "torch", key, &report, &why);
	buf_release(&why);
	return report;
}

/* The report from memory, the store, or the GPU; whoever wants the same one meanwhile waits. NULL with a sentence: ours.
 * With the lock held, which is let go while a report is made. Borrowed. */
static const json_t *
report_for(struct torch_times *times, const struct task *t, const struct task_workload *w, uint64_t seed, const json_t *gpu,
	struct buf *err)
{
	char key[HASH_ID_HEX];
	json_t *report;
	bool lasting;

	report_key(times, t, w, seed, gpu, key);
	while ((report = json_object_get(times->reports, key)) && json_is_null(report))
		pthread_cond_wait(&times->changed, &times->lock);
	if (report)
		return report;
	json_object_set_new(times->reports, key, json_null());
	pthread_mutex_unlock(&times->lock);
	report = recall(times, key);
	if (!report && !make_report(times, t, w, seed, rec_json_string(gpu, "uuid", ""), &report, &lasting, err) && lasting &&
	    keep_json(times->store, "torch", key, report, err)) {
		json_decref(report);
		report = NULL;
	}
	pthread_mutex_lock(&times->lock);
	if (report)
		json_object_set_new(times->reports, key, report);
	else
		json_object_del(times->reports, key);
	pthread_cond_broadcast(&times->changed);
	return report;
}

/* ---- the record */

/* A copy of the report, with what the solution's own time makes of it. */
static json_t *
with_speedups(const json_t *report, double own_us)
{
	json_t *out = json_deep_copy(report);

	for (int i = 0; i < MODES; i++) {
		json_t *mode = json_object_get(out, modes[i]);
		double other_us = rec_json_number(mode, "median_us", 0);
		if (own_us >= BENCH_LEAST_RATIO_US && other_us >= BENCH_LEAST_RATIO_US)
			json_object_set_new(mode, "speedup", json_real(rec_json_round6(other_us / own_us)));
	}
	return out;
}

static int
is_missing(const struct torch_times *times, const json_t *pytorch, struct buf *err)
{
	const json_t *eager = json_object_get(pytorch, "eager");

	if (times->want != TORCH_REQUIRED || json_object_get(eager, "median_us"))
		return 0;
	buf_err(err, "--baseline torch: %s", rec_json_string(eager ? eager : pytorch, "reason", "PyTorch was not timed"));
	return 1;
}

bool
torch_times_are_required(const struct torch_times *times)
{
	return times->want == TORCH_REQUIRED;
}

static bool
has_times(const json_t *timing)
{
	return json_object_get(json_object_get(json_object_get(timing, "pytorch"), "eager"), "median_us") != NULL;
}

int
torch_times_add(struct torch_times *times, const struct task *t, const struct task_workload *w, uint64_t seed,
	json_t *timing, struct buf *err)
{
	const json_t *report;
	json_t *pytorch = NULL;

	if (times->want == TORCH_NEVER || !t->reference || !t->reference_is_torch || has_times(timing))
		return 0;
	pthread_mutex_lock(&times->lock);
	if (!times->asked && ask_version(times, err)) {
		pthread_mutex_unlock(&times->lock);
		return -1;
	}
	if (times->why_not.len)
		pytorch = json_pack("{s:s*, s:o}", "version", times->version, "reason",
			rec_json_text(times->why_not.data, times->why_not.len));
	else if ((report = report_for(times, t, w, seed, json_object_get(timing, "gpu"), err)))
		pytorch = with_speedups(report, rec_json_number(timing, "median_us", 0));
	pthread_mutex_unlock(&times->lock);
	if (!pytorch)
		return -1;
	json_object_set_new(timing, "pytorch", pytorch);
	return is_missing(times, pytorch, err);
}

void
torch_times_text(const json_t *timing, struct buf *out)
{
	static const char *const names[MODES] = { "PyTorch eager", "torch.compile" };

	for (int i = 0; i < MODES; i++) {
		const json_t *mode = json_object_get(json_object_get(timing, "pytorch"), modes[i]);
		double other_us = rec_json_number(mode, "median_us", NAN), speedup = rec_json_number(mode, "speedup", NAN);
		if (isnan(other_us))
			continue;
		buf_addf(out, ", %s %.6g us", names[i], other_us);
		if (!isnan(speedup))
			buf_addf(out, " (this is %.3g times as fast)", speedup);
	}
}
