/* The task of the tests on a GPU: y[i] = 2 x[i] + 1. */
#ifndef TESTS_GPU_TASK_H
#define TESTS_GPU_TASK_H

#include <string.h>

#include "base/die.h"
#include "eval/eval.h"
#include "rec/json.h"

/* With one workload besides two small checks, of this role and size; 0: without. Returned owned. */
static inline struct task *
test_task_with(uint64_t elements, const char *role)
{
	struct buf text = BUF_INIT, err = BUF_INIT;

	buf_addf(&text, "{\"name\":\"scaled\",\"id\":\"00000000000000000000000000000000\",\"op_type\":\"map\","
		"\"forms\":[\"math_spec\"],\"oracle\":\"math_spec\","
		"\"math_spec\":{\"language\":\"kernelmosaic-math/1\",\"text\":\"y[i] = 2 * x[i] + 1\"},\"axes\":[{\"name\":\"N\"}],"
		"\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"domain\":{\"distribution\":\"normal\"}}],"
		"\"outputs\":[{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[\"N\"]}],\"rtol\":1e-5,\"atol\":1e-6,"
		"\"workloads\":[{\"name\":\"odd\",\"role\":\"check\",\"axes\":{\"N\":1003}},"
		"{\"name\":\"large\",\"role\":\"check\",\"axes\":{\"N\":70000}}");
	if (elements)
		buf_addf(&text, ",{\"name\":\"real\",\"role\":\"%s\",\"axes\":{\"N\":%llu}}", role, (unsigned long long)elements);
	buf_adds(&text, "]}");
	json_t *section = rec_json_parse(buf_str(&text), text.len, &err);
	struct task *task = section ? task_load(section, &err) : NULL;
	if (!task)
		die(EX_SOFTWARE, "%s", buf_str(&err));
	json_decref(section);
	buf_release(&text);
	return task;
}

/* bench_elements 0: without a bench workload. Returned owned. */
static inline struct task *
test_task(uint64_t bench_elements)
{
	return test_task_with(bench_elements, "bench");
}

static inline struct eval *
test_engine(const char *store)
{
	struct buf err = BUF_INIT;
	int status;

	eval_args.store = store;
	eval_args.device = "cuda";
	struct eval *engine = eval_open(0, &status, &err);
	if (!engine)
		die(status, "%s", buf_str(&err));
	return engine;
}

#endif
