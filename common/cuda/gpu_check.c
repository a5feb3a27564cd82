/* One workload of one candidate in, its outputs and its faults out. Several replays: one stream with a wait after each
 * operation; real streams with the module as new; one stream with whatever a call on other inputs left in variables and
 * in the outputs; where variables change from call to call, one stream with them as a thousand calls leave them; and
 * where there are streams that no event orders, one with each of them late.
 * Memory starts with another poison each time, so outputs that nobody wrote, or that come from shared memory or variables
 * which nobody set, differ; the judge looks at all outputs that differ. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/die.h"
#include "cuda/gpu.h"
#include "rec/json.h"

/* The first two and those in which a stream is late start from a module as new. */
enum { RUN_PLAIN, RUN_STREAMS, RUN_AFTER_OTHERS, RUN_MANY_CALLS, RUN_LATE, CHECK_RUNS = RUN_LATE + 3, MANY_CALLS = 1000,
	PRINTED_BYTES = 4096, PART_PLAN = 1, PART_PTX, PART_FATBIN, PART_INPUTS, PART_OTHERS };

/* What device code can do wrong, in the words of the checks. Errors that are not listed are ours. */
static const struct fault {
	CUresult result;
	const char *check, *kind, *message;
} faults[] = {
	{ CUDA_ERROR_ILLEGAL_ADDRESS, "memcheck", "out_of_bounds",
		"the GPU stopped it at an address outside of every buffer, or at a write to an input" },
	{ CUDA_ERROR_MISALIGNED_ADDRESS, "memcheck", "misaligned", "the GPU stopped it at an address that is not aligned" },
	{ CUDA_ERROR_INVALID_ADDRESS_SPACE, "memcheck", "wrong_space", "an address is not in the space that it was used for" },
	{ CUDA_ERROR_HARDWARE_STACK_ERROR, "memcheck", "stack", "the stack overflowed or was damaged" },
	{ CUDA_ERROR_INVALID_PC, "gpu", "invalid_pc", "the program counter left the code" },
	{ CUDA_ERROR_ILLEGAL_INSTRUCTION, "gpu", "illegal_instruction", "the GPU met an instruction that it does not know" },
	{ CUDA_ERROR_LAUNCH_FAILED, "gpu", "launch_failed", "the GPU stopped it for another reason" },
	{ CUDA_ERROR_ASSERT, "gpu", "assertion", "an assertion of the device code failed" },
	{ CUDA_ERROR_TENSOR_MEMORY_LEAK, "gpu", "tensor_memory", "tensor memory was not given back" },
	{ CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "gpu", "out_of_resources",
		"the launch needs more registers or threads than a block has" },
	{ CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "gpu", "grid_too_large", "the grid of a cooperative launch does not fit at once" },
	{ CUDA_ERROR_INVALID_CLUSTER_SIZE, "gpu", "cluster_size", "a cluster of this size cannot run" },
	{ CUDA_ERROR_INVALID_VALUE, "gpu", "invalid_launch", "the driver refuses the launch: a limit is passed" },
};

json_t *
gpu_fault(CUresult result, const char *kernel)
{
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		if (faults[i].result != result)
			continue;
		struct buf message = BUF_INIT;
		if (kernel)
			buf_addf(&message, "kernel %s: ", kernel);
		buf_addf(&message, "%s (%s)", faults[i].message, driver_error(result));
		json_t *finding = json_pack("{s:s, s:s, s:s*, s:o}", "check", faults[i].check, "kind", faults[i].kind, "kernel",
			kernel, "message", rec_json_text(buf_str(&message), message.len));
		buf_release(&message);
		return finding;
	}
	return NULL;
}

/* ---- messages */

void
gpu_answer(struct gpu *g, json_t *report, struct buf *parts, uint32_t count)
{
	struct message m = MESSAGE_INIT;

	rec_json_dump(report, &m.part[0]);
	for (uint32_t i = 0; i < count; i++)
		m.part[i + 1] = parts[i];
	m.parts = count + 1;
	if (message_send(g->socket, &m))
		_exit(EX_IOERR);	/* the supervisor is gone */
	json_decref(report);
	message_release(&m);
	memset(parts, 0, count * sizeof *parts);
}

void
gpu_say(struct gpu *g, const char *kernel)
{
	struct message m = MESSAGE_INIT;

	buf_addf(&m.part[0], "{\"now\":");
	json_t *name = rec_json_text(kernel, strlen(kernel));
	rec_json_dump(name, &m.part[0]);
	buf_adds(&m.part[0], "}");
	m.parts = 1;
	if (message_send(g->socket, &m))
		_exit(EX_IOERR);
	json_decref(name);
	message_release(&m);
}

