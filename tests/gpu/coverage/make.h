/* What the files that write probes share: rows, spellings, values, and PTX text. */
#ifndef TESTS_COVERAGE_MAKE_H
#define TESTS_COVERAGE_MAKE_H

#include "probes.h"

enum { MAX_WORDS = 24, THREADS = 2048, BLOCK = 256, SLOT = THREADS * 8 };

struct operand_type {
	const char *name;
	unsigned bits;
	char class;			/* u s b integers, f floats, h f16, H f16x2, w bf16, W bf16x2, p predicate, c shift count */
};
const struct operand_type *operand_type_find(const char *name);

struct table_row {
	char *opcode, *pattern, *operands, *types, *text;
};

/* One way to write the modifiers of a row. */
struct spelling {
	size_t index;
	const struct table_row *row;
	char text[PROBE_NAME_MAX - 30];	/* opcode and words */
	char words[MAX_WORDS][24];
	unsigned n_words;
	const struct operand_type *types[6];
	unsigned n_types;
};
bool spelling_has(const struct spelling *s, const char *word);

struct maker {
	probe_visit *visit;
	void *context;
	struct probe probe;
	unsigned slots;
	uint32_t threads;		/* between results of one thread */
	const char *version, *target;
};

/* Begins a probe of this spelling; variant may be NULL. threads in blocks of at most 256. */
void make_begin(struct maker *m, const struct spelling *s, const char *variant, uint32_t threads);
void make_text(struct maker *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Loads operand k of the thread into a register of the type (16 bits %h, 32 %r, 64 %q, predicate %p). */
void make_load(struct maker *m, unsigned k, const struct operand_type *type, unsigned reg);
/* Stores a register as the thread's next result. */
void make_store(struct maker *m, unsigned bits, const char *reg);
/* Fills operand k of n with values of the type. */
void make_values(struct maker *m, unsigned k, unsigned n, const struct operand_type *const *types);
void make_input(struct maker *m, const void *bytes, size_t count);
void make_end(struct maker *m);

uint64_t mix(uint64_t x);		/* splitmix64: the same numbers everywhere */

/* Handles a row in its own way. False: not one of its opcodes. */
bool memory_row(struct maker *m, size_t index, const struct table_row *row);
/* Makes the probes of one spelling. False: not one of its opcodes. */
bool register_probe(struct maker *m, const struct spelling *s);
bool async_probe(struct maker *m, const struct spelling *s);
bool cluster_probe(struct maker *m, const struct spelling *s);
bool memory_probe(struct maker *m, const struct spelling *s);
bool warp_probe(struct maker *m, const struct spelling *s);
bool matrix_probe(struct maker *m, const struct spelling *s);
bool video_probe(struct maker *m, const struct spelling *s);
bool control_probe(struct maker *m, const struct spelling *s);
/* Probes that one spelling alone does not give: %special registers, packing by mov. */
void spelling_init(struct spelling *s, size_t index, const struct table_row *row, const char *text);

#endif
