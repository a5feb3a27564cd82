/* In: probes for every row of the instruction table, and what an H200 answered to each
 * (tests/data/ptx/h200/values.tsv.zst). Out: whether the PTX machine answers the same, bit for bit or within the
 * error that the PTX ISA allows, and which rows no H200 has confirmed. How the values come here:
 * tests/gpu/coverage/coverage.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../gpu/coverage/verdict.h"
#include "base/die.h"
#include "zst/zst.h"

#define VALUES "tests/data/ptx/h200/values.tsv.zst"

/* Probes that the machine answers otherwise, each with the reason. */
static const struct {
	const char *name, *reason;
} known[] = {
	{ "isspacep.global", "constants stand in the global window here" },
	{ "cvt.rp.ftz.sat.f16.f32", "an H200 does not flush the source of this one" },
	{ "cvt.rm.ftz.f16.f32", "an H200 does not flush the source of this one" },
	{ "cvt.rp.ftz.f16.f32", "an H200 does not flush the source of this one" },
	{ "cvt.rm.ftz.sat.f16.f32", "an H200 does not flush the source of this one" },
	{ "cvt.rn.f32.bf16", "refused by name: a rounding that rounds nothing" },
	{ "cvt.rz.f32.bf16", "refused by name: a rounding that rounds nothing" },
	{ "ld.param.b128", "refused by name" },
	{ "cvt.rna.satfinite.tf32.f32", "a NaN whose payload is cut off becomes the greatest number on an H200" },
	{ "fns.b32", "PTX leaves open what a search beyond the word finds" },
};

static struct answers answers;

static const char *
known_reason(const char *name)
{
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (*known[k].name && !strncmp(name, known[k].name, strlen(known[k].name)))
			return known[k].reason;
	return NULL;
}

struct row_state {
	struct buf confirmed;			/* types of the row */
	unsigned probes, counts[6];
	char reason[200];
};

struct tally {
	struct row_state *rows;
	unsigned counts[6], missing, shown, known;
};

static void
note_reason(struct row_state *row, const char *name, const char *why)
{
	if (!*row->reason)
		snprintf(row->reason, sizeof row->reason, "%s: %s", name, why);
}

static void
judge_one(const struct probe *p, void *context)
{
	struct tally *tally = context;
	struct row_state *row = &tally->rows[p->row];
	const struct answer *a = answers_find(&answers, p->name);
	struct buf why = BUF_INIT;
	double worst;
	row->probes++;
	if (!a) {
		tally->missing++;
		note_reason(row, p->name, "no H200 was asked");
		return;
	}
	enum verdict v = probe_judge(p, a, &worst, &why, NULL);
	if ((v == DIFFERENT || v == UNSUPPORTED_HERE) && known_reason(p->name)) {
		tally->known++;
		note_reason(row, p->name, known_reason(p->name));
	} else {
		tally->counts[v]++;
		row->counts[v]++;
		if (v != SAME && v != WITHIN)
			note_reason(row, p->name, buf_str(&why));
	}
	if (v == SAME || v == WITHIN)
		buf_addf(&row->confirmed, " %s ", p->type);
	else if (v == DIFFERENT && !known_reason(p->name) && tally->shown++ < 20)
		print_message("# %s: %s\n", p->name, buf_str(&why));
	buf_release(&why);
}

/* Prints what is not confirmed; the number of rows that are, in all their types. */
static unsigned
print_rows(const struct tally *tally, unsigned *types, unsigned *types_confirmed)
{
	unsigned whole = 0;
	*types = *types_confirmed = 0;
	for (size_t r = 0; r < probe_row_count(); r++) {
		const struct row_state *row = &tally->rows[r];
		char *list = xstrdup(probe_row_types(r)), *rest = list, *type;
		bool fine = row->confirmed.len > 0;
		struct buf without = BUF_INIT;
		while ((type = strsep(&rest, " ")) && *type) {
			char word[24];
			snprintf(word, sizeof word, " %s ", type);
			bool seen = strstr(buf_str(&row->confirmed), word) != NULL;
			++*types;
			*types_confirmed += seen;
			if (!seen)
				buf_addf(&without, " %s", type);
		}
		if (fine && !without.len)
			whole++;
		else
			print_message("# not confirmed: %s%s%s (%s)\n", probe_row_text(r), without.len ? " for" : "", buf_str(&without),
				*row->reason ? row->reason : "no probe");
		buf_release(&without);
		free(list);
	}
	return whole;
}