/* What was printed since the last time. */
void
gpu_take_printed(struct gpu *g, struct buf *printed)
{
	fflush(stdout);
	off_t end = lseek(g->printed, 0, SEEK_END);
	if (end <= 0)
		return;
	if (printed) {
		uint64_t bytes = (uint64_t)end < (4u << 20) ? (uint64_t)end : 4u << 20;

		buf_reserve(printed, bytes);
		ssize_t got = pread(g->printed, printed->data + printed->len, bytes, 0);
		printed->len += got > 0 ? (size_t)got : 0;
		printed->data[printed->len] = '\0';
		buf_elide(printed, PRINTED_BYTES);
	}
	if (ftruncate(g->printed, 0) || lseek(STDOUT_FILENO, 0, SEEK_SET))
		die(EX_OSERR, "cannot empty the captured output:");
}

/* ---- buffers */

uint32_t
gpu_read_buffers(const json_t *job, struct gpu_region *regions, struct plan_buffer *buffers)
{
	const json_t *list = json_object_get(job, "buffers"), *item;
	size_t i, count = json_array_size(list);

	if (count > GPU_MAX_BUFFERS)
		die(EX_DATAERR, "the job has %zu buffers", count);
	json_array_foreach(list, i, item) {
		buffers[i] = (struct plan_buffer){ rec_json_string(item, "name", "?"),
			(uint64_t)rec_json_integer(item, "address", 0), (uint64_t)rec_json_integer(item, "bytes", 0),
			rec_json_boolean(item, "output", 0) };
		regions[i] = (struct gpu_region){ .address = buffers[i].address, .bytes = buffers[i].bytes,
			.output = buffers[i].output, .is_float = rec_json_boolean(item, "float", 0),
			.element_bytes = (uint32_t)rec_json_integer(item, "element_bytes", 1) };
	}
	return (uint32_t)count;
}

/* The inputs' bytes, one after the other; the right to write them is taken away again. */
static void
upload(struct gpu *g, const struct buf *inputs)
{
	CUstream stream = g->stream[PLAN_GIVEN_STREAM];
	uint64_t at = 0;

	for (uint32_t i = 0; i < g->regions; i++) {
		const struct gpu_region *r = &g->region[i];

		if (r->output || r->scratch)
			continue;
		if (r->bytes > inputs->len - at)
			die(EX_DATAERR, "the job has too few bytes of input");
		gpu_allow_writes(g, r, true);
		if (r->bytes)
			gpu_must(CALL(cuMemcpyHtoDAsync, r->address - CUDA_ARENA + g->base, inputs->data + at, r->bytes, stream),
				"uploading an input");
		at += r->bytes;
		gpu_must(CALL(cuStreamSynchronize, stream), "uploading inputs");
		gpu_allow_writes(g, r, false);
	}
}

/* Maps all, uploads inputs and takes the right to write them away. False: too little memory. */
bool
gpu_place_buffers(struct gpu *g, const struct gpu_region *regions, uint32_t count, const struct buf *inputs)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!gpu_map(g, &regions[i]))
			return false;
		gpu_must(gpu_set_canaries(g, &g->region[g->regions - 1], g->stream[PLAN_GIVEN_STREAM]), "setting canaries");
	}
	if (inputs)
		upload(g, inputs);
	return true;
}

static void
fetch_outputs(struct gpu *g, struct buf *out)
{
	for (uint32_t i = 0; i < g->regions; i++) {
		const struct gpu_region *r = &g->region[i];

		if (!r->output || !r->bytes)
			continue;
		buf_reserve(out, r->bytes);
		gpu_must(CALL(cuMemcpyDtoH, out->data + out->len, r->address - CUDA_ARENA + g->base, r->bytes),
			"fetching an output");
		out->len += r->bytes;
	}
}

/* ---- runs */

struct check {
	struct gpu_code code;
	struct buf outputs[CHECK_RUNS], printed;
	uint32_t kept;
	struct buf variables;	/* before the third run */
	uint32_t late;		/* the stream that is late next; from RUN_LATE on */
	uint32_t *order;	/* NULL: as recorded */
	json_t *findings;
	const char *status;
	struct buf reason;
};

