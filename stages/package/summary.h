/* What one task adds to the card: its line in the table, and counts. */
#ifndef PACKAGE_SUMMARY_H
#define PACKAGE_SUMMARY_H

#include "view.h"

/* An object, returned owned:
 * {"name","op_type","dtype","forms","split","review","first","repair","better","equal","worse","failed",
 *  "cost_ratio","final"} are the columns of the table of all tasks;
 * "counts" {GROUP: {KEY: n}} is added up over all tasks. */
json_t *summary_of(const struct view *v);
/* Adds counts (as above) of one into another. */
void summary_add(json_t *total, const json_t *counts);
/* counts[group][key] += n. */
void summary_count(json_t *counts, const char *group, const char *key, json_int_t n);

#endif
