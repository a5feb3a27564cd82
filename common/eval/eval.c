/* The engine and its options: opens what evaluations need (toolkit, sandbox, device, store, oracle), and lends it out.
 * What happens to a solution is in session.c. */
#include "eval/eval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/die.h"
#include "cuda/arch.h"
#include "cuda/build.h"
#include "eval/engine.h"
#include "sandbox/sandbox.h"

struct eval_args eval_args = { .store = "out/store", .device = "cpu", .python = "/usr/bin/python3", .baseline = "auto" };

const struct opt eval_option_table[] = {
	{ 0, "store", OPT_STRING, &eval_args.store, "DIR", "keep answers, builds and evaluations in DIR", 0, 0 },
	{ 0, "device", OPT_STRING, &eval_args.device, "cpu|cuda[:LIST]",
		"run kernels on the PTX machine (cpu), or on GPUs: all, or those of a list of numbers or UUIDs", 0, 0 },
	{ 0, "arch", OPT_STRING, &eval_args.arch, "sm_80|sm_89|sm_90",
		"compile for this architecture and run that on the PTX machine (sm_90); a GPU has its own", 0, 0 },
	{ 0, "sandbox", OPT_CALL, sandbox_option, "LEVEL", SANDBOX_OPTION_HELP, 0, 0 },
	{ 0, "python", OPT_STRING, &eval_args.python, "PROGRAM", "run PyTorch references with PROGRAM (/usr/bin/python3)", 0, 0 },
	{ 0, "counters", OPT_STRING, &eval_args.counters, "PROGRAM",
		"count on a GPU by PROGRAM, Nsight Compute (ncu), what limits each launch of a timed solution", 0, 0 },
	{ 0, "baseline", OPT_STRING, &eval_args.baseline, "auto|torch|none",
		"on a GPU, time the PyTorch module of a task beside its solutions: where that can be done (auto), or else end with "
		"69 (torch), or not at all (none)", 0, 0 },
	{ 0, NULL, OPT_FLAG, NULL, NULL, NULL, 0, 0 },
};

/* "cpu", "cuda" or "cuda:LIST". 0, or -1 with a sentence. */
static int
open_device(const char *device, struct gpu_pool **gpus, int *status, struct buf *err)
{
	*gpus = NULL;
	*status = EX_USAGE;
	if (!strcmp(device, "cpu"))
		return 0;
	if (strncmp(device, "cuda", 4) || (device[4] && (device[4] != ':' || !device[5])))
		return buf_err(err, "--device %s: it is cpu, cuda, or cuda: and a list of GPUs", device);
	struct buf why = BUF_INIT;
	*gpus = gpu_pool_open(device[4] ? device + 5 : NULL, status, &why);
	if (!*gpus)
		buf_err(err, "--device %s: %s", device, buf_str(&why));
	buf_release(&why);
	return *gpus ? 0 : -1;
}

/* Options that go with one device only, or have a value that is none. 0, or -1 with a sentence. */
static int
check_options(int *arch, enum torch_want *want, struct buf *err)
{
	bool machine = !strcmp(eval_args.device, "cpu");

	*arch = CUDA_ARCH_DEFAULT;
	if (eval_args.schedule && !machine)
		return buf_err(err, "--schedule orders what runs on the PTX machine: it goes with --device cpu only");
	if (eval_args.counters && machine)
		return buf_err(err, "--counters counts on a GPU: it goes with --device cuda only");
	if (eval_args.arch && !machine)
		return buf_err(err, "--arch is for the PTX machine: on a GPU, code is compiled for that GPU");
	if (torch_want_from_name(eval_args.baseline, want))
		return buf_err(err, "--baseline %s: it is auto, torch or none", eval_args.baseline);
	if (eval_args.arch)
		*arch = cuda_arch_parse(eval_args.arch, err);
	return *arch < 0 ? -1 : 0;
}

struct eval *
eval_open(uint64_t seed, int *status, struct buf *err)
{
	struct gpu_pool *gpus;
	enum torch_want want;
	int arch;

	*status = EX_USAGE;
	if (check_options(&arch, &want, err))
		return NULL;
	*status = EX_UNAVAILABLE;
	if (sandbox_require(SANDBOX_UNSET, err) || !cuda_toolkit_version(err) ||
	    open_device(eval_args.device, &gpus, status, err))
		return NULL;
	*status = EX_CANTCREAT;
	struct store *store = store_open(eval_args.store, err);
	if (!store) {
		gpu_pool_close(gpus);
		return NULL;
	}
	struct eval *e = xcalloc(1, sizeof *e);
	struct buf builds = BUF_INIT;
	buf_addf(&builds, "%s/builds", eval_args.store);
	e->store = store;
	e->oracle = oracle_new(store, eval_args.python);
	e->builds = buf_detach(&builds);
	e->seed = seed;
	e->gpus = gpus;
	e->torch_times = gpus ? torch_times_new(store, gpus, eval_args.python, want) : NULL;
	e->counters = gpus && eval_args.counters ? counters_open(eval_args.counters) : NULL;
	e->arch = gpus ? gpu_pool_arch(gpus) : arch;
	e->profile = gpus ? gpu_pool_profile(gpus) : cuda_arch_profile(arch, NULL);
	e->checker = cuda_checker_new(e->arch);
	snprintf(e->target, sizeof e->target, "%s-sm_%d", gpus ? "cuda" : "ptx", e->arch);
	*status = EX_OK;
	return e;
}

void
eval_close(struct eval *e)
{
	if (!e)
		return;
	cuda_checker_free(e->checker);
	counters_free(e->counters);
	torch_times_free(e->torch_times);
	gpu_pool_close(e->gpus);
	oracle_free(e->oracle);
	store_close(e->store);
	free(e->builds);
	free(e);
}

struct oracle *
eval_oracle(struct eval *e)
{
	return e->oracle;
}

int
eval_failure(const struct eval *e)
{
	return atomic_load(&e->misses_something) ? EX_UNAVAILABLE : EX_TEMPFAIL;
}

void
eval_misses_something(struct eval *e)
{
	atomic_store(&e->misses_something, true);
}

struct store *
eval_store(struct eval *e)
{
	return e->store;
}

struct gpu_pool *
eval_gpus(struct eval *e)
{
	return e->gpus;
}

void
eval_counts(const struct eval *e, uint64_t *run, uint64_t *stored)
{
	*run = atomic_load(&e->run);
	*stored = atomic_load(&e->stored);
}
