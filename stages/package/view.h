/* One case, loaded, with the questions that rows and statistics ask of it. */
#ifndef PACKAGE_VIEW_H
#define PACKAGE_VIEW_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "rec/case.h"

struct view {
	json_t *task, *curation, *review, *solutions, *evaluations, *trajectories;	/* owned */
	const char *id, *name, *op_type;	/* borrowed from task */
};

/* Sections that are missing are empty. 0, or -1 with a sentence and nothing to release. */
int view_load(struct view *v, const struct rec_case *c, struct buf *err);
void view_release(struct view *v);

struct verdict {
	const char *status;		/* PASSED, or the first that is not; NULL: no evaluation. Borrowed. */
	const json_t *decisive;		/* the evaluation that says so; borrowed */
	double cost;			/* of the profile workload, NAN without */
};
/* From the evaluations marked final, or from those that are not. */
struct verdict view_verdict(const struct view *v, const char *solution_id, bool final);
/* It has final evaluations, and none of its evaluations, final or not, did anything but pass. */
bool view_resolved(const struct view *v, const char *solution_id);

/* What the task was answered with: of the solutions that were put to the final verdict the one with the
 * lowest cost that a conversation handed in, the earliest of equal ones. NULL: none. Borrowed. */
const json_t *view_final_solution(const struct view *v);
/* The first solution that passed and has a cost, and that cost. NULL: none. Borrowed. */
const json_t *view_baseline(const struct view *v, double *cost);

/* By id; NULL id or no such: NULL. Borrowed. */
const json_t *view_trajectory(const struct view *v, const char *id);
/* Neither it nor any that it continues is stale, and all of these are there. */
bool view_usable(const struct view *v, const json_t *trajectory);
/* No usable trajectory continues it. */
bool view_leaf(const struct view *v, const json_t *trajectory);

/* "math_spec + reference_program": the forms shown, in fixed order, joined. Appends. */
void view_forms(const struct view *v, const char *joint, struct buf *out);
/* dtype of the first output. Borrowed. */
const char *view_dtype(const struct view *v);
/* train, validation or test: by the id alone, 80, 10 and 10 of 100. Static. */
const char *view_split(const char *task_id);

#endif
