/* A build and a recording in, a measured time out. The worker makes the inputs by the same generator and key as the
 * CPU would; what comes back are figures and samples, never whole tensors. */
#include "eval/bench.h"

#include <math.h>
#include <string.h>

#include "eval/gpu_pool.h"
#include "eval/sampled.h"
#include "hash/id.h"
#include "rec/json.h"
#include "eval/tolerance.h"

enum { WALL_MS = 120000, TRIES = 2, NOISE_PAIRS = 50 };
#define HUGE_VAL_JSON 1e300	/* JSON has no infinity */

/* ---- the job */

static json_t *
sampled_json(int64_t elements, uint64_t seed)
{
	uint64_t numbers[SAMPLED_RANDOM + SAMPLED_EDGES];
	size_t count = sampled_numbers(elements, seed, numbers);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer((json_int_t)numbers[i]));
	return list;
}

static void
add_outputs(const struct bench_request *r, json_t *job)
{
	const struct task *t = r->task;
	const struct task_workload *w = r->workload;
	json_t *list = json_array();
	double bytes = 0;

	for (int i = 0; i < t->outputs; i++) {
		int64_t shape[TASK_MAX_RANK];
		enum dtype dtype = t->output[i].dtype;
		struct tolerance tolerance = tolerance_of(t, w, dtype);

		int64_t elements = task_shape(t, &t->output[i], w, shape);
		bytes += (double)elements * (double)dtype_bytes(dtype);
		/* Both solutions may be off by the tolerance, and by what rounding costs, to either side. */
		json_array_append_new(list, json_pack("{s:i, s:f, s:f}", "dtype", (int)dtype, "rtol", 2 * tolerance.rtol, "atol",
			r->any_outputs ? HUGE_VAL_JSON : 2 * (tolerance.atol + (r->slack ? r->slack[i] : 0))));
		json_object_set_new(json_array_get(list, (size_t)i), "sampled", sampled_json(elements, r->key.seed));
	}
	json_object_set_new(job, "outputs", list);
	/* Inputs need not all be read, outputs must be written. */
	json_object_set_new(job, "least_bytes", json_real(bytes));
}

int
bench_pack(const struct bench_request *r, bool counted, struct message *m, struct buf *err)
{
	json_t *job = json_pack("{s:s, s:I, s:i}", "do", "time", "seed", (json_int_t)(r->key.seed & 0x7fffffff), "noise_pairs",
		r->noise_pairs ? r->noise_pairs : NOISE_PAIRS);
	struct generate_job inputs[TASK_MAX_TENSORS];

	message_release(m);
	if (counted) {
		json_object_set_new(job, "timed", json_false());
		json_object_set_new(job, "counted", json_true());
	}
	gpu_add_buffers(r->recording, r->task, job);
	add_outputs(r, job);
	rec_json_dump(job, &m->part[0]);
	json_decref(job);
	if (inputs_jobs(r->task, r->workload, &r->key, inputs, err))
		return -1;
	buf_add(&m->part[4], inputs, (size_t)r->task->inputs * sizeof *inputs);
	m->parts = 8;
	plan_write(r->recording->plan, &m->part[1]);
	if (gpu_add_file(r->folder, "device.ptx", &m->part[2], err) || gpu_add_file(r->folder, "device.fatbin", &m->part[3], err))
		return -1;
	if (!r->baseline_id || r->missing)
		return 0;
	plan_write(r->baseline_recording->plan, &m->part[5]);
	return gpu_add_file(r->baseline_folder, "device.ptx", &m->part[6], err)
		|| gpu_add_file(r->baseline_folder, "device.fatbin", &m->part[7], err) ? -1 : 0;
}

/* ---- the record */

static void
copy_number(const json_t *from, const char *key, json_t *to, const char *as)
{
	const json_t *value = json_object_get(from, key);

	if (json_is_number(value) && isfinite(json_number_value(value)))
		json_object_set_new(to, as, json_real(rec_json_round6(json_number_value(value))));
}

/* {"pairs", "ratio", "interval": [low, high]} of the worker to the fields of the record. */
static void
copy_ratio(const json_t *from, json_t *to)
{
	const json_t *interval = json_object_get(from, "interval");

	json_object_set_new(to, "pairs", json_integer(rec_json_integer(from, "pairs", 0)));
	copy_number(from, "ratio", to, "ratio");
	if (json_array_size(interval) == 2)
		json_object_set_new(to, "interval", json_pack("[f, f]", rec_json_round6(json_number_value(json_array_get(interval, 0))),
			rec_json_round6(json_number_value(json_array_get(interval, 1)))));
}

