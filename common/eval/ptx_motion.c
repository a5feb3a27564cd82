/* How the module's variables move from call to call. In: their bytes after three stretches of the same calls. Out: whether
 * each word has a rule by which it moves, and their values many stretches further on. A counter is a word or two that moves
 * by the same step, in integers or, but for rounding, in floating point; all else is kept state that nobody can foresee. */
#include "eval/ptx_worker.h"

#include <math.h>
#include <string.h>

enum step { NONE, THERE_AND_BACK, INTEGER, LONG, SINGLE, DOUBLE, NO_RULE };

static bool
is_variable(const struct worker *w, uint32_t symbol)
{
	const struct ptx_symbol *found = ptx_symbol_find(w->module, w->plan->symbol[symbol].name);

	return found && found->space == PTX_SPACE_GLOBAL;
}

bool
worker_has_variables(const struct worker *w)
{
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		if (is_variable(w, i))
			return true;
	return false;
}

void
worker_copy_variables(const struct worker *w, struct buf *out)
{
	for (uint32_t i = 0; i < w->plan->symbols; i++)
		if (is_variable(w, i))
			buf_add(out, (const void *)w->plan->symbol[i].address, w->plan->symbol[i].bytes);
}

/* Equal steps but for what adding up rounds away. */
static bool
steady(double a, double b, double c)
{
	double size = fmax(fabs(a), fmax(fabs(b), fabs(c)));

	return isfinite(size) && fabs((c - b) - (b - a)) <= 1e-4 * size;
}

static enum step
word_step(const char *const at[3])
{
	uint32_t v[3];

	for (int k = 0; k < 3; k++)
		memcpy(&v[k], at[k], sizeof v[k]);
	return v[0] == v[1] && v[1] == v[2] ? NONE : v[1] - v[0] == v[2] - v[1] ? INTEGER : v[0] == v[2] ? THERE_AND_BACK : NO_RULE;
}

static enum step
float_step(const char *const at[3])
{
	float v[3];

	for (int k = 0; k < 3; k++)
		memcpy(&v[k], at[k], sizeof v[k]);
	return steady((double)v[0], (double)v[1], (double)v[2]) ? SINGLE : NO_RULE;
}

static enum step
pair_step(const char *const at[3])
{
	uint64_t v[3];
	double d[3];

	for (int k = 0; k < 3; k++) {
		memcpy(&v[k], at[k], sizeof v[k]);
		memcpy(&d[k], at[k], sizeof d[k]);
	}
	return v[1] - v[0] == v[2] - v[1] ? LONG : steady(d[0], d[1], d[2]) ? DOUBLE : NO_RULE;
}

#define PUT_AHEAD(type) \
	do { \
		type last, before; \
		memcpy(&last, at[2], sizeof last); \
		memcpy(&before, at[1], sizeof before); \
		last = (type)(last + (type)times * (type)(last - before)); \
		memcpy(to, &last, sizeof last); \
	} while (0)

static void
put_ahead(enum step step, const char *const at[3], uint32_t times, char *to)
{
	switch (step) {
	case INTEGER: PUT_AHEAD(uint32_t); break;
	case LONG: PUT_AHEAD(uint64_t); break;
	case SINGLE: PUT_AHEAD(float); break;
	case DOUBLE: PUT_AHEAD(double); break;
	case NONE: case THERE_AND_BACK: case NO_RULE: break;
	}
}

/* The steps of a word, or of two that may be one number. */
static void
steps_of(const char *const at[3], uint64_t bytes, enum step step[2])
{
	const char *const next[3] = { at[0] + 4, at[1] + 4, at[2] + 4 };
	enum step pair = NO_RULE;

	step[0] = word_step(at);
	step[1] = bytes < 8 ? NONE : word_step(next);
	if (bytes >= 8 && (step[0] == NO_RULE || step[1] == NO_RULE))
		pair = pair_step(at);
	if (pair != NO_RULE) {
		step[0] = pair;
		step[1] = NONE;
		return;
	}
	if (step[0] == NO_RULE)
		step[0] = float_step(at);
	if (step[1] == NO_RULE)
		step[1] = float_step(next);
}

enum motion
worker_motion(const struct worker *w, const struct buf variables[3], uint32_t times)
{
	enum motion found = MOTION_NONE;
	size_t start = 0;

	for (uint32_t i = 0; i < w->plan->symbols; i++) {
		const struct ptxinfo_symbol *symbol = &w->plan->symbol[i];

		if (!is_variable(w, i))
			continue;
		for (uint64_t offset = 0; offset + 4 <= symbol->bytes; offset += 8) {
			size_t from = start + offset;
			const char *const at[3] = { variables[0].data + from, variables[1].data + from, variables[2].data + from };
			const char *const next[3] = { at[0] + 4, at[1] + 4, at[2] + 4 };
			char *to = (char *)symbol->address + offset;
			enum step step[2];

			steps_of(at, symbol->bytes - offset, step);
			if (step[0] == NO_RULE || step[1] == NO_RULE)
				return MOTION_NO_RULE;
			if (step[0] != NONE || step[1] != NONE)
				found = MOTION_STEADY;
			if (times) {
				put_ahead(step[0], at, times, to);
				put_ahead(step[1], next, times, to + 4);
			}
		}
		start += symbol->bytes;
	}
	return found;
}
