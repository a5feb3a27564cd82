/* The three sections of a case that agents write: solutions, evaluations, trajectories. */
#ifndef AGENT_SECTIONS_H
#define AGENT_SECTIONS_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/policy.h"
#include "base/buf.h"
#include "rec/case.h"

struct sections {
	json_t *solutions, *evaluations, *trajectories;	/* arrays, owned */
	bool changed;
};
/* Of the case of this task, whose solutions may lack what sections_settle_solution fills in. 0, or -1 with a sentence. */
int sections_load(struct sections *s, const char *task_id, const struct rec_case *c, struct buf *err);
/* `id` and `source_sha256` follow from task and source: fills them in where they are missing. 1: it did, 0: they were
 * there, -1 with a sentence: they are another's. */
int sections_settle_solution(json_t *solution, const char *task_id, struct buf *err);
void sections_release(struct sections *s);
/* The line with the sections replaced; the very bytes of the input if nothing changed. */
int sections_write(const struct sections *s, const struct rec_case *c, struct buf *out, struct buf *err);

/* Appends unless one of this id is there: the first occurrence keeps its phase and parent. Taken. */
void sections_add_solution(struct sections *s, json_t *solution);
/* Appends those whose id is not there. Borrowed. */
void sections_add_evaluations(struct sections *s, const json_t *evaluations);
/* Appends (old NULL), or puts it where `old` stands; an equal one changes nothing. With another in its place,
 * what grew from the old one goes, and so do solutions that no trajectory mentions any more. Taken. */
void sections_put_trajectory(struct sections *s, const json_t *old, json_t *trajectory);

/* Borrowed, NULL if there is none. */
json_t *sections_solution(const struct sections *s, const char *id);
json_t *sections_trajectory(const struct sections *s, const char *id);

/* From the evaluations that are not final: PASSED with its cost (NAN: not profiled; on a GPU bench_cost of its time), or
 * the first that failed. *status is static or borrowed, NULL when the solution was never evaluated. */
struct sections_verdict {
	const char *status;
	const json_t *decisive;		/* the failing evaluation, or the profile one; borrowed */
	double cost;
};
struct sections_verdict sections_verdict(const struct sections *s, const char *solution_id);

/* The first correct solution with a cost, in the order of the section: the baseline. NULL: none. */
const json_t *sections_baseline(const struct sections *s, double *cost);
/* The correct solution that the solve or repair conversation submitted, else the first correct one. */
const json_t *sections_root(const struct sections *s, const json_t **trajectory);

/* Removes a phase's trajectories, what grew from them, and their solutions as above. */
void sections_forget(struct sections *s, enum agent_phase phase);

#endif
