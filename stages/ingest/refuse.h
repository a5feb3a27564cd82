/* Why a spec is refused: a code for programs and one sentence for people. */
#ifndef INGEST_REFUSE_H
#define INGEST_REFUSE_H

#include "rec/filter.h"

/* Sets the code (static) and the sentence, unless there is a reason already; returns -1. */
int refuse(struct filter_reason *reason, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
