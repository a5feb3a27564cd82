/* Nsight Compute: what it is asked to count, and its table read. */
#ifndef CUDA_NCU_H
#define CUDA_NCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	NCU_MAX_LAUNCHES = 16,		/* counted of one call: each is run several times */
	NCU_MAX_COLUMNS = 4096,		/* it adds some 270 about the device */
	NCU_MAX_TABLE_BYTES = 16 << 20,
	NCU_METRICS = 32,
};

struct ncu_metric {
	const char *name;	/* the tool's */
	const char *units;	/* those that are taken for the field's, with a bar between them; "": it has none */
	const char *field;	/* of the record, with its unit */
	bool whole;		/* a count: an integer */
	double scale;		/* from the tool's unit to the field's; 0: 1 */
};
extern const struct ncu_metric ncu_metrics[NCU_METRICS];

struct ncu_launch {
	char kernel[256];		/* start of the kernel's name, mangled; for comparing only */
	double value[NCU_METRICS];	/* in the fields' units; NAN: not counted */
};

struct ncu_report {
	struct ncu_launch launch[NCU_MAX_LAUNCHES];
	uint32_t launches;
};

/* The whole path of the program: itself where it is a path, else in PATH, in the CUDA toolkit, or where the tool's own
 * packages put it. NULL: it is not there. Returned owned. */
char *ncu_find(const char *program);

/* The value of the option that names the metrics. Appends. */
void ncu_add_metrics(struct buf *out);

/* Reads what `ncu --csv --page raw --print-units base --print-kernel-base mangled` wrote: remarks, a line of names, one
 * of units, and one for each launch. Kernel names are a stranger's. 0, or -1 with a clause: no table, one that is
 * malformed or names a metric twice, more launches than were asked for, or the tool's own error. */
int ncu_read(const char *text, size_t length, struct ncu_report *report, struct buf *err);

#endif
