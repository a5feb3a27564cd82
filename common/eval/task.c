/* A task section in, what the engine needs out: axes resolved for every workload, tensors, scalars, oracle.
 * Everything that the record table cannot say is checked here, once: names, expressions, sizes, domains. */
#include "eval/task.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "eval/inputs.h"
#include "hash/id.h"
#include "rec/json.h"

/* A check or profile workload is run by the PTX machine and its oracle on any laptop; a bench workload on a GPU. */
#define MAX_CHECK_BYTES ((uint64_t)1 << 30)
#define MAX_BENCH_BYTES ((uint64_t)64 << 30)

static const char *const reserved[] = {
	"alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr",
	"continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float",
	"for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "nullptr",
	"operator", "or", "private", "protected", "public", "register", "restrict", "return", "short", "signed", "sizeof",
	"static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union",
	"unsigned", "using", "virtual", "void", "volatile", "while", "xor", "solve", "stream", "reference", "inf",
	"int64_t", "int32_t", "uint8_t", "main", NULL,
};

/* Names that are no identifiers of C, such as a workload's, may be its words: "short" is a fine workload. */
static int
check_letters(const char *what, const char *name, struct buf *err)
{
	size_t length = strlen(name);
	bool good = length > 0 && length <= 63 && (isalpha((unsigned char)name[0]));

	for (size_t i = 0; good && i < length; i++)
		good = isalnum((unsigned char)name[i]) || name[i] == '_';
	if (!good)
		return buf_err(err, "%s '%.80s' is not a name of up to 63 letters, digits and '_'", what, name);
	return 0;
}

static int
check_name(const char *what, const char *name, struct buf *err)
{
	if (check_letters(what, name, err))
		return -1;
	for (int i = 0; reserved[i]; i++)
		if (!strcmp(name, reserved[i]))
			return buf_err(err, "%s '%s' has a reserved name", what, name);
	return 0;
}

static int
axis_index(const struct task *t, const char *name)
{
	for (int i = 0; i < t->axes; i++)
		if (!strcmp(t->axis[i].name, name))
			return i;
	return -1;
}

/* Every name of the task means one thing. */
static bool
name_taken(const struct task *t, const char *name)
{
	if (axis_index(t, name) >= 0)
		return true;
	for (int i = 0; i < t->scalars; i++)
		if (!strcmp(t->scalar[i].name, name))
			return true;
	for (int i = 0; i < t->inputs; i++)
		if (!strcmp(t->input[i].name, name))
			return true;
	for (int i = 0; i < t->outputs; i++)
		if (!strcmp(t->output[i].name, name))
			return true;
	return false;
}

static int
new_name(const struct task *t, const char *what, const char *name, struct buf *err)
{
	if (check_name(what, name, err))
		return -1;
	if (name_taken(t, name))
		return buf_err(err, "the name '%s' is used twice", name);
	return 0;
}

/* An array of the section, at most `max` long; a missing one is NULL, which jansson reads as empty. */
static int
array(const json_t *section, const char *key, size_t max, const json_t **out, struct buf *err)
{
	*out = json_object_get(section, key);
	if (*out && (!json_is_array(*out) || json_array_size(*out) > max))
		return buf_err(err, "%s must be an array of at most %zu", key, max);
	return 0;
}

static int
load_axes(struct task *t, struct buf *err)
{
	const json_t *list, *item;
	size_t i;

	if (array(t->json, "axes", TASK_MAX_AXES, &list, err))
		return -1;
	json_array_foreach(list, i, item) {
		struct task_axis axis = { .name = rec_json_string(item, "name", "") };

		if (new_name(t, "axis", axis.name, err))
			return -1;
		axis.expression = rec_json_string(item, "expr", NULL);
		axis.constant = json_is_integer(json_object_get(item, "value"));
		axis.value = rec_json_integer(item, "value", 0);
		if (axis.constant && axis.expression)
			return buf_err(err, "axis '%s' has both a value and an expr", axis.name);
		t->axis[t->axes++] = axis;
	}
	return 0;
}

static int
load_scalars(struct task *t, struct buf *err)
{
	const json_t *list, *item;
	size_t i;

	if (array(t->json, "scalars", TASK_MAX_SCALARS, &list, err))
		return -1;
	json_array_foreach(list, i, item) {
		struct task_scalar scalar = { .name = rec_json_string(item, "name", "") };
		const char *dtype = rec_json_string(item, "dtype", "");

		if (new_name(t, "scalar", scalar.name, err))
			return -1;
		if (dtype_from_name(dtype, strlen(dtype), &scalar.dtype))
			return buf_err(err, "scalar '%s': unknown dtype '%s'", scalar.name, dtype);
		if (!json_is_number(json_object_get(item, "value")) && !json_is_boolean(json_object_get(item, "value")))
			return buf_err(err, "scalar '%s' has no value", scalar.name);
		scalar.value = json_is_true(json_object_get(item, "value")) ? 1 : rec_json_number(item, "value", 0);
		t->scalar[t->scalars++] = scalar;
	}
	return 0;
}

