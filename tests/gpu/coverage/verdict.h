/* Runs probes on the PTX machine and compares with what an H200 answered. */
#ifndef TESTS_COVERAGE_VERDICT_H
#define TESTS_COVERAGE_VERDICT_H

#include "probes.h"

/* What is kept of a GPU's answer: whole outputs, or their hash with a sample. */
struct answer {
	char *name, *text_id, *status;	/* "ran", "refused" by the driver's assembler, or the driver's error */
	char *hash;			/* of the whole output */
	uint8_t *raw;			/* the first bytes of it, or a sample of approximate results */
	size_t raw_bytes;
	uint8_t *whole;			/* NULL when only the hash is there */
	size_t whole_bytes;
};

/* Identity of a probe's text, operands and launch: an answer is for exactly these. */
enum { TEXT_ID = 17 };
void probe_text_id(const struct probe *p, char id[TEXT_ID]);

/* Makes all NaN of an output the same, for a probe of which PTX does not say which one it is. */
void answer_canonical(const struct probe *p, uint8_t *whole);

enum verdict { SAME, WITHIN, DIFFERENT, UNSUPPORTED_HERE, NOT_PTX, STALE };
/* Runs the probe here and compares. A sentence in why unless SAME or WITHIN. worst: greatest error of
 * approximate results as a part of what is allowed. out: the machine's output, out_bytes of the probe; may be NULL. */
enum verdict probe_judge(const struct probe *p, const struct answer *answer, double *worst, struct buf *why, uint8_t *out);

/* Every SAMPLE_STEP-th result of an approximate instruction is kept. */
enum { SAMPLE_STEP = 4, EXACT_RAW_BYTES = 16 };
/* The bytes to keep of an output. Appended to raw. */
void answer_sample(const struct probe *p, const uint8_t *whole, struct buf *raw);

/* Answers by name. */
struct answers {
	struct answer *list;
	size_t count;
};
/* Reads tests/data/ptx/h200/values.tsv.zst (zst registered by the caller). 0, or -1 with a sentence. */
int answers_read(struct answers *answers, const char *path, struct buf *err);
const struct answer *answers_find(const struct answers *answers, const char *name);
void answers_sort(struct answers *answers);
void answers_release(struct answers *answers);

#endif
