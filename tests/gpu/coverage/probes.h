/* Probes: small kernels, one or more for every row of the instruction table and every type in it, with their
 * operands. What an H200 answers is kept in tests/data/ptx/h200/, and the PTX machine has to answer the same.
 *
 * All probes have one signature: probe(const uint64_t *in, uint64_t *out, struct { uint8_t bytes[256]; } block)
 * with byte k of the block being 7 k + 1. Operand k of thread t is in[k * threads + t], result k is
 * out[k * threads + t]; out starts as zeros. */
#ifndef TESTS_COVERAGE_PROBES_H
#define TESTS_COVERAGE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { PROBE_NAME_MAX = 160, PROBE_TYPE_MAX = 16, PROBE_BLOB_BYTES = 256 };

/* How far the machine may be from an H200, for the instructions that PTX defines by an error bound. */
struct tolerance {
	double relative;		/* of the result */
	double absolute;
	const char *source;		/* what the PTX ISA says, in short */
};

struct probe {
	char name[PROBE_NAME_MAX];	/* the instruction with its modifiers, then "/variant" if there are several */
	size_t row;			/* in the order of ptx_list_instructions */
	char type[PROBE_TYPE_MAX];	/* which of the row's types it stands for; "" when the row has none */
	struct buf text;		/* PTX; its kernel is named probe */
	struct buf in;
	uint32_t grid, block, cluster, shared_bytes, out_bytes;
	uint32_t result_bits;		/* of a float result that may differ: 16, 32 or 64; packed: 16 */
	uint32_t results_per_slot;	/* 0: by the type */
	bool bfloat;
	uint32_t any_nan_bits;		/* the PTX ISA leaves open which NaN of that many bits comes out; 0: it does not */
	bool stops;			/* the instruction ends the launch with an error */
	const struct tolerance *tolerance;	/* NULL: bit for bit */
};

typedef void probe_visit(const struct probe *probe, void *context);
/* Calls visit for every probe, in the order of the table. The probe is the caller's only during the call. */
void probes_each(probe_visit *visit, void *context);

/* The table's rows as text: opcode and modifiers for row, its types separated by blanks. Borrowed. */
size_t probe_row_count(void);
const char *probe_row_text(size_t row);
const char *probe_row_types(size_t row);

#endif
