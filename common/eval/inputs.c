/* A domain and a key in, tensors out. The domain is the task's JSON; its bounds may be axis expressions,
 * so that an index input can range over an axis: {"distribution": "integers", "low": 0, "high": "V"}. */
#include "eval/inputs.h"

#include <math.h>
#include <string.h>

#include "rec/json.h"
#include "tensor/generate.h"

/* A bound that is a number or an axis expression. */
static int
bound(const struct task *t, const struct task_workload *w, const json_t *domain, const char *key, double otherwise,
	double *out, struct buf *err)
{
	const json_t *value = json_object_get(domain, key);
	const char *names[TASK_MAX_AXES];
	int64_t result;

	*out = otherwise;
	if (!value)
		return 0;
	if (json_is_number(value)) {
		*out = json_number_value(value);
		return 0;
	}
	if (!json_is_string(value))
		return buf_err(err, "'%s' of a domain must be a number or an axis expression", key);
	for (int i = 0; i < t->axes; i++)
		names[i] = t->axis[i].name;
	if (math_axis_expression(json_string_value(value), names, w->axes, (size_t)t->axes, &result, err))
		return -1;
	*out = (double)result;
	return 0;
}

static int
refuse_unknown(const json_t *domain, struct buf *err)
{
	static const char *const known[] = { "distribution", "mean", "scale", "low", "high", "p", "value", NULL };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)domain, key, value) {
		int i = 0;
		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return buf_err(err, "a domain has no '%s'", key);
	}
	return 0;
}

static int
read_domain(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	struct generate_domain *domain, struct buf *err)
{
	double low, high;

	generate_default(tensor->dtype, domain);
	if (!tensor->domain)
		return 0;
	const char *name = rec_json_string(tensor->domain, "distribution", "");
	if (refuse_unknown(tensor->domain, err))
		return -1;
	if (generate_distribution_from_name(name, strlen(name), &domain->distribution))
		return buf_err(err, "unknown distribution '%s'", name);
	bool whole = domain->distribution == GENERATE_INTEGERS;
	if (bound(t, w, tensor->domain, "low", 0, &low, err)
			|| bound(t, w, tensor->domain, "high", whole ? 10 : 1, &high, err)
			|| bound(t, w, tensor->domain, "mean", 0, &domain->mean, err)
			|| bound(t, w, tensor->domain, "scale", 1, &domain->scale, err)
			|| bound(t, w, tensor->domain, "p", 0.5, &domain->p, err)
			|| bound(t, w, tensor->domain, "value", 0, &domain->value, err))
		return -1;
	if (!(fabs(low) <= 0x1p53 && fabs(high) <= 0x1p53))
		return buf_err(err, "the bounds %g and %g are out of range", low, high);
	domain->low = low;
	domain->high = high;
	domain->low_integer = (int64_t)low;
	domain->high_integer = (int64_t)high;
	return 0;
}

static int
in_context(const struct task_tensor *tensor, const struct task_workload *w, struct buf *why, struct buf *err)
{
	buf_err(err, "input '%s', workload '%s': %s", tensor->name, w->name, buf_str(why));
	buf_release(why);
	return -1;
}

int
inputs_check_domain(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	struct buf *err)
{
	struct generate_domain domain;
	struct buf why = BUF_INIT;
	int64_t shape[TASK_MAX_RANK];

	task_shape(t, tensor, w, shape);
	if (read_domain(t, tensor, w, &domain, &why) || generate_check(&domain, tensor->dtype, tensor->rank, shape, &why))
		return in_context(tensor, w, &why, err);
	return 0;
}

static int
make_one(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	const struct inputs_key *key, struct tensor *out, struct buf *err)
{
	struct generate_source source = { key->seed, key->trial, t->id, key->source, w->name, tensor->name };
	unsigned char bytes[GENERATE_KEY_BYTES];
	struct generate_domain domain;
	struct buf why = BUF_INIT;
	int64_t shape[TASK_MAX_RANK];

	task_shape(t, tensor, w, shape);
	if (read_domain(t, tensor, w, &domain, &why))
		return in_context(tensor, w, &why, err);
	if (tensor_init(out, tensor->name, tensor->dtype, tensor->rank, shape, err))
		return -1;
	generate_key(&source, bytes);
	if (generate_tensor(bytes, &domain, out, &why)) {
		tensor_release(out);
		return in_context(tensor, w, &why, err);
	}
	return 0;
}

int
inputs_jobs(const struct task *t, const struct task_workload *w, const struct inputs_key *key, struct generate_job *jobs,
	struct buf *err)
{
	for (int i = 0; i < t->inputs; i++) {
		const struct task_tensor *tensor = &t->input[i];
		struct generate_source source = { key->seed, key->trial, t->id, key->source, w->name, tensor->name };
		unsigned char bytes[GENERATE_KEY_BYTES];
		struct generate_domain domain;
		struct buf why = BUF_INIT;
		int64_t shape[TASK_MAX_RANK];

		task_shape(t, tensor, w, shape);
		generate_key(&source, bytes);
		memset(&jobs[i], 0, sizeof jobs[i]);
		if (read_domain(t, tensor, w, &domain, &why) ||
		    generate_job(bytes, &domain, tensor->dtype, tensor->rank, shape, &jobs[i], &why))
			return in_context(tensor, w, &why, err);
	}
	return 0;
}

int
inputs_make(const struct task *t, const struct task_workload *w, const struct inputs_key *key, struct tensor *tensors,
	struct buf *err)
{
	for (int i = 0; i < t->inputs; i++)
		if (make_one(t, &t->input[i], w, key, &tensors[i], err)) {
			while (i-- > 0)
				tensor_release(&tensors[i]);
			return -1;
		}
	return 0;
}
