/* In: a probe and an H200's answer. Out: whether the PTX machine answers the same. Exact instructions are
 * compared by hash, or byte for byte where the whole answer is at hand; approximate ones on a sample of their
 * results, within the error that the PTX ISA allows to either side of the true value. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/die.h"
#include "base/io.h"
#include "hash/id.h"
#include "ptx/ptx.h"

#define ARENA 0x300000000000ull
#define SYMBOLS 0x310000000000ull
enum { ARENA_BYTES = 1 << 22, SYMBOL_BYTES = 1 << 16 };

void
probe_text_id(const struct probe *p, char id[TEXT_ID])
{
	char hex[HASH_ID_HEX];
	uint32_t launch[] = { p->grid, p->block, p->cluster, p->shared_bytes, p->out_bytes };
	struct hash_id_state *s = hash_id_start();
	hash_id_part(s, p->text.data, p->text.len);
	hash_id_part(s, p->in.data, p->in.len);
	hash_id_part(s, launch, sizeof launch);
	hash_id_end(s, hex);
	memcpy(id, hex, TEXT_ID - 1);
	id[TEXT_ID - 1] = 0;
}

/* ---- the machine */

static void *
memory_at(uint64_t address, size_t bytes)
{
	void *memory = mmap((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		-1, 0);
	if (memory == MAP_FAILED)
		die(EX_TEMPFAIL, "cannot map %zu bytes", bytes);
	return memory;
}

static int
prepare(struct ptx_machine *machine, const struct ptx_module *module, const struct probe *p, struct buf *err)
{
	uint64_t at = SYMBOLS;
	memory_at(SYMBOLS, SYMBOL_BYTES);
	for (size_t i = 0; i < ptx_symbol_count(module); i++) {
		const struct ptx_symbol *s = ptx_symbol_at(module, i);
		if (ptx_place_symbol(machine, s->name, at, err))
			return -1;
		at += (s->size + 255) / 256 * 256;
	}
	if (ptx_write_symbols(machine, err))
		return -1;
	char *memory = memory_at(ARENA, ARENA_BYTES);
	memcpy(memory, p->in.data, p->in.len);
	return ptx_map(machine, "in", ARENA, p->in.len, PTX_READ, true, err)
		|| ptx_map(machine, "out", ARENA + ARENA_BYTES / 2, p->out_bytes, PTX_READ_WRITE, true, err) ? -1 : 0;
}

static enum ptx_status
run_here(const struct probe *p, uint8_t *out, struct buf *err)
{
	struct {
		uint64_t in, out;
		uint8_t blob[PROBE_BLOB_BYTES];
	} params = { ARENA, ARENA + ARENA_BYTES / 2, { 0 } };
	struct ptx_launch launch = { .kernel = "probe", .grid = { p->grid, 1, 1 }, .block = { p->block, 1, 1 },
		.cluster = { p->cluster, p->cluster > 0, p->cluster > 0 }, .dynamic_shared = p->shared_bytes, .params = &params,
			.params_bytes = sizeof params };
	enum ptx_status status = PTX_UNSUPPORTED;
	struct ptx_options options = { .budget = 200 * 1000 * 1000 };
	for (unsigned k = 0; k < PROBE_BLOB_BYTES; k++)
		params.blob[k] = (uint8_t)(7 * k + 1);
	struct ptx_module *module = ptx_parse(p->text.data, p->text.len, err);
	struct ptx_machine *machine = module ? ptx_machine_new(module, &options, err) : NULL;
	if (machine && !prepare(machine, module, p, err))
		status = ptx_launch(machine, &launch, NULL, err);
	if (status == PTX_OK)
		memcpy(out, (void *)(uintptr_t)params.out, p->out_bytes);
	ptx_machine_free(machine);
	ptx_module_free(module);
	return status;
}

/* ---- comparison */

void
answer_canonical(const struct probe *p, uint8_t *whole)
{
	uint32_t bits = p->any_nan_bits;
	int fraction = bits == 64 ? 52 : bits == 32 ? 23 : p->bfloat ? 7 : 10;
	uint64_t magnitude = bits ? ~(uint64_t)0 >> (65 - bits) : 0, infinity = magnitude >> fraction << fraction;
	for (size_t at = 0; bits && at + 8 <= p->out_bytes; at += 8) {
		uint64_t v = 0;
		memcpy(&v, whole + at, bits / 8);
		if ((v & magnitude) > infinity)
			memcpy(whole + at, &magnitude, bits / 8);
	}
}

static double
as_number(const struct probe *p, const uint8_t *bytes)
{
	uint64_t bits = 0;
	float f;
	double d;
	memcpy(&bits, bytes, p->result_bits / 8);
	if (p->result_bits == 64) {
		memcpy(&d, &bits, 8);
		return d;
	}
	if (p->result_bits == 16 && !p->bfloat) {
		int e = (int)(bits >> 10 & 31), m = (int)(bits & 1023);
		d = e == 31 ? m ? NAN : INFINITY : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
		return bits & 0x8000 ? -d : d;
	}
	uint32_t low = (uint32_t)(p->result_bits == 16 ? bits << 16 : bits);
	memcpy(&f, &low, 4);
	return f;
}

/* Half a unit in the last place at v: the machine's own rounding */
static double
half_unit(const struct probe *p, double v)
{
	int fraction = p->result_bits == 64 ? 52 : p->result_bits == 32 ? 23 : p->bfloat ? 7 : 10;
	int lowest = p->result_bits == 64 ? -1022 : p->result_bits == 16 && !p->bfloat ? -14 : -126, e = v == 0 ? lowest : ilogb(v);
	return ldexp(0.5, (e < lowest ? lowest : e) - fraction);
}

/* The error as a part of the allowed one */
static double
share_of_error(const struct probe *p, double here, double there)
{
	if (isnan(here) || isnan(there) || isinf(there) || isinf(here))
		return (isnan(here) && isnan(there)) || here == there ? 0 : INFINITY;
	/* results of 16 bits are rounded there as well */
	double allowed = p->tolerance->absolute + p->tolerance->relative * fabs(there) + half_unit(p,
		there) * (p->result_bits == 16 ? 2 : 1);
	return fabs(here - there) / allowed;
}

static unsigned
results_of_slot(const struct probe *p)
{
	return p->results_per_slot ? p->results_per_slot : p->result_bits == 16 && strstr(p->type, "x2") ? 2 : 1;
}

void
answer_sample(const struct probe *p, const uint8_t *whole, struct buf *raw)
{
	if (!p->tolerance) {
		buf_add(raw, whole, p->out_bytes < EXACT_RAW_BYTES ? p->out_bytes : EXACT_RAW_BYTES);
		return;
	}
	for (size_t at = 0; at < p->out_bytes; at += SAMPLE_STEP * 8)
		buf_add(raw, whole + at, p->result_bits / 8 * results_of_slot(p));
}

static void
describe(const struct probe *p, size_t at, const uint8_t *here, const uint8_t *there, size_t bytes, struct buf *why)
{
	uint32_t threads = p->grid * p->block, thread = (uint32_t)(at / 8 % threads);
	uint64_t h = 0, t = 0;
	memcpy(&h, here, bytes);
	memcpy(&t, there, bytes);
	buf_addf(why, " [thread %u result %zu:", thread, at / 8 / threads);
	for (uint32_t k = 0; (k + 1) * threads * 8 <= p->in.len && k < 4; k++) {
		uint64_t v;
		memcpy(&v, p->in.data + (k * threads + thread) * 8ul, 8);
		buf_addf(why, " %#llx", (unsigned long long)v);
	}
	buf_addf(why, " here %#llx H200 %#llx]", (unsigned long long)h, (unsigned long long)t);
}

static enum verdict
judge_sample(const struct probe *p, const struct answer *a, const uint8_t *out, double *worst, struct buf *why)
{
	struct buf here = BUF_INIT;
	size_t bytes = p->result_bits / 8, bad = 0;
	answer_sample(p, out, &here);
	*worst = 0;
	for (size_t at = 0; at < here.len && at < a->raw_bytes; at += bytes) {
		const uint8_t *mine = (const uint8_t *)here.data + at;
		double share = share_of_error(p, as_number(p, mine), as_number(p, a->raw + at));
		*worst = share > *worst ? share : *worst;
		size_t slot = at / bytes / results_of_slot(p) * SAMPLE_STEP * 8;
		if (share > 1 && bad++ < 4)
			describe(p, slot, mine, a->raw + at, bytes, why);
	}
	if (bad)
		buf_addf(why, " %zu results beyond the error allowed (%s).", bad, p->tolerance->source);
	bool same = here.len == a->raw_bytes && !memcmp(here.data, a->raw, here.len);
	buf_release(&here);
	return bad ? DIFFERENT : same ? SAME : WITHIN;
}

static enum verdict
judge_bytes(const struct probe *p, const struct answer *a, const uint8_t *out, struct buf *why)
{
	char hash[HASH_ID_HEX];
	size_t bad = 0;
	hash_id(out, p->out_bytes, hash);
	if (!strcmp(hash, a->hash))
		return SAME;
	const uint8_t *there = a->whole ? a->whole : a->raw;
	size_t bytes = a->whole ? a->whole_bytes : a->raw_bytes;
	for (size_t at = 0; at + 8 <= bytes && at + 8 <= p->out_bytes; at += 8)
		if (memcmp(out + at, there + at, 8) && bad++ < 4)
			describe(p, at, out + at, there + at, 8, why);
	buf_addf(why, " %zu results of the %zu at hand differ.", bad, bytes / 8);
	return DIFFERENT;
}

enum verdict
probe_judge(const struct probe *p, const struct answer *a, double *worst, struct buf *why, uint8_t *out)
{
	char id[TEXT_ID];
	struct buf err = BUF_INIT;
	uint8_t *mine = out ? out : xcalloc(1, p->out_bytes + 8);
	enum verdict verdict;
	*worst = 0;
	probe_text_id(p, id);
	if (strcmp(id, a->text_id)) {
		verdict = STALE;
		buf_adds(why, "The answer is for another text.");
	} else if (!strcmp(a->status, "refused")) {
		verdict = NOT_PTX;
		buf_adds(why, "The driver's assembler refuses it.");
	} else {
		enum ptx_status status = run_here(p, mine, &err);
		bool ran = !strcmp(a->status, "ran");
		answer_canonical(p, mine);
		buf_adds(why, buf_str(&err));
		if (status == PTX_UNSUPPORTED)
			verdict = UNSUPPORTED_HERE;
		else if (ran && status == PTX_OK)
			verdict = p->tolerance ? judge_sample(p, a, mine, worst, why) : judge_bytes(p, a, mine, why);
		else
			verdict = ran == (status == PTX_OK) ? SAME : DIFFERENT;
		if (ran != (status == PTX_OK) && verdict == DIFFERENT)
			buf_addf(why, " Here: %s; on an H200: %s.", ptx_status_name(status), a->status);
	}
	if (!out)
		free(mine);
	buf_release(&err);
	return verdict;
}

/* ---- the file of answers */

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct answer *)a)->name, ((const struct answer *)b)->name);
}

