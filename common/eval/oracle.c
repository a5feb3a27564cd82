/* Inputs in, expected outputs out. The math spec is evaluated here, in double; a C reference is compiled
 * once (kept in the store by content) and runs in the sandbox, since whoever wrote the task wrote it; a PyTorch
 * reference goes to torch.c. */
#include "eval/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "eval/reference_driver.h"
#include "eval/torch.h"
#include "hash/id.h"
#include "sandbox/sandbox.h"

enum { COMPILE_WALL_MS = 60000, RUN_WALL_MS = 20000, MAX_BINARY_BYTES = 16 << 20, LOG_BYTES = 2000 };

/* ---- the math spec */

static enum oracle_status
run_math(const struct task *t, const int64_t *axes, const struct tensor *inputs, struct tensor *expected,
	const char **code, struct buf *err)
{
	const struct tensor *list[TASK_MAX_TENSORS];
	struct buf why = BUF_INIT;
	enum oracle_status status = ORACLE_REFUSED;

	*code = "oracle_fails";
	for (int i = 0; i < t->inputs; i++)
		list[i] = &inputs[i];
	struct math_spec *spec = task_parse_math(t, err);
	if (!spec)
		return status;
	struct math_run *run = math_bind(spec, axes, list, NULL, &why);
	if (run && math_evaluate(run, expected, &why) == 0)
		status = ORACLE_OK;
	else
		buf_err(err, "spec.math:%s", buf_str(&why));
	math_run_free(run);
	math_free(spec);
	buf_release(&why);
	return status;
}

/* ---- the C reference */

static void
keep_first_lines(struct buf *log)
{
	buf_elide(log, LOG_BYTES);
	while (log->len && log->data[log->len - 1] == '\n')
		log->data[--log->len] = 0;
	for (size_t i = 0; i < log->len; i++)
		if (log->data[i] == '\n')
			log->data[i] = ';';
}

static enum oracle_status
compile(const char *driver, const char *reference, struct buf *binary, const char **code, struct buf *err)
{
	static const char *const argv[] = { "/usr/bin/gcc", "-std=gnu11", "-O2", "-ffp-contract=off", "-w", "-o",
		"/out/reference", "/in/driver.c", "/in/reference.c", "-lm", NULL };
	struct sandbox_input inputs[] = {
		{ .name = "driver.c", .bytes = driver, .count = strlen(driver) },
		{ .name = "reference.c", .bytes = reference, .count = strlen(reference) },
	};
	struct buf log = BUF_INIT;
	struct sandbox_output output = { .name = "reference", .max_bytes = MAX_BINARY_BYTES, .content = binary };
	struct sandbox_job job = { .argv = argv, .inputs = inputs, .input_count = 2, .outputs = &output,
		.output_count = 1, .limits = { .wall_ms = COMPILE_WALL_MS }, .output = &log, .errors = &log };
	struct sandbox_result result;
	enum oracle_status status = ORACLE_OK;

	if (sandbox_run(&job, &result, err))
		status = ORACLE_INFRASTRUCTURE;
	else if (result.cause != SANDBOX_EXITED || result.exit_status || output.state != SANDBOX_FILE_OK) {
		keep_first_lines(&log);
		*code = "reference_does_not_compile";
		buf_err(err, "reference.c does not compile: %s", log.len ? buf_str(&log) : "the compiler was stopped");
		status = ORACLE_REFUSED;
	}
	buf_release(&log);
	return status;
}

static enum oracle_status
get_binary(struct store *store, const struct task *t, struct buf *binary, const char **code, struct buf *err)
{
	struct buf driver = BUF_INIT;
	char id[HASH_ID_HEX];

	reference_driver(t, &driver);
	struct hash_id_state *state = hash_id_start();
	hash_id_text(state, buf_str(&driver));
	hash_id_text(state, t->reference);
	hash_id_end(state, id);
	struct buf why = BUF_INIT;
	int there = store_get(store, "references", id, binary, &why);
	if (there == STORE_DAMAGED)
		there = store_remove(store, "references", id, err);
	else if (there < 0)
		buf_err(err, "%s", buf_str(&why));
	buf_release(&why);
	enum oracle_status status = there < 0 ? ORACLE_INFRASTRUCTURE : ORACLE_OK;
	if (there == 0) {
		status = compile(buf_str(&driver), t->reference, binary, code, err);
		if (status == ORACLE_OK && store_put(store, "references", id, buf_str(binary), binary->len, err))
			status = ORACLE_INFRASTRUCTURE;
	}
	buf_release(&driver);
	return status;
}

