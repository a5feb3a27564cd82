/* What the files of the PTX worker share: ptx_main.c reads the job and puts memory where the plan has it, ptx_plan.c runs
 * the plan, ptx_repeat.c runs it again and again, ptx_motion.c sees how variables move by that, ptx_report.c says what
 * came of it. Not for other programs. */
#ifndef EVAL_PTX_WORKER_H
#define EVAL_PTX_WORKER_H

#include "base/buf.h"
#include "base/occupancy.h"
#include "cuda/plan.h"
#include "ptx/ptx.h"

enum { MAX_BUFFERS = 64, MAX_FINDINGS = 16, MAX_RANK = 8 };

struct elements {
	int64_t shape[MAX_RANK];
	int rank;
	uint32_t bytes;		/* of one; 0: unknown */
};

struct worker {
	struct ptx_module *module;
	struct ptx_machine *machine;
	struct ptxinfo *info;
	struct plan *plan;
	struct plan_buffer buffer[MAX_BUFFERS];
	int poison[MAX_BUFFERS];
	struct elements elements[MAX_BUFFERS];	/* of outputs */
	uint32_t buffers;
	bool checked, repeating, keeps_state;
	uint64_t schedule;		/* seed of the order of blocks and warps; 0: the plain order */
	bool other_streams;		/* what no event orders runs in another order than it was recorded in: */
	uint32_t late;			/* this stream does nothing as long as another one can */
	bool reordered_streams;		/* the last call was one in which it did */
	uint64_t budget, charged;	/* lane instructions; charged: for work that is none */
	uint64_t repeated;		/* lane instructions of later calls */
	struct ptx_counters total;
	const struct roofline_gpu *gpu;		/* the one whose profile the plan was recorded with */
	const struct occupancy_gpu *occupancy;
	bool estimates;				/* times, not only counters */
	double transfer_us;			/* estimate of what the runtime moves */
	enum ptx_status status;
	struct buf reason, where;	/* where: a sentence behind the reason, when a later call failed */
	struct buf reordered;		/* outputs in another order of blocks and warps, empty when they are the same */
	struct buf inputs, others;	/* bytes of all input tensors; others: for a call in between */
};

/* Dies with the sentence in err unless status is 0. */
void worker_check(int status, struct buf *err);
/* Pages that hold [address, address + bytes); pages shared by neighbours stay as they are. */
void *worker_map_pages(uint64_t address, uint64_t bytes);
/* Puts the bytes of all input tensors where they are. */
void worker_fill_inputs(const struct worker *w, const struct buf *inputs);

/* ---- ptx_plan.c */
/* Runs the first call of the plan, in recorded order or in another that the events allow. Sets status and reason. */
void worker_run_plan(struct worker *w);
/* Unmaps what a call that was stopped has not freed, so that the next one can allocate it. */
void worker_drop_scratch(struct worker *w);
/* What is filled in the first call only has to be as it was filled when the next call comes: else keeps_state. */
void worker_check_filled_once(struct worker *w);

/* ---- ptx_repeat.c */
/* Calls solve() again, in other orders and with other inputs in between: sets keeps_state, reordered, or a failure. */
void worker_repeat_call(struct worker *w);

/* ---- ptx_motion.c */
bool worker_has_variables(const struct worker *w);
/* Appends the bytes of all variables that kernels can write. */
void worker_copy_variables(const struct worker *w, struct buf *out);
/* How the variables moved over stretches of the same calls, by their bytes after three of them: not at all, each by a step
 * that stays the same (or there and back), or by no rule. times: puts those with a step as far ahead as so many more
 * stretches would; 0: leaves them. */
enum motion { MOTION_NONE, MOTION_STEADY, MOTION_NO_RULE };
enum motion worker_motion(const struct worker *w, const struct buf variables[3], uint32_t times);

/* ---- ptx_report.c */
/* FOLDER/report.json, and FOLDER/outputs.bin with FOLDER/reordered.bin. */
void worker_write_report(struct worker *w, const char *folder);
void worker_write_outputs(const struct worker *w, const char *folder);

#endif