void
answers_sort(struct answers *answers)
{
	if (answers->count)
		qsort(answers->list, answers->count, sizeof *answers->list, by_name);
}

const struct answer *
answers_find(const struct answers *answers, const char *name)
{
	struct answer key = { .name = (char *)(uintptr_t)name };
	return answers->count ? bsearch(&key, answers->list, answers->count, sizeof key, by_name) : NULL;
}

void
answers_release(struct answers *answers)
{
	for (size_t k = 0; k < answers->count; k++) {
		free(answers->list[k].name);
		free(answers->list[k].raw);
		free(answers->list[k].whole);
	}
	free(answers->list);
	*answers = (struct answers){ NULL, 0 };
}

static uint8_t
hex_digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* name, text id, status, hash, raw in hex, by tabs; the fields stay in one allocation */
static int
read_answer(struct answer *a, const char *line)
{
	char *fields[5], *copy = xstrdup(line), *at = copy;
	memset(a, 0, sizeof *a);
	a->name = copy;
	for (int k = 0; k < 5; k++) {
		if (!at)
			return -1;
		fields[k] = at;
		at = strchr(at, '\t');
		if (at)
			*at++ = 0;
	}
	a->text_id = fields[1];
	a->status = fields[2];
	a->hash = fields[3];
	a->raw_bytes = strlen(fields[4]) / 2;
	a->raw = xmalloc(a->raw_bytes + 1);
	for (size_t k = 0; k < a->raw_bytes; k++)
		a->raw[k] = (uint8_t)(hex_digit(fields[4][2 * k]) << 4 | hex_digit(fields[4][2 * k + 1]));
	return 0;
}

int
answers_read(struct answers *answers, const char *path, struct buf *err)
{
	struct io_in *in = io_open_in(path, err);
	struct buf line = BUF_INIT;
	enum io_line got = IO_ERROR;
	size_t capacity = 0;
	*answers = (struct answers){ NULL, 0 };
	while (in && (got = io_read_line(in, &line, 1 << 20, err)) == IO_LINE) {
		if (answers->count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			answers->list = xrealloc(answers->list, capacity * sizeof *answers->list);
		}
		if (read_answer(&answers->list[answers->count++], buf_str(&line))) {
			buf_err(err, "%s has a line without its five fields.", path);
			got = IO_ERROR;
			break;
		}
	}
	if (in)
		io_close_in(in);
	buf_release(&line);
	answers_sort(answers);
	return got == IO_EOF ? 0 : -1;
}
