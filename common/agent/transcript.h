/* Recorded turns of one task: TASKNAME/transcript.json and the sources beside it (seeds/README.md). */
#ifndef AGENT_TRANSCRIPT_H
#define AGENT_TRANSCRIPT_H

#include <jansson.h>
#include <stdint.h>

#include "agent/policy.h"
#include "base/buf.h"
#include "hash/sha256.h"

struct transcript {
	json_t *root;
	json_t *sources;	/* {"solve.cu": "..."} */
	char sha256[SHA256_HEX];	/* of transcript.json and all sources that it cites */
};

/* 1 loaded, 0 there is none for this task, -1 with a sentence: it is not well-formed. */
int transcript_load(struct transcript *t, const char *directory, const char *task_name, struct buf *err);
void transcript_release(struct transcript *t);
/* Everything that seeds/README.md asks for and that can be seen without the sources. 0, or -1 with a
 * sentence. task_name NULL: any. */
int transcript_check(const json_t *root, const char *task_name, struct buf *err);
/* A turn, or NULL past the end. Borrowed. */
const json_t *transcript_turn(const struct transcript *t, enum agent_phase phase, const char *branch, uint64_t turn);
/* Name of the child'th branch that grows from parent ("root" or a branch), or NULL. Borrowed. */
const char *transcript_branch(const struct transcript *t, const char *parent, uint64_t child);

#endif