static void
fail(struct check *c, CUresult result, const char *kernel, int run)
{
	json_t *finding = gpu_fault(result, kernel);

	c->status = finding ? "RUNTIME_ERROR" : "INFRASTRUCTURE";
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		c->status = "UNSUPPORTED";
		buf_adds(&c->reason, "its buffers and scratch need more memory than the GPU has");
	} else if (finding) {
		buf_adds(&c->reason, rec_json_string(finding, "message", ""));
		buf_adds(&c->reason, run == RUN_STREAMS ? ", when its streams run side by side" : run >= RUN_LATE
			? ", when what no event orders runs in another order" : run ? ", in a repeated call" : "");
		json_array_append_new(c->findings, finding);
	} else {
		buf_addf(&c->reason, "the driver gave %s", driver_error(result));
	}
}

static void
report_canaries(struct gpu *g, struct check *c)
{
	const struct gpu_region *where = NULL;
	uint64_t lost = 0;

	gpu_must(gpu_lost_canaries(g, &lost, &where), "looking at canaries");
	if (!lost)
		return;
	c->status = "RUNTIME_ERROR";
	buf_addf(&c->reason, "%llu bytes next to %s were overwritten", (unsigned long long)lost,
		where->scratch ? "scratch memory" : "an output");
	json_array_append_new(c->findings, json_pack("{s:s, s:s, s:s, s:s}", "check", "memcheck", "kind", "out_of_bounds",
		"space", "global", "message", buf_str(&c->reason)));
}

/* What is filled in the first call only has to be as it was filled when the next call comes. What is given back at the end
 * of the call stays mapped here, so it is compared as well: no kernel may change that before either. */
static void
check_filled_once(struct gpu *g, struct check *c)
{
	const struct plan *plan = c->code.plan;

	for (uint32_t i = plan->call_start[0]; i < plan->call_start[1]; i++) {
		const struct plan_operation *o = &plan->operation[i];
		struct buf now = BUF_INIT;

		if (o->kind != PLAN_UPLOAD || !o->memory.once || !o->memory.width)
			continue;
		buf_reserve(&now, o->memory.width);
		gpu_must(CALL(cuMemcpyDtoH, now.data, gpu_address(g, &c->code, o->memory.address), o->memory.width),
			"looking at what was uploaded");
		bool changed = memcmp(now.data, c->code.arguments[i], o->memory.width) != 0;
		buf_release(&now);
		if (!changed)
			continue;
		c->status = "SUSPICIOUS";
		buf_adds(&c->reason, "memory that solve() fills in its first call only is changed by its kernels: later calls find "
			"something else there");
		return;
	}
}

static CUresult
poison_outputs(struct gpu *g, int poison)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; i < g->regions && result == CUDA_SUCCESS; i++)
		if (g->region[i].output)
			result = gpu_poison(g, &g->region[i], poison, g->stream[PLAN_GIVEN_STREAM]);
	return result;
}

static bool
run_once(struct gpu *g, struct check *c, int run)
{
	static const struct gpu_replay runs[CHECK_RUNS] = {
		[RUN_PLAIN] = { .one_stream = true, .careful = true, .scrub = true, .poison = 0 },
		[RUN_STREAMS] = { .scrub = true, .poison = 1 },
		[RUN_AFTER_OTHERS] = { .one_stream = true, .scrub = true, .poison = 1 },
		[RUN_MANY_CALLS ... CHECK_RUNS - 1] = { .one_stream = true, .scrub = true, .poison = 0 },
	};
	struct gpu_replay how = runs[run];
	const char *kernel = NULL;
	struct buf err = BUF_INIT;
	bool as_new = run < RUN_AFTER_OTHERS || run >= RUN_LATE;
	CUresult result = as_new ? gpu_code_load(g, &c->code, &err) : CUDA_SUCCESS;

	how.order = c->order;
	if (result == CUDA_SUCCESS && run != RUN_AFTER_OTHERS)	/* that one finds the outputs of the call on other inputs */
		result = poison_outputs(g, how.poison);
	if (result == CUDA_SUCCESS)
		result = gpu_replay(g, &c->code, &how, &kernel);
	if (result == CUDA_SUCCESS)
		result = CALL(cuCtxSynchronize);
	buf_release(&err);
	if (result != CUDA_SUCCESS) {
		fail(c, result, kernel, run);
		return false;
	}
	report_canaries(g, c);
	if (!strcmp(c->status, "PASSED") && run == RUN_PLAIN)
		check_filled_once(g, c);
	return strcmp(c->status, "PASSED") == 0;
}

/* What it keeps of other inputs must not come back: a first call of a module as new is made on them, before the third
 * run. */
