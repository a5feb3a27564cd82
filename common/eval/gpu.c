/* A recording and inputs in, what a GPU made of them out. The answer comes from a process whose memory a stranger's
 * device code may have reached, so it is read as hostile, and it is never more than outputs to be judged. */
#include "eval/gpu.h"

#include <string.h>

#include "eval/gpu_pool.h"
#include "eval/names.h"
#include "rec/json.h"

enum { CHECK_WALL_MS = 5000, TRIES = 2 };

void
gpu_add_buffers(const struct cuda_recording *recording, const struct task *t, json_t *job)
{
	json_t *buffers = json_array();

	for (uint32_t i = 0; i < recording->plan->buffers; i++) {
		const struct plan_buffer *b = &recording->plan->buffer[i];
		int output = (int)i - t->inputs;
		enum dtype dtype = output >= 0 ? t->output[output].dtype : t->input[i].dtype;

		json_array_append_new(buffers, json_pack("{s:s, s:I, s:I, s:b, s:b, s:i}", "name", b->name, "address",
			(json_int_t)b->address, "bytes", (json_int_t)b->bytes, "output", b->output, "float", dtype_is_float(dtype),
			"element_bytes", (int)dtype_bytes(dtype)));
	}
	json_object_set_new(job, "buffers", buffers);
}

int
gpu_add_file(const char *folder, const char *name, struct buf *out, struct buf *err)
{
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/%s", folder, name);
	int status = buf_read_file(out, buf_str(&path), PTXINFO_MAX_BYTES, err);
	buf_release(&path);
	return status;
}

static int
pack_check(const struct task *t, const char *folder, const struct cuda_recording *recording, const struct tensor *inputs,
	const struct tensor *others, struct message *m, struct buf *err)
{
	json_t *job = json_pack("{s:s}", "do", "check");

	message_release(m);
	gpu_add_buffers(recording, t, job);
	rec_json_dump(job, &m->part[0]);
	json_decref(job);
	plan_write(recording->plan, &m->part[1]);
	for (int i = 0; i < t->inputs; i++)
		if (inputs[i].bytes)
			buf_add(&m->part[4], inputs[i].data, inputs[i].bytes);
	for (int i = 0; others && i < t->inputs; i++)
		if (others[i].bytes)
			buf_add(&m->part[5], others[i].data, others[i].bytes);
	m->parts = 6;
	return gpu_add_file(folder, "device.ptx", &m->part[2], err)
		|| gpu_add_file(folder, "device.fatbin", &m->part[3], err) ? -1 : 0;
}

/* ---- the answer */

/* Names as in the source, not as the compiler writes them. */
json_t *
gpu_readable_findings(const json_t *findings)
{
	static const char *const texts[] = { "kernel", "message" };
	json_t *out = json_deep_copy(findings), *finding;
	size_t i;

	json_array_foreach(out, i, finding)
		for (int k = 0; k < 2; k++) {
			const char *text = rec_json_string(finding, texts[k], NULL);
			struct buf plain = BUF_INIT;

			if (!text)
				continue;
			names_readable(text, &plain);
			json_object_set_new(finding, texts[k], rec_json_text(buf_str(&plain), plain.len));
			buf_release(&plain);
		}
	return out;
}

static int
read_answer(const struct task *t, const struct task_workload *w, const struct message *m, struct run_result *result,
	struct buf *err)
{
	static const char *const known[] = { "PASSED", "RUNTIME_ERROR", "UNSUPPORTED", "SUSPICIOUS", "INFRASTRUCTURE",
		NULL };
	json_t *report = m->parts ? rec_json_parse(buf_str(&m->part[0]), m->part[0].len, err) : NULL;

	if (!report)
		return buf_err(err, "The GPU worker's report is not well formed");
	result->status = run_known_status(rec_json_string(report, "status", ""), known);
	buf_adds(&result->reason, rec_json_string(report, "reason", ""));
	buf_adds(&result->printed, rec_json_string(report, "printed", ""));
	result->findings = gpu_readable_findings(json_object_get(report, "findings"));
	json_decref(report);
	if (!result->status || !json_is_array(result->findings))
		return buf_err(err, "the GPU worker's report is not well formed");
	if (strcmp(result->status, "PASSED"))
		return 0;
	if (m->parts < 2)
		return buf_err(err, "the GPU worker gave no outputs");
	if (run_take_outputs(t, w, &m->part[1], "GPU", result->outputs, &result->output_count, err))
		return -1;
	for (uint32_t i = 2; i < m->parts && result->others < RUN_MAX_OTHERS; i++) {
		int other = result->others++;

		if (run_take_outputs(t, w, &m->part[i], "GPU", result->other[other], &result->other_count[other], err))
			return -1;
	}
	return 0;
}

static void
set_failure(struct run_result *result, const char *status, const char *kernel, const char *how)
{
	result->status = status;
	if (*kernel)
		buf_addf(&result->reason, "kernel %s: ", kernel);
	buf_adds(&result->reason, how);
	if (!result->findings)
		result->findings = json_array();
}

/* 1 result is filled, 0 try again, -1 ours. */
static int
try_run(struct gpu_session *session, const struct task *t, const struct task_workload *w, struct message *m, bool last,
	struct run_result *result, struct buf *err)
{
	struct buf ended = BUF_INIT, late = BUF_INIT;
	bool signalled;
	enum gpu_reply reply = gpu_pool_ask(session, m, CHECK_WALL_MS, GPU_SHARED, &signalled, &ended);
	int done = 0;

	if (reply == GPU_REPLY_OK) {
		done = read_answer(t, w, m, result, err) ? -1 : 1;
		if (done == 1 && !strcmp(result->status, "INFRASTRUCTURE")) {
			done = last ? -1 : 0;
			buf_addf(last ? err : &ended, "The GPU worker failed: %s", buf_str(&result->reason));
			run_release(result);
			result->status = NULL;
		}
		if (done != 1 || !strcmp(result->status, "RUNTIME_ERROR"))
			gpu_pool_distrust(session);
	} else {
		buf_addf(&late, "it was still running when the limit of %d s passed", CHECK_WALL_MS / 1000);
		if (reply == GPU_REPLY_LATE)
			set_failure(result, "TIMEOUT", buf_str(&session->worker->running), buf_str(&late));
		else if (signalled && last)
			set_failure(result, "RUNTIME_ERROR", buf_str(&session->worker->running), "it took the GPU's process down");
		else if (last)
			buf_err(err, "the GPU worker failed: %s", buf_str(&ended));
		done = result->status ? 1 : last ? -1 : 0;
		gpu_session_close(session);
	}
	buf_release(&ended);
	buf_release(&late);
	return done;
}

int
gpu_run(struct gpu_session *session, const struct task *t, const struct task_workload *w, const char *build_folder,
	const struct cuda_recording *recording, const struct tensor *inputs, const struct tensor *others, struct run_result *result,
	struct buf *err)
{
	struct message m = MESSAGE_INIT;
	int done = 0;

	*result = (struct run_result){ .status = NULL };
	/* What ends a worker may have been the machine's fault: it gets a second chance on a fresh one. */
	for (int i = 0; i < TRIES && done == 0; i++)
		done = gpu_pool_enlist(session, err) || pack_check(t, build_folder, recording, inputs, others, &m, err) ? -1
			: try_run(session, t, w, &m, i == TRIES - 1, result, err);
	message_release(&m);
	if (done != 1)
		run_release(result);
	return done == 1 ? 0 : -1;
}
