/* torch [PYTHON [NAME [REPETITIONS]]]: times modules by PYTHON's PyTorch (/usr/bin/python3) in the sandbox, eager and
 * compiled, as an evaluation does, and prints a table: of all modules or of one, each so often, by a Python and on inputs of
 * its own. One line and 69 where that Python cannot use a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/die.h"
#include "base/io.h"
#include "base/num.h"
#include "eval/eval.h"
#include "eval/gpu_worker.h"
#include "eval/torch_time.h"
#include "rec/json.h"
#include "sandbox/sandbox.h"

/* Each takes x[N][D] and, where `weights`, w[D][D]. */
static const struct row {
	const char *name, *dtype, *forward;
	int n, d;
	bool weights;
} rows[] = {
	{ "refused", "float32", "return x.to('meta') + x", 64, 64, false },
	{ "layer norm", "float32", "m = x.mean(1, keepdim=True)\n        v = ((x - m) ** 2).mean(1, keepdim=True)\n"
		"        return (x - m) * torch.rsqrt(v + 1e-5)", 4096, 4096, false },
	{ "softmax", "float32", "return torch.softmax(x, 1)", 4096, 4096, false },
	{ "gelu", "bfloat16", "return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))", 4096, 4096, false },
	{ "matrix product", "float16", "return x @ w", 4096, 4096, true },
};

static struct task *
task_of(const struct row *r)
{
	struct buf source = BUF_INIT, id = BUF_INIT, err = BUF_INIT;
	json_t *tensor = json_pack("{s:s, s:s, s:[s, s], s:{s:s}}", "name", "x", "dtype", r->dtype, "shape", "N", "D", "domain",
		"distribution", "normal"), *weights = json_deep_copy(tensor), *output = json_deep_copy(tensor);

	json_object_set_new(weights, "name", json_string("w"));
	json_object_set_new(weights, "shape", json_pack("[s, s]", "D", "D"));
	json_object_set_new(output, "name", json_string("y"));
	json_object_del(output, "domain");
	buf_addf(&source, "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x%s):\n        %s\n",
		r->weights ? ", w" : "", r->forward);
	buf_addf(&id, "%032x", (unsigned)(r - rows));
	json_t *section = json_pack("{s:s, s:s, s:s, s:[s], s:s, s:{s:s, s:s}, s:[{s:s}, {s:s}], s:[o], s:[o], s:f, s:f,"
		"s:[{s:s, s:s, s:{s:i, s:i}}, {s:s, s:s, s:{s:i, s:i}}]}", "name", "module", "id", buf_str(&id), "op_type", "map",
		"forms", "reference_program", "oracle", "reference_program", "reference", "language", "pytorch", "source",
		buf_str(&source), "axes", "name", "N", "name", "D", "inputs", tensor, "outputs", output, "rtol", 1e-5, "atol", 1e-5,
		"workloads", "name", "odd", "role", "check", "axes", "N", 3, "D", 5, "name", "real", "role", "bench", "axes", "N", r->n,
		"D", r->d);
	if (r->weights)
		json_array_append(json_object_get(section, "inputs"), weights);
	struct task *t = task_load(section, &err);
	if (!t)
		die(EX_SOFTWARE, "%s", buf_str(&err));
	json_decref(weights);
	json_decref(section);
	buf_release(&source);
	buf_release(&id);
	return t;
}

static void
print_mode(const char *name, const json_t *mode)
{
	const json_t *interval = json_object_get(mode, "interval");

	printf("  %s: ", name);
	if (json_object_get(mode, "median_us"))
		printf("%.2f us [%.2f, %.2f] of %lld%s", rec_json_number(mode, "median_us", 0),
			json_number_value(json_array_get(interval, 0)), json_number_value(json_array_get(interval, 1)),
			(long long)rec_json_integer(mode, "count", 0), rec_json_boolean(mode, "queued", 0) ? "" : " (not queued in time)");
	else
		printf("none: %s", rec_json_string(mode, "reason", "?"));
}

/* As torch_times_add, but a module that fails is as good as any. */
static int
measure(const struct row *r, struct torch_times *times, uint64_t seed, const json_t *gpu, struct buf *err)
{
	struct task *t = task_of(r);
	json_t *timing = json_pack("{s:O, s:f}", "gpu", gpu, "median_us", 0.0);
	double begin = clock_seconds();
	int failed = torch_times_add(times, t, &t->workload[t->workloads - 1], seed, timing, err);
	const json_t *pytorch = json_object_get(timing, "pytorch");

	if (failed == 1 && json_object_get(pytorch, "eager"))
		failed = 0;
	printf("%-15s %-9s %4dx%4d  torch %s", r->name, r->dtype, r->n, r->d, rec_json_string(pytorch, "version", "none"));
	print_mode("eager", json_object_get(pytorch, "eager"));
	print_mode("compile", json_object_get(pytorch, "compile"));
	printf("  (%.1f s)\n", clock_seconds() - begin);
	fflush(stdout);
	json_decref(timing);
	task_free(t);
	return failed;
}

int
main(int argc, char **argv)
{
	struct buf err = BUF_INIT, listed = BUF_INIT;
	char *folder = io_temp_dir("km-torch", &err);
	uint64_t repetitions = 1;
	int status, failed = 0;

	die_program = "torch";
	if (argc > 3 && num_u64(argv[3], 1, 100, &repetitions))
		die(EX_USAGE, "usage: torch [PYTHON [NAME [REPETITIONS]]]");
	if (getenv("KM_SANDBOX") && sandbox_option(getenv("KM_SANDBOX"), &err))
		die(EX_USAGE, "%s", buf_str(&err));
	struct store *store = folder ? store_open(folder, &err) : NULL;
	struct gpu_pool *pool = store && !sandbox_require(SANDBOX_UNSET, &err) ? gpu_pool_open("0", &status, &err) : NULL;
	if (!pool || gpu_worker_list(&listed, &status, &err))
		die(EX_UNAVAILABLE, "%s", buf_str(&err));
	json_t *gpus = rec_json_parse(listed.data, listed.len, &err);
	struct torch_times *times = torch_times_new(store, pool, argc > 1 ? argv[1] : "/usr/bin/python3", TORCH_REQUIRED);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (uint64_t k = 0; k < repetitions && !failed; k++)
			if (argc < 3 || !strcmp(argv[2], rows[i].name))
				failed = measure(&rows[i], times, k, json_array_get(gpus, 0), &err);
	if (failed)
		warn("%s", buf_str(&err));
	torch_times_free(times);
	gpu_pool_close(pool);
	store_close(store);
	json_decref(gpus);
	io_remove_tree(folder, &err);
	return failed == 1 ? EX_UNAVAILABLE : failed ? EX_TEMPFAIL : 0;
}