static int
load_tensor(struct task *t, const json_t *item, const char *what, struct task_tensor *tensor, struct buf *err)
{
	const json_t *shape = json_object_get(item, "shape"), *dimension;
	const char *dtype = rec_json_string(item, "dtype", "");
	size_t i;

	*tensor = (struct task_tensor){ .name = rec_json_string(item, "name", "") };
	if (new_name(t, what, tensor->name, err))
		return -1;
	if (dtype_from_name(dtype, strlen(dtype), &tensor->dtype))
		return buf_err(err, "%s '%s': unknown dtype '%s'", what, tensor->name, dtype);
	if (!json_is_array(shape) || json_array_size(shape) > TASK_MAX_RANK)
		return buf_err(err, "%s '%s': shape must be an array of at most %d axis names", what, tensor->name,
			TASK_MAX_RANK);
	json_array_foreach(shape, i, dimension) {
		const char *name = json_string_value(dimension);
		if (!name || axis_index(t, name) < 0)
			return buf_err(err, "%s '%s': shape names '%s', which is no axis", what, tensor->name,
				name ? name : "?");
		tensor->shape[tensor->rank++] = name;
	}
	tensor->domain = json_object_get(item, "domain");
	return 0;
}

static int
load_tensors(struct task *t, struct buf *err)
{
	const json_t *inputs, *outputs, *item;
	size_t i;

	if (array(t->json, "inputs", TASK_MAX_TENSORS, &inputs, err)
			|| array(t->json, "outputs", TASK_MAX_TENSORS, &outputs, err))
		return -1;
	json_array_foreach(inputs, i, item) {
		if (load_tensor(t, item, "input", &t->input[t->inputs], err))
			return -1;
		t->inputs++;
	}
	json_array_foreach(outputs, i, item) {
		if (load_tensor(t, item, "output", &t->output[t->outputs], err))
			return -1;
		t->outputs++;
	}
	return t->outputs ? 0 : buf_err(err, "the task has no output");
}

static void
task_math_axes(const struct task *t, struct math_axis axes[TASK_MAX_AXES])
{
	for (int i = 0; i < t->axes; i++)
		axes[i] = (struct math_axis){ t->axis[i].name, t->axis[i].constant, t->axis[i].value,
			t->axis[i].expression };
}

int
task_resolve(const struct task *t, const json_t *given, int64_t values[TASK_MAX_AXES], struct buf *err)
{
	struct math_axis axes[TASK_MAX_AXES];
	struct math_given list[TASK_MAX_AXES];
	size_t count = 0;
	const char *name;
	json_t *value;

	task_math_axes(t, axes);
	json_object_foreach((json_t *)given, name, value) {
		if (count == TASK_MAX_AXES || !json_is_integer(value))
			return buf_err(err, "axis '%s' must be an integer", name);
		list[count++] = (struct math_given){ name, json_integer_value(value) };
	}
	return math_resolve_axes(axes, (size_t)t->axes, list, count, values, err);
}

/* Bytes of all tensors. Summed in double, which is exact as far as any limit and never wraps round. */
static int
measure(const struct task *t, struct task_workload *w, struct buf *err)
{
	uint64_t limit = w->role == TASK_BENCH ? MAX_BENCH_BYTES : MAX_CHECK_BYTES;
	double total = 0;

	for (int i = 0; i < t->inputs + t->outputs; i++) {
		const struct task_tensor *tensor = i < t->inputs ? &t->input[i] : &t->output[i - t->inputs];
		double bytes = (double)dtype_bytes(tensor->dtype);

		for (int d = 0; d < tensor->rank; d++)
			bytes *= (double)w->axes[axis_index(t, tensor->shape[d])];
		total += bytes;
	}
	if (total > (double)limit)
		return buf_err(err, total < 1e15 ? "workload '%s' needs %.0f bytes for its tensors, more than the %llu allowed" :
			"workload '%s' needs %.3g bytes for its tensors, more than the %llu allowed", w->name, total,
			(unsigned long long)limit);
	w->tensor_bytes = (uint64_t)total;
	return 0;
}

