/* A task, loaded from the record's `task` section into what the engine needs. */
#ifndef EVAL_TASK_H
#define EVAL_TASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cuda/cuda.h"
#include "hash/id.h"
#include "math/math.h"
#include "tensor/dtype.h"

enum { TASK_MAX_RANK = 8, TASK_MAX_TENSORS = 16, TASK_MAX_AXES = 32, TASK_MAX_SCALARS = 16, TASK_MAX_WORKLOADS = 16 };

enum task_role { TASK_CHECK, TASK_PROFILE, TASK_BENCH };

struct task_axis {
	const char *name;
	const char *expression;	/* derived: "(H + 2*P - R) div S + 1"; else NULL */
	int64_t value;		/* constant axes */
	bool constant;
};

struct task_tensor {
	const char *name;
	enum dtype dtype;
	int rank;
	const char *shape[TASK_MAX_RANK];	/* axis names */
	const json_t *domain;			/* inputs only; borrowed */
};

struct task_scalar {
	const char *name;
	enum dtype dtype;
	double value;
};

struct task_workload {
	const char *name;
	enum task_role role;
	bool held_out;
	int64_t axes[TASK_MAX_AXES];	/* every axis: variable, constant and derived */
	uint64_t tensor_bytes;		/* inputs and outputs together */
};

/* Strings are borrowed from json, which the task owns. */
struct task {
	json_t *json;
	const char *id, *name, *op_type;
	int axes, inputs, outputs, scalars, workloads;
	struct task_axis axis[TASK_MAX_AXES];
	struct task_tensor input[TASK_MAX_TENSORS], output[TASK_MAX_TENSORS];
	struct task_scalar scalar[TASK_MAX_SCALARS];
	struct task_workload workload[TASK_MAX_WORKLOADS];
	double rtol, atol;
	const char *reduction;		/* axis expression, or NULL */
	const char *math_spec;		/* text, or NULL */
	const char *reference;		/* source, or NULL */
	bool reference_is_torch;	/* a PyTorch module, not C */
	bool oracle_is_math;
	const char *prototype;
};

/* From a `task` section, which is copied by reference. Checks everything the record table cannot:
 * names resolve, axes evaluate, sizes fit (16 GiB a workload), identifiers are C and not reserved.
 * NULL with a sentence. Returned owned. */
struct task *task_load(json_t *section, struct buf *err);
/* As task_load, of a case that km-ingest made: its id has to be that of its content, since everything that is kept about
 * a task is kept by its id. */
struct task *task_load_known(json_t *section, struct buf *err);
void task_free(struct task *t);

/* Sizes of one tensor under a workload; returns the element count. */
int64_t task_shape(const struct task *t, const struct task_tensor *tensor, const struct task_workload *w,
	int64_t shape[TASK_MAX_RANK]);
/* Terms of the task's longest sum under a workload; 1 where it states none. */
int64_t task_reduction(const struct task *t, const struct task_workload *w);
const struct task_workload *task_workload(const struct task *t, const char *name);

/* Every axis from the variable ones given as {"N": 7, ...}. 0, or -1 with a sentence. */
int task_resolve(const struct task *t, const json_t *given, int64_t values[TASK_MAX_AXES], struct buf *err);
/* The math spec against this task; NULL with "spec.math:LINE:COLUMN: ...". Returned owned (math_free). */
struct math_spec *task_parse_math(const struct task *t, struct buf *err);
/* The arguments of solve, in order; sizes and values only with a workload. Returns how many. */
int task_arguments(const struct task *t, const struct task_workload *w, struct cuda_argument arguments[CUDA_MAX_ARGUMENTS]);

/* The C++ prototype of solve. */
void task_prototype(const struct task *t, struct buf *out);
/* The task's identity: a hash of its contract (forms, tensors, workloads, oracle), not of its name. */
void task_identity(const json_t *section, char out[HASH_ID_HEX]);

#endif
