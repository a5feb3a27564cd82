/* Rows of the release, each as the record table says. All are returned owned. */
#ifndef PACKAGE_ROWS_H
#define PACKAGE_ROWS_H

#include "view.h"

json_t *rows_task(const struct view *v);
/* An array: one row for each solution, in order of id. */
json_t *rows_solutions(const struct view *v);
/* An array: one row for each branch, from its root to its leaf; stale ones are left out. */
json_t *rows_sft_trajectories(const struct view *v);
/* An array: one row if the task is resolved, else none. */
json_t *rows_sft_direct(const struct view *v);

#endif