/* The inputs' bytes one after the other, half types widened to float. */
static void
pack_inputs(const struct task *t, const struct tensor *inputs, struct buf *out)
{
	for (int i = 0; i < t->inputs; i++) {
		int64_t elements = tensor_elements(&inputs[i]);

		if (reference_dtype(inputs[i].dtype) == inputs[i].dtype) {
			buf_add(out, inputs[i].data, inputs[i].bytes);
			continue;
		}
		for (int64_t e = 0; e < elements; e++) {
			float value = (float)tensor_get(&inputs[i], e);
			buf_add(out, &value, sizeof value);
		}
	}
}

static int
unpack_outputs(const struct task *t, const struct task_workload *w, const struct buf *bytes, struct tensor *expected,
	struct buf *err)
{
	size_t at = 0;

	for (int i = 0; i < t->outputs; i++) {
		const struct task_tensor *tensor = &t->output[i];
		enum dtype from = reference_dtype(tensor->dtype);
		enum dtype to = dtype_is_float(from) ? DTYPE_FLOAT64 : DTYPE_INT64;
		int64_t shape[TASK_MAX_RANK], elements = task_shape(t, tensor, w, shape);
		size_t size = dtype_bytes(from);

		if (tensor_init(&expected[i], tensor->name, to, tensor->rank, shape, err)) {
			while (i-- > 0)
				tensor_release(&expected[i]);
			return -1;
		}
		for (int64_t e = 0; e < elements; e++, at += size) {
			const char *element = bytes->data + at;
			if (to == DTYPE_FLOAT64)
				tensor_set(&expected[i], e, dtype_load(from, element));
			else
				tensor_set_integer(&expected[i], e, dtype_load_integer(from, element));
		}
	}
	return 0;
}

struct arguments {
	struct buf text[3 + 2 * TASK_MAX_TENSORS + TASK_MAX_AXES];
	const char *argv[4 + 2 * TASK_MAX_TENSORS + TASK_MAX_AXES];
	int count;
	uint64_t output_bytes;
};

static void
add_argument(struct arguments *a, const char *format, long long value)
{
	buf_addf(&a->text[a->count], format, value);
	a->argv[a->count] = buf_str(&a->text[a->count]);
	a->count++;
}

static void
make_arguments(const struct task *t, const struct task_workload *w, struct arguments *a)
{
	a->argv[a->count++] = "/in/reference";
	a->argv[a->count++] = "/in/inputs.bin";
	a->argv[a->count++] = "/out/outputs.bin";
	for (int i = 0; i < t->inputs + t->outputs; i++) {
		const struct task_tensor *tensor = i < t->inputs ? &t->input[i] : &t->output[i - t->inputs];
		int64_t shape[TASK_MAX_RANK];
		uint64_t bytes = (uint64_t)task_shape(t, tensor, w, shape) * dtype_bytes(reference_dtype(tensor->dtype));

		add_argument(a, "%lld", (long long)bytes);
		a->output_bytes += i < t->inputs ? 0 : bytes;
	}
	for (int i = 0; i < t->axes; i++)
		if (!t->axis[i].constant && !t->axis[i].expression)
			add_argument(a, "%lld", (long long)w->axes[i]);
}