static json_t *
baseline_json(const struct bench_request *r, const json_t *report)
{
	const json_t *pairs = json_object_get(report, "against_baseline");
	double own = rec_json_number(report, "median_us", 0), other = rec_json_number(report, "baseline_us", 0);
	json_t *out = json_pack("{s:s, s:s}", "kind", "first_correct", "solution_id",
		r->baseline_id ? r->baseline_id : r->solution_id);

	if (r->missing)
		json_object_set_new(out, "missing", rec_json_text(r->missing, strlen(r->missing)));
	if (!r->baseline_id || r->missing)
		return out;
	copy_number(report, "baseline_us", out, "median_us");
	if (own >= BENCH_LEAST_RATIO_US && other >= BENCH_LEAST_RATIO_US)
		copy_ratio(pairs, out);
	else
		json_object_set_new(out, "pairs", json_integer(rec_json_integer(pairs, "pairs", 0)));
	return out;
}

static int
keep_samples(const struct bench_request *r, const struct buf *samples, json_t *timing, struct buf *err)
{
	char id[HASH_ID_HEX];

	hash_id(samples->data, samples->len, id);
	json_object_set_new(timing, "samples", json_string(id));
	return store_put(r->store, "samples", id, samples->data, samples->len, err);
}

static json_t *
gpu_json(const json_t *device)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", rec_json_string(device, "name", ""), "uuid",
		rec_json_string(device, "uuid", ""), "driver_version", rec_json_integer(device, "driver_version", 0),
		"clock_khz", rec_json_integer(device, "clock_khz", 0), "memory_clock_khz",
		rec_json_integer(device, "memory_clock_khz", 0));
}

static json_t *
timing_json(const struct bench_request *r, const json_t *report, json_t *gpu)
{
	static const char *const checks[] = { "event_us", "host_us", "gap_us", "empty_gap_us" };
	json_t *t = json_pack("{s:i, s:o}", "protocol", TIMING_PROTOCOL, "gpu", gpu), *noise = json_object(), *host = json_object();
	const json_t *judged = json_object_get(report, "judged"), *check = json_object_get(report, "host_check");

	copy_number(report, "median_us", t, "median_us");
	copy_number(report, "empty_kernel_us", t, "empty_kernel_us");
	copy_number(report, "copy_gb_s", t, "copy_gb_per_s");
	copy_number(report, "floor_us", t, "floor_us");
	json_object_set_new(t, "operations", json_integer(rec_json_integer(report, "operations", 0)));
	json_object_set_new(t, "graph", json_boolean(rec_json_boolean(report, "graph", 0)));
	copy_ratio(json_object_get(report, "noise"), noise);
	json_object_set_new(t, "noise", noise);
	json_object_set_new(t, "baseline", baseline_json(r, report));
	for (int i = 0; i < 4; i++)
		copy_number(check, checks[i], host, checks[i]);
	if (json_object_size(host))
		json_object_set_new(t, "host_check", json_incref(host));
	json_decref(host);
	if (judged)
		json_object_set_new(t, "judged_launches", json_integer(rec_json_integer(judged, "launches", 0)));
	return t;
}

/* ---- the run */

/* The oracle on some elements of what ran through. 0, or -1: ours. */
static int
ask_oracle(const struct bench_request *r, struct sampled *samples, const struct buf *values, struct run_result *result,
	struct buf *err)
{
	struct sampled_result sampled;

	if (!samples || (strcmp(result->status, "PASSED") && strcmp(result->status, "SUSPICIOUS")))
		return 0;
	if (sampled_judge(samples, values, &sampled, err))
		return -1;
	result->oracle_elements = sampled.checked;
	if (sampled.mismatched) {
		result->status = "INCORRECT_NUMERICAL";
		buf_reset(&result->reason);
		buf_addf(&result->reason, "%lld of %lld sampled elements differ from the oracle by more than the tolerance, first "
			"element %lld of %s: %g instead of %g", (long long)sampled.mismatched, (long long)sampled.checked,
			(long long)sampled.first.first_mismatch, r->task->output[sampled.output].name, sampled.first.got,
			sampled.first.expected);
	}
	return 0;
}

/* What a request ends in. */
struct bench_answer {
	struct run_result *result;
	json_t **timing;
	bool differs;		/* from the baseline, and the oracle found nothing in its sample */
};

/* 1 result is filled, 0 try again, -1 ours. */
static int
read_answer(const struct bench_request *r, struct sampled *samples, const struct message *m, json_t *gpu,
	struct bench_answer *answer, struct buf *err)
{
	static const char *const known[] = { "PASSED", "RUNTIME_ERROR", "UNSUPPORTED", "INCORRECT_NUMERICAL", "SUSPICIOUS", NULL };
	json_t *report = m->parts == 3 ? rec_json_parse(buf_str(&m->part[0]), m->part[0].len, err) : NULL;
	const char *status = rec_json_string(report, "status", "");
	struct run_result *result = answer->result;
	json_t **timing = answer->timing;
	int done = 1;

