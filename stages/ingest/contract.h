/* What makes a `task` section a task: rules that no table of fields can say, and the fields that follow
 * from the others (id, prototype, LaTeX, bytes of each workload). */
#ifndef INGEST_CONTRACT_H
#define INGEST_CONTRACT_H

#include "eval/task.h"
#include "rec/filter.h"

/* Checks the section and fills in what follows from it; what is there already must be equal, except that
 * LaTeX is always rendered anew. The loaded task (returned owned, it keeps the section), or NULL with a
 * reason. */
struct task *contract_complete(json_t *section, struct filter_reason *reason);

#endif