static int
load_workload(struct task *t, const json_t *item, struct buf *err)
{
	struct task_workload *w = &t->workload[t->workloads];
	const char *role = rec_json_string(item, "role", "");
	struct buf why = BUF_INIT;

	*w = (struct task_workload){ .name = rec_json_string(item, "name", "") };
	if (check_letters("workload", w->name, err))
		return -1;
	if (task_workload(t, w->name))
		return buf_err(err, "workload '%s' is there twice", w->name);
	if (!strcmp(role, "check"))
		w->role = TASK_CHECK;
	else if (!strcmp(role, "profile"))
		w->role = TASK_PROFILE;
	else if (!strcmp(role, "bench"))
		w->role = TASK_BENCH;
	else
		return buf_err(err, "workload '%s' has the role '%s'; check, profile and bench are known", w->name, role);
	w->held_out = rec_json_boolean(item, "held_out", 0);
	if (task_resolve(t, json_object_get(item, "axes"), w->axes, &why)) {
		buf_err(err, "workload '%s': %s", w->name, buf_str(&why));
		buf_release(&why);
		return -1;
	}
	if (measure(t, w, err))
		return -1;
	t->workloads++;
	for (int i = 0; i < t->inputs; i++)
		if (inputs_check_domain(t, &t->input[i], w, err))
			return -1;
	return 0;
}

static int
load_workloads(struct task *t, struct buf *err)
{
	const json_t *list, *item;
	int visible = 0;
	size_t i;

	if (array(t->json, "workloads", TASK_MAX_WORKLOADS, &list, err))
		return -1;
	json_array_foreach(list, i, item) {
		if (load_workload(t, item, err))
			return -1;
		visible += t->workload[t->workloads - 1].role == TASK_CHECK && !t->workload[t->workloads - 1].held_out;
	}
	return visible ? 0 : buf_err(err, "the task needs a check workload that is not held out");
}

static int
load_oracle(struct task *t, struct buf *err)
{
	const char *oracle = rec_json_string(t->json, "oracle", "");

	t->math_spec = rec_json_string(json_object_get(t->json, "math_spec"), "text", NULL);
	t->reference = rec_json_string(json_object_get(t->json, "reference"), "source", NULL);
	t->reference_is_torch = !strcmp(rec_json_string(json_object_get(t->json, "reference"), "language", ""), "pytorch");
	t->oracle_is_math = !strcmp(oracle, "math_spec");
	if (!t->oracle_is_math && strcmp(oracle, "reference_program"))
		return buf_err(err, "oracle '%s' is neither math_spec nor reference_program", oracle);
	if (t->oracle_is_math ? !t->math_spec : !t->reference)
		return buf_err(err, "the oracle %s is not there", oracle);
	t->rtol = rec_json_number(t->json, "rtol", 0);
	t->atol = rec_json_number(t->json, "atol", 0);
	t->reduction = rec_json_string(t->json, "reduction", NULL);
	if (!(t->rtol >= 0 && t->rtol < 1 && t->atol >= 0 && t->atol < 1e6))
		return buf_err(err, "rtol %g and atol %g are out of range", t->rtol, t->atol);
	return 0;
}

/* The math spec must type against the task, whether or not it is the oracle. */
static int
check_math(const struct task *t, struct buf *err)
{
	if (!t->math_spec)
		return 0;
	struct math_spec *spec = task_parse_math(t, err);
	math_free(spec);
	return spec ? 0 : -1;
}

struct math_spec *
task_parse_math(const struct task *t, struct buf *err)
{
	struct math_axis axes[TASK_MAX_AXES];
	struct math_scalar scalars[TASK_MAX_SCALARS];
	struct math_tensor tensors[2 * TASK_MAX_TENSORS];
	struct buf why = BUF_INIT;

	task_math_axes(t, axes);
	for (int i = 0; i < t->scalars; i++)
		scalars[i] = (struct math_scalar){ t->scalar[i].name, t->scalar[i].dtype, t->scalar[i].value,
			dtype_is_float(t->scalar[i].dtype) ? 0 : (int64_t)t->scalar[i].value };
	for (int i = 0; i < t->inputs + t->outputs; i++) {
		const struct task_tensor *from = i < t->inputs ? &t->input[i] : &t->output[i - t->inputs];
		tensors[i] = (struct math_tensor){ .name = from->name, .dtype = from->dtype, .rank = from->rank };
		for (int d = 0; d < from->rank; d++)
			tensors[i].shape[d] = from->shape[d];
	}
	struct math_task task = { axes, (size_t)t->axes, scalars, (size_t)t->scalars, tensors, (size_t)t->inputs,
		tensors + t->inputs, (size_t)t->outputs };
	struct math_spec *spec = math_parse(t->math_spec, strlen(t->math_spec), &task, &why);
	if (!spec)
		buf_err(err, "spec.math:%s", buf_str(&why));
	buf_release(&why);
	return spec;
}

struct task *
task_load(json_t *section, struct buf *err)
{
	struct task *t = xcalloc(1, sizeof *t);

	t->json = json_incref(section);
	t->id = rec_json_string(section, "id", "");
	t->name = rec_json_string(section, "name", "");
	t->op_type = rec_json_string(section, "op_type", "");
	t->prototype = rec_json_string(section, "prototype", "");
	if (check_name("task", t->name, err) || load_axes(t, err) || load_scalars(t, err) || load_tensors(t, err)
			|| load_workloads(t, err) || load_oracle(t, err) || check_math(t, err)) {
		task_free(t);
		return NULL;
	}
	return t;
}