	result->status = run_known_status(status, known);
	if (!report || !json_is_array(json_object_get(report, "findings")) || (!result->status && strcmp(status, "INFRASTRUCTURE"))) {
		done = buf_err(err, "the GPU worker's report is not well formed");
	} else if (!result->status) {
		buf_reset(err);
		buf_addf(err, "The GPU worker failed: %s", rec_json_string(report, "reason", ""));
		done = 0;
	} else {
		buf_adds(&result->reason, rec_json_string(report, "reason", ""));
		buf_adds(&result->printed, rec_json_string(report, "printed", ""));
		result->findings = gpu_readable_findings(json_object_get(report, "findings"));
		const char *before = result->status;
		answer->differs = rec_json_integer(json_object_get(report, "first"), "mismatched", 0)
			|| rec_json_integer(json_object_get(report, "judged"), "mismatched", 0);
		done = ask_oracle(r, samples, &m->part[1], result, err) ? -1 : 1;
		answer->differs = answer->differs && result->status == before;
		if (done == 1 && json_object_get(report, "median_us")) {
			*timing = timing_json(r, report, json_incref(gpu));
			json_object_set_new(*timing, "oracle_elements", json_integer(result->oracle_elements));
			done = keep_samples(r, &m->part[2], *timing, err) ? -1 : 1;
		}
	}
	json_decref(report);
	return done;
}

static int
try_bench(struct gpu_session *session, const struct bench_request *r, struct sampled *samples, struct message *m, bool last,
	struct bench_answer *answer, struct buf *err)
{
	struct run_result *result = answer->result;
	struct buf ended = BUF_INIT;
	bool signalled;
	json_t *gpu = gpu_json(gpu_pool_device(session));
	enum gpu_reply reply = gpu_pool_ask(session, m, WALL_MS, GPU_ALONE, &signalled, &ended);
	int done = 0;

	if (reply == GPU_REPLY_OK) {
		done = read_answer(r, samples, m, gpu, answer, err);
		if (done == 0 && last)
			done = -1;
		if (done != 1 || !strcmp(result->status, "RUNTIME_ERROR"))
			gpu_pool_distrust(session);
	} else if (reply == GPU_REPLY_LATE || (signalled && last)) {
		result->status = reply == GPU_REPLY_LATE ? "TIMEOUT" : "RUNTIME_ERROR";
		result->findings = json_array();
		if (session->worker->running.len)
			buf_addf(&result->reason, "kernel %s: ", buf_str(&session->worker->running));
		buf_addf(&result->reason, reply == GPU_REPLY_LATE ? "it was still running when the limit of %d s passed"
			: "it took the GPU's process down", WALL_MS / 1000);
		done = 1;
	} else if (last) {
		done = buf_err(err, "the GPU worker failed: %s", buf_str(&ended));
	}
	gpu_session_close(session);	/* a worker that has timed is done */
	json_decref(gpu);
	buf_release(&ended);
	return done;
}

static int
try_request(struct gpu_session *session, const struct bench_request *request, struct sampled *samples,
	struct bench_answer *answer, struct buf *err)
{
	struct message m = MESSAGE_INIT;
	int done = 0;

	for (int i = 0; i < TRIES && done == 0; i++)
		done = gpu_pool_enlist(session, err) || bench_pack(request, false, &m, err) ? -1
			: try_bench(session, request, samples, &m, i == TRIES - 1, answer, err);
	message_release(&m);
	return done;
}

/* Does rounding cost enough on these inputs to make a right answer differ? */
static bool
slack_matters(const struct bench_request *r, const double *slack)
{
	bool matters = false;

	for (int i = 0; i < r->task->outputs; i++)
		matters = matters || slack[i] > tolerance_of(r->task, r->workload, r->task->output[i].dtype).atol / 8;
	return matters;
}

int
bench_run(struct gpu_session *session, const struct bench_request *request, struct run_result *result, json_t **timing,
	struct buf *err)
{
	struct sampled *samples = NULL;
	struct bench_answer answer = { result, timing, false };
	double slack[TASK_MAX_TENSORS];

	*result = (struct run_result){ .status = NULL };
	*timing = NULL;
	/* The oracle works while the GPU does. */
	if (!request->any_outputs && !(samples = sampled_start(request->task, request->workload, &request->key,
	    request->key.seed, err)))
		return -1;
	int done = try_request(session, request, samples, &answer, err);
	/* What rounding costs takes the oracle a while, so it is asked for only where something differs. */
	if (done == 1 && answer.differs && samples) {
		struct bench_request wider = *request;

		sampled_slack(samples, slack);
		wider.slack = slack;
		if (slack_matters(request, slack)) {
			run_release(result);
			json_decref(*timing);
			*result = (struct run_result){ .status = NULL };
			*timing = NULL;
			done = try_request(session, &wider, samples, &answer, err);
		}
	}
	sampled_free(samples);
	if (done == 1)
		return 0;
	run_release(result);
	json_decref(*timing);
	*timing = NULL;
	return -1;
}
