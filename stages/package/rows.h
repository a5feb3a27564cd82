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

/* The configs of the release, in the order of the card. */
enum { ROWS_CONFIGS = 4 };
struct rows_config {
	const char *name;
	json_t *(*rows)(const struct view *v);	/* an array; NULL: the task's one row */
};
extern const struct rows_config rows_configs[ROWS_CONFIGS];

#endif
