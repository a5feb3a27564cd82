/* The side of the stage: packs plan, device code and inputs for km-ptx, and reads back its report.
 * The report comes from a process that held the candidate's device code, so it is parsed as hostile. */
#include "eval/run.h"

#include <signal.h>
#include <string.h>
#include <sysexits.h>

#include "eval/eval.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"

enum { WALL_MS = 180000, REPORT_MAX_BYTES = 1 << 20 };

/* So that a report can say which elements were not written. */
static void
describe_elements(const struct task_tensor *output, const struct task *t, const struct task_workload *w, json_t *buffer)
{
	int64_t shape[TASK_MAX_RANK];
	json_t *list = json_array();

	task_shape(t, output, w, shape);
	for (int i = 0; i < output->rank; i++)
		json_array_append_new(list, json_integer(shape[i]));
	json_object_set_new(buffer, "shape", list);
	json_object_set_new(buffer, "element_bytes", json_integer((json_int_t)dtype_bytes(output->dtype)));
}

static void
describe_job(const struct cuda_recording *recording, const struct task *t, const struct task_workload *w, bool checked,
	struct buf *out)
{
	json_t *buffers = json_array();

	for (uint32_t i = 0; i < recording->plan->buffers; i++) {
		const struct plan_buffer *b = &recording->plan->buffer[i];
		int output = (int)i - t->inputs;
		/* Floats start as NaN; integers as a value that no answer is likely to be. */
		int poison = output >= 0 && !dtype_is_float(t->output[output].dtype) ? 0xa5 : 0xff;

		json_t *buffer = json_pack("{s:s, s:I, s:I, s:b, s:i}", "name", b->name, "address",
			(json_int_t)b->address, "bytes", (json_int_t)b->bytes, "output", b->output, "poison", poison);
		if (output >= 0)
			describe_elements(&t->output[output], t, w, buffer);
		json_array_append_new(buffers, buffer);
	}
	json_t *job = json_pack("{s:o, s:b, s:I, s:I, s:b}", "buffers", buffers, "checked", checked, "budget",
		(json_int_t)RUN_BUDGET, "schedule", (json_int_t)eval_args.schedule, "estimate", w->role == TASK_PROFILE);
	rec_json_dump(job, out);
	json_decref(job);
}

const char *
run_known_status(const char *word, const char *const *known)
{
	for (int i = 0; known[i]; i++)
		if (!strcmp(known[i], word))
			return known[i];
	return NULL;
}

int
run_take_outputs(const struct task *t, const struct task_workload *w, const struct buf *bytes, const char *worker,
	struct tensor *outputs, int *count, struct buf *err)
{
	size_t at = 0;

	for (*count = 0; *count < t->outputs;) {
		const struct task_tensor *o = &t->output[*count];
		struct tensor *out = &outputs[*count];
		int64_t shape[TASK_MAX_RANK];

		task_shape(t, o, w, shape);
		if (tensor_init(out, o->name, o->dtype, o->rank, shape, err))
			return -1;
		++*count;
		if (out->bytes > bytes->len - at)
			return buf_err(err, "the %s worker gave too few bytes of output", worker);
		if (out->bytes)
			memcpy(out->data, bytes->data + at, out->bytes);
		at += out->bytes;
	}
	return 0;
}

static int
read_report(const struct buf *text, struct run_result *result, struct buf *err)
{
	static const char *const known[] = { "PASSED", "RUNTIME_ERROR", "TIMEOUT", "UNSUPPORTED", "SUSPICIOUS", NULL };
	json_t *report = rec_json_parse(buf_str(text), text->len, err);

	if (!report)
		return -1;
	result->status = run_known_status(rec_json_string(report, "status", ""), known);
	buf_adds(&result->reason, rec_json_string(report, "reason", ""));
	buf_adds(&result->printed, rec_json_string(report, "printed", ""));
	result->findings = json_incref(json_object_get(report, "findings"));
	result->counters = json_incref(json_object_get(report, "counters"));
	result->findings_dropped = rec_json_integer(report, "findings_dropped", 0);
	result->traffic = json_incref(json_object_get(report, "traffic"));
	result->estimate = json_incref(json_object_get(report, "estimate"));
	json_decref(report);
	if (!result->status || !json_is_array(result->findings) || !json_is_object(result->counters))
		return buf_err(err, "the PTX worker's report is not well formed");
	return 0;
}

/* reordered: outputs in another order of blocks and warps; NULL: there are none. */
static int
take_answer(const struct task *t, const struct task_workload *w, const struct buf *report, const struct buf *outputs,
	const struct buf *reordered, struct run_result *result, struct buf *err)
{
	if (read_report(report, result, err))
		return -1;
	if (strcmp(result->status, "PASSED"))
		return 0;
	if (run_take_outputs(t, w, outputs, "PTX", result->outputs, &result->output_count, err))
		return -1;
	if (!reordered)
		return 0;
	result->others = 1;
	return run_take_outputs(t, w, reordered, "PTX", result->other[0], &result->other_count[0], err);
}

static void
add_tensors(const struct tensor *tensors, int count, struct buf *out)
{
	for (int i = 0; i < count; i++)
		buf_add(out, tensors[i].data, tensors[i].bytes);
}