struct task *
task_load_known(json_t *section, struct buf *err)
{
	struct task *t = task_load(section, err);
	char id[HASH_ID_HEX];

	if (!t)
		return NULL;
	task_identity(section, id);
	if (!strcmp(id, t->id))
		return t;
	buf_err(err, "task.id is %.40s, and its content makes it %s: km-ingest gives changed tasks new ids", t->id, id);
	task_free(t);
	return NULL;
}

void
task_free(struct task *t)
{
	if (!t)
		return;
	json_decref(t->json);
	free(t);
}

int64_t
task_shape(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	int64_t shape[TASK_MAX_RANK])
{
	int64_t elements = 1;

	for (int d = 0; d < tensor->rank; d++) {
		shape[d] = w->axes[axis_index(t, tensor->shape[d])];
		if (shape[d] == 0 || elements > INT64_MAX / shape[d])
			elements = shape[d] == 0 ? 0 : INT64_MAX;
		else
			elements *= shape[d];
	}
	return elements;
}

int64_t
task_reduction(const struct task *t, const struct task_workload *w)
{
	const char *names[TASK_MAX_AXES];
	struct buf err = BUF_INIT;
	int64_t terms = 1;

	for (int i = 0; i < t->axes; i++)
		names[i] = t->axis[i].name;
	/* An expression that fails was refused by task_load. */
	if (!t->reduction || math_axis_expression(t->reduction, names, w->axes, (size_t)t->axes, &terms, &err))
		terms = 1;
	buf_release(&err);
	return terms < 1 ? 1 : terms;
}

const struct task_workload *
task_workload(const struct task *t, const char *name)
{
	for (int i = 0; i < t->workloads; i++)
		if (!strcmp(t->workload[i].name, name))
			return &t->workload[i];
	return NULL;
}

int
task_arguments(const struct task *t, const struct task_workload *w, struct cuda_argument arguments[CUDA_MAX_ARGUMENTS])
{
	int count = 0;

	for (int i = 0; i < t->inputs + t->outputs; i++) {
		const struct task_tensor *tensor = i < t->inputs ? &t->input[i] : &t->output[i - t->inputs];
		int64_t shape[TASK_MAX_RANK];
		struct cuda_argument a = { i < t->inputs ? CUDA_INPUT : CUDA_OUTPUT, tensor->name,
			dtype_name(tensor->dtype), 0, 0 };

		if (w)
			a.bytes = (uint64_t)task_shape(t, tensor, w, shape) * dtype_bytes(tensor->dtype);
		arguments[count++] = a;
	}
	for (int i = 0; i < t->axes; i++)
		if (!t->axis[i].constant && !t->axis[i].expression)
			arguments[count++] = (struct cuda_argument){ CUDA_SCALAR, t->axis[i].name, "int64", 0,
				w ? (uint64_t)w->axes[i] : 0 };
	for (int i = 0; i < t->scalars; i++) {
		struct cuda_argument a = { CUDA_SCALAR, t->scalar[i].name, dtype_name(t->scalar[i].dtype), 0, 0 };

		dtype_store(t->scalar[i].dtype, &a.bits, t->scalar[i].value);
		arguments[count++] = a;
	}
	return count;
}

void
task_prototype(const struct task *t, struct buf *out)
{
	struct cuda_argument arguments[CUDA_MAX_ARGUMENTS];
	struct buf err = BUF_INIT;

	if (cuda_prototype(arguments, task_arguments(t, NULL, arguments), out, &err))
		buf_adds(out, buf_str(&err));	/* cannot happen: names and dtypes were checked */
	buf_release(&err);
}

void
task_identity(const json_t *section, char out[HASH_ID_HEX])
{
	static const char *const contract[] = { "forms", "prompt", "reference", "math_spec", "oracle", "axes", "scalars",
		"inputs", "outputs", "rtol", "atol", "reduction", "workloads", "examples", NULL };
	json_t *chosen = json_object(), *workload;
	struct buf text = BUF_INIT;
	size_t n;

	for (int i = 0; contract[i]; i++) {
		const json_t *value = json_object_get(section, contract[i]);
		if (value)
			json_object_set_new(chosen, contract[i], json_deep_copy(value));
	}
	/* What ingest derives from the rest: a better LaTeX does not make another task. */
	json_object_del(json_object_get(chosen, "math_spec"), "latex");
	json_array_foreach(json_object_get(chosen, "workloads"), n, workload)
		json_object_del(workload, "min_memory_bytes");
	rec_json_canonical(chosen, &text);
	hash_id(buf_str(&text), text.len, out);
	buf_release(&text);
	json_decref(chosen);
}