/* How the reference ended, when it did not end well. */
static enum oracle_status
explain(const struct sandbox_job *job, const struct sandbox_result *result, struct buf *said, const char **code,
	struct buf *err)
{
	keep_first_lines(said);
	if (result->cause == SANDBOX_WALL_CLOCK || result->cause == SANDBOX_CPU) {
		*code = "reference_timeout";
		buf_adds(err, "reference.c does not return: it met ");
		sandbox_describe(job, result, err);
	} else if (result->exit_status == REFERENCE_OUT_OF_BOUNDS || result->exit_status == REFERENCE_CRASHED) {
		*code = result->exit_status == REFERENCE_CRASHED ? "reference_crashed" : "reference_out_of_bounds";
		buf_addf(err, "reference.c is wrong: %s", buf_str(said));
	} else if (result->cause == SANDBOX_SIGNALLED) {
		*code = "reference_crashed";
		buf_adds(err, "reference.c crashed: ");
		sandbox_describe(job, result, err);
	} else {
		*code = "reference_exited";
		buf_adds(err, "reference.c ended the program instead of returning: ");
		sandbox_describe(job, result, err);
	}
	return ORACLE_REFUSED;
}

static enum oracle_status
run_reference(struct store *store, const struct task *t, const struct task_workload *w, const struct tensor *inputs,
	struct tensor *expected, const char **code, struct buf *err)
{
	struct buf binary = BUF_INIT, packed = BUF_INIT, unpacked = BUF_INIT, said = BUF_INIT;
	struct arguments arguments = { .count = 0 };
	enum oracle_status status = get_binary(store, t, &binary, code, err);

	if (status != ORACLE_OK)
		goto out;
	pack_inputs(t, inputs, &packed);
	make_arguments(t, w, &arguments);
	struct sandbox_input files[] = {
		{ .name = "reference", .bytes = buf_str(&binary), .count = binary.len, .executable = true },
		{ .name = "inputs.bin", .bytes = buf_str(&packed), .count = packed.len },
	};
	struct sandbox_output output = { .name = "outputs.bin", .max_bytes = arguments.output_bytes + 1,
		.content = &unpacked };
	struct sandbox_job job = { .argv = arguments.argv, .inputs = files, .input_count = 2, .outputs = &output,
		.output_count = 1, .output = &said, .errors = &said,
		.limits = { .wall_ms = RUN_WALL_MS, .out_bytes = arguments.output_bytes + (1 << 20),
			.address_space_bytes = packed.len + arguments.output_bytes + ((uint64_t)1 << 30),
			.output_max_bytes = LOG_BYTES } };
	struct sandbox_result result;
	if (sandbox_run(&job, &result, err))
		status = ORACLE_INFRASTRUCTURE;
	else if (result.cause != SANDBOX_EXITED || result.exit_status || unpacked.len != arguments.output_bytes
			|| (arguments.output_bytes && output.state != SANDBOX_FILE_OK))
		status = explain(&job, &result, &said, code, err);
	else if (unpack_outputs(t, w, &unpacked, expected, err))
		status = ORACLE_INFRASTRUCTURE;
out:
	for (int i = 0; i < arguments.count; i++)
		buf_release(&arguments.text[i]);
	buf_release(&binary);
	buf_release(&packed);
	buf_release(&unpacked);
	buf_release(&said);
	return status;
}

struct oracle {
	struct store *store;
	struct torch *torch;
};

struct oracle *
oracle_new(struct store *store, const char *python)
{
	struct oracle *oracle = xcalloc(1, sizeof *oracle);

	oracle->store = store;
	oracle->torch = torch_new(python);
	return oracle;
}

void
oracle_free(struct oracle *oracle)
{
	if (!oracle)
		return;
	torch_free(oracle->torch);
	free(oracle);
}

enum oracle_status
oracle_run(struct oracle *oracle, const struct task *t, const int64_t *axes, bool math, const struct tensor *inputs,
	struct tensor *expected, const char **code, struct buf *err)
{
	struct task_workload w = { .name = "", .role = TASK_CHECK };

	memcpy(w.axes, axes, sizeof w.axes);
	if (math)
		return run_math(t, axes, inputs, expected, code, err);
	if (t->reference_is_torch)
		return torch_run(oracle->torch, t, &w, inputs, expected, code, err);
	return run_reference(oracle->store, t, &w, inputs, expected, code, err);
}
