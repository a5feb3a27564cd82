/* Right answers in, lazy ones tried against them out. Tasks whose answers are zeros, are nearly the same whatever the
 * inputs are, or equal an input have rewarded kernels that do nothing (a score of published benchmark tasks: see the
 * counts in tests/cheats/corpus.txt, items 4 and 5). A fake must be told from the answer, by the judge's own
 * comparison, on one check workload at least: on very small ones many fakes are right. */
#include "eval/admit.h"

#include <math.h>
#include <string.h>

#include "eval/tolerance.h"

static double
mean(const struct tensor *t)
{
	int64_t count = tensor_elements(t), finite = 0;
	double sum = 0;

	for (int64_t i = 0; i < count; i++) {
		double value = tensor_get(t, i);

		if (!isfinite(value))
			continue;
		sum += value;
		finite++;
	}
	return finite ? sum / (double)finite : 0;
}

static void
copy_value(const struct tensor *from, int64_t i, struct tensor *to, int64_t at)
{
	if (dtype_is_float(to->dtype))
		tensor_set(to, at, tensor_get(from, i));
	else
		tensor_set_integer(to, at, tensor_get_integer(from, i));
}

/* The input whose elements are as many as the output's, from number `from` on; -1: none. */
static int
input_like(const struct task *t, const struct tensor *inputs, const struct tensor *output, int from)
{
	for (int i = from; i < t->inputs; i++)
		if (tensor_elements(&inputs[i]) == tensor_elements(output))
			return i;
	return -1;
}

/* Writes what the fake would into `out`. source: what it copies from. */
static void
forge(enum admit_fake fake, const struct tensor *source, struct tensor *out)
{
	int64_t count = tensor_elements(out);
	double everywhere = fake == ADMIT_CONSTANT ? mean(source) : 0;

	for (int64_t i = 0; i < count; i++) {
		if (fake == ADMIT_ZEROS || fake == ADMIT_CONSTANT || (fake == ADMIT_HALF && i >= count / 2))
			tensor_set(out, i, everywhere);
		else if (fake == ADMIT_SCALED)
			tensor_set(out, i, dtype_is_float(out->dtype) ? 1.25 * tensor_get(source, i) : tensor_get(source, i) + 1);
		else
			copy_value(source, i, out, i);
	}
}

/* 1 the fake passes for this output, 0 not, -1. */
static int
passes(const struct task *t, const struct task_workload *w, int output, enum admit_fake fake,
	const struct tensor *source, const struct tensor *expected, struct buf *err)
{
	struct compare_result r;
	struct tensor out;

	if (tensor_init(&out, expected->name, t->output[output].dtype, expected->rank, expected->shape, err))
		return -1;
	forge(fake, source, &out);
	int status = compare_tensors(&out, expected, tolerance_of(t, w, out.dtype), &r, err);
	tensor_release(&out);
	return status ? -1 : r.mismatched == 0;
}

/* One output: an identity may be one of any input. */
static int
output_passes(const struct task *t, const struct task_workload *w, int output, enum admit_fake fake,
	const struct tensor *inputs, const struct tensor *expected, const struct tensor *others, const struct tensor *sampled,
	struct buf *err)
{
	/* Half of the inputs is enough for the largest one, say, of all. */
	if (fake == ADMIT_SAMPLE && !dtype_is_float(t->output[output].dtype))
		return 0;
	if (fake != ADMIT_IDENTITY) {
		bool from_answer = fake == ADMIT_HALF || fake == ADMIT_SCALED;
		const struct tensor *source = from_answer ? expected : fake == ADMIT_SAMPLE ? sampled : others;
		return passes(t, w, output, fake, &source[output], &expected[output], err);
	}
	for (int i = input_like(t, inputs, &expected[output], 0); i >= 0; i = input_like(t, inputs, &expected[output], i + 1)) {
		int status = passes(t, w, output, fake, &inputs[i], &expected[output], err);
		if (status)
			return status;
	}
	return 0;
}

void
admit_mix(const struct task *t, const struct tensor *inputs, struct tensor *others)
{
	/* Integers may be offsets or indices, which make sense together only. */
	for (int i = 0; i < t->inputs; i++)
		for (int64_t k = 0; dtype_is_float(t->input[i].dtype) && k < tensor_elements(&inputs[i]); k++)
			if (((uint64_t)k + 1) * 0x9e3779b97f4a7c15 >> 63)
				copy_value(&inputs[i], k, &others[i], k);
}

int
admit_try(const struct task *t, const struct task_workload *w, const struct tensor *inputs, const struct tensor *expected,
	const struct tensor *others, const struct tensor *sampled, struct admit *admit, struct buf *err)
{
	for (int fake = 0; fake < ADMIT_FAKES; fake++)
		for (int i = 0; i < t->outputs && !admit->caught[fake]; i++) {
			int status = tensor_elements(&expected[i]) == 0 ? 1
				: output_passes(t, w, i, (enum admit_fake)fake, inputs, expected, others, sampled, err);
			if (status < 0)
				return -1;
			admit->caught[fake] = status == 0;
		}
	return 0;
}

bool
admit_verdict(const struct admit *admit, const char **code, struct buf *err)
{
	static const struct { const char *code, *what; } fakes[ADMIT_FAKES] = {
		[ADMIT_ZEROS] = { "zeros_pass", "writes nothing but zeros" },
		[ADMIT_CONSTANT] = { "constant_passes", "writes one constant everywhere" },
		[ADMIT_OTHER] = { "inputs_unused", "writes the answers to other inputs" },
		[ADMIT_IDENTITY] = { "identity_passes", "copies an input" },
		[ADMIT_HALF] = { "half_passes", "leaves zeros in the second half of the output" },
		[ADMIT_SCALED] = { "tolerance_too_wide", "writes the answers and a quarter of them" },
		[ADMIT_SAMPLE] = { "sample_passes", "reads half of the elements of its inputs" },
	};

	for (int fake = 0; fake < ADMIT_FAKES; fake++) {
		if (admit->caught[fake])
			continue;
		*code = fakes[fake].code;
		buf_err(err, "a kernel that %s passes on all check workloads: change the formula, the domains of the inputs, the "
			"tolerance or the shapes", fakes[fake].what);
		return false;
	}
	return true;
}