/* Did the machine come upon a fault of its own, rather than want for memory or time? */
static bool
broke_down(const struct sandbox_result *ended)
{
	return (ended->cause == SANDBOX_SIGNALLED && ended->signal != SIGKILL) ||
	    (ended->cause == SANDBOX_EXITED && ended->exit_status == EX_SOFTWARE);
}

/* A fault of ours is no reason to keep the verdicts of all others back. */
static void
refuse(const struct buf *said, struct run_result *result)
{
	const char *why = said->len ? buf_str(said) : "it said nothing";

	result->status = "UNSUPPORTED";
	buf_addf(&result->reason, "the PTX machine failed on this solution, twice: %.*s", (int)strcspn(why, "\n"), why);
	result->findings = json_array();
}

int
run_on_ptx(const struct task *t, const struct task_workload *w, const char *build_folder,
	const struct cuda_recording *recording, const struct tensor *inputs, const struct tensor *others,
	struct run_result *result, struct buf *err)
{
	static const char *const argv[] = { "/kernelmosaic/km-ptx", "/in", "/out", NULL };
	struct buf job_text = BUF_INIT, plan = BUF_INIT, packed = BUF_INIT, packed_others = BUF_INIT, unpacked = BUF_INIT,
		report = BUF_INIT, reordered = BUF_INIT;
	struct buf ptx_path = BUF_INIT, fatbin_path = BUF_INIT, said = BUF_INIT;
	int status = -1;

	*result = (struct run_result){ .status = NULL };
	describe_job(recording, t, w, others != NULL, &job_text);
	plan_write(recording->plan, &plan);
	add_tensors(inputs, t->inputs, &packed);
	if (others)
		add_tensors(others, t->inputs, &packed_others);
	buf_addf(&ptx_path, "%s/device.ptx", build_folder);
	buf_addf(&fatbin_path, "%s/device.fatbin", build_folder);
	struct sandbox_input files[] = {
		{ .name = "job.json", .bytes = buf_str(&job_text), .count = job_text.len },
		{ .name = "plan", .bytes = buf_str(&plan), .count = plan.len },
		{ .name = "inputs.bin", .bytes = buf_str(&packed), .count = packed.len },
		{ .name = "others.bin", .bytes = buf_str(&packed_others), .count = packed_others.len },
		{ .name = "device.ptx", .path = buf_str(&ptx_path) },
		{ .name = "device.fatbin", .path = buf_str(&fatbin_path) },
	};
	struct sandbox_output outputs[] = {
		{ .name = "outputs.bin", .max_bytes = w->tensor_bytes + 1, .content = &unpacked },
		{ .name = "report.json", .max_bytes = REPORT_MAX_BYTES, .content = &report },
		{ .name = "reordered.bin", .max_bytes = w->tensor_bytes + 1, .content = &reordered },
	};
	struct sandbox_job job = { .argv = argv, .inputs = files, .input_count = 6, .outputs = outputs, .output_count = 3,
		.output = &said, .errors = &said, .limits = { .wall_ms = WALL_MS, .cpu_s = WALL_MS / 1000,
			.address_space_bytes = SANDBOX_UNLIMITED,
			.data_bytes = 7 * (w->tensor_bytes + recording->plan->scratch_bytes) + ((uint64_t)3 << 30),
			.out_bytes = 2 * w->tensor_bytes + REPORT_MAX_BYTES + (1 << 20), .output_max_bytes = 4096 } };
	struct sandbox_result ended;
	if (sandbox_run(&job, &ended, err))
		goto out;
	if (broke_down(&ended)) {
		buf_reset(&said);
		buf_reset(&unpacked);
		buf_reset(&report);
		buf_reset(&reordered);
		if (sandbox_run(&job, &ended, err))
			goto out;
	}
	if (broke_down(&ended)) {
		refuse(&said, result);
		status = 0;
		goto out;
	}
	if (ended.cause != SANDBOX_EXITED || ended.exit_status || outputs[1].state != SANDBOX_FILE_OK) {
		buf_adds(err, "the PTX worker failed: ");
		sandbox_describe(&job, &ended, err);
		buf_addf(err, " %s", buf_str(&said));
		goto out;
	}
	status = take_answer(t, w, &report, &unpacked, outputs[2].state == SANDBOX_FILE_OK ? &reordered : NULL, result, err);
out:
	if (status)
		run_release(result);
	buf_release(&job_text);
	buf_release(&plan);
	buf_release(&packed);
	buf_release(&packed_others);
	buf_release(&unpacked);
	buf_release(&report);
	buf_release(&reordered);
	buf_release(&ptx_path);
	buf_release(&fatbin_path);
	buf_release(&said);
	return status;
}

void
run_release(struct run_result *result)
{
	for (int i = 0; i < result->output_count; i++)
		tensor_release(&result->outputs[i]);
	result->output_count = 0;
	for (int i = 0; i < RUN_MAX_OTHERS; i++) {
		for (int k = 0; k < result->other_count[i]; k++)
			tensor_release(&result->other[i][k]);
		result->other_count[i] = 0;
	}
	result->others = 0;
	json_decref(result->findings);
	json_decref(result->counters);
	json_decref(result->traffic);
	json_decref(result->estimate);
	result->findings = result->counters = result->traffic = result->estimate = NULL;
	buf_release(&result->reason);
	buf_release(&result->printed);
}