static void
every_probe_answers_as_an_h200(void **state)
{
	(void)state;
	struct tally tally = { .rows = xcalloc(probe_row_count() + 1, sizeof *tally.rows) };
	unsigned types, types_confirmed;
	probes_each(judge_one, &tally);
	unsigned whole = print_rows(&tally, &types, &types_confirmed);
	print_message("# %zu rows, %u confirmed by an H200 (%u of their %u types)\n", probe_row_count(), whole, types_confirmed,
		types);
	print_message("# probes: %u bit for bit, %u within the error allowed, %u different, %u known to differ, %u unsupported, "
		"%u refused by NVIDIA's assembler, %u for another text, %u never asked\n", tally.counts[SAME], tally.counts[WITHIN],
		tally.counts[DIFFERENT], tally.known, tally.counts[UNSUPPORTED_HERE], tally.counts[NOT_PTX], tally.counts[STALE],
		tally.missing);
	for (size_t r = 0; r < probe_row_count(); r++)
		buf_release(&tally.rows[r].confirmed);
	free(tally.rows);
	assert_int_equal(tally.counts[DIFFERENT], 0);
	assert_int_equal(tally.counts[UNSUPPORTED_HERE], 0);
	/* probes that were changed have to be collected anew */
	assert_in_range(tally.counts[STALE], 0, answers.count / 20);
	assert_in_range(whole * 100, 95 * probe_row_count(), 100 * probe_row_count());
}

struct flipped {
	const char *name;
	enum verdict verdict;
	bool found;
};

/* Judges one probe against an answer of which a bit is not the H200's. */
static void
judge_flipped(const struct probe *p, void *context)
{
	struct flipped *f = context;
	const struct answer *a = strcmp(p->name, f->name) ? NULL : answers_find(&answers, p->name);
	if (!a)
		return;
	struct answer changed = *a;
	struct buf why = BUF_INIT;
	char hash[40];
	double worst;
	snprintf(hash, sizeof hash, "%s", a->hash);
	hash[0] = hash[0] == '0' ? '1' : '0';
	changed.hash = hash;
	changed.raw = xmalloc(a->raw_bytes + 1);
	memcpy(changed.raw, a->raw, a->raw_bytes);
	changed.raw[a->raw_bytes / 8 * 4 + 2] ^= 0x10;
	f->verdict = probe_judge(p, &changed, &worst, &why, NULL);
	f->found = true;
	free(changed.raw);
	buf_release(&why);
}

static void
a_wrong_answer_is_noticed(void **state)
{
	(void)state;
	static const char *const names[] = { "add.rn.ftz.f32", "ex2.approx.f32", "shfl.sync.up.b32", "mad.lo.s64" };
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		struct flipped f = { .name = names[k] };
		probes_each(judge_flipped, &f);
		assert_true(f.found);
		assert_int_equal(f.verdict, DIFFERENT);
	}
}

static int
read_values(void **state)
{
	(void)state;
	struct buf err = BUF_INIT;
	zst_register();
	if (answers_read(&answers, VALUES, &err)) {
		print_error("%s\n", buf_str(&err));
		return -1;
	}
	return 0;
}

static int
release_values(void **state)
{
	(void)state;
	answers_release(&answers);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_probe_answers_as_an_h200),
		cmocka_unit_test(a_wrong_answer_is_noticed),
	};
	return cmocka_run_group_tests_name("PTX machine and H200", tests, read_values, release_values);
}