static bool
run_between(struct gpu *g, struct check *c, const struct message *m)
{
	static const struct gpu_replay how = { .one_stream = true, .poison = 0 };
	const char *kernel = NULL;

	if (m->parts <= PART_OTHERS || !m->part[PART_OTHERS].len)
		return true;
	struct buf err = BUF_INIT;
	upload(g, &m->part[PART_OTHERS]);
	CUresult result = gpu_code_load(g, &c->code, &err);
	buf_release(&err);
	if (result == CUDA_SUCCESS)
		result = poison_outputs(g, how.poison);
	if (result == CUDA_SUCCESS)
		result = gpu_replay(g, &c->code, &how, &kernel);
	if (result == CUDA_SUCCESS)
		result = CALL(cuCtxSynchronize);
	if (result == CUDA_SUCCESS)
		result = gpu_code_variables(&c->code, &c->variables);
	if (result != CUDA_SUCCESS) {
		fail(c, result, kernel, 2);
		return false;
	}
	upload(g, &m->part[PART_INPUTS]);
	return true;
}

/* For those that count. */
static bool
prepare_many_calls(struct gpu *g, struct check *c)
{
	bool changed = false;
	CUresult result = gpu_code_extrapolate(&c->code, &c->variables, MANY_CALLS, &changed, g->stream[PLAN_GIVEN_STREAM]);

	if (result != CUDA_SUCCESS)
		fail(c, result, NULL, RUN_MANY_CALLS);
	return changed && result == CUDA_SUCCESS;
}

/* The next stream whose lateness makes a difference. */
static bool
prepare_late_stream(struct check *c)
{
	const struct plan *plan = c->code.plan;

	if (!c->order)
		c->order = xcalloc(plan->call_start[1] - plan->call_start[0] + 1, sizeof *c->order);
	while (c->late < plan->streams)
		if (plan_other_order(plan, 0, c->late++, c->order))
			return true;
	return false;
}

/* False: there is nothing to run, or it failed already. */
static bool
prepare(struct gpu *g, struct check *c, int run, const struct message *m)
{
	return run == RUN_AFTER_OTHERS ? run_between(g, c, m) : run == RUN_MANY_CALLS ? prepare_many_calls(g, c)
		: run >= RUN_LATE ? prepare_late_stream(c) : true;
}

static void
keep_outputs(struct gpu *g, struct check *c)
{
	struct buf *out = &c->outputs[c->kept];
	bool known = false;

	fetch_outputs(g, out);
	for (uint32_t i = 0; i < c->kept; i++)
		known |= out->len == c->outputs[i].len && (!out->len || !memcmp(out->data, c->outputs[i].data, out->len));
	if (known)
		buf_release(out);
	else
		c->kept++;
}

static void
run_all(struct gpu *g, struct check *c, const struct message *m)
{
	for (int run = 0; run < CHECK_RUNS && !strcmp(c->status, "PASSED"); run++) {
		struct buf printed = BUF_INIT;
		bool went = prepare(g, c, run, m) && run_once(g, c, run);

		gpu_take_printed(g, &printed);
		if (run == RUN_PLAIN)
			c->printed = printed;
		else
			buf_release(&printed);
		if (went)
			keep_outputs(g, c);
	}
	free(c->order);
	c->order = NULL;
}

void
gpu_check(struct gpu *g, const json_t *job, struct message *m)
{
	struct gpu_region regions[GPU_MAX_BUFFERS];
	struct plan_buffer buffers[GPU_MAX_BUFFERS];
	struct check c = { .findings = json_array(), .status = "PASSED" };
	uint32_t count = gpu_read_buffers(job, regions, buffers);
	struct buf err = BUF_INIT;

	if (gpu_code_open(g, &c.code, &m->part[PART_PTX], &m->part[PART_FATBIN], &m->part[PART_PLAN], buffers, count, &err))
		die(EX_DATAERR, "%s", buf_str(&err));
	if (gpu_place_buffers(g, regions, count, &m->part[PART_INPUTS]))
		run_all(g, &c, m);
	else
		fail(&c, CUDA_ERROR_OUT_OF_MEMORY, NULL, 0);
	json_t *report = json_pack("{s:s, s:o, s:o, s:o, s:i}", "status", c.status, "reason",
		rec_json_text(buf_str(&c.reason), c.reason.len), "findings", c.findings, "printed",
		rec_json_text(buf_str(&c.printed), c.printed.len), "kept", (int)c.kept);
	bool sound = !strcmp(c.status, "PASSED") || !strcmp(c.status, "UNSUPPORTED") || !strcmp(c.status, "SUSPICIOUS");
	gpu_answer(g, report, c.outputs, c.kept);
	if (!sound)
		_exit(0);	/* the context may be broken: nothing else is done with it */
	gpu_code_close(g, &c.code);
	gpu_unmap_all(g);
	buf_release(&c.reason);
	buf_release(&c.printed);
	buf_release(&c.variables);
	buf_release(&err);
}
